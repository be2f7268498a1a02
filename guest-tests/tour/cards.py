# SPDX-License-Identifier: GPL-2.0-or-later
"""The cards of the guest, by number as on QEMU's command line: their devices
of the kernel, how the driver is taken from them and given back."""

import os
import subprocess
import time
from pathlib import Path

DRIVER = Path("/sys/bus/auxiliary/drivers/mlx5_ib.rdma")


def sh(command):
    """Run a shell command. Return: its output, without the last newline."""
    done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL)
    return done.stdout.rstrip("\n")


def wait(test, seconds=10):
    """Try until @test() is true. Return: whether it became so."""
    end = time.monotonic() + seconds * int(os.environ.get("SLOW", 1))
    while not test():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def load():
    """Load the drivers. The driver is to keep no memory keys in stock: they
    are thousands, and each unbind would have to destroy them."""
    sh("modprobe mlx5_core prof_sel=0; modprobe mlx5_ib")
    sh("modprobe -a ib_uverbs ib_umad rdma_ucm")
    return sh("/usr/lib/mlx5sim/up")


class Card:
    """One card."""

    def __init__(self, number, pci=None):
        self.number = number
        self.pci = pci or f"0000:00:{8 + number:02x}.0"
        self.path = Path("/sys/bus/pci/devices") / self.pci

    def auxiliary(self):
        """Return the name of the auxiliary device for RDMA."""
        return next(self.path.glob("mlx5_core.rdma.*")).name

    def ibdev(self):
        """Return the name of the RDMA device, None if there is none."""
        found = list(self.path.glob("infiniband/*"))
        return found[0].name if found else None

    def netdev(self):
        found = list(self.path.glob("net/*"))
        return found[0].name if found else None

    def uverbs(self):
        """Return the character device of its verbs."""
        return "/dev/infiniband/" + next(self.path.glob(
            "infiniband_verbs/*")).name

    def bound(self):
        """Tell whether mlx5_ib has the card."""
        return (DRIVER / self.auxiliary()).exists()

    def unbind(self):
        """Take mlx5_ib from the card; it is gone when this returns."""
        (DRIVER / "unbind").write_text(self.auxiliary())

    def bind(self):
        """Let mlx5_ib probe; it is done when this returns."""
        (DRIVER / "bind").write_text(self.auxiliary())

    def active(self):
        """Tell whether the port is up and has the GID of an IPv4 address."""
        name = self.ibdev()
        if not name:
            return False
        port = Path(f"/sys/class/infiniband/{name}/ports/1")
        gids = sh(f"grep -h ^0000:0000:0000:0000:0000:ffff {port}/gids/[0-9]")
        return "ACTIVE" in (port / "state").read_text() and bool(gids)
