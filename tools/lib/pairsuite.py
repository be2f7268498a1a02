# SPDX-License-Identifier: GPL-2.0-or-later
"""The suites pair, pair-bad and pair-all: two guests on one wire, two cards or
a card and Linux's software RDMA (rxe), on a good wire and on a bad one, which
must cost time and nothing else. What is run: pairrows.py.
"""

import re
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import build
import host
import kernellog
import pair
import pairrows
import wire
from pair import Pair, Wiring
from paths import REPO
from results import FAIL, PASS, Result

LIMIT_S = 60
# Each loss may cost a second and more, and a busy machine adds to that.
BAD_LIMIT_S = 240
# On a busy machine a program takes its time to listen.
LISTEN_S = 30
KERNEL_LOG = REPO / "guest-tests/kernel-log.expected"
SHARE = REPO / "guest-tests/pair"


def shell(command, limit_s):
    return ["sh", "-c", "set -a; [ ! -e /tmp/addresses ] || . /tmp/addresses; "
            f"exec timeout {limit_s} sh -c '{command}'"]


def run_row(both, row, name, back=False, limit_s=LIMIT_S):
    """Return the Result of a row."""
    text = []
    began = time.monotonic()
    statuses = both.run(shell(row.server, limit_s),
                        shell(row.client, limit_s),
                        lambda who, _, line: text.append(f"{who}: {line}"),
                        back, LISTEN_S if row.listens else pair.LISTEN_S)
    said = "".join(text)
    took = f"{time.monotonic() - began:.1f} s"
    if statuses != (0, 0):
        return Result(name, FAIL, f"status {statuses}, {took}\n" +
                      "".join(text[-60:]))
    if row.said and not re.search(row.said, said):
        return Result(name, FAIL, f"nobody said {row.said}\n" + said[-3000:])
    return Result(name, PASS, took)


def run_rows(context, both, rows, prefix, back=False, limit_s=LIMIT_S):
    """Return the Results of @rows; tell each if asked to."""
    found = []
    for row in rows:
        found.append(run_row(both, row, f"{prefix}: {row.name}", back,
                             limit_s))
        if context.verbose:
            print(f"{found[-1].status} {found[-1].name}: {found[-1].detail}",
                  flush=True)
    return found


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


def end_of(both, prefix, logs=(KERNEL_LOG,)):
    """Return Results on what the kernels said. @logs: files that explain it."""
    return [Result(f"{prefix}: {side.name}: {r.name}", r.status, r.detail)
            for side in (both.a, both.b)
            for r in kernellog.check(side.guest, False, list(logs))]


def run_pair(context, prefix, programs, wiring, check=None, limit_s=LIMIT_S):
    """Run @programs between two guests. Return: Results."""
    image = build.build(context.guest)
    with Pair(context.emulator, image, wiring) as both:
        found = run_rows(context, both, [row for row in programs if row.rxe
                                         or not wiring.rxe], prefix,
                         limit_s=limit_s)
        found += end_of(both, prefix)
        if check:
            found.append(check(both))
    return found


def run(context):
    """The suite pair. Return: Results."""
    with TemporaryDirectory() as folder:
        pcap = Path(folder, "wire.pcap")
        found = run_pair(context, "two cards", pairrows.PROGRAMS,
                         Wiring(pcap=pcap))
        found += tshark(pcap)
    found += run_marked(context)
    large = [row for row in pairrows.PROGRAMS if "65536" in row.name]
    found += run_pair(context, "path MTU 4096", large, Wiring(mtu=4200))
    return found + run_pair(context, "a card and rxe", pairrows.PROGRAMS,
                            Wiring(rxe=True))


# A rate that a guest notices, which then comes back; and what came of it.
CONGESTED = """
cd /sys/kernel/debug/mlx5/*/cc_params
echo 100 > rp_rate_to_set_on_first_cnp
"""
NOTICED = """
rdma statistic show link "$DEV/1" | tr ' ' '\\n' |
    grep -A1 -E '^(rp_cnp_handled|np_cnp_sent|np_ecn_marked_roce_packets)$'
"""


def run_marked(context):
    """Two cards and a switch that is congested. Return: Results."""
    prefix, found = "a congested switch", []
    rows = [row for row in pairrows.PROGRAMS if "65536" in row.name]
    wiring = Wiring(faults=wire.Faults(mark=0.05))
    with Pair(context.emulator, build.build(context.guest), wiring) as both:
        for side in (both.a, both.b):
            status, text = side.capture(CONGESTED)
            found.append(Result(f"{prefix}: {side.name} sets a parameter",
                                FAIL if status else PASS, text))
        found += run_rows(context, both, rows, prefix)
        for side in (both.a, both.b):
            text = side.capture(NOTICED)[1]
            counts = [int(word) for word in text.split() if word.isdigit()]
            found.append(Result(f"{prefix}: {side.name} counts marks and "
                                "notices", PASS if len(counts) == 3 and
                                all(counts) else FAIL, text))
        marks = [d.counts["marked"] for d in both.relay.directions]
        found.append(Result(f"{prefix}: frames were marked",
                            PASS if all(marks) else FAIL, both.relay.told()))
        return found + end_of(both, prefix)


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
    rows = pairrows.BAD + pairrows.BAD_ALL
    return (run_pair(context, "two cards", rows, Wiring(faults=faults),
                     was_bad, BAD_LIMIT_S) +
            run_pair(context, "a card and rxe", rows,
                     Wiring(rxe=True, faults=faults), was_bad, BAD_LIMIT_S))


def more_addresses(both, prefix):
    """Give both guests a VLAN and names for their addresses. Return: Results
    on that."""
    found = []
    for side in (both.a, both.b):
        status, text = side.capture(f"/share/addresses {side.net()} "
                                    f"{side.number} {3 - side.number}")
        found.append(Result(f"{prefix}: {side.name} has all addresses",
                            FAIL if status else PASS, text))
    return found


def run_all(context):
    """The suite pair-all. Return: Results."""
    kinds, verbs = pairrows.all_kinds(), pairrows.verbs_of_perftest()
    with TemporaryDirectory() as folder:
        pcap = Path(folder, "wire.pcap")
        found = all_on(context, Wiring(pcap=pcap),
                       [("two cards", kinds, False)])
        found += tshark(pcap)
    found += all_on(context, Wiring(), [("two cards, perftest", verbs, False)])
    rows = [row for row in kinds + verbs if row.rxe]
    return found + all_on(context, Wiring(rxe=True),
                          [("the card serves rxe", rows, False),
                           ("rxe serves the card", rows, True)])


def all_on(context, wiring, parts):
    """Run @parts, (name, rows, whether b serves), on a pair with all kinds of
    address. Return: Results."""
    with Pair(context.emulator, build.build(context.guest),
              wiring._replace(share=SHARE)) as both:
        found = more_addresses(both, parts[0][0])
        for prefix, rows, back in parts:
            found += run_rows(context, both, rows, prefix, back)
        return found + end_of(both, parts[0][0])
