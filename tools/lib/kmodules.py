# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel modules of ours, compiled for a guest's kernel by its own compiler."""

import hashlib
import os
import re
import shutil
import subprocess

import guestkernel
from paths import cache
from step import Failure, locked, step


def made(where, image):
    """Build the folder @where with its Kbuild. Return: the modules."""
    digest = hashlib.sha256(image.kernel_version().encode())
    if image.own_kernel():
        # Its version doesn't tell one configuration from another.
        digest.update(image.own_kernel().path.name.encode())
    sources = [p for p in sorted(where.iterdir()) if p.is_file()]
    for path in sources:
        digest.update(path.name.encode() + path.read_bytes())
    out = cache("kmodules", digest.hexdigest()[:16])
    with locked(f"{out}.lock"):
        if not list(out.glob("*.ko")):
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir(parents=True)
            for path in sources:
                shutil.copy2(path, out)
            compile_in(out, image)
    return sorted(out.glob("*.ko"))


def compile_in(folder, image):
    version = image.kernel_version()
    root = guestkernel.module_root(image)
    with step(f"{folder.name}: compile a module for {version}"):
        done = root.run(["make", "-C", f"/usr/src/linux-headers-{version}",
                         f"-j{os.cpu_count()}", f"M={folder}", "modules"],
                        [(folder, folder)], stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode:
        lines = [line for line in done.stdout.splitlines()
                 if re.search(r"error|warning|undefined", line)]
        shutil.rmtree(folder, ignore_errors=True)
        raise Failure("the module doesn't compile:\n" +
                      "\n".join(lines[:30] or [done.stdout[-3000:]]))
