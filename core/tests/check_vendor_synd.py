#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hold core/rdma/vendor_synd.def against what repeats it.

Usage: check_vendor_synd.py [--write] ROOT

The table of docs/error-completions.md and guest-tests/verbs/vendor_synd.h
must be what the .def says; --write makes them so. Names and codes must be
unique, and each name must stand in a unit test of core/tests/rdma (those of
UMR: the result of the same name).
"""
import pathlib
import re
import sys

ROW = re.compile(r'^MLX5_VENDOR\(\s*(\w+),\s*(0x[0-9a-f]{2}),\s*(\w+),\s*'
                 r'(\w+),\s*"([^"]*)",\s*"([^"]*)"\)', re.MULTILINE)
START = "<!-- table: core/tests/check_vendor_synd.py --write . -->\n"
END = "<!-- end of table -->\n"
HEADER = """\
/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Vendor codes of error completions, as mlx5sim gives them. Made from
 * core/rdma/vendor_synd.def by core/tests/check_vendor_synd.py --write.
 */
#ifndef VENDOR_SYND_H
#define VENDOR_SYND_H

enum vendor_synd {
%s};

#endif
"""


def table(rows):
    yield "| code | name | CQE syndrome | counter | meaning | source |\n"
    yield "| --- | --- | --- | --- | --- | --- |\n"
    for name, code, syndrome, counter, source, meaning in rows:
        yield (f"| `{code}` | `{name}` | `{syndrome}` | `{counter}` | "
               f"{meaning} | {source} |\n")


def wanted_doc(text, rows):
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return before + START + "".join(table(rows)) + END + after


def wanted_header(rows):
    return HEADER % "".join(f"    VENDOR_{name} = {code},\n"
                            for name, code, *_ in rows)


def problems(root, rows, files):
    for column in (0, 1):
        values = [row[column] for row in rows]
        for value in sorted({v for v in values if values.count(v) > 1}):
            yield f"{value}: stands in the list twice"
    tests = "".join(p.read_text() for p in (root / "core/tests/rdma").iterdir()
                    if p.suffix in (".c", ".h"))
    for name, *_ in rows:
        # Tests write MLX5_VENDOR_NAME, or NAME in a row of a table.
        word = name if name.startswith("UMR_") else rf"(?:VENDOR_)?{name}"
        word = rf"MLX5_{word}|\b{word}\b"
        if not re.search(word, tests):
            yield f"{name}: no unit test names it"
    for path, want in files.items():
        if not path.exists() or path.read_text() != want:
            yield f"{path}: is not what the list says (--write)"


def main(args):
    write = args[:1] == ["--write"]
    root = pathlib.Path(args[-1])
    text = (root / "core/rdma/vendor_synd.def").read_text()
    rows = [m.groups() for m in ROW.finditer(text)]
    if len(rows) != text.count("\nMLX5_VENDOR("):
        print("a row cannot be read")
        return 1
    doc = root / "docs/error-completions.md"
    files = {doc: wanted_doc(doc.read_text(), rows),
             root / "guest-tests/verbs/vendor_synd.h": wanted_header(rows)}
    if write:
        for path, want in files.items():
            path.write_text(want)
    found = list(problems(root, rows, files))
    for problem in found:
        print(problem)
    print(f"{len(rows)} vendor codes, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
