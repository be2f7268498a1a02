#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""The device in QEMU, without a guest: PCI, BARs, MSI-X, resets, hot-plug,
properties, and the guard of the plugin. One TAP line a test.

    qtest_mlx5sim.py [--qemu PATH | --fetch SUITE] [--only REGEX]
"""

import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = HERE.parents[2] / "tools"
sys.path[:0] = [str(HERE), str(TOOLS / "lib")]

import card as mlx
import plugin
import privateqemu
import qemubin
from card import Card
from privateapt import AptError
from qtest import Qemu, QmpError, Pci, Skip, Tap, refusal, run

PROGRAM = str(TOOLS / "qemu-mlx5sim")
MODELS = {"cx5": 0x1017, "cx6dx": 0x101d, "cx7": 0x1021}
DEVICE = ("-device", "mlx5sim,id=c0,addr=4")

CAP_PM, CAP_EXPRESS, CAP_MSIX, CAP_VPD = 0x01, 0x10, 0x11, 0x03
CAP_VENDOR = 0x09
EXT_AER, EXT_SERIAL = 0x0001, 0x0003


#: The QEMU under test.
QEMU = None


def equal(got, want, what):
    """Fail with both values unless they are the same."""
    if got != want:
        show = lambda v: hex(v) if type(v) is int else repr(v)
        raise AssertionError(f"{what}: got {show(got)}, want {show(want)}")


# Identity and configuration space

def test_ids():
    """vendor, device, subsystem and class are those of a ConnectX-6 Dx"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        pci = Pci(qemu, 4)
        equal(pci.read(0x00), 0x101d15b3, "device and vendor")
        equal(pci.read(0x2c, 2), 0x15b3, "subsystem vendor")
        equal(pci.read(0x08) >> 8, 0x020000, "class")


def test_models():
    """model= chooses the device id"""
    for name, device in MODELS.items():
        with Qemu(PROGRAM, "-device",
                  f"mlx5sim,model={name},addr=4") as qemu:
            equal(Pci(qemu, 4).read(0x02, 2), device, name)


def test_bars():
    """BAR0 is 32 MiB, 64-bit and prefetchable; BAR2 free; BAR4 MSI-X"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        pci = Pci(qemu, 4)
        equal(pci.read(0x10) & 0xf, 0xc, "BAR0's type")
        equal(pci.bar_size(0, wide=True), 32 << 20, "BAR0's size")
        equal(pci.bar_size(2), 0, "BAR2's size")
        equal(pci.bar_size(3), 0, "BAR3's size")
        equal(pci.read(0x20) & 0xf, 0, "BAR4's type")
        equal(pci.bar_size(4), 4096, "BAR4's size")
        equal(pci.bar_size(5), 0, "BAR5's size")
        equal(pci.read(0x30), 0, "expansion ROM")


def test_bar_size_property():
    """log-bar-size= sizes BAR0"""
    for log in (23, 28):
        with Qemu(PROGRAM, "-device",
                  f"mlx5sim,log-bar-size={log},addr=4") as qemu:
            equal(Pci(qemu, 4).bar_size(0, wide=True), 1 << log, f"{log}")


def test_capabilities():
    """power management, PCI Express 2 with FLR, MSI-X, VPD"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        pci = Pci(qemu, 4)
        caps = pci.capabilities()
        equal(sorted(caps), sorted([CAP_PM, CAP_VENDOR, CAP_EXPRESS, CAP_MSIX,
                                    CAP_VPD]), "capabilities")
        equal(pci.read(caps[CAP_EXPRESS] + 2, 2) & 0xf, 2, "version")
        flr = pci.read(caps[CAP_EXPRESS] + 4) >> 28 & 1
        equal(flr, 1, "function-level reset")


def test_vendor_capability():
    """the gateway of the vendor capability is taken with its counter"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        pci = Pci(qemu, 4)
        cap = pci.capabilities()[CAP_VENDOR]
        equal(pci.read(cap + 2, 1), 0x18, "length")
        pci.write(cap + 0xc, 1)
        equal(pci.read(cap + 0xc), 0, "not taken with any number")
        counter = pci.read(cap + 0x8)
        pci.write(cap + 0xc, counter)
        equal(pci.read(cap + 0xc), counter, "taken")


def test_vpd():
    """vital product data: name, serial number, a right checksum, then zeros"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        pci = Pci(qemu, 4)
        cap = pci.capabilities()[CAP_VPD]
        data = b""
        for at in range(0, 128, 4):
            pci.write(cap + 2, at, 2)
            equal(pci.read(cap + 2, 2), 0x8000 | at, "the bytes are there")
            data += pci.read(cap + 4).to_bytes(4, "little")
        equal(data[:1], b"\x82", "tag")
        equal(b"ConnectX-6 Dx" in data, True, "name")
        rv = data.index(b"RV\1")
        equal(sum(data[:rv + 4]) & 0xff, 0, "checksum")
        equal(data[rv + 4], 0x78, "end")
        equal(any(data[rv + 5:]), False, "nothing behind")
        # A write of data is refused by ignoring it: the flag stays.
        pci.write(cap + 4, 0x12345678)
        pci.write(cap + 2, 0x8000, 2)
        equal(pci.read(cap + 2, 2), 0x8000, "no write")
        pci.write(cap + 2, 0x7ffe, 2)
        equal(pci.read(cap + 4), 0, "far behind the end")


def test_link():
    """below a root port the link is x16 at 16 GT/s"""
    with Qemu(PROGRAM, "-device", "pcie-root-port,id=rp,addr=5,chassis=1",
              "-device", "mlx5sim,id=c0,bus=rp") as qemu:
        Pci(qemu, 5).write(0x18, 0x010100)
        pci = Pci(qemu, 0, bus=1)
        cap = pci.capabilities()[CAP_EXPRESS]
        equal(pci.read(cap + 2, 2) >> 4 & 0xf, 0, "type: endpoint")
        equal(pci.read(cap + 0x0c) & 0x3ff, 0x104, "link capability")
        equal(pci.read(cap + 0x12, 2) & 0x3ff, 0x104, "link status")


def test_msix_capability():
    """MSI-X has as many vectors as asked for, table and PBA in BAR4"""
    for args, want in (("", 64), (",vectors=2", 2), (",vectors=2048", 2048)):
        with Qemu(PROGRAM, "-device", f"mlx5sim,addr=4{args}") as qemu:
            pci = Pci(qemu, 4)
            cap = pci.capabilities()[CAP_MSIX]
            count = (pci.read(cap + 2, 2) & 0x7ff) + 1
            if not args:
                want = count
                assert count >= 8, f"{count} vectors are too few for a card"
            equal(count, want, "vectors")
            table, pba = pci.read(cap + 4), pci.read(cap + 8)
            equal((table & 7, pba & 7), (4, 4), "BARs of table and PBA")
            room = pci.bar_size(4)
            assert (table & ~7) + 16 * count <= (pba & ~7) < room, \
                f"table {table:#x} and PBA {pba:#x} in {room:#x} bytes"


def test_msix_table():
    """the MSI-X table can be written, and starts masked after reset"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        card = Card(qemu)
        equal(qemu.read(card.bar4 + 12, 4), 1, "vector control at reset")
        qemu.write(card.bar4, 4, 0x12345678 & ~3)
        qemu.write(card.bar4 + 12, 4, 0)
        equal(qemu.read(card.bar4, 4), 0x12345678, "message address")
        equal(qemu.read(card.bar4 + 12, 4), 0, "vector control")
        qemu.qmp("system_reset")
        qemu.wait_event("RESET")
        card.place()
        equal(qemu.read(card.bar4 + 12, 4), 1, "vector control at reset")


def test_extended_capabilities():
    """AER, and a serial number made from the MAC address"""
    with Qemu(PROGRAM, "-device",
              "mlx5sim,addr=4,mac=0c:42:a1:02:03:04") as qemu:
        # Above 0x100 only the memory-mapped mechanism reaches.
        Pci(qemu, 0).write(0x60, 0xb0000001)
        at, found = 0x100, {}
        base = 0xb0000000 | 4 << 15
        while at:
            head = qemu.read(base + at, 4)
            found[head & 0xffff] = at
            at = head >> 20
        equal(sorted(found), [EXT_AER, EXT_SERIAL], "extended capabilities")
        serial = [qemu.read(base + found[EXT_SERIAL] + o, 4) for o in (4, 8)]
        equal(serial, [0xfe020304, 0x0c42a1ff], "serial number")


# BAR0

def test_init_segment():
    """firmware revision and command interface 5 stand at the start of BAR0"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        card = Card(qemu)
        equal(card.cmdif_rev(), 5, "command interface")
        fw_rev = card.reg(mlx.FW_REV)
        assert fw_rev & 0xffff, f"firmware major is 0: {fw_rev:#x}"
        # The driver waits for this before it gives the queue, and after.
        card.wait_ready()
        card.set_cmdq()
        card.wait_ready()


def test_access_sizes():
    """accesses of 1, 2, 4 and 8 bytes see the same bytes"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        card = Card(qemu)
        want = b"".join(card.reg(o).to_bytes(4, "big") for o in (0, 4))
        for size in (1, 2, 8):
            got = b"".join(card.reg(o, size).to_bytes(size, "big")
                           for o in range(0, 8, size))
            equal(got, want, f"{size}-byte accesses")


def test_memory_space_off():
    """with memory space off BAR0 does not answer"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        card = Card(qemu)
        equal(card.cmdif_rev(), 5, "command interface")
        card.pci.write(Pci.COMMAND, 0, 2)
        assert card.cmdif_rev() != 5, "BAR0 still answers"


# Memory

def test_command():
    """a command in guest memory is answered"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        card = Card(qemu)
        card.start()
        equal(card.command(mlx.ENABLE_HCA), (0, 0, 0), "ENABLE_HCA")
        equal(card.command(mlx.NO_SUCH_OPCODE)[:2], (0, 2), "bad opcode")


def test_bus_master_off():
    """without bus mastering the card reads and writes no memory"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        card = Card(qemu, master=False)
        card.set_cmdq()
        card.post(mlx.ENABLE_HCA, out_len=12)
        equal(card.answer(timeout_s=0.5), None, "answer")
        card.place()
        equal(card.command(mlx.ENABLE_HCA), (0, 0, 0), "ENABLE_HCA")


def test_dma_outside_ram():
    """a command queue at a BAR, ROM or nothing is refused; QEMU lives"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        for addr in (0, 4096):
            card = Card(qemu)
            for place in (card.bar0 + addr, card.bar4 + addr, 0xfffff000,
                          0xfee00000, 0x7fffff000000):
                card.set_cmdq(place)
                card.set_reg(mlx.CMD_DOORBELL, 1)
            assert card.cmdif_rev() == 5


def test_memory_moves():
    """where memory was that goes away, the card finds what came there"""
    here, elsewhere = 0xe8000000, 0xe9000000
    shared = [word for n in (6, 7) for word in (
        "-object", f"memory-backend-ram,id=m{n},size=1M,share=on",
        "-device", f"ivshmem-plain,memdev=m{n},addr={n}")]
    with Qemu(PROGRAM, *DEVICE, *shared) as qemu:
        memories = [Pci(qemu, slot) for slot in (6, 7)]
        card = Card(qemu)
        card.queue = here
        for memory, other in (memories, memories[::-1]):
            # BAR2 is the memory.
            other.write(Pci.BAR0 + 8, elsewhere)
            memory.write(Pci.BAR0 + 8, here)
            for each in memories:
                each.write(Pci.COMMAND, mlx.COMMAND_MEMORY, 2)
            card.set_cmdq()
            for _ in range(2):
                equal(card.command(mlx.NO_SUCH_OPCODE)[:2], (0, 2), "answer")


VTD = 0xfed90000
VTD_GCMD, VTD_RTADDR, VTD_FSTS = 0x18, 0x20, 0x34
VTD_FECTL, VTD_FEDATA, VTD_FEADDR = 0x38, 0x3c, 0x40
VTD_TABLES = 0x180000
VTD_IOVA = 0x40000000


def vtd_map(qemu, devfn):
    """Give a function guest RAM at VTD_IOVA, and nothing else.

    Source: VT-d specification, legacy mode: root, context and three levels
    of tables, the last with pages of 2 MiB."""
    root, context, level3, level2 = (VTD_TABLES + i * 4096 for i in range(4))
    def entry(table, index, *words):
        qemu.mem_write(table + index * 8 * len(words),
                       struct.pack(f"<{len(words)}Q", *words))
    entry(root, 0, context | 1, 0)
    entry(context, devfn, level3 | 1, 1 << 8 | 1)
    entry(level3, VTD_IOVA >> 30, level2 | 3)
    for i in range(32):
        entry(level2, i, i << 21 | 0x83)


def vtd_enable(qemu):
    """Translate from now on, and raise an interrupt at each fault."""
    qemu.write(VTD + VTD_FEDATA, 4, 0x41)
    qemu.write(VTD + VTD_FEADDR, 4, 0xfee00000)
    qemu.write(VTD + VTD_FECTL, 4, 0)
    qemu.write(VTD + VTD_RTADDR, 8, VTD_TABLES)
    qemu.write(VTD + VTD_GCMD, 4, 1 << 30)
    qemu.write(VTD + VTD_GCMD, 4, 1 << 31)


def test_translated():
    """behind a vIOMMU the card's addresses are translated"""
    with Qemu(PROGRAM, "-device", "intel-iommu", *DEVICE) as qemu:
        vtd_map(qemu, 4 << 3)
        vtd_enable(qemu)
        card = Card(qemu)
        card.iova = VTD_IOVA
        card.init_hca()
        equal(qemu.read(VTD + VTD_FSTS, 4) & 2, 0, "pending faults")


def test_translation_fault():
    """what a vIOMMU refuses is refused, faults are reported, QEMU lives"""
    with Qemu(PROGRAM, "-device", "intel-iommu", *DEVICE) as qemu:
        vtd_map(qemu, 4 << 3)
        vtd_enable(qemu)
        card = Card(qemu)
        card.set_cmdq()
        card.post(mlx.ENABLE_HCA)
        equal(card.answer(timeout_s=0.5), None, "answer")
        equal(qemu.read(VTD + VTD_FSTS, 4) & 2, 2, "pending faults")
        card.iova = VTD_IOVA
        card.init_hca()


def test_behind_iommu():
    """the card works behind a vIOMMU that passes through"""
    with Qemu(PROGRAM, "-device", "intel-iommu", *DEVICE) as qemu:
        card = Card(qemu)
        card.start()
        equal(card.command(mlx.ENABLE_HCA), (0, 0, 0), "ENABLE_HCA")


# Interrupts

MESSAGE = 0x300000      # in guest RAM: the message writes there, to be seen
VECTOR = 3


def interrupts(card, vector):
    """Enable MSI-X, @vector's message going to MESSAGE, still masked."""
    entry = card.bar4 + 16 * vector
    card.qemu.write(entry, 8, MESSAGE)
    card.qemu.write(entry + 8, 4, 0xcafe)
    cap = card.pci.capabilities()[CAP_MSIX]
    card.pci.write(cap + 2, 0x8000, 2)
    return entry + 12, card.bar4 + (card.pci.read(cap + 8) & ~7)


def message(card, timeout_s=10):
    """Return the message that came, 0 if none did."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        got = card.qemu.read(MESSAGE, 4)
        if got:
            card.qemu.write(MESSAGE, 4, 0)
            return got
        time.sleep(0.01)
    return 0


def test_interrupt():
    """a vector of an armed event queue: masked pending, then delivered"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        card = Card(qemu)
        control, pba = interrupts(card, VECTOR)
        card.init_hca()
        number, uar, ring = card.create_command_eq(VECTOR)
        card.arm_eq(number, uar, 0)
        card.execute(mlx.QUERY_PAGES, op_mod=1)
        equal(qemu.mem_read(ring + 1, 1)[0], mlx.EVENT_COMMAND, "event")
        equal(qemu.read(pba, 8), 1 << VECTOR, "pending bits")
        equal(message(card, 0.2), 0, "message while masked")
        qemu.write(control, 4, 0)
        equal(message(card), 0xcafe, "message when unmasked")
        equal(qemu.read(pba, 8), 0, "pending bits")
        card.execute(mlx.QUERY_PAGES, op_mod=1)
        equal(message(card, 0.2), 0, "message while not armed")
        card.arm_eq(number, uar, 2)
        card.execute(mlx.QUERY_PAGES, op_mod=1)
        equal(message(card), 0xcafe, "message when armed again")


def test_interrupt_bus_master_off():
    """without bus mastering no message is sent"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        card = Card(qemu)
        control, _ = interrupts(card, VECTOR)
        qemu.write(control, 4, 0)
        card.init_hca()
        number, uar, _ = card.create_command_eq(VECTOR)
        card.execute(mlx.QUERY_PAGES, op_mod=1)
        card.pci.write(Pci.COMMAND, mlx.COMMAND_MEMORY, 2)
        card.arm_eq(number, uar, 0)
        equal(message(card, 0.3), 0, "message")


# Resets

def reset_state(qemu):
    """What must be the same after every reset."""
    return qemu.qom_get("c0", "state")


def use(card):
    """Leave the state of a fresh card."""
    card.start()
    equal(card.command(mlx.ENABLE_HCA), (0, 0, 0), "ENABLE_HCA")


def test_flr():
    """function-level reset: the state is a fresh card's"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        card = Card(qemu, master=False)
        fresh = reset_state(qemu)
        card.place()
        use(card)
        assert reset_state(qemu) != fresh, "the state tells nothing of use"
        control = card.pci.capabilities()[CAP_EXPRESS] + 8
        card.pci.write(control, card.pci.read(control, 2) | 0x8000, 2)
        equal(card.pci.read(Pci.COMMAND, 2) & 7, 0, "command register")
        equal(reset_state(qemu), fresh, "state")
        card.place()
        equal(card.cmdq(), 0, "command queue")
        use(card)


def test_system_reset():
    """a reset of the machine: the state is a fresh card's"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        card = Card(qemu, master=False)
        fresh = reset_state(qemu)
        card.place()
        use(card)
        qemu.qmp("system_reset")
        qemu.wait_event("RESET")
        equal(reset_state(qemu), fresh, "state")
        card.place()
        use(card)


def test_stop_and_continue():
    """a stopped machine's card goes on when the machine does"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        card = Card(qemu)
        card.start()
        for _ in range(3):
            qemu.qmp("stop")
            qemu.qmp("cont")
        equal(card.command(mlx.ENABLE_HCA), (0, 0, 0), "ENABLE_HCA")


# Several cards, hot-plug

def test_two_cards():
    """two cards in one QEMU: own addresses, own state, both work"""
    with Qemu(PROGRAM, *DEVICE, "-device", "mlx5sim,id=c1,addr=5") as qemu:
        macs = [qemu.qom_get(name, "mac") for name in ("c0", "c1")]
        assert macs[0] != macs[1], f"both have {macs[0]}"
        cards = [Card(qemu, 4, 0), Card(qemu, 5, 1)]
        cards[0].start()
        equal(cards[1].cmdq(), 0, "the other's command queue")
        cards[1].start()
        for card in cards:
            equal(card.command(mlx.ENABLE_HCA), (0, 0, 0), "ENABLE_HCA")


def test_stable_macs():
    """default MAC addresses are the same at every start"""
    seen = []
    for _ in range(2):
        with Qemu(PROGRAM, *DEVICE, "-device", "mlx5sim,id=c1") as qemu:
            seen.append([qemu.qom_get(n, "mac") for n in ("c0", "c1")])
    equal(seen[0], seen[1], "MAC addresses")


SLOT_CONTROL = 0x18
SLOT_ON, SLOT_OFF = 0x0100, 0x0700

PORT = ("-device", "pcie-root-port,id=rp,addr=5,chassis=1",
        "-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off")


def slot_power(port, bits):
    """Switch the power of a root port's slot, as pciehp does."""
    control = port.capabilities()[CAP_EXPRESS] + SLOT_CONTROL
    port.write(control, bits, 2)


def plug(qemu, port, name, **args):
    """Hot-plug a card below @port; return it, running."""
    qemu.qmp("device_add", driver="mlx5sim", id=name, bus="rp", **args)
    slot_power(port, SLOT_ON)
    port.write(0x18, 0x010100)
    port.write(0x20, 0xd1f0d000)
    port.write(0x24, 0xc3f1c001)
    port.write(Pci.COMMAND, 6, 2)
    card = Card(qemu, 0, bus=1)
    card.start()
    equal(card.command(mlx.ENABLE_HCA), (0, 0, 0), "ENABLE_HCA")
    return card


def unplug(qemu, port, name):
    qemu.qmp("device_del", id=name)
    slot_power(port, SLOT_OFF)
    event = qemu.wait_event("DEVICE_DELETED")
    while event["data"].get("device") != name:
        event = qemu.wait_event("DEVICE_DELETED")


def test_hot_plug():
    """hot-plug, use, hot-unplug, twice over with the same id"""
    with Qemu(PROGRAM, *PORT) as qemu:
        port = Pci(qemu, 5)
        for _ in range(2):
            card = plug(qemu, port, "h0")
            unplug(qemu, port, "h0")
            equal(card.pci.read(0), 0xffffffff, "ids afterwards")
            assert card.cmdif_rev() != 5, "BAR0 still answers"


def test_hot_unplug_with_netdev():
    """a card wired to a netdev can be unplugged; the netdev stays"""
    with Qemu(PROGRAM, *PORT, "-netdev", "hubport,id=n0,hubid=0") as qemu:
        port = Pci(qemu, 5)
        for _ in range(2):
            plug(qemu, port, "h0", netdev="n0")
            unplug(qemu, port, "h0")


def test_pulled_out():
    """a card that is gone reads as all ones, and can still be removed"""
    with Qemu(PROGRAM, *PORT) as qemu:
        port = Pci(qemu, 5)
        for _ in range(2):
            card = plug(qemu, port, "h0")
            qemu.qmp("qom-set", path="/machine/peripheral/h0",
                     property="gone", value=True)
            equal(card.pci.read(0), 0xffffffff, "ids")
            equal(card.cmdif_rev(), 0xffff, "BAR0")
            card.pci.write(Pci.COMMAND, 6, 2)
            equal(card.pci.read(Pci.COMMAND, 2), 0xffff, "command register")
            unplug(qemu, port, "h0")


def test_link_down():
    """set_link switches the port"""
    with Qemu(PROGRAM, "-netdev", "hubport,id=n0,hubid=0", "-device",
              "mlx5sim,id=c0,addr=4,netdev=n0") as qemu:
        seen = []
        for up in (True, False, True):
            qemu.qmp("set_link", name="c0", up=up)
            seen.append(json.dumps(qemu.qom_get("c0", "state")))
        assert seen[0] != seen[1], "the state does not tell of the link"
        equal(seen[2], seen[0], "state with the link up again")


# Properties

BAD_PROPERTIES = (
    ("model=cx9", "cx6dx"),
    ("vectors=1", "2"),
    ("vectors=2049", "2048"),
    ("log-bar-size=22", "23"),
    ("log-bar-size=29", "28"),
    ("mac=01:00:00:00:00:01", "unicast"),
    ("log-max-qp=99", "log_max_qp"),
    ("log-max-cq=99", "log_max_cq"),
    ("log-max-mkey=99", "log_max_mkey"),
    ("log-max-cq-sz=99", "log_max_cq_sz"),
    ("mw=perhaps", "mw"),
    ("no-such=1", "no-such"),
    ("netdev=none", "none"),
)


def test_bad_properties():
    """a property that breaks a rule is refused, and the rule stated"""
    for args, want in BAD_PROPERTIES:
        said = refusal(PROGRAM, "-device", f"mlx5sim,{args}")
        assert want in said, f"{args}: {want!r} is not in: {said}"


def test_conventional_bus():
    """on a conventional bus the card says what it needs"""
    said = refusal(PROGRAM, "-device", "mlx5sim", machine="pc")
    assert "q35" in said, said


def test_bad_hot_plug():
    """a refused hot-plug leaves the machine and the port as they were"""
    with Qemu(PROGRAM, *PORT) as qemu:
        for bad in ({"model": "cx9"}, {"log-max-qp": 99}):
            try:
                qemu.qmp("device_add", driver="mlx5sim", id="h0", bus="rp",
                         **bad)
            except QmpError:
                continue
            raise AssertionError(f"{bad} was taken")
        plug(qemu, Pci(qemu, 5), "h0")


def help_lines():
    """{property: rest} of -device mlx5sim,help"""
    code, said = run(PROGRAM, "-device", "mlx5sim,help")
    equal(code, 0, "exit status")
    return dict(re.findall(r"^  ([\w-]+)=(.*)$", said, re.M))


def test_help():
    """-device mlx5sim,help lists every property with a description"""
    lines = help_lines()
    # In the device's own table: "text" follows the name.
    text = (HERE.parent / "props.c").read_text()
    own = re.findall(r'(?:NUM|FLAG)\("([\w-]+)"', text)
    own += re.findall(r'\{\s*"([\w-]+)", &qdev', text)
    assert len(own) > 10, "props.c is not understood"
    for name in own + ["state"]:
        assert name in lines, f"{name} is missing"
        assert re.match(r"<\w+>\s+- \w", lines[name]), \
            f"{name} has no description: {lines[name]}"


def test_help_covers_core():
    """every field of Mlx5FuncProps is a property"""
    text = (TOOLS.parent / "core/mlx5sim.h").read_text()
    body = re.search(r"struct Mlx5FuncProps \{(.*?)\}", text, re.S)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    fields = []
    for line in body.split(";"):
        if "*" in line:
            continue  # what a host lends, no property
        words = re.sub(r"\[\w+\]", "", line).replace(",", " ").split()
        fields += words[1:]
    assert "cmd_reorder" in fields, fields
    lines = help_lines()
    for field in fields:
        name = {"num_vectors": "vectors"}.get(field, field.replace("_", "-"))
        assert name in lines, f"{field} has no property"


def test_no_snapshot():
    """the machine can't be saved with a card in it, and says so"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        try:
            qemu.qmp("migrate", uri="exec:cat >/dev/null")
        except QmpError as err:
            assert "mlx5sim" in str(err), err
        else:
            raise AssertionError("the card's state was lost silently")


def test_state():
    """the property state is an object"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        state = qemu.qom_get("c0", "state")
        assert isinstance(state, dict) and state, state


# Tracing, rest

def test_trace():
    """-trace 'mlx5sim_*' writes what the card does, named by its id"""
    with Qemu(PROGRAM, *DEVICE, "-trace", "mlx5sim_*") as qemu:
        card = Card(qemu)
        card.start()
        card.command(mlx.ENABLE_HCA)
        log = qemu.log()
        for event in ("mlx5sim_cmd", "mlx5sim_reg"):
            assert re.search(rf"^{event} c0 \S", log, re.M), \
                f"no {event} in: {log[-500:]}"


def test_trace_off():
    """without -trace nothing is written; an event can be enabled later"""
    with Qemu(PROGRAM, *DEVICE) as qemu:
        card = Card(qemu)
        card.start()
        card.command(mlx.ENABLE_HCA)
        assert "mlx5sim_cmd" not in qemu.log()
        qemu.qmp("trace-event-set-state", name="mlx5sim_cmd", enable=True)
        card.command(mlx.NO_SUCH_OPCODE)
        assert "mlx5sim_cmd" in qemu.log()


def test_idle():
    """an idle card costs no CPU"""
    with Qemu(PROGRAM, *DEVICE, "-device", "mlx5sim") as qemu:
        card = Card(qemu)
        use(card)
        before = qemu.device_thread_ticks()
        time.sleep(1)
        equal(qemu.device_thread_ticks() - before, 0, "CPU ticks in 1 s")


# The plugin's guard

def fake_plugin(build_id):
    """Return the guard object built for a QEMU that is not there."""
    directory = tempfile.TemporaryDirectory(prefix="mlx5sim-guard-")
    path = Path(directory.name, "mlx5sim.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE",
                    f'-DMLX5SIM_QEMU_BUILD_ID="{build_id}"',
                    '-DMLX5SIM_QEMU_PACKAGE="1:2.3-4"',
                    HERE.parent / "preload.c", "-o", path], check=True)
    return directory, path


def preload(path):
    return dict(os.environ, LD_PRELOAD=str(path))


def test_guard():
    """a QEMU of another build is refused, with what to do"""
    keep, path = fake_plugin("00" * 20)
    with keep:
        code, said = run(QEMU, "--version", env=preload(path))
    equal(code, 1, "exit status")
    for want in (str(path), "1:2.3-4", "00" * 20, qemubin.build_id(QEMU),
                 QEMU, "tools/mlx5sim-plugin build --qemu"):
        assert want in said, f"{want!r} is not in: {said}"


def test_guard_other_release():
    """the object for another release of QEMU is refused"""
    other = other_qemu()
    code, said = run(QEMU, "--version",
                     env=preload(plugin.ensure(Path(other))))
    equal(code, 1, "exit status")
    assert qemubin.inspect(other).package in said, said


def test_guard_no_device():
    """the guard without its device object says which file is missing"""
    keep, path = fake_plugin(qemubin.build_id(QEMU))
    with keep:
        code, said = run(QEMU, "--version", env=preload(path))
    equal(code, 1, "exit status")
    assert "mlx5sim-device.so" in said, said


def test_other_program():
    """another program runs as ever with the plugin preloaded"""
    code, said = run("/bin/sh", "-c", "echo one; /bin/echo two",
                     env=preload(plugin.ensure(Path(QEMU))))
    equal((code, said), (0, "one\ntwo\n"), "status and output")


def test_clean_children():
    """what QEMU starts does not have the plugin; other preloads stay"""
    keep, other = fake_plugin("00" * 20)
    with keep:
        other = other.rename(other.with_name("other.so"))
        for extra in ("", f" {other}"):
            # The second object is a guard too: it must not be in a QEMU.
            if extra:
                other.unlink()
                subprocess.run(["cc", "-shared", "-fPIC", "-x", "c",
                                "/dev/null", "-o", other], check=True)
            with Qemu(QEMU, env=preload(
                    str(plugin.ensure(Path(QEMU))) + extra)) as qemu:
                out = qemu.root / "env"
                qemu.qmp("migrate", uri=f"exec:cat >/dev/null; env >{out}.t; "
                                        f"mv {out}.t {out}")
                end = time.monotonic() + 10
                while not out.exists() and time.monotonic() < end:
                    time.sleep(0.05)
                got = re.findall("^LD_PRELOAD=(.*)$", out.read_text(), re.M)
                equal(got, [extra.strip()] if extra else [], "LD_PRELOAD")


def test_drop_in():
    """the drop-in passes arguments and exit status through"""
    code, said = run(PROGRAM, "--version")
    equal(code, 0, "exit status")
    assert said.startswith("QEMU emulator version"), said
    code, said = run(PROGRAM, "-device", "help")
    assert code == 0 and re.search('^name "mlx5sim", bus PCI', said, re.M)
    code, said = run(PROGRAM, "-no-such-option")
    equal(code, 1, "exit status")
    code, said = run(PROGRAM, "--version",
                     env=dict(os.environ, MLX5SIM_QEMU="/no/such/qemu"))
    assert code == 1 and "/no/such/qemu" in said, said


def other_qemu():
    """Return the path of a QEMU of another release."""
    installed = qemubin.DEFAULT
    try:
        for path in (qemubin.find(f"/usr/bin/{installed}"),
                     privateqemu.fetch("bookworm-backports")):
            if qemubin.build_id(path) != qemubin.build_id(QEMU):
                return str(path)
    except (AptError, qemubin.QemuError) as err:
        raise Skip(f"there is no second QEMU: {err}") from err
    raise Skip("there is no second QEMU")


def choose_qemu(args):
    """Return the QEMU to test; skip all if it can't be had."""
    try:
        if args.fetch:
            return str(privateqemu.fetch(args.fetch))
        return str(qemubin.find(args.qemu))
    except (AptError, qemubin.QemuError) as err:
        print(f"1..0 # SKIP {' '.join(str(err).split())}")
        sys.exit(0)


def main():
    global QEMU
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--qemu", help="binary to test")
    parser.add_argument("--fetch", metavar="SUITE",
                        help="test the QEMU of another Debian suite")
    parser.add_argument("--only", metavar="REGEX", help="tests to run")
    args = parser.parse_args()
    QEMU = choose_qemu(args)
    os.environ["MLX5SIM_QEMU"] = QEMU
    tests = [f for name, f in globals().items() if name.startswith("test_")]
    plugin.ensure(Path(QEMU))
    print(f"# {qemubin.inspect(QEMU).package} {QEMU}")
    sys.exit(1 if Tap(tests, args.only).run() else 0)


main()
