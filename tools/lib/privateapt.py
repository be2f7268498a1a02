# SPDX-License-Identifier: GPL-2.0-or-later
"""Packages of any Debian suite, without touching the system.

One private apt state per suite lives in the cache: its own source list,
indexes, and an empty dpkg status, so that a resolution gives everything that
a root file system of that suite needs. Root is not needed. The mirror, its
proxy and its timeouts are those of the machine's own apt configuration; no
host is named here.

    apt = Suite("trixie")
    debs = apt.resolve(["perftest"])     # with dependencies
    files = apt.fetch(debs)              # what is cached is not fetched again
    tar = Suite("native").source("qemu", "1:7.2+dfsg-7+deb12u18", ".orig.tar")

Suites: any name the mirror serves; "NAME-backports" prefers backports over
NAME; "native" is whatever the machine itself uses, updates and security too.
"""

import fcntl
import hashlib
import os
import re
import subprocess
import time
from collections import namedtuple
from pathlib import Path
from urllib.parse import unquote

try:
    from .paths import cache
except ImportError:
    from paths import cache

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
UPDATE_AGE_S = 24 * 3600

# Machine settings that a private state must not inherit.
NOT_INHERITED = re.compile(r"Acquire::(IndexTargets|Languages|Changelogs|"
                           r"CompressionTypes|cdrom|Check-Valid-Until|"
                           r"Check-Date)")

Deb = namedtuple("Deb", "name version arch uri filename sha256 size")
Target = namedtuple("Target", "uri release component label")


class AptError(Exception):
    """apt refused; the message says what it said."""


def machine_targets():
    """Return the Debian package indexes that this machine's apt uses.

    Third-party repositories are left out: by origin where the indexes were
    fetched before, else by the name of their component."""
    form = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(LABEL)|$(ORIGIN)"
    out = subprocess.run(
        ["apt-get", "indextargets", "--format", form,
         "Created-By: Packages"], capture_output=True, text=True)
    rows = [line.split("|") for line in out.stdout.splitlines()]
    rows = [row for row in rows if len(row) == 5]
    debian = [row for row in rows if row[4] == "Debian"] or \
             [row for row in rows if row[2] == "main" and not row[4]]
    targets = [Target(*row[:4]) for row in debian]
    if not targets:
        raise AptError("apt-get indextargets names no Debian mirror: put one "
                       "in /etc/apt/sources.list and run apt-get update")
    return targets


def is_security(target):
    """Tell the security archive, which is a tree of its own, from the rest."""
    return (target.label == "Debian-Security"
            or "-security" in target.release or "/updates" in target.release)


def mirror_uri():
    """Return the machine's main Debian mirror."""
    for target in machine_targets():
        if not is_security(target):
            return target.uri
    raise AptError("the machine's apt names only a security mirror")


def source_list(suite):
    """Return the lines of sources.list for @suite."""
    if suite == "native":
        places = [(t.uri, t.release, t.component) for t in machine_targets()]
    else:
        names = [suite]
        if suite.endswith("-backports"):
            names.insert(0, suite[:-len("-backports")])
        uri = mirror_uri()
        places = [(uri, name, "main") for name in names]
    return "".join(f"{kind} [signed-by={KEYRING}] {uri} {release} {comp}\n"
                   for uri, release, comp in dict.fromkeys(places)
                   for kind in ("deb", "deb-src"))


def inherited_settings():
    """Return the machine's transport settings (proxy, timeouts, retries)."""
    out = subprocess.run(["apt-config", "dump"], capture_output=True,
                         text=True, check=True).stdout
    lines = [line for line in out.splitlines()
             if line.startswith("Acquire::") and not line.endswith('"";')
             and not NOT_INHERITED.match(line)]
    return "\n".join(lines)


def sha256_of(path):
    """Return the SHA-256 of a file, in hex."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


class Suite:
    """The private apt state of one suite."""

    def __init__(self, suite):
        self.suite = suite
        self.root = cache("apt", suite, ".").resolve()
        self.pool = cache("apt", "pool", ".").resolve()
        self.conf = self.root / "apt.conf"
        self._setup()

    def _setup(self):
        for name in ("lists/partial", "cache/archives/partial", "parts",
                     "preferences", "trusted"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        (self.root / "status").touch()
        root = self.root
        settings = {
            "Dir::State": root, "Dir::State::lists": root / "lists",
            "Dir::State::status": root / "status",
            "Dir::Cache": root / "cache",
            "Dir::Etc::sourcelist": root / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::parts": root / "parts",
            "Dir::Etc::main": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": root / "preferences",
            "Dir::Etc::trustedparts": root / "trusted",
            "Acquire::Languages": "none",
            # Suites past their validity date are wanted all the same; only
            # this private state is told so.
            "Acquire::Check-Valid-Until": "false",
            # Root's apt would fetch as _apt, which can't write to our cache.
            "APT::Sandbox::User": "root" if os.getuid() == 0 else "",
            "APT::Install-Recommends": "false",
            "APT::Architecture": "amd64",
            # --print-uris shows MD5 otherwise.
            "Acquire::ForceHash": "SHA256",
            "Debug::NoLocking": "true",
        }
        if self.suite.endswith("-backports"):
            settings["APT::Default-Release"] = self.suite
        text = "".join(f'{k} "{v}";\n' for k, v in settings.items() if v)
        self.conf.write_text(text + inherited_settings() + "\n")

    def run(self, *argv):
        """Run an apt command on this state. Return: its standard output."""
        env = dict(os.environ, APT_CONFIG=str(self.conf), LC_ALL="C")
        done = subprocess.run(argv, env=env, capture_output=True, text=True)
        if done.returncode != 0:
            text = (done.stderr or done.stdout).strip()
            raise AptError(f"{' '.join(argv[:3])} ({self.suite}): {text}")
        return done.stdout

    def update(self, force=False):
        """Fetch the indexes, unless they are there and not a day old."""
        stamp = self.root / "updated"
        with open(self.root / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            fresh = (stamp.exists()
                     and time.time() - stamp.stat().st_mtime < UPDATE_AGE_S)
            if fresh and not force:
                return
            (self.root / "sources.list").write_text(source_list(self.suite))
            self.run("apt-get", "update", "-q", "--error-on=any")
            stamp.touch()

    def resolve(self, packages):
        """Return: the packages and all they depend on, as a list of Deb."""
        self.update()
        out = self.run("apt-get", "install", "-y", "--print-uris", "-qq",
                       *packages)
        debs = []
        for line in out.splitlines():
            match = re.match(r"'(\S+)' (\S+_\S+_\S+\.deb) (\d+) "
                             r"SHA256:(\w+)", line)
            if match:
                uri, filename, size, sha256 = match.groups()
                name, version, arch = filename[:-len(".deb")].split("_")
                debs.append(Deb(name, unquote(version), arch, uri, filename,
                                sha256, int(size)))
        if not debs:
            raise AptError(f"{self.suite}: apt resolved nothing: {out}")
        return sorted(debs)

    def newest(self, pattern):
        """Return the package name matching @pattern whose version is last."""
        self.update()
        names = self.run("apt-cache", "pkgnames").split()
        found = [n for n in names if re.fullmatch(pattern, n)]
        if not found:
            raise AptError(f"{self.suite} has no package like {pattern}")
        return max(found, key=lambda n: [int(x) for x in
                                         re.findall(r"\d+", n)])

    def fetch(self, debs):
        """Download what the cache lacks. Return: paths, in order."""
        self._download([(d.uri, self.pool / d.filename, d.sha256)
                        for d in debs])
        return [self.pool / d.filename for d in debs]

    def source(self, package, version=None, *parts):
        """Fetch files of a source package.

        @version: its version; None is the newest. An index that has another
        revision of the same upstream version serves as well, for it has the
        same original tarball.
        @parts: what a file name must contain, e.g. ".orig.tar"; all by
        default.
        Return: the paths of the files."""
        self.update()
        spec = package
        if version:
            spec += "=" + self._source_version(package, version)
        out = self.run("apt-get", "source", "--print-uris", "-qq",
                       "--only-source", spec)
        wanted = []
        for line in out.splitlines():
            match = re.match(r"'(\S+)' (\S+) \d+ SHA256:(\w+)", line)
            if match and (not parts or any(p in match[2] for p in parts)):
                wanted.append((match[1], self.pool / match[2], match[3]))
        wanted = [w for w in wanted if not w[1].name.endswith(".asc")]
        if not wanted:
            raise AptError(f"{spec}: no source file like {parts}")
        self._download(wanted)
        return [path for _, path, _ in wanted]

    def _source_version(self, package, version):
        out = self.run("apt-cache", "showsrc", "--only-source", package)
        have = re.findall(r"^Version: (\S+)", out, re.M)
        if version in have:
            return version
        upstream = version.rsplit("-", 1)[0]
        same = [v for v in have if v.rsplit("-", 1)[0] == upstream]
        if not same:
            raise AptError(f"{self.suite} has no source of {package} "
                           f"{version}; it has {', '.join(have) or 'none'}")
        return same[-1]

    def _download(self, wanted):
        self.pool.mkdir(parents=True, exist_ok=True)
        with open(self.pool / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            missing = [w for w in wanted if not self._have(*w[1:])]
            argv = ["/usr/lib/apt/apt-helper", "download-file"]
            for uri, path, sha256 in missing:
                argv += [uri, f"{path}.part", f"SHA256:{sha256}"]
            if missing:
                self.run(*argv)
            for _, path, _ in missing:
                # Renamed only when whole: a name in the pool is trusted.
                Path(f"{path}.part").rename(path)

    @staticmethod
    def _have(path, sha256):
        return path.exists() and sha256_of(path) == sha256
