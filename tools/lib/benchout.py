# SPDX-License-Identifier: GPL-2.0-or-later
"""How the bench shows what it measured: a table, JSON, a plot."""

import json
import math
from html import escape

import benchtable

HEADING = ("figure", "beside", "its", "mlx5sim", "unit", "ratio", "target",
           "met")
LEFT = {0, 1, 4}
MET = {True: "yes", False: "NO", None: ""}


def number(value):
    """Return a figure with three digits that count."""
    if value is None:
        return ""
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.{2 - math.floor(math.log10(abs(value)))}f}"


def cells(outcome):
    """Return the words of an Outcome's line."""
    row = outcome.row
    if outcome.trouble:
        return (row.title, "", "", "failed", "", "",
                benchtable.target_text(row), "")
    return (row.title, row.beside.what if row.beside else "",
            number(outcome.beside), number(outcome.ours), row.unit,
            number(outcome.ratio), benchtable.target_text(row),
            MET[outcome.met])


def table(outcomes):
    """Return the table as text."""
    lines = [HEADING] + [cells(o) for o in outcomes]
    widths = [max(len(line[i]) for line in lines)
              for i in range(len(HEADING))]
    lines.insert(1, tuple("-" * w for w in widths))
    return "".join("  ".join(
        word.ljust(w) if i in LEFT else word.rjust(w)
        for i, (word, w) in enumerate(zip(line, widths))).rstrip() + "\n"
        for line in lines)


def markdown(outcomes):
    """Return the table as docs/performance.md has it."""
    lines = [HEADING, tuple("---" for _ in HEADING)]
    lines += [cells(o) for o in outcomes]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def line(outcome):
    """Return what is said of a row as soon as it is known."""
    if outcome.trouble:
        first = outcome.trouble.strip().splitlines() or ["?"]
        return f"{outcome.row.name}: failed: {first[0]}"
    row = outcome.row
    text = f"{row.name}: {number(outcome.ours)} {row.unit}"
    if row.beside:
        text += (f", {row.beside.what} {number(outcome.beside)}: "
                 f"{number(outcome.ratio)} x")
    if row.target:
        text += f" (target {benchtable.target_text(row)}"
        text += ")" if outcome.met else ", missed)"
    return text


def as_json(described, repeat, outcomes, samples):
    """Return all of it as JSON. @samples: {measure: {side: [figures]}}."""
    rows = [{
        "name": o.row.name, "title": o.row.title, "unit": o.row.unit,
        "mlx5sim": o.ours, "beside": o.beside,
        "beside_what": o.row.beside.what if o.row.beside else None,
        "ratio": o.ratio, "target": benchtable.target_text(o.row) or None,
        "met": o.met, "trouble": o.trouble} for o in outcomes]
    return json.dumps({"machine": described, "repeat": repeat, "rows": rows,
                       "samples": samples}, indent=2) + "\n"


# The plot: a bar for each ratio on a logarithmic scale, a mark at its target.

LINE, LABELS, BARS, TOP = 22, 330, 420, 56
COLOURS = {True: "#2a7f3f", False: "#b3402a", None: "#6b7785"}


class Scale:
    """Maps ratios to places, so that each bar and mark is inside."""

    def __init__(self, values):
        logs = [math.log10(v) for v in values] or [0]
        self.low = math.floor(min(0, *logs, 0))
        self.high = math.ceil(max(0, *logs, 0))
        if self.low == self.high:
            self.high += 1

    def at(self, value):
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return LABELS + BARS * min(1, max(0, part))

    def ticks(self):
        return [10.0 ** n for n in range(self.low, self.high + 1)]


def text(x, y, words, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}"{more}>{escape(words)}</text>'


def bar(outcome, y, scale):
    """Return the elements of one row."""
    ratio, row = outcome.ratio, outcome.row
    one, end = scale.at(1), scale.at(ratio)
    told = f"{number(ratio)} x"
    if row.target:
        told += f" ({benchtable.target_text(row)})"
    found = [
        text(LABELS - 8, y + 15, f"{row.title} / {row.beside.what}",
             ' text-anchor="end"'),
        f'<rect x="{min(one, end):.1f}" y="{y + 4}" '
        f'width="{max(1, abs(end - one)):.1f}" height="{LINE - 8}" '
        f'fill="{COLOURS[outcome.met]}"/>',
        text(LABELS + BARS + 10, y + 15, told)]
    if row.target and not row.target.absolute:
        x = scale.at(row.target.number)
        found.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y + 1}" '
                     f'y2="{y + LINE - 1}" stroke="#111" stroke-width="2"/>')
    return found


def svg(outcomes, title):
    """Return the plot: a picture that needs nothing else."""
    drawn = [o for o in outcomes if not o.trouble and (o.ratio or 0) > 0]
    scale = Scale([o.ratio for o in drawn] +
                  [o.row.target.number for o in drawn if o.row.target and
                   not o.row.target.absolute])
    width, height = LABELS + BARS + 150, TOP + LINE * len(drawn) + 12
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
             f'height="{height}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="#fff"/>',
             text(10, 20, title, ' font-size="14"')]
    for tick in scale.ticks():
        x = scale.at(tick)
        parts += [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" '
                  f'y2="{height - 8}" stroke="#ddd"/>',
                  text(x, TOP - 10, f"{tick:g}", ' text-anchor="middle"')]
    for n, outcome in enumerate(drawn):
        parts += bar(outcome, TOP + n * LINE, scale)
    return "\n".join(parts) + "\n</svg>\n"
