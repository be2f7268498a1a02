# SPDX-License-Identifier: GPL-2.0-or-later
"""Listens to what the kernel tells everybody: uevents, and rdma monitor."""

import signal
import socket
import subprocess
import time

NETLINK_KOBJECT_UEVENT = 15


class Listener:
    """Collects while it is used as a context."""

    def __enter__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM,
                                    NETLINK_KOBJECT_UEVENT)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.socket.bind((0, 1))
        self.socket.setblocking(False)
        self.monitor = subprocess.Popen(
            ["stdbuf", "-oL", "rdma", "monitor"], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL)
        time.sleep(0.3)
        return self

    def __exit__(self, *_):
        time.sleep(0.3)
        self.uevents = []          # (action, path)
        while True:
            try:
                text = self.socket.recv(65536).split(b"\0")[0].decode()
            except BlockingIOError:
                break
            self.uevents.append(tuple(text.split("@", 1)))
        self.socket.close()
        self.monitor.send_signal(signal.SIGTERM)
        self.said = self.monitor.communicate()[0]
