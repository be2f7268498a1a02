#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what the tour reads the kernel with, and of its page."""

import struct
import sys
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "guest-tests/tour"))
sys.path.insert(0, str(REPO / "tools/lib"))
import btf  # noqa: E402
import probes  # noqa: E402
import report  # noqa: E402
import tourdoc  # noqa: E402


class Maker:
    """Writes BTF, on top of another if @base."""

    def __init__(self, base=None):
        self.base = base
        self.first = base.end_string if base else 0
        self.strings = b"" if base else b"\0"
        self.types = b""

    def string(self, text):
        at = self.first + len(self.strings)
        self.strings += text.encode() + b"\0"
        return at

    def add(self, name, kind, size, tail=b"", vlen=0, flag=0):
        self.types += struct.pack("<III", self.string(name) if name else 0,
                                  flag << 31 | kind << 24 | vlen, size) + tail

    def struct_(self, name, size, *members, flag=0):
        tail = b"".join(struct.pack("<III", self.string(n) if n else 0, t, o)
                        for n, t, o in members)
        self.add(name, btf.STRUCT, size, tail, len(members), flag)

    def done(self):
        head = btf.HEADER.pack(btf.MAGIC, 1, 0, btf.HEADER.size, 0,
                               len(self.types), len(self.types),
                               len(self.strings))
        return btf.Btf(head + self.types + self.strings, self.base)


def base():
    """1 u32, 2 pointer to 3, 3 struct inner, 4 array of 3."""
    maker = Maker()
    maker.add("u32", btf.INT, 4, struct.pack("<I", 32))
    maker.add("", btf.PTR, 3)
    maker.struct_("inner", 8, ("a", 1, 0), ("b", 1, 32))
    maker.add("", btf.ARRAY, 0, struct.pack("<III", 3, 1, 5))
    return maker.done()


class Types(unittest.TestCase):
    def test_members_have_offsets(self):
        types = base()
        number = types.find("inner")
        self.assertEqual(number, 3)
        self.assertEqual(types.member(number, "b").bits, 32)
        self.assertIsNone(types.member(number, "c"))

    def test_sizes(self):
        types = base()
        self.assertEqual([types.size(n) for n in (1, 2, 3, 4)],
                         [4, 8, 8, 40])

    def test_a_module_goes_on_where_the_kernel_ends(self):
        below = base()
        maker = Maker(below)
        maker.struct_("outer", 24, ("head", 3, 0), ("link", 2, 64),
                      ("count", 1, 128))
        types = maker.done()
        number = types.find("outer")
        self.assertEqual(number, 5)
        self.assertEqual(types.member(number, "count").bits, 128)
        self.assertEqual(types.find("inner"), 3)
        self.assertEqual(types.name(types.member(number, "head").type),
                         "inner")

    def test_members_of_an_unnamed_struct(self):
        below = base()
        maker = Maker(below)
        maker.struct_("", 8, ("x", 1, 0), ("y", 1, 32))
        maker.struct_("outer", 16, ("first", 3, 0), ("", 5, 64))
        types = maker.done()
        self.assertEqual(types.member(types.find("outer"), "y").bits, 96)

    def test_bit_fields(self):
        maker = Maker(base())
        maker.struct_("flags", 4, ("on", 1, 1 << 24 | 3), flag=1)
        types = maker.done()
        member = types.member(types.find("flags"), "on")
        self.assertEqual((member.bits, member.width), (3, 1))

    def test_parameters_of_a_function(self):
        maker = Maker(base())
        maker.add("", 13, 0, struct.pack("<IIII", 0, 1, 0, 2), 2)
        maker.add("work", btf.FUNC, 5)
        self.assertEqual(maker.done().function("work"), [1, 2])
        self.assertIsNone(maker.done().function("play"))

    def test_other_data_is_refused(self):
        with self.assertRaisesRegex(ValueError, "no BTF"):
            btf.Btf(bytes(64))


TRACE = """# tracer: nop
     my prog-12      [001] ..... 7: setops: (ib_set+0x0/0x9 [ib_core]) \
dev=0xff name="mlx5_0" bad=(fault)
          <idle>-0       [000] d.h2. 3.000000: ret: (a+0x1/0x2 <- b) ref=-1
"""


class Trace(unittest.TestCase):
    def test_events_are_read(self):
        first, second = probes.parse(TRACE)
        self.assertEqual((first.name, first.comm, first.pid, first.order),
                         ("setops", "my prog", 12, 7.0))
        self.assertEqual(first.args, {"dev": 255, "name": "mlx5_0",
                                      "bad": None})
        self.assertEqual(second.args, {"ref": -1})


class Page(unittest.TestCase):
    def test_statements_and_observations(self):
        text = tourdoc.page([{"kernel": "6.12", "stations": [
            {"title": "T", "items": [
                {"text": "Words."}, {"show": ["a  b"]},
                {"ok": True, "statement": "it is"},
                {"ok": False, "statement": "it was"}]}]}])
        self.assertIn("## 1. T\n\nWords.\n\n```\na  b\n```", text)
        self.assertIn("- it is\n- **does not hold:** it was", text)

    def test_what_is_said_of_several_stands_in_one_line(self):
        lines = tourdoc.statements([
            {"ok": True, "statement": "MR: it counts"},
            {"ok": True, "statement": "MW: it counts"},
            {"ok": True, "statement": "MW: it goes"}])
        self.assertEqual(lines, ["- MR; MW: it counts", "- MW: it goes"])

    def test_tables_get_columns(self):
        self.assertEqual(report.columns([["ab", 1], ["c", 22]]),
                         ["ab  1", "c   22"])
        self.assertEqual(report.columns(["as it is"]), ["as it is"])


if __name__ == "__main__":
    unittest.main()
