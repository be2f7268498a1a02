# SPDX-License-Identifier: GPL-2.0-or-later
"""The card on a QEMU without a guest: just enough of a driver.

Source: the PRM's initialization segment and command interface; mlx5_core
cmd.c. Numbers on the bus are big-endian, and so is BAR0's register file.
"""

import struct
import time

from qtest import Pci

BAR0 = 0xc0000000
BAR4 = 0xd0000000
STRIDE = 0x10000000

TOKEN = 0x5a
CMDQ = 0x100000         # where tests put the command queue, in guest RAM

FW_REV = 0x00
CMDIF_REV = 0x04
CMDQ_ADDR_H = 0x10
CMDQ_ADDR_L = 0x14
CMD_DOORBELL = 0x18
INITIALIZING = 0x1fc

OWNED_BY_HW = 1
INIT_HCA = 0x102
ENABLE_HCA = 0x104
QUERY_PAGES = 0x107
MANAGE_PAGES = 0x108
SET_ISSI = 0x10b
CREATE_EQ = 0x301
ALLOC_UAR = 0x802
NO_SUCH_OPCODE = 0x7ff

EVENT_COMMAND = 0x0a
EQ_ARM = 0x40
LOG_EQ_SIZE = 4

HEAP = 0x200000         # guest RAM that the driver gives away, upwards
MAILBOX_STEP = 1024

COMMAND_MEMORY = 2
COMMAND_MASTER = 4


class Card:
    """A card at a slot of pcie.0, BARs placed, bus mastering as asked."""

    def __init__(self, qemu, slot=4, number=0, master=True, bus=0):
        self.qemu = qemu
        self.pci = Pci(qemu, slot, bus=bus)
        self.bar0 = BAR0 + number * 2 * STRIDE // 8
        self.bar4 = BAR4 + number * STRIDE // 16
        self.heap = HEAP
        # Where the driver has the command queue.
        self.queue = CMDQ
        # Where the card sees guest RAM; a vIOMMU moves it.
        self.iova = 0
        self.place(master)

    def place(self, master=True):
        self.pci.map(self.bar0, self.bar4,
                     COMMAND_MEMORY | (COMMAND_MASTER if master else 0))

    def reg(self, offset, size=4):
        """Read a register; the value is the bus's, big-endian."""
        raw = self.qemu.read(self.bar0 + offset, size)
        return int.from_bytes(raw.to_bytes(size, "little"), "big")

    def set_reg(self, offset, value, size=4):
        raw = int.from_bytes(value.to_bytes(size, "big"), "little")
        self.qemu.write(self.bar0 + offset, size, raw)

    def cmdif_rev(self):
        return self.reg(CMDIF_REV) >> 16

    def cmdq(self):
        """The command queue's address that the card holds."""
        return (self.reg(CMDQ_ADDR_H) << 32
                | self.reg(CMDQ_ADDR_L) & 0xfffff000)

    def set_cmdq(self, addr=None):
        """Tell the card where the command queue is."""
        addr = self.iova + self.queue if addr is None else addr
        self.set_reg(CMDQ_ADDR_H, addr >> 32)
        self.set_reg(CMDQ_ADDR_L, addr & 0xffffffff)

    def wait_ready(self):
        end = time.monotonic() + 10
        while self.reg(INITIALIZING) >> 31:
            assert time.monotonic() < end, "still initializing after 10 s"

    def alloc(self, size):
        """Take guest RAM; return its address there."""
        at = self.heap
        self.heap += size + 4095 & ~4095
        return at

    def mailboxes(self, data):
        """Lay the part of @data that is not inline out in guest RAM."""
        blocks = [data[i:i + 512] for i in range(16, len(data), 512)]
        first = self.alloc(len(blocks) * MAILBOX_STEP) if blocks else 0
        for i, part in enumerate(blocks):
            at = first + i * MAILBOX_STEP
            after = self.iova + at + MAILBOX_STEP if i + 1 < len(blocks) else 0
            block = part.ljust(560, b"\0") + struct.pack(
                ">QIBBBB", after, i, 0, TOKEN, 0, 0)
            self.qemu.mem_write(at, block)
        return self.iova + first if blocks else 0

    def post(self, opcode, body=b"", out_len=16, op_mod=0):
        """Write a command and ring its doorbell.

        @body: what follows the 8 bytes of opcode and op_mod."""
        data = struct.pack(">HHHH", opcode, 0, 0, op_mod)
        data = (data + body).ljust(16, b"\0")
        entry = bytearray(64)
        struct.pack_into(">BxxxIQ16s", entry, 0, 7, len(data),
                         self.mailboxes(data), data[:16])
        struct.pack_into(">QIBBxB", entry, 0x30,
                         self.mailboxes(bytes(out_len)), out_len, TOKEN, 0,
                         OWNED_BY_HW)
        self.qemu.mem_write(self.queue, bytes(entry))
        self.set_reg(CMD_DOORBELL, 1)

    def answer(self, timeout_s=10):
        """Return the entry after the card gave it back, None if it didn't."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            entry = self.qemu.mem_read(self.queue, 64)
            if not entry[0x3f] & OWNED_BY_HW:
                return entry
            time.sleep(0.01)
        return None

    def command(self, opcode, *args, **words):
        """Run a command. Return: (delivery status, status, syndrome)."""
        self.post(opcode, *args, **words)
        entry = self.answer()
        assert entry is not None, f"command {opcode:#x} was not answered"
        return (entry[0x3f] >> 1, entry[0x20],
                struct.unpack_from(">I", entry, 0x24)[0])

    def execute(self, opcode, *args, **words):
        """Run a command that must succeed. Return: its inline output."""
        got = self.command(opcode, *args, **words)
        assert got == (0, 0, 0), f"command {opcode:#x}: {got}"
        return self.qemu.mem_read(self.queue + 0x20, 16)

    def start(self):
        """Bring the command interface up."""
        self.set_cmdq()
        self.wait_ready()

    # As mlx5_core's main.c and eq.c do it

    def give_pages(self, op_mod):
        """Answer what QUERY_PAGES asks for; 1 is boot, 2 is init."""
        count, = struct.unpack_from(
            ">I", self.execute(QUERY_PAGES, op_mod=op_mod), 12)
        pages = [self.iova + self.alloc(4096) for _ in range(count)]
        self.execute(MANAGE_PAGES, struct.pack(f">II{count}Q", 0, count,
                                               *pages), op_mod=1)

    def init_hca(self):
        self.start()
        self.execute(ENABLE_HCA, out_len=12)
        self.execute(SET_ISSI, struct.pack(">HH4x", 0, 1))
        self.give_pages(1)
        self.give_pages(2)
        self.execute(INIT_HCA, bytes(24))

    def create_command_eq(self, vector):
        """Make the event queue of commands. Return: (number, uar, ring)."""
        uar = int.from_bytes(self.execute(ALLOC_UAR)[9:12], "big")
        size = 64 << LOG_EQ_SIZE
        ring = self.alloc(size)
        self.qemu.mem_write(ring, (bytes(63) + b"\1") * (1 << LOG_EQ_SIZE))
        context = bytearray(64)
        struct.pack_into(">I", context, 0x0c, LOG_EQ_SIZE << 24 | uar)
        struct.pack_into(">H", context, 0x16, vector)
        body = bytes(8) + bytes(context) + bytes(8)
        body += struct.pack(">Q", 1 << EVENT_COMMAND)
        body = body.ljust(0x110 - 8, b"\0")
        body += struct.pack(">Q", self.iova + ring)
        return self.execute(CREATE_EQ, body)[11], uar, ring

    def arm_eq(self, number, uar, consumer):
        self.set_reg(uar * 4096 + EQ_ARM, number << 24 | consumer)
