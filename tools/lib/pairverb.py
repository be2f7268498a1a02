# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb pair: two guests on one wire, and a command in each."""

import os

import verbs
import wire
from pair import Pair, Wiring
from step import Failure, say


def show(name, stream, line):
    """Print a line of a guest behind the guest's name."""
    os.write(stream, f"{name}: {line}".encode())


def pair(args):
    """Carry out the verb. Return: its exit status."""
    if len(args.commands) != 2:
        raise Failure("pair takes two commands: pair [OPTION...] -- CMD_A -- "
                      "CMD_B", 2)
    faults = wire.Faults(args.loss / 100, args.duplicate / 100,
                         args.reorder / 100, args.delay / 1000, args.seed,
                         args.mark / 100)
    emulator, image = verbs.prepare(args.guest)
    wiring = Wiring(args.peer == "rxe", faults, args.pcap, args.mtu,
                    args.device or (), args.share, args.qemu_arg, args.cold)
    with Pair(emulator, image, wiring) as both:
        statuses = both.run(*args.commands, show)
        if both.relay:
            say("wire: " + both.relay.told())
    return statuses[0] or statuses[1]
