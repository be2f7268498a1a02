# SPDX-License-Identifier: GPL-2.0-or-later
"""Where tools/mlx5sim enters."""

import sys

import cli

sys.exit(cli.main(sys.argv[1:]))
