#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of status.py: what is written is read back, a difference is seen."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import status  # noqa: E402
from results import FAIL, PASS, SKIP, Result  # noqa: E402

FOUND = [Result("a.b", PASS, "0.1 s"), Result("a.c", SKIP, "no | such\nthing"),
         Result("a.d", FAIL, "")]


def page_of(found, guest="trixie"):
    page = status.Page()
    page.put("rdma-core", guest, "6.12, rdma-core 56.1", found)
    return page


def through_a_file(page):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "status.md")
        page.write(path)
        return status.read(path)


class StatusPage(unittest.TestCase):
    def test_what_is_written_is_read_back(self):
        page = through_a_file(page_of(FOUND))
        self.assertEqual(page.suites, {"rdma-core": {"trixie": {
            "a.b": (PASS, ""), "a.c": (SKIP, "no / such"),
            "a.d": (FAIL, "")}}})
        self.assertEqual(page.versions["rdma-core", "trixie"],
                         "6.12, rdma-core 56.1")

    def test_a_known_failure_stays_a_failure(self):
        known = [Result("a.b", SKIP, "known to fail: no queue")]
        page = through_a_file(page_of(known))
        self.assertEqual(page.suites["rdma-core"]["trixie"],
                         {"a.b": (FAIL, "known to fail: no queue")})
        self.assertEqual(status.compare(page, "rdma-core", "trixie",
                                        known).status, PASS)

    def test_a_second_guest_keeps_the_first(self):
        page = through_a_file(page_of(FOUND))
        page.put("rdma-core", "sid", "7.2", FOUND[:1])
        again = through_a_file(page)
        self.assertEqual(len(again.suites["rdma-core"]["trixie"]), 3)
        self.assertEqual(again.suites["rdma-core"]["sid"],
                         {"a.b": (PASS, "")})

    def test_the_same_results_agree(self):
        page = through_a_file(page_of(FOUND))
        self.assertEqual(status.compare(page, "rdma-core", "trixie",
                                        FOUND).status, PASS)

    def test_differences_are_named(self):
        page = page_of(FOUND)
        now = [Result("a.b", SKIP, "gone"), FOUND[1], Result("a.e", PASS, "")]
        result = status.compare(page, "rdma-core", "trixie", now)
        self.assertEqual(result.status, FAIL)
        self.assertEqual([line.split(":")[0] for line in
                          result.detail.splitlines()], ["a.b", "a.d", "a.e"])

    def test_another_version_of_the_suite_is_not_compared(self):
        page = page_of(FOUND)
        for now, status_now in (("6.13, rdma-core 56.1", PASS),
                                ("6.12, rdma-core 57", SKIP)):
            result = status.compare(page, "rdma-core", "trixie", FOUND, now)
            self.assertEqual(result.status, status_now)

    def test_an_unknown_guest_differs(self):
        result = status.compare(page_of(FOUND), "rdma-core", "sid", FOUND)
        self.assertEqual(result.status, FAIL)


if __name__ == "__main__":
    unittest.main()
