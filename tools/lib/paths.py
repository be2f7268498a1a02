# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things lie: the repository and the cache."""

import os
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


def cache(*parts):
    """Return a path below ${XDG_CACHE_HOME:-~/.cache}/mlx5sim.

    The directory that holds the last part is created."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = Path(base, "mlx5sim", *parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
