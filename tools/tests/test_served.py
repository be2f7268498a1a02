# SPDX-License-Identifier: GPL-2.0-or-later
"""The web server for guests and the client in them, with each other."""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"),
                str(HERE.parents[1] / "guest-tests/suites")]

import netclient  # noqa: E402
import served  # noqa: E402

ODD = 3 * netclient.CHUNK + 12345


class TestServed(unittest.TestCase):
    def setUp(self):
        self.server = served.Served()
        self.server.__enter__()
        self.addCleanup(self.server.__exit__)
        netclient.PORT = self.server.port

    def test_no_two_blocks_are_alike(self):
        blocks = list(netclient.data(ODD))
        self.assertEqual(sum(map(len, blocks)), ODD)
        self.assertEqual(len(set(blocks)), 4)

    def test_fetch_and_put(self):
        for check in (True, False):
            with netclient.Client("127.0.0.1") as client:
                self.assertTrue(client.fetch(ODD, check)[0])
                self.assertTrue(client.put(ODD, check)[0])

    def test_wrong_data_are_found(self):
        right = served.data
        served.data = lambda n: (piece[:-1] + b"!" for piece in right(n))
        try:
            with netclient.Client("127.0.0.1") as client:
                self.assertFalse(client.fetch(ODD)[0])
        finally:
            served.data = right

    def test_unknown_path(self):
        with netclient.Client("127.0.0.1") as client:
            self.assertEqual(client.ask("/nothing")[0], 404)

    def test_variables(self):
        self.assertIn(f"SERVED={self.server.port}", self.server.variables())


if __name__ == "__main__":
    unittest.main()
