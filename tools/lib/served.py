# SPDX-License-Identifier: GPL-2.0-or-later
"""A web server on this machine's loopback, for guests behind a user netdev.

To the guest it is 10.0.2.2 and, over IPv6, fec0::2; its port stands in SERVED.
A suite.ini asks for it with serves = yes.

    GET /data/N     N bytes that guest-tests/suites/netclient.py knows
    PUT /data       answers the SHA-256 of what it was sent
    PUT /sink       reads what it is sent and answers its length
    GET /dns        answers what this machine's name server says to the question
                    in the header X-Query (hexadecimal), 503 if nothing
"""

import hashlib
import http.server
import re
import socket
import sys
import threading
from pathlib import Path

from paths import REPO

sys.path.append(str(REPO / "guest-tests/suites"))
from netclient import CHUNK, data  # noqa: E402

DNS_TIMEOUT_S = 3


def ask_name_server(query):
    """Return what the name server of this machine answers, or None."""
    servers = re.findall(r"(?m)^nameserver\s+([0-9.]+)\s*$",
                         Path("/etc/resolv.conf").read_text())
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(DNS_TIMEOUT_S)
            s.sendto(query, (servers[0], 53))
            return s.recv(4096)
    except (OSError, IndexError):
        return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        found = re.fullmatch(r"/data/(\d+)", self.path)
        if found:
            length = int(found[1])
            self.send_response(200)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            for piece in data(length):
                self.wfile.write(piece)
        elif self.path == "/dns":
            said = ask_name_server(bytes.fromhex(self.headers["X-Query"]))
            self.answer(200 if said else 503, said or b"")
        else:
            self.answer(404)

    def do_PUT(self):
        left = length = int(self.headers["Content-Length"])
        digest = hashlib.sha256()
        while left:
            piece = self.rfile.read1(min(left, CHUNK))
            if not piece:
                return
            left -= len(piece)
            if self.path == "/data":
                digest.update(piece)
        said = digest.hexdigest() if self.path == "/data" else str(length)
        self.answer(200, said.encode())


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass          # the guest may go away at any time


class Server6(Server):
    address_family = socket.AF_INET6


class Served:
    """The server while a suite runs; on IPv6 too if this machine has it."""

    def __init__(self):
        self.servers = [Server(("127.0.0.1", 0), Handler)]
        self.port = self.servers[0].server_address[1]
        try:
            self.servers.append(Server6(("::1", self.port), Handler))
        except OSError:
            pass

    def __enter__(self):
        for server in self.servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def variables(self):
        """Return what the suite finds in its environment."""
        return [f"SERVED={self.port}", f"SERVED6={len(self.servers) - 1}"]
