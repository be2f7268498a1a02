# SPDX-License-Identifier: GPL-2.0-or-later
"""The test suites, one row each: those of the host here, those of a guest in
guest-tests/suites/.

A guest suite is a folder with a file suite.ini:

    [suite]
    title = what it shows
    default = yes            part of the default set
    also = debug             guests that it runs on as well with --all, as a
                             part of the suite of the guest's name
    timeout = 300            seconds for the whole suite
    duration = 60            seconds it is told to last, in DURATION; test
                             --duration says another number
    cycles = 10              how often it does what it does, in CYCLES; test
                             --cycles says another number
    memory-flat = no         the emulator's own memory must not grow after the
                             first minute, on a slow kernel some minutes
    make = guest-tests/verbs a folder whose Makefile takes SYSROOT and OUT
    module = guest-tests/m   a folder with the Kbuild of a kernel module
    compile = probe.c        programs of one C file each, to be built for it
    libs = -libverbs         what these are linked with
    selftests = net/lib      folders of the kernel's own selftests, to be built
                             and installed below selftests/
    guest = sid              where it runs unless another guest is asked for
    run = run                what is run in the guest
    device = mw=off          properties of the card; given per line: cards
    qemu-arg = -m 4G         words for QEMU
    probe = yes              bring the card up before
    cold = no                boot plainly
    status = no              its tests are rows of docs/status.md
    kernel-log = yes         the launcher judges it; no: the suite does
    objects-left = none      the suite unloads the drivers: afterwards the card
                             must hold no object and no page
    asks = yes               it may ask for commands of QEMU's monitor: asks.py
    serves = yes             a web server here serves it: served.py
    iperf = yes              iperf3's server listens here; its port is in IPERF
    qemu-least = 8.0         if the installed QEMU is older, it runs on that of
                             bookworm-backports

The folder, lib.sh and the modules of Python in guest-tests/suites/, and what
was built lie at /share in the guest, where `run` starts as root and prints TAP.
SLOW is how many times as long as others the guest takes; our own timeouts take
that into account. The files `expected` and
`expected-GUEST` beside it are described in results.py.
After each guest suite the kernel's log is read (kernellog.py): a line of level
warning or worse fails the suite, unless guest-tests/kernel-log.expected
explains it or the file of that name in the suite's folder; so does what the
kernel's own checkers report.
"""

import configparser
import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import namedtuple
from pathlib import Path

import asks
import benchnet
import build
import driver
import emumem
import gdbsuite
import inspectsuite
import kernellog
import kmodules
import machine
import pairnvme
import pairsuite
import privateqemu
import programs
import propsuite
import rows
import selftests
import served
import status
import tourdoc
from agent import GuestGone
from paths import REPO, cache
from results import (FAIL, PASS, SKIP, Result, judge_by_lists, parse_tap,
                     summary)
from step import Failure, say

SUITES = REPO / "guest-tests/suites"
TOUR = REPO / "guest-tests/tour"
KERNEL_LOG = REPO / "guest-tests/kernel-log.expected"

# @also: names of guests, see above.
Suite = namedtuple("Suite", "name title default run also", defaults=((),))
# @status: write what comes of a suite to docs/status.md, not compare it.
# @duration: seconds that suites with a duration last, None: their own.
# @tour_doc: where to write what the suite tour saw, or None.
# @cycles: how often suites with cycles go round, None: their own number.
Context = namedtuple("Context", "emulator guest verbose status duration "
                     "tour_doc cycles", defaults=(None, None))

# What guest-tests/sins does; names of kernellog.py.
SINS = ("KASAN", "kmemleak", "reference count", "list corruption", "UBSAN",
        "ODEBUG", "sleeping while atomic", "lockdep")

# Host suites that meson runs: our name, title, part of the default set, the
# build tree, and meson's name.
MESON_SUITES = [
    ("unit", "unit tests of core, with address and undefined-behaviour "
     "sanitizers", True, "asan", "unit"),
    ("layout", "the tables of core against the kernel headers of bookworm, "
     "trixie and sid", True, "asan", "layout"),
    ("layers", "no folder of core includes upwards", True, "asan", "lint"),
    ("tools", "what the launcher and the guest's builder are made of", True,
     "asan", "tools"),
    ("threads", "unit tests of core under ThreadSanitizer", True, "tsan",
     "unit"),
    ("qtest", "the card in QEMU without a guest: PCI, BAR, MSI-X, reset; for "
     "each QEMU that can be had", True, "asan", "qtest"),
]
MESON_TREES = {
    "asan": ["-Db_sanitize=address,undefined"],
    "tsan": ["-Db_sanitize=thread"],
}


def every():
    """Return the list of Suites."""
    suites = [Suite(name, title, default, meson_runner(tree, inner))
              for name, title, default, tree, inner in MESON_SUITES]
    suites.append(Suite("demo", "the demo of the README holds", True, demo))
    suites.append(Suite("inspect", "the card's live state against what the "
                        "kernel says", True, inspectsuite.run))
    suites.append(Suite("pair", "two guests on one wire: two cards, a card "
                        "and rxe; tshark reads along", True, pairsuite.run))
    suites.append(Suite("pair-bad", "the same on a wire that loses, doubles "
                        "and reorders 1 % of the frames", False,
                        pairsuite.run_bad))
    suites.append(Suite("pair-all", "perftest's verbs, ping-pongs over each "
                        "kind of address, rdma_cm, VLANs, multicast; two "
                        "cards, a card and rxe in both directions", False,
                        pairsuite.run_all))
    suites.append(Suite("pair-nvme", "NVMe over RDMA between two guests, fio "
                        "verifies; the target's link pulled, its device taken "
                        "away; two cards, a card and rxe both ways", False,
                        pairnvme.run))
    suites.append(Suite("properties", "each property of the card changed by "
                        "itself: what vanishes, and that the rest works",
                        False, propsuite.run))
    suites.append(Suite("gdb", "the debugger: breakpoints in modules that are "
                        "not there yet, arguments, our commands", False,
                        gdbsuite.run, ("debug",)))
    suites.append(Suite("guests", "the demo, and the suite gdb, on each of the "
                        "other guests", False, elsewhere))
    suites.append(Suite("tour", "the life of an ib_device: each statement of "
                        "docs/tour.md", True, tour, ("debug",)))
    for path in sorted(SUITES.glob("*/suite.ini")):
        suites.append(guest_suite(path))
    parts = [suite for suite in suites if "debug" in suite.also]
    suites.append(Suite("debug", "on the guest debug, whose kernel watches "
                        f"itself: {', '.join(p.name for p in parts)}", False,
                        lambda context: on_debug(context, parts)))
    return suites


def on_debug(context, parts):
    """Run the suites @parts on the guest debug, after a look whether its
    kernel's checkers check. Return: Results."""
    context = context._replace(guest="debug")
    found = watched(context)
    for suite in parts:
        began = time.monotonic()
        results = run(suite, context)
        say(f"debug: {suite.name}: {summary({suite.name: results})} "
            f"({time.monotonic() - began:.0f} s)")
        found += [Result(f"{suite.name}: {r.name}", r.status, r.detail)
                  for r in results]
    return found


def watched(context):
    """Load a module that does wrong what the kernel's checkers watch for.
    Return: a Result for each on whether it was reported by name."""
    image = build.build(context.guest)
    with tempfile.TemporaryDirectory(prefix="mlx5sim-suite-") as share:
        for path in kmodules.made(REPO / "guest-tests/sins", image):
            shutil.copy2(path, share)
        options = machine.Options(devices=[], share=share, probe=False)
        with machine.start(context.emulator, image, options) as guest:
            said = guest.agent.capture(["insmod", "/share/sins.ko"])
            seen = {r.name for r in kernellog.check(guest, True, None)}
    return [Result(f"{kind} is reported where it is made",
                   PASS if f"the kernel reports: {kind}" in seen else FAIL,
                   "".join(said[1:])) for kind in SINS]


def demo(context):
    """Run the demo as a user would. Return: a Result per step."""
    done = subprocess.run([str(REPO / "tools/mlx5sim"), "demo", "--guest",
                           context.guest], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    text = done.stdout + done.stderr
    found = []
    for step in re.split(r"(?m)^(?=\d+\. )", done.stdout)[1:]:
        title = step.splitlines()[0]
        held = re.search(r"(?m)^  held \(", step)
        found.append(Result(title, PASS if held else FAIL,
                            "" if held else step))
    if done.returncode or not found:
        found.append(Result("exit status", FAIL,
                            f"{done.returncode}\n{text[-4000:]}"))
    return found


def elsewhere(context):
    """Run the demo and the debugger on the guests beside the default one.
    Return: Results."""
    found = []
    for guest, row in rows.GUESTS.items():
        if guest != rows.DEFAULT and not row.config:
            there = context._replace(guest=guest)
            found += [Result(f"{guest}: {r.name}", r.status, r.detail)
                      for r in demo(there) + gdbsuite.run(there)]
    return found


def meson_tree(name):
    """Return a build tree of this checkout, up to date."""
    checkout = hashlib.sha256(str(REPO).encode()).hexdigest()[:8]
    tree = cache("build", f"{name}-{checkout}")
    if not (tree / "build.ninja").exists():
        subprocess.run(["meson", "setup", str(tree), str(REPO),
                        *MESON_TREES[name]], check=True, capture_output=True)
    done = subprocess.run(["ninja", "-C", str(tree)], capture_output=True,
                          text=True)
    if done.returncode:
        raise Failure(f"the {name} build fails:\n{done.stdout[-4000:]}")
    return tree


def meson_runner(tree_name, suite):
    def run_suite(_):
        tree = meson_tree(tree_name)
        log = tree / "meson-logs/testlog.junit.xml"
        log.unlink(missing_ok=True)
        done = subprocess.run(["meson", "test", "-C", str(tree), "--no-rebuild",
                               # Sanitizers are slow on a busy machine.
                               "--timeout-multiplier", "5",
                               "--suite", suite], capture_output=True,
                              text=True)
        if not log.exists():
            return [Result(suite, FAIL, done.stdout + done.stderr)]
        return list(read_junit(log))
    return run_suite


def read_junit(path):
    """Yield the Results in meson's JUnit file."""
    for case in ElementTree.parse(path).iter("testcase"):
        bad = [t for t in case if t.tag in ("failure", "error")]
        skipped = [t for t in case if t.tag == "skipped"]
        outputs = [t.text or "" for t in case.iter()
                   if t.tag in ("system-out", "system-err")]
        if bad:
            text = bad[0].get("message", "") + "\n" + "\n".join(outputs)
            yield Result(case.get("name"), FAIL, text[-4000:].strip())
        elif skipped:
            yield Result(case.get("name"), SKIP,
                         skipped[0].get("message") or "\n".join(outputs))
        else:
            yield Result(case.get("name"), PASS, "")


# Guest suites

def guest_suite(path):
    entry = read_config(path)
    folder = path.parent

    def run_suite(context):
        return run_guest_suite(folder, entry, context)

    return Suite(folder.name, entry["title"],
                 entry.getboolean("default", True), run_suite,
                 tuple(entry.get("also", "").split()))


def guest_options(entry, share):
    """Return the machine.Options that a suite.ini asks for."""
    devices = entry.get("device", "").split("\n")
    if devices == ["none"]:
        devices = []
    return machine.Options(
        devices=devices, share=share,
        qemu_args=entry.get("qemu-arg", "").split(),
        probe=entry.getboolean("probe", True),
        cold=entry.getboolean("cold", False))


def stage(folder, entry, guest, image, out):
    """Put a suite's files and programs into the folder @out."""
    shutil.copytree(folder, out, dirs_exist_ok=True)
    for name in ("lib.sh", "ask.py", "netclient.py", "tap.py"):
        shutil.copy2(SUITES / name, out)
    shutil.copy2(KERNEL_LOG, out / "kernel-log.common")
    libs = entry.get("libs", "-libverbs").split()
    for source in entry.get("compile", "").split():
        program = programs.compiled(image, [folder / source],
                                        Path(source).stem, libs)
        shutil.copy2(program, out)
    if "module" in entry:
        for path in kmodules.made(REPO / entry["module"], image):
            shutil.copy2(path, out)
    if "selftests" in entry:
        shutil.copytree(selftests.made(entry["selftests"].split(), image),
                        out / "selftests")
    if "make" in entry:
        where = REPO / entry["make"]
        for path in programs.made(where, image).iterdir():
            if path.is_file() and os.access(path, os.X_OK):
                shutil.copy2(path, out)


def read_config(path):
    """Return the section of a suite.ini."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(path)
    return config["suite"]


def tour(context):
    """Run the parts of the tour, and write its page if asked. Return: a
    Result for each statement."""
    parts, results = [], []
    for path in sorted(TOUR.glob("*.ini")):
        results += run_guest_suite(
            TOUR, read_config(path), context,
            lambda share, name=path.stem: parts.extend(
                tourdoc.read(Path(share, f"tour-{name}.json"))))
    if context.tour_doc:
        tourdoc.write(context.tour_doc, parts)
    return results


def guest_for(entry, asked):
    """Return the guest that a suite runs on when @asked is what it is to."""
    return entry.get("guest", asked) if asked == rows.DEFAULT else asked


def emulator_for(entry, emulator):
    """Return @emulator, or one that is new enough for a suite."""
    least = tuple(int(n) for n in entry.get("qemu-least", "0").split("."))
    if emulator.version >= least:
        return emulator
    return machine.Emulator(privateqemu.fetch("bookworm-backports"))


def run_guest_suite(folder, entry, context, collect=None):
    """Run one suite in a guest of its own. @collect: called with the shared
    folder before it goes. Return: Results."""
    context = context._replace(guest=guest_for(entry, context.guest),
                               emulator=emulator_for(entry, context.emulator))
    image = build.build(context.guest)
    with tempfile.TemporaryDirectory(prefix="mlx5sim-suite-") as share:
        stage(folder, entry, context.guest, image, Path(share))
        options = guest_options(entry, share)
        with machine.start(context.emulator, image, options) as guest:
            results = run_watched(guest, image, entry, context, share)
            if collect:
                collect(share)
            results = judge_by_lists(results, folder,
                                     whose_lists(folder, image.guest),
                                     rows.DEFAULT)
            if entry.getboolean("status", False):
                results.append(check_status(folder.name, image, results,
                                            context))
            own = "module" in entry or driver.current(image)
            logs = [KERNEL_LOG, folder / KERNEL_LOG.name]
            if not entry.getboolean("kernel-log", True):
                logs = None
            results += check_end(guest, own, logs)
            if entry.get("objects-left") == "none":
                results += check_objects(guest, len(options.devices))
    return results


def whose_lists(folder, row):
    """Return the guest whose list of expected results counts for another."""
    if not row.like or Path(folder, f"expected-{row.name}").exists():
        return row.name
    return row.like


def check_status(suite, image, results, context):
    """Write a suite's results to docs/status.md, or compare them with it.
    Return: a Result on that."""
    page = status.read()
    # Only what the outside suite ran, not our checks around it.
    results = [r for r in results if re.match(r"test_\w+\.", r.name)]
    packages = dict(line.split()[:2] for line in
                    image.manifest.read_text().splitlines())
    versions = (f"Linux {image.kernel_version()}, rdma-core "
                f"{packages['rdma-core']}")
    if not context.status:
        return status.compare(page, suite, context.guest, results, versions)
    page.put(suite, context.guest, versions, results)
    page.write()
    return Result("docs/status.md is written", PASS, "")


def run_watched(guest, image, entry, context, share):
    """Run a suite's program and watch the emulator. Return: Results."""
    slow = image.guest.slow
    if not entry.getboolean("memory-flat", False):
        return run_in_guest(guest, slow, entry, context, share)
    with emumem.Watch(guest.qemu_pid(), machine.memory_kib(image)) as watch:
        results = run_in_guest(guest, slow, entry, context, share)
    return results + [emumem.judge(watch.samples, slow)]


def variables_of(entry, slow, context):
    """Return what a suite's program finds in its environment, and how long it
    may take."""
    timeout_s = entry.getint("timeout", 300) * slow
    words = [f"SLOW={slow}"]
    if "duration" in entry:
        own_s = entry.getint("duration")
        lasts_s = context.duration or own_s
        timeout_s += max(0, lasts_s - own_s)
        words.append(f"DURATION={lasts_s}")
    if "cycles" in entry:
        own = entry.getint("cycles")
        cycles = context.cycles or own
        timeout_s = int(timeout_s * max(1, cycles / own))
        words.append(f"CYCLES={cycles}")
    return " ".join(words), timeout_s


def idle_work(guest, entry, context, share, out):
    """Return what is to be called while a suite's program runs, or None: it
    answers what the suite asks, and shows what it prints into @out."""
    works = []
    if entry.getboolean("asks", False):
        works.append(asks.Asks(guest, share).poll)
    if context.verbose:
        shown = [0]

        def show():
            # Not by moving the file's own position: the agent writes there.
            data = os.pread(out.fileno(), 1 << 20, shown[0])
            shown[0] += len(data)
            sys.stdout.write(data.decode(errors="replace"))
            sys.stdout.flush()

        works.append(show)
    return (lambda: [work() for work in works]) if works else None


def run_in_guest(guest, slow, entry, context, share):
    """Run a suite's program, in a guest that takes @slow times as long as
    others. Return: its Results."""
    variables, timeout_s = variables_of(entry, slow, context)
    with contextlib.ExitStack() as servers:
        if entry.getboolean("serves", False):
            server = servers.enter_context(served.Served())
            variables = " ".join([variables, *server.variables()])
        if entry.getboolean("iperf", False):
            port = servers.enter_context(benchnet.server())
            variables += f" IPERF={port}"
        return run_command(guest, entry, context, share, timeout_s, variables)


def run_command(guest, entry, context, share, timeout_s, variables):
    """Run a suite's program with @variables. Return: its Results."""
    command = (f"cd /share && export {variables} PATH=/share:$PATH && "
               f"exec ./{entry.get('run', 'run')}")
    with tempfile.TemporaryFile() as out:
        idle = idle_work(guest, entry, context, share, out)
        trouble = None
        try:
            status = guest.agent.run(["sh", "-c", command],
                                     stdout=out.fileno(), stderr=out.fileno(),
                                     timeout_s=timeout_s, idle=idle)
        except TimeoutError:
            trouble = f"not done after {timeout_s} s"
        except GuestGone:
            trouble = "the guest is gone\n" + guest.last_words()
        if context.verbose:
            idle()
            print(flush=True)
        out.seek(0)
        text = out.read().decode(errors="replace")
    results = parse_tap(text)
    if trouble:
        tail = "\n".join(text.splitlines()[-20:])
        return results + [Result("end", FAIL, f"{trouble}\n{tail}")]
    if status and not any(r.status == FAIL for r in results):
        results.append(Result("exit status", FAIL,
                              f"{status}, though no test failed"))
    return results


def check_end(guest, own_module, logs=(KERNEL_LOG,)):
    """Return Results on the guest, on what its kernel said and the files @logs
    don't explain (None: only what kernellog.py names), and on QEMU after a
    suite."""
    try:
        results = kernellog.check(guest, own_module, logs)
    except (GuestGone, TimeoutError):
        return [Result("the guest answers at the end", FAIL,
                       guest.last_words())]
    said = guest.warnings().strip()
    results.append(Result("QEMU is silent", FAIL if said else PASS, said))
    return results


def held(state):
    """Return what a card holds of objects and pages, by kind."""
    kinds = dict(state["objects"], pages=state["pages"])
    return {kind: n for kind, n in kinds.items() if n}


def check_objects(guest, cards):
    """Return a Result for each card: it holds nothing of the guest."""
    results = []
    for card in range(cards):
        state = guest.qmp("qom-get", path=f"/machine/peripheral/card{card}",
                          property="state")
        left = held(state)
        results.append(Result(f"card {card} holds no object and no page",
                              FAIL if left else PASS,
                              ", ".join(f"{k}: {n}" for k, n in left.items())))
    return results


def run(suite, context):
    """Run a Suite. Return: its Results, at least one."""
    try:
        results = suite.run(context)
    except (Failure, subprocess.CalledProcessError, ValueError) as error:
        return [Result("start", FAIL, str(error))]
    return results or [Result("results", FAIL, "the suite has no test")]
