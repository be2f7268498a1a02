#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of inspectverb.py: which guest, which part, and how it is printed."""

import json
import os
import socket
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import inspectverb  # noqa: E402
from step import Failure  # noqa: E402

STATE = {"qps": [{"state": "RTS", "pd": 3, "qpn": 66}], "pages": 5,
         "cqs": []}


class Print(unittest.TestCase):
    def test_is_json(self):
        self.assertEqual(json.loads(inspectverb.as_text(STATE)), STATE)

    def test_number_comes_first(self):
        self.assertIn('{"qpn": 66, "pd": 3, "state": "RTS"}',
                      inspectverb.as_text(STATE))

    def test_parts(self):
        self.assertEqual(inspectverb.choose(STATE, ["pages"]), {"pages": 5})
        self.assertEqual(inspectverb.choose(STATE, []), STATE)
        with self.assertRaisesRegex(Failure, "no part qp; there are: qps"):
            inspectverb.choose(STATE, ["qp"])


class Guests(unittest.TestCase):
    def setUp(self):
        self.temp = tempfile.TemporaryDirectory()
        self.addCleanup(self.temp.cleanup)
        patch = mock.patch.object(tempfile, "tempdir", self.temp.name)
        patch.start()
        self.addCleanup(patch.stop)

    def listen(self):
        path = os.path.join(inspectverb.folder(), inspectverb.SOCKET)
        sock = socket.socket(socket.AF_UNIX)
        sock.bind(path)
        sock.listen()
        self.addCleanup(sock.close)
        return sock

    def test_none(self):
        with self.assertRaisesRegex(Failure, "no guest"):
            inspectverb.connect(None)

    def test_a_dead_one_is_none(self):
        self.listen().close()
        with self.assertRaisesRegex(Failure, "no guest"):
            inspectverb.connect(None)

    def test_several_must_be_told_apart(self):
        self.listen()
        self.listen()
        with self.assertRaisesRegex(Failure, "choose one by --pid: "
                                    f"{os.getpid()}"):
            inspectverb.connect(None)

    def test_unknown_process(self):
        self.listen()
        with self.assertRaisesRegex(Failure, "with process 1;"):
            inspectverb.connect(1)


if __name__ == "__main__":
    unittest.main()
