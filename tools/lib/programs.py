# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs compiled for a guest by this machine's gcc.

Headers and libraries are the guest's: its -dev packages lie unpacked beside
its image. Results are cached by content.
"""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

from paths import cache
from step import Failure

LIBS = "usr/lib/x86_64-linux-gnu"
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror"]


def sysroot_flags(sysroot):
    """Return what makes gcc use @sysroot. Its own library folder comes back
    by name: gcc looks for the C library beside itself before the sysroot."""
    out = subprocess.run(["gcc", "-print-file-name=libgcc.a"], text=True,
                         capture_output=True, check=True).stdout
    return [f"--sysroot={sysroot}", f"-B{sysroot / LIBS}",
            f"-L{Path(out.strip()).parent}"]


def compiled(image, sources, name, libs=()):
    """Compile C @sources into one program for the guest of @image.

    Return: the program's path."""
    sources = [Path(s) for s in sources]
    digest = hashlib.sha256(json.dumps([image.key, FLAGS, *libs]).encode())
    for source in sources:
        for path in [source, *sorted(source.parent.glob("*.h"))]:
            digest.update(path.read_bytes())
    out = cache("programs", digest.hexdigest()[:16], name)
    if not out.exists():
        command = ["gcc", *FLAGS, *sysroot_flags(image.sysroot),
                   "-o", f"{out}.part", *map(str, sources), *libs]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"{name} doesn't compile for the guest:\n"
                          f"{done.stderr}")
        os.rename(f"{out}.part", out)
    return out


def made(where, image):
    """Run a folder's Makefile for a guest; the result is cached."""
    digest = hashlib.sha256(image.key.encode())
    for path in sorted(where.iterdir()):
        if path.is_file():
            digest.update(path.name.encode() + path.read_bytes())
    out = cache("programs", digest.hexdigest()[:16])
    if not out.exists():
        part = Path(f"{out}.part")
        shutil.rmtree(part, ignore_errors=True)
        done = subprocess.run(
            ["make", "-s", "-C", str(where), f"SYSROOT={image.sysroot}",
             f"OUT={part}", "all"], capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"{where} doesn't build for the guest:\n"
                          f"{done.stdout}{done.stderr}")
        part.rename(out)
    return out
