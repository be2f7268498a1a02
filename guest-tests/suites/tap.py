# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints results as TAP."""


class Tap:
    """@number: of the last result. @bad: whether one failed."""

    def __init__(self):
        self.number, self.bad = 0, False

    def result(self, ok, name, detail="", notes=""):
        """Print a result; of a failed one @notes, lines that explain it.
        Return: @ok."""
        self.number += 1
        self.bad = self.bad or not ok
        for line in ("" if ok else notes).splitlines():
            print(f"# {line}")
        print(f"{'' if ok else 'not '}ok {self.number} - {name}"
              f"{' # ' + detail if detail else ''}", flush=True)
        return ok

    def skip(self, name, why):
        self.result(True, name, f"SKIP {why}")

    def finish(self):
        """Print the plan. Return: a program's exit status."""
        print(f"1..{self.number}")
        return int(self.bad)
