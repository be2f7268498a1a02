# SPDX-License-Identifier: GPL-2.0-or-later
"""One line on standard error for each thing done, with its duration."""

import contextlib
import fcntl
import sys
import time


class Failure(Exception):
    """What the user is told, and the exit status.

    The message says what to do about it."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


def say(text):
    print(f"mlx5sim: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def step(text):
    """Announce a step before it starts, and its duration once it is done."""
    began = time.monotonic()
    say(f"{text} ...")
    yield
    say(f"{text}: {time.monotonic() - began:.1f} s")


@contextlib.contextmanager
def locked(path):
    """Hold a lock file, so that two launchers don't build one thing twice."""
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
