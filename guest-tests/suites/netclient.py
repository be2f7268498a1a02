# SPDX-License-Identifier: GPL-2.0-or-later
"""Talks to the launcher's web server; tools/lib/served.py is the other end."""

import hashlib
import http.client
import itertools
import os
import time
from pathlib import Path

CHUNK = 1 << 20
PORT = int(os.environ.get("SERVED", 0))
BLOCK = bytes(itertools.islice(itertools.cycle(
    hashlib.sha512(str(n).encode()).digest()[i] for n in range(64)
    for i in range(64)), CHUNK))


def data(length):
    """Yield @length bytes of what the server gives, in blocks that begin with
    their number: no shift explains one by another."""
    for number in range(-(-length // CHUNK)):
        yield (number.to_bytes(8, "big") +
               BLOCK[8:])[:min(CHUNK, length - number * CHUNK)]


def retransmitted():
    """Return the segments that this end sent again."""
    names, values = [line.split() for line in
                     Path("/proc/net/snmp").read_text().splitlines()
                     if line.startswith("Tcp:")]
    return int(values[names.index("RetransSegs")])


class Client:
    """A connection to the server at @host, from @address if that is given."""

    def __init__(self, host, address=None, timeout_s=120):
        self.http = http.client.HTTPConnection(
            host, PORT, timeout=timeout_s,
            source_address=(address, 0) if address else None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.close()

    def fetch(self, length, check=True):
        """Fetch @length bytes. Return: whether all were right, and seconds."""
        began, blocks = time.monotonic(), data(length)
        self.http.request("GET", f"/data/{length}")
        answer = self.http.getresponse()
        buffer, right, got = memoryview(bytearray(CHUNK)), True, 0
        while got < length:
            fill, want = 0, min(CHUNK, length - got)
            while fill < want:
                n = answer.readinto(buffer[fill:want])
                if not n:
                    return False, time.monotonic() - began
                fill += n
            if check:
                right = right and buffer[:fill] == next(blocks)
            got += fill
        answer.read()
        return right, time.monotonic() - began

    def put(self, length, check=True):
        """Send @length bytes. Return: whether they arrived, and seconds."""
        digest, began = hashlib.sha256(), time.monotonic()
        self.http.putrequest("PUT", "/data" if check else "/sink")
        self.http.putheader("Content-Length", str(length))
        self.http.endheaders()
        for piece in data(length):
            if check:
                digest.update(piece)
            self.http.send(piece)
        said = self.http.getresponse().read().decode()
        seconds = time.monotonic() - began
        return said == (digest.hexdigest() if check else str(length)), seconds

    def ask(self, path, **headers):
        self.http.request("GET", path, headers=headers)
        answer = self.http.getresponse()
        return answer.status, answer.read()
