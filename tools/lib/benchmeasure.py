# SPDX-License-Identifier: GPL-2.0-or-later
"""The measures of the bench that are taken inside one guest.

A measure has sides, which are taken in turns, and open(), a context that gives
a function: a side's name in, its figures out. One with an attribute "once" that
is true does not vary enough to be repeated for the minutes that it takes.
"""

import contextlib
import re
import shutil
import tempfile
from pathlib import Path

import benchread
import machine
import programs
from agent import GuestGone
from paths import REPO
from step import Failure
from verbs import build

BENCH = REPO / "guest-tests/bench"
VERBS = REPO / "guest-tests/verbs"
LIB = REPO / "guest-tests/suites/lib.sh"
PROGRAM = "verbs_bench"

DEVICES = {"rxe": "rxe0", "mlx5sim": "mlx5_0"}
LIMIT_S = 120
# What the card counts when asked to: hw/mlx5sim/account.c.
COUNTS = ("reads", "writes", "bar-ns", "engine-ns", "entries", "dma-reads",
          "dma-writes", "dma-copies", "lookups", "irqs", "wakes")


def switches(pid):
    """Return how often a process's threads have gone to sleep: each waits for
    a lock, for work or for the next timer, by a system call."""
    total = 0
    for path in Path(f"/proc/{pid}/task").glob("*/status"):
        found = re.search(r"(?m)^voluntary_ctxt_switches:\s+(\d+)",
                          path.read_text())
        total += int(found[1])
    return total


class Guest:
    """A guest with what the measures need of it."""

    def __init__(self, started, folder):
        self.machine = started
        self.agent = started.agent
        self.folder = folder

    def capture(self, *argv, timeout_s=LIMIT_S):
        """Run a command. Return: what it printed; Failure if it fails."""
        try:
            status, out, err = self.agent.capture(list(argv), timeout_s)
        except GuestGone as error:
            raise Failure("the guest is gone:\n" +
                          self.machine.last_words()) from error
        except TimeoutError as error:
            raise Failure(f"{' '.join(argv)}: not done after {timeout_s} s"
                          ) from error
        if status:
            raise Failure(f"{' '.join(argv)}: status {status}\n"
                          f"{out[-2000:]}{err[-2000:]}")
        return out

    def shell(self, script, timeout_s=LIMIT_S):
        return self.capture("sh", "-c", script, timeout_s=timeout_s)

    @contextlib.contextmanager
    def account(self):
        """Let the card count during a block. Gives a dictionary, which is
        filled at the end of it: {name: how many more}."""
        def ask(command, name, **more):
            return self.machine.qmp(command, path="/machine/peripheral/card0",
                                    property=name, **more)

        def read():
            found = {name: ask("qom-get", f"account-{name}")
                     for name in COUNTS}
            return dict(found, switches=switches(self.machine.qemu_pid()))

        ask("qom-set", "account", value=True)
        before, found = read(), {}
        yield found
        found.update({k: v - before[k] for k, v in read().items()})
        ask("qom-set", "account", value=False)

    def program(self, *words, cpu=None, timeout_s=LIMIT_S):
        """Run our C program, on processor @cpu alone if given. Return: its
        figures."""
        where = [] if cpu is None else ["taskset", "-c", str(cpu)]
        return benchread.pairs(self.capture(*where, f"/share/{PROGRAM}",
                                            *words, timeout_s=timeout_s))


@contextlib.contextmanager
def guest(context, rxe=True, **options):
    """Start a guest with a card and rxe in it."""
    image = build.build(context.guest)
    with tempfile.TemporaryDirectory(prefix="mlx5sim-bench-") as folder:
        for path in [LIB, *BENCH.iterdir(),
                     programs.made(VERBS, image) / PROGRAM]:
            shutil.copy2(path, folder)
        options.setdefault("devices", [""])
        options["devices"] = [",".join(filter(None, [d, context.device]))
                              for d in options["devices"]]
        chosen = machine.Options(share=folder, **options)
        with machine.start(context.emulator, image, chosen) as started:
            found = Guest(started, folder)
            if rxe:
                found.capture("/share/rxe")
            yield found


class Perftest:
    """A program of perftest in one guest, over rxe and over the card."""

    sides = ("rxe", "mlx5sim")

    def __init__(self, options, rxe, mlx5sim):
        """@options: the program and its words; @rxe, @mlx5sim: how many
        iterations each does, some seconds' worth at most."""
        self.words = options.split()
        self.iterations = {"rxe": rxe, "mlx5sim": mlx5sim}

    @contextlib.contextmanager
    def open(self, context):
        with guest(context) as inside:
            yield lambda side: self.run(inside, side)

    def run(self, inside, side):
        """Run it once. Return: its figures."""
        return benchread.perftest(inside.capture(
            "/share/perftest", DEVICES[side], "60", *self.words, "-n",
            str(self.iterations[side])))


class Counts(Perftest):
    """What of a message of such a program is spent in the card, and how often
    the guest comes to it for one."""

    sides = ("mlx5sim",)

    def __init__(self, options, messages, iterations):
        """@messages: that @iterations make."""
        super().__init__(options, 0, iterations)
        self.messages = messages

    @contextlib.contextmanager
    def open(self, context):
        with guest(context, rxe=False) as inside:
            def take(side):
                with inside.account() as counts:
                    self.run(inside, side)
                counts["accesses"] = counts["reads"] + counts["writes"]
                return {name.replace("-", "_"): count / self.messages
                        for name, count in counts.items()}
            yield take


class Program:
    """Our own C program in one guest, over rxe and over the card."""

    sides = ("rxe", "mlx5sim")

    def __init__(self, *words, setup="true", sides=sides, once=False,
                 cpu=None):
        """@words: the program's. @setup: run before. @cpu: the guest's
        processor to stay on, or None."""
        self.words = words
        self.cpu = cpu
        self.once = once
        self.setup = setup
        self.sides = sides

    @contextlib.contextmanager
    def open(self, context):
        with guest(context, rxe="rxe" in self.sides) as inside:
            inside.shell(self.setup)
            yield lambda side: inside.program(
                self.words[0], DEVICES[side], *self.words[1:], cpu=self.cpu,
                timeout_s=LIMIT_S * (5 if self.once else 1))
