# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes docs/tour.md of what the suite tour left: for each station its text,
what was observed, and the statements that were tested there."""

import json
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


def read(path):
    """Return what one part of the tour left, as a list."""
    return [json.loads(path.read_text())] if path.exists() else []


def item(entry):
    """Return the lines of one item of a station, statements apart."""
    if "text" in entry:
        return [entry["text"], ""]
    if "show" in entry:
        return ["```", *entry["show"], "```", ""]
    return []


def statement(entry):
    if "skip" in entry:
        return f"- {entry['statement']} (not tested here: {entry['skip']})"
    mark = "" if entry["ok"] else "**does not hold:** "
    return f"- {mark}{entry['statement']}"


def station(number, entry):
    """Return the lines of one station."""
    lines = [f"## {number}. {entry['title']}", ""]
    for part in entry["items"]:
        lines += item(part)
    lines += ["Tested:", ""]
    lines += [statement(s) for s in entry["items"] if "statement" in s]
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
