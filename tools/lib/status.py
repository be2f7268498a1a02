# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/status.md: what each test of an outside suite does on each guest.

The page is written from a run (test --status) and read back by every other
run: one that differs from the page fails, so that the page can't grow old.
A suite whose suite.ini says `status = yes` is on it.
"""

import re
from pathlib import Path

from paths import REPO
from results import FAIL, KNOWN_FAILURE, PASS, SKIP, Result

PAGE = REPO / "docs/status.md"
HEAD = """\
# Status, test by test

What each test of rdma-core's own suite does on the card, on each guest. A skip
says why: what a real card would skip too, or the capability that is missing.
Written by `tools/mlx5sim test --status rdma-core`; a run of the suite that
differs from this page fails.

"""
CELL = re.compile(r"(pass|skip|fail)(?:: (.*))?$")


class Page:
    """The page's content: per suite, its guests and their results.

    @suites: {suite: {guest: {test: (status, reason)}}}
    @versions: {(suite, guest): text}, what the guest runs"""

    def __init__(self):
        self.suites = {}
        self.versions = {}

    def put(self, suite, guest, versions, found):
        """Take the Results of one run instead of what the page has."""
        self.versions[suite, guest] = versions
        self.suites.setdefault(suite, {})[guest] = {
            r.name: (outcome(r), reason_of(r)) for r in found}

    def write(self, path=PAGE):
        text = HEAD
        for suite in sorted(self.suites):
            text += self._summary(suite) + self._table(suite)
        Path(path).write_text(text)

    def _summary(self, suite):
        lines = [f"## {suite}\n",
                 "| guest | runs | tests | pass | skip | fail |",
                 "| --- | --- | --- | --- | --- | --- |"]
        for guest, tests in self.suites[suite].items():
            every = [status for status, _ in tests.values()]
            counts = " | ".join(str(every.count(s)) for s in (PASS, SKIP, FAIL))
            lines.append(f"| {guest} | {self.versions[suite, guest]} | "
                         f"{len(every)} | {counts} |")
        return "\n".join(lines) + "\n\n"

    def _table(self, suite):
        guests = list(self.suites[suite])
        names = sorted({n for g in guests for n in self.suites[suite][g]})
        lines = ["| test | " + " | ".join(guests) + " |",
                 "| --- |" + " --- |" * len(guests)]
        for name in names:
            cells = [cell(self.suites[suite][g].get(name)) for g in guests]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n\n"


def outcome(result):
    """Return a result's status; that a failure is known makes it no skip."""
    known = result.status == SKIP and result.detail.startswith(KNOWN_FAILURE)
    return FAIL if known else result.status


def reason_of(result):
    """Return the first line of why a test did not pass."""
    if result.status == PASS:
        return ""
    lines = result.detail.strip().splitlines()
    return lines[0] if lines else ""


def cell(outcome):
    """Return a table's cell; a bar would end it."""
    if outcome is None:
        return ""
    status, reason = outcome
    return status + (": " + reason.replace("|", "/") if reason else "")


def read(path=PAGE):
    """Return the Page in a file; an empty one if there is none."""
    page = Page()
    suite, columns = None, []
    text = Path(path).read_text() if Path(path).exists() else ""
    for line in text.splitlines():
        if line.startswith("## "):
            suite = line[3:].strip()
            page.suites[suite] = {}
        if not line.startswith("| ") or suite is None:
            continue
        cells = [c.strip() for c in line.strip().strip("|").split(" |")]
        if cells[0] == "---":
            continue
        if cells[0] == "guest":
            columns = None
        elif cells[0] == "test":
            columns = cells[1:]
        elif columns is None:
            page.versions[suite, cells[0]] = cells[1]
            page.suites[suite][cells[0]] = {}
        else:
            _read_row(page.suites[suite], columns, cells)
    return page


def _read_row(guests, columns, cells):
    for guest, text in zip(columns, cells[1:]):
        match = CELL.match(text)
        if match:
            guests[guest][cells[0]] = match[1], match[2] or ""


def program_of(versions):
    """Return the outside suite's name and version in a text of versions."""
    return versions.rpartition(", ")[2]


def compare(page, suite, guest, found, versions=""):
    """Return a Result that tells whether the page says what @found says.

    @versions: what the guest runs now. Of another version of the suite the
    page says nothing."""
    said = page.suites.get(suite, {}).get(guest)
    name = "docs/status.md says the same"
    if said is None:
        return Result(name, FAIL, f"it has no guest {guest}; write it: "
                      f"tools/mlx5sim test --status {suite} --guest {guest}")
    about = page.versions.get((suite, guest), "")
    if versions and program_of(about) != program_of(versions):
        return Result(name, SKIP, f"it is about {about}, the guest runs "
                      f"{versions}")
    now = {r.name: outcome(r) for r in found}
    differ = [f"{test}: {now.get(test, 'absent')}, the page: "
              f"{said.get(test, ('absent',))[0]}"
              for test in sorted(set(now) | set(said))
              if now.get(test) != said.get(test, (None,))[0]]
    return Result(name, FAIL if differ else PASS, "\n".join(differ))
