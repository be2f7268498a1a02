# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of the tour.
A device can be taken away while programs use it: the driver is unbound, its
module unloaded, the card unplugged in good order, or pulled out. What then
happens to programs is called *disassociation*. mlx5_ib has the slot
`disassociate_ucontext`, and with it promises that a device can go without
waiting for its users; so an open context does not even hold the module.

uverbs, as a client that is told of the removal, does this for each open
context: it destroys the kernel's side of all objects, replaces the mapped
doorbell pages by memory that leads nowhere (so a program that rings on does no
harm, and is not killed), and sends the event `IBV_EVENT_DEVICE_FATAL`. The
descriptors stay open. Each command that comes later is answered with `EIO`.

Each time below two programs write data from one QP to another without end
while the device is taken away.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import ask
from cards import Card, sh, wait

TITLE = "Removal with users alive"
PCI = "0000:01:00.0"
USERS = 2
LOOKS_AWAY_S = 2
DRIVER = Path("/sys/bus/pci/drivers/mlx5_core")
HERE = Path(__file__).parent


class Programs:
    """Programs that use the card."""

    def __init__(self, card):
        self.logs = [f"/tmp/user{i}" for i in range(USERS)]
        for log in self.logs:
            sh(f"rm -f {log} {log}.go")
        self.running = [subprocess.Popen(
            [sys.executable, "-B", str(HERE / "worker.py"), card.ibdev(), log],
            stdin=subprocess.DEVNULL, stdout=open(log + ".out", "w"),
            stderr=subprocess.STDOUT) for log in self.logs]

    def said(self):
        """Return what each has said, as one dict each."""
        found = []
        for log in self.logs:
            lines = Path(log).read_text().splitlines() \
                if os.path.exists(log) else []
            said = {"events": []}
            for line in lines:
                row = json.loads(line)
                said["events"] += [row["event"]] if "event" in row else []
                said.update(row)
            found.append(said)
        return found

    def busy(self):
        return all("running" in s for s in self.said())

    def go(self):
        """Tell them that the device is away."""
        for log in self.logs:
            Path(log + ".go").touch()

    def end(self):
        """Return their exit statuses; a program that hangs is killed."""
        found = []
        for program in self.running:
            try:
                found.append(program.wait(20))
            except subprocess.TimeoutExpired:
                program.kill()
                found.append("hangs")
        return found

    def mapped(self):
        """Tell whether each has pages of the card mapped."""
        return all("/dev/infiniband/uverbs" in
                   Path(f"/proc/{program.pid}/maps").read_text()
                   for program in self.running)

    def output(self):
        return "\n".join(Path(log + ".out").read_text() for log in self.logs)


def unbind(_):
    (DRIVER / "unbind").write_text(PCI)


def bind(_):
    (DRIVER / "bind").write_text(PCI)


def unload(_):
    said = sh("rmmod mlx5_ib")
    if said or os.path.exists("/sys/module/mlx5_ib"):
        raise OSError(f"mlx5_ib doesn't unload: {said}")


def load(_):
    sh("modprobe mlx5_ib")


def unplug(card):
    ask.qmp("device_del", id="card0")
    if not wait(lambda: not card.path.exists(), 30):
        raise OSError("the card is still there")


def plug(card):
    """Put a card into the slot, when the kernel has done with the last: it
    looks away for a second after it switched the power off, and would take
    what it then sees for somebody who presses the button again."""
    power = next(Path("/sys/bus/pci/slots").glob("*/power"))
    wait(lambda: power.read_text().strip() == "0", 20)
    time.sleep(LOOKS_AWAY_S)

    def try_():
        try:
            ask.qmp("device_add", driver="mlx5sim", id="card0", bus="rp",
                    vectors=8)
            return True
        except RuntimeError:
            return False          # the old one is still on its way out
    wait(try_, 20)
    wait(card.path.exists, 20)


def pull(card):
    """From now on the card reads as all ones."""
    ask.qmp("qom-set", path="/machine/peripheral/card0", property="gone",
            value=True)


# Name, what takes the device away, what comes after the programs know, what
# brings it back, whether the card's own tables can be asked in between.
WAYS = (
    ("unbind", "the driver is unbound", unbind, None, bind, True),
    ("unload", "the module is unloaded", unload, None, load, True),
    ("unplug", "the card is unplugged (device_del)", unplug, None, plug,
     False),
    ("pull", "the card is pulled out", pull, unplug, plug, False),
)


def run(tour):
    card = Card(0, PCI)
    tour.ok(wait(card.active, 20), "the card is there, behind a hot-plug port")
    rows = [["way", "seconds", "event", "commands", "messages before"]]
    for way in WAYS:
        try:
            rows.append(one(tour, card, *way))
        except (OSError, TimeoutError, RuntimeError) as error:
            tour.ok(False, f"{way[0]}: {way[1]}", error)
            sh("pkill -f worker.py")
    tour.show(rows)


def one(tour, card, name, what, take, then, back, ask_card):
    before = ask.card(0)["objects"]
    programs = Programs(card)
    tour.ok(wait(programs.busy, 30), f"{name}: two programs write data",
            programs.output())
    tour.ok(programs.mapped(), f"{name}: they have doorbell pages mapped")
    tour.same(Path("/sys/module/mlx5_ib/refcnt").read_text().strip(), "0",
              f"{name}: and don't hold the module")
    time.sleep(0.5)
    began = time.monotonic()
    take(card)
    if then:
        wait(lambda: all("event" in s for s in programs.said()), 60)
        then(card)
    seconds = time.monotonic() - began
    tour.ok(seconds < 60, f"{name}: {what}, and nobody waits for them",
            seconds)
    tour.same(card.ibdev(), None, f"{name}: the device is gone while they "
              "have it open")
    programs.go()
    statuses = programs.end()
    said = programs.said()
    tour.same(statuses, [0] * USERS, f"{name}: the programs end by "
              "themselves")
    judge(tour, name, programs, said)
    after(tour, card, name, back, ask_card, before)
    first = said[0]
    return [name, f"{seconds:.1f}", first.get("event"),
            first.get("reg_mr"), first.get("messages")]


def judge(tour, name, programs, said):
    tour.ok(all("IBV_EVENT_DEVICE_FATAL" in s["events"] for s in said),
            f"{name}: each is told IBV_EVENT_DEVICE_FATAL",
            f"{said}\n{programs.output()}")
    tour.same([(s.get("reg_mr"), s.get("create_cq"), s.get("query_port"))
               for s in said], [("EIO",) * 3] * USERS,
              f"{name}: commands then come back with EIO")
    tour.ok(all(s.get("posted") == 8 and s.get("polled") == 0 for s in said),
            f"{name}: posting still works, into the void", said)
    tour.ok(all(s.get("ended") and "close" not in s for s in said),
            f"{name}: closing everything works", said)


def after(tour, card, name, back, ask_card, before):
    if ask_card:
        left = ask.card(0)["objects"]
        tour.same([left[k] for k in ("qp", "srq", "xrcd", "umem")], [0] * 4,
                  f"{name}: nothing of theirs is left on the card")
    back(card)
    wait(lambda: card.ibdev() and card.netdev(), 30)
    tour.same(sh("/usr/lib/mlx5sim/up 2>&1 | grep -vE 'already assigned|File exists'"), "",
              f"{name}: the device comes back, its port ACTIVE")
    wait(card.active, 20)
    settle(tour, name, before)


def settle(tour, name, before):
    """The card must hold as much as before."""
    keys = ("pd", "qp", "cq", "srq", "xrcd", "uar", "umem", "mkey")

    def held():
        now = ask.card(0)["objects"]
        return {k: now[k] for k in keys}
    want = {k: before[k] for k in keys}
    wait(lambda: held() == want, 10)
    tour.same(held(), want, f"{name}: the card holds as much as before")
