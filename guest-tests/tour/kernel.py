# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the memory of the running kernel, by the names of its types.

/proc/kcore is the memory, /proc/kallsyms the symbols, /sys/kernel/btf the
types. Nothing is written. What is read may change meanwhile: the tour reads
what lies still between its own steps.
"""

import os
import re
import struct
from bisect import bisect_right
from pathlib import Path

import btf

SIZES = {1: "B", 2: "H", 4: "I", 8: "Q"}
BTF = Path("/sys/kernel/btf")
# Marks of the device xarray (drivers/infiniband/core/device.c).
DEVICE_REGISTERED = 1
STRUCTS = (btf.STRUCT, btf.UNION, btf.FWD)
STEP = re.compile(r"(\w+)|\[(\d+)\]")


class Memory:
    """The kernel's memory: an ELF file with a segment for each mapping."""

    def __init__(self, path="/proc/kcore"):
        self.fd = os.open(path, os.O_RDONLY)
        head = os.pread(self.fd, 64, 0)
        offset, = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        self.segments = []
        for i in range(count):
            row = os.pread(self.fd, size, offset + i * size)
            kind, _, at, address, _, bytes_, _, _ = struct.unpack(
                "<IIQQQQQQ", row[:56])
            if kind == 1:
                self.segments.append((address, address + bytes_, at))

    def read(self, address, size):
        """Return @size bytes at @address."""
        for start, end, at in self.segments:
            if start <= address and address + size <= end:
                return os.pread(self.fd, size, at + address - start)
        raise ValueError(f"no kernel memory at {address:#x}")


class Symbols:
    """What kallsyms says. A name may be that of several.

    Of its 200,000 lines only those of modules are taken apart: first come the
    kernel's own, in the order of their addresses, and are searched as text."""

    def __init__(self, path="/proc/kallsyms"):
        text = Path(path).read_text()
        split = text.rindex("\n", 0, text.index("[")) + 1
        self.core = text[:split]
        self.by_name, rows = {}, []
        for line in text[split:].splitlines():
            address, _, name, module = line.split()
            address = int(address, 16)
            self.by_name.setdefault(name, []).append((address, module[1:-1]))
            rows.append((address, name))
        rows.sort()
        self.addresses = [row[0] for row in rows]
        self.names = [row[1] for row in rows]

    def all(self, name):
        """Return address and module, empty for the kernel, of each @name."""
        found = list(self.by_name.get(name, ()))
        at = self.core.find(f" {name}\n")
        while at >= 0:
            line = self.core[self.core.rfind("\n", 0, at) + 1:at]
            found.append((int(line.split()[0], 16), ""))
            at = self.core.find(f" {name}\n", at + 1)
        return found

    def address(self, name, module=None):
        """Return a symbol's address, None if there is none or several."""
        found = [a for a, m in self.all(name) if module in (None, m)]
        return found[0] if len(found) == 1 else None

    def name(self, address):
        """Return the symbol that @address lies in, without the offset."""
        if not address:
            return ""
        if address >= self.addresses[0]:
            return self.names[bisect_right(self.addresses, address) - 1]
        low, high = 0, len(self.core)
        while True:
            start = self.core.rfind("\n", 0, (low + high) // 2) + 1
            line = self.core[start:self.core.index("\n", start)]
            if start <= low or int(line.split()[0], 16) == address:
                return line.split()[2]
            if int(line.split()[0], 16) <= address:
                low = start
            else:
                high = start


class Kernel:
    """Types, symbols and memory together."""

    def __init__(self, modules=("ib_core", "ib_uverbs", "mlx5_ib")):
        self.memory = Memory()
        self.base = btf.Btf((BTF / "vmlinux").read_bytes())
        self.types = [btf.Btf((BTF / name).read_bytes(), self.base)
                      for name in reversed(modules) if (BTF / name).exists()]
        self.symbols = Symbols()
        self.version = os.uname().release
        self.gfp_bits, self.found = 0, {}
        self.level = tuple(int(n) for n in self.version.split(".")[:2])

    def refresh(self):
        """Read the symbols again: modules came or went."""
        self.symbols = Symbols()

    def find(self, name):
        """Return the types that know a struct, and its number."""
        if name in self.found:
            return self.found[name]
        for types in [*self.types, self.base]:
            number = types.find(name)
            if number:
                self.found[name] = types, number
                return types, number
        raise KeyError(f"no struct {name}")

    def at(self, name, address):
        """Return the struct @name at @address."""
        types, number = self.find(name)
        return Value(self, types, number, address)

    def offset(self, name, path):
        """Return the offset in bytes of a member that is inside @name."""
        value = self.at(name, 0).follow(path)
        return value.address

    def around(self, name, member, address):
        """Return the struct @name whose @member lies at @address."""
        return self.at(name, address - self.offset(name, member))

    def pointer_at(self, address):
        """Return the pointer stored at @address."""
        return struct.unpack("<Q", self.memory.read(address, 8))[0]

    def fetch(self, name, path, base):
        """Return the words that make a kprobe read a member: of the struct
        @name that the register or argument @base points to."""
        types, number = self.find(name)
        text, offset = base, 0
        for word, index in STEP.findall(path):
            number = types.strip(number)
            target = btf.pointer(types, number)
            if target is not None:
                text, offset = f"+{offset}({text})", 0
                number = types.strip(target)
                if types.head(number)[0] == btf.FWD:
                    types, number = self.find(types.name(number))
            if word:
                member = types.member(number, word)
                if not member:
                    raise KeyError(f"{name} has no {word} ({path})")
                offset += member.bits // 8
                number = member.type
            else:
                kind = types.head(number)[0]
                if kind == btf.ARRAY:
                    number = types.array(number)[0]
                offset += int(index) * types.size(number)
        number = types.strip(number)
        if types.head(number)[0] == btf.ARRAY:
            return f"+{offset}({text}):string"
        target = btf.pointer(types, number)
        if target is not None and types.size(types.strip(target)) == 1:
            return f"+0(+{offset}({text})):string"
        return f"+{offset}({text}):x{8 * types.size(number)}"

    def fetch_bit(self, name, path, base):
        """The same for a bit field of one bit; @path without a pointer."""
        value = self.at(name, 0).follow(path)
        return f"+{value.address}({base}):b1@{value.bits}/8"

    def text(self, address):
        """Return the C string at @address."""
        data = b""
        while b"\0" not in data:
            # Not beyond a page: the next may not be there.
            size = 4096 - address % 4096 if not data else 4096
            data += self.memory.read(address + len(data), size)
        return data.split(b"\0")[0].decode(errors="replace")

    # What the RDMA core keeps

    def devices(self):
        """Yield index, ib_device and whether it is marked registered."""
        xarray = self.symbols.address("devices", "ib_core")
        for index, entry, marks in entries(self, self.at("xarray", xarray)):
            yield (index, self.at("ib_device", entry),
                   bool(marks >> DEVICE_REGISTERED & 1))

    def device(self, name):
        """Return the ib_device of that name, or None."""
        for _, device, _ in self.devices():
            if device["name"] == name:
                return device
        return None

    def user_objects(self, context):
        """Yield handle, kind (UVERBS_OBJECT_...) and address of each object
        of an ib_ucontext."""
        table = context["ufile"].follow("idr")
        for handle, entry, _ in entries(self, table):
            uobject = self.at("ib_uobject", entry)
            yield handle, uobject["uapi_object.id"], uobject["object"]

    def tracked(self, device, kind):
        """Yield number and rdma_restrack_entry address of what the core
        tracks. @kind: as in enum rdma_restrack_type."""
        root = device["res"]
        size = self.find("rdma_restrack_root")
        address = root.address + kind * size[0].size(size[1])
        table = self.at("rdma_restrack_root", address)
        for index, entry, _ in entries(self, table["xa"]):
            yield index, entry


class Value:
    """Something of a type at an address."""

    def __init__(self, kernel, types, number, address, bits=0, width=0):
        self.kernel, self.types = kernel, types
        self.number, self.address = types.strip(number), address
        self.bits, self.width = bits, width

    def follow(self, path):
        """Return the Value at a path: a.b, a[1].b; pointers are followed."""
        value = self
        for word, index in STEP.findall(path):
            value = value._inside()
            if word:
                value = value._member(word)
            else:
                value = value._element(int(index))
        return value

    def _inside(self):
        target = btf.pointer(self.types, self.number)
        if target is None:
            return self
        address = self.kernel.pointer_at(self.address)
        if not address:
            raise ValueError("a null pointer on the way")
        types, number = self.types, self.types.strip(target)
        if types.name(number) and types.size(number) == 0:
            # Only declared here: another module may know more.
            types, number = self.kernel.find(types.name(number))
        return Value(self.kernel, types, number, address)

    def _member(self, name):
        found = self.types.member(self.number, name)
        if not found:
            raise KeyError(f"{self.types.name(self.number)} has no {name}")
        return Value(self.kernel, self.types, found.type,
                     self.address + found.bits // 8, found.bits % 8,
                     found.width)

    def _element(self, index):
        number = self.number
        if self.types.head(number)[0] == btf.ARRAY:
            number = self.types.array(number)[0]
        return Value(self.kernel, self.types, number,
                     self.address + index * self.types.size(number))

    def get(self):
        """Return the number, text, or Value that is there."""
        kind, _, _, _, _ = self.types.head(self.number)
        size = self.types.size(self.number)
        if kind == btf.PTR:
            value = self.kernel.pointer_at(self.address)
            target = self.types.strip(btf.pointer(self.types, self.number))
            if value and self.types.head(target)[0] in STRUCTS:
                return self._inside()
            return value
        if kind == btf.ARRAY and size and self.types.size(
                self.types.array(self.number)[0]) == 1:
            data = self.kernel.memory.read(self.address, size)
            return data.split(b"\0")[0].decode(errors="replace")
        if kind in (btf.INT, btf.ENUM, btf.ENUM64):
            return self._integer(size, kind)
        # atomic_t, refcount_t and struct kref are numbers, too.
        for word in ("counter", "refs", "refcount"):
            if kind == btf.STRUCT and self.types.member(self.number, word):
                return self._member(word).get()
        return self

    def _integer(self, size, kind):
        if self.width:
            data = self.kernel.memory.read(self.address, 8)
            whole = int.from_bytes(data, "little") >> self.bits
            return whole & ((1 << self.width) - 1)
        data = self.kernel.memory.read(self.address, size)
        sign = kind == btf.INT and self.types.signed(self.number)
        return int.from_bytes(data, "little", signed=bool(sign))

    def __getitem__(self, path):
        return self.follow(path).get()

    def has(self, name):
        """Tell whether the struct has a member."""
        return bool(self.types.member(self.number, name))

    def names(self):
        """Return the names of the members."""
        return [m.name for m in self.types.members(self.number)]

    def pointers(self):
        """Yield name and value of each member that is a pointer."""
        for member in self.types.members(self.number):
            if btf.pointer(self.types, member.type) is not None:
                yield member.name, self.kernel.pointer_at(
                    self.address + member.bits // 8)


def mark_shift(kernel):
    """Return the bit of xa_flags that is mark 0, __GFP_BITS_SHIFT: it differs.
    The list of all namespaces of the RDMA core hands out numbers, and while
    it is allocating it keeps mark 0, "here are free ones", on itself."""
    if not kernel.gfp_bits:
        table = kernel.at("xarray",
                          kernel.symbols.address("rdma_nets", "ib_core"))
        high = table["xa_flags"] >> 16
        kernel.gfp_bits = 16 + (high & -high).bit_length() - 1
    return kernel.gfp_bits


def entries(kernel, xarray):
    """Yield index, entry and marks (a bit each) of an xarray."""
    head = xarray.follow("xa_head").address
    head = kernel.pointer_at(head)
    flags = xarray["xa_flags"]
    if head and head & 3 == 2 and head > 4096:
        yield from node_entries(kernel, head - 2, 0)
    elif head:
        # The marks of a lone entry stand in the flags, from bit 20 on.
        yield 0, head, flags >> mark_shift(kernel) & 7


def node_entries(kernel, address, base):
    node = kernel.at("xa_node", address)
    shift = node["shift"]
    slots = node.follow("slots").address
    words = kernel.memory.read(slots, 64 * 8)
    marks = [kernel.pointer_at(node.follow("marks").address + 8 * i)
             for i in range(3)]
    for i, entry in enumerate(struct.unpack("<64Q", words)):
        index = base + (i << shift)
        if not entry:
            continue
        if entry & 3 == 2 and entry > 4096:
            yield from node_entries(kernel, entry - 2, index)
        elif entry & 3 != 2:
            yield index, entry, sum((m >> i & 1) << n
                                    for n, m in enumerate(marks))
