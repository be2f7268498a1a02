#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs rdma-core's Python tests and prints TAP, a line each with its time.

The tests are the guest's, untouched; only the report and the order are ours.

    runner.py [--dev D] [--port N] [--tests DIR] [--order given|reverse|random]
              [--seed N] [--repeat N] [--alone] [--list] [PATTERN...]

PATTERN selects tests whose name, such as test_mr.MRTest.test_reg_mr, contains
it. --alone runs each test in a process of its own.
"""

import argparse
import faulthandler
import importlib.util
import multiprocessing
import os
import random
import subprocess
import sys
import time
import unittest

TESTS = "/usr/share/doc/rdma-core/tests"
# The tests wait at most 15 s for one another; one that takes longer hangs.
HANG_S = 120


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--dev", default="mlx5_0")
    add("--port", default="1")
    add("--tests", default=TESTS, help="folder of the tests")
    add("--order", choices=["given", "reverse", "random"], default="given")
    add("--seed", type=int, help="of the random order")
    add("--repeat", type=int, default=1)
    add("--alone", action="store_true", help="a process for each test")
    add("--list", action="store_true", help="print the names and end")
    add("patterns", nargs="*", metavar="PATTERN")
    return parser.parse_args()


def load(folder, dev, port):
    """Import the tests as their own run_tests.py does. Return: the tests."""
    sys.path.insert(0, folder)
    sys.argv[1:] = ["--dev", dev, "--port", port]
    from args_parser import parser
    spec = importlib.util.spec_from_file_location(
        "tests", os.path.join(folder, "__init__.py"),
        submodule_search_locations=[folder])
    module = importlib.util.module_from_spec(spec)
    sys.modules["tests"] = module
    # The package looks at the options while it is imported.
    parser.parse_args()
    spec.loader.exec_module(module)
    return list(flatten(unittest.defaultTestLoader.loadTestsFromModule(module)))


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def name_of(test):
    return test.id().removeprefix("tests.")


def choose(tests, options):
    """Return the tests to run, in their order."""
    chosen = [t for t in tests if not options.patterns or
              any(p in name_of(t) for p in options.patterns)]
    if options.order == "reverse":
        chosen.reverse()
    elif options.order == "random":
        seed = options.seed if options.seed is not None else int(time.time())
        print(f"# random order, seed {seed}")
        random.Random(seed).shuffle(chosen)
    return chosen


class Tap(unittest.TestResult):
    """Prints one line for each test as soon as it ended."""

    def __init__(self):
        super().__init__()
        self.number = 0
        self.bad = 0

    def startTest(self, test):
        super().startTest(test)
        self.problem = self.reason = None
        self.began = time.monotonic()
        faulthandler.dump_traceback_later(HANG_S, file=sys.__stderr__)

    def addError(self, test, err):
        super().addError(test, err)
        self.note(self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(self.failures[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note(self._exc_info_to_string(err, test))

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note("passes, though it is marked to fail")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.reason = " ".join(reason.split()) or "no reason given"

    def note(self, text):
        self.problem = (self.problem or "") + text

    def stopTest(self, test):
        super().stopTest(test)
        faulthandler.cancel_dump_traceback_later()
        took = time.monotonic() - self.began
        if self.problem:
            self.line(False, name_of(test), f"{took:.2f} s", self.problem)
        elif self.reason:
            self.line(True, name_of(test), f"SKIP {self.reason}")
        else:
            self.line(True, name_of(test), f"{took:.2f} s")

    def line(self, good, name, remark, text=""):
        self.number += 1
        for row in text.splitlines():
            print(f"# {row}")
        word = "ok" if good else "not ok"
        print(f"{word} {self.number} - {name} # {remark}", flush=True)
        self.bad += not good


def run_together(tests, tap):
    """Run @tests in this process, each class set up on its own: in another
    order tests of one class don't follow each other."""
    for test in tests:
        before = tap.number
        tap.problem = tap.reason = None
        unittest.TestSuite([test]).run(tap)
        if tap.number > before:
            continue
        # Its class could not be set up, or skips as a whole.
        if tap.reason and not tap.problem:
            tap.line(True, name_of(test), f"SKIP {tap.reason}")
        else:
            tap.line(False, name_of(test), "did not run", tap.problem or "")


def run_alone(tests, tap, options):
    for test in tests:
        name = name_of(test)
        done = subprocess.run(
            [sys.executable, __file__, "--dev", options.dev, "--port",
             options.port, "--tests", options.tests, name],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        # Another test's name may contain this one's.
        mine = [line.partition(" - ")[::2] for line in
                done.stdout.splitlines() if f" - {name} # " in line]
        if len(mine) != 1 or done.returncode not in (0, 1):
            tap.line(False, name, f"exit status {done.returncode}",
                     done.stdout)
            continue
        word, rest = mine[0]
        remark = rest.partition(" # ")[2]
        good = not word.startswith("not")
        tap.line(good, name, remark, "" if good else done.stdout)


def main():
    options = parse_arguments()
    # Tests hand their device to a child, which no server of Python's can; it
    # is the default from Python 3.14 on.
    multiprocessing.set_start_method("fork")
    tests = choose(load(options.tests, options.dev, options.port), options)
    if options.list:
        print("\n".join(name_of(t) for t in tests))
        return 0
    tap = Tap()
    for _ in range(options.repeat):
        if options.alone:
            run_alone(tests, tap, options)
        else:
            run_together(tests, tap)
    print(f"1..{len(tests) * options.repeat}", flush=True)
    return 1 if tap.bad or not tap.number else 0


if __name__ == "__main__":
    sys.exit(main())
