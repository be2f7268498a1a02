#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the guest builder's parts that need no packages."""

import lzma
import struct
import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "guest-tests/image"))
import cpio  # noqa: E402
import kernel  # noqa: E402


def bzimage(payload):
    """Return a file laid out as the x86 boot protocol says."""
    head = bytearray(1024)
    head[0x1f1] = 1
    struct.pack_into("<II", head, 0x248, 16, len(payload))
    return bytes(head) + b"\0" * 16 + payload


class Vmlinux(unittest.TestCase):
    def extract(self, payload):
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder, "b"), Path(folder, "v")
            source.write_bytes(bzimage(payload))
            kernel.extract_vmlinux(source, out)
            return out.read_bytes()

    def test_xz_with_the_size_after_it(self):
        elf = b"\x7fELF" + bytes(1000)
        payload = lzma.compress(elf) + struct.pack("<I", len(elf))
        self.assertEqual(self.extract(payload), elf)

    def test_unknown_compression_is_named(self):
        with self.assertRaisesRegex(ValueError, "compression"):
            self.extract(b"\x1f\x8b" + bytes(10))

    def test_payload_that_is_no_elf(self):
        with self.assertRaisesRegex(ValueError, "no ELF"):
            self.extract(lzma.compress(b"hello"))


class Signature(unittest.TestCase):
    MODULE = b"\x7fELF" + bytes(range(200))

    def test_is_taken_off(self):
        signed = (self.MODULE + b"S" * 300 + bytes(8) +
                  struct.pack(">I", 300) + kernel.SIGNED)
        self.assertEqual(kernel.unsigned(signed), self.MODULE)

    def test_a_module_without_stays(self):
        self.assertEqual(kernel.unsigned(self.MODULE), self.MODULE)


class Modules(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        root = Path(self.folder.name)
        for path, info in {
                "drivers/a/one-x.ko": b"\0depends=two,three\0",
                "lib/two.ko.xz": b"\0depends=\0softdep=pre: four\0",
                "lib/three.ko": b"\0depends=\0", "lib/four.ko": b"\0depends=\0",
                "lib/loop.ko": b"\0depends=loop\0",
                "other/five.ko": b"\0depends=\0"}.items():
            file = root / "kernel" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(lzma.compress(info) if path.endswith(".xz")
                             else info)
        self.modules = kernel.Modules(root)

    def tearDown(self):
        self.folder.cleanup()

    def test_each_comes_after_what_it_needs(self):
        self.assertEqual(self.modules.select(["one_x"]),
                         ["three", "four", "two", "one_x"])

    def test_a_folder_takes_all_in_it_once(self):
        self.assertEqual(self.modules.select(["drivers/a/", "one-x"]),
                         ["three", "four", "two", "one_x"])

    def test_absent_names_are_left_out(self):
        self.assertEqual(self.modules.select(["nosuch"]), [])

    def test_a_loop_ends(self):
        self.assertEqual(self.modules.select(["loop"]), ["loop"])

    def test_modules_are_stored_uncompressed(self):
        with tempfile.TemporaryDirectory() as out:
            self.modules.install(["two"], out)
            self.assertIn(b"softdep",
                          Path(out, "kernel/lib/two.ko").read_bytes())


class Cpio(unittest.TestCase):
    def test_archive_lists_what_was_put_in(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "x.cpio")
            cpio.write(path, {"init": (0o755, b"abcde")}, ["m"])
            data = path.read_bytes()
        names, at = {}, 0
        while True:
            self.assertEqual(data[at:at + 6], b"070701")
            field = [int(data[at + 6 + 8 * i:at + 14 + 8 * i], 16)
                     for i in range(13)]
            start = at + 110
            name = data[start:start + field[11] - 1].decode()
            body = (start + field[11] + 3) // 4 * 4
            if name == "TRAILER!!!":
                break
            names[name] = data[body:body + field[6]]
            at = (body + field[6] + 3) // 4 * 4
        self.assertEqual(names, {"dev": b"", "dev/console": b"", "m": b"",
                                 "init": b"abcde"})


if __name__ == "__main__":
    unittest.main()
