# SPDX-License-Identifier: GPL-2.0-or-later
"""Where tools/mlx5sim enters."""

import os
import sys

# Compiled modules are kept where nobody has to ignore them. (Not by
# paths.cache(), which would be compiled each time.)
sys.pycache_prefix = os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
    "mlx5sim/python")
sys.dont_write_bytecode = False

import cli  # noqa: E402

sys.exit(cli.main(sys.argv[1:]))
