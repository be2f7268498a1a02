#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of emumem.py: what counts as the emulator's own memory."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import emumem  # noqa: E402
from emumem import Sample  # noqa: E402
from results import FAIL, PASS, SKIP  # noqa: E402


def mapping(rights, size, rss):
    return (f"7f00-7f01 {rights} 00000000 00:00 0    [heap]\n"
            f"Size:    {size} kB\nRss:     {rss} kB\nPss:     9 kB\n")


class OwnKib(unittest.TestCase):
    def test_heap_counts(self):
        self.assertEqual(emumem.own_kib(mapping("rw-p", 100, 60) +
                                        mapping("r--p", 10, 4), 2 << 20), 64)

    def test_guest_memory_and_code_do_not(self):
        text = (mapping("rw-p", 2 << 20, 1 << 20) +
                mapping("rwxp", 1 << 18, 1 << 17) + mapping("rw-p", 8, 8))
        self.assertEqual(emumem.own_kib(text, 2 << 20), 8)
        self.assertEqual(emumem.code_kib(text), 1 << 17)

    def test_this_process(self):
        text = Path("/proc/self/smaps").read_text()
        self.assertGreater(emumem.own_kib(text, 2 << 20), 1000)


class Judge(unittest.TestCase):
    def judged(self, late):
        return emumem.judge([Sample(t, 1000) for t in range(60)] +
                            [Sample(61 + t, kib) for t, kib in
                             enumerate(late)]).status

    def test_flat(self):
        self.assertEqual(self.judged([1000] * 20), PASS)

    def test_growth_fails(self):
        self.assertEqual(
            self.judged([1000 + 200 * t for t in range(20)]), FAIL)

    def test_translated_code_brings_notes_with_it(self):
        samples = [Sample(t, 1000, 50000) for t in range(60)]
        late = [Sample(61 + t, 1000 + 500 * t, 50000 + 4000 * t)
                for t in range(20)]
        self.assertEqual(emumem.judge(samples + late).status, PASS)
        late = [s._replace(code_kib=50000 + 400 * t)
                for t, s in enumerate(late)]
        self.assertEqual(emumem.judge(samples + late).status, FAIL)

    def test_a_slow_guest_settles_later(self):
        samples = [Sample(t, 1000 + 100 * min(t, 100)) for t in range(200)]
        self.assertEqual(emumem.judge(samples).status, FAIL)
        self.assertEqual(emumem.judge(samples, 2).status, PASS)

    def test_too_short_to_tell(self):
        self.assertEqual(self.judged([]), SKIP)


if __name__ == "__main__":
    unittest.main()
