# SPDX-License-Identifier: GPL-2.0-or-later
"""Two guests on one wire, and a command in each.

Guest a has a card. Guest b has another one, or an Ethernet card with Linux's
software RDMA (rxe) on it.
"""

import os
import signal
import tempfile
import threading
import time
from collections import namedtuple
from pathlib import Path

import machine
import wire
from agent import GuestGone
from step import Failure, say

# Once b has ended, a may still say what it has to; a failed a stops b.
GRACE_S = 15
READY = "\x1emlx5sim: ready"
# Printed when something listens that did not before, or after some seconds.
# Words: how many, the command.
WATCHED = """
listeners()
{
    awk '$4 == "0A" { print $2, $10 }' /proc/net/tcp /proc/net/tcp6
    rdma resource show cm_id 2> /dev/null | grep LISTEN
}
before=$(listeners)
tries=$(($1 * 5))
shift
(
    while [ $tries -gt 0 ]; do
        sleep 0.2
        tries=$((tries - 1))
        listeners | grep -qvxF "$before" && break
    done
    echo '%s' >&2
) &
exec "$@"
""" % READY
# How long to wait for who may never listen.
LISTEN_S = 5

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
# Until the port is ACTIVE and its table has the IPv4 address for RoCE v2; prints
# the index of that. Words of %: the last byte of the address.
GID = """
i=0
until grep -q ACTIVE "$port"/state && grep -qs 'RoCE v2' \
      "$port/gid_attrs/types/$gid"
do
    gid=$(grep -ls '0000:0000:0000:0000:0000:ffff:c0a8:4d0%d' \
          "$port"/gids/* | tail -n 1)
    gid=${gid##*/}
    i=$((i + 1)); [ $i -lt 200 ] || exit 1; sleep 0.05
done
echo "$gid"
"""


class Side:
    """One guest of the two."""

    def __init__(self, name, number, rxe):
        self.name = name
        self.number = number
        self.rxe = rxe
        self.guest = None
        self.gid = None
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
        steps.append(f"set -- {self.net()} {self.number} {3 - self.number} "
                     f"{mtu}")
        steps.append(ADDRESSES)
        steps += [RXE_LINK] if self.rxe else []
        steps.append(f"port=/sys/class/infiniband/{self.device()}/ports/1")
        steps.append(GID % self.number)
        status, out, err = self.guest.agent.capture(["sh", "-c",
                                                   "\n".join(steps)])
        if status:
            raise Failure(f"guest {self.name} doesn't come up: {err}", 125)
        self.gid = out.split()[-1]

    def device(self):
        return "rxe0" if self.rxe else "mlx5_0"

    def net(self):
        """Return the interface, as a shell says it."""
        return ("eth0" if self.rxe else
                "$(ls /sys/class/infiniband/mlx5_0/device/net)")

    def capture(self, command, timeout_s=600):
        """Run a shell's command with run()'s environment. Return: status,
        output."""
        words = "; ".join(f"export {k}={v}" for k, v in self.environment())
        status, out, err = self.guest.agent.capture(
            ["sh", "-c", f"{words}; {command}"], timeout_s)
        return status, out + err

    def environment(self):
        other = 3 - self.number
        return [("PEER", f"192.168.77.{other}"), ("PEER6", f"fd77::{other}"),
                ("SELF", f"192.168.77.{self.number}"),
                ("DEV", self.device()), ("GID", self.gid)]


class Lines:
    """A pipe whose lines go to @sink, one by one."""

    def __init__(self, sink, on_ready=None):
        self.sink = sink
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
                else:
                    self.sink(line)

    def close(self):
        os.close(self.fd)
        self._thread.join(5)


# @rxe: b has rxe. @faults: wire.Faults. @pcap: file for what passes at a, or
# None. @more: properties of the cards. @rxe_a: a has rxe, too.
Wiring = namedtuple("Wiring", "rxe faults pcap mtu more share qemu_args cold "
                    "rxe_a",
                    defaults=(False, wire.Faults(), None, 1500, (), None, (),
                              False, False))


class Pair:
    """Two running guests."""

    def __init__(self, emulator, image, wiring):
        self.a = Side("a", 1, wiring.rxe_a)
        self.b = Side("b", 2, wiring.rxe)
        self.wiring = wiring
        self.relay = None
        self._folder = tempfile.TemporaryDirectory(prefix="mlx5sim-pair-")
        try:
            self._start(emulator, image)
        except BaseException:
            self.stop()
            raise

    def _netdevs(self):
        paths = [Path(self._folder.name, name) for name in ("a", "b")]
        if self.wiring.faults.any():
            self.relay = wire.Relay(paths, self.wiring.faults)
            return [f"stream,id=n0,server=off,addr.type=unix,addr.path={path}"
                    for path in paths]
        return [f"stream,id=n0,server={server},addr.type=unix,"
                f"addr.path={paths[0]}" for server in ("on", "off")]

    def _start(self, emulator, image):
        wiring = self.wiring
        for side, netdev in zip((self.a, self.b), self._netdevs()):
            words = side.words(netdev)
            if wiring.pcap and side is self.a:
                words += ["-object", "filter-dump,id=dump,netdev=n0,file="
                          f"{Path(wiring.pcap).absolute()}"]
            options = machine.Options(
                devices=side.devices(wiring.more), share=wiring.share,
                qemu_args=[*words, *wiring.qemu_args], probe=not side.rxe,
                cold=wiring.cold)
            side.guest = machine.start(emulator, image, options)
            side.set_up(wiring.mtu)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for side in (self.a, self.b):
            if side.guest:
                side.guest.stop()
        self._folder.cleanup()

    def run(self, server, client, sink, back=False, listen_s=LISTEN_S):
        """Run a command in each guest, the client's when the server listens
        or has had @listen_s for it. The server is a, with @back b.

        @sink: called with a side's name, 1 or 2 for its stream, and a line.
        Return: the exit statuses of a and b."""
        ready = threading.Event()
        ends = (self.b, self.a) if back else (self.a, self.b)
        for side in ends:
            side.status = side.ended_at = None
        server = ["sh", "-c", WATCHED, "sh", str(listen_s), *server]
        threads = [threading.Thread(target=run_side, args=(
            ends[i], ends[1 - i], (server, client)[i], ready, sink, not i))
            for i in range(2)]
        threads[0].start()
        ready.wait()
        threads[1].start()
        for thread in threads:
            thread.join()
        return self.a.status, self.b.status


def run_side(side, other, argv, ready, sink, serves):
    """Run the command of a side to its end."""
    lines = [Lines(lambda line: sink(side.name, 1, line)),
             Lines(lambda line: sink(side.name, 2, line), ready.set)]
    told = []

    def idle():
        if told or other.ended_at is None or \
                time.monotonic() < other.ended_at + GRACE_S:
            return
        if serves or other.status:
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
