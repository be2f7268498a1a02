# SPDX-License-Identifier: GPL-2.0-or-later
"""Walks the kernel's XArray (its documentation: core-api/xarray; the entries'
low bits: include/linux/xarray.h)."""

import os
import re

import gdb

INTERNAL, VALUE = 2, 1


def first_mark():
    """Return the bit of xa_flags that is mark 0: the first that is no flag of
    an allocation (__GFP_BITS_SHIFT), of which Linux 6.10 has one more."""
    version = re.findall(r"\d+", os.environ["MLX5SIM_KERNEL_VERSION"])
    return 24 if [int(n) for n in version[:2]] < [6, 10] else 25


def is_node(entry):
    return entry & 3 == INTERNAL and entry > 4096


def bit(words, index):
    return bool(int(words[index // 64]) >> index % 64 & 1)


def entries(xarray):
    """Yield (index, entry, marks) of a struct xarray; marks are numbers."""
    head = int(xarray["xa_head"])
    if not head:
        return
    if not is_node(head):
        yield 0, head, {m for m in range(3)
                        if int(xarray["xa_flags"]) >> (first_mark() + m) & 1}
        return
    yield from node_entries(head, 0)


def node_entries(entry, first):
    kind = gdb.lookup_type("struct xa_node").pointer()
    node = gdb.Value(entry - INTERNAL).cast(kind).dereference()
    shift = int(node["shift"])
    slots = node["slots"]
    for i in range(slots.type.range()[1] + 1):
        value = int(slots[i])
        index = first + (i << shift)
        if not value:
            continue
        if is_node(value) and shift:
            yield from node_entries(value, index)
        elif value & 3 != INTERNAL:
            marks = node["marks"]
            yield index, value, {m for m in range(3) if bit(marks[m], i)}
