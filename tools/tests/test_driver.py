#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of build-driver's parts that compile nothing."""

import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import builddriver  # noqa: E402
import buildroot  # noqa: E402
import driver  # noqa: E402
import guestkernel  # noqa: E402
import rows  # noqa: E402
from step import Failure  # noqa: E402

MAIN = "drivers/infiniband/hw/mlx5/main.c"
HEADER = "include/linux/mlx5/driver.h"


class Update(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.source = Path(self.folder.name, "source")
        self.build = Path(self.folder.name, "build")
        self.build.mkdir()
        for name in (MAIN, HEADER):
            self.write(name, "old")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def update(self):
        builddriver.update(self.source, self.build)

    def test_what_is_the_same_is_not_touched(self):
        self.update()
        before = (self.build / HEADER).stat().st_mtime_ns
        kbuild = (self.build / "Kbuild").stat().st_mtime_ns
        self.write(MAIN, "new")
        self.update()
        self.assertEqual((self.build / MAIN).read_text(), "new")
        self.assertEqual((self.build / HEADER).stat().st_mtime_ns, before)
        self.assertEqual((self.build / "Kbuild").stat().st_mtime_ns, kbuild)

    def test_a_change_of_the_same_size_and_time_is_seen(self):
        self.update()
        stat = (self.source / MAIN).stat()
        self.write(MAIN, "odl")
        os.utime(self.source / MAIN, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        self.update()
        self.assertEqual((self.build / MAIN).read_text(), "odl")

    def test_what_is_gone_goes_but_not_what_was_made(self):
        self.update()
        made = self.build / "drivers/infiniband/hw/mlx5/mlx5_ib.mod.c"
        made.write_text("")
        (self.source / MAIN).unlink()
        self.update()
        self.assertFalse((self.build / MAIN).exists())
        self.assertTrue(made.exists())

    def test_objects_are_not_taken_over(self):
        self.write("drivers/infiniband/hw/mlx5/main.o", "x")
        self.update()
        self.assertFalse((self.build / MAIN).with_suffix(".o").exists())

    def test_a_folder_without_a_driver_is_refused(self):
        with self.assertRaisesRegex(Failure, "no kernel source"):
            builddriver.check_source(self.source)


class Names(unittest.TestCase):
    def test_source_packages(self):
        for version, package in (("6.1.0-50-amd64", "linux-source-6.1"),
                                 ("7.2.13+deb14-amd64", "linux-source-7.2")):
            self.assertEqual(builddriver.source_package(version), package)

    def test_errors_are_picked_from_the_log(self):
        text = "  CC a.o\na.c:1: error: no\nmake: *** Error 2\n  CC b.o\n"
        self.assertEqual(builddriver.errors_of(text),
                         "a.c:1: error: no\nmake: *** Error 2")

    def test_sections_have_no_address_afterwards(self):
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder, "a.c"), Path(folder, "a.o")
            source.write_text("int f(void) { return 1; } int d = 2;\n")
            subprocess.run(["gcc", "-c", "-o", str(out), str(source)],
                           check=True)
            subprocess.run(["objcopy", "--change-section-address",
                            ".data=0x840", str(out)], check=True)
            before = self.addresses(out)
            builddriver.clear_addresses(out)
            after = self.addresses(out)
        self.assertIn("0000000000000840", before)
        self.assertEqual(set(after), {"0000000000000000"})

    @staticmethod
    def addresses(path):
        text = subprocess.run(["readelf", "-SW", str(path)], check=True,
                              capture_output=True, text=True).stdout
        return re.findall(r"(?m)^ +\[ ?\d+\] .* ([0-9a-f]{16}) ", text)

    def test_each_folder_that_is_needed_is_copied(self):
        for name in builddriver.NEEDED:
            self.assertTrue(builddriver.FOLDERS[name])

    def test_modules_are_named_by_their_place(self):
        with tempfile.TemporaryDirectory() as folder:
            module = Path(folder, "modules/drivers/a/b.ko")
            module.parent.mkdir(parents=True)
            module.write_text("")
            for name in ("key", "kernel", "source"):
                Path(folder, name).write_text(name)
            built = driver.Driver(Path(folder))
            self.assertEqual(built.modules, {"drivers/a/b.ko": module})
            packed = io.BytesIO()
            built.pack(packed)
        packed.seek(0)
        with tarfile.open(fileobj=packed) as tar:
            self.assertEqual(tar.getnames(), ["drivers/a/b.ko"])

    def test_the_root_is_given_each_folder(self):
        root = buildroot.BuildRoot.__new__(buildroot.BuildRoot)
        root.path, root.folders = "/root", [("/c", "/d")]
        words = root.command(["make"], [("/a", "/b")])
        self.assertEqual(words[-7:], ["/root", "/c", "/d", "/a", "/b", "--",
                                      "make"])


class Chosen(unittest.TestCase):
    """Which driver a guest has, by what lies in the folder of the builds."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.where = Path(self.folder.name)
        for name, text in (("key", "k"), ("kernel", "6.12"), ("source", "s"),
                           ("used", "")):
            (self.where / name).write_text(text)
        patch = mock.patch.object(driver, "place", lambda _: self.where)
        patch.start()
        self.addCleanup(patch.stop)
        self.image = mock.Mock(path=Path("/guests/trixie/x"))
        self.image.kernel_version.return_value = "6.12"

    def tearDown(self):
        self.folder.cleanup()

    def test_the_one_that_was_built(self):
        self.assertEqual(driver.current(self.image).key, "k")

    def test_the_guests_own_if_it_is_not_to_be_used(self):
        (self.where / "used").unlink()
        self.assertIsNone(driver.current(self.image))
        self.assertEqual(driver.built(self.image).key, "k")

    def test_none_in_silence_if_it_does_not_compile(self):
        (self.where / "key").unlink()
        self.assertRaisesRegex(Failure, "did not compile", driver.current,
                               self.image)

    def test_none_in_silence_if_the_guest_has_another_kernel(self):
        self.image.kernel_version.return_value = "6.13"
        self.assertRaisesRegex(Failure, "another kernel", driver.current,
                               self.image)

    def test_a_failing_compiler_leaves_none(self):
        with mock.patch.multiple(
                builddriver, guestkernel=mock.Mock(), update=mock.Mock(),
                compile_modules=mock.Mock(side_effect=Failure("no"))):
            self.assertRaises(Failure, builddriver.make, "trixie", self.image,
                              self.where)
        self.assertIsNone(driver.built(self.image))

    def test_a_new_checkout_begins_with_what_another_compiled(self):
        old, new = self.where / "trixie-1", self.where / "trixie-2"
        (old / "build").mkdir(parents=True)
        new.mkdir()
        (old / "build/a.o").write_text("x")
        os.utime(old / "build/a.o", ns=(10**18, 10**18))
        (old / "kernel").write_text("6.12")
        builddriver.begin_with_anothers(new, "6.12")
        self.assertFalse((new / "build").exists(), "it was not finished")
        (old / "key").write_text("k")
        builddriver.begin_with_anothers(new, "6.13")
        self.assertFalse((new / "build").exists(), "another kernel")
        builddriver.begin_with_anothers(new, "6.12")
        self.assertEqual((new / "build/a.o").stat().st_mtime_ns, 10**18)

    def test_a_debugger_has_the_one_in_use(self):
        with mock.patch.object(builddriver, "own_source", lambda *_: "own"):
            found = builddriver.for_debugger("trixie", self.image)
        self.assertEqual(found.source, "s")

    def test_a_debugger_has_no_driver_that_is_not_in_use(self):
        (self.where / "used").unlink()
        make = mock.Mock()
        with mock.patch.multiple(builddriver, own_source=lambda *_: "own",
                                 make=make):
            builddriver.for_debugger("trixie", self.image)
        make.assert_called_once_with("trixie", self.image, "own")


class Configuration(unittest.TestCase):
    """Of a kernel of ours: all that was asked for must be granted."""

    CONFIG = ("# text\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=m\n"
              'CONFIG_D="x y"\nCONFIG_E=16\n')

    def refused(self, asked):
        return guestkernel.refused(asked, self.CONFIG)

    def test_what_is_granted(self):
        self.assertEqual(self.refused(self.CONFIG), [])
        self.assertEqual(self.refused("CONFIG_B=n\nCONFIG_UNKNOWN=n\n"), [])

    def test_what_is_refused_is_named(self):
        for asked in ("CONFIG_B=y", "CONFIG_UNKNOWN=y", "CONFIG_C=y",
                      "CONFIG_A=n", "CONFIG_E=17", "CONFIG_D=\"x\""):
            name = asked.split("=")[0]
            self.assertEqual(len(self.refused(asked + "\n")), 1, asked)
            self.assertIn(name, self.refused(asked)[0])

    def test_the_one_we_ask_for_says_no_option_twice(self):
        for row in rows.GUESTS.values():
            if row.config:
                text = (guestkernel.CONFIGS / row.config).read_text()
                names = re.findall(r"(?m)^(CONFIG_\w+)=", text)
                self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
