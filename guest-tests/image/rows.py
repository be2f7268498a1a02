# SPDX-License-Identifier: GPL-2.0-or-later
"""The guests that can be built, one row each.

A row names the suite, how its kernel package is called, and what differs from
the common package set (guests.py). Everything is taken from the suite's
packages as they are; nothing is patched. The kernel of `debug` is compiled
from the suite's source of it.
"""

from collections import namedtuple

# @name, @suite: as a user says it, as the mirror does.
# @kernel: pattern of the package with the kernel.
# @kernel_parts: packages, next to the kernel's own, that hold vmlinuz and
# modules; {v} is the version in the kernel package's name.
# @extra: packages that others call otherwise.
# @config: the kernel is ours: the package is its source, this file here its
# configuration.
# @like: the guest whose lists of expected results count as well.
# @memory: of the machine.
# @slow: how many times longer than others it may take.
Guest = namedtuple("Guest", "name suite kernel kernel_parts extra config like "
                   "memory slow", defaults=(None, None, "2G", 1))

# Since 7.0 a kernel comes in several packages.
SPLIT_KERNEL = ["linux-base-{v}", "linux-binary-{v}", "linux-modules-{v}"]

GUESTS = {row.name: row for row in (
    Guest(name="bookworm", suite="bookworm",
          # A version in the name; the meta package would do, but this one is
          # found whether or not the meta package has caught up.
          kernel=r"linux-image-6\.1\.\d+-\d+-amd64",
          kernel_parts=[], extra=["librdmacm1"]),
    Guest(name="trixie", suite="trixie",
          kernel=r"linux-image-6\.12\.\d+\+deb\d+-amd64",
          kernel_parts=[], extra=["librdmacm1t64"]),
    Guest(name="backports", suite="trixie-backports",
          kernel=r"linux-image-\d+\.\d+\.\d+\+deb\d+-amd64",
          kernel_parts=SPLIT_KERNEL,
          extra=["librdmacm1t64"]),
    Guest(name="sid", suite="sid",
          kernel=r"linux-image-\d+\.\d+\.\d+\+deb\d+-amd64",
          kernel_parts=SPLIT_KERNEL,
          extra=["librdmacm1t64"]),
    # The same programs; a kernel that watches itself. An eighth of its memory
    # is KASAN's, and what was freed lies there for a while, to be watched.
    Guest(name="debug", suite="sid", kernel=r"linux-source-\d+\.\d+",
          kernel_parts=[], extra=["librdmacm1t64"], config="debug.config",
          like="sid", memory="3G", slow=4),
)}
DEFAULT = "trixie"
