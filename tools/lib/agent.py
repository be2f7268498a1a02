# SPDX-License-Identifier: GPL-2.0-or-later
"""Speaks with the first process of a guest; guest-tests/image/init.c tells
the frames of both directions."""

import fcntl
import os
import select
import socket
import struct
import termios
import time

HEADER = struct.Struct(">BBHI")
CREDIT_BYTES = 64 * 1024
FLAG_TTY = 1
RESCAN = "/sys/bus/pci/rescan"


class GuestGone(Exception):
    """QEMU ended, or closed the agent's port."""


def window_size(fd):
    """Return the rows and columns of a terminal."""
    data = fcntl.ioctl(fd, termios.TIOCGWINSZ, b"\0" * 8)
    return struct.unpack("HHHH", data)[:2]


class Agent:
    """The launcher's end of the port."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.setblocking(False)
        self.buffer = bytearray()
        self.pending = bytearray()

    # Frames

    def send(self, kind, data=b"", channel=0):
        self.pending += HEADER.pack(ord(kind), channel, 0, len(data)) + data
        self.flush()

    def flush(self):
        """Write what the port takes now."""
        while self.pending:
            try:
                sent = self.sock.send(self.pending)
            except BlockingIOError:
                return
            except OSError as error:
                raise GuestGone() from error
            del self.pending[:sent]

    def frames(self):
        """Read what has come. Return: whole frames (kind, channel, data)."""
        try:
            data = self.sock.recv(1 << 18)
        except BlockingIOError:
            return []
        except OSError as error:
            raise GuestGone() from error
        if not data:
            raise GuestGone()
        self.buffer += data
        found = []
        while len(self.buffer) >= HEADER.size:
            kind, channel, _, size = HEADER.unpack_from(self.buffer)
            end = HEADER.size + size
            if len(self.buffer) < end:
                break
            found.append((chr(kind), channel,
                          bytes(self.buffer[HEADER.size:end])))
            del self.buffer[:end]
        return found

    def wait(self, kind, timeout_s):
        """Wait for a frame of @kind, dropping others. Return: its data."""
        deadline = time.monotonic() + timeout_s
        while True:
            self._poll(deadline - time.monotonic())
            for got, _, data in self.frames():
                if got == kind:
                    return data
            if time.monotonic() > deadline:
                raise TimeoutError()

    def _poll(self, timeout_s, *others):
        outs = [self.sock] if self.pending else []
        ready = select.select([self.sock, *others], outs, [],
                              max(0, timeout_s))
        if ready[1]:
            self.flush()
        return ready[0]

    # Requests

    def set_time(self):
        """Give the guest the time of day, and randomness of its own."""
        now = time.time_ns()
        self.send("T", struct.pack(">QI", now // 10**9, now % 10**9)
                  + os.urandom(64))
        self.wait("D", 30)

    def write_file(self, path, data, timeout_s=600):
        """Write a file in the guest; OSError when the guest can't."""
        self.send("W", path.encode() + b"\0" + data)
        error, = struct.unpack(">I", self.wait("D", timeout_s))
        if error:
            raise OSError(error, os.strerror(error), path)

    def rescan_pci(self):
        """Let the guest find what was plugged in after its snapshot."""
        self.write_file(RESCAN, b"1")

    def start(self, argv, env=(), tty_size=None, channel=0):
        """Start a command in the guest."""
        flags = FLAG_TTY if tty_size else 0
        rows, columns = tty_size or (0, 0)
        words = [f"{k}={v}" for k, v in env] + list(argv)
        data = b"".join(os.fsencode(w) + b"\0" for w in words)
        self.send("X", struct.pack(">BHHB", flags, rows, columns, len(env))
                  + data, channel)

    def capture(self, argv, timeout_s=600, channel=1):
        """Run a command. Return: status, standard output, standard error."""
        out = {"1": bytearray(), "2": bytearray()}
        self.start(argv, channel=channel)
        self.send("E", channel=channel)
        deadline = time.monotonic() + timeout_s
        while True:
            self._poll(deadline - time.monotonic())
            for kind, number, data in self.frames():
                if number != channel:
                    continue
                if kind in out:
                    out[kind] += data
                elif kind == "X":
                    text = [o.decode(errors="replace") for o in out.values()]
                    return (struct.unpack(">I", data)[0], *text)
            if time.monotonic() > deadline:
                raise TimeoutError()

    def run(self, argv, stdin=None, stdout=1, stderr=2, env=(),
            tty_size=None, idle=None, timeout_s=None, resized=None):
        """Run a command with its streams on file descriptors of ours.

        @stdin: a descriptor to forward, or None.
        @idle: called ten times a second, if given.
        @resized: returns a new terminal size, or None.
        Return: the command's exit status; TimeoutError after @timeout_s."""
        self.start(argv, env, tty_size)
        if stdin is None:
            self.send("E")
        credit = CREDIT_BYTES
        deadline = time.monotonic() + (timeout_s or 10**9)
        while True:
            readable = [stdin] if stdin is not None and credit > 0 else []
            pause = min(0.1 if idle or resized else 60,
                        deadline - time.monotonic())
            ready = self._poll(pause, *readable)
            if stdin in ready:
                data = os.read(stdin, min(credit, 32768))
                self.send("I" if data else "E", data)
                credit -= len(data)
                stdin = stdin if data else None
            for kind, channel, data in self.frames():
                if channel != 0:
                    continue
                if kind == "1":
                    write_all(stdout, data)
                elif kind == "2":
                    write_all(stderr, data)
                elif kind == "C":
                    credit += struct.unpack(">I", data)[0]
                elif kind == "X":
                    return struct.unpack(">I", data)[0]
            if idle:
                idle()
            size = resized() if resized else None
            if size:
                self.send("Z", struct.pack(">HH", *size))
            if time.monotonic() > deadline:
                raise TimeoutError()


def write_all(fd, data):
    """Write all of @data, also to a descriptor that doesn't block."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view):]
        except BlockingIOError:
            select.select([], [fd], [])


def socket_pair():
    """Return our end, and the end that QEMU inherits."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    theirs.set_inheritable(True)
    return ours, theirs
