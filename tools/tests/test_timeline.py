#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of timeline.py: two traces become one."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import timeline  # noqa: E402
import timelineverb  # noqa: E402

GRAPH = """# tracer: function_graph
#
#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS
#      |          |     |    |           |   |                     |   |   |   |
   10.000000 |   0)  ibv_rc_-314   |               |  ib_create_qp_user() {
   10.000010 |   0)  ibv_rc_-314   |               |    cmd_exec [mlx5_core]() {
   10.000020 |   1)  kworker-9     |   1.500 us    |  mlx5_eq_comp_int();
   10.000100 |   0)  ibv_rc_-314   | + 90.000 us   |    } /* cmd_exec [mlx5_core] */
   10.000120 |   0)  ibv_rc_-314   | ! 120.000 us  |  } /* ib_create_qp_user */
"""
CARD = """1@500.000040:mlx5sim_cmd card0 slot 0: CREATE_QP in opcode=0x500
1@500.000060:mlx5sim_cmd card0 slot 0: CREATE_QP -> OK qpn=0x42
1@500.000200:mlx5sim_doorbell card0 sq qp 0x42
1@500.000210:mlx5sim_wqe card0 qp 0x42 wqe 7 SEND psn=5 segs=1 length=9
1@500.000220:mlx5sim_packet card0 tx RC SEND_ONLY qp 0x42 -> 0x43 psn 5+1 len 9
1@500.000230:mlx5sim_cqe card0 cqn=0x11 index=0x0 opcode=0 qpn=0x42 wqe_counter=7 syndrome=0x0
1@500.000240:mlx5sim_eqe card0 eqn=3 index=0x0 type=0x0 sub_type=0x0 cqn=0x11
1@500.000250:mlx5sim_irq card0 eqn=3 vector=1
"""


class Parse(unittest.TestCase):
    def test_calls(self):
        calls = timeline.parse_graph(GRAPH)
        self.assertEqual([(c.name, c.depth, c.cpu) for c in calls],
                         [("ib_create_qp_user", 0, 0), ("cmd_exec", 1, 0),
                          ("mlx5_eq_comp_int", 0, 1)])
        self.assertAlmostEqual(calls[1].end - calls[1].begin, 90e-6)
        self.assertAlmostEqual(calls[2].end - calls[2].begin, 1.5e-6)

    def test_card(self):
        events = timeline.parse_card(CARD)
        self.assertEqual([e.kind for e in events],
                         ["cmd", "doorbell", "wqe", "packet", "cqe", "eqe",
                          "irq"])
        self.assertAlmostEqual(events[0].end - events[0].begin, 20e-6)
        self.assertEqual(events[2].ids, {"qpn": 0x42, "wqe": 7, "psn": 5})


class Label(unittest.TestCase):
    def test_requests(self):
        lines = ("qp 0x42 wqe 7 SEND psn=5", "sqn=0x800002 index=5 SEND ds=3",
                 "qp 0x42 wqe 8 op 0x7f")
        events = timeline.parse_card("".join(
            f"1@500.0{i}:mlx5sim_wqe card0 {line}\n"
            for i, line in enumerate(lines)))
        self.assertEqual([timelineverb.label(e) for e in events],
                         ["SEND 7", "SEND, Ethernet", "WQE 8"])


class Join(unittest.TestCase):
    def test_clocks(self):
        calls = timeline.parse_graph(GRAPH)
        distance, doubt = timeline.clock_distance(
            calls, timeline.parse_card(CARD))
        self.assertAlmostEqual(distance, 489.999995)
        self.assertAlmostEqual(doubt, 35e-6)

    def test_clocks_that_cannot_be(self):
        calls = timeline.parse_graph(GRAPH)
        long = CARD.replace("500.000060", "500.900060")
        self.assertIsNone(timeline.clock_distance(
            calls, timeline.parse_card(long)))

    def test_chain(self):
        events = timeline.parse_card(CARD)
        self.assertEqual([tuple(pair) for pair in timeline.links(events)],
                         [(1, 2), (2, 3), (2, 4), (4, 5), (5, 6)])

    def test_received(self):
        events = timeline.parse_card(CARD.replace(
            "mlx5sim_cqe card0 cqn=0x11 index=0x0 opcode=0 qpn=0x42",
            "mlx5sim_packet card0 rx RC SEND_ONLY qp 0x42 -> 0x43 psn 5+1\n"
            "1@500.000231:mlx5sim_cqe card0 cqn=0x11 index=0x0 opcode=2 "
            "qpn=0x43"))
        self.assertEqual([tuple(pair) for pair in timeline.links(events)],
                         [(1, 2), (2, 3), (2, 4), (4, 5), (5, 6), (6, 7)])

    def test_another_queue_is_no_cause(self):
        events = timeline.parse_card(CARD.replace("doorbell card0 sq qp 0x42",
                                                  "doorbell card0 sq qp 0x41"))
        self.assertNotIn(1, [pair.first for pair in timeline.links(events)])


if __name__ == "__main__":
    unittest.main()
