# SPDX-License-Identifier: GPL-2.0-or-later
"""Drivers that a user built for a guest (build-driver), instead of its own.

What was built lies in a folder of the cache for each guest and checkout:

    build/      what was compiled, with debug information
    modules/    the modules without it, as the guest is given them
    kernel      the kernel version that they are for
    key         tells one build from another
    source      the folder that the source came from
    used        there if the guest is to use them; the verb gdb uses them
                without it, too
"""

import hashlib
import tarfile
import tempfile

from paths import REPO, cache
from step import Failure

# Where the compiler sees the source: the same for all, so that a build folder
# may be moved. Debug information has this path.
COMPILED_AT = "/usr/src/mlx5sim"


def place(guest):
    """Return the folder of this checkout's driver for a guest."""
    checkout = hashlib.sha256(str(REPO).encode()).hexdigest()[:8]
    return cache("driver", f"{guest}-{checkout}")


class Driver:
    """Modules that were built for a guest.

    @modules: {path below the kernel's module tree: file, stripped}
    @key: tells one build from another"""

    def __init__(self, folder):
        self.folder = folder
        self.modules = {str(p.relative_to(folder / "modules")): p for p in
                        sorted((folder / "modules").rglob("*.ko"))}
        self.key = (folder / "key").read_text()
        self.version = (folder / "kernel").read_text()
        self.source = (folder / "source").read_text()

    def install(self, agent):
        """Put the modules over those of a running guest."""
        tree = f"/usr/lib/modules/{self.version}"
        with tempfile.TemporaryFile() as file:
            self.pack(file)
            file.seek(0)
            status = agent.run(["tar", "-x", "-C", f"{tree}/kernel"],
                               stdin=file.fileno(), stdout=2, timeout_s=300)
        if not status:
            status = agent.run(["depmod", "-a", self.version], stdout=2,
                               timeout_s=300)
        if status:
            raise Failure("the guest can't take the driver", 125)

    def pack(self, file):
        """Write a tar archive of the modules."""
        with tarfile.open(fileobj=file, mode="w") as tar:
            for name, path in self.modules.items():
                tar.add(path, name)


def built(image):
    """Return the Driver that was built for the guest of @image, or None."""
    folder = place(image.path.parent.name)
    if not (folder / "key").exists():
        return None
    if (folder / "kernel").read_text() != image.kernel_version():
        return None
    return Driver(folder)


def current(image):
    """Return the Driver that the guest of @image is to use, or None."""
    guest = image.path.parent.name
    if not (place(guest) / "used").exists():
        return None
    found = built(image)
    if not found:
        raise Failure("the guest was to use a driver of build-driver, but it "
                      "did not compile, or is for another kernel; build it "
                      "again, or say: tools/mlx5sim build-driver --guest "
                      f"{guest} --stock", 1)
    return found
