# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb gdb: a debugger on the guest's kernel, with the driver's source.

The modules are those that build-driver made; the kernel's own symbols come
from the running guest. gdb connects to QEMU, not to the guest: the kernel
stands still as a whole while it is stopped. The guest's command waits until
gdb lets the guest run. With --batch the guest stands still when its command has
ended, which is what ends the last `continue` of a script; and again when it is
let run after that.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import builddriver
import driver
import guestkernel
import host
import inspectverb
import kallsyms
import machine
from agent import GuestGone
from paths import REPO, cache
from qmp import QmpError
from step import Failure, say
from verbs import options_of, prepare

SCRIPTS = REPO / "tools/gdb"
SECTIONS = "cd /sys/module && grep -s -d skip '' {} ; true"
LOAD = ["modprobe", "mlx5_ib"]
LOAD_UNLOAD = ["sh", "-c", "modprobe mlx5_ib && /usr/lib/mlx5sim/up && "
               "modprobe -r mlx5_ib"]
# A finish or next of gdb waits on the virtual CPU that it began on, and would
# miss a task that slept and woke on another.
ONE_CPU = ["taskset", "1"]
# How often a script may let the guest run after its command has ended.
IN_VAIN = 50


def kernel_symbols(guest, image):
    """Return a file with the symbols of the guest's kernel. It is at the same
    place each time, so that they need be asked for only once. A kernel of ours
    has all its debug information."""
    if image.own_kernel():
        return image.own_kernel().headers / "vmlinux"
    path = cache("kallsyms", image.key)
    if not path.exists():
        text = guest.agent.capture(["cat", "/proc/kallsyms"])[1]
        part = path.with_name(f"{path.name}.{os.getpid()}")
        kallsyms.write_elf(kallsyms.parse(text), part)
        part.rename(path)
    return path


def sections(guest, built):
    """Return where the sections of the built modules are that are loaded:
    lines "MODULE/sections/SECTION:ADDRESS"."""
    names = {path.stem.replace("-", "_") for path in built.modules.values()}
    words = " ".join(f"{n}/sections/* {n}/sections/.*" for n in sorted(names))
    return guest.agent.capture(["sh", "-c", SECTIONS.format(words)])[1]


class Command:
    """The guest's command, given to it once gdb is connected.

    @status: its exit status, None if it did not end."""

    def __init__(self, guest, words, ready, stops):
        self.guest = guest
        self.words = words
        self.ready = ready
        self.stops = stops
        self.status = None
        self.gone = threading.Event()
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def _work(self):
        try:
            if self._run() and self.stops:
                self._keep_still()
        except (GuestGone, QmpError, EOFError, OSError):
            pass

    def _run(self):
        """Run it. Return: whether it ended while gdb was there."""
        while not self.ready.exists():
            if self.gone.wait(0.05):
                return False
        status = self.guest.agent.run(ONE_CPU + self.words, stdout=2)
        if not self.gone.is_set():
            self.status = status
        return not self.gone.is_set()

    def _keep_still(self):
        """Stop the guest whenever it runs; end it when it is let run again
        and again."""
        say(f"the guest's command ended with status {self.status}; the guest "
            "stands still")
        for _ in range(IN_VAIN):
            self.guest.qmp("stop")
            while not self.guest.qmp("query-status")["running"]:
                if self.gone.wait(0.1):
                    return
        self.guest.qmp("quit")

    def leave(self):
        """End with gdb: its guest is not needed any longer."""
        self.gone.set()
        if self.status is None:
            self.guest.process.kill()
        self.thread.join()


def gdb_words(args):
    words = ["gdb", "-nx", "-q", "-x", str(SCRIPTS / "load.py")]
    if args.batch:
        words.insert(1, "-batch")
    for script in args.script or []:
        if not Path(script).exists():
            raise Failure(f"--script {script}: no such file", 2)
        # A failing line must end it with a status, in every gdb.
        words += ["-ex", "python import scripts; "
                  f"scripts.run({str(Path(script).resolve())!r})"]
    return words


def environment(folder, guest, symbols, built, root):
    """Return what load.py is told."""
    return dict(os.environ, MLX5SIM_GDB=folder,
                MLX5SIM_KERNEL=str(symbols),
                MLX5SIM_MODULES=str(built.folder / "build"),
                MLX5SIM_KERNEL_VERSION=built.version,
                MLX5SIM_COMPILED_AT=driver.COMPILED_AT,
                MLX5SIM_HEADERS=str(root.path / "usr/src"),
                MLX5SIM_INSPECT=f"{guest.folder}/{inspectverb.SOCKET}")


def run_gdb(words, env):
    """Run gdb, to which a Ctrl-C belongs. Return: its exit status."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(words, env=env, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def gdb(args):
    if args.batch and not args.script:
        raise Failure("--batch needs a --script", 2)
    words = gdb_words(args)
    host.ensure_packages("gdb")
    emulator, image = prepare(args.guest)
    options = options_of(args)
    options.probe = False
    options.driver = builddriver.for_debugger(args.guest, image)
    root = guestkernel.module_root(image)
    with tempfile.TemporaryDirectory(prefix="mlx5sim-gdb-") as folder:
        options.qemu_args += ["-gdb",
                              f"unix:path={folder}/gdb.sock,server=on,wait=off"]
        with machine.start(emulator, image, options) as guest:
            symbols = kernel_symbols(guest, image)
            Path(folder, "sections").write_text(
                sections(guest, options.driver))
            env = environment(folder, guest, symbols, options.driver, root)
            command = args.command or (LOAD_UNLOAD if args.batch else LOAD)
            say(f"in the guest, as soon as it runs: {' '.join(command)}")
            sys.stdout.flush()
            inside = Command(guest, command, Path(folder, "ready"), args.batch)
            try:
                status = run_gdb(words, env)
            finally:
                inside.leave()
    return status or (inside.status or 0 if args.batch else 0)
