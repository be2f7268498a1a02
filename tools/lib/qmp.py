# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's machine protocol, as much of it as the launcher uses."""

import json
import time


class QmpError(Exception):
    """QEMU refused a command."""


class Qmp:
    """A monitor on a connected socket."""

    def __init__(self, sock, timeout_s=60):
        sock.settimeout(timeout_s)
        self.file = sock.makefile("rwb", buffering=0)
        self.reader = sock.makefile("rb")
        self.events = []
        self._read()  # the greeting
        self("qmp_capabilities")

    def _read(self):
        line = self.reader.readline()
        if not line:
            raise EOFError("QEMU closed its monitor")
        return json.loads(line)

    def __call__(self, command, **arguments):
        """Run a command, its arguments with _ for -. Return: its result."""
        arguments = {k.replace("_", "-"): v for k, v in arguments.items()}
        self.file.write(json.dumps({"execute": command,
                                    "arguments": arguments}).encode() + b"\n")
        while True:
            answer = self._read()
            if "event" in answer:
                self.events.append(answer["event"])
            elif "error" in answer:
                raise QmpError(f"{command}: {answer['error']['desc']}")
            elif "return" in answer:
                return answer["return"]

    def wait_event(self, name):
        """Wait for an event, which may have come already."""
        while name not in self.events:
            answer = self._read()
            if "event" in answer:
                self.events.append(answer["event"])
        self.events.remove(name)

    def wait_migrated(self):
        """Wait until an outgoing migration is over."""
        while True:
            status = self("query-migrate").get("status")
            if status == "completed":
                return
            if status in ("failed", "cancelled"):
                raise QmpError(f"saving the guest: {status}")
            time.sleep(0.01)
