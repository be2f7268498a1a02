# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds a guest from a suite's packages, without root.

The packages are resolved and fetched by a private apt (tools/lib), unpacked
by dpkg-deb, and packed into one read-only erofs image. What maintainer
scripts would have done and a guest needs is done here by hand. The result
lies in the cache under a hash of the packages and of these files:

    vmlinux      the kernel, for QEMU's PVH entry
    initrd       the first stage: init.c and the modules that reach the root
    root.erofs   the root file system
    manifest     every package with its version
    sysroot/     headers and libraries to compile for this guest
    kernel       for a kernel of ours: the folder that it is in
"""

import fnmatch
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import cpio
import guestkernel
import guests
import kernel
import rows
from paths import cache
from privateapt import Suite
from step import Failure, locked, step

HERE = Path(__file__).resolve().parent
LOADER = "usr/lib64/ld-linux-x86-64.so.2"
LIBS = "usr/lib/x86_64-linux-gnu"


class Image:
    """A guest that is built: its row of the table, paths of its parts."""

    def __init__(self, guest, path):
        self.guest = guest
        self.path = Path(path)
        self.key = self.path.name
        self.vmlinux = self.path / "vmlinux"
        self.initrd = self.path / "initrd"
        self.root = self.path / "root.erofs"
        self.manifest = self.path / "manifest"
        self.sysroot = self.path / "sysroot"

    def kernel_version(self):
        return (self.path / "version").read_text().strip()

    def own_kernel(self):
        """Return the guestkernel.Kernel, or None if it is a package's."""
        note = self.path / "kernel"
        if not note.exists():
            return None
        return guestkernel.Kernel(note.read_text())


def builder_hash(guest):
    """Return a hash of what determines an image beside the suite's state.

    Of the table of guests only the own row counts, and of that what goes into
    the image."""
    image = guest._replace(like=None, memory=None, slow=None)
    digest = hashlib.sha256(repr(image).encode())
    if guest.config:
        digest.update((HERE / guest.config).read_bytes())
    for path in sorted(HERE.iterdir()):
        if path.suffix in (".py", ".c", ".sh") and path.name != "rows.py":
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def build(name, refresh=False):
    """Return the Image of guest @name, building what is missing.

    Packages are resolved once per builder version; @refresh asks the mirror
    again for newer ones."""
    guest = rows.GUESTS.get(name)
    if not guest:
        raise Failure(f"no guest '{name}': there are "
                      f"{', '.join(sorted(rows.GUESTS))}")
    folder = cache("guests", name, ".").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "lock"):
        current = folder / f"current-{builder_hash(guest)}"
        if current.exists() and not refresh:
            current.touch()
            return Image(guest, folder / current.read_text())
        image = _build(guest, folder)
        current.write_text(image.key)
        _tidy(folder, current)
        return image


def _tidy(folder, newest):
    """Keep, of the images of one guest, those of the builders used last: a
    checkout that is older or newer than this one has a use for its own."""
    notes = sorted(folder.glob("current-*"), reverse=True,
                   key=lambda path: path.stat().st_mtime_ns)
    kept = {note.read_text() for note in notes[:3]} | {newest.read_text()}
    for note in notes[3:]:
        note.unlink()
    for path in folder.iterdir():
        if path.is_dir() and path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)


def _build(guest, folder):
    apt = Suite(guest.suite)
    with step(f"guest {guest.name}: resolve packages"):
        debs, version = _resolve(apt, guest)
    text = "".join(f"{d.name} {d.version} {d.arch}\n" for d in debs)
    own = None
    if guest.config:
        own = guestkernel.build(guest.suite, version, guest.config)
        version = own.version()
        text += own.manifest.read_text()
    key = hashlib.sha256((text + builder_hash(guest)).encode())
    image = Image(guest, folder / key.hexdigest()[:16])
    if image.manifest.exists():
        return image
    megabytes = sum(d.size for d in debs) / 1e6
    with step(f"guest {guest.name}: fetch {len(debs)} packages "
              f"({megabytes:.0f} MB, less what the cache has)"):
        files = dict(zip((d.name for d in debs), apt.fetch(debs)))
    shutil.rmtree(image.path, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="tmp-") as tmp:
        out = Path(tmp, "out")
        out.mkdir()
        with step(f"guest {guest.name}: build the image"):
            _assemble(guest, files, version, own, Path(tmp, "root"), out)
        (out / "version").write_text(version + "\n")
        (out / "manifest").write_text(text)
        if own:
            (out / "kernel").write_text(str(own.path))
        out.rename(image.path)
    return image


def _resolve(apt, guest):
    """Return the packages to unpack, and the kernel's version, or the name of
    the package with its source."""
    name = apt.newest(guest.kernel)
    version = name[len("linux-image-"):]
    parts = [p.format(v=version) for p in guest.kernel_parts]
    wanted = guests.PACKAGES + guest.extra
    debs = [d for d in apt.resolve(wanted + guests.SYSROOT_PACKAGES)
            if not _is_left_out(d.name)]
    if guest.config:
        return sorted(set(debs)), name
    debs += [d for d in apt.resolve([name] + parts)
             if d.name in [name] + parts]
    return sorted(set(debs)), version


def _is_left_out(name):
    return any(fnmatch.fnmatchcase(name, p) for p in guests.LEFT_OUT)


def _unpack(deb, root):
    """Unpack one package; links such as /bin -> usr/bin stay links."""
    data = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)],
                            stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", str(root)],
                   stdin=data.stdout, check=True)
    if data.wait():
        raise Failure(f"dpkg-deb can't unpack {deb}: remove it and try again")


def _is_for_sysroot(name):
    return name.endswith("-dev") or name in ("libc-dev-bin", "rpcsvc-proto")


def _assemble(guest, files, version, own, root, out):
    root.mkdir()
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    sysroot = out / "sysroot"
    for name in ("lib", "lib64"):
        (sysroot / "usr" / name).mkdir(parents=True)
        (sysroot / name).symlink_to(f"usr/{name}")
    boot = root.parent / "boot"
    boot.mkdir()
    for name, deb in files.items():
        if re.match(r"linux-(image|base|binary|modules)-", name):
            _unpack(deb, boot)
        elif _is_for_sysroot(name):
            _unpack(deb, sysroot)
        else:
            _unpack(deb, root)
    _fill_sysroot(root, sysroot)
    _configure(root, guest, version)
    if own:
        shutil.copy(own.vmlinux, out / "vmlinux")
        _install_modules(own.modules, root, version, out, True)
    else:
        kernel.extract_vmlinux(_vmlinuz(boot), out / "vmlinux")
        _install_modules(boot, root, version, out)
    _compile_python(root)
    _prune(root)
    _pack(root, out / "root.erofs")


def _vmlinuz(boot):
    """Return the kernel; newer packages keep it beside its modules."""
    for pattern in ("boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz"):
        for path in boot.glob(pattern):
            return path
    raise Failure("the kernel's packages hold no vmlinuz")


def _fill_sysroot(root, sysroot):
    """Give the -dev packages the libraries they link to."""
    libs = sysroot / LIBS
    for path in (root / LIBS).glob("*.so*"):
        target = libs / path.name
        if not target.exists() and not target.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target, follow_symlinks=False)
    shutil.copy2(root / LOADER, sysroot / LOADER)


def _configure(root, guest, version):
    """Do what maintainer scripts would have done."""
    etc = root / "etc"
    for name in ("passwd", "group"):
        shutil.copy(root / f"usr/share/base-passwd/{name}.master", etc / name)
    passwd = (etc / "passwd").read_text().replace("root:*:", "root::")
    (etc / "passwd").write_text(passwd)
    (etc / "hosts").write_text("127.0.0.1 localhost mlx5sim\n"
                               "::1 localhost ip6-localhost\n")
    (etc / "hostname").write_text("mlx5sim\n")
    (etc / "fstab").write_text("")
    (etc / "resolv.conf").write_text("")
    (etc / "modprobe.d").mkdir(exist_ok=True)
    for link, to in {"usr/bin/awk": "gawk", "usr/bin/which":
                     "which.debianutils", "usr/bin/pager": "less",
                     "usr/bin/mpirun": "mpirun.openmpi",
                     "usr/bin/mpiexec": "mpiexec.openmpi",
                     f"{LIBS}/libblas.so.3": "blas/libblas.so.3",
                     "etc/mtab": "/proc/self/mounts"}.items():
        path = root / link
        if not path.exists() and not path.is_symlink():
            path.symlink_to(to)
    for name in ("dev", "proc", "sys", "run", "tmp", "root", "mnt", "share",
                 "usr/lib/mlx5sim"):
        (root / name).mkdir(exist_ok=True)
    init = root / "usr/lib/mlx5sim/init"
    subprocess.run(["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-static",
                    "-o", init, HERE / "init.c"], check=True)
    for script in HERE.glob("*.sh"):
        target = root / "usr/lib/mlx5sim" / script.stem
        shutil.copy(script, target)
        target.chmod(0o755)
    _gunzip_tests(root / "usr/share/doc/rdma-core/tests")


def _gunzip_tests(folder):
    for path in folder.glob("*.gz"):
        plain = path.with_suffix("")
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        shutil.copystat(path, plain)
        path.unlink()


def run_guest_program(root, program, *argv, argv0=None, **env):
    """Run a program of the guest on this machine, with the guest's loader and
    libraries; no chroot, so no root needed."""
    command = [root / LOADER, "--library-path", root / LIBS]
    if argv0:
        command += ["--argv0", argv0]
    subprocess.run([*command, root / program, *argv], check=True,
                   env=dict(os.environ, **env), stdout=subprocess.DEVNULL)


def _install_modules(boot, root, version, out, every=False):
    trees = [boot / "lib/modules" / version, boot / "usr/lib/modules" / version]
    tree = next(t for t in trees if t.exists())
    modules = kernel.Modules(tree)
    target = root / "usr/lib/modules" / version
    target.mkdir(parents=True)
    modules.install(modules.select(modules.by_name if every
                                   else guests.MODULES), target)
    run_guest_program(root, "usr/bin/kmod", "-b", root, version,
                      argv0="depmod")
    order = modules.select(guests.BOOT_MODULES)
    files = {"init": (0o755, (root / "usr/lib/mlx5sim/init").read_bytes()),
             "modules": (0o644, "".join(f"/m/{n}.ko\n" for n in order)
                         .encode())}
    for name in order:
        files[f"m/{name}.ko"] = (0o644, modules.image(name))
    cpio.write(out / "initrd", files, ["m", "lower", "rw", "new", "proc",
                                       "sys"])


def _compile_python(root):
    """Compile Python's modules, as its maintainer scripts do.

    The guest's own interpreter does it: byte code fits one version only. It
    can't start workers, for it doesn't find itself without its loader."""
    python = next(p for p in sorted((root / "usr/bin").glob("python3.*"))
                  if re.fullmatch(r"python3\.\d+", p.name))
    folders = [root / "usr/lib" / python.name, root / "usr/lib/python3",
               root / "usr/share/doc/rdma-core/tests"]
    run_guest_program(root, f"usr/bin/{python.name}", "-m", "compileall", "-q",
                      "-s", root, "-p", "/",
                      *[f for f in folders if f.exists()],
                      PYTHONHOME=str(root / "usr"))


def _prune(root):
    for name in guests.PRUNE:
        shutil.rmtree(root / name, ignore_errors=True)
    for path in (root / "usr/share/doc").iterdir():
        if path.name == "rdma-core":
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _pack(root, out):
    # Stored, not compressed: no byte is decompressed by an emulated CPU.
    # Modification times are kept, else Python takes its byte code for stale.
    subprocess.run(["mkfs.erofs", "--quiet", "--all-root", "--preserve-mtime",
                    str(out), str(root)], check=True,
                   stdout=subprocess.DEVNULL)
