# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a script of gdb commands so that its outcome is gdb's exit status."""

import gdb


def run(path):
    try:
        gdb.execute(f"source {path}")
    except gdb.error as error:
        gdb.write(f"{path}: {error}\n", gdb.STDERR)
        gdb.execute("quit 1")
