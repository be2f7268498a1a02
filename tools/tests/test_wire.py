#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of wire.py: what a bad wire does, and that a good one does nothing."""

import socket
import sys
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "tools/lib"), str(REPO / "guest-tests/image")]
import cli  # noqa: E402
import wire  # noqa: E402

FRAMES = [bytes([i % 256]) * (60 + i % 1400) for i in range(500)]


def packed(frame):
    return wire.LENGTH.pack(len(frame)) + frame


def carried(**faults):
    """Send FRAMES through a Direction. Return: it, and what came out."""
    ours, source = socket.socketpair()
    sink, theirs = socket.socketpair()
    direction = wire.Direction(source, sink, wire.Faults(**faults), "ab")
    direction.start()
    found = []
    ours.sendall(b"".join(map(packed, FRAMES)))
    ours.shutdown(socket.SHUT_WR)
    expect = None
    with theirs.makefile("rb") as stream:
        while expect is None or len(found) < expect:
            if expect is None and direction.counts["frames"] == len(FRAMES):
                counts = direction.counts
                expect = len(FRAMES) - counts["lost"] + counts["doubled"]
                continue
            size, = wire.LENGTH.unpack(stream.read(4))
            found.append(stream.read(size))
    for sock in (ours, source, sink, theirs):
        sock.close()
    return direction, found


class Wire(unittest.TestCase):
    def test_a_good_wire_changes_nothing(self):
        self.assertEqual(carried()[1], FRAMES)
        self.assertFalse(wire.Faults().any())

    def test_frames_are_lost(self):
        direction, found = carried(loss=0.1)
        self.assertEqual(len(found), 500 - direction.counts["lost"])
        self.assertTrue(20 < direction.counts["lost"] < 90)

    def test_frames_are_doubled(self):
        direction, found = carried(duplicate=0.1)
        self.assertEqual(len(found), 500 + direction.counts["doubled"])
        self.assertTrue(20 < direction.counts["doubled"] < 90)

    def test_frames_are_overtaken(self):
        direction, found = carried(reorder=0.1)
        self.assertNotEqual(found, FRAMES)
        self.assertEqual(sorted(found), sorted(FRAMES))
        self.assertTrue(20 < direction.counts["late"] < 90)

    def test_what_heeds_marks_is_marked(self):
        head = bytes(12) + wire.IPV4
        ip = bytearray.fromhex("45020054000040004001b75ac0a84d01c0a84d02")
        new = wire.marked(head + bytes(ip) + b"rest")
        self.assertEqual(new[wire.IP + 1], 3)
        words = [int.from_bytes(new[i:i + 2], "big")
                 for i in range(wire.IP, wire.IP + 20, 2)]
        old = [int.from_bytes(ip[i:i + 2], "big") for i in range(0, 20, 2)]
        self.assertEqual(sum(words) % 0xffff, sum(old) % 0xffff)
        self.assertEqual(new[wire.IP + 20:], b"rest")
        ip[1] = 0
        self.assertIsNone(wire.marked(head + bytes(ip)))
        self.assertIsNone(wire.marked(bytes(12) + b"\x08\x06" + bytes(60)))
        self.assertIsNone(wire.marked(head + b"\x45\x02"))
        six = bytes(12) + wire.IPV6 + b"\x60\x20" + bytes(40)
        self.assertEqual(wire.marked(six)[wire.IP + 1], 0x30)
        direction, _ = carried(mark=1.0)
        self.assertEqual(direction.counts["marked"], 0)
        self.assertTrue(wire.Faults(mark=0.1).any())

    def test_a_seed_repeats(self):
        lost = [carried(loss=0.1, seed=7)[1] for _ in range(2)]
        self.assertEqual(*lost)


class Commands(unittest.TestCase):
    def test_two_commands_are_told_apart(self):
        self.assertEqual(
            cli.split_commands(["pair", "--loss", "1", "--", "a", "-x", "--",
                                "b"]),
            (["pair", "--loss", "1"], [["a", "-x"], ["b"]]))
        self.assertEqual(cli.split_commands(["pair"]), (["pair"], []))


if __name__ == "__main__":
    unittest.main()
