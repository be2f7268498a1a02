# SPDX-License-Identifier: GPL-2.0-or-later
"""Joins what the guest's kernel traced with what the card traced.

Two clocks are involved. Each firmware command bounds their distance: the card
took it after the driver's function was entered and was done before that
returned. All of them together leave a few microseconds.

    kernel   |--------- cmd_exec ---------|
    card            |-- CREATE_QP --|
"""

import re
from collections import namedtuple

# A function of the guest's kernel: seconds of its clock.
Call = namedtuple("Call", "task cpu depth name begin end")
# What the card did: seconds of the host's clock. @ids: what tells it from
# others of its kind; @end: of a command, else None.
Event = namedtuple("Event", "kind begin end text ids")
# An edge of the picture: indices of two events, the earlier one first.
Link = namedtuple("Link", "first second")

GRAPH = re.compile(
    r"^\s*(?P<time>\d+\.\d+) \|\s+(?P<cpu>\d+)\)\s+(?P<task>.+?)\s*\|"
    r"(?:\s*[+!#*@$]?\s*(?P<us>\d+\.\d+) us)?\s*\|(?P<rest>.*)$")
CARD = re.compile(r"^\d+@(?P<time>\d+\.\d+):mlx5sim_(?P<kind>\w+) \S+ "
                  r"(?P<text>.*)$")
# The function of the driver that puts a command into the queue and waits.
COMMAND_FUNCTIONS = ("cmd_exec", "mlx5_cmd_exec", "mlx5_cmd_do")


def parse_graph(text):
    """Return the Calls of a function_graph trace with funcgraph-abstime,
    funcgraph-proc and funcgraph-tail."""
    open_calls, calls = {}, []
    for line in text.splitlines():
        m = GRAPH.match(line)
        if not m:
            continue
        task, now, rest = m["task"], float(m["time"]), m["rest"]
        stack = open_calls.setdefault(task, [])
        # Newer kernels say the module behind the name.
        body = re.sub(r" \[\w+\]", "", rest.strip())
        if body.startswith("}"):
            if stack:
                name, begin, cpu = stack.pop()
                calls.append(Call(task, cpu, len(stack), name, begin, now))
        elif body.endswith("{"):
            stack.append((body[:-1].strip().removesuffix("()"), now,
                          int(m["cpu"])))
        elif body.endswith("();"):
            calls.append(Call(task, int(m["cpu"]), len(stack), body[:-3], now,
                              now + float(m["us"] or 0) / 1e6))
    return sorted(calls, key=lambda c: (c.begin, c.depth))


def number(text, name):
    """Return the value of a field in a line of the card's trace, or None."""
    m = re.search(rf"\b{name}[= ](0x[0-9a-f]+|\d+)", text)
    return int(m[1], 0) if m else None


# What tells the events of a kind apart: names of fields in its line.
FIELDS = {
    "doorbell": {"qpn": "qp"},
    "wqe": {"qpn": "qp", "wqe": "wqe", "psn": "psn"},
    "packet": {"qpn": "qp", "psn": "psn"},
    "cqe": {"cqn": "cqn", "qpn": "qpn", "wqe": "wqe_counter"},
    "eqe": {"eqn": "eqn", "cqn": "cqn"},
    "irq": {"eqn": "eqn"},
}


def ids_of(kind, said):
    """Return what tells an event apart. A completion is of a work request that
    was posted, or of the packet that arrived, by its opcode: 0 and the error
    13 are the requester's."""
    found = {key: number(said, field)
             for key, field in FIELDS.get(kind, {}).items()}
    if kind == "packet" and said.startswith("rx"):
        to = re.search(r"-> (0x[0-9a-f]+)", said)
        found["arrived"] = int(to[1], 16) if to else None
    if kind == "cqe" and number(said, "opcode") not in (0, 0xd):
        found["arrived"] = found["qpn"]
        del found["wqe"]
    return {k: v for k, v in found.items() if v is not None}


def parse_card(text):
    """Return the Events of the card's trace; a command is one event."""
    events, pending = [], {}
    for line in text.splitlines():
        m = CARD.match(line)
        if not m:
            continue
        now, kind, said = float(m["time"]), m["kind"], m["text"]
        command = re.match(r"slot (\d+): (\S+) (in|->)(.*)", said)
        if kind == "cmd" and command:
            slot, name, way, rest = command.groups()
            if way == "in":
                pending[slot] = (now, name, rest)
            elif slot in pending:
                begin, name, given = pending.pop(slot)
                events.append(Event("cmd", begin, now,
                                    f"{name}{given} ->{rest}",
                                    {"name": name}))
            continue
        events.append(Event(kind, now, None, said, ids_of(kind, said)))
    return sorted(events, key=lambda e: e.begin)


def command_calls(calls):
    """Return the Calls that stand for one firmware command each."""
    for name in COMMAND_FUNCTIONS:
        found = [c for c in calls if c.name.split(".")[0] == name]
        if found:
            return found
    return []


def clock_distance(calls, events):
    """Return (seconds to add to the guest's clock, the uncertainty), from
    the commands; None if they do not fit together."""
    ours = command_calls(calls)
    theirs = [e for e in events if e.kind == "cmd"]
    # The first and the last may be cut off: try which ones belong together.
    for shift in range(-3, 4):
        pairs = list(zip(ours[max(0, -shift):], theirs[max(0, shift):]))
        if not pairs:
            continue
        low = max(e.end - c.end for c, e in pairs)
        high = min(e.begin - c.begin for c, e in pairs)
        if low <= high:
            return (low + high) / 2, (high - low) / 2
    return None


# Which event comes of which: (kind, of kind, joined by). The last one before
# it is the one.
CAUSES = [
    ("wqe", "doorbell", ("qpn",)),
    ("packet", "wqe", ("qpn", "psn")),
    ("cqe", "wqe", ("qpn", "wqe")),
    ("cqe", "packet", ("arrived",)),
    ("eqe", "cqe", ("cqn",)),
    ("irq", "eqe", ("eqn",)),
]


def key_of(event, names):
    """Return what tells @event apart by these names, or None."""
    values = tuple(event.ids.get(name) for name in names)
    return None if None in values else values


def links(events):
    """Return the Links between events."""
    found, last = [], {}
    for i, event in enumerate(events):
        for kind, of, names in CAUSES:
            key = key_of(event, names)
            if event.kind == kind and (of, names, key) in last:
                found.append(Link(last[of, names, key], i))
        for _, of, names in CAUSES:
            key = key_of(event, names)
            if event.kind == of and key:
                last[of, names, key] = i
    return found
