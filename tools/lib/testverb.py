# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb test: runs suites, tells what came of them."""

import time

import host
import machine
import qemubin
import results
import suites
from step import Failure


def choose_suites(args):
    """Return the suites that a command line names."""
    known = {s.name: s for s in suites.every()}
    if args.suite:
        unknown = [n for n in args.suite if n not in known]
        if unknown:
            raise Failure(f"no suite {', '.join(unknown)}: see test --list", 2)
        return [known[n] for n in args.suite]
    return [s for s in known.values() if args.all or s.default]


def list_suites():
    for suite in suites.every():
        mark = "" if suite.default else " (with --all)"
        print(f"{suite.name:16} {suite.title}{mark}")
    return 0


def report(name, found, seconds, verbose=False):
    """Print what a suite gave: a line, and each failure in full."""
    for result in found:
        if result.status == results.PASS and verbose:
            print(f"pass {name}: {result.name}: {result.detail}")
        elif result.status == results.FAIL:
            print(f"FAIL {name}: {result.name}")
            for line in result.detail.splitlines():
                print(f"    {line}")
        elif result.status == results.SKIP:
            print(f"skip {name}: {result.name}: {result.detail}")
    print(f"{name}: {results.summary({name: found})} ({seconds:.0f} s)",
          flush=True)


def test(args):
    if args.list:
        return list_suites()
    chosen = choose_suites(args)
    host.ensure_packages()
    context = suites.Context(machine.Emulator(qemubin.find()), args.guest,
                             args.verbose, args.status, args.duration,
                             args.tour_doc, args.cycles)
    outcome = {}
    for suite in chosen:
        began = time.monotonic()
        outcome[suite.name] = suites.run(suite, context)
        if not args.ktap:
            report(suite.name, outcome[suite.name], time.monotonic() - began,
                   args.verbose)
    if args.ktap:
        print(results.ktap(outcome))
    if args.junit:
        results.write_junit(args.junit, outcome)
    print(results.summary(outcome))
    return 1 if results.count(outcome)[1] else 0
