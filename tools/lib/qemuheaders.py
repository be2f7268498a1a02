# SPDX-License-Identifier: GPL-2.0-or-later
"""The headers of one QEMU version, from the distribution's source package.

What a device needs of QEMU's source tree: include/, linux-headers/, trace/,
and the QAPI headers that QEMU's own script generates. QEMU's configure is not
run: QEMU 10's wants Python packages that Debian 12 lacks. Instead
config-host.h states what Debian's amd64 build has, as far as the headers ask.
"""

import platform
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from paths import cache
from privateapt import AptError, Suite
from progress import step

# Raise when the form of the header directory changes.
FORM = 1

WANTED = ("include", "linux-headers", "qapi", "scripts/qapi",
          "scripts/qapi-gen.py", "trace", "VERSION")

CONFIG_HOST = """\
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the headers ask of QEMU's configure, as Debian's amd64 build has it. */
#define CONFIG_LINUX 1
#define CONFIG_POSIX 1
#define CONFIG_IOVEC 1
#define CONFIG_MADVISE 1
#define CONFIG_POSIX_MADVISE 1
#define CONFIG_INT128 1
#define CONFIG_INT128_TYPE 1
#define CONFIG_ATOMIC64 1
#define CONFIG_SIGNALFD 1
#define CONFIG_EVENTFD 1
#define CONFIG_MODULES 1
#define CONFIG_TCG 1
#define CONFIG_KVM 1
#define HOST_X86_64 1
"""


def suites(version):
    """Return the names of the suites that may hold @version, likely first."""
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    names = ["native"]
    if release:
        names.append(f"{release}-backports")
    return list(dict.fromkeys(names + ["trixie", "trixie-backports", "sid"]))


def source_files(version):
    """Fetch the source package @version. Return: paths of its files."""
    said = {}
    # All of it where it is served; the original tarball alone is enough.
    for parts in ((), (".orig.tar",)):
        for name in suites(version):
            try:
                return Suite(name).source("qemu", version, *parts)
            except AptError as err:
                said[name] = re.sub(r"(?s).*?(E: [^\n]*).*", r"\1", str(err))
    raise AptError(f"no source of QEMU {version}:\n" + "\n".join(
        f"  {name}: {text}" for name, text in said.items()))


def unpack_orig(path, dest):
    """Unpack what is wanted of an original tarball into @dest."""
    def wanted(name):
        return any(name == w or name.startswith(w + "/") for w in WANTED)

    with tarfile.open(path) as tar:
        for member in tar:
            member.name = member.name.partition("/")[2]
            if wanted(member.name) and (member.isfile() or member.isdir()):
                tar.extract(member, dest, filter="data") \
                    if hasattr(tarfile, "data_filter") \
                    else tar.extract(member, dest)


def touched(patch):
    """Return [(file, text)] of the pieces of @patch that concern us."""
    pieces = re.split(r"(?m)^(?=--- (?:a/|[^/\s]+/|/dev/null))", patch)
    found = []
    for piece in pieces:
        match = re.match(r"--- (\S+).*\n\+\+\+ (\S+)", piece)
        if not match:
            continue
        name = match[2] if match[2] != "/dev/null" else match[1]
        name = name.partition("/")[2]
        if any(name == w or name.startswith(w + "/") for w in WANTED):
            # git's header of the next file would read as a patch of its own.
            found.append((name, re.split(r"(?m)^diff --git ", piece)[0]))
    return found


def apply_debian(path, dest):
    """Apply those of Debian's patches that touch what was unpacked.

    Point releases come to a stable Debian as patches, so the headers of the
    original tarball would be of another QEMU."""
    with tarfile.open(path) as tar:
        series = tar.extractfile("debian/patches/series").read().decode()
        for line in series.splitlines():
            name = line.partition("#")[0].strip()
            if not name:
                continue
            text = tar.extractfile(f"debian/patches/{name}").read()
            for _, piece in touched(text.decode("utf-8", "surrogateescape")):
                run_patch(piece, name, dest)


def run_patch(piece, name, dest):
    """Apply @piece of the patch @name below @dest."""
    done = subprocess.run(
        ["patch", "-p1", "-s", "-f", "--no-backup-if-mismatch", "-d", dest],
        input=piece.encode("utf-8", "surrogateescape"), capture_output=True)
    if done.returncode != 0:
        raise AptError(f"patch {name}: {done.stdout.decode()}")


def generate(dest):
    """Write the QAPI headers and the configuration headers into @dest."""
    subprocess.run([sys.executable, "-B", "scripts/qapi-gen.py", "-o",
                    "generated/qapi", "-b", "qapi/qapi-schema.json"],
                   cwd=dest, check=True)
    generated = Path(dest, "generated")
    for name in generated.glob("qapi/*.c"):
        name.unlink()
    (generated / "config-host.h").write_text(CONFIG_HOST)
    (generated / "config-poison.h").write_text("")
    for name in ("qapi", "scripts"):
        shutil.rmtree(Path(dest, name))


def headers(version):
    """Return the directory with the headers of QEMU's package @version."""
    final = cache("qemu-headers", f"{version}-{FORM}".replace(":", "_"))
    if final.is_dir():
        return final
    with step(f"headers of QEMU {version}"):
        files = source_files(version)
        temp = Path(f"{final}.part")
        shutil.rmtree(temp, ignore_errors=True)
        temp.mkdir()
        for path in files:
            if ".orig.tar" in path.name:
                unpack_orig(path, temp)
        for path in files:
            if ".debian.tar" in path.name:
                apply_debian(path, temp)
        generate(temp)
        temp.rename(final)
    return final
