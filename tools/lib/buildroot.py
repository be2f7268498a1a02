# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest's own compiler and kernel headers, to build kernel code with.

A module must be compiled as its kernel was: by the suite's gcc, with the
suite's objtool and modpost, and those run with the suite's C library only. So
the packages lie unpacked in the cache, and what is built runs in a mount
namespace with that folder as its root. A user other than root needs user
namespaces for it.
"""

import fnmatch
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from paths import cache
from privateapt import Suite
from step import Failure, locked, step

# Raise when more is unpacked than before.
FORM = 1
PACKAGES = """base-files bash bc bison bzip2 coreutils cpio dash diffutils
    findutils flex gawk grep gzip kmod libc6-dev libelf-dev libssl-dev m4 make
    perl-base python3-minimal sed tar xz-utils zstd""".split()

# What kernel packages depend on, and a compiler has no use for.
LEFT_OUT = """linux-image-* linux-binary-* linux-modules-* initramfs-tools*
    systemd udev dracut-install klibc-utils libklibc libsystemd-shared
    logsave mount debconf""".split()

ENTER = """
set -e
root=$1; shift
for folder in /dev /proc; do mount --rbind $folder "$root$folder"; done
while [ "$1" != -- ]; do
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
    shift 2
done
shift
exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/ LC_ALL=C KBUILD_BUILD_USER=mlx5sim KBUILD_BUILD_HOST=mlx5sim \
    KBUILD_BUILD_TIMESTAMP=2026-01-01 "$@"
"""


def unpack(files, root):
    """Unpack packages; links such as /bin -> usr/bin stay links."""
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in ("dev", "proc", "tmp"):
        (root / name).mkdir()
    for path in files:
        data = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(path)],
                                stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C",
                        str(root)], stdin=data.stdout, check=True)
        if data.wait():
            raise Failure(f"dpkg-deb can't unpack {path}: remove it and try "
                          "again")
    # What maintainer scripts do.
    for link, to in (("usr/bin/awk", "gawk"), ("usr/bin/sh", "dash")):
        path = root / link
        if not path.exists() and not path.is_symlink():
            path.symlink_to(to)
    compilers = sorted((root / "usr/bin").glob("x86_64-linux-gnu-gcc-[0-9]*"))
    if compilers and not (root / "usr/bin/gcc").exists():
        (root / "usr/bin/gcc").symlink_to(compilers[-1].name)
        (root / "usr/bin/cc").symlink_to("gcc")


class BuildRoot:
    """The root file system that kernel code of one suite is built in.

    @folders: pairs of a folder here and one there, to be seen in it.
    @manifest: a file with a line for each package."""

    def __init__(self, suite, packages, folders=()):
        self.folders = list(folders)
        asked = " ".join([str(FORM), suite, *PACKAGES, *packages])
        note = cache("buildroot", "current-" +
                     hashlib.sha256(asked.encode()).hexdigest()[:16])
        with locked(f"{note}.lock"):
            if not note.exists() or not self._manifest(
                    note.read_text()).exists():
                note.write_text(self._resolve(suite, packages))
        self.path = note.parent / note.read_text()
        self.manifest = self._manifest(self.path.name)

    @staticmethod
    def _manifest(key):
        return cache("buildroot", f"{key}.manifest")

    def _resolve(self, suite, packages):
        """Return the name of the folder with the packages unpacked, as they
        are now."""
        apt = Suite(suite)
        with step(f"compiler of {suite}: resolve packages"):
            debs = [d for d in apt.resolve(PACKAGES + packages)
                    if not any(fnmatch.fnmatchcase(d.name, p)
                               for p in LEFT_OUT)]
        text = "".join(f"{d.name} {d.version} {d.arch}\n" for d in debs)
        key = hashlib.sha256(f"{FORM}\n{text}".encode()).hexdigest()[:16]
        self.path = cache("buildroot", key)
        if not self.path.exists():
            self._make(apt, suite, debs)
        self._manifest(key).write_text(text)
        return key

    def _make(self, apt, suite, debs):
        megabytes = sum(d.size for d in debs) / 1e6
        with step(f"compiler of {suite}: {len(debs)} packages "
                  f"({megabytes:.0f} MB, less what the cache has)"):
            files = apt.fetch(debs)
            with tempfile.TemporaryDirectory(dir=self.path.parent,
                                             prefix="tmp-") as tmp:
                root = Path(tmp, "root")
                root.mkdir()
                unpack(files, root)
                root.rename(self.path)

    def command(self, argv, folders):
        words = ["unshare", "-m" if os.getuid() == 0 else "-rm", "sh", "-c",
                 ENTER, "sh", str(self.path)]
        for here, there in [*self.folders, *folders]:
            words += [str(here), str(there)]
        return [*words, "--", *argv]

    def run(self, argv, folders=(), **popen):
        """Run a command with this root. @folders are to be seen in it beside
        its own. Return: the CompletedProcess."""
        return subprocess.run(self.command(argv, folders), **popen)


def unpack_source(suite, package, wanted, out):
    """Unpack @wanted, patterns of tar, of a linux-source package to @out."""
    apt = Suite(suite)
    debs = [d for d in apt.resolve([package]) if d.name == package]
    with step(f"{package} {debs[0].version}: fetch and unpack"):
        deb = str(apt.fetch(debs)[0])
        shutil.rmtree(out, ignore_errors=True)
        Path(out).mkdir(parents=True)
        # The package holds one tarball, in which all lies in one folder.
        command = (f"set -o pipefail; dpkg-deb --fsys-tarfile "
                   f"{shlex.quote(deb)} | tar -xO --wildcards "
                   f"'./usr/src/*.tar.xz' | xz -dcT0 | tar -x -C "
                   f"{shlex.quote(str(out))} --strip-components=1 --wildcards "
                   + " ".join(shlex.quote(f"*/{w}") for w in wanted))
        subprocess.run(["bash", "-c", command], check=True)
    return debs[0].version
