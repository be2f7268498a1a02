# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb build-driver: RDMA core, mlx5_core and mlx5_ib from source, with
debug information, as modules for a guest's own kernel.

The source is a copy of what the guest's kernel was built from, or a folder of
the user's. It is copied on into a build folder, only what changed, so that
kbuild compiles only that again. The guest is given the modules without their
debug information; those with it stay in the build folder for a debugger. From
then on this checkout's guests of that name use them.
"""

import filecmp
import hashlib
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import buildroot
import driver
import guestkernel
import host
from paths import cache
from step import Failure, locked, say, step
from verbs import build as images

# Folders of the kernel's tree, and whether modules are made of them.
FOLDERS = {
    "drivers/infiniband/core": True,
    "drivers/infiniband/hw/mlx5": True,
    "drivers/net/ethernet/mellanox/mlx5/core": True,
    "drivers/net/ethernet/mellanox/mlxfw": False,
    "include/linux/mlx5": False,
    "include/rdma": False,
    "include/uapi/rdma": False,
}
# What the compiler makes of a function can be stopped in and read better when
# it stays one function, with its own arguments and its caller on the stack.
FLAGS = """-fno-partial-inlining -fno-ipa-sra -fno-ipa-cp -fno-ipa-icf
    -fno-optimize-sibling-calls""".split()
NEEDED = ("drivers/infiniband/core", "drivers/infiniband/hw/mlx5",
          "drivers/net/ethernet/mellanox/mlx5/core")


def source_package(version):
    """Return the package with the source of a kernel version."""
    match = re.match(r"(\d+\.\d+)", version)
    return f"linux-source-{match[1]}"


def own_source(guest, image):
    """Return the folder with what the guest's kernel was built from."""
    version = image.kernel_version()
    folder = cache("driver", f"source-{guest}-{version}")
    with locked(f"{folder}.lock"):
        if not folder.exists():
            part = Path(f"{folder}.part")
            buildroot.unpack_source(image.guest.suite,
                                    source_package(version),
                                    [f"{f}/*" for f in FOLDERS], part)
            part.rename(folder)
    return folder


def update(source, build):
    """Make @build a copy of @source, touching only what differs."""
    for name in FOLDERS:
        old = {p.relative_to(build) for p in (build / name).rglob("*")
               if p.suffix in (".c", ".h") and not p.name.endswith(".mod.c")}
        for path in sorted((source / name).rglob("*")):
            own = path.relative_to(source)
            if not path.is_file() or path.suffix in (".o", ".ko", ".cmd"):
                continue
            old.discard(own)
            target = build / own
            if not target.exists() or not filecmp.cmp(path, target, False):
                target.parent.mkdir(parents=True, exist_ok=True)
                # A new time: kbuild must see that it changed.
                shutil.copyfile(path, target)
        for gone in old:
            (build / gone).unlink()
    lines = "".join(f"obj-m += {f}/\n" for f, made in FOLDERS.items() if made)
    kbuild = build / "Kbuild"
    if not kbuild.exists() or kbuild.read_text() != lines:
        kbuild.write_text(lines)


def errors_of(text):
    """Return what of make's output tells why it failed."""
    lines = [line for line in text.splitlines()
             if re.search(r"error|Error|undefined|No rule", line)]
    return "\n".join(lines[:30] or text.splitlines()[-30:])


def compile_modules(root, version, build):
    """Run kbuild, with the source's own headers over the kernel's.

    The sources are there as well: some trace headers include themselves by a
    path from the kernel's include/trace."""
    headers = f"/usr/src/linux-headers-{version}"
    if root.folders:
        # One tree, of a kernel of ours.
        common = headers
    else:
        common = re.sub(r"-(?:\w+)$", "-common", headers)
    folders = [(build, driver.COMPILED_AT)]
    folders += [(build / name, f"{common}/{name}") for name in FOLDERS
                if (build / name).exists()]
    done = root.run(["make", "-C", headers, f"-j{os.cpu_count() + 1}",
                     f"M={driver.COMPILED_AT}", f"KCFLAGS={' '.join(FLAGS)}", "modules"],
                    folders, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, text=True, errors="replace")
    (build / "make.log").write_text(done.stdout)
    if done.returncode:
        raise Failure(f"the driver doesn't compile:\n{errors_of(done.stdout)}"
                      f"\nall of it: {build / 'make.log'}")


def clear_addresses(path):
    """Let no section of a module have an address of its own.

    The linker gives some to sections of data, which nothing uses; but when one
    has, gdb takes debug information on all sections for that of .text
    (default_symfile_offsets)."""
    with open(path, "r+b") as file:
        header = file.read(64)
        table, = struct.unpack_from("<Q", header, 40)
        size, count = struct.unpack_from("<HH", header, 58)
        for i in range(count):
            file.seek(table + i * size + 16)
            file.write(bytes(8))


def strip_modules(build, out):
    """Write the modules without debug information below @out. Return: a hash
    of them."""
    digest = hashlib.sha256()
    for path in sorted((build / "drivers").rglob("*.ko")):
        own = path.relative_to(build)
        target = out / own
        target.parent.mkdir(parents=True, exist_ok=True)
        clear_addresses(path)
        subprocess.run(["strip", "--strip-debug", "-o", str(target),
                        str(path)], check=True)
        digest.update(str(own).encode() + target.read_bytes())
    return digest.hexdigest()[:16]


def check_source(source):
    for name in NEEDED:
        if not (source / name / "Makefile").exists():
            raise Failure(f"{source} is no kernel source: it has no {name}")


def begin_with_anothers(folder, version):
    """Begin with what another checkout compiled for the same kernel, if there
    is one: only what differs is compiled then."""
    guest = folder.name.rpartition("-")[0]
    for other in sorted(folder.parent.glob(f"{guest}-*")):
        if not (other / "key").exists() or other == folder or \
                (other / "kernel").read_text() != version:
            continue
        with locked(f"{other}.lock"), step(f"begin with {other.name}"):
            part = folder / "build.part"
            shutil.rmtree(part, ignore_errors=True)
            shutil.copytree(other / "build", part, symlinks=True)
            part.rename(folder / "build")
        return


def make(guest, image, source):
    """Build the driver of @source for a guest. Return: the Driver."""
    folder = driver.place(guest)
    version = image.kernel_version()
    root = guestkernel.module_root(image)
    build = folder / "build"
    cost = guestkernel.Cost()
    with locked(f"{folder}.lock"):
        # While it is neither the old one nor the new one, it is none.
        (folder / "key").unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        if not build.exists():
            begin_with_anothers(folder, version)
        build.mkdir(exist_ok=True)
        update(source, build)
        with step(f"compile the driver for {version}"):
            compile_modules(root, version, build)
        shutil.rmtree(folder / "modules", ignore_errors=True)
        key = strip_modules(build, folder / "modules")
        (folder / "kernel").write_text(version)
        (folder / "source").write_text(str(source))
        (folder / "cost").write_text(f"{cost}\n")
        (folder / "key").write_text(key)
    return driver.Driver(folder)


def for_debugger(guest, image):
    """Return the Driver that a debugger is to see: the one that the guest
    uses, or what its own drivers were built from, built if it is not yet."""
    used = driver.current(image)
    if used:
        return used
    own = own_source(guest, image)
    found = driver.built(image)
    if found and found.source == str(own):
        return found
    say("the guest's own drivers have no debug information: building them "
        "from their source, once")
    return make(guest, image, own)


def build_driver(args):
    host.ensure_packages()
    image = images.build(args.guest)
    used = driver.place(args.guest) / "used"
    if args.stock:
        used.unlink(missing_ok=True)
        say(f"the guest {args.guest} has its own drivers again")
        return 0
    own = own_source(args.guest, image)
    source = Path(args.source or own).resolve()
    if not source.exists():
        shutil.copytree(own, source)
        say(f"the source is in {source}: edit it, and say this again")
    check_source(source)
    made = make(args.guest, image, source)
    used.touch()
    say(f"the guest {args.guest} uses these drivers from now on "
        "(build-driver --stock: its own again)")
    say(f"with debug information: {made.folder / 'build'}")
    return 0
