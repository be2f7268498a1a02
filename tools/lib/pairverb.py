# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb pair: two guests on one wire, and a command in each.

Guest a has a card. Guest b has another one, or an Ethernet card with Linux's
software RDMA (rxe) on it. The command of b begins when that of a listens, or
has had time to.
"""

import os
import signal
import tempfile
import threading
import time
from pathlib import Path

import machine
import verbs
import wire
from agent import GuestGone
from step import Failure, say

# Once b has ended, a may still say what it has to; a failed a stops b.
GRACE_S = 15
READY = "\x1emlx5sim: ready"
# Printed when something listens that did not before, or after five seconds.
# Words: the command.
WATCHED = """
listeners()
{
    { awk '$4 == "0A"' /proc/net/tcp /proc/net/tcp6
      rdma resource show cm_id 2> /dev/null | grep LISTEN; } | wc -l
}
before=$(listeners)
(
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25
    do
        sleep 0.2
        [ "$(listeners)" -le "$before" ] || break
    done
    echo '%s' >&2
) &
exec "$@"
""" % READY

# Words: the interface, this end's number, the other's, the MTU.
ADDRESSES = """
set -e
ip link set "$1" mtu "$4" up
ip address flush dev "$1" scope global
ip address add "192.168.77.$2/24" dev "$1"
ip address add "fd77::$2/64" dev "$1" nodad
"""
RXE = """
set -e
modprobe -a virtio_net crc32_generic rdma_rxe
i=0
until [ -e /sys/class/net/eth0 ]; do
    i=$((i + 1)); [ $i -lt 100 ] || exit 1; sleep 0.05
done
"""
RXE_LINK = "rdma link add rxe0 type rxe netdev eth0"
# Until the port is ACTIVE and the IPv4 address is in its table.
GID = """
i=0
until grep -q ACTIVE /sys/class/infiniband/*/ports/1/state &&
      grep -qs '0000:0000:0000:0000:0000:ffff:c0a8:4d0%d' \
          /sys/class/infiniband/*/ports/1/gids/*
do
    i=$((i + 1)); [ $i -lt 200 ] || exit 1; sleep 0.05
done
"""


class Side:
    """One guest of the two."""

    def __init__(self, name, number, rxe, command):
        self.name = name
        self.number = number
        self.rxe = rxe
        self.command = command
        self.guest = None
        self.status = None
        self.ended_at = None

    def words(self, netdev):
        """Return QEMU's words for the wire."""
        found = ["-netdev", netdev]
        if self.rxe:
            found += ["-device", "virtio-net-pci,netdev=n0,mac=" + self.mac()]
        return found

    def mac(self):
        return f"52:54:00:77:00:{self.number:02x}"

    def devices(self, more):
        return [] if self.rxe else [",".join(
            [f"netdev=n0,mac={self.mac()}", *more])]

    def set_up(self, mtu):
        """Give the guest's interface its addresses."""
        steps = [RXE] if self.rxe else []
        net = "eth0" if self.rxe else (
            "$(ls /sys/class/infiniband/mlx5_0/device/net)")
        steps.append(f"set -- {net} {self.number} {3 - self.number} {mtu}")
        steps.append(ADDRESSES)
        steps += [RXE_LINK] if self.rxe else []
        steps.append(GID % self.number)
        status, _, err = self.guest.agent.capture(["sh", "-c",
                                                   "\n".join(steps)])
        if status:
            raise Failure(f"guest {self.name} doesn't come up: {err}", 125)

    def environment(self):
        other = 3 - self.number
        return [("PEER", f"192.168.77.{other}"), ("PEER6", f"fd77::{other}"),
                ("SELF", f"192.168.77.{self.number}"),
                ("DEV", "rxe0" if self.rxe else "mlx5_0")]


class Lines:
    """A pipe whose lines come out behind the name of a guest."""

    def __init__(self, name, to, on_ready=None):
        self.name = name
        self.to = to
        self.on_ready = on_ready
        ours, self.fd = os.pipe()
        self._thread = threading.Thread(target=self._copy, args=(ours,),
                                        daemon=True)
        self._thread.start()

    def _copy(self, fd):
        with os.fdopen(fd, "r", errors="replace") as stream:
            for line in stream:
                if line.startswith(READY):
                    self.on_ready()
                    continue
                os.write(self.to, f"{self.name}: {line}".encode())

    def close(self):
        os.close(self.fd)
        self._thread.join(5)


def run_side(side, other, argv, ready):
    """Run the command of a side to its end."""
    lines = Lines(side.name, 1), Lines(side.name, 2, ready.set)
    told = []

    def idle():
        if told or other.ended_at is None or \
                time.monotonic() < other.ended_at + GRACE_S:
            return
        if side.name == "a" or other.status:
            told.append(True)
            say(f"{side.name} still runs {GRACE_S} s after {other.name} "
                f"ended: stopped")
            side.guest.agent.send("S", bytes([signal.SIGTERM]))

    try:
        side.status = side.guest.agent.run(
            argv, stdout=lines[0].fd, stderr=lines[1].fd,
            env=side.environment(), idle=idle)
    except GuestGone:
        say(f"guest {side.name} is gone:\n{side.guest.last_words()}")
        side.status = 125
    if told:
        side.status = 128 + signal.SIGTERM
    side.ended_at = time.monotonic()
    ready.set()
    for line in lines:
        line.close()


def run_commands(a, b):
    """Run both. Return: the status of the first that failed, or 0."""
    ready = threading.Event()
    watched = ["sh", "-c", WATCHED, "sh", *a.command]
    threads = [threading.Thread(target=run_side, args=(a, b, watched, ready)),
               threading.Thread(target=run_side,
                                args=(b, a, b.command, ready))]
    threads[0].start()
    ready.wait()
    threads[1].start()
    for thread in threads:
        thread.join()
    return a.status or b.status


def netdevs(folder, faults):
    """Return the netdevs of both ends, and the relay between them or None."""
    paths = [Path(folder, name) for name in ("a", "b")]
    if faults.any():
        relay = wire.Relay(paths, faults)
        return [f"stream,id=n0,server=off,addr.type=unix,addr.path={path}"
                for path in paths], relay
    return [f"stream,id=n0,server={server},addr.type=unix,"
            f"addr.path={paths[0]}" for server in ("on", "off")], None


def start(args, a, b, folder, faults):
    """Start both guests. Return: the relay between them, or None."""
    emulator, image = verbs.prepare(args.guest)
    ends, relay = netdevs(folder, faults)
    for side, end in zip((a, b), ends):
        words = side.words(end)
        if args.pcap and side is a:
            words += ["-object", "filter-dump,id=dump,netdev=n0,file="
                      f"{Path(args.pcap).absolute()}"]
        options = machine.Options(
            devices=side.devices(args.device or []), share=args.share,
            qemu_args=[*words, *args.qemu_arg], probe=not side.rxe,
            cold=args.cold)
        side.guest = machine.start(emulator, image, options)
        side.set_up(args.mtu)
    return relay


def pair(args):
    """Carry out the verb. Return: its exit status."""
    if len(args.commands) != 2:
        raise Failure("pair takes two commands: pair [OPTION...] -- CMD_A -- "
                      "CMD_B", 2)
    a = Side("a", 1, False, args.commands[0])
    b = Side("b", 2, args.peer == "rxe", args.commands[1])
    faults = wire.Faults(args.loss / 100, args.duplicate / 100,
                         args.reorder / 100, args.delay / 1000, args.seed)
    with tempfile.TemporaryDirectory(prefix="mlx5sim-pair-") as folder:
        try:
            relay = start(args, a, b, folder, faults)
            status = run_commands(a, b)
            if relay:
                say("wire: " + relay.told())
            return status
        finally:
            for side in (a, b):
                if side.guest:
                    side.guest.stop()
