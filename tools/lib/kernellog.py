# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest's kernel said in a suite, and what it found when asked.

A line of level warning or worse fails the suite, unless one of the files
kernel-log.expected explains it: a regular expression, a tab, a reason. What the
kernel's own checkers report is named: the guest debug has them all, others a
few. There kmemleak is asked at the end: it scans on demand, and believes a leak
when it sees it twice. What it found is one line each for the files' patterns:

    kmemleak: SIZE bytes of COMM: FUNCTION < CALLER < CALLER ...

So is a cycle of locks, of which lockdep's own first line says nothing:

    lockdep: LOCK is taken in FUNCTION, LOCK is held since FUNCTION
"""

import re

from results import FAIL, PASS, Result

# Kind of report, and the line that begins it.
REPORTS = [(kind, re.compile(pattern)) for kind, pattern in (
    ("KASAN", r"BUG: KASAN: "),
    ("suspicious RCU usage", r"suspicious RCU usage"),
    ("lockdep", r"possible circular locking dependency|possible recursive "
     r"locking|inconsistent lock state|possible irq lock inversion|"
     r"-safe -> \w+-unsafe lock order|bad unlock balance|held lock freed|"
     r"lock held when returning to user space|Invalid wait context|"
     r"trying to register non-static key|possible deadlock|"
     r"turning off the locking correctness validator"),
    ("sleeping while atomic", r"BUG: sleeping function called from invalid|"
     r"BUG: scheduling while atomic|BUG: using \S+ in preemptible"),
    ("UBSAN", r"^UBSAN: "),
    ("reference count", r"^refcount_t: |^ref_tracker: .*(users|leaked)|"
     r"waiting for \S+ to become free\. Usage count"),
    ("list corruption", r"list_(add|del)\S* corruption|list_add double add"),
    ("ODEBUG", r"^ODEBUG: "),
    ("DMA-API", r"DMA-API: .*(driver|device|mapping|cacheline|leak|exceeded)"),
    ("slab", r"^BUG \S+ \((Not tainted|Tainted)|Objects remaining in"),
    ("hung task", r"^INFO: task .* blocked for more than"),
    ("oops", r"^BUG: unable to handle|^BUG: kernel NULL pointer|"
     r"^general protection fault|^kernel BUG at|^Oops: |^Kernel panic"),
)]
# Lines after the first of a report that are shown.
SHOWN = 40

LEAKS = "/sys/kernel/debug/kmemleak"
# A scan counts what was allocated less than five seconds before as in use. It
# is refused once kmemleak has turned itself off.
SCAN = f"""
set -e
mount -t debugfs debugfs /sys/kernel/debug 2> /dev/null || :
[ -e {LEAKS} ] || exit 0
sleep 5; echo scan > {LEAKS}; sleep 5; echo scan > {LEAKS}
cat {LEAKS}
"""
# A report of lockdep on a cycle: how it begins, after a line of "="; how it ends;
# the locks in it, the first one taken, the second one held.
CYCLE = re.compile(r"possible circular locking dependency")
CYCLE_END = " </TASK>"
CYCLE_MOST = 150
LOCK = re.compile(r"^\S+ \((.+)\)\{.*, at: ([\w.]+)\+0x")
LOCKDEP = "/proc/lockdep_stats"
LOCKDEP_ON = re.compile(r"debug_locks: +1\b")
WARNINGS = ["dmesg", "-t", "-l", "emerg,alert,crit,err,warn"]

# A module of ours is not the kernel's own: it says so, and flags it.
OWN_MODULE = re.compile(r"(loading out-of-tree module|module verification"
                        r" failed: signature).* taint")
OWN_MODULE_TAINT = 1 << 12
# What the launcher does to a guest is flagged, too: modules without signature
# (guest-tests/image/kernel.py), a feature that a processor has (machine.py).
UNSIGNED_TAINT = 1 << 13
CLEARED_FEATURE = "clearcpuid="
CLEARED_FEATURE_TAINT = 1 << 2


def explained(path):
    """Return what the kernel may warn of, as (pattern, reason)."""
    if not path.exists():
        return []
    rows = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, _, reason = line.partition("\t")
            rows.append((re.compile(pattern), reason.strip()))
    return rows


def kind_of(line):
    """Return the kind of report that a line of the log begins, or None."""
    return next((kind for kind, pattern in REPORTS if pattern.search(line)),
                None)


def end_of(lines):
    """Return what tells most of the end of a log of @lines: a report from its
    first line on if there is one, as what matters in it stands there."""
    for i, line in enumerate(lines):
        if kind_of(re.sub(r"^\[ *[\d.]+\] ", "", line)):
            head = lines[max(0, i - 5):i + SHOWN]
            rest = lines[i + SHOWN:][-SHOWN:]
            cut = len(lines) - (i + SHOWN) - len(rest)
            return head + ([f"({cut} lines)"] if cut > 0 else []) + rest
    return lines[-SHOWN:]


def leaks(text):
    """Return what kmemleak's file says, a line for each leak."""
    found = []
    for part in re.split(r"(?m)^(?=unreferenced object)", text):
        head = re.match(r"unreferenced object(?: \(\w+\))? \S+ "
                        r"\(size (\d+)\)", part)
        if head:
            comm = re.search(r'comm "([^"]*)"', part)
            stack = re.findall(r"(?m)^ {4}(?:\[<\w+>\] )?([\w.]+)\+0x", part)
            found.append(f"kmemleak: {head[1]} bytes of "
                         f"{comm[1] if comm else '?'}: {' < '.join(stack)}")
    return found


def cycle(lines):
    """Return a line on a cycle of locks, which lockdep reports in @lines."""
    locks = [m for m in map(LOCK.match, lines) if m][:2]
    return ("lockdep: %s is taken in %s, %s is held since %s" %
            (*locks[0].groups(), *locks[1].groups())
            if len(locks) == 2 else "")


def without_cycles(lines, patterns):
    """Return @lines without the reports on cycles that @patterns explain, and
    whether there are any."""
    left, i, any_known = [], 0, False
    while i < len(lines):
        report = lines[i:i + CYCLE_MOST]
        if CYCLE.search(lines[i]) and CYCLE_END in report:
            said = cycle(report)
            if any(p.search(said) for p in patterns):
                i += report.index(CYCLE_END) + 1
                any_known = True
                if left and set(left[-1]) == {"="}:
                    left.pop()
                continue
        left.append(lines[i])
        i += 1
    return left, any_known


def reports(log, found, patterns):
    """Return a Result for each report: @log is the kernel's, @found what
    leaks() returned, @patterns explain some."""
    lines, results = log.splitlines(), []
    for i, line in enumerate(lines):
        kind = kind_of(line)
        if kind and not any(p.search(line) for p in patterns):
            results.append(Result(f"the kernel reports: {kind}", FAIL,
                                  "\n".join(lines[i:i + SHOWN])))
    left = [line for line in found if not any(p.search(line)
                                              for p in patterns)]
    if left:
        results.append(Result("the kernel reports: kmemleak", FAIL,
                              "\n".join(left)))
    return results or [Result("the kernel reports no bug of its own", PASS,
                              "")]


def watchers(guest, known):
    """Return what is wrong with the kernel's checkers: they turn themselves
    off when they run out of memory or after their first report, which is
    @known."""
    wrong = []
    said = guest.agent.capture(["cat", LOCKDEP])[1]
    if said and not known and not LOCKDEP_ON.search(said):
        wrong.append("lockdep has turned itself off")
    return wrong


def warnings(log, tainted, patterns):
    """Return a Result on what the kernel warned of, and on its taint."""
    lines = [line for line in log.splitlines()
             if line.strip() and not any(p.search(line) for p in patterns)]
    if tainted:
        lines.append(f"the kernel is tainted: {tainted}")
    return Result("the kernel's log holds no warning",
                  FAIL if lines else PASS, "\n".join(lines[:60]))


def check(guest, own_module, logs):
    """Return Results on what a guest's kernel said and the files @logs don't
    explain; None: the suite judges its warnings, but not reports. That a
    module of ours was loaded, if @own_module, is no news."""
    status, found, err = guest.agent.capture(["sh", "-c", SCAN])
    log = guest.agent.capture(WARNINGS)[1]
    tainted = int(guest.agent.capture(["cat", "/proc/sys/kernel/tainted"])[1])
    tainted &= ~UNSIGNED_TAINT
    if CLEARED_FEATURE in guest.agent.capture(["cat", "/proc/cmdline"])[1]:
        tainted &= ~CLEARED_FEATURE_TAINT
    patterns = [pattern for path in logs or [] for pattern, _ in
                explained(path)]
    lines, known = without_cycles(log.splitlines(), patterns)
    log = "\n".join(lines)
    results = reports(log, leaks(found), patterns)
    wrong = watchers(guest, known) + ([f"kmemleak: {err}"] if status else [])
    if wrong:
        results.append(Result("the kernel's checkers are at work", FAIL,
                              "\n".join(wrong)))
    if own_module:
        patterns.append(OWN_MODULE)
        tainted &= ~OWN_MODULE_TAINT
    if logs is not None:
        results.append(warnings(log, tainted, patterns))
    return results
