#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A server that sends back what it gets, and a client that compares.

    talk.py serve KIND ADDRESS PORT
    talk.py ask KIND ADDRESS PORT CONNECTIONS BYTES [SECONDS]

KIND is how a socket of SMC is asked for: by the address family AF_SMC ("smc",
every kernel that has SMC), or as a protocol of AF_INET ("ipproto", since Linux
6.11). Each connection of the client sends messages of random length, BYTES in
all, or for SECONDS, and compares what comes back.
"""

import contextlib
import ctypes
import random
import socket
import sys
import threading
import time

AF_SMC, IPPROTO_SMC = 43, 256
LARGEST = 300000

LIBC = ctypes.CDLL(None, use_errno=True)


def smc_socket(kind):
    """Python has no name for the family: the socket is made by libc."""
    family, protocol = {"smc": (AF_SMC, 0),
                        "ipproto": (socket.AF_INET, IPPROTO_SMC)}[kind]
    fd = LIBC.socket(family, socket.SOCK_STREAM, protocol)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "socket")
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=fd)


def echo(conn):
    """Send back what comes until the other side ends."""
    try:
        while data := conn.recv(65536):
            conn.sendall(data)
    except OSError as error:
        print("server:", error, flush=True)
    conn.close()


def serve(kind, address, port):
    """Serve for ever."""
    listener = smc_socket(kind)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(64)
    print("ready", flush=True)
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=echo, args=(conn,), daemon=True).start()


def send(conn, data):
    """Send; of an error the receiving side hears, too."""
    with contextlib.suppress(OSError):
        conn.sendall(data)


def exchange(conn, data):
    """Send @data, return what comes back in its stead."""
    sender = threading.Thread(target=send, args=(conn, data))
    sender.start()
    back = bytearray()
    while len(back) < len(data):
        piece = conn.recv(len(data) - len(back))
        if not piece:
            raise ConnectionError("the connection has ended")
        back += piece
    sender.join()
    return bytes(back)


def ask(conn, seed, total, seconds, outcome):
    """One connection's messages; its error or its bytes into @outcome."""
    dice = random.Random(seed)
    sent, end = 0, time.monotonic() + seconds
    try:
        while sent < total or time.monotonic() < end:
            data = dice.randbytes(dice.randint(1, LARGEST))
            if exchange(conn, data) != data:
                raise ValueError(f"other bytes came back after {sent}")
            sent += len(data)
        conn.close()
    except (OSError, ValueError) as error:
        outcome[seed] = error
        return
    outcome[seed] = sent


def client(kind, address, port, count, total, seconds):
    """Return 0 when all connections got their own bytes back."""
    conns = []
    for _ in range(count):
        conn = smc_socket(kind)
        conn.settimeout(30)
        conn.connect((address, port))
        conns.append(conn)
    outcome = [None] * count
    threads = [threading.Thread(target=ask, args=(conn, i, total, seconds,
                                                  outcome))
               for i, conn in enumerate(conns)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, result in enumerate(outcome):
        if not isinstance(result, int):
            print(f"connection {i}: {result!r}")
    if all(isinstance(result, int) for result in outcome):
        print(sum(outcome), "bytes came back the same")
        return 0
    return 1


def main(mode, kind, address, port, *rest):
    """See above."""
    if mode == "serve":
        serve(kind, address, int(port))
    count, total, *seconds = map(int, rest)
    return client(kind, address, int(port), count, total, *(seconds or [0]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
