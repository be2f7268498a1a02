#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of cli.py: what a verb names is there, though it is imported late."""

import argparse
import importlib
import sys
import unittest
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "tools/lib"), str(REPO / "guest-tests/image")]
import cli  # noqa: E402


class Verbs(unittest.TestCase):
    def test_each_has_its_function(self):
        verbs, = [action for action in cli.build_parser()._actions
                  if isinstance(action, argparse._SubParsersAction)]
        self.assertIn("run", verbs.choices)
        for name, parser in verbs.choices.items():
            module, function = parser.get_default("function").args
            found = getattr(importlib.import_module(module), function, None)
            self.assertTrue(callable(found), name)


if __name__ == "__main__":
    unittest.main()
