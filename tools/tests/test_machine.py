#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what a guest is started with."""

import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "tools/lib"), str(REPO / "guest-tests/image")]
import machine  # noqa: E402


def emulator(version):
    made = machine.Emulator.__new__(machine.Emulator)
    made.version = version
    return made


def cpu(version):
    return emulator(version).cpu().split(",")


class Cpu(unittest.TestCase):
    def test_a_kernel_does_without_what_an_emulator_does_wrong(self):
        self.assertIn(" clearcpuid=141", emulator((7, 2)).kernel_args())
        self.assertNotIn("clearcpuid", emulator((8, 0)).kernel_args())
        self.assertNotIn("clearcpuid", emulator((10, 0)).kernel_args())

    def test_programs_keep_it(self):
        self.assertNotIn("cx16=off", cpu((7, 2)))

    def test_what_is_slow_is_off_where_it_exists(self):
        self.assertIn("erms=off", cpu((7, 2)))
        self.assertIn("la57=off", cpu((7, 2)))
        self.assertNotIn("fzrm=off", cpu((7, 2)))
        self.assertIn("fzrm=off", cpu((10, 0)))


class Warnings(unittest.TestCase):
    def test_what_was_asked_for_is_left_out(self):
        made = machine.Machine.__new__(machine.Machine)
        with tempfile.NamedTemporaryFile("w+") as made.errors:
            made.errors.write("q: warning: nic card0 has no peer\n"
                              "q: warning: hub 0 is not connected to host "
                              "network\nq: warning: nic e1 has no peer\n")
            made.errors.flush()
            self.assertEqual(made.warnings(),
                             "q: warning: nic e1 has no peer\n")


if __name__ == "__main__":
    unittest.main()
