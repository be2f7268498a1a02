#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of what gdb is told: symbols of the kernel, places of sections."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TOOLS / "lib"), str(TOOLS / "gdb")]
import elf  # noqa: E402
import kallsyms  # noqa: E402
from elf import SHF_ALLOC, SHF_EXEC, SHF_WRITE, Section  # noqa: E402

KALLSYMS = """ffffffff81000000 T _text
ffffffff81000100 t do_init_module
ffffffff81800000 T _etext
ffffffff82000000 D jiffies
ffffffff83000000 B _end
0000000000012340 A a_variable_of_each_cpu
ffffffffc0000000 t in_a_module\t[mlx5_core]
"""


class Kallsyms(unittest.TestCase):
    def test_binutils_read_it(self):
        with tempfile.NamedTemporaryFile() as file:
            kallsyms.write_elf(kallsyms.parse(KALLSYMS), file.name)
            out = subprocess.run(["nm", file.name], capture_output=True,
                                 text=True, check=True).stdout
        found = {words[2]: int(words[0], 16)
                 for words in map(str.split, out.splitlines())}
        self.assertEqual(found, {"_text": 0xffffffff81000000,
                                 "do_init_module": 0xffffffff81000100,
                                 "_etext": 0xffffffff81800000,
                                 "jiffies": 0xffffffff82000000})


class Layout(unittest.TestCase):
    ROWS = [
        Section(".text", SHF_ALLOC | SHF_EXEC, 16, 100),
        Section(".init.text", SHF_ALLOC | SHF_EXEC, 16, 50),
        Section(".text.unlikely", SHF_ALLOC | SHF_EXEC, 16, 20),
        Section(".rodata", SHF_ALLOC, 32, 40),
        Section("__param", SHF_ALLOC, 8, 8),
        Section(".data", SHF_ALLOC | SHF_WRITE, 32, 24),
        Section(".data..ro_after_init",
                SHF_ALLOC | SHF_WRITE | elf.RO_AFTER_INIT, 8, 16),
        Section(".debug_info", 0, 1, 1000),
    ]

    def test_offsets(self):
        placed, sizes = elf.layout(self.ROWS)
        self.assertEqual(placed, {
            ".init.text": ("init_text", 0),
            ".text": ("text", 0), ".text.unlikely": ("text", 112),
            ".rodata": ("rodata", 0), "__param": ("rodata", 40),
            ".data..ro_after_init": ("ro_after_init", 0),
            ".data": ("data", 0)})
        self.assertEqual(sizes, {"text": 132, "rodata": 48,
                                 "ro_after_init": 16, "data": 24})

    def test_in_one_piece(self):
        _, sizes = elf.layout(self.ROWS)
        self.assertEqual(elf.in_one_piece(sizes), {
            "text": 0, "rodata": 4096, "ro_after_init": 8192, "data": 12288})

    def test_what_is_not_in_memory_is_put_aside(self):
        rows = self.ROWS + [Section(".modinfo", 0, 1, 30),
                            Section(".init.data", SHF_ALLOC | SHF_WRITE, 8, 8)]
        placed, _ = elf.layout(rows)
        self.assertEqual(elf.nowhere(rows, placed, 0x1000),
                         {".modinfo": 0x1000, ".init.data": 0x1020})

    def test_sections_of_a_real_file(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "a.c")
            source.write_text("int f(void) { return 1; } int d = 2;\n")
            out = Path(folder, "a.o")
            subprocess.run(["gcc", "-c", "-o", str(out), str(source)],
                           check=True)
            rows = {s.name: s for s in elf.sections(out)}
        self.assertEqual(rows[".text"].flags, SHF_ALLOC | SHF_EXEC)
        self.assertEqual(rows[".data"].size, 4)


if __name__ == "__main__":
    unittest.main()
