# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of the bench: each figure, what it is compared with, its target.

A row reads one figure of a measure (benchmeasure.py and others); several rows
may read the same measure. Targets are of ratios within one run, or absolute
where a user waits.
"""

import operator
from collections import namedtuple

SIGNS = {"≥": operator.ge, "≤": operator.le}

# @sign: a key of SIGNS. @absolute: of the figure, not of the ratio.
Target = namedtuple("Target", "sign number absolute", defaults=(False,))

# What a figure is compared with: @side of @measure (None: of its own), its
# figure @figure (None: the same). @what: how it is called in the table.
Beside = namedtuple("Beside", "what side measure figure",
                    defaults=(None, None))

# @name: what --only chooses by. @measure: a key of MEASURES. @figure: what is
# read from it. @unit: of the figure; @side: whose it is.
Row = namedtuple("Row", "name title unit measure figure beside target side",
                 defaults=(None, None, "mlx5sim"))

# What came of a Row. @met: None without a target. @trouble: why there is
# nothing.
Outcome = namedtuple("Outcome", "row ours beside ratio met trouble",
                     defaults=(None, None, None, None, None))

RXE = Beside("rxe", "rxe")
COPY = Beside("host copy", "memory", "copy", "mib_per_s")
# The guest's own instructions and doorbells, the card taking no time.
LIMIT = Beside("guest's limit", "mlx5sim", "instructions", "limit_per_s")
VIRTIO = Beside("virtio-net", "virtio-net")


def at_least(number):
    return Target("≥", number)


def at_most(number):
    return Target("≤", number)


def no_more_than(number):
    """Return a Target of the figure itself."""
    return Target("≤", number, True)


def at(figure, count):
    """Return what a figure was with few objects."""
    return Beside(f"at {count}", "mlx5sim", None, f"{figure}_us_{count}")


def scale(kind, what, *counts):
    """Return the rows on what COUNT objects of a kind slow down."""
    few, found = counts[0], []
    for count in counts[1:]:
        for figure, title in (("create", f"creation of a {what}"),
                              ("message", "a message")):
            found.append(Row(
                f"{kind}_{figure}_{count}", f"{title} at {count} {what}s",
                "us", f"scale_{kind}", f"{figure}_us_{count}",
                at(figure, few), at_most(1.2)))
    return found


def registration(name, title, measure, target=None):
    return Row(name, f"MR registrations, {title}", "per s", measure, "per_s",
               RXE, target)


def counts(measure, title):
    """Return the rows on what a message costs in the card."""
    return [Row(f"{measure}_{figure}", f"{title}, a message: {what}", unit,
                f"{measure}_counts", figure) for figure, what, unit in (
                    ("accesses", "accesses to the BAR", ""),
                    ("bar_ns", "in the card on the vCPU", "ns"),
                    ("engine_ns", "in the card's thread", "ns"),
                    ("entries", "locks taken", ""),
                    ("dma_reads", "reads of guest memory", ""),
                    ("dma_writes", "writes to guest memory", ""),
                    ("dma_copies", "copies inside guest memory", ""),
                    ("lookups", "look-ups in QEMU's map of memory", ""),
                    ("irqs", "interrupts", ""),
                    ("wakes", "work for the card's thread", ""),
                    ("switches", "times that a thread of QEMU sleeps", ""))]


def idle_memory(name, kind, what):
    return Row(f"memory_{name}", f"emulator's memory per idle {what}", "KiB",
               "memory", "emulator_kib",
               Beside("guest's own", kind, None, "guest_kib"),
               no_more_than(1), side=kind)


ROWS = [
    Row("copy", "host: memory copy, one thread, 256 MiB", "MiB/s", "copy",
        "mib_per_s", side="memory"),
    Row("copy_cached", "host: memory copy, one thread, 64 KiB", "MiB/s",
        "copy", "mib_per_s", side="cached"),
    Row("write_bw", "ib_write_bw -s 65536, 1 QP", "MiB/s", "write_bw",
        "MiB/s", RXE, at_least(50)),
    Row("write_bw_copy", "ib_write_bw -s 65536, 1 QP", "MiB/s", "write_bw",
        "MiB/s", COPY, at_least(0.5)),
    Row("read_bw", "ib_read_bw -s 65536, 1 QP", "MiB/s", "read_bw", "MiB/s",
        RXE, at_least(50)),
    Row("send_rate", "ib_send_bw -s 64", "msgs/s", "send_rate", "msgs/s",
        RXE, at_least(15)),
    Row("write_rate", "ib_write_bw -s 8 -q 16 -l 32", "msgs/s", "write_rate",
        "msgs/s", RXE, at_least(30)),
    Row("write_rate_limit", "ib_write_bw -s 8 -q 16 -l 32", "msgs/s",
        "write_rate", "msgs/s", LIMIT, at_least(0.7)),
    Row("post_rate", "post and poll as tight as can be, 8 bytes, 16 QPs",
        "msgs/s", "instructions", "card_per_s", LIMIT),
    Row("post_alone", "post and poll, no card at all", "msgs/s",
        "instructions", "alone_per_s"),
    Row("doorbell", "a doorbell write that asks for nothing", "ns",
        "instructions", "exit_ns"),
    *counts("write_rate", "ib_write_bw -s 8 -q 16 -l 32"),
    *counts("send_rate", "ib_send_bw -s 64"),
    *counts("write_bw", "ib_write_bw -s 65536"),
    Row("write_lat", "ib_write_lat -s 8, typical", "us", "write_lat",
        "typical", RXE, at_most(0.25)),
    Row("write_lat_p99", "ib_write_lat -s 8, 99th percentile", "us",
        "write_lat", "p99", RXE, at_most(0.1)),
    Row("send_lat_events", "ib_send_lat -s 8 with events", "us",
        "send_lat_events", "typical", RXE, at_most(0.5)),
    Row("atomic_lat", "ib_atomic_lat", "us", "atomic_lat", "typical", RXE,
        at_most(0.3)),
    Row("wire_write_bw", "two guests on a wire, ib_write_bw -s 65536",
        "MiB/s", "wire", "MiB/s", Beside("rxe, virtio-net", "rxe pair"),
        at_least(5)),
    registration("mr_4k", "4 KiB, where the card's interrupt goes", "mr_4k",
                 at_least(1)),
    registration("mr_4k_far", "4 KiB, on the other processor", "mr_4k_far"),
    registration("mr_64k", "64 KiB", "mr_64k"),
    registration("mr_1m", "1 MiB", "mr_1m"),
    registration("mr_32m", "32 MiB", "mr_32m"),
    registration("mr_1g", "1 GiB in huge pages", "mr_1g", at_least(5)),
    Row("qp_cycle", "QPs created, to RTS, destroyed", "per s", "qp_cycle",
        "per_s", RXE, at_least(1)),
    *scale("qp", "QP", 10, 1000, 30000),
    *scale("mr", "MR", 10, 100000),
    idle_memory("qp", "ready-qp", "QP"), idle_memory("cq", "cq", "CQ"),
    idle_memory("mr", "mr", "MR"),
    Row("probe", "modprobe to port ACTIVE", "s", "probe", "s",
        target=no_more_than(1.5)),
    Row("probe_card", "inside the card meanwhile", "%", "probe",
        "card_percent", target=no_more_than(5)),
    Row("launch_cold", "run --cold --no-probe -- true", "s", "launch", "s",
        target=no_more_than(2.5), side="cold"),
    Row("launch_warm", "run --no-probe -- true", "s", "launch", "s",
        target=no_more_than(0.5), side="warm"),
    Row("launch_up", "run -- true, port ACTIVE", "s", "launch", "s",
        target=no_more_than(1.5), side="up"),
    Row("idle", "idle guest: CPU time of the emulator", "%", "idle",
        "cpu_percent", Beside("without card", "without"), at_most(1.02)),
    Row("tcp_send", "iperf3 TCP, guest sends", "Mbit/s", "tcp", "send",
        VIRTIO, at_least(1)),
    Row("tcp_receive", "iperf3 TCP, guest receives", "Mbit/s", "tcp",
        "receive", VIRTIO, at_least(1)),
]


def judge(row, got):
    """Return the Outcome of a row.

    @got: {measure: {side: {figure: median}}}, or {measure: text} of one that
    failed."""
    names = [row.measure] + ([row.beside.measure] if row.beside and
                             row.beside.measure else [])
    for name in names:
        if isinstance(got[name], str):
            return Outcome(row, trouble=got[name])
    try:
        ours = got[row.measure][row.side][row.figure]
        if not row.beside:
            return Outcome(row, ours, met=met(row.target, ours, None))
        of = got[row.beside.measure or row.measure]
        beside = of[row.beside.side][row.beside.figure or row.figure]
    except KeyError as error:
        return Outcome(row, trouble=f"no figure {error}")
    ratio = ours / beside if beside else None
    return Outcome(row, ours, beside, ratio, met(row.target, ours, ratio))


def met(target, ours, ratio):
    """Tell whether a Target is met; None without one."""
    value = target and (ours if target.absolute else ratio)
    if value is None:
        return None
    return SIGNS[target.sign](value, target.number)


def target_text(row):
    """Return a row's target in words."""
    if not row.target:
        return ""
    text = f"{row.target.sign} {row.target.number:g}"
    return f"{text} {row.unit}" if row.target.absolute else f"{text} x"
