# SPDX-License-Identifier: GPL-2.0-or-later
"""What gdb reads first: symbols, our commands, the connection. Then the verb
gdb is told, and starts the guest's command."""

import os
import sys
from pathlib import Path

import gdb

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

for setting in ("confirm off", "pagination off", "breakpoint pending on",
                "print pretty on", "width 0"):
    gdb.execute(f"set {setting}")
try:
    gdb.execute("set debuginfod enabled off")
except gdb.error:
    pass     # a gdb that asks nobody

import modules  # noqa: E402

modules.begin()

import card  # noqa: E402, F401
import rdma  # noqa: E402, F401

Path(os.environ["MLX5SIM_GDB"], "ready").touch()
