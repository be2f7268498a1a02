# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the kernel puts the sections of a module.

The kernel lays a module's sections out by their flags (kernel/module/main.c,
layout_sections); what gdb must know is found by doing the same.
"""

import struct
from collections import namedtuple

SHDR = struct.Struct("<IIQQQQIIQQ")
SHF_WRITE, SHF_ALLOC, SHF_EXEC = 1, 2, 4
# The kernel's own mark of what is read-only once the module has begun.
RO_AFTER_INIT = 1 << 21

Section = namedtuple("Section", "name flags align size")

# Flags that a section must have, must not have, and the memory it goes to.
KINDS = [
    (SHF_EXEC | SHF_ALLOC, 0, "text"),
    (SHF_ALLOC, SHF_WRITE, "rodata"),
    (RO_AFTER_INIT | SHF_ALLOC, 0, "ro_after_init"),
    (SHF_WRITE | SHF_ALLOC, 0, "data"),
]
# Read by the kernel while it loads the module, and not kept; or kept elsewhere.
NOT_KEPT = (".modinfo", "__versions", ".data..percpu")
LATE_READ_ONLY = (".data..ro_after_init", "__jump_table")


def sections(path):
    """Return the Sections of an ELF file in their order."""
    with open(path, "rb") as file:
        data = file.read()
    offset, = struct.unpack_from("<Q", data, 40)
    count, names_index = struct.unpack_from("<HH", data, 60)
    rows = [SHDR.unpack_from(data, offset + i * SHDR.size)
            for i in range(count)]
    names = rows[names_index][4]
    found = []
    for row in rows[1:]:
        end = data.index(b"\0", names + row[0])
        name = data[names + row[0]:end].decode()
        flags = row[2]
        if name in NOT_KEPT:
            flags &= ~SHF_ALLOC
        if name in LATE_READ_ONLY:
            flags |= RO_AFTER_INIT
        found.append(Section(name, flags, max(row[8], 1), row[5]))
    return found


def nowhere(rows, known, address):
    """Return {name: address} from @address on of the sections that belong in
    memory and are not @known to be there."""
    found = {}
    for s in rows:
        if s.name not in known and (s.flags & SHF_ALLOC or
                                    s.name in NOT_KEPT):
            found[s.name] = address = align(address, s.align)
            address += s.size
    return found


def align(value, to):
    return (value + to - 1) // to * to


def layout(rows):
    """Return {name: (memory, offset in it)} and {memory: size}.

    Of the sections for the start alone there is only the code."""
    placed, sizes = {}, {}
    if any(s.name == ".init.text" for s in rows):
        placed[".init.text"] = ("init_text", 0)
    for need, never, memory in KINDS:
        at = 0
        for s in rows:
            fits = s.flags & need == need and not s.flags & never
            if not fits or s.name in placed or s.name.startswith(".init"):
                continue
            at = align(at, s.align)
            placed[s.name] = (memory, at)
            at += s.size
        sizes[memory] = at
    return placed, sizes


def in_one_piece(sizes, page=4096):
    """Return {memory: offset} where, before Linux 6.4, the memories of a
    module followed one another, each on a new page."""
    offsets, at = {}, 0
    for _, _, memory in KINDS:
        offsets[memory] = at
        at = align(at + sizes[memory], page)
    return offsets
