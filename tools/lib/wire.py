# SPDX-License-Identifier: GPL-2.0-or-later
"""A wire between two QEMUs, as good or as bad as one asks for.

Each QEMU has a netdev `stream` that connects to a socket of ours; frames come
behind their lengths. Without a fault to make there is no relay: one QEMU
listens, the other one connects.

        QEMU a --- socket --- Relay --- socket --- QEMU b
                        lose, delay, double,
                        reorder, mark, each by chance

Marked is what a congested switch would mark: an IP packet that says it heeds
that (ECT of RFC 3168), as RoCE of a card with congestion control does.
"""

import heapq
import itertools
import random
import socket
import struct
import threading
import time

LENGTH = struct.Struct(">I")
FRAME_MAX_BYTES = 1 << 20
# A frame that is to be overtaken waits so long for one to do it.
OVERTAKEN_S = 0.004
# In an Ethernet frame without a tag.
ETHERTYPE, IP = 12, 14
IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"
IPV4_CHECKSUM = IP + 10


class Faults:
    """What a wire does wrong: shares of 1, and seconds."""

    def __init__(self, loss=0.0, duplicate=0.0, reorder=0.0, delay_s=0.0,
                 seed=1, mark=0.0):
        self.loss = loss
        self.duplicate = duplicate
        self.reorder = reorder
        self.delay_s = delay_s
        self.seed = seed
        self.mark = mark

    def any(self):
        return bool(self.loss or self.duplicate or self.reorder or
                    self.delay_s or self.mark)


def marked(frame):
    """Return an Ethernet frame with CE in place of ECT, None if it has none."""
    kind, new = frame[ETHERTYPE:IP], bytearray(frame)
    if kind == IPV4 and len(frame) >= IP + 20 and frame[IP + 1] & 3:
        more = 3 - (frame[IP + 1] & 3)
        new[IP + 1] |= 3
        # RFC 1624: the sum of what is left out stays the same.
        old, = struct.unpack_from(">H", frame, IPV4_CHECKSUM)
        total = (~old & 0xffff) + more
        total = (total & 0xffff) + (total >> 16)
        struct.pack_into(">H", new, IPV4_CHECKSUM, ~total & 0xffff)
    elif kind == IPV6 and len(frame) >= IP + 40 and frame[IP + 1] & 0x30:
        new[IP + 1] |= 0x30
    else:
        return None
    return bytes(new)


class Direction:
    """Frames from one socket to the other, through the faults."""

    def __init__(self, source, sink, faults, salt):
        self.source = source
        self.sink = sink
        self.faults = faults
        self.random = random.Random(f"{faults.seed} {salt}")
        self.counts = {"frames": 0, "lost": 0, "doubled": 0, "late": 0,
                       "marked": 0}
        self._heap = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._ended = False

    def start(self):
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True).start()

    def _read(self):
        with self.source.makefile("rb") as stream:
            while True:
                head = stream.read(LENGTH.size)
                if len(head) < LENGTH.size:
                    break
                size, = LENGTH.unpack(head)
                if size > FRAME_MAX_BYTES:
                    break
                frame = stream.read(size)
                if len(frame) < size:
                    break
                self.put(head + frame)
        with self._changed:
            self._ended = True
            self._changed.notify()

    def put(self, frame):
        """Decide what becomes of a frame."""
        self.counts["frames"] += 1
        chance = self.random.random
        if chance() < self.faults.loss:
            self.counts["lost"] += 1
            return
        if self.faults.mark and chance() < self.faults.mark:
            new = marked(frame[LENGTH.size:])
            if new:
                self.counts["marked"] += 1
                frame = frame[:LENGTH.size] + new
        copies = 1
        if chance() < self.faults.duplicate:
            self.counts["doubled"] += 1
            copies = 2
        due = time.monotonic() + self.faults.delay_s
        if chance() < self.faults.reorder:
            self.counts["late"] += 1
            due += OVERTAKEN_S
        with self._changed:
            for _ in range(copies):
                heapq.heappush(self._heap, (due, next(self._order), frame))
            self._changed.notify()

    def take(self):
        """Return the next frame that is due, waiting for it; None at the end."""
        with self._changed:
            while True:
                now = time.monotonic()
                if self._heap and self._heap[0][0] <= now:
                    return heapq.heappop(self._heap)[2]
                if self._ended and not self._heap:
                    return None
                self._changed.wait(self._heap[0][0] - now if self._heap
                                   else None)

    def _write(self):
        while True:
            frame = self.take()
            if frame is None:
                return
            try:
                self.sink.sendall(frame)
            except OSError:
                return


class Relay:
    """Listens on two sockets, then carries frames between who connects."""

    def __init__(self, paths, faults):
        self.faults = faults
        self.directions = []
        self._listeners = []
        for path in paths:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(str(path))
            listener.listen(1)
            self._listeners.append(listener)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        ends = [listener.accept()[0] for listener in self._listeners]
        self.directions = [Direction(ends[0], ends[1], self.faults, "ab"),
                           Direction(ends[1], ends[0], self.faults, "ba")]
        for direction in self.directions:
            direction.start()

    def told(self):
        """Return what happened on the wire, in words."""
        return "; ".join(
            f"{name}: " + ", ".join(f"{n} {kind}" for kind, n
                                    in direction.counts.items())
            for name, direction in zip(("a to b", "b to a"),
                                       self.directions))
