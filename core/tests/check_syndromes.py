#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hold a list of reasons against what the unit tests saw.

Usage: check_syndromes.py [--begin] DEF UNREACHED SEEN

DEF lists the reasons a command can be refused for (core/fw/syndrome.def), or
a work request (core/rdma/vendor_synd.def). SEEN is what the tests provoked
(syndromes_seen.c), one number a line. UNREACHED names those no test can
provoke, "NAME reason" a line. Numbers and names must be unique, each
must be seen or excused, and none excused that is seen.

With --begin: forget what an earlier run saw. Exit status 77 (skip) if no test
has run since.
"""
import pathlib
import re
import sys

ROW = re.compile(r'^MLX5_(?:SYND|VENDOR)\(\s*(\w+),\s*(0x[0-9a-fA-F]+),',
                 re.MULTILINE)
SKIP = 77


def duplicates(items):
    return sorted({i for i in items if items.count(i) > 1})


def read_unreached(path):
    lines = [line for line in path.read_text().splitlines()
             if line and not line.startswith("#")]
    return dict(line.split(None, 1) for line in lines)


def problems(rows, unreached, seen):
    for name in duplicates([name for name, _ in rows]):
        yield "%s: stands in the list twice" % name
    for number in duplicates([number for _, number in rows]):
        yield "0x%06x: more than one reason has this number" % number
    numbers = {number for _, number in rows}
    for number in sorted(seen - numbers):
        yield "0x%06x: given by a check, but not in the list" % number
    for name, number in rows:
        if number in seen and name in unreached:
            yield "%s: excused, but a test provokes it" % name
        elif number not in seen and name not in unreached:
            yield "%s: no test provokes it" % name
    for name in sorted(set(unreached) - {name for name, _ in rows}):
        yield "%s: excused, but not in the list" % name


def main(args):
    if args[:1] == ["--begin"]:
        pathlib.Path(args[3]).unlink(missing_ok=True)
        return 0
    definitions, unreached, seen = map(pathlib.Path, args)
    if not seen.exists():
        print("no unit test has run")
        return SKIP
    rows = [(m.group(1), int(m.group(2), 16))
            for m in ROW.finditer(definitions.read_text())]
    found = list(problems(rows, read_unreached(unreached),
                          {int(n, 16) for n in seen.read_text().split()}))
    for problem in found:
        print(problem)
    print("%d reasons, %d problems" % (len(rows), len(found)))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
