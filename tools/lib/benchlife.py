# SPDX-License-Identifier: GPL-2.0-or-later
"""The measures of the bench on what a user waits for, and on what a card that
nobody uses costs."""

import contextlib
import subprocess
import time
from pathlib import Path

import benchmeasure
import benchread
import emumem
import machine
from paths import REPO
from step import Failure
from verbs import build

IDLE_SETTLE_S = 6
IDLE_S = 15

# From the first modprobe to a port that is ACTIVE, in microseconds.
UP = """
began=$(date +%s%6N)
/usr/lib/mlx5sim/up || exit 1
echo up_us $(($(date +%s%6N) - began))
"""

# Words: the kind, how many first, how many more.
HOLD = """
setsid /share/verbs_bench hold mlx5_0 %s %d %d > /tmp/held 2>&1 < /dev/null &
echo $! > /tmp/holder
"""
HELD = "i=0; until grep -q 'held %d' /tmp/held; do i=$((i + 1)); " \
       "[ $i -lt 6000 ] || { cat /tmp/held; exit 1; }; sleep 0.05; done; " \
       "awk '/^MemAvailable/ { print \"available_kib\", $2 }' /proc/meminfo"


class Launch:
    """From the launcher's start to its end, around a command that does
    nothing."""

    COMMANDS = {"cold": ["--cold", "--no-probe"], "warm": ["--no-probe"],
                "up": []}
    sides = tuple(COMMANDS)

    @contextlib.contextmanager
    def open(self, context):
        for side in self.sides:      # what is set up once
            self.seconds(context, side)
        yield lambda side: {"s": self.seconds(context, side)}

    def seconds(self, context, side):
        began = time.monotonic()
        done = subprocess.run(
            [str(REPO / "tools/mlx5sim"), "run", "--guest", context.guest,
             *self.COMMANDS[side], "--", "true"], capture_output=True,
            text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Failure(f"run: status {done.returncode}\n{done.stderr}")
        return time.monotonic() - began


class Probe:
    """From modprobe to a port that is ACTIVE, and how much of it is spent
    inside the card."""

    sides = ("mlx5sim",)

    @contextlib.contextmanager
    def open(self, context):
        yield lambda _: self.sample(context)

    def sample(self, context):
        with benchmeasure.guest(context, rxe=False, probe=False) as inside:
            with inside.account() as counts:
                took = benchread.pairs(inside.shell(UP))["up_us"]
        spent_us = (counts["bar-ns"] + counts["engine-ns"]) / 1e3
        return {"s": took / 1e6, "card_s": spent_us / 1e6,
                "card_percent": 100 * spent_us / took,
                "accesses": counts["reads"] + counts["writes"]}


def cpu_s(pid):
    """Return the CPU time of a process's threads, by the scheduler's own clock:
    an idle guest takes six ticks of the other one in all the time it is
    watched."""
    return sum(int(path.read_text().split()[0]) for path in
               Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


class Idle:
    """What an idle guest costs, with the card up and without a card.

    Both run at the same time, so that other load on the machine is the same
    for both."""

    sides = ("without", "mlx5sim")

    @contextlib.contextmanager
    def open(self, context):
        with benchmeasure.guest(context, rxe=False, devices=[],
                                probe=False) as without, \
                benchmeasure.guest(context, rxe=False) as with_card:
            pids = [g.machine.qemu_pid() for g in (without, with_card)]
            time.sleep(IDLE_SETTLE_S)
            last = {}

            def sample(side):
                if side == self.sides[0]:
                    before = [cpu_s(pid) for pid in pids]
                    time.sleep(IDLE_S)
                    for name, pid, spent in zip(self.sides, pids, before):
                        last[name] = 100 * (cpu_s(pid) - spent) / IDLE_S
                return {"cpu_percent": last[side],
                        "more_percent": last["mlx5sim"] - last["without"]}
            yield sample


class Memory:
    """What each idle object takes of the emulator's memory, and of the
    guest's. The translator's notes on code that it sees for the first time
    count, too."""

    KINDS = {"ready-qp": (1000, 10000), "cq": (2000, 20000),
             "mr": (5000, 50000)}
    once = True
    sides = tuple(KINDS)

    @contextlib.contextmanager
    def open(self, context):
        yield lambda side: self.sample(context, side, *self.KINDS[side])

    def sample(self, context, kind, first, more):
        """A guest of its own: the emulator keeps what was freed."""
        image = build.build(context.guest)
        with benchmeasure.guest(context, rxe=False) as inside:
            smaps = Path(f"/proc/{inside.machine.qemu_pid()}/smaps")

            def look(held):
                free = benchread.pairs(inside.shell(HELD % held, timeout_s=400))
                own = emumem.own_kib(smaps.read_text(),
                                     machine.memory_kib(image))
                return own, free["available_kib"]

            inside.shell(HOLD % (kind, first, more))
            before = look(first)
            inside.shell("kill -USR1 $(cat /tmp/holder)")
            after = look(first + more)
        return {"emulator_kib": (after[0] - before[0]) / more,
                "guest_kib": (before[1] - after[1]) / more}
