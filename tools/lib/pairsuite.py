# SPDX-License-Identifier: GPL-2.0-or-later
"""The suites pair and pair-bad: two guests on one wire, two cards or a card
and Linux's software RDMA (rxe), on a good wire and on a bad one.

Each row is a command for the server and one for the client. Programs that
compare what arrives are preferred; the bad wire must cost time and nothing
else.
"""

import subprocess
from collections import namedtuple
from pathlib import Path
from tempfile import TemporaryDirectory

import build
import host
import kernellog
import wire
from pair import Pair, Wiring
from paths import REPO
from results import FAIL, PASS, Result

LIMIT_S = 60
KERNEL_LOG = REPO / "guest-tests/kernel-log.expected"
# @rxe: it runs against rxe, too.
Row = namedtuple("Row", "name server client rxe", defaults=(True,))


def perftest(program, options, rxe=True):
    """Return the Row of a program of perftest."""
    words = f"{program} -d $DEV -x $GID -F {options}"
    return Row(f"{program} {options}", words, f"{words} $PEER", rxe)


def pingpong(kind, options, rxe=True):
    words = f"ibv_{kind}_pingpong -d $DEV -g $GID {options}"
    return Row(f"ibv_{kind}_pingpong {options}", words, f"{words} $PEER", rxe)


# rping keeps what it sends and compares what comes back (-V).
PROGRAMS = [
    Row("ping", "true", "ping -q -c 3 -i 0.2 $PEER && "
        "ping -q -c 3 -i 0.2 $PEER6"),
    pingpong("rc", "-c -n 200"),
    pingpong("uc", "-c -n 200"),
    pingpong("ud", "-c -s 1000 -n 200"),
    pingpong("srq", "-c -n 200"),
    pingpong("xsrq", "-n 200", False),
    perftest("ib_write_bw", "-s 65536 -n 200"),
    perftest("ib_read_bw", "-s 65536 -n 100"),
    perftest("ib_send_bw", "-s 3000 -n 200"),
    perftest("ib_send_bw", "-c UD -s 1000 -n 200"),
    perftest("ib_atomic_bw", "-n 200"),
    perftest("ib_write_lat", "-n 100"),
    perftest("ib_send_bw", "-e -s 3000 -n 100"),
    Row("rping, IPv4", "rping -s -V -C 50 -S 4000",
        "rping -c -a $PEER -V -C 50 -S 4000"),
    Row("rping, IPv6", "rping -s -a :: -V -C 10",
        "rping -c -a $PEER6 -V -C 10"),
    Row("ucmatose", "ucmatose", "ucmatose -s $PEER"),
    Row("udaddy", "udaddy", "udaddy -s $PEER"),
    Row("rstream, data verified", "rstream -T v -S 65536 -C 50",
        "rstream -T v -s $PEER -S 65536 -C 50", False),
]
BAD = [
    pingpong("rc", "-c -n 300"),
    perftest("ib_write_bw", "-s 65536 -n 100"),
    perftest("ib_read_bw", "-s 65536 -n 60"),
    perftest("ib_send_bw", "-s 30000 -n 100"),
    perftest("ib_atomic_bw", "-n 200"),
    Row("rping", "rping -s -V -C 100 -S 20000",
        "rping -c -a $PEER -V -C 100 -S 20000"),
    Row("rstream, data verified", "rstream -T v -S 65536 -C 50",
        "rstream -T v -s $PEER -S 65536 -C 50", False),
]


def shell(command):
    return ["sh", "-c", f"exec timeout {LIMIT_S} sh -c '{command}'"]


def run_row(both, row, name):
    """Return the Result of a row."""
    text = []
    statuses = both.run(shell(row.server), shell(row.client),
                        lambda who, _, line: text.append(f"{who}: {line}"))
    if statuses == (0, 0):
        return Result(name, PASS, "")
    return Result(name, FAIL, f"status {statuses}\n" + "".join(text[-30:]))


def tshark(path):
    """Return Results on what tshark finds in the capture."""
    host.ensure_packages("tshark")
    # What programs send is their own: it is not to be taken for RPC, nor for
    # frames inside of packets.
    words = ["tshark", "-r", str(path), "-o", "udp.check_checksum:TRUE"]
    for name in ("rpcrdma_infiniband", "eth_over_ib", "mellanox_eoib"):
        words += ["--disable-heuristic", name]

    def lines(*more):
        return subprocess.run([*words, *more], capture_output=True, text=True,
                              check=True).stdout.splitlines()

    bad = lines("-Y", "_ws.malformed || udp.checksum.status == 0 || "
                "ip.checksum.status == 0 || _ws.expert.severity == error")
    opcodes = set(lines("-Y", "infiniband.bth", "-T", "fields", "-e",
                        "infiniband.bth.opcode"))
    # Of SEND, WRITE, READ, answers, atomics; of UD.
    wanted = {"4", "6", "7", "8", "12", "13", "15", "17", "18", "20", "100"}
    missing = sorted(wanted - opcodes, key=int)
    return [Result("tshark finds no fault in a frame", FAIL if bad else PASS,
                   "\n".join(bad[:20])),
            Result("tshark sees each kind of packet",
                   FAIL if missing else PASS, f"missing: {missing}")]


def run_pair(context, prefix, programs, wiring, check=None):
    """Run @programs between two guests. Return: Results."""
    image = build.build(context.guest)
    with Pair(context.emulator, image, wiring) as both:
        found = [run_row(both, row, f"{prefix}: {row.name}")
                 for row in programs if row.rxe or not wiring.rxe]
        for side in (both.a, both.b):
            found += [Result(f"{prefix}: {side.name}: {r.name}", r.status,
                             r.detail) for r in
                      kernellog.check(side.guest, False, [KERNEL_LOG])]
        if check:
            found.append(check(both))
    return found


def run(context):
    """The suite pair. Return: Results."""
    with TemporaryDirectory() as folder:
        pcap = Path(folder, "wire.pcap")
        found = run_pair(context, "two cards", PROGRAMS, Wiring(pcap=pcap))
        found += tshark(pcap)
    large = [row for row in PROGRAMS if "65536" in row.name]
    found += run_pair(context, "path MTU 4096", large, Wiring(mtu=4200))
    return found + run_pair(context, "a card and rxe", PROGRAMS,
                            Wiring(rxe=True))


def was_bad(both):
    """Return a Result: the wire did what it was told to."""
    counts = [d.counts for d in both.relay.directions]
    idle = [kind for kind in ("lost", "doubled", "late")
            if not sum(c[kind] for c in counts)]
    return Result("the wire was bad", FAIL if idle else PASS,
                  both.relay.told())


def run_bad(context):
    """The suite pair-bad. Return: Results."""
    faults = wire.Faults(0.01, 0.01, 0.01)
    return (run_pair(context, "two cards", BAD, Wiring(faults=faults),
                     was_bad) +
            run_pair(context, "a card and rxe", BAD,
                     Wiring(rxe=True, faults=faults), was_bad))
