# SPDX-License-Identifier: GPL-2.0-or-later
"""A distribution's kernel package, made fit for a fast boot.

The bzImage's payload is the vmlinux that QEMU starts through its PVH note: no
decompressor runs in the guest. Modules are stored uncompressed, for an
emulated CPU spends half of modprobe's time in xz, and without the signature
behind them, for checking it takes another sixth; the ELF file before it stays
as it is. The kernel notes that by its taint E.
"""

import lzma
import re
import struct
import subprocess
from pathlib import Path


def extract_vmlinux(bzimage, out):
    """Write the ELF file inside @bzimage to @out.

    The x86 boot protocol names the payload: setup_sects at 0x1f1,
    payload_offset at 0x248, payload_length at 0x24c."""
    data = Path(bzimage).read_bytes()
    setup_sects = data[0x1f1] or 4
    offset, length = struct.unpack_from("<II", data, 0x248)
    start = (setup_sects + 1) * 512 + offset
    payload = data[start:start + length]
    if payload.startswith(b"\xfd7zXZ"):
        elf = lzma.LZMADecompressor().decompress(payload)
    elif payload.startswith(b"\x28\xb5\x2f\xfd"):
        # The last four bytes are the size, which is no part of the frame.
        elf = subprocess.run(["zstd", "-dcq"], input=payload[:-4],
                             capture_output=True, check=True).stdout
    else:
        raise ValueError(f"{bzimage}: payload starts with "
                         f"{payload[:6].hex()}: compression not known")
    if not elf.startswith(b"\x7fELF"):
        raise ValueError(f"{bzimage}: its payload is no ELF file")
    Path(out).write_bytes(elf)


# What follows a module: the signature, a struct module_signature (uapi, its
# last field the length of the signature, big endian), these words.
SIGNED = b"~Module signature appended~\n"
SIGNATURE_HEAD = 12


def unsigned(module):
    """Return the bytes of a module without what signs them."""
    if not module.endswith(SIGNED):
        return module
    end = len(module) - len(SIGNED)
    length, = struct.unpack_from(">I", module, end - 4)
    return module[:end - SIGNATURE_HEAD - length]


def canonical(name):
    return name.replace("-", "_")


class Modules:
    """The modules of an unpacked kernel package."""

    def __init__(self, tree):
        self.tree = Path(tree)
        self.by_name = {}
        for path in sorted(self.tree.glob("kernel/**/*.ko*")):
            self.by_name[canonical(path.name.split(".ko")[0])] = path
        self._images = {}

    def image(self, name):
        """Return the module's bytes, decompressed, without signature."""
        if name not in self._images:
            path = self.by_name[name]
            data = path.read_bytes()
            if path.suffix == ".xz":
                data = lzma.decompress(data)
            elif path.suffix == ".zst":
                data = subprocess.run(["zstd", "-dcq"], input=data, check=True,
                                      capture_output=True).stdout
            self._images[name] = unsigned(data)
        return self._images[name]

    def needs(self, name):
        """Return the modules that @name depends on, soft ones too."""
        data = self.image(name)
        found = set()
        for match in re.finditer(rb"\0(depends|softdep)=([^\0]*)(?=\0)", data):
            # softdep=pre: a b post: c
            for word in re.split(rb"[,\s]", match[2]):
                if word and not word.endswith(b":"):
                    found.add(canonical(word.decode()))
        return {n for n in found if n in self.by_name}

    def select(self, wanted):
        """Return the names in @wanted (folders end in /), none twice, and all
        they need, each after what it needs."""
        order = []

        def visit(name, path):
            if name in order or name in path:
                return
            for other in sorted(self.needs(name)):
                visit(other, path + [name])
            order.append(name)

        for item in wanted:
            if item.endswith("/"):
                names = [n for n, p in self.by_name.items()
                         if str(p.relative_to(self.tree / "kernel"))
                         .startswith(item)]
            else:
                names = [n for n in [canonical(item)] if n in self.by_name]
            for name in names:
                visit(name, [])
        return order

    def install(self, names, root_modules):
        """Write @names below @root_modules, uncompressed."""
        for name in names:
            path = self.by_name[name].relative_to(self.tree)
            out = Path(root_modules, path).with_name(
                path.name.split(".ko")[0] + ".ko")
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_bytes(self.image(name))
        for extra in ("modules.builtin", "modules.order",
                      "modules.builtin.modinfo"):
            if (self.tree / extra).exists():
                data = (self.tree / extra).read_bytes()
                # modules.order names .ko files; compressed names don't match
                # what we store.
                Path(root_modules, extra).write_bytes(
                    re.sub(rb"\.ko\.\w+$", b".ko", data, flags=re.M))
