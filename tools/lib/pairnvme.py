# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite pair-nvme: NVMe over RDMA, the target in one guest, the initiator
in the other; two cards, a card and rxe in both directions. fio verifies what it
writes, also while the link of the target is pulled and while its RDMA device is
away.
"""

import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import build
import pairsuite
from pair import Pair, Wiring
from paths import REPO
from results import FAIL, PASS, Result, parse_tap

SCRIPTS = REPO / "guest-tests/pair"
LOGS = [pairsuite.KERNEL_LOG, SCRIPTS / "kernel-log.expected"]
LIMIT_S = 400


@contextmanager
def staged():
    """Give the folder that both guests share."""
    with TemporaryDirectory(prefix="mlx5sim-pair-") as folder:
        shutil.copytree(SCRIPTS, folder, dirs_exist_ok=True)
        shutil.copy2(REPO / "guest-tests/suites/lib.sh", folder)
        yield folder


class Disk:
    """A target in one guest and its initiator in the other one."""

    def __init__(self, target, initiator, prefix, verbose):
        self.target = target
        self.initiator = initiator
        self.prefix = prefix
        self.verbose = verbose
        self.found = []

    def tell(self, results):
        """Keep Results; print them if asked to."""
        self.found += results
        for result in results if self.verbose else ():
            print(f"{result.status} {result.name}: {result.detail}",
                  flush=True)

    def on_target(self, word, name):
        """Let the target do something. Return: whether it did."""
        status, text = self.target.capture(f"/share/nvme-target {word}",
                                           LIMIT_S)
        self.tell([Result(f"{self.prefix}: {name}",
                          FAIL if status else PASS, text)])
        return not status

    def on_initiator(self, word, event=None):
        """Let the initiator do something that it reports of."""
        text = self.initiator.capture(f"/share/nvme-initiator {word}",
                                      LIMIT_S)[1]
        where = f"{self.prefix}, {event}" if event else self.prefix
        self.tell([Result(f"{where}: {r.name}", r.status, r.detail)
                   for r in parse_tap(text)])

    def link(self, up):
        self.target.guest.qmp("set_link", name="n0", up=up)

    def pull_link(self):
        event = "the target's link is pulled"
        self.on_initiator("begin", event)
        self.link(False)
        self.on_initiator("stands", event)
        self.link(True)
        self.on_initiator("done", event)

    def take_device(self):
        event = "the target's device goes and comes"
        self.on_initiator("begin", event)
        self.on_target("away", "the target's device goes")
        self.on_initiator("stands", event)
        self.on_target("back", "the target's device is back")
        self.on_initiator("done", event)

    def run(self):
        """Return: Results."""
        if self.on_target("make", "a target is set up"):
            self.on_initiator("verify")
            self.pull_link()
            self.take_device()
            self.on_initiator("leave")
            self.on_target("drop", "the target is taken down")
        return self.found


def run_on(context, wiring, prefix, ways):
    """Run @ways, (target, initiator, name) each by a side's name, on one pair
    of guests. Return: Results."""
    image = build.build(context.guest)
    found = []
    with staged() as folder, Pair(context.emulator, image,
                                  wiring._replace(share=folder)) as both:
        for target, initiator, name in ways:
            found += Disk(getattr(both, target), getattr(both, initiator),
                          prefix + name, context.verbose).run()
        return found + pairsuite.end_of(both, prefix, LOGS)


def run(context):
    """Return: Results."""
    return (run_on(context, Wiring(), "two cards", [("a", "b", "")]) +
            run_on(context, Wiring(rxe=True), "a card and rxe",
                   [("a", "b", ", the card has the disk"),
                    ("b", "a", ", rxe has the disk")]))
