#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hold the tables of core/prm against the kernels' own headers.

    check_layouts.py [--suite SUITE]... [--headers DIR] [--prove]

For each Debian suite the header package of its kernel is fetched (once; see
tools/lib/privateapt.py) and every row of the .def files is compared with what
the C compiler says of the field of that name in mlx5_ifc.h: those headers
write a field of n bits as n bytes, so that offsetof and sizeof are the answer
and nothing here has to understand them. Structures that the kernel declares
in bytes (completions, events, work requests) are named in structs.map: there,
a field must lie inside the member given.

A field that no header has must be named, with a reason, in additions.txt, and
where an older kernel says otherwise in differences.txt; a line there that is
not needed any more is an error too.

--prove changes the tables, one row at a time in memory, and expects to be
told: a check that cannot fail proves nothing.

Exit status: 0 agreement, 1 disagreement, 77 the headers cannot be had.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[2]
sys.path.insert(0, str(REPO / "tools/lib"))

import privateapt  # noqa: E402
from paths import cache  # noqa: E402

SUITES = ("bookworm", "trixie", "sid")
PACKAGE = r"linux-headers-[0-9][0-9.+a-z-]*-common"

Row = namedtuple("Row", "kind layout field off width count")
Layout = namedtuple("Layout", "name bits rows")


# ---- our tables ----

def read_tables(prm):
    """Return {name: Layout} of the .def files below @prm."""
    layouts = {}
    for path in sorted(prm.glob("*.def")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        for kind, args in re.findall(r"MLX5_(\w+)\(([^)]*)\)", text):
            add_row(layouts, kind, [a.strip() for a in args.split(",")])
    for layout in layouts.values():
        resolve_widths(layout, layouts)
    return layouts


def add_row(layouts, kind, args):
    if kind == "LAYOUT":
        layouts[args[0]] = Layout(args[0], int(args[1], 0), [])
    elif kind in ("FIELD", "BLOB"):
        layouts[args[0]].rows.append(
            Row(kind, args[0], args[1], int(args[2], 0), int(args[3], 0), 1))
    elif kind == "ARRAY":
        layouts[args[0]].rows.append(
            Row(kind, args[0], args[1], int(args[2], 0), int(args[3], 0),
                int(args[4], 0)))
    elif kind in ("STRUCT", "STRUCTS"):
        count = int(args[4], 0) if kind == "STRUCTS" else 1
        layouts[args[0]].rows.append(
            Row(kind, args[0], args[1], int(args[2], 0), args[3], count))


def resolve_widths(layout, layouts):
    """An embedded layout is as wide as its own table says."""
    for i, row in enumerate(layout.rows):
        if isinstance(row.width, str):
            layout.rows[i] = row._replace(width=layouts[row.width].bits)


def trailing(row, layout):
    """Is it an array that follows the structure, as long as the data are?"""
    return row.count == 0 or row.off == layout.bits


def self_check(layout):
    """Return what is wrong with a table by itself."""
    wrong = []
    names = [row.field for row in layout.rows]
    for name in sorted({n for n in names if names.count(n) > 1}):
        wrong.append(f"{layout.name}.{name}: there twice")
    for row in layout.rows:
        if row.off + row.width * row.count > layout.bits and not trailing(
                row, layout):
            wrong.append(f"{layout.name}.{row.field}: passes the end")
    return wrong


# ---- headers ----

def headers_of(suite):
    """Return: the folder linux/mlx5 of @suite's kernel headers, and its
    version."""
    apt = privateapt.Suite(suite)
    name = apt.newest(PACKAGE)
    debs = [d for d in apt.resolve([name]) if d.name == name]
    path, = apt.fetch(debs)
    folder = cache("headers", path.stem)
    folder.mkdir(exist_ok=True)
    found = list(folder.glob("usr/src/*/include/linux/mlx5"))
    if not found:
        tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", path],
                             capture_output=True, check=True)
        subprocess.run(["tar", "x", "-C", folder, "--wildcards",
                        "./usr/src/*/include/linux/mlx5/*"],
                       input=tar.stdout, check=True)
        found = list(folder.glob("usr/src/*/include/linux/mlx5"))
    return found[0], debs[0].version


PRELUDE = """\
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16, __be16;
typedef uint32_t u32, __be32;
typedef uint64_t u64, __be64;
#define __packed __attribute__((packed))
#define __aligned(n) __attribute__((aligned(n)))
#define DECLARE_FLEX_ARRAY(t, n) struct { struct { } e_##n; t n[]; }
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define MLX5_CMD_DATA_BLOCK_SIZE 512
union ev_data { __be32 raw[7]; };
#define struct_group(name, ...) struct { __VA_ARGS__ }
"""


def ifc_text(headers):
    """Return the declarations in bits, without what they include."""
    text = "".join((headers / f).read_text() for f in
                   ("mlx5_ifc_fpga.h", "mlx5_ifc.h"))
    return re.sub(r"^\s*#\s*include.*$", "", text, flags=re.M)


def struct_text(headers, names):
    """Return the declarations in bytes of the structures @names."""
    text = "".join((headers / f).read_text()
                   for f in ("device.h", "qp.h", "driver.h", "cq.h"))
    found = (re.search(rf"^struct {name} \{{.*?^\}}[^;]*;", text,
                       re.S | re.M) for name in names)
    return "\n".join(match[0] for match in found if match)


# ---- asking the compiler ----

# @key: what is asked, for the caller; @off, @size: C expressions.
Probe = namedtuple("Probe", "key off size")


def member_probe(key, struct, member, element=False):
    at = f"(({struct} *)0)->{member}" + ("[0]" if element else "")
    return Probe(key, f"offsetof({struct}, {member})", f"sizeof({at})")


def ask_compiler(source, probes):
    """Return {key: (offset, size)} of the @probes that compile after @source.

    What doesn't compile, the header lacks: the compiler names the lines, and
    the rest is asked again."""
    with tempfile.TemporaryDirectory(prefix="mlx5sim-layout-") as tmp:
        c_file, program = Path(tmp, "probe.c"), Path(tmp, "probe")
        for _ in range(4):
            c_file.write_text(probe_text(source, probes))
            done = subprocess.run(
                ["cc", "-w", "-O0", "-std=gnu11", "-o", program, c_file],
                capture_output=True, text=True, check=False,
                env=dict(os.environ, LC_ALL="C"))
            if done.returncode == 0:
                out = subprocess.run([program], capture_output=True, text=True,
                                     check=True).stdout
                return {probe.key: tuple(map(int, line.split()))
                        for probe, line in zip(probes, out.splitlines())}
            bad = {int(n) for n in re.findall(r"^probe:(\d+):", done.stderr,
                                              re.M)}
            if not bad:
                break
            probes = [p for i, p in enumerate(probes, 1) if i not in bad]
    raise SystemExit("the headers don't compile:\n" + done.stderr[:2000])


def probe_text(source, probes):
    """Each probe on a line of its own, numbered from 1 in a file "probe"."""
    rows = "\n".join(f"{{ {p.off}, {p.size} }}," for p in probes)
    return f"""{PRELUDE}
{source}
static const struct {{ size_t off, size; }} answers[] = {{
#line 1 "probe"
{rows}
}};
#line 1 "main"
int main(void)
{{
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {{
        printf("%zu %zu\\n", answers[i].off, answers[i].size);
    }}
    return 0;
}}
"""


# ---- comparing ----

def ifc_probes(layouts):
    for layout in layouts.values():
        for name in (f"{layout.name}_bits", layout.name):
            yield from layout_probes(layout, f"struct mlx5_ifc_{name}")


def layout_probes(layout, struct):
    yield Probe(layout.name, "0", f"sizeof({struct})")
    for row in layout.rows:
        array = row.kind in ("ARRAY", "STRUCTS") or row.off == layout.bits
        key = f"{row.layout}.{row.field}"
        yield member_probe(key, struct, row.field, element=array)
        if array and row.count:
            yield member_probe(key + "[]", struct, row.field)


def ifc_compare(layouts, answers):
    """Yield (key, what is wrong or None) for all that the header has."""
    for layout in layouts.values():
        if layout.name in answers:
            size = answers[layout.name][1]
            yield layout.name, (None if size == layout.bits else
                                f"{layout.bits:#x} bits, not {size:#x}")
        for row in layout.rows:
            key = f"{row.layout}.{row.field}"
            if key in answers:
                yield key, row_compare(row, answers[key],
                                       answers.get(key + "[]"))


def row_compare(row, answer, whole):
    off, size = answer
    if off != row.off:
        return f"at {row.off:#x}, not {off:#x}"
    if size != row.width:
        return f"{row.width} bits, not {size}"
    if whole and whole[1] != row.width * row.count:
        return f"{row.count} elements, not {whole[1] // size}"
    return None


def read_map(path):
    """Return {layout: (structure, {field: member})} of structs.map."""
    result, current = {}, None
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        if len(words) == 2 and not line.startswith(" "):
            current = result[words[0]] = (words[1], {})
        elif len(words) == 2:
            current[1][words[0]] = words[1]
    return result


def map_probes(mapping):
    for layout, (struct, members) in mapping.items():
        yield Probe(layout, "0", f"sizeof(struct {struct})")
        for field, member in members.items():
            yield member_probe(f"{layout}.{field}", f"struct {struct}", member)


def unit_bits(struct):
    """How many bits a byte of @struct stands for."""
    return 1 if struct.startswith("mlx5_ifc_") else 8


def map_compare(layouts, mapping, answers):
    """As ifc_compare; a field must lie inside its member."""
    for name, (struct, members) in mapping.items():
        rows = {row.field: row for row in layouts[name].rows}
        unit = unit_bits(struct)
        if name in answers and answers[name][1] * unit > layouts[name].bits:
            yield name, (f"{layouts[name].bits:#x} bits, less than "
                         f"{answers[name][1] * unit:#x}")
        for field in members:
            key = f"{name}.{field}"
            if field not in rows:
                yield key, "structs.map names it, the table does not"
            elif key in answers:
                off, size = (n * unit for n in answers[key])
                row = rows[field]
                inside = (off <= row.off and row.off + row.width * row.count
                          <= off + size)
                yield key, None if inside else (
                    f"{row.width * row.count} bits at {row.off:#x}, outside "
                    f"the {size} at {off:#x}")


def compare(layouts, mapping, headers):
    """Return {key: what is wrong or None} of all that @headers have."""
    probes = list(ifc_probes(layouts))
    answers = ask_compiler(ifc_text(headers), probes)
    found = dict(ifc_compare(layouts, answers))
    # Several layouts may be views of one structure.
    names = dict.fromkeys(struct for struct, _ in mapping.values())
    source = ifc_text(headers) + struct_text(headers, names)
    answers = ask_compiler(source, list(map_probes(mapping)))
    for key, wrong in map_compare(layouts, mapping, answers):
        found[key] = found.get(key) or wrong
    return found


# ---- what is known to differ ----

def read_differences(path):
    """Return {(suite, key): reason}."""
    rows = (line.split(None, 2) for line in path.read_text().splitlines()
            if line.strip() and not line.startswith("#"))
    return {(row[0], row[1]): row[2] for row in rows}


def differences_compare(suite, found, differences):
    """Yield disagreements that nobody explained, and the reverse."""
    for key, what in found.items():
        if what and (suite, key) not in differences:
            yield f"{suite}: {key}: {what}"
    for where, key in differences:
        if where == suite and not found.get(key):
            yield f"{suite}: {key}: differences.txt has it without need"



def read_additions(path):
    """Return {key or layout: reason}."""
    result = {}
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            key, _, reason = line.partition(" ")
            result[key] = reason.strip()
    return result


def additions_compare(layouts, known, additions):
    """Yield what no header has and nobody explained, and the reverse."""
    used = set()
    for layout in layouts.values():
        if layout.name not in known and layout.name in additions:
            used.add(layout.name)
        for row in layout.rows:
            key = f"{row.layout}.{row.field}"
            if key in known:
                continue
            if key in additions or row.layout in additions:
                used.add(key if key in additions else row.layout)
            else:
                yield f"{key}: no header has it, and additions.txt neither"
    for key, reason in additions.items():
        if key not in used:
            yield f"{key}: additions.txt has it without need"
        elif not reason:
            yield f"{key}: additions.txt gives no reason"


# ---- can it fail? ----

def wrong_tables(layouts, answers):
    """Yield (what was done, the tables with one row changed)."""
    layout = layouts["qpc"]
    for i, row in enumerate(layout.rows):
        if row.kind != "FIELD" or f"qpc.{row.field}" not in answers:
            continue
        for change in ({"off": row.off + 1}, {"width": row.width + 1}):
            rows = list(layout.rows)
            rows[i] = row._replace(**change)
            yield (f"qpc.{row.field} {change}",
                   {"qpc": layout._replace(rows=rows)})
    yield "qpc size", {"qpc": layout._replace(bits=layout.bits + 8)}


def prove(layouts, headers):
    """Return how many changed tables were not noticed, and say which."""
    answers = ask_compiler(ifc_text(headers), list(ifc_probes(
        {"qpc": layouts["qpc"]})))
    missed = total = 0
    for what, changed in wrong_tables(layouts, answers):
        total += 1
        if not any(wrong for _, wrong in ifc_compare(changed, answers)):
            print(f"not noticed: {what}")
            missed += 1
    print(f"{total} changed tables, {total - missed} noticed")
    return missed


# ---- the whole ----

def check(layouts, places):
    mapping = read_map(HERE / "structs.map")
    differences = read_differences(HERE / "differences.txt")
    known, errors = set(), []
    for layout in layouts.values():
        errors += self_check(layout)
    total = len(layouts) + sum(len(x.rows) for x in layouts.values())
    print(f"{len(layouts)} layouts and {total - len(layouts)} fields")
    for suite, (headers, version) in places.items():
        found = compare(layouts, mapping, headers)
        wrong = list(differences_compare(suite, found, differences))
        known |= set(found)
        errors += wrong
        print(f"{suite} {version}: {len(found)} of {total} compared, "
              f"{len(wrong)} disagree")
    if len(places) == len(SUITES):
        errors += additions_compare(layouts, known,
                                    read_additions(HERE / "additions.txt"))
    for error in errors:
        print(error)
    return len(errors)


def get_headers(args):
    if args.headers:
        return {"given": (Path(args.headers), "")}
    return {suite: headers_of(suite) for suite in args.suite or SUITES}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--suite", action="append", choices=SUITES)
    parser.add_argument("--headers", metavar="DIR",
                        help="a folder include/linux/mlx5 instead of a suite's")
    parser.add_argument("--prove", action="store_true",
                        help="check that wrong tables are noticed")
    args = parser.parse_args()
    layouts = read_tables(REPO / "core/prm")
    try:
        places = get_headers(args)
    except privateapt.AptError as error:
        print(f"skipped: no kernel headers: {error}")
        return 77
    if args.prove:
        return 1 if prove(layouts, next(iter(places.values()))[0]) else 0
    return 1 if check(layouts, places) else 0


if __name__ == "__main__":
    sys.exit(main())
