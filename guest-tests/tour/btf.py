# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own description of its types: /sys/kernel/btf.

A module's file continues the one of vmlinux: its type numbers and string
offsets go on where those end. The format is in the kernel's
Documentation/bpf/btf.rst. Types are found by walking over all of them once;
members are read when they are asked for.
"""

import struct
from array import array
from bisect import bisect_left
from collections import namedtuple

KINDS = ("void int ptr array struct union enum fwd typedef volatile const "
         "restrict func func_proto var datasec float decl_tag type_tag "
         "enum64").split()
INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD = 1, 2, 3, 4, 5, 6, 7
FUNC, DATASEC, ENUM64 = 12, 15, 19
# Kinds that are another name for a type.
ALIASES = {KINDS.index(k) for k in
           ("typedef", "volatile", "const", "restrict", "type_tag")}
# Bytes after the 12 of each type: a constant, and for each of its vlen.
TAIL = {INT: (4, 0), ARRAY: (12, 0), STRUCT: (0, 12), UNION: (0, 12),
        ENUM: (0, 8), KINDS.index("func_proto"): (0, 8),
        KINDS.index("var"): (4, 0), DATASEC: (0, 12),
        KINDS.index("decl_tag"): (4, 0), ENUM64: (0, 12)}
HEADER = struct.Struct("<HBBIIIII")
TYPE = struct.Struct("<III")
MAGIC = 0xeb9f

Member = namedtuple("Member", "name type bits width")


def starts(words):
    """Return where in the words of a type section the types begin, in bytes."""
    fixed = [3 + TAIL.get(kind, (0, 0))[0] // 4 for kind in range(32)]
    each = [TAIL.get(kind, (0, 0))[1] // 4 for kind in range(32)]
    found, at, end = [], 0, len(words)
    append = found.append
    while at < end:
        append(4 * at)
        info = words[at + 1]
        kind = info >> 24 & 31
        at += fixed[kind] + each[kind] * (info & 0xffff)
    return found


class Btf:
    """The types of vmlinux, or of a module on top of them."""

    def __init__(self, data, base=None):
        magic, _, _, size, type_off, type_len, str_off, str_len = (
            HEADER.unpack_from(data))
        if magic != MAGIC:
            raise ValueError(f"no BTF: magic {magic:#x}")
        self.base = base
        self.types = data[size + type_off:size + type_off + type_len]
        self.strings = data[size + str_off:size + str_off + str_len]
        self.first = base.end if base else 1
        self.first_string = base.end_string if base else 0
        self.end_string = self.first_string + str_len
        self.offsets = array("I", starts(array("I", self.types)))
        self.end = self.first + len(self.offsets)

    def _offset(self, name):
        """Return the offset of a string, None if it is not one of ours."""
        # The first string of a module follows the end of the base's.
        at = (b"\0" + self.strings).find(b"\0" + name.encode() + b"\0")
        return None if at < 0 else at + self.first_string

    def string(self, offset):
        """Return the string at an offset."""
        if offset < self.first_string:
            return self.base.string(offset)
        start = offset - self.first_string
        return self.strings[start:self.strings.index(0, start)].decode()

    def find(self, name):
        """Return the number of a struct or union, None if there is none."""
        at = self._offset(name)
        number = self._named(at, (STRUCT, UNION)) if at else None
        if number or not self.base:
            return number
        # The name may be the base's, and the struct the module's own.
        at = self.base._offset(name)
        return at and self._named(at, (STRUCT, UNION)) or self.base.find(name)

    def _named(self, name, kinds):
        """Return the number of the type of one of @kinds whose name is at
        offset @name, or None."""
        word, at = struct.pack("<I", name), -1
        while True:
            at = self.types.find(word, at + 1)
            if at < 0:
                return None
            row = bisect_left(self.offsets, at)
            if (row < len(self.offsets) and self.offsets[row] == at and
                    self.types[at + 7] & 31 in kinds):
                return self.first + row

    def _at(self, number):
        if number < self.first:
            return self.base._at(number)
        return self.types, self.offsets[number - self.first]

    def function(self, name):
        """Return the parameter types of a function, None if it is none."""
        at = self._offset(name)
        number = self._named(at, (FUNC,)) if at else None
        if not number:
            return None
        proto = self.head(number)[4]
        types, at = self._at(proto)
        count = self.head(proto)[1]
        return [struct.unpack_from("<II", types, at + 12 + 8 * i)[1]
                for i in range(count)]

    def head(self, number):
        """Return the kind, vlen, flag, name offset and size or type."""
        if number == 0:
            return 0, 0, 0, 0, 0
        types, at = self._at(number)
        name, info, size = TYPE.unpack_from(types, at)
        return info >> 24 & 31, info & 0xffff, info >> 31, name, size

    def strip(self, number):
        """Return the type behind typedefs and qualifiers."""
        kind, _, _, _, target = self.head(number)
        while kind in ALIASES:
            number = target
            kind, _, _, _, target = self.head(number)
        return number

    def name(self, number):
        """Return the name of a type, empty for one without."""
        return self.string(self.head(number)[3])

    def size(self, number):
        """Return the bytes of a type."""
        number = self.strip(number)
        kind, _, _, _, size = self.head(number)
        if kind == PTR:
            return 8
        if kind == ARRAY:
            element, count = self.array(number)
            return self.size(element) * count
        return size

    def array(self, number):
        """Return the element type and the length of an array."""
        types, at = self._at(number)
        element, _, count = TYPE.unpack_from(types, at + 12)
        return element, count

    def signed(self, number):
        """Tell whether an integer has a sign."""
        types, at = self._at(number)
        return types[at + 15] & 1

    def members(self, number):
        """Yield the Members of a struct or union; bits: the offset in bits,
        width: that of a bit field, else 0."""
        kind, count, flag, _, _ = self.head(number)
        if kind not in (STRUCT, UNION):
            return
        types, at = self._at(number)
        for name, kind, bits in TYPE.iter_unpack(
                types[at + 12:at + 12 + 12 * count]):
            if flag:
                yield Member(self.string(name), kind, bits & 0xffffff,
                             bits >> 24)
            else:
                yield Member(self.string(name), kind, bits, 0)

    def member(self, number, name):
        """Return a Member, also one of an unnamed inner struct, or None."""
        for found in self.members(number):
            if found.name == name:
                return found
            if not found.name:
                inner = self.member(self.strip(found.type), name)
                if inner:
                    return inner._replace(bits=found.bits + inner.bits)
        return None


def pointer(btf, number):
    """Return what a type points to, or None."""
    kind, _, _, _, target = btf.head(btf.strip(number))
    return target if kind == PTR else None
