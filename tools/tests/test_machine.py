#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what a guest is started with."""

import sys
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "tools/lib"), str(REPO / "guest-tests/image")]
import machine  # noqa: E402


def cpu(version):
    emulator = machine.Emulator.__new__(machine.Emulator)
    emulator.version = version
    return emulator.cpu().split(",")


class Cpu(unittest.TestCase):
    def test_what_an_emulator_does_wrong_is_off(self):
        self.assertIn("cx16=off", cpu((7, 2)))
        self.assertNotIn("cx16=off", cpu((8, 0)))
        self.assertNotIn("cx16=off", cpu((10, 0)))

    def test_what_is_slow_is_off_where_it_exists(self):
        self.assertIn("erms=off", cpu((7, 2)))
        self.assertNotIn("fzrm=off", cpu((7, 2)))
        self.assertIn("fzrm=off", cpu((10, 0)))


if __name__ == "__main__":
    unittest.main()
