# SPDX-License-Identifier: GPL-2.0-or-later
"""What the bench reads from the output of programs, and medians."""

import re
import statistics


class NoFigure(Exception):
    """A program did not print what was to be read from it."""


# Columns of perftest's last table, by its heading's words; of the latency
# programs those that measure a number of iterations.
BANDWIDTH = {"MiB/s": 3, "msgs/s": 4}
LATENCY = {"typical": 4, "average": 5, "p99": 7}


def numbers(line):
    """Return the numbers that a line consists of, [] if of others, too."""
    try:
        return [float(word) for word in line.split()]
    except ValueError:
        return []


def perftest(text):
    """Return the figures that a program of perftest printed.

    Rows end with the rate in Mpps, or with the 99.9th percentile."""
    columns, found = None, None
    for line in text.splitlines():
        if "#bytes" in line:
            columns = LATENCY if "t_typical" in line else BANDWIDTH
        row = numbers(line)
        if columns and len(row) > max(columns.values()):
            found = {name: row[at] for name, at in columns.items()}
    if not found:
        raise NoFigure("perftest printed no figure:\n" +
                       "\n".join(text.splitlines()[-15:]))
    if "msgs/s" in found:
        found["msgs/s"] *= 1e6
    return found


def pairs(text):
    """Return the figures of a program that prints lines "name number"."""
    found = {m[1]: float(m[2]) for m in re.finditer(
        r"(?m)^(\w+) (-?[0-9][0-9.e+-]*)$", text)}
    if not found:
        raise NoFigure("no figure:\n" + "\n".join(text.splitlines()[-15:]))
    return found


def medians(samples):
    """Return the median of each figure of a list of dictionaries."""
    return {name: statistics.median(s[name] for s in samples if name in s)
            for name in dict.fromkeys(n for s in samples for n in s)}
