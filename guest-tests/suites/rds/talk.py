#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Two RDS sockets of one address, every byte compared.

    talk.py messages ADDRESS COUNT   datagrams of random length, both ways
    talk.py many ADDRESS COUNT       sixteen sockets to one, each in its order
    talk.py memory ADDRESS COUNT     one side registers memory, the other
                                     writes into it and reads from it
    talk.py last ADDRESS SECONDS     datagrams for so long, or to an error

Names, numbers and structures are those of linux/rds.h.
"""

import ctypes
import mmap
import os
import random
import socket
import struct
import sys
import time

AF_RDS, SOL_RDS = 21, 276
RDS_FREE_MR = 3
RDS_CMSG_RDMA_ARGS, RDS_CMSG_RDMA_DEST = 1, 2
RDS_CMSG_RDMA_MAP, RDS_CMSG_RDMA_STATUS = 3, 4
RDS_RDMA_READWRITE, RDS_RDMA_INVALIDATE, RDS_RDMA_NOTIFY_ME = 1, 4, 0x20
LARGEST = 100000          # the send buffer has no room for more
REGION = 1 << 20


def rds_socket(address, port):
    """A bound socket that waits no more than 20 s."""
    sock = socket.socket(AF_RDS, socket.SOCK_SEQPACKET, 0)
    sock.bind((address, port))
    sock.settimeout(20)
    return sock


def same(got, want, what):
    """Raise unless two strings of bytes are equal."""
    if got != want:
        raise ValueError(f"{what}: {len(got)} other bytes, "
                         f"{len(want)} expected")


def messages(address, count, seconds=None):
    """Datagrams there and back."""
    dice = random.Random(1)
    here, there = rds_socket(address, 4000), rds_socket(address, 4001)
    end = time.monotonic() + (seconds or 0)
    done = sent = 0
    while done < count or time.monotonic() < end:
        length = dice.choice((1, 8, 4096, dice.randint(1, LARGEST)))
        data = dice.randbytes(length)
        here.sendto(data, (address, 4001))
        got, sender = there.recvfrom(LARGEST)
        same(got, data, f"message {done}")
        there.sendto(got, sender)
        same(here.recv(LARGEST), data, f"its return {done}")
        done += 1
        sent += 2 * length
    print(done, "messages,", sent, "bytes the same")


def many(address, count):
    """What sixteen sockets send arrives whole and in the order of each."""
    into = rds_socket(address, 4000)
    sockets = [rds_socket(address, 4100 + i) for i in range(16)]
    expected = [[] for _ in sockets]
    dice = random.Random(2)
    for number in range(count):
        for i, sock in enumerate(sockets):
            data = struct.pack("II", i, number) + \
                dice.randbytes(dice.randint(0, 2000))
            sock.sendto(data, (address, 4000))
            expected[i].append(data)
        for _ in sockets:
            got, (_, port) = into.recvfrom(LARGEST)
            same(got, expected[port - 4100].pop(0), f"round {number}")
    print(16 * count, "messages in order")


def region():
    """Memory with an address."""
    memory = mmap.mmap(-1, REGION)
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def offer(owner, user, peer, address, length):
    """Send @user a message that maps memory of @owner; return its cookie, as
    the owner's kernel wrote it and as the user's got it."""
    cookie = ctypes.c_uint64()
    owner.sendmsg([b"use this"], [(SOL_RDS, RDS_CMSG_RDMA_MAP, struct.pack(
        "QQQQ", address, length, ctypes.addressof(cookie),
        RDS_RDMA_READWRITE))], 0, peer)
    _, control, _, _ = user.recvmsg(100, 256)
    for _, kind, data in control:
        if kind == RDS_CMSG_RDMA_DEST:
            same(data, bytes(cookie), "the cookie")
            return cookie.value
    raise ValueError("the message has no cookie")


def rdma(sock, peer, cookie, local, spans, write):
    """Move the bytes between our memory, in pieces, and the cookie's start."""
    vector = b"".join(struct.pack("QQ", local + at, length)
                      for at, length in spans)
    keep = ctypes.create_string_buffer(vector)
    total = sum(length for _, length in spans)
    # remote_vec holds an offset from the start of the region.
    args = struct.pack("QQQQQQQ", cookie, 0, total, ctypes.addressof(keep),
                       len(spans), int(write) | RDS_RDMA_NOTIFY_ME, 77)
    sock.sendmsg([b"done"], [(SOL_RDS, RDS_CMSG_RDMA_ARGS, args)], 0, peer)


def status(sock):
    """Wait for the end of an operation; what is told of it."""
    for _ in range(400):
        try:
            _, control, _, _ = sock.recvmsg(0, 256, socket.MSG_DONTWAIT)
        except BlockingIOError:
            time.sleep(0.05)
            continue
        for _, kind, data in control:
            if kind == RDS_CMSG_RDMA_STATUS:
                token, result = struct.unpack("Qi", data[:12])
                if token != 77:
                    raise ValueError(f"token {token}")
                return result
    raise TimeoutError("nothing is told of the operation")


def memory(address, count):
    """RDMA by cookies: written to and read from, in one piece and in many."""
    owner, user = rds_socket(address, 4000), rds_socket(address, 4001)
    # A connection must be there before memory can be registered for it.
    user.sendto(b"hello", (address, 4000))
    owner.recvfrom(100)
    target, target_at = region()
    source, source_at = region()
    dice = random.Random(3)
    for number in range(count):
        length = dice.choice((1, 4096, 5000, 65536, dice.randint(1, REGION)))
        cookie = offer(owner, user, (address, 4001), target_at, length)
        pieces = dice.choice((1, 3)) if length > 3 else 1
        part = length // pieces
        spans = [(i * part, part if i < pieces - 1 else length - i * part)
                 for i in range(pieces)]
        for write in (True, False):
            mine, other = (source, target) if write else (target, source)
            mine[:length] = dice.randbytes(length)
            rdma(user, (address, 4000), cookie, source_at, spans, write)
            result = status(user)
            if result:
                raise ValueError(f"operation {number}: status {result}")
            same(owner.recvfrom(100)[0], b"done", "the message behind it")
            same(other[:length], mine[:length], f"operation {number}")
        owner.setsockopt(SOL_RDS, RDS_FREE_MR, struct.pack(
            "QQ", cookie, RDS_RDMA_INVALIDATE))
    print(count, "writes and reads, the bytes the same")


def main(mode, address, number):
    """See above."""
    if mode == "last":
        messages(address, 0, int(number))
    else:
        {"messages": messages, "many": many,
         "memory": memory}[mode](address, int(number))
    sys.stdout.flush()
    os._exit(0)  # the regions' addresses are still taken


if __name__ == "__main__":
    main(*sys.argv[1:])
