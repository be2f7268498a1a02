# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU binary: which build it is, and from which source package.

The plugin fits one build only; the GNU build-id names it. Debian's QEMU
prints its package version in brackets after its own.
"""

import os
import re
import shutil
import struct
import subprocess
from collections import namedtuple
from pathlib import Path

DEFAULT = "qemu-system-x86_64"

QemuBinary = namedtuple("QemuBinary", "path version package source build_id")


class QemuError(Exception):
    """The binary can't be used; the message says why and what to do."""


def find(name=None):
    """Return the path of QEMU: @name, $MLX5SIM_QEMU, or the installed one."""
    name = name or os.environ.get("MLX5SIM_QEMU") or DEFAULT
    found = shutil.which(name)
    # A drop-in that stands first in $PATH under QEMU's name is not QEMU.
    if found and Path(found).resolve().name == "qemu-mlx5sim":
        found = shutil.which(name, path="/usr/bin:/usr/local/bin")
    if not found:
        raise QemuError(f"{name}: no such program; install qemu-system-x86 "
                        f"or set MLX5SIM_QEMU to a QEMU binary")
    return Path(found).resolve()


def build_id(path):
    """Return the GNU build-id of an ELF file, in hex."""
    with open(path, "rb") as file:
        head = file.read(64)
        if head[:6] != b"\x7fELF\x02\x01":
            raise QemuError(f"{path}: not a 64-bit little-endian ELF program")
        phoff, = struct.unpack_from("<Q", head, 32)
        phentsize, phnum = struct.unpack_from("<HH", head, 54)
        file.seek(phoff)
        table = file.read(phentsize * phnum)
        for i in range(phnum):
            kind, _, offset, _, _, size = struct.unpack_from(
                "<IIQQQQ", table, i * phentsize)
            if kind == 4:  # PT_NOTE
                file.seek(offset)
                found = note_build_id(file.read(size))
                if found:
                    return found
    raise QemuError(f"{path}: has no build-id; a plugin can't be tied to it")


def note_build_id(notes):
    """Return the build-id among ELF @notes in hex, or None."""
    at = 0
    while at + 12 <= len(notes):
        namesz, descsz, kind = struct.unpack_from("<III", notes, at)
        name = notes[at + 12:at + 12 + namesz]
        desc = at + 12 + (namesz + 3 & ~3)
        if kind == 3 and name == b"GNU\0":
            return notes[desc:desc + descsz].hex()
        at = desc + (descsz + 3 & ~3)
    return None


def inspect(path):
    """Return the QemuBinary of @path; runs it with --version."""
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    out = subprocess.run([path, "--version"], env=env, capture_output=True,
                         text=True)
    match = re.search(r"version (\d+\.\d+\.\d+)(?: \(Debian ([^)\s]+)\))?",
                      out.stdout)
    if not match:
        raise QemuError(f"{path} --version said: "
                        f"{(out.stderr or out.stdout).strip()}")
    version, package = match.groups()
    # A binary-only rebuild ("+b3") comes from the unchanged source.
    source = re.sub(r"\+b\d+$", "", package) if package else None
    return QemuBinary(Path(path), version, package, source, build_id(path))
