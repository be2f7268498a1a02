# SPDX-License-Identifier: GPL-2.0-or-later
"""The measures of the bench that are of this machine, and what it is."""

import contextlib
import hashlib
import os
import platform
import re
import subprocess
import time
from pathlib import Path

import benchread
import machine
from benchmeasure import BENCH
from paths import cache
from step import Failure

COPY_BYTES = {"memory": 256 << 20, "cached": 64 << 10}


def compiled(source):
    """Compile a program for this machine. Return: its path."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    out = cache("programs", f"host-{digest}", source.stem)
    if not out.exists():
        done = subprocess.run(
            ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Werror",
             "-o", f"{out}.part", str(source)], capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"{source} doesn't compile:\n{done.stderr}")
        os.rename(f"{out}.part", out)
    return out


class Copy:
    """How fast one thread of the host copies memory."""

    sides = tuple(COPY_BYTES)

    @contextlib.contextmanager
    def open(self, _):
        program = compiled(BENCH / "host_copy.c")
        yield lambda side: benchread.pairs(subprocess.run(
            [str(program), str(COPY_BYTES[side])], check=True, text=True,
            capture_output=True).stdout)


def field(text, name):
    """Return the value of a line "name : value"."""
    found = re.search(rf"(?m)^{name}\s*:\s*(.*)$", text)
    return found[1] if found else "?"


def describe(context, image):
    """Return what the figures depend on."""
    cpu = Path("/proc/cpuinfo").read_text()
    memory = field(Path("/proc/meminfo").read_text(), "MemTotal").split()
    commit = subprocess.run(["git", "-C", str(BENCH), "describe", "--always",
                             "--dirty"], capture_output=True, text=True)
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "cores": os.cpu_count(),
        "cpu": field(cpu, "model name"),
        "hypervisor": "hypervisor" in field(cpu, "flags").split(),
        "memory_gib": round(int(memory[0]) / (1 << 20), 1),
        "kernel": platform.release(),
        "load": os.getloadavg()[0],
        "qemu": ".".join(map(str, context.emulator.version)),
        "accelerator": "tcg, thread=multi",
        "guest": f"{context.guest}, Linux {image.kernel_version()}, "
                 f"{machine.CPUS} processors, {image.guest.memory}",
        "mlx5sim": commit.stdout.strip() or "?",
    }


def described(facts):
    """Return that in words."""
    where = "virtual machine" if facts["hypervisor"] else "machine"
    return (f"{facts['date']}: {where} with {facts['cores']} x {facts['cpu']}, "
            f"{facts['memory_gib']} GiB, Linux {facts['kernel']}, load "
            f"{facts['load']:.1f} at the start; QEMU {facts['qemu']} "
            f"({facts['accelerator']}); guest {facts['guest']}; mlx5sim "
            f"{facts['mlx5sim']}")
