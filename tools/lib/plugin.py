# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin for one QEMU build: found in the cache, or built.

    ${XDG_CACHE_HOME:-~/.cache}/mlx5sim/plugin/<build-id>-<checkout>/
        hw/mlx5sim/mlx5sim.so         what LD_PRELOAD names
        hw/mlx5sim/mlx5sim-device.so  the device

It is a meson build directory of this checkout; it is built again when a source
is newer than the last build.
"""

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import qemubin
import qemuheaders
from host import wanted_packages
from paths import REPO, cache
from progress import step

SOURCES = ("meson.build", "meson_options.txt", "core", "hw/mlx5sim",
           "tools/lib/qemuheaders.py", "tools/lib/plugin.py")
NOT_SOURCES = {"tests"}
TARGETS = ("hw/mlx5sim/mlx5sim.so", "hw/mlx5sim/mlx5sim-device.so")


class BuildError(Exception):
    """The plugin can't be built; the message says why."""


def newest_source():
    """Return when the plugin's sources changed last, in ns."""
    newest = 0
    stack = [REPO / name for name in SOURCES]
    while stack:
        path = stack.pop()
        if path.is_dir():
            # A directory's own time tells of files that came or went.
            newest = max(newest, path.stat().st_mtime_ns)
            stack += [Path(entry) for entry in os.scandir(path)
                      if entry.name not in NOT_SOURCES]
        elif path.exists():
            newest = max(newest, path.stat().st_mtime_ns)
    return newest


def directory(build_id):
    """Return the build directory for @build_id and this checkout."""
    checkout = hashlib.sha256(str(REPO).encode()).hexdigest()[:8]
    path = cache("plugin", f"{build_id}-{checkout}")
    if any(c in str(path) for c in ": \t"):
        raise BuildError(f"{path}: LD_PRELOAD can't name a path with a colon "
                         f"or a blank; set XDG_CACHE_HOME to another place")
    return path


def is_fresh(build, source_ns):
    """Tell whether @build holds what sources as of @source_ns give."""
    stamp = build / "mlx5sim-built"
    return (stamp.exists() and stamp.read_text() == str(source_ns)
            and all((build / name).exists() for name in TARGETS))


def run(argv):
    """Run a build command quietly; its output is the error's message."""
    done = subprocess.run(argv, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise BuildError(f"{shlex.join(map(str, argv))}:\n"
                         f"{done.stdout[-4000:]}")


def configure(build, qemu):
    """Set the meson build directory up for @qemu."""
    if qemu.source is None:
        raise BuildError(f"{qemu.path} is not Debian's: it names no package "
                         f"version whose source could be fetched")
    headers = qemuheaders.headers(qemu.source)
    version = (headers / "VERSION").read_text().strip()
    major, minor = version.split(".")[:2]
    options = {"qemu_headers": headers, "qemu_package": qemu.package,
               "qemu_version": int(major) * 100 + int(minor),
               "qemu_build_id": qemu.build_id}
    verb = ["--wipe"] if (build / "meson-private").is_dir() else []
    run(["meson", "setup", *verb, build, REPO, "-Doptimization=2",
         "-Ddebug=true",
         *(f"-D{k}={v}" for k, v in options.items()),
         *shlex.split(os.environ.get("MLX5SIM_MESON_ARGS", ""))])


def check_tools():
    """Say what to install when the build can't even start."""
    missing = [t for t in ("meson", "ninja", "cc", "patch")
               if not shutil.which(t)]
    if missing:
        raise BuildError(f"{', '.join(missing)}: not found; as root: apt-get "
                         f"install " + " ".join(wanted_packages()))


def build_for(qemu, build):
    """Build the plugin for the QemuBinary @qemu in @build."""
    check_tools()
    headers_file = build / "mlx5sim-form"
    form = f"{qemuheaders.FORM} {os.environ.get('MLX5SIM_MESON_ARGS', '')}"
    if not headers_file.exists() or headers_file.read_text() != form:
        configure(build, qemu)
        headers_file.write_text(form)
    run(["ninja", "-C", build, *TARGETS])


def ensure(path):
    """Return the object to preload into the QEMU at @path."""
    build_id = qemubin.build_id(path)
    build = directory(build_id)
    source_ns = newest_source()
    if not is_fresh(build, source_ns):
        build.mkdir(exist_ok=True)
        with open(f"{build}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not is_fresh(build, source_ns):
                qemu = qemubin.inspect(path)
                if qemu.source:
                    qemuheaders.headers(qemu.source)
                with step(f"plugin for QEMU {qemu.package}"):
                    build_for(qemu, build)
                (build / "mlx5sim-built").write_text(str(source_ns))
    return build / TARGETS[0]
