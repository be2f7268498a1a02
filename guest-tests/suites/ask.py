# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks the launcher for a command of QEMU's monitor, by files in /share;
tools/lib/asks.py answers."""

import itertools
import json
import os
import time
from pathlib import Path

SHARE = Path(os.environ.get("SHARE", "/share"))
TIMEOUT_S = 60
numbers = itertools.count(1)


def qmp(command, **arguments):
    """Run a QMP command on the host. Return: its result."""
    number = next(numbers)
    part, answer = SHARE / f"ask-{number}.part", SHARE / f"answer-{number}"
    part.write_text(json.dumps({"execute": command, "arguments": arguments}))
    os.rename(part, SHARE / f"ask-{number}")
    end = time.monotonic() + TIMEOUT_S
    while not answer.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"the launcher does not answer: {command}")
        time.sleep(0.02)
    said = json.loads(answer.read_text())
    if "error" in said:
        raise RuntimeError(said["error"])
    return said["return"]


def card(number=0):
    """Return the state of a card, as tools/mlx5sim inspect prints it."""
    return qmp("qom-get", path=f"/machine/peripheral/card{number}",
               property="state")
