#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The layer check must find what it is for: a tree with one breach of each
rule, and one without."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "check-layers"


def run(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, TOOL, root],
                              capture_output=True, text=True)
        return done.returncode, done.stdout


GOOD = {
    "core/mlx5sim.h": "#include <glib.h>\n",
    "core/obj/cq.h": "",
    "core/rdma/req.c": '#include "obj/cq.h"\n#include "mlx5sim.h"\n',
    "hw/mlx5sim/pci.c": '#include "mlx5sim.h"\n#include "qemu/osdep.h"\n',
}


class Layers(unittest.TestCase):
    def breach(self, name, text, word):
        code, out = run({**GOOD, name: text})
        self.assertEqual(code, 1, out)
        self.assertIn(name, out)
        self.assertIn(word, out)

    def test_good(self):
        code, out = run(GOOD)
        self.assertEqual(code, 0, out)

    def test_upwards(self):
        self.breach("core/obj/bad.c", '#include "rdma/req.h"\n', "below")

    def test_qemu_in_core(self):
        self.breach("core/obj/bad.c", '#include "qemu/osdep.h"\n',
                    "not a folder")

    def test_connector(self):
        self.breach("core/fw/bad.c", '#include "layers.h"\n', "core/*.c")

    def test_foreign_library(self):
        self.breach("core/net/bad.c", "#include <slirp/libslirp.h>\n", "GLib")

    def test_hw(self):
        self.breach("hw/mlx5sim/bad.c", '#include "obj/cq.h"\n', "mlx5sim.h")

    def test_empty_tree(self):
        code, _ = run({"README.md": ""})
        self.assertNotEqual(code, 0)


if __name__ == "__main__":
    unittest.main()
