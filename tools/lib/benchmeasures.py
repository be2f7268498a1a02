# SPDX-License-Identifier: GPL-2.0-or-later
"""The measures of the bench by name; benchtable.py reads them.

Iterations are chosen so that a side takes about half a second.
"""

from benchhost import Copy
from benchlife import Idle, Launch, Memory, Probe
from benchmeasure import Counts, Perftest, Program
from benchnet import Tcp, Wire

HUGE = "echo %d > /proc/sys/vm/nr_hugepages"
CARD = ("mlx5sim",)

MEASURES = {
    "copy": Copy(),
    "write_bw": Perftest("ib_write_bw -s 65536", 500, 20000),
    "read_bw": Perftest("ib_read_bw -s 65536", 500, 20000),
    "send_rate": Perftest("ib_send_bw -s 64", 5000, 50000),
    "write_rate": Perftest("ib_write_bw -s 8 -q 16 -l 32", 512, 9600),
    "instructions": Program("post", "16", "32", sides=CARD),
    "write_rate_counts": Counts("ib_write_bw -s 8 -q 16 -l 32", 16 * 9600,
                                9600),
    "send_rate_counts": Counts("ib_send_bw -s 64", 50000, 50000),
    "write_bw_counts": Counts("ib_write_bw -s 65536", 20000, 20000),
    "write_lat": Perftest("ib_write_lat -s 8", 2000, 10000),
    "send_lat_events": Perftest("ib_send_lat -s 8 -e", 1000, 10000),
    "atomic_lat": Perftest("ib_atomic_lat", 2000, 10000),
    "wire": Wire("ib_write_bw -s 65536", 200, 2000),
    # Each registration waits for the card's first interrupt, which goes to
    # processor 0: on the other one both have to be woken each time.
    "mr_4k": Program("mr", "0x1000", cpu=0),
    "mr_4k_far": Program("mr", "0x1000", cpu=1),
    "mr_64k": Program("mr", "0x10000"),
    "mr_1m": Program("mr", "0x100000"),
    "mr_32m": Program("mr", "0x2000000"),
    "mr_1g": Program("mr", "0x40000000", "huge", setup=HUGE % 520),
    "qp_cycle": Program("qp"),
    "scale_qp": Program("scale", "qp", "10", "1000", "30000", sides=CARD,
                        once=True),
    "scale_mr": Program("scale", "mr", "10", "100000", sides=CARD, once=True),
    "memory": Memory(),
    "probe": Probe(),
    "launch": Launch(),
    "idle": Idle(),
    "tcp": Tcp(),
}
