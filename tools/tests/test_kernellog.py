#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of kernellog.py: each kind of report of the kernel fails a suite, and
what is explained doesn't."""

import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import kernellog  # noqa: E402
from results import FAIL, PASS  # noqa: E402

# First lines of reports, as Linux 7.2 writes them.
LINES = {
    "KASAN": [
        "BUG: KASAN: slab-use-after-free in mlx5_ib_dealloc_pd+0x1a/0x70",
        "BUG: KASAN: double-free in ib_free_cq+0x10/0x20"],
    "suspicious RCU usage": ["WARNING: suspicious RCU usage"],
    "lockdep": [
        "WARNING: possible circular locking dependency detected",
        "WARNING: possible recursive locking detected",
        "WARNING: possible irq lock inversion dependency detected",
        "WARNING: inconsistent lock state",
        "WARNING: HARDIRQ-safe -> HARDIRQ-unsafe lock order detected",
        "WARNING: bad unlock balance detected!",
        "WARNING: held lock freed!",
        "WARNING: lock held when returning to user space!",
        "[ BUG: Invalid wait context ]",
        "INFO: trying to register non-static key.",
        "turning off the locking correctness validator."],
    "sleeping while atomic": [
        "BUG: sleeping function called from invalid context at mm/slub.c:1",
        "BUG: scheduling while atomic: kworker/0:1/12/0x00000002",
        "BUG: using smp_processor_id() in preemptible [00000000] code: sh/7"],
    "UBSAN": ["UBSAN: array-index-out-of-bounds in drivers/a.c:5:6"],
    "reference count": [
        "refcount_t: underflow; use-after-free.",
        "ref_tracker: net notrefcnt@00000000a1b2c3d4 has 1/1 users at",
        "unregister_netdevice: waiting for eth0 to become free. "
        "Usage count = 2"],
    "list corruption": [
        "list_del corruption. prev->next should be ffff, but was dead.",
        "list_add corruption. next is NULL.",
        "list_add double add: new=1, prev=1, next=2."],
    "ODEBUG": ["ODEBUG: free active (active state 0) object: 00000000 "
               "object type: timer_list hint: poll_health+0x0/0x1"],
    "DMA-API": ["DMA-API: mlx5_core 0000:00:08.0: device driver has pending "
                "DMA allocations while released from device [count=1]",
                "mlx5_core 0000:00:08.0: DMA-API: device driver frees DMA "
                "memory with different size [device address=0x1]",
                "DMA-API: cacheline tracking EEXIST, overlapping mappings "
                "aren't supported"],
    "slab": ["BUG mlx5_fs_ftes (Not tainted): Objects remaining on "
             "__kmem_cache_shutdown()"],
    "hung task": ["INFO: task modprobe:77 blocked for more than 120 seconds."],
    "oops": ["BUG: unable to handle page fault for address: ffff",
             "BUG: kernel NULL pointer dereference, address: 0000000000000008",
             "kernel BUG at mm/slub.c:1!",
             "Oops: general protection fault, probably for non-canonical"],
}
LEAK = """unreferenced object 0xffff888103a5c800 (size 1024):
  comm "modprobe", pid 301, jiffies 4294678203
  hex dump (first 32 bytes):
    00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00  ................
  backtrace (crc 4d1f4a11):
    __kmalloc_cache_noprof+0x1b3/0x2e0
    mlx5_alloc_db+0x21/0x90 [mlx5_core]
    really_probe+0xe1/0x390
"""
CYCLE = """usual
======================================================
WARNING: possible circular locking dependency detected
7.2.13-debug #3 Not tainted
------------------------------------------------------
irq/24-pciehp/46 is trying to acquire lock:
ff11000102a5bad8 (&ctrl->reset_lock){.+.+}-{4:4}, at: unconfigure+0x1c8/0x2a0

but task is already holding lock:
ffffffff841c1440 (rescan_lock){+.+.}-{4:4}, at: lock_rescan+0x17/0x20

which lock already depends on the new lock.
Call Trace:
 <TASK>
 dump_stack_lvl+0x5d/0x80
 </TASK>
"""


class Guest:
    """Answers what kernellog.check() asks a guest."""

    def __init__(self, log="", leaks="", tainted=0, lockdep="", status=0,
                 cmdline="quiet"):
        self.agent = self
        self.answers = {"sh": (status, leaks, "no memory"),
                        "dmesg": (0, log, ""), kernellog.LOCKDEP:
                        (0, lockdep, ""),
                        "/proc/cmdline": (0, cmdline, ""),
                        "/proc/sys/kernel/tainted": (0, f"{tainted}\n", "")}

    def capture(self, argv):
        return self.answers[argv[1] if argv[0] == "cat" else argv[0]]


def failed(guest, logs=(), own=False):
    return [r.name for r in kernellog.check(guest, own, list(logs))
            if r.status == FAIL]


class Reports(unittest.TestCase):
    def test_each_kind_fails_and_is_named(self):
        for kind, lines in LINES.items():
            for line in lines:
                with self.subTest(line):
                    self.assertIn(f"the kernel reports: {kind}",
                                  failed(Guest(f"hello\n{line}\nafter\n")))

    def test_each_kind_has_a_line_here(self):
        self.assertEqual(set(LINES), {k for k, _ in kernellog.REPORTS})

    def test_what_follows_is_shown(self):
        log = "before\nBUG: KASAN: a\nRead of size 8\n"
        found = kernellog.reports(log, [], [])
        self.assertEqual(found[0].detail, "BUG: KASAN: a\nRead of size 8")

    def test_usual_lines_are_no_report(self):
        for line in ("DMA-API: preallocated 65536 debug entries",
                     "DMA-API: debugging enabled by kernel config",
                     "kasan: KernelAddressSanitizer initialized (generic)",
                     "Lock dependency validator: Copyright (c) 2006",
                     "kmemleak: Automatic memory scanning thread started",
                     "list of devices"):
            self.assertIsNone(kernellog.kind_of(line), line)

    def test_a_clean_log_passes(self):
        found = kernellog.check(Guest(), False, [])
        self.assertEqual({r.status for r in found}, {PASS})

    def test_an_explained_one_passes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "kernel-log.expected")
            path.write_text("# text\nKASAN: bad-thing in f\\+\tproven\n"
                            "kmemleak: 1024 bytes .*< really_probe$\tproven\n")
            log = "BUG: KASAN: bad-thing in f+0x1/0x2\n"
            self.assertEqual(failed(Guest(log, LEAK), [path]), [])
            self.assertEqual(len(failed(Guest("BUG: KASAN: other in f+0x1\n"),
                                        [path])), 2)

    def test_a_cycle_of_locks_is_known_by_its_locks(self):
        off = "debug_locks:      0\n"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "kernel-log.expected")
            path.write_text(
                "^usual\tit is\n^lockdep: &ctrl->reset_lock is taken in "
                "unconfigure, rescan_lock is held since lock_rescan$\tknown\n")
            self.assertEqual(failed(Guest(CYCLE, lockdep=off), [path]), [])
            other = CYCLE.replace("(rescan_lock)", "(another)")
            self.assertEqual(len(failed(Guest(other, lockdep=off), [path])), 3)
            after = CYCLE + "BUG: KASAN: a\n"
            self.assertIn("the kernel reports: KASAN",
                          failed(Guest(after, lockdep=off), [path]))
            cut = CYCLE.replace(" </TASK>\n", "")
            self.assertEqual(len(failed(Guest(cut, lockdep=off), [path])), 3)

    def test_a_suite_that_judges_its_log_may_not_hide_a_report(self):
        found = kernellog.check(Guest("BUG: KASAN: a\nwarned\n"), False, None)
        self.assertEqual([r.name for r in found],
                         ["the kernel reports: KASAN"])


class Leaks(unittest.TestCase):
    def test_a_leak_is_one_line(self):
        self.assertEqual(kernellog.leaks(LEAK * 2), [
            "kmemleak: 1024 bytes of modprobe: __kmalloc_cache_noprof < "
            "mlx5_alloc_db < really_probe"] * 2)

    def test_memory_of_each_processor_counts(self):
        text = LEAK.replace("object 0x", "object (percpu) 0x")
        self.assertEqual(len(kernellog.leaks(text)), 1)

    def test_a_leak_fails(self):
        self.assertEqual(failed(Guest(leaks=LEAK)),
                         ["the kernel reports: kmemleak"])

    def test_a_scan_that_fails_is_told(self):
        self.assertEqual(failed(Guest(status=1)),
                         ["the kernel's checkers are at work"])

    def test_lockdep_that_is_off_is_told(self):
        self.assertEqual(failed(Guest(lockdep=" debug_locks:       1\n")), [])
        self.assertEqual(failed(Guest(lockdep=" debug_locks:       0\n")),
                         ["the kernel's checkers are at work"])


class Warnings(unittest.TestCase):
    def test_a_warning_fails_unless_explained(self):
        found = kernellog.warnings("one\ntwo\n\n", 0, [re.compile("^one")])
        self.assertEqual((found.status, found.detail), (FAIL, "two"))
        self.assertEqual(kernellog.warnings("one\n", 0,
                                            [re.compile("one")]).status, PASS)

    def test_a_taint_fails_unless_it_is_our_module(self):
        self.assertEqual(failed(Guest(tainted=1 << 12)),
                         ["the kernel's log holds no warning"])
        self.assertEqual(failed(Guest(tainted=1 << 12), own=True), [])
        self.assertEqual(failed(Guest(tainted=1 << 5), own=True),
                         ["the kernel's log holds no warning"])

    def test_modules_are_unsigned_by_the_launcher(self):
        self.assertEqual(failed(Guest(tainted=1 << 13)), [])

    def test_a_feature_taken_taints_only_if_we_took_it(self):
        self.assertEqual(failed(Guest(tainted=1 << 2)),
                         ["the kernel's log holds no warning"])
        self.assertEqual(failed(Guest(tainted=1 << 2,
                                      cmdline="quiet clearcpuid=141")), [])


class End(unittest.TestCase):
    def test_a_report_is_shown_from_its_beginning(self):
        log = [f"line {i}" for i in range(300)]
        log[100] = "[   12.380978] Kernel panic - not syncing: Attempted"
        shown = kernellog.end_of(log)
        self.assertEqual(shown[5], log[100])
        self.assertEqual(shown[-1], "line 299")
        self.assertIn("(120 lines)", shown)
        self.assertLess(len(shown), 100)

    def test_a_log_without_one_is_shown_by_its_end(self):
        log = [f"line {i}" for i in range(300)]
        self.assertEqual(kernellog.end_of(log), log[-40:])
        self.assertEqual(kernellog.end_of(log[:3]), log[:3])


if __name__ == "__main__":
    unittest.main()
