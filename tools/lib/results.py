# SPDX-License-Identifier: GPL-2.0-or-later
"""Test results: read from programs, held against what is expected, written.

A program prints the Test Anything Protocol or the kernel's KTAP. A file of
expected results has one line each; a test it doesn't name is to pass:

    skip NAME  # why
    fail NAME  # why it is known to fail
    plan N

A test that does other than expected fails the run, also one that passes
though it is known to fail: the list is then wrong. With a plan, N tests must
have reported.

That list is about the default guest. Another guest's suite is of another
version, with other tests and other reasons to skip: there nothing may fail but
what the list knows to fail, and a skip is not held against a test. What is
special there is in a list of its own, `expected-GUEST`, of the same form.
"""

import re
from collections import namedtuple
from html import escape
from pathlib import Path

Result = namedtuple("Result", "name status detail")
PASS, FAIL, SKIP = "pass", "fail", "skip"
KNOWN_FAILURE = "known to fail: "

TAP_LINE = re.compile(r"\s*(not )?ok\b\s*(\d+)?\s*-?\s*(.*)")
TAP_PLAN = re.compile(r"\s*1\.\.(\d+)\s*(#.*)?$")


def parse_tap(text):
    """Return the Results in @text, with failures for what TAP forbids."""
    results, planned = [], None
    notes = []
    for line in text.splitlines():
        plan = TAP_PLAN.match(line)
        match = TAP_LINE.match(line)
        if plan and not line[0].isspace():
            planned = int(plan[1])
        elif line.startswith("Bail out!"):
            results.append(Result("bail out", FAIL, line))
        elif match:
            results.append(tap_result(match, notes))
            notes = []
        elif line.strip():
            notes.append(line)
    if planned is None:
        results.append(Result("plan", FAIL, "the program printed no plan: it "
                              "ended early\n" + "\n".join(notes[-20:])))
    elif planned != len(results):
        results.append(Result("plan", FAIL, f"{planned} tests planned, "
                              f"{len(results)} reported"))
    return results


def tap_result(match, notes):
    name, _, directive = match[3].partition(" # ")
    directive = directive.strip()
    name = name.strip() or f"test {match[2]}"
    if match[1]:
        return Result(name, FAIL, "\n".join([directive, *notes[-20:]]).strip())
    if directive.upper().startswith("SKIP"):
        return Result(name, SKIP, directive[4:].strip(" :"))
    return Result(name, PASS, directive)


def read_expected(path):
    """Return expected statuses, (status, reason) by name, and the plan."""
    expected, plan = {}, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        body, _, reason = line.partition("#")
        words = body.split(None, 1)
        if not words:
            continue
        if words[0] == "plan":
            plan = int(words[1])
        elif words[0] in (SKIP, FAIL) and reason.strip() and len(words) == 2:
            expected[words[1].strip()] = words[0], reason.strip()
        else:
            raise ValueError(f"{path}:{number}: not 'skip|fail NAME # why'")
    return expected, plan


def judge(results, expected, plan, lenient=False):
    """Hold @results against what is expected. Return: new Results.

    @lenient: a test that is not named may skip."""
    judged, seen = [], set()
    for result in results:
        seen.add(result.name)
        want, reason = expected.get(result.name, (PASS, ""))
        if want == FAIL and result.status == FAIL:
            result = Result(result.name, SKIP, KNOWN_FAILURE + reason)
        elif want == FAIL and result.status == PASS:
            result = Result(result.name, FAIL, "passes, but the list says: "
                            f"{reason}; take it off the list")
        elif want == SKIP and result.status == PASS:
            result = Result(result.name, FAIL, "passes, but the list says it "
                            f"skips: {reason}; take it off the list")
        elif want == SKIP and result.status == SKIP:
            result = Result(result.name, SKIP, reason)
        elif (want == PASS and result.status == SKIP and expected
              and not lenient):
            result = Result(result.name, FAIL,
                            f"skipped, not as expected: {result.detail}")
        judged.append(result)
    for name in sorted(set(expected) - seen):
        judged.append(Result(name, FAIL, "expected, but did not report"))
    if plan is not None and plan != len(results):
        judged.append(Result("number of tests", FAIL,
                             f"{plan} expected, {len(results)} reported"))
    return judged


def judge_elsewhere(results, own, hints):
    """Hold @results against what a guest's own list expects. Where that says
    nothing, @hints, the default guest's list, gives reasons. Return: new
    Results."""
    told = []
    for result in results:
        want, reason = hints.get(result.name, (PASS, ""))
        if result.name not in own and want == result.status == FAIL:
            result = Result(result.name, SKIP, KNOWN_FAILURE + reason)
        elif result.name not in own and want == result.status == SKIP:
            result = Result(result.name, SKIP, reason)
        told.append(result)
    return judge(told, own, None, lenient=True)


def judge_by_lists(results, folder, guest, default):
    """Hold @results against the lists in a suite's folder, if there are any.
    Return: Results."""
    general, own = Path(folder, "expected"), Path(folder, f"expected-{guest}")
    expected, plan = read_expected(general) if general.exists() else ({}, None)
    if guest == default:
        return judge(results, expected, plan)
    special = read_expected(own)[0] if own.exists() else {}
    return judge_elsewhere(results, special, expected)


def count(suites):
    """Return the numbers of passed, failed and skipped tests."""
    every = [r.status for results in suites.values() for r in results]
    return every.count(PASS), every.count(FAIL), every.count(SKIP)


def summary(suites):
    """Return the last line of a run."""
    passed, failed, skipped = count(suites)
    text = f"{passed} passed, {failed} failed"
    return text + (f", {skipped} skipped" if skipped else "")


def write_junit(path, suites):
    """Write @suites, Results by suite name, as JUnit XML."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>"]
    for name, results in suites.items():
        _, failed, skipped = count({name: results})
        lines.append(f'<testsuite name="{escape(name)}" '
                     f'tests="{len(results)}" failures="{failed}" '
                     f'skipped="{skipped}">')
        for result in results:
            head = (f'<testcase classname="{escape(name)}" '
                    f'name="{escape(result.name)}"')
            if result.status == PASS:
                lines.append(head + "/>")
                continue
            tag = "failure" if result.status == FAIL else "skipped"
            detail = escape(printable(result.detail), quote=False)
            lines.append(f"{head}><{tag}>{detail}</{tag}></testcase>")
        lines.append("</testsuite>")
    lines.append("</testsuites>\n")
    path.write_text("\n".join(lines), encoding="utf-8")


def printable(text):
    """Return @text without what XML can't hold."""
    return re.sub(r"[^\t\n\x20-\uFFFD]", "?", text)


def ktap(suites):
    """Return @suites as one KTAP document."""
    lines = ["KTAP version 1", f"1..{len(suites)}"]
    for number, (name, results) in enumerate(suites.items(), 1):
        lines += ["    KTAP version 1", f"    # Subtest: {name}",
                  f"    1..{len(results)}"]
        for index, result in enumerate(results, 1):
            word = "not ok" if result.status == FAIL else "ok"
            tail = f" # SKIP {result.detail}" if result.status == SKIP else ""
            lines.append(f"    {word} {index} {result.name}{tail}")
        bad = any(r.status == FAIL for r in results)
        lines.append(f"{'not ok' if bad else 'ok'} {number} {name}")
    return "\n".join(lines)
