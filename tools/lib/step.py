# SPDX-License-Identifier: GPL-2.0-or-later
"""How the launcher tells its user what happens, and what went wrong."""

import contextlib
import fcntl
import sys

from progress import step

__all__ = ["Failure", "locked", "say", "step"]


class Failure(Exception):
    """What the user is told, and the exit status.

    The message says what to do about it."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


def say(text):
    print(f"mlx5sim: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def locked(path):
    """Hold a lock file, so that two launchers don't build one thing twice."""
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
