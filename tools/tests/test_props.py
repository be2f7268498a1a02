#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of propsuite.py: no property goes without a row, and what it compares
it can find wrong."""

import re
import sys
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "tools/lib"), str(REPO / "guest-tests/image")]
import propsuite  # noqa: E402
from propsuite import Row  # noqa: E402
from results import FAIL, PASS  # noqa: E402

CARD = "0000:00:%02x.0"


class Rows(unittest.TestCase):
    def test_each_switch_has_one(self):
        source = (REPO / "hw/mlx5sim/props.c").read_text()
        switches = re.findall(r'FLAG\("([a-z0-9-]+)"', source)
        self.assertGreater(len(switches), 40)
        self.assertEqual(sorted(switches), sorted(
            row.setting.split("=")[0] for row in propsuite.ROWS))

    def test_each_changes_the_default(self):
        source = (REPO / "core/fw/model.c").read_text()
        on = re.findall(r"\.(\w+) = true", source)
        for row in propsuite.ROWS:
            name, value = row.setting.replace("-", "_").split("=")
            self.assertEqual(value, "off" if name in on else "on", name)

    def test_a_guest_holds_so_many(self):
        self.assertEqual([len(b) for b in propsuite.batches([0] * 16)],
                         [7, 7, 2])


class Compare(unittest.TestCase):
    row = Row("x=off", [r"^- a", r"^\+ b"])

    def wrong(self, plain, changed):
        return list(propsuite.compare(self.row, plain, changed))

    def test_as_it_should(self):
        self.assertEqual(self.wrong(["a", "c"], ["b", "c"]), [])

    def test_what_should_not_differ(self):
        self.assertEqual(self.wrong(["a", "c"], ["b"]),
                         ["differs, too: - c"])

    def test_what_should_and_does_not(self):
        self.assertEqual(self.wrong(["a"], ["a", "b"]),
                         ["makes no difference: ^- a"])


class Judge(unittest.TestCase):
    def judge(self, row, changed, log=""):
        told = {CARD % 8: {"lines": ["a"], "traffic": []}}
        if changed is not None:
            told[CARD % 10] = changed
        return [r.status for r in propsuite.judge(row, 2, told, log)]

    def test_all_is_well(self):
        self.assertEqual(self.judge(Row("x=off", ["^- a"]),
                                    {"lines": [], "traffic": []}), [PASS] * 3)

    def test_no_traffic(self):
        self.assertEqual(self.judge(Row("x=off", ["^- a"]),
                                    {"lines": [], "traffic": ["rc: no"]}),
                         [PASS, FAIL, PASS])

    def test_no_device(self):
        self.assertEqual(self.judge(Row("x=off", []), None), [FAIL, PASS])
        self.assertEqual(self.judge(Row("x=off", [], gone=True), None),
                         [PASS, PASS])

    def test_the_log_of_that_card(self):
        row = Row("x=off", [], "no x$")
        card = {"lines": ["a"], "traffic": []}
        for log, status in [("mlx5_core 0000:00:0a.0: no x", PASS),
                            ("mlx5_core 0000:00:0b.0: no x", FAIL),
                            ("mlx5_core 0000:00:0a.0: boo", FAIL),
                            ("mlx5_ib.rdma mlx5_core.rdma.2: no x", PASS)]:
            self.assertEqual(self.judge(row, card, log)[-1], status, log)

    def test_nothing_else_is_said(self):
        log = "mlx5_core 0000:00:09.0: no x\nboo"
        self.assertEqual(propsuite.rest_of_log(log, 2).detail, "boo")


if __name__ == "__main__":
    unittest.main()
