# SPDX-License-Identifier: GPL-2.0-or-later
"""The web server for guests and the client in them, with each other."""

import hashlib
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"),
                str(HERE.parents[1] / "guest-tests/suites")]

import netclient  # noqa: E402
import served  # noqa: E402

ODD = 3 * served.CHUNK + 12345


class TestServed(unittest.TestCase):
    def setUp(self):
        self.server = served.Served()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        netclient.PORT = self.server.port

    def test_both_know_the_data(self):
        ours, theirs = hashlib.sha256(), hashlib.sha256()
        for piece in served.data(ODD):
            ours.update(piece)
        for piece in netclient.data(ODD):
            theirs.update(piece)
        self.assertEqual(ours.digest(), theirs.digest())

    def test_fetch_and_put(self):
        for check in (True, False):
            with netclient.Client("127.0.0.1") as client:
                self.assertTrue(client.fetch(ODD, check)[0])
                self.assertTrue(client.put(ODD, check)[0])

    def test_wrong_data_are_found(self):
        right = served.block
        served.block = lambda n: right(n)[:-1] + b"!"
        try:
            with netclient.Client("127.0.0.1") as client:
                self.assertFalse(client.fetch(ODD)[0])
        finally:
            served.block = right

    def test_unknown_path(self):
        with netclient.Client("127.0.0.1") as client:
            self.assertEqual(client.ask("/nothing")[0], 404)

    def test_variables(self):
        self.assertIn(f"SERVED={self.server.port}", self.server.variables())


if __name__ == "__main__":
    unittest.main()
