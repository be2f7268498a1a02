# SPDX-License-Identifier: GPL-2.0-or-later
"""What each verb of the launcher does."""

import fnmatch
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import tty

import host
import machine
import qemubin
from agent import GuestGone, window_size
from paths import REPO
from plugin import BuildError
from privateapt import AptError
from qemubin import QemuError
from step import Failure, say

sys.path.append(str(REPO / "guest-tests/image"))
import build  # noqa: E402

TERMINATED = 128 + signal.SIGTERM


class Terminated(BaseException):
    """Somebody sent SIGTERM."""


def guarded(args):
    """Run a verb. Return: its exit status; failures are told in words."""
    def on_term(*_):
        raise Terminated()

    signal.signal(signal.SIGTERM, on_term)
    try:
        return args.function(args)
    except Failure as failure:
        say(str(failure).rstrip())
        return failure.status
    except (AptError, QemuError, BuildError) as error:
        say(str(error))
        return 1
    except subprocess.CalledProcessError as error:
        say(str(error))
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Terminated:
        return TERMINATED


def prepare(guest):
    """Set up what a guest needs. Return: an Emulator and an Image."""
    host.ensure_packages()
    emulator = machine.Emulator(qemubin.find())
    return emulator, build.build(guest)


def options_of(args):
    """Return the machine.Options that a command line asks for."""
    devices = args.device or [""]
    if devices == ["none"]:
        devices = []
    return machine.Options(devices=devices, share=args.share,
                           qemu_args=args.qemu_arg, probe=not args.no_probe,
                           cold=args.cold)


def run_in(guest, *argv, **streams):
    """Run a command in a started guest. Return: its exit status."""
    try:
        return guest.agent.run(*argv, **streams)
    except GuestGone as error:
        raise Failure(f"the guest is gone:\n{guest.last_words()}",
                      125) from error


def forwarded_stdin():
    """Return standard input's descriptor, or None when it is closed."""
    try:
        os.fstat(0)
        return 0
    except OSError:
        return None


def running(args, *qemu_args):
    """Set up and start the guest that a command line asks for."""
    emulator, image = prepare(args.guest)
    options = options_of(args)
    options.qemu_args += qemu_args
    guest = machine.start(emulator, image, options)
    sys.stderr.write(guest.warnings())
    return guest


def run(args):
    with running(args) as guest:
        return run_in(guest, args.command, stdin=forwarded_stdin())


def shell(args):
    with running(args) as guest:
        if not os.isatty(0):
            return run_in(guest, ["bash"], stdin=0)
        return shell_on_tty(guest)


def shell_on_tty(guest):
    """Join the guest's shell with our terminal."""
    sizes = [None]

    def on_resize(*_):
        sizes[0] = window_size(0)

    def resized():
        size, sizes[0] = sizes[0], None
        return size

    say("a shell in the guest; leave it with 'exit'")
    before = termios.tcgetattr(0)
    signal.signal(signal.SIGWINCH, on_resize)
    try:
        tty.setraw(0)
        return run_in(guest, ["bash", "-l"], stdin=0,
                      env=[("TERM", os.environ.get("TERM", "vt100"))],
                      tty_size=window_size(0), resized=resized)
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def trace(args):
    """Run a command; its output goes to standard error, and what the device
    did meanwhile to standard output."""
    with tempfile.TemporaryDirectory(prefix="mlx5sim-trace-") as folder:
        log = os.path.join(folder, "log")
        with running(args, "-D", log) as guest:
            start = os.path.getsize(log) if os.path.exists(log) else 0
            known = {e["name"] for e in guest.qmp(
                "trace-event-get-state", name="mlx5sim_*")}
            for event in args.event or ["*"]:
                if not fnmatch.filter(known, f"mlx5sim_{event}"):
                    names = " ".join(sorted(n[8:] for n in known))
                    raise Failure(f"no event {event}; there are: {names}", 2)
                guest.qmp("trace-event-set-state", name=f"mlx5sim_{event}",
                          enable=True)
            status = run_in(guest, args.command, stdin=forwarded_stdin(),
                            stdout=2)
            guest.qmp("trace-event-set-state", name="mlx5sim_*", enable=False)
            with open(log, "rb") as file:
                file.seek(start)
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.flush()
            return status
