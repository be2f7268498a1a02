# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes docs/tour.md of what the suite tour left: for each station its text,
what was observed, and the statements that were tested there."""

import json
import textwrap
from pathlib import Path

HEAD = """# The life of an ib_device

A tour of the RDMA core with the driver mlx5_ib, on a running kernel against
the card. Each station tells what happens, shows what was seen of it, and ends
with statements that were tested in the same run; `tools/mlx5sim test tour`
runs them again, with `--guest bookworm`, `trixie` or `sid` on Linux 6.1, 6.12
or 7.2. This page was written by `tools/mlx5sim test tour --tour-doc
docs/tour.md` on Linux {kernel}.

Nothing of the kernel was changed to observe it. Functions are watched by
kprobes, whose arguments and the fields behind them are fetched as the call
happens; between calls the kernel's memory is read through `/proc/kcore`, with
the types of `/sys/kernel/btf`. What the card has is its own account, as
`tools/mlx5sim inspect` prints it. `guest-tests/tour/` is the source: a file
for each station.
"""

LONGEST_THING = 16
WIDTH = 80


def read(path):
    """Return what one part of the tour left, as a list."""
    return [json.loads(path.read_text())] if path.exists() else []


def paragraphs(text):
    """Return the lines of a text, none too long."""
    return [part for line in text.splitlines()
            for part in textwrap.wrap(line, WIDTH) or [""]]


def item(entry):
    """Return the lines of one item of a station, statements apart."""
    if "text" in entry:
        return [*paragraphs(entry["text"]), ""]
    if "show" in entry:
        return ["```", *entry["show"], "```", ""]
    return []


def statement(entry):
    if "skip" in entry:
        return f"{entry['statement']} (not tested here: {entry['skip']})"
    mark = "" if entry["ok"] else "**does not hold:** "
    return mark + entry["statement"]


def statements(entries):
    """Return the lines of a station's statements. Those that are made of
    several things, "MR: what it is", stand in one line."""
    of = {}
    for entry in entries:
        text = statement(entry)
        thing, colon, rest = text.partition(": ")
        if not colon or len(thing) > LONGEST_THING:
            thing, rest = "", text
        of.setdefault(rest, []).append(thing)
    lines = []
    for rest, things in of.items():
        several = len(things) > 1 and all(things)
        start = things[0] + ": " if things[0] else ""
        text = f"{'; '.join(things)}: {rest}" if several else start + rest
        lines += textwrap.wrap("- " + text, WIDTH, subsequent_indent="  ")
    return lines


def station(number, entry):
    """Return the lines of one station."""
    lines = [f"## {number}. {entry['title']}", ""]
    for part in entry["items"]:
        lines += item(part)
    lines += ["Tested:", ""]
    lines += statements([s for s in entry["items"] if "statement" in s])
    return lines + [""]


def page(parts):
    """Return the page."""
    lines = [HEAD.format(kernel=parts[0]["kernel"])]
    stations = [s for part in parts for s in part["stations"]]
    for number, entry in enumerate(stations, 1):
        lines += station(number, entry)
    return "\n".join(lines)


def write(path, parts):
    """Write the page to @path."""
    if parts:
        Path(path).write_text(page(parts))
