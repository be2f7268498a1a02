# SPDX-License-Identifier: GPL-2.0-or-later
"""One line on stderr about what takes time, and how long it took."""

import contextlib
import sys
import time


@contextlib.contextmanager
def step(what):
    """Say @what, and at the end of the block how long it took."""
    began = time.monotonic()
    print(f"mlx5sim: {what} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    except BaseException:
        print(" failed", file=sys.stderr, flush=True)
        raise
    print(f" {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
