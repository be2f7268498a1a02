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
