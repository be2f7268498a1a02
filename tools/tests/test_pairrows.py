#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of pairrows.py: names tell rows apart, tables match perftest."""

import re
import sys
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "tools/lib")]
import pairrows  # noqa: E402

BW = "b:  65536      160              0.00               571.86\t\t     0.0091"


class Rows(unittest.TestCase):
    def test_names_are_unique(self):
        for rows in (pairrows.PROGRAMS, pairrows.BAD + pairrows.BAD_ALL,
                     pairrows.all_kinds() + pairrows.verbs_of_perftest()):
            names = [row.name for row in rows]
            self.assertEqual(len(set(names)), len(names))

    def test_table(self):
        def found(program, options):
            return re.search(pairrows.table(program, options),
                             f"a: something\n{BW}\nb: ----")

        self.assertTrue(found("ib_write_bw", "-s 65536 -n 160"))
        self.assertTrue(found("ib_write_bw", "-q 8 -s 65536 -n 20"))
        self.assertFalse(found("ib_write_bw", "-s 65536 -n 20"))
        self.assertFalse(found("ib_write_bw", "-s 6553 -n 160"))

    def test_last_size(self):
        self.assertIn(" *8388608 +10 ", pairrows.table("ib_read_lat",
                                                       "-a -n 10"))
        self.assertIn(" *1024 +50 ", pairrows.table("ib_send_bw",
                                                    "-c UD -a -n 50"))
        self.assertIn(" *8 +20 ", pairrows.table("ib_atomic_bw", "-n 20"))


if __name__ == "__main__":
    unittest.main()
