# SPDX-License-Identifier: GPL-2.0-or-later
"""The measures of the bench that leave the guest: TCP to this machine, and a
second guest on the wire."""

import contextlib
import json
import subprocess
import time

import benchmeasure
import benchread
import host
import pair
from step import Failure
from verbs import build

PORT = 5201
SECONDS = 3
SUBNETS = {"mlx5sim": 2, "virtio-net": 4}
DRIVERS = {"mlx5sim": "mlx5_core", "virtio-net": "virtio_net"}
QEMU_WORDS = [
    "-netdev", "user,id=n0,ipv6=off",
    "-netdev", "user,id=n2,net=10.0.4.0/24,ipv6=off",
    "-device", "virtio-net-pci,netdev=n2,addr=0x13"]

# Words: the driver, the subnet.
ADDRESS = """
modprobe %s
for i in $(seq 100); do
    for path in /sys/class/net/*; do
        driver=$(readlink "$path/device/driver")
        [ "${driver##*/}" = %s ] && break 2
    done
    sleep 0.05
done
ip address flush dev "${path##*/}" scope global
ip link set "${path##*/}" up
ip address add 10.0.%d.15/24 dev "${path##*/}"
"""


@contextlib.contextmanager
def server():
    """Run iperf3's server on this machine. Gives its port."""
    host.ensure_packages("iperf3")
    process = subprocess.Popen(
        ["iperf3", "--server", "--bind", "127.0.0.1", "--port", str(PORT)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL)
    try:
        time.sleep(0.3)
        if process.poll() is not None:
            raise Failure(f"iperf3 does not listen on port {PORT}")
        yield PORT
    finally:
        process.kill()
        process.wait()


def iperf_mbit(text):
    """Return the Mbit/s that arrived, of iperf3's JSON."""
    told = json.loads(text)
    if "error" in told:
        raise benchread.NoFigure(f"iperf3: {told['error']}")
    # What the other end got, or what we did.
    return told["end"]["sum_received"]["bits_per_second"] / 1e6


class Tcp:
    """iperf3 from the guest to this machine and back, through the card and
    through virtio-net, each on a user netdev of its own, in one guest."""

    sides = ("virtio-net", "mlx5sim")

    @contextlib.contextmanager
    def open(self, context):
        with server() as port, benchmeasure.guest(
                context, rxe=False, devices=["netdev=n0"],
                qemu_args=QEMU_WORDS) as inside:
            for side in self.sides:
                inside.shell(ADDRESS % (DRIVERS[side], DRIVERS[side],
                                        SUBNETS[side]))
            time.sleep(2)

            def sample(side):
                found = {}
                for way, more in (("send", []), ("receive", ["--reverse"])):
                    found[way] = iperf_mbit(inside.capture(
                        "iperf3", "--client", f"10.0.{SUBNETS[side]}.2",
                        "--port", str(port), "--time", str(SECONDS),
                        "--json", *more))
                return found
            yield sample


class Wire:
    """A program of perftest between two guests on one wire: two cards, or rxe
    on virtio-net in both."""

    sides = ("rxe pair", "mlx5sim")

    def __init__(self, options, rxe, mlx5sim):
        self.options = options
        self.iterations = {"rxe pair": rxe, "mlx5sim": mlx5sim}

    @contextlib.contextmanager
    def open(self, context):
        yield lambda side: self.sample(context, side)

    def sample(self, context, side):
        rxe = side != "mlx5sim"
        wiring = pair.Wiring(
            rxe=rxe, rxe_a=rxe,
            more=[context.device] if context.device else [])
        program = (f"exec timeout 100 {self.options} -F -d $DEV -x $GID "
                   f"-n {self.iterations[side]}")
        said = {"a": [], "b": []}
        with pair.Pair(context.emulator, build.build(context.guest),
                       wiring) as both:
            statuses = both.run(["sh", "-c", program],
                                ["sh", "-c", f"{program} $PEER"],
                                lambda who, _, line: said[who].append(line))
        if statuses != (0, 0):
            raise Failure(f"status {statuses}\n" + "".join(
                said["a"][-10:] + said["b"][-10:]))
        return benchread.perftest("".join(said["b"]))
