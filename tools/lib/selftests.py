# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own selftests (tools/testing/selftests), as the kernel's own
Makefiles build and install them.

They come from the linux-source package of the kernel that a guest runs, and
are compiled by its suite's compiler. The result lies in the cache under a hash
of the source's version, of the folders asked for and of each package of the
compiler.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import buildroot
from paths import cache
from privateapt import Suite
from step import Failure, locked, step

# Raise when more of the source is unpacked than before, or else is made of it.
FORM = 1
# Beside what every build root has: clang for programs of BPF, Python for what
# makes C of Netlink's specifications, rsync for "make install".
PACKAGES = """binutils clang gcc liburing-dev python3 python3-jsonschema
    python3-yaml rsync zlib1g-dev""".split()
TESTS = "tools/testing/selftests"
# Of the source; tar's * stands for folders, too. What makes C of specifications
# takes the folder with MAINTAINERS for the top, and looks for it for ever.
WANTED = [f"{TESTS}/{name}" for name in
          ("Makefile", "lib.mk", "*.sh", "kselftest*", "bpf/*.h", "net/*",
           "drivers/net/*")] + [
    "Makefile", "MAINTAINERS", "scripts/*", "include/uapi/*",
    "Documentation/netlink/*", "tools/arch/x86/*", "tools/build/*",
    "tools/include/*", "tools/lib/*", "tools/net/*"]
# Where the compiler sees them.
SOURCE, OUT = "/usr/src/mlx5sim-selftests", "/usr/src/mlx5sim-out"


def package_of(image):
    """Return the name of the package with the source of a guest's kernel."""
    version = re.match(r"\d+\.\d+", image.kernel_version())[0]
    return f"linux-source-{version}"


def made(folders, image):
    """Return the folder with the selftests of @folders, names as the kernel's
    TARGETS, for the guest of @image; built if it is not there yet."""
    suite, package = image.guest.suite, package_of(image)
    root = buildroot.BuildRoot(suite, PACKAGES)
    source = next(d for d in Suite(suite).resolve([package])
                  if d.name == package)
    text = "\n".join([str(FORM), source.version, *folders,
                      root.manifest.read_text()])
    out = cache("selftests", hashlib.sha256(text.encode()).hexdigest()[:16])
    with locked(f"{out}.lock"):
        if not out.exists():
            with tempfile.TemporaryDirectory(dir=out.parent,
                                             prefix="tmp-") as tmp:
                _make(root, suite, package, folders, Path(tmp)).rename(out)
    return out


def _make(root, suite, package, folders, tmp):
    """Build and install in @tmp. Return: the folder with the result."""
    source, out = tmp / "source", tmp / "out"
    buildroot.unpack_source(suite, package, WANTED, source)
    out.mkdir()
    with step(f"selftests {', '.join(folders)}: compile"):
        # One after the other: parts of one build another's library.
        done = root.run(
            ["make", "-C", f"{SOURCE}/{TESTS}", f"TARGETS={' '.join(folders)}",
             f"INSTALL_PATH={OUT}", "CC=gcc", "FORCE_TARGETS=1", "install"],
            [(source, SOURCE), (out, OUT)], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode:
        raise Failure(f"the selftests don't compile:\n{done.stdout[-3000:]}")
    for path in out.rglob("__pycache__"):
        shutil.rmtree(path)
    return out
