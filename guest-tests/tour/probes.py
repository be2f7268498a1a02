# SPDX-License-Identifier: GPL-2.0-or-later
"""Watches the kernel's functions: kprobe events of tracefs.

Each event has its order (the trace clock is a counter) and what the probe
read at that moment. Functions that a kernel has not, or that the compiler
put into others, are left out: the caller says which it needs.
"""

import os
import re
from collections import namedtuple
from pathlib import Path

TRACING = Path("/sys/kernel/tracing")
GROUP = "tour"
LINE = re.compile(r"\s*(.+)-(\d+)\s+\[(\d+)\]\s+\S+\s+([\d.]+): (\w+): "
                  r"\(.*?\)\s*(.*)")
ARG = re.compile(r' ?(\w+)=("[^"]*"|\S+)')

Event = namedtuple("Event", "name args order comm pid")


known = {}        # functions of modules that can be watched


class Probes:
    """A set of probes, used as a context: it traces inside."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.lines, self.events, self.filters = [], [], {}

    def add(self, name, function, args=None, result=False, module=None,
            only=None):
        """Watch a function. @args: name to fetch argument. @only: a filter.
        Return: whether the kernel has it to watch."""
        found = [(a, m) for a, m in self.kernel.symbols.all(function)
                 if module in (None, m)]
        if not found:
            return False
        if found[0][1] and not self.watchable(function):
            return False
        where = function
        if found[0][1]:
            where = f"{found[0][1]}:{function}"
        kind = "r" if result else "p"
        words = [f"{k}={v}" for k, v in (args or {}).items()]
        if only:
            self.filters[name] = only
        self.lines.append((name, " ".join([f"{kind}:{GROUP}/{name}", where,
                                           *words])))
        return True

    def watchable(self, function):
        """Tell whether a module's function can be watched; asked first, since
        the kernel logs a refusal."""
        if function not in known:
            known.clear()
            text = (TRACING / "available_filter_functions").read_text()
            for line in text[text.index("["):].splitlines():
                known[line.split(" ")[0]] = True
            known.setdefault(function, False)
        return known[function]

    def __enter__(self):
        write("tracing_on", "0")
        write("trace", "")
        write("trace_clock", "counter")
        write("options/record-cmd", "1")
        self.refused = []
        for name, line in self.lines:
            try:
                append("kprobe_events", line)
            except OSError:
                self.refused.append(name)
        for name, text in self.filters.items():
            if name not in self.refused:
                write(f"events/{GROUP}/{name}/filter", text)
        write(f"events/{GROUP}/enable", "1")
        write("tracing_on", "1")
        return self

    def __exit__(self, *_):
        write("tracing_on", "0")
        text = (TRACING / "trace").read_text(errors="replace")
        write(f"events/{GROUP}/enable", "0")
        for name, _ in self.lines:
            if name not in self.refused:
                append("kprobe_events", f"-:{GROUP}/{name}")
        write("trace", "")
        write("trace_clock", "local")
        self.events = sorted(parse(text), key=lambda e: e.order)

    @staticmethod
    def pause():
        write("tracing_on", "0")

    @staticmethod
    def go_on():
        write("tracing_on", "1")

    def seen(self, name):
        """Tell whether an event has happened, while tracing."""
        return f" {name}: (" in (TRACING / "trace").read_text(
            errors="replace")

    def named(self, *names):
        """Return the events of these names, in order."""
        return [e for e in self.events if e.name in names]


def parse(text):
    """Yield the Events in a trace."""
    for line in text.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        args = {}
        for key, value in ARG.findall(match[6]):
            if value.startswith('"'):
                args[key] = value[1:-1]
            else:
                try:
                    args[key] = int(value, 0)
                except ValueError:
                    args[key] = None      # (fault)
        yield Event(match[5], args, float(match[4]), match[1].strip(),
                    int(match[2]))


def write(name, text):
    (TRACING / name).write_text(text)


def append(name, text):
    fd = os.open(TRACING / name, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, text.encode() + b"\n")
    finally:
        os.close(fd)
