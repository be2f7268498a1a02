# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel of ours for a guest: the suite's linux-source, a configuration from
guest-tests/image/, compiled by the suite's own compiler.

The result lies in the cache under a hash of the source, the configuration and
each package of the compiler, so that it is built once:

    vmlinux     what is booted: a bzImage, for with KASAN the kernel's PVH entry
                calls what is not ready yet
    modules/    lib/modules/VERSION, without debug information
    headers/    what modules are built against; its vmlinux has all debug
                information, and vmlinux-gdb.py the kernel's own gdb commands
    symbols/    the modules with debug information
    config      what kbuild made of the configuration
    version     uname -r
    manifest    a line for the source, the configuration, each package
    cost        seconds of the clock and of processors that it took
"""

import hashlib
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import buildroot
from paths import REPO, cache
from privateapt import Suite
from step import Failure, locked, step

# Raise when a build makes more of the same parts.
FORM = 2
# Beside what a module needs to be compiled.
PACKAGES = ["gcc", "binutils", "pahole", "libdw-dev", "lz4"]
# Where the compiler sees the source: debug information has this path.
COMPILED_AT = "/usr/src/mlx5sim-kernel"
OUT = "/usr/src/mlx5sim-out"
# An eighth of the compiler's time goes into following variables from register
# to register for a debugger. Types, lines and what a function begins with are
# there without; a debugger sees the drivers in build-driver's modules.
FLAGS = "-fno-var-tracking-assignments"
CONFIGS = REPO / "guest-tests/image"
OPTION = re.compile(r"(?:# )?(CONFIG_\w+)(?:=(.*)| is not set)$")


class Kernel:
    """A kernel that is built: paths of its parts."""

    def __init__(self, path):
        self.path = Path(path)
        self.vmlinux = self.path / "vmlinux"
        self.modules = self.path / "modules"
        self.headers = self.path / "headers"
        self.manifest = self.path / "manifest"

    def version(self):
        return (self.path / "version").read_text().strip()


class Cost:
    """What something takes from now on: the clock's time, and processors' of
    the programs that end."""

    def __init__(self):
        self.began, self.before = time.monotonic(), self._processor_s()

    @staticmethod
    def _processor_s():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def __str__(self):
        return (f"{time.monotonic() - self.began:.0f} s of the clock, "
                f"{self._processor_s() - self.before:.0f} s of processors")


def options(text):
    """Return the options of a configuration by name; "n" is one not set."""
    found = {}
    for line in text.splitlines():
        match = OPTION.match(line)
        if match:
            found[match[1]] = match[2] or "n"
    return found


def refused(asked, config):
    """Return what @asked wants and @config, as kbuild made it, has not: a line
    for each option."""
    have = options(config)
    return [f"{name}={value} was asked for, kbuild made it "
            f"{have.get(name, 'n')}" for name, value in options(asked).items()
            if have.get(name, "n") != value]


def root_for(suite, folders=()):
    """Return the BuildRoot that kernels of a suite are built in."""
    return buildroot.BuildRoot(suite, PACKAGES, folders)


def module_root(image):
    """Return the BuildRoot that modules for a guest's kernel are compiled in:
    its headers are in /usr/src/linux-headers-VERSION."""
    own, package = image.own_kernel(), f"linux-headers-{image.kernel_version()}"
    if own:
        return root_for(image.guest.suite, [(own.headers,
                                             f"/usr/src/{package}")])
    return buildroot.BuildRoot(image.guest.suite, [package])


def build(suite, package, config):
    """Return the Kernel of @package, a linux-source of @suite, with @config, a
    file of guest-tests/image/; built if it is not there yet."""
    root = root_for(suite)
    apt = Suite(suite)
    source = next(d for d in apt.resolve([package]) if d.name == package)
    asked = (CONFIGS / config).read_text()
    text = (f"{source.name} {source.version} {source.arch}\n"
            f"{config} {hashlib.sha256(asked.encode()).hexdigest()} -\n" +
            "".join(f"compiler/{line}\n"
                    for line in root.manifest.read_text().splitlines()))
    key = hashlib.sha256(f"{FORM}\n{text}".encode()).hexdigest()[:16]
    kernel = Kernel(cache("kernels", key))
    with locked(f"{kernel.path}.lock"):
        if not kernel.manifest.exists():
            shutil.rmtree(kernel.path, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=kernel.path.parent,
                                             prefix="tmp-") as folder:
                made = _make(Path(folder), suite, package, asked)
                (made / "manifest").write_text(text)
                made.rename(kernel.path)
    return kernel


class Tree:
    """A source tree that a kernel is being built in."""

    def __init__(self, root, folder):
        self.root = root
        self.source, self.out = folder / "source", folder / "out"
        self.log = cache("kernels", "make.log")
        self.log.unlink(missing_ok=True)

    def make(self, *words):
        """Run make in the build root; Failure with what went wrong."""
        done = self.root.run(
            ["make", "-C", COMPILED_AT, f"-j{os.cpu_count() + 1}",
             f"KCFLAGS={FLAGS}", *words],
            [(self.source, COMPILED_AT), (self.out, OUT)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace")
        with open(self.log, "a") as file:
            file.write(done.stdout)
        if done.returncode:
            lines = [line for line in done.stdout.splitlines()
                     if re.search(r"error|Error|undefined", line)]
            raise Failure("the kernel doesn't compile:\n" +
                          "\n".join(lines[:30] or [done.stdout[-3000:]]) +
                          f"\nall of it: {self.log}")


def _make(folder, suite, package, asked):
    """Build a kernel in @folder. Return: the folder with its parts."""
    cost = Cost()
    tree = Tree(root_for(suite), folder)
    buildroot.unpack_source(suite, package, ["*"], tree.source)
    tree.out.mkdir()
    _configure(tree, asked)
    with step("compile a kernel, once: about 20 minutes of two processors"):
        tree.make("all")
    _install(tree)
    (tree.out / "cost").write_text(f"{cost}\n")
    return tree.out


def _configure(tree, asked):
    (tree.source / "asked.config").write_text(asked)
    tree.make("KCONFIG_ALLCONFIG=asked.config", "allnoconfig")
    missing = refused(asked, (tree.source / ".config").read_text())
    if missing:
        raise Failure("the configuration asks for what kbuild doesn't grant:\n"
                      + "\n".join(missing))


def _install(tree):
    """Take the parts out of a tree that is built."""
    tree.make(f"INSTALL_MOD_PATH={OUT}/modules", "INSTALL_MOD_STRIP=1",
              "DEPMOD=true", "modules_install")
    tree.make("KBUILD_RUN_COMMAND=$(srctree)/scripts/package/"
              f"install-extmod-build {OUT}/headers", "run-command")
    source, out = tree.source, tree.out
    for name in ("build", "source"):
        for link in (out / "modules").glob(f"lib/modules/*/{name}"):
            link.unlink()
    shutil.copy(source / ".config", out / "config")
    shutil.copy(source / ".config", out / "headers/.config")
    shutil.copy(source / "System.map", out / "headers/System.map")
    shutil.copy(source / "include/config/kernel.release", out / "version")
    shutil.copy(source / "arch/x86/boot/bzImage", out / "vmlinux")
    shutil.move(source / "vmlinux", out / "headers/vmlinux")
    gdb = out / "headers/vmlinux-gdb.py"
    if not gdb.is_symlink():
        gdb.symlink_to("scripts/gdb/vmlinux-gdb.py")
    for path in source.rglob("*.ko"):
        target = out / "symbols" / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
