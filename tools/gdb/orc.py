# SPDX-License-Identifier: GPL-2.0-or-later
"""Backtraces through the kernel proper.

Debian's kernel comes without debug information and without frame pointers;
what its own stack traces are made of, the ORC tables (kernel documentation:
x86/orc-unwinder; arch/x86/include/asm/orc_types.h), lies in its memory. They
tell where the caller's stack pointer, frame pointer and address are; other
registers of a caller are not known. Modules have debug information, which gdb
prefers and we leave to it.
"""

import os
import re
import struct

import gdb
from gdb.unwinder import Unwinder, register_unwinder

ENTRY = struct.Struct("<hhH")
# What an entry's offsets are added to: registers by number, and the same with
# another fetch.
BASES = {2: "rdx", 3: "rdi", 4: "rbp", 5: "rsp", 6: "r10", 7: "r13",
         8: "rbp", 9: "rsp"}
BP_INDIRECT, SP_INDIRECT = 8, 9
BP_PREV_SP, BP_BP = 1, 4
CALL, REGS, REGS_PARTIAL, END = "call", "regs", "regs_partial", "end"
# Linux 6.4 renumbered the kinds; before, the end had a bit of its own.
KINDS = {0: END, 1: END, 2: CALL, 3: REGS, 4: REGS_PARTIAL}
OLD_KINDS = {0: CALL, 1: REGS, 2: REGS_PARTIAL}
# struct pt_regs, in words.
PT_REGS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_ax "
           "rip cs eflags rsp ss").split()


def decode(data, old):
    """Return (kind, base of SP, its offset, base of BP, its offset)."""
    sp_offset, bp_offset, flags = ENTRY.unpack(data)
    if old:
        # The bit of the end moved once: what else it may be ends it, too.
        end = flags >> 10 & 3
        kind = END if end else OLD_KINDS.get(flags >> 8 & 3, END)
    else:
        kind = KINDS.get(flags >> 8 & 7, END)
    return kind, flags & 15, sp_offset, flags >> 4 & 15, bp_offset


class FrameId:
    """What tells a frame from others."""

    def __init__(self, sp, pc):
        self.sp = pointer(sp)
        self.pc = pointer(pc)


def pointer(value):
    return gdb.Value(value).cast(gdb.lookup_type("void").pointer())


def address_of(name):
    return int(gdb.parse_and_eval(f"(unsigned long)&{name}"))


class Tables:
    """The kernel's tables, read as they are needed."""

    def __init__(self):
        self.text = address_of("_text"), address_of("_etext")
        self.ips = address_of("__start_orc_unwind_ip")
        self.count = (address_of("__stop_orc_unwind_ip") - self.ips) // 4
        self.entries = address_of("__start_orc_unwind")
        release = os.environ["MLX5SIM_KERNEL_VERSION"]
        self.old = [int(n) for n in re.findall(r"\d+", release)[:2]] < [6, 4]
        self.known = {}

    def read(self, address, size):
        return bytes(gdb.selected_inferior().read_memory(address, size))

    def word(self, address):
        return struct.unpack("<Q", self.read(address, 8))[0]

    def start_of(self, index):
        """Return where the code of an entry begins."""
        at = self.ips + 4 * index
        return at + struct.unpack("<i", self.read(at, 4))[0]

    def find(self, pc):
        """Return the entry for an address, decoded."""
        if pc not in self.known:
            low, high = 0, self.count
            while high - low > 1:
                middle = (low + high) // 2
                if self.start_of(middle) <= pc:
                    low = middle
                else:
                    high = middle
            self.known[pc] = decode(self.read(self.entries + 6 * low, 6),
                                    self.old)
        return self.known[pc]


class Orc(Unwinder):
    def __init__(self):
        super().__init__("mlx5sim-orc")
        self.tables = Tables()

    def __call__(self, frame):
        registers = {name: int(frame.read_register(name)) & (1 << 64) - 1
                     for name in ("rip", "rsp")}
        pc = registers["rip"]
        first, end = self.tables.text
        if not first <= pc < end:
            return None
        info = frame.create_unwind_info(FrameId(registers["rsp"], pc))
        # A return address belongs to the call before it.
        found = self.caller(frame, pc - (frame.level() > 0))
        # Nothing but an address of 0 ends a backtrace without complaint.
        found = found or {"rip": 0, "rsp": registers["rsp"]}
        for name, value in found.items():
            info.add_saved_register(
                name, gdb.Value(value).cast(gdb.lookup_type("unsigned long")))
        return info

    def caller(self, frame, pc):
        """Return the caller's registers, None if there is no caller or what
        leads to them is not known."""
        try:
            return self.unwind(frame, pc)
        except gdb.error:
            return None

    def unwind(self, frame, pc):
        kind, sp_base, sp_offset, bp_base, bp_offset = self.tables.find(pc)
        if kind == END or sp_base not in BASES:
            return None
        sp = value_of(frame, BASES[sp_base])
        if sp_base == SP_INDIRECT:
            sp = self.tables.word(sp) + sp_offset
        elif sp_base == BP_INDIRECT:
            sp = self.tables.word(sp + sp_offset)
        else:
            sp += sp_offset
        if kind != CALL:
            return self.interrupted(sp, kind)
        found = {"rip": self.tables.word(sp - 8), "rsp": sp}
        bp = self.caller_bp(frame, sp, bp_base, bp_offset)
        return found if bp is None else dict(found, rbp=bp)

    def caller_bp(self, frame, sp, base, offset):
        if base == BP_PREV_SP:
            return self.tables.word(sp + offset)
        try:
            bp = value_of(frame, "rbp")
        except gdb.error:
            return None
        return self.tables.word(bp + offset) if base == BP_BP else bp

    def interrupted(self, sp, kind):
        """Return the registers that the kernel was entered with, None if that
        was from user space: its stack is another, and has no table."""
        names = PT_REGS
        if kind == REGS_PARTIAL:
            names = names[names.index("rip"):]
        found = {name: self.tables.word(sp + 8 * i)
                 for i, name in enumerate(names) if name.startswith("r")}
        return found if found["rip"] >> 63 else None


def value_of(frame, name):
    return int(frame.read_register(name)) & (1 << 64) - 1


def begin():
    """Use the tables, if the kernel has them."""
    try:
        register_unwinder(None, Orc())
    except gdb.error:
        pass
