# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tour says: the Test Anything Protocol on standard output, and the
same with texts and observations as JSON, from which docs/tour.md is made."""

import importlib
import json
import time
import traceback


class Tour:
    """The stations' results.

    @kernel: the Kernel, @notes: what a station leaves for later ones."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.count = self.bad = 0
        self.stations = []
        self.notes = {}

    def station(self, name):
        """Visit a station; one that breaks off is a failed test."""
        self.stations.append({"title": name, "items": []})
        began = time.monotonic()
        try:
            module = importlib.import_module(name)
            self.stations[-1]["title"] = module.TITLE
            self.text(module.__doc__.partition("\n")[2].strip())
            module.run(self)
        except Exception:  # pylint: disable=broad-except
            self.ok(False, f"{name}: the station breaks off",
                    traceback.format_exc())
        print(f"# {name}: {time.monotonic() - began:.0f} s", flush=True)

    def ok(self, held, statement, seen=""):
        """Assert a statement. @seen: what was seen instead."""
        self.count += 1
        if not held:
            self.bad += 1
            for line in str(seen).splitlines():
                print("# " + line)
        mark = "" if held else "not "
        print(f"{mark}ok {self.count} - {statement}", flush=True)
        self.stations[-1]["items"].append({"ok": bool(held),
                                           "statement": statement})
        return held

    def same(self, seen, expected, statement):
        """Assert that two things are equal."""
        return self.ok(seen == expected, statement,
                       f"seen:     {seen}\nexpected: {expected}")

    def order(self, events, names, statement):
        """Assert that the first events of these names come in this order."""
        at = {}
        for event in events:
            at.setdefault(event.name, event.order)
        missing = [n for n in names if n not in at]
        places = [at[n] for n in names if n in at]
        return self.ok(not missing and places == sorted(places), statement,
                       f"missing: {missing}; order: "
                       f"{sorted((at[n], n) for n in names if n in at)}")

    def skip(self, statement, why):
        self.count += 1
        print(f"ok {self.count} - {statement} # SKIP {why}", flush=True)
        self.stations[-1]["items"].append({"skip": why,
                                           "statement": statement})

    def text(self, words):
        """Add a paragraph, in Markdown."""
        self.stations[-1]["items"].append({"text": words})

    def show(self, lines):
        """Add an observation: a list of lines, or of rows of a table."""
        self.stations[-1]["items"].append({"show": columns(lines)})

    def finish(self, path):
        """End. Return: the exit status."""
        path.write_text(json.dumps({"kernel": self.kernel.version,
                                    "stations": self.stations}))
        print(f"1..{self.count}")
        return 1 if self.bad else 0


def columns(lines):
    """Return lines; rows of a table get columns of a width."""
    rows = [line for line in lines if not isinstance(line, str)]
    if not rows:
        return lines
    count = max(len(row) for row in rows)
    widths = [max((len(str(row[i])) for row in rows if i < len(row)),
                  default=0) for i in range(count)]
    return [line if isinstance(line, str) else
            "  ".join(str(w).ljust(widths[i])
                      for i, w in enumerate(line)).rstrip() for line in lines]
