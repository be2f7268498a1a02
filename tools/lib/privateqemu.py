# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU of another suite, unpacked from its packages into the cache.

It runs from where it is unpacked when environment() is added to its own:
modules are those of the same build, and libraries that the system lacks are
found beside it. Firmware is the installed QEMU's, which fits.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from paths import cache
from privateapt import AptError, Suite
from progress import step

# What is unpacked whatever the system has. All modules there are: for one that
# is not beside it QEMU takes the system's, which is of another build, and dies.
OWN = ("qemu-system-x86", "qemu-system-common", "qemu-system-data",
       "seabios", "ipxe-qemu")
MODULES = ("qemu-system-gui", "qemu-system-modules-opengl",
           "qemu-system-modules-spice", "qemu-block-extra")
LIBRARIES = "usr/lib/x86_64-linux-gnu"

# Raise when more is unpacked than before.
FORM = 2
BINARY = "usr/bin/qemu-system-x86_64"


def environment(program):
    """Return what the environment of the QEMU @program needs besides."""
    root = Path(program).resolve().parents[2]
    if cache("qemu", ".").resolve() not in root.parents:
        return {}
    libraries = root / LIBRARIES
    return {"QEMU_MODULE_DIR": str(libraries / "qemu"),
            "LD_LIBRARY_PATH": str(libraries)}


def missing_libraries(binary, library_dir):
    """Return the names of the libraries that @binary does not find."""
    env = dict(os.environ, LD_LIBRARY_PATH=str(library_dir))
    env.pop("LD_PRELOAD", None)
    out = subprocess.run(["ldd", binary], env=env, capture_output=True,
                         text=True)
    if "version `" in out.stderr + out.stdout:
        first = re.search(r"version `[^']+' not found", out.stderr + out.stdout)
        raise AptError(f"{binary} does not run here: {first[0]}")
    return re.findall(r"(\S+) => not found", out.stdout)


def unpack(path, dest):
    """Unpack a .deb into @dest."""
    subprocess.run(["dpkg-deb", "-x", path, dest], check=True)


def own_debs(suite, debs):
    """Return those of @debs that are QEMU's own, and the modules'."""
    known = set(suite.run("apt-cache", "pkgnames", "qemu-").split())
    modules = [name for name in MODULES if name in known]
    more = suite.resolve(["qemu-system-x86", *modules])
    return ([d for d in debs if d.name in OWN]
            + [d for d in more if d.name in modules])


def complete(suite, debs, root):
    """Unpack the libraries that QEMU below @root lacks."""
    library_dir = root / LIBRARIES
    rest = [d for d in debs if d.name not in OWN and d.name.startswith("lib")]
    while rest and (missing := missing_libraries(root / BINARY, library_dir)):
        stem = re.match(r"(lib[^.]*?)-?[\d.]*\.so", missing[0])[1]
        found = [d for d in rest if d.name.startswith(stem.lower())] or rest
        for path in suite.fetch(found):
            unpack(path, root)
        rest = [d for d in rest if d not in found]
    missing = missing_libraries(root / BINARY, library_dir)
    if missing:
        raise AptError(f"QEMU of {suite.suite} lacks {', '.join(missing)}")


def fetch(name):
    """Return the path of the qemu-system-x86_64 of the suite @name.

    Raises AptError if the suite can't be had, or its QEMU doesn't run here."""
    suite = Suite(name)
    debs = suite.resolve(["qemu-system-x86"])
    version = next(d.version for d in debs if d.name == "qemu-system-x86")
    final = cache("qemu", f"{name}-{version}-{FORM}".replace(":", "_"))
    if (final / BINARY).exists():
        return final / BINARY
    with step(f"QEMU {version} of {name}"):
        temp = Path(f"{final}.part")
        shutil.rmtree(temp, ignore_errors=True)
        for path in suite.fetch(own_debs(suite, debs)):
            unpack(path, temp)
        complete(suite, debs, temp)
        temp.rename(final)
    return final / BINARY
