# SPDX-License-Identifier: GPL-2.0-or-later
"""How much memory the emulator itself has in use while a guest runs.

Left out: the guest's memory, which fills up as the guest touches it, and what
is executable, the translator's code buffer among it, which fills up to its
fixed size. What the translator notes of each block of code in there is a tenth
to a fifth of it: while the code grows, the rest may, by a quarter of that.
"""

import re
import threading
import time
from collections import namedtuple
from pathlib import Path

from results import FAIL, PASS, SKIP, Result

PERIOD_S = 1
# The first part of a run fills pools and caches; a kernel that takes longer for
# all fills them later.
SETTLE_S = 60
# Rest: what one thread's pool or one larger ring may still take.
GROWTH_KIB = 2048

# @kib: the emulator's own, @code_kib: what is executable.
Sample = namedtuple("Sample", "at_s kib code_kib", defaults=(0,))
CODE_NOTES = 4

HEADER = re.compile(r"^[0-9a-f]+-[0-9a-f]+ (\S+) ")
FIELD = re.compile(r"^(Size|Rss): +(\d+) kB")


def own_kib(smaps, guest_kib):
    """Return what @smaps, the text of /proc/PID/smaps, counts as the
    emulator's own; @guest_kib is the size of the guest's memory."""
    total = 0
    counts = False
    for line in smaps.splitlines():
        header = HEADER.match(line)
        field = FIELD.match(line)
        if header:
            counts = "x" not in header[1]
        elif field and field[1] == "Size":
            # The guest's memory may be mapped in pieces, none of them small.
            counts = counts and int(field[2]) < guest_kib // 4
        elif field and counts:
            total += int(field[2])
    return total


def code_kib(smaps):
    """Return what of @smaps is executable."""
    total, counts = 0, False
    for line in smaps.splitlines():
        header, field = HEADER.match(line), FIELD.match(line)
        if header:
            counts = "x" in header[1]
        elif field and field[1] == "Rss" and counts:
            total += int(field[2])
    return total


class Watch:
    """Samples a process until stopped: a context."""

    def __init__(self, pid, guest_kib):
        self.path = Path(f"/proc/{pid}/smaps")
        self.guest_kib = guest_kib
        self.samples = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _run(self):
        began = time.monotonic()
        while not self._over.wait(PERIOD_S):
            try:
                text = self.path.read_text()
            except OSError:
                return
            self.samples.append(Sample(time.monotonic() - began,
                                       own_kib(text, self.guest_kib),
                                       code_kib(text)))


def judge(samples, slow=1):
    """Return the Result that tells whether @samples are flat after their
    first minute, of a guest that takes @slow times as long as others."""
    name = "the emulator's own memory is flat once it has settled"
    settle_s = SETTLE_S * slow
    early = [s for s in samples if s.at_s <= settle_s]
    late = [s for s in samples if s.at_s > settle_s]
    if not early or len(late) < 10:
        return Result(name, SKIP, "the suite ran for less (see --duration)")
    before, after = ({k: max(getattr(s, k) for s in part)
                      for k in ("kib", "code_kib")} for part in (early, late))
    code = max(0, after["code_kib"] - before["code_kib"])
    detail = (f"at most {before['kib']} KiB in the first {settle_s} s, "
              f"{after['kib']} KiB in the {samples[-1].at_s - settle_s:.0f} s "
              f"after, with {code} KiB more of translated code")
    grew = after["kib"] - before["kib"] - code // CODE_NOTES
    return Result(name, FAIL if grew > GROWTH_KIB else PASS, detail)
