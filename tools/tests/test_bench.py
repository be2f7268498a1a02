#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the bench: what it reads from programs, medians, targets, the
table, JSON and the plot."""

import json
import sys
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "tools/lib"), str(REPO / "guest-tests/image")]
import verbs  # noqa: E402, F401
import benchmeasures  # noqa: E402
import benchnet  # noqa: E402
import benchout  # noqa: E402
import benchread  # noqa: E402
import benchtable  # noqa: E402
import benchverb  # noqa: E402
from benchtable import Beside, Row  # noqa: E402

BANDWIDTH = """
---------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
 local address: LID 0000 QPN 0x0042 PSN 0xf4d4ad RKey 0x17dcd4
---------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]
Conflicting CPU frequency values detected: 2095.995000 != 0.000000.
 65536      2000             5400.11            5347.25            0.085556
---------------------------------------------------------------------------
"""
LATENCY = """
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 8       1000          9.81           812.43       10.37              12.02            9.50            25.61              812.43
"""


class Read(unittest.TestCase):
    def test_bandwidth(self):
        found = benchread.perftest(BANDWIDTH)
        self.assertEqual(found["MiB/s"], 5347.25)
        self.assertAlmostEqual(found["msgs/s"], 85556)

    def test_latency(self):
        self.assertEqual(benchread.perftest(LATENCY),
                         {"typical": 10.37, "average": 12.02, "p99": 25.61})

    def test_no_figure_is_an_error(self):
        for text in ("", "Couldn't connect", LATENCY.splitlines()[1],
                     " 8  1000  9.81"):
            with self.assertRaises(benchread.NoFigure):
                benchread.perftest(text)

    def test_pairs(self):
        self.assertEqual(
            benchread.pairs("# device rxe0\nper_s 12.5\nexit_ns 3e2\nx y\n"),
            {"per_s": 12.5, "exit_ns": 300})
        with self.assertRaises(benchread.NoFigure):
            benchread.pairs("nothing\n")

    def test_medians(self):
        self.assertEqual(benchread.medians(
            [{"a": 3}, {"a": 1, "b": 7}, {"a": 2}]), {"a": 2, "b": 7})
        self.assertEqual(benchread.medians([{"a": 1}, {"a": 2}]), {"a": 1.5})

    def test_iperf(self):
        text = json.dumps({"end": {"sum_received": {"bits_per_second": 2e9}}})
        self.assertEqual(benchnet.iperf_mbit(text), 2000)
        with self.assertRaises(benchread.NoFigure):
            benchnet.iperf_mbit('{"error": "unable to connect"}')


class Rows(unittest.TestCase):
    def test_each_row_reads_a_measure_that_is_there(self):
        for row in benchtable.ROWS:
            for name in benchverb.measures_of(row):
                self.assertIn(name, benchmeasures.MEASURES, row.name)
            sides = benchmeasures.MEASURES[row.measure].sides
            self.assertIn(row.side, sides, row.name)
            if row.beside:
                of = row.beside.measure or row.measure
                self.assertIn(row.beside.side,
                              benchmeasures.MEASURES[of].sides, row.name)

    def test_names_are_their_own(self):
        names = [row.name for row in benchtable.ROWS]
        self.assertEqual(len(names), len(set(names)))

    def test_each_measure_is_read(self):
        read = {name for row in benchtable.ROWS
                for name in benchverb.measures_of(row)}
        self.assertEqual(read, set(benchmeasures.MEASURES))

    def test_only(self):
        self.assertEqual([r.name for r in benchverb.chosen("^write_bw$")],
                         ["write_bw"])
        self.assertEqual(len(benchverb.chosen("")), len(benchtable.ROWS))
        with self.assertRaises(Exception):
            benchverb.chosen("no such row")


def judged(target, ours=8, theirs=4):
    row = Row("n", "a figure", "MiB/s", "m", "f", Beside("rxe", "rxe"), target)
    return benchtable.judge(row, {"m": {"mlx5sim": {"f": ours},
                                        "rxe": {"f": theirs}}})


class Judge(unittest.TestCase):
    def test_ratio(self):
        outcome = judged(benchtable.at_least(2))
        self.assertEqual((outcome.ratio, outcome.met), (2, True))
        self.assertFalse(judged(benchtable.at_least(2.1)).met)
        self.assertTrue(judged(benchtable.at_most(2)).met)
        self.assertFalse(judged(benchtable.at_most(1.9)).met)
        self.assertIsNone(judged(None).met)

    def test_absolute(self):
        self.assertTrue(judged(benchtable.no_more_than(8)).met)
        self.assertFalse(judged(benchtable.no_more_than(7)).met)

    def test_nothing_beside_is_no_ratio(self):
        outcome = judged(benchtable.at_least(2), theirs=0)
        self.assertEqual((outcome.ratio, outcome.met), (None, None))

    def test_trouble_is_told(self):
        row = Row("n", "t", "u", "m", "f", Beside("copy", "memory", "copy"))
        got = {"m": {"mlx5sim": {"f": 1}}, "copy": "it failed"}
        self.assertEqual(benchtable.judge(row, got).trouble, "it failed")
        got["copy"] = {"memory": {}}
        self.assertIn("no figure", benchtable.judge(row, got).trouble)


class Take(unittest.TestCase):
    class Turns:
        sides = ("rxe", "mlx5sim")

        def __init__(self):
            self.taken = []

        def open(self, _):
            return self

        def __enter__(self):
            def sample(side):
                self.taken.append(side)
                return {"f": len(self.taken)}
            return sample

        def __exit__(self, *_):
            pass

    def test_sides_take_turns(self):
        turns = self.Turns()
        samples = benchverb.take(turns, None, 3)
        self.assertEqual(turns.taken, ["rxe", "mlx5sim"] * 3)
        self.assertEqual(benchverb.medians(samples),
                         {"rxe": {"f": 3}, "mlx5sim": {"f": 4}})

    def test_status(self):
        met, missed = (judged(benchtable.at_least(n)) for n in (2, 3))
        failed = met._replace(trouble="x")
        self.assertEqual(benchverb.status_of([met, missed], False), 0)
        self.assertEqual(benchverb.status_of([met, missed], True), 1)
        self.assertEqual(benchverb.status_of([met], True), 0)
        self.assertEqual(benchverb.status_of([met, failed], False), 1)


OUTCOMES = [judged(benchtable.at_least(2)), judged(benchtable.at_least(50)),
            judged(None)._replace(trouble="it\nfailed"),
            judged(benchtable.no_more_than(1))]


class Out(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual([benchout.number(n) for n in
                          (None, 0, 5347.25, 99.94, 12.345, 1.2345, 0.01234)],
                         ["", "0", "5347", "99.9", "12.3", "1.23", "0.0123"])

    def test_table(self):
        lines = benchout.table(OUTCOMES).splitlines()
        self.assertEqual(len(lines), 2 + len(OUTCOMES))
        self.assertEqual(lines[2].split(), "a figure rxe 4.00 8.00 MiB/s 2.00 "
                         "≥ 2 x yes".split())
        self.assertTrue(lines[3].endswith("NO"))
        self.assertIn("failed", lines[4])
        self.assertIn("≤ 1 MiB/s", lines[5])

    def test_markdown(self):
        for line in benchout.markdown(OUTCOMES).splitlines():
            self.assertEqual(line.count("|"), len(benchout.HEADING) + 1)

    def test_line(self):
        self.assertEqual(benchout.line(OUTCOMES[0]), "n: 8.00 MiB/s, rxe "
                         "4.00: 2.00 x (target ≥ 2 x)")
        self.assertIn("missed", benchout.line(OUTCOMES[1]))
        self.assertEqual(benchout.line(OUTCOMES[2]), "n: failed: it")

    def test_json(self):
        told = json.loads(benchout.as_json({"cores": 2}, 3, OUTCOMES, {
            "m": {"rxe": [{"f": 4}]}}))
        self.assertEqual(told["machine"], {"cores": 2})
        self.assertEqual(told["rows"][0]["ratio"], 2)
        self.assertIs(told["rows"][1]["met"], False)
        self.assertEqual(told["rows"][2]["trouble"], "it\nfailed")
        self.assertEqual(told["samples"]["m"]["rxe"], [{"f": 4}])

    def test_svg(self):
        root = ElementTree.fromstring(benchout.svg(OUTCOMES, "a < b"))
        kinds = [e.tag.split("}")[1] for e in root.iter()]
        self.assertEqual(kinds.count("rect"), 1 + 3)     # paper and bars
        self.assertIn("a < b", [e.text for e in root])
        width = float(root.get("width"))
        for element in root.iter("{http://www.w3.org/2000/svg}rect"):
            if element.get("x"):
                self.assertLess(float(element.get("x")) +
                                float(element.get("width")), width)

    def test_svg_of_nothing(self):
        ElementTree.fromstring(benchout.svg([], "nothing"))

    def test_scale(self):
        scale = benchout.Scale([0.05, 90])
        self.assertEqual(scale.ticks(), [0.01, 0.1, 1, 10, 100])
        self.assertLess(scale.at(0.05), scale.at(1))
        self.assertLess(scale.at(1), scale.at(90))


if __name__ == "__main__":
    unittest.main()
