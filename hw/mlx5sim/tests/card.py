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

CMDQ = 0x100000         # where tests put the command queue, in guest RAM

FW_REV = 0x00
CMDIF_REV = 0x04
CMDQ_ADDR_H = 0x10
CMDQ_ADDR_L = 0x14
CMD_DOORBELL = 0x18
INITIALIZING = 0x1fc

OWNED_BY_HW = 1
ENABLE_HCA = 0x104
DISABLE_HCA = 0x105
NO_SUCH_OPCODE = 0x7ff

COMMAND_MEMORY = 2
COMMAND_MASTER = 4


class Card:
    """A card at a slot of pcie.0, BARs placed, bus mastering as asked."""

    def __init__(self, qemu, slot=4, number=0, master=True, bus=0):
        self.qemu = qemu
        self.pci = Pci(qemu, slot, bus=bus)
        self.bar0 = BAR0 + number * 2 * STRIDE // 8
        self.bar4 = BAR4 + number * STRIDE // 16
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

    def set_cmdq(self, addr=CMDQ):
        """Tell the card where the command queue is, and that we are ready."""
        self.set_reg(CMDQ_ADDR_H, addr >> 32)
        self.set_reg(CMDQ_ADDR_L, addr & 0xffffffff)

    def wait_ready(self):
        end = time.monotonic() + 10
        while self.reg(INITIALIZING) >> 31:
            assert time.monotonic() < end, "still initializing after 10 s"

    def post(self, opcode, addr=CMDQ, out_len=12):
        """Write a command with inline input and ring its doorbell."""
        entry = bytearray(64)
        entry[0] = 7
        struct.pack_into(">I", entry, 0x04, 16)
        struct.pack_into(">HH", entry, 0x10, opcode, 0)
        struct.pack_into(">I", entry, 0x38, out_len)
        entry[0x3c] = 0x5a
        entry[0x3f] = OWNED_BY_HW
        self.qemu.mem_write(addr, bytes(entry))
        self.set_reg(CMD_DOORBELL, 1)

    def answer(self, addr=CMDQ, timeout_s=5):
        """Return (delivery status, status, syndrome), None if none came."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            entry = self.qemu.mem_read(addr, 64)
            if not entry[0x3f] & OWNED_BY_HW:
                syndrome, = struct.unpack_from(">I", entry, 0x24)
                return entry[0x3f] >> 1, entry[0x20], syndrome
            time.sleep(0.01)
        return None

    def command(self, opcode, **args):
        self.post(opcode, **args)
        got = self.answer()
        assert got is not None, f"command {opcode:#x} was not answered"
        return got

    def start(self):
        """Bring the command interface up."""
        self.set_cmdq()
        self.wait_ready()
