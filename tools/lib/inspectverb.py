# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb inspect: shows what the cards of a running guest hold.

Each guest of the launcher has a monitor of its own for this, a socket in its
folder, so that nothing is asked of the launcher that runs it.
"""

import json
import os
import re
import socket
import tempfile
from pathlib import Path

from qmp import Qmp, QmpError
from step import Failure

SOCKET = "inspect"
PREFIX = "mlx5sim-guest-"


def monitor_words(folder):
    """Return the words that give QEMU a monitor for inspectors."""
    return ["-chardev", f"socket,id=inspect,path={folder}/{SOCKET},server=on,"
            "wait=off", "-mon", "chardev=inspect,mode=control"]


def running_guests():
    """Yield (PID of QEMU's launcher, connected socket) of each guest."""
    for path in sorted(Path(tempfile.gettempdir()).glob(
            f"{PREFIX}*/{SOCKET}")):
        pid = re.match(re.escape(PREFIX) + r"(\d+)-", path.parent.name)
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(10)
        try:
            sock.connect(str(path))
        except OSError:
            sock.close()
            continue
        if pid:
            yield int(pid[1]), sock


def connect(pid):
    """Return the monitor of the guest of launcher @pid, or of the only one."""
    found = [(p, s) for p, s in running_guests() if pid in (None, p)]
    if len(found) == 1:
        return Qmp(found[0][1], timeout_s=60)
    for _, sock in found:
        sock.close()
    if found:
        raise Failure("several guests are running; choose one by --pid: " +
                      ", ".join(str(p) for p, _ in found), 1)
    raise Failure("no guest of this launcher is running" +
                  (f" with process {pid}" if pid else "") +
                  "; start one with run or shell", 1)


def cards(qmp):
    """Return {id: path} of the cards of a guest."""
    found = {}
    for folder in ("peripheral", "peripheral-anon"):
        for item in qmp("qom-list", path=f"/machine/{folder}"):
            if item["type"] == "child<mlx5sim>":
                found[item["name"]] = f"/machine/{folder}/{item['name']}"
    return found


def choose(state, names):
    """Return of a card's @state the parts in @names; all without any."""
    unknown = [name for name in names if name not in state]
    if unknown:
        raise Failure(f"no part {', '.join(unknown)}; there are: "
                      f"{', '.join(state)}", 2)
    return {name: state[name] for name in names} if names else state


# What names an object; QEMU hands members out in no order.
NUMBERS = ["card", "eqn", "qpn", "dctn", "srqn", "sqn", "rqn", "cqn", "mkey",
           "tirn", "table", "group_id", "flow_index", "counter_set_id", "umem",
           "uar", "pd", "index", "uid", "type", "state"]


def ordered(value):
    """Return @value with what names an object in front."""
    if isinstance(value, list):
        return [ordered(v) for v in value]
    if not isinstance(value, dict):
        return value

    def rank(name):
        known = name in NUMBERS
        return (NUMBERS.index(name) if known else len(NUMBERS), name)

    return {name: ordered(value[name]) for name in sorted(value, key=rank)}


def as_text(value):
    """Return the JSON of a card with a line for each object of an array."""
    lines = []
    for name, part in ordered(value).items():
        if isinstance(part, list) and part:
            rows = ",\n".join("    " + json.dumps(row) for row in part)
            lines.append(f"  {json.dumps(name)}: [\n{rows}\n  ]")
        else:
            lines.append(f"  {json.dumps(name)}: {json.dumps(part)}")
    return "{\n" + ",\n".join(lines) + "\n}"


def inspect(args):
    try:
        qmp = connect(args.pid)
        found = cards(qmp)
        if args.card and args.card not in found:
            raise Failure(f"no card {args.card}; there are: "
                          f"{', '.join(found) or 'none'}", 2)
        for name, path in found.items():
            if args.card in (None, name):
                state = qmp("qom-get", path=path, property="state")
                print(as_text(choose(dict(card=name, **state), args.part)))
    except (QmpError, EOFError, OSError) as error:
        raise Failure(f"the guest does not answer: {error}", 1) from error
    return 0 if found else 1


def folder():
    """Make the folder of a guest that inspectors can find."""
    return tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")
