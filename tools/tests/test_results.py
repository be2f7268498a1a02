#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of results.py: what a run counts is what programs printed."""

import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import results  # noqa: E402
from results import FAIL, PASS, SKIP, Result  # noqa: E402


def statuses(text):
    return [(r.name, r.status) for r in results.parse_tap(text)]


class ParseTap(unittest.TestCase):
    def test_the_three_outcomes(self):
        text = ("ok 1 - a\nnot ok 2 - b # why\nok 3 - c # SKIP no such thing\n"
                "1..3\n")
        self.assertEqual(statuses(text),
                         [("a", PASS), ("b", FAIL), ("c", SKIP)])

    def test_detail_of_a_failure_holds_the_lines_before_it(self):
        found = results.parse_tap("# got 3\nnot ok 1 - a # want 4\n1..1\n")
        self.assertEqual(found[0].detail, "want 4\n# got 3")

    def test_no_plan_fails(self):
        self.assertEqual(statuses("ok 1 - a\n"), [("a", PASS),
                                                  ("plan", FAIL)])

    def test_fewer_than_planned_fails(self):
        self.assertEqual(statuses("1..2\nok 1 - a\n"), [("a", PASS),
                                                        ("plan", FAIL)])

    def test_nothing_at_all_fails(self):
        self.assertEqual(statuses(""), [("plan", FAIL)])

    def test_bail_out_fails(self):
        self.assertIn(("bail out", FAIL),
                      statuses("1..1\nok 1 - a\nBail out! no device\n"))

    def test_words_that_only_look_like_results(self):
        self.assertEqual(statuses("okay then\nnot okay\n1..0\n"), [])


class Expected(unittest.TestCase):
    def read(self, text):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            return results.read_expected(Path(file.name))

    def judged(self, found, text):
        return [(r.name, r.status)
                for r in results.judge(found, *self.read(text))]

    def test_a_line_without_a_reason_is_refused(self):
        with self.assertRaises(ValueError):
            self.read("skip a\n")

    def test_known_failure_does_not_count(self):
        self.assertEqual(self.judged([Result("a", FAIL, "")], "fail a # x\n"),
                         [("a", SKIP)])

    def test_known_failure_that_passes_fails(self):
        self.assertEqual(self.judged([Result("a", PASS, "")], "fail a # x\n"),
                         [("a", FAIL)])

    def test_skip_must_be_listed(self):
        found = [Result("a", SKIP, ""), Result("b", SKIP, "")]
        self.assertEqual(self.judged(found, "skip a # x\n"),
                         [("a", SKIP), ("b", FAIL)])

    def test_listed_skip_that_passes_fails(self):
        self.assertEqual(self.judged([Result("a", PASS, "")], "skip a # x\n"),
                         [("a", FAIL)])

    def test_listed_but_absent_fails(self):
        self.assertEqual(self.judged([], "skip a # x\n"), [("a", FAIL)])

    def test_plan_is_held(self):
        self.assertEqual(self.judged([Result("a", PASS, "")], "plan 2\n"),
                         [("a", PASS), ("number of tests", FAIL)])


class Elsewhere(unittest.TestCase):
    """Guests that the main list is not about."""

    def judged(self, found, general="", own=None, guest="sid"):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "expected").write_text(general)
            if own is not None:
                Path(folder, "expected-sid").write_text(own)
            return [(r.name, r.status) for r in
                    results.judge_by_lists(found, folder, guest, "trixie")]

    def test_an_unknown_test_may_skip_but_not_fail(self):
        found = [Result("new", SKIP, "no card"), Result("bad", FAIL, "")]
        self.assertEqual(self.judged(found, "skip a # x\nplan 9\n"),
                         [("new", SKIP), ("bad", FAIL)])

    def test_the_main_list_is_strict_on_its_own_guest(self):
        found = [Result("a", SKIP, ""), Result("new", SKIP, "")]
        self.assertEqual(self.judged(found, "skip a # x\n", guest="trixie"),
                         [("a", SKIP), ("new", FAIL)])

    def test_a_known_failure_may_be_mended(self):
        general = "fail a # x\nskip b # y\n"
        for a, b in ((FAIL, SKIP), (PASS, PASS)):
            want = SKIP if a == FAIL else PASS
            self.assertEqual(
                self.judged([Result("a", a, ""), Result("b", b, "")], general),
                [("a", want), ("b", b)])

    def test_the_own_list_is_strict(self):
        found = [Result("a", PASS, "")]
        self.assertEqual(self.judged(found, own="fail a # x\n"),
                         [("a", FAIL)])
        self.assertEqual(self.judged([], own="fail a # x\n"), [("a", FAIL)])

    def test_no_list_at_all(self):
        with tempfile.TemporaryDirectory() as folder:
            found = [Result("a", PASS, "")]
            for guest in ("trixie", "sid"):
                self.assertEqual(results.judge_by_lists(
                    found, folder, guest, "trixie"), found)


class Written(unittest.TestCase):
    SUITES = {"s": [Result("a <&>", PASS, ""), Result("b", FAIL, "\x1bx"),
                    Result("c", SKIP, "why")]}

    def test_summary(self):
        self.assertEqual(results.summary(self.SUITES),
                         "1 passed, 1 failed, 1 skipped")
        self.assertEqual(results.summary({"s": []}), "0 passed, 0 failed")

    def test_junit_is_xml_with_every_case(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "x.xml")
            results.write_junit(path, self.SUITES)
            tree = ElementTree.parse(path)
        self.assertEqual([c.get("name") for c in tree.iter("testcase")],
                         ["a <&>", "b", "c"])
        self.assertEqual(len(list(tree.iter("failure"))), 1)

    def test_ktap(self):
        self.assertIn("    not ok 2 b\n", results.ktap(self.SUITES))
        self.assertTrue(results.ktap(self.SUITES).endswith("not ok 1 s"))


if __name__ == "__main__":
    unittest.main()
