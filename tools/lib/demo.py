# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb demo: a stock guest meets the card, step by step.

Each step runs in the guest what a user would type, shows what it printed, says
what the device saw of it, and checks that it held.
"""

import collections
import os
import re
import tempfile
import time

import machine
import verbs
from agent import GuestGone
from step import Failure

GID = ("$(for f in /sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/*; do "
       "g=/sys/class/infiniband/mlx5_0/ports/1/gids/${f##*/}; "
       "read -r t < $f 2>/dev/null && [ \"$t\" = 'RoCE v2' ] && "
       "grep -q ffff:c0a8 $g && echo ${f##*/} && break; done)")

# A step: what it shows, the command typed, what its output must match, how
# many lines of it are shown, and whether every work request is traced.
Step = collections.namedtuple("Step", "title command must lines traced")

STEPS = [
    Step("The kernel finds the card and its driver probes it",
         "modprobe mlx5_ib && dmesg | grep -E 'mlx5_(core|ib)'",
         r"firmware version", 8, True),
    Step("The network interface and the RDMA port come up",
         "/usr/lib/mlx5sim/up && rdma dev && rdma link && ip -brief link",
         r"state ACTIVE", 8, True),
    Step("A verbs program reads what the card can do",
         "ibv_devinfo", r"PORT_ACTIVE", 24, True),
    Step("Two processes ping-pong over a reliable connection, data checked",
         f"g={GID}; ibv_rc_pingpong -d mlx5_0 -g $g -n 200 -c >/dev/null & "
         f"sleep 0.7; g={GID}; "
         "ibv_rc_pingpong -d mlx5_0 -g $g -n 200 -c localhost && wait $!",
         r"200 iters", 4, True),
    Step("perftest measures the bandwidth of RDMA writes",
         f"g={GID}; ib_write_bw -d mlx5_0 -x $g -s 65536 -n 2000 "
         f">/dev/null & sleep 1; g={GID}; "
         "ib_write_bw -d mlx5_0 -x $g -s 65536 -n 2000 localhost && wait $!",
         r"(?m)^\s*65536\s+2000\s+\d", 4, False),
    Step("The drivers let go of the card",
         "modprobe -r mlx5_ib && modprobe -r mlx5_core && "
         "! ls /sys/class/infiniband/mlx5_0 2>/dev/null && echo unloaded",
         r"unloaded", 2, True),
]
NAMES = {"eqe": "events", "irq": "interrupts",
         "wqe": "work requests", "cqe": "completions", "packet": "packets",
         "doorbell": "doorbells"}


class Witness:
    """Counts what the device did, from its trace and its inspector."""

    def __init__(self, guest, log):
        self.guest = guest
        self.log = log
        self.offset = 0
        self.before = {}

    def begin(self, traced):
        events = ["eqe", "irq"]
        events += ["wqe", "cqe", "packet", "doorbell"] if traced else []
        self.guest.qmp("trace-event-set-state", name="mlx5sim_*",
                       enable=False)
        for event in events:
            self.guest.qmp("trace-event-set-state", name=f"mlx5sim_{event}",
                           enable=True)
        self.offset = os.path.getsize(self.log) \
            if os.path.exists(self.log) else 0
        self.before = self.state()

    def state(self):
        """Return what the card's inspector tells."""
        return self.guest.qmp("qom-get", path="/machine/peripheral/card0",
                              property="state")

    def seen(self):
        """Return what the device saw since begin(), in words."""
        counts = collections.Counter()
        if os.path.exists(self.log):
            with open(self.log, errors="replace") as file:
                file.seek(self.offset)
                for line in file:
                    match = re.match(r"(?:\S*:)?mlx5sim_(\w+)", line)
                    if match:
                        counts[match[1]] += 1
        after = self.state()
        words = []
        for key, name in (("commands", "commands"),
                          ("commands_refused", "of them refused")):
            more = after[key] - self.before[key]
            if more or key == "commands":
                words.append(f"{more} {name}")
        words += [f"{counts[k]} {name}" for k, name in NAMES.items()
                  if counts[k]]
        return ", ".join(words) + changes(self.before, after)


def changes(before, after):
    """Return in words which objects came and went between two states."""
    words = []
    for kind, count in after["objects"].items():
        more = count - before["objects"].get(kind, 0)
        if more:
            words.append(f"{more:+} {kind}")
    if after["pages"] != before["pages"]:
        words.append(f"{after['pages'] - before['pages']:+} pages")
    return f"; objects: {', '.join(words)}" if words else ""


def show(step, number, text):
    """Print a step's output, at most as many lines as it asks for."""
    lines = [line for line in text.splitlines()
             if line.strip() and not re.match(r"^\s*-+\s*$", line)]
    if len(lines) > step.lines:
        lines = lines[:step.lines] if number < 3 else lines[-step.lines:]
    for line in lines:
        print(f"    {line}")


def take(step, number, guest, witness):
    """Take one step. Return: whether it held."""
    print(f"\n{number}. {step.title}")
    began = time.monotonic()
    witness.begin(step.traced)
    status, out, err = guest.agent.capture(["sh", "-c", step.command], 300)
    took = time.monotonic() - began
    show(step, number, out)
    held = status == 0 and re.search(step.must, out)
    print(f"  the device saw: {witness.seen()}")
    print(f"  {'held' if held else 'DID NOT HOLD'} ({took:.1f} s)",
          flush=True)
    if not held:
        print(f"  exit status {status}\n{err}")
        print(guest.agent.capture(["sh", "-c", "dmesg | tail -n 25"])[1])
    return held


def left_behind(state):
    """Return what a card still holds that no driver uses any more."""
    left = {kind: n for kind, n in state["objects"].items() if n}
    if state["pages"]:
        left["pages"] = state["pages"]
    return left


def demo(args):
    emulator, image = verbs.prepare(args.guest)
    with tempfile.TemporaryDirectory(prefix="mlx5sim-demo-") as folder:
        log = os.path.join(folder, "trace")
        began = time.monotonic()
        options = machine.Options(probe=False, cold=args.cold,
                                  qemu_args=["-D", log])
        with machine.start(emulator, image, options) as guest:
            try:
                return tour(guest, Witness(guest, log), image, began)
            except GuestGone as error:
                raise Failure(f"the guest is gone:\n{guest.last_words()}",
                              125) from error


def tour(guest, witness, image, began):
    kernel = guest.agent.capture(["uname", "-r"])[1].strip()
    print(f"A guest with Debian's kernel {kernel}, unmodified, on "
          f"-device mlx5sim: {time.monotonic() - began:.1f} s to its first "
          f"command.\nIts packages: {image.manifest}")
    held = [bool(take(step, number, guest, witness))
            for number, step in enumerate(STEPS, 1)]
    left = left_behind(witness.state())
    if left:
        print(f"  no driver is left, yet the card holds {left}")
        held.append(False)
    print(f"\n{'All held.' if all(held) else 'Not all held.'} Next: "
          "tools/mlx5sim run -- CMD, or tools/mlx5sim shell.")
    return 0 if all(held) else 1
