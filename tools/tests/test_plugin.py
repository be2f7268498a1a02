#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the plugin's tools parse: ELF notes, version lines, patches."""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

TOOLS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS / "lib"))

import plugin  # noqa: E402
import privateqemu  # noqa: E402
import qemubin  # noqa: E402
import qemuheaders  # noqa: E402


def note(kind, name, desc):
    head = struct.pack("<III", len(name), len(desc), kind)
    pad = lambda b: b + bytes(-len(b) % 4)
    return head + pad(name) + pad(desc)


class BuildId(unittest.TestCase):
    ID = note(3, b"GNU\0", b"\x12\x34\x56")

    def test_alone(self):
        self.assertEqual(qemubin.note_build_id(self.ID), "123456")

    def test_after_others(self):
        notes = note(1, b"GNU\0", bytes(16)) + note(3, b"Other\0", b"x")
        self.assertEqual(qemubin.note_build_id(notes + self.ID), "123456")

    def test_truncated(self):
        for size in range(12):
            self.assertIsNone(qemubin.note_build_id(self.ID[:size]))

    def test_same_as_readelf(self):
        with tempfile.TemporaryDirectory() as root:
            path = f"{root}/a.out"
            subprocess.run(["cc", "-shared", "-Wl,--build-id=sha1", "-x", "c",
                            "/dev/null", "-o", path], check=True)
            out = subprocess.run(["readelf", "-n", path], text=True,
                                 capture_output=True, check=True).stdout
            self.assertIn(f"Build ID: {qemubin.build_id(path)}\n", out)

    def test_not_elf(self):
        with self.assertRaisesRegex(qemubin.QemuError, "not a 64-bit"):
            qemubin.build_id(__file__)


class Version(unittest.TestCase):
    def inspect(self, said):
        done = subprocess.CompletedProcess([], 0, said, "")
        with mock.patch("subprocess.run", return_value=done), \
                mock.patch("qemubin.build_id", return_value="ab"):
            return qemubin.inspect("/x/qemu")

    def test_binary_rebuild(self):
        qemu = self.inspect("QEMU emulator version 7.2.22 "
                            "(Debian 1:7.2+dfsg-7+deb12u18+b3)\n")
        self.assertEqual(qemu.version, "7.2.22")
        self.assertEqual(qemu.package, "1:7.2+dfsg-7+deb12u18+b3")
        self.assertEqual(qemu.source, "1:7.2+dfsg-7+deb12u18")

    def test_backport(self):
        qemu = self.inspect("QEMU emulator version 10.0.2 "
                            "(Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)\n")
        self.assertEqual(qemu.source, "1:10.0.2+ds-2+deb13u1~bpo12+1")

    def test_own_build(self):
        self.assertIsNone(self.inspect("QEMU emulator version 9.1.0\n").source)

    def test_other_program(self):
        with self.assertRaises(qemubin.QemuError):
            self.inspect("ls (GNU coreutils) 9.1\n")


PATCH = """From: somebody
--- a/block/curl.c
+++ b/block/curl.c
@@ -1 +1 @@
-old
+new
diff --git a/include/qemu/x.h b/include/qemu/x.h
--- a/include/qemu/x.h
+++ b/include/qemu/x.h
@@ -1 +1 @@
-three
+four
diff --git a/hw/y.c b/hw/y.c
--- a/hw/y.c
+++ b/hw/y.c
@@ -1 +1 @@
-five
+six
"""


class Patches(unittest.TestCase):
    def test_only_ours(self):
        (name, piece), = qemuheaders.touched(PATCH)
        self.assertEqual(name, "include/qemu/x.h")
        self.assertIn("+four", piece)
        self.assertNotIn("hw/y.c", piece)

    def test_new_and_removed(self):
        for old, new in (("/dev/null", "b/include/n.h"),
                         ("a/include/n.h", "/dev/null")):
            got = qemuheaders.touched(f"--- {old}\n+++ {new}\n@@ -0,0 +1 @@\n")
            self.assertEqual([name for name, _ in got], ["include/n.h"])


class Cache(unittest.TestCase):
    def test_path_for_preload(self):
        with tempfile.TemporaryDirectory(suffix=" x") as root, \
                mock.patch.dict(os.environ, XDG_CACHE_HOME=root), \
                self.assertRaisesRegex(plugin.BuildError, "blank"):
            plugin.directory("ab")

    def test_environment(self):
        with tempfile.TemporaryDirectory() as root, \
                mock.patch.dict(os.environ, XDG_CACHE_HOME=root):
            own = f"{root}/mlx5sim/qemu/trixie-1/usr/bin/qemu"
            env = privateqemu.environment(own)
            self.assertIn("trixie-1/usr/lib", env["QEMU_MODULE_DIR"])
            self.assertEqual(privateqemu.environment("/usr/bin/qemu"), {})

    def test_missing_tool(self):
        with mock.patch("shutil.which", return_value=None), \
                self.assertRaisesRegex(plugin.BuildError,
                                       "apt-get install .*meson"):
            plugin.check_tools()


unittest.main()
