#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tour of an ib_device's life, in a guest: tour.py life | removal.

Prints TAP, and leaves /share/tour-WHICH.json, of which the launcher makes
docs/tour.md. A station is a module with TITLE, a text as its docstring, and
run(tour); its statements are tests.
"""

import sys
import time
from pathlib import Path

import ask
import capture
import cards
import listen
from kernel import Kernel
from report import Tour

LIFE = ("alloc", "tables", "register", "context", "objects", "dispatch",
        "unregister")
CARDS = 3


def life():
    """Record a removal and a probe, then visit the stations about them."""
    began = time.monotonic()
    cards.load()
    kernel = Kernel()
    tour = Tour(kernel)
    notes = tour.notes
    notes["cards"] = [cards.Card(n) for n in range(CARDS)]
    first = notes["cards"][0]
    cards.sh("ip netns add tour")
    cards.wait(first.active)
    with listen.Listener() as listener:
        notes["bind"], notes["bind1"], notes["bind2"] = capture.bind(
            kernel, notes["cards"])
    notes["uevents"], notes["monitor"] = listener.uevents, listener.said
    cards.wait(first.active)
    print(f"# recorded after {time.monotonic() - began:.0f} s", flush=True)
    for name in LIFE:
        if (Path(__file__).parent / f"station_{name}.py").exists():
            tour.station(f"station_{name}")
    return tour


def removal():
    """Take the device away from programs that use it."""
    cards.load()
    tour = Tour(Kernel())
    tour.station("station_removal")
    return tour


if __name__ == "__main__":
    which = sys.argv[1]
    sys.exit({"life": life, "removal": removal}[which]().finish(
        ask.SHARE / f"tour-{which}.json"))
