#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compile the plugin against the QEMU of a Debian suite whose binary does not
run here: the newest whose source the mirror serves. One TAP line.

    compile_suite.py SUITE
"""

import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = HERE.parents[2] / "tools"
sys.path[:0] = [str(HERE), str(TOOLS / "lib")]

import plugin
import qemuheaders
from privateapt import AptError, Suite
from qemubin import QemuBinary
from qtest import Skip, Tap


def newest(name):
    """Return the newest version of QEMU's source to be had in the suite."""
    suite = Suite(name)
    suite.update()
    out = suite.run("apt-cache", "showsrc", "--only-source", "qemu")
    why = None
    for version in reversed(re.findall(r"^Version: (\S+)", out, re.M)):
        try:
            qemuheaders.headers(version)
            return version
        except AptError as err:
            why = why or err
            print(f"# the source of QEMU {version} can't be had")
    raise why or AptError(f"{name} has no QEMU")


def test_compile(name):
    """the plugin compiles and links against the suite's QEMU"""
    try:
        version = newest(name)
    except AptError as err:
        raise Skip(" ".join(str(err).split())) from err
    print(f"# QEMU {version}")
    qemu = QemuBinary(Path("none"), version, version, version, "00" * 20)
    with tempfile.TemporaryDirectory(prefix="mlx5sim-compile-") as build:
        plugin.configure(Path(build), qemu)
        plugin.run(["ninja", "-C", build, *plugin.TARGETS])


sys.exit(1 if Tap([test_compile]).run(sys.argv[1]) else 0)
