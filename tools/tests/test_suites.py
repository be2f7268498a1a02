#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of suites.py: which suites run where."""

import sys
import unittest
from pathlib import Path
from unittest import mock

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "tools/lib"), str(REPO / "guest-tests/image")]
import rows  # noqa: E402
import suites  # noqa: E402
from results import PASS, Result  # noqa: E402


class Also(unittest.TestCase):
    def test_names_are_unique(self):
        names = [s.name for s in suites.every()]
        self.assertEqual(len(set(names)), len(names))

    def test_guests_are_known(self):
        for suite in suites.every():
            for guest in suite.also:
                self.assertIn(guest, rows.GUESTS, suite.name)

    def test_all_of_them_run_on_it_once(self):
        ran = []

        def part(name):
            def run(context):
                ran.append((name, context.guest))
                return [Result("it is so", PASS, "")]
            return suites.Suite(name, "", True, run, ("debug",))

        context = suites.Context(None, "trixie", False, False, None)
        with mock.patch.object(suites, "watched", lambda _: []):
            found = suites.on_debug(context, [part("one"), part("two")])
        self.assertEqual(ran, [("one", "debug"), ("two", "debug")])
        self.assertEqual([r.name for r in found],
                         ["one: it is so", "two: it is so"])

    def test_the_suite_of_the_guest_is_with_all(self):
        debug, = [s for s in suites.every() if s.name == "debug"]
        self.assertFalse(debug.default)
        for name in ("tour", "hotplug", "verbs-check"):
            self.assertIn(name, debug.title)


if __name__ == "__main__":
    unittest.main()
