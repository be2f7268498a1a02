# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands of gdb that ask the card itself, over the monitor of its QEMU."""

import os
import socket

import gdb
import inspectverb
from qmp import Qmp

_monitor = []


def state():
    """Return {card: what it holds}."""
    if not _monitor:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(os.environ["MLX5SIM_INSPECT"])
        _monitor.append(Qmp(sock))
    qmp = _monitor[0]
    return {name: qmp("qom-get", path=path, property="state")
            for name, path in inspectverb.cards(qmp).items()}


class Mlx5(gdb.Command):
    """Commands about the card: mlx5 device, mlx5 cmds."""

    def __init__(self):
        super().__init__("mlx5", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class Device(gdb.Command):
    """What the card holds: mlx5 device [PART...], such as qps or mkeys.
Without PART: its state in short."""

    def __init__(self):
        super().__init__("mlx5 device", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        parts = argument.split()
        for name, card in state().items():
            if parts:
                text = inspectverb.as_text(inspectverb.choose(card, parts))
                print(f"{name}: {text}")
                continue
            held = ", ".join(f"{kind} {n}" for kind, n in
                             sorted(card["objects"].items()) if n)
            print(f"{name}: {card['model']}, hca {card['hca']}, port "
                  f"{'up' if card['port']['up'] else 'down'}, "
                  f"{card['commands']} commands "
                  f"({card['commands_refused']} refused), "
                  f"{card['pages']} pages\n  objects: {held or 'none'}")


class Cmds(gdb.Command):
    """The last firmware commands: mlx5 cmds [COUNT]; 10 without COUNT."""

    def __init__(self):
        super().__init__("mlx5 cmds", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        count = int(argument or 10)
        for name, card in state().items():
            for c in card["last_commands"][-count:]:
                print(f"{name} #{c['number']} {c['name']} {c['in']}\n"
                      f"    -> {c['out']}")


Mlx5()
Device()
Cmds()
