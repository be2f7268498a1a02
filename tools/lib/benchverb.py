# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb bench: measures, and shows what came of it."""

import re
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import benchhost
import benchout
import benchread
import benchtable
import verbs
from benchmeasures import MEASURES
from step import Failure, say

# @device: more properties of the card.
Context = namedtuple("Context", "emulator guest device")


def chosen(pattern):
    """Return the rows whose name or title matches."""
    found = [row for row in benchtable.ROWS
             if re.search(pattern, row.name) or re.search(pattern, row.title)]
    if not found:
        raise Failure(f"no row matches {pattern}; --list names them", 2)
    return found


def measures_of(row):
    """Return the names of the measures that a row needs."""
    names = [row.measure]
    if row.beside and row.beside.measure:
        names.append(row.beside.measure)
    return names


def take(measure, context, repeat):
    """Take each side of a measure in turn, @repeat times.

    Return: {side: [figures]}."""
    samples = {side: [] for side in measure.sides}
    with measure.open(context) as sample:
        for _ in range(1 if getattr(measure, "once", False) else repeat):
            for side in measure.sides:
                samples[side].append(sample(side))
    return samples


def guarded_take(measure, context, repeat):
    """The same; what went wrong instead, as text."""
    try:
        return take(measure, context, repeat)
    except (Failure, benchread.NoFigure, subprocess.CalledProcessError,
            OSError) as error:
        return str(error)


def medians(samples):
    """Return {side: {figure: median}}, or the text that is there instead."""
    if isinstance(samples, str):
        return samples
    return {side: benchread.medians(taken) for side, taken in samples.items()}


def run_rows(rows, context, repeat):
    """Measure what @rows need. Return: Outcomes, and all samples."""
    samples, got, outcomes = {}, {}, []
    for row in rows:
        for name in measures_of(row):
            if name not in got:
                samples[name] = guarded_take(MEASURES[name], context, repeat)
                got[name] = medians(samples[name])
        outcomes.append(benchtable.judge(row, got))
        say(benchout.line(outcomes[-1]))
    for trouble in sorted({o.trouble for o in outcomes if o.trouble}):
        say(trouble)
    return outcomes, samples


def list_rows():
    for row in benchtable.ROWS:
        print(f"{row.name:20} {row.title}" +
              (f" / {row.beside.what}" if row.beside else "") +
              (f"  {benchtable.target_text(row)}" if row.target else ""))
    return 0


def write(path, text):
    if path:
        Path(path).write_text(text)


def status_of(outcomes, strict):
    """Return the exit status: 0 if all was measured."""
    if any(o.trouble for o in outcomes):
        return 1
    return 1 if strict and any(o.met is False for o in outcomes) else 0


def bench(args):
    if args.list:
        return list_rows()
    if args.repeat < 1:
        raise Failure("--repeat takes a number from 1 on", 2)
    rows = chosen(args.only)
    emulator, image = verbs.prepare(args.guest)
    context = Context(emulator, args.guest, args.device)
    facts = benchhost.describe(context, image)
    say(benchhost.described(facts))
    outcomes, samples = run_rows(rows, context, args.repeat)
    missed = sum(o.met is False for o in outcomes)
    sys.stdout.write(benchout.table(outcomes))
    print(f"{sum(o.met is True for o in outcomes)} targets met, {missed} "
          f"missed, {sum(bool(o.trouble) for o in outcomes)} not measured; "
          f"medians of {args.repeat}\n{benchhost.described(facts)}")
    write(args.json, benchout.as_json(facts, args.repeat, outcomes, samples))
    write(args.svg, benchout.svg(
        outcomes, f"mlx5sim, guest {args.guest}, {facts['date'][:10]}"))
    write(args.markdown, benchout.markdown(outcomes))
    return status_of(outcomes, args.strict)
