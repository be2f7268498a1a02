# SPDX-License-Identifier: GPL-2.0-or-later
"""What this machine must have: packages."""

import os
import subprocess

from paths import REPO, cache
from step import Failure, step

DPKG_STATUS = "/var/lib/dpkg/status"


def wanted_packages():
    """Return the package names of tools/packages.txt."""
    lines = (REPO / "tools/packages.txt").read_text().splitlines()
    names = [line.split("#")[0].strip() for line in lines]
    return [name for name in names if name]


def missing_packages(names):
    out = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *names],
        capture_output=True, text=True).stdout
    have = {line.split()[0] for line in out.splitlines()
            if line.endswith(" installed")}
    return [name for name in names if name not in have]


def ensure_packages(*more):
    """Install what is missing, or say how. @more: packages that only some
    verbs need."""
    names = wanted_packages() + list(more)
    stamp = cache("-".join(["packages-installed", *more]))
    if (stamp.exists() and stamp.read_text().split() == names and
            stamp.stat().st_mtime > os.stat(DPKG_STATUS).st_mtime):
        return
    missing = missing_packages(names)
    if missing:
        line = "apt-get install --no-install-recommends " + " ".join(missing)
        if os.getuid() != 0:
            raise Failure(f"packages are missing; as root run:\n  {line}")
        with step("install packages: " + " ".join(missing)):
            env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
            done = subprocess.run([*line.split(), "-y", "-qq"], env=env,
                                  capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"'{line}' failed; if apt found no packages, run "
                          f"apt-get update first:\n{done.stderr}")
    stamp.write_text("\n".join(names))
