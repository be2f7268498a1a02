# SPDX-License-Identifier: GPL-2.0-or-later
"""What is run between two guests, a row each: a command for the server, one
for the client. Programs that compare what arrives are preferred.
"""

from collections import namedtuple

# @rxe: it runs against rxe, too.
# @said: what the output has to match.
# @listens: the server does, by TCP or by rdma_cm.
Row = namedtuple("Row", "name server client rxe said listens",
                 defaults=(True, None, True))

BIG = 1 << 23                 # the last size of perftest's -a
UD_BIG = 1024                 # and of a datagram's


def option(words, name, otherwise):
    """Return the number behind an option."""
    return int(words[words.index(name) + 1]) if name in words else otherwise


def table(program, options):
    """Return what perftest's table has to hold: the last size, and as many
    iterations as were asked for, of all queue pairs."""
    words = options.split()
    size = 8 if "atomic" in program else option(words, "-s", 0)
    if "-a" in words:
        size = UD_BIG if "UD" in words else BIG
    count = option(words, "-n", 0) * option(words, "-q", 1)
    return rf"(?m)^[ab]: *{size} +{count} "


def with_reads(program, options):
    """Return @options so that both ends agree on reads under way: perftest
    takes the other end's word, and rxe allows more than the card."""
    reads = ("read" in program or "atomic" in program) and " -o" not in options
    return options + " -o 16" if reads else options


def perftest(program, options, rxe=True, gid="$GID"):
    """Return the Row of a program of perftest."""
    options = with_reads(program, options)
    words = f"{program} -d $DEV -x {gid} -F {options}"
    return Row(f"{program} {options}", words, f"{words} $PEER", rxe,
               table(program, options))


def perftest_cm(program, options, rxe=True):
    """The same, connected by rdma_cm."""
    options = with_reads(program, options)
    words = f"{program} -d $DEV -R -F {options}"
    return Row(f"{program} -R {options}", words, f"{words} $PEER", rxe,
               table(program, options))


def pingpong(kind, options, rxe=True, gid="$GID", over=""):
    words = f"ibv_{kind}_pingpong -d $DEV -g {gid} {options}"
    return Row(f"ibv_{kind}_pingpong {options}{over}", words, f"{words} $PEER",
               rxe, None if kind == "xsrq" else "iters in")


PING = Row("ping", "true", "ping -q -c 3 -i 0.2 $PEER && "
           "ping -q -c 3 -i 0.2 $PEER6")
RSTREAM = Row("rstream, data verified", "rstream -T v -S 65536 -C 50",
              "rstream -T v -s $PEER -S 65536 -C 50", False)

# rping keeps what it sends and compares what comes back (-V).
PROGRAMS = [
    PING,
    pingpong("rc", "-c -n 200"),
    pingpong("uc", "-c -n 200"),
    pingpong("ud", "-c -s 1000 -n 200"),
    pingpong("srq", "-c -n 200"),
    pingpong("xsrq", "-n 200", False),
    perftest("ib_write_bw", "-s 65536 -n 200"),
    perftest("ib_read_bw", "-s 65536 -n 100"),
    perftest("ib_send_bw", "-s 3000 -n 200"),
    perftest("ib_send_bw", "-c UD -s 1000 -n 200"),
    perftest("ib_atomic_bw", "-n 200"),
    perftest("ib_write_lat", "-s 2 -n 100"),
    perftest("ib_send_bw", "-e -s 3000 -n 100"),
    Row("rping, IPv4", "rping -s -V -C 50 -S 4000",
        "rping -c -a $PEER -V -C 50 -S 4000"),
    Row("rping, IPv6", "rping -s -a :: -V -C 10",
        "rping -c -a $PEER6 -V -C 10"),
    Row("ucmatose", "ucmatose", "ucmatose -s $PEER"),
    Row("udaddy", "udaddy", "udaddy -s $PEER"),
    RSTREAM,
]

BAD = [
    pingpong("rc", "-c -n 300"),
    perftest("ib_write_bw", "-s 65536 -n 100"),
    perftest("ib_read_bw", "-s 65536 -n 60"),
    perftest("ib_send_bw", "-s 30000 -n 100"),
    perftest("ib_atomic_bw", "-n 200"),
    Row("rping", "rping -s -V -C 100 -S 20000",
        "rping -c -a $PEER -V -C 100 -S 20000"),
    RSTREAM,
]

# More of what must only be slower on a bad wire.
BAD_ALL = [
    perftest("ib_write_bw", "-b -s 65536 -n 60"),
    perftest("ib_write_bw", "-q 8 -s 30000 -n 20"),
    perftest("ib_write_lat", "-s 4096 -n 100"),
    # unknown: reading much from rxe the card once ran out of retries here.
    perftest("ib_read_bw", "-b -s 65536 -n 40", False),
    perftest("ib_read_bw", "-q 8 -s 30000 -n 20"),
    perftest("ib_read_lat", "-s 4096 -n 100"),
    perftest("ib_send_bw", "-b -s 65536 -n 40"),
    perftest("ib_send_bw", "-q 8 -s 30000 -n 20"),
    perftest("ib_send_lat", "-s 4096 -n 100"),
    perftest("ib_atomic_bw", "-A CMP_AND_SWAP -n 200"),
    perftest("ib_atomic_lat", "-n 100"),
    perftest_cm("ib_write_bw", "-s 65536 -n 60"),
    pingpong("srq", "-c -n 200"),
    Row("ucmatose, 16 connections", "ucmatose -c 16 -C 20",
        "ucmatose -s $PEER -c 16 -C 20", True, "return status 0"),
]


def verbs_of_perftest():
    """Return Rows: each verb, bandwidth and latency, over what has it. All
    sizes to 8 MiB would take rxe minutes."""
    rows = []
    for op in ("write", "read", "send"):
        rows += [perftest(f"ib_{op}_bw", "-a -n 10", False),
                 perftest(f"ib_{op}_lat", "-a -n 10", False),
                 perftest(f"ib_{op}_bw", "-s 30000 -n 50"),
                 perftest(f"ib_{op}_lat", "-s 3000 -n 50"),
                 perftest(f"ib_{op}_bw", "-b -s 65536 -n 50"),
                 perftest(f"ib_{op}_bw", "-q 8 -s 4096 -n 20"),
                 perftest_cm(f"ib_{op}_bw", "-s 4096 -n 100"),
                 perftest_cm(f"ib_{op}_lat", "-s 64 -n 100")]
    for kind in ("FETCH_AND_ADD", "CMP_AND_SWAP"):
        rows += [perftest("ib_atomic_bw", f"-A {kind} -n 200"),
                 perftest("ib_atomic_lat", f"-A {kind} -n 100")]
    for op in ("write", "send"):
        rows += [perftest(f"ib_{op}_bw", "-c UC -a -n 10", False),
                 perftest(f"ib_{op}_bw", "-c UC -s 3000 -n 50"),
                 perftest(f"ib_{op}_lat", "-c UC -s 64 -n 100")]
    rows += [perftest("ib_send_bw", "-c UD -a -n 50"),
             perftest("ib_send_lat", "-c UD -a -n 50"),
             perftest("ib_send_bw", "-c UD -b -s 1000 -n 100")]
    return rows


# What one of the programs does beside its verb.
MODES = [
    perftest("ib_atomic_bw", "-q 8 -n 20"),
    perftest("ib_write_bw", "-q 64 -s 4096 -n 20"),
    perftest("ib_read_bw", "-e -s 4096 -n 100"),
    perftest("ib_read_bw", "-s 4096 -n 100 -o 1"),
    perftest("ib_send_bw", "-q 8 -b -s 4096 -n 20"),
    perftest("ib_send_bw", "-q 8 --use-srq -s 4096 -n 20"),
    perftest("ib_write_bw", "-m 256 -s 10000 -n 100"),
    perftest("ib_write_bw", "--write_with_imm -s 4096 -n 100"),
    perftest("ib_write_bw", "-l 8 -s 4096 -n 104"),
    perftest("ib_send_bw", "-I 64 -s 64 -n 500"),
    perftest("ib_send_bw", "-t 4 -r 8 -Q 1 -s 64 -n 500"),
    perftest_cm("ib_atomic_bw", "-n 100"),
    perftest_cm("ib_send_bw", "-c UD -s 1000 -n 100"),
    # No rxe: it has neither XRC nor on-demand paging by these programs.
    perftest("ib_send_bw", "-c XRC -s 65536 -n 50", False),
    perftest("ib_write_bw", "-c XRC -s 4096 -n 100", False),
    perftest("ib_read_lat", "-c XRC -s 64 -n 100", False),
    perftest("ib_write_bw", "--odp -s 65536 -n 50", False),
    perftest("ib_send_bw", "--odp -s 65536 -n 50", False),
]

# Each kind of address, named as addresses.sh puts it into the environment.
ADDRESSES = [(", IPv6", "$GID6", True), (", link-local", "$GID_LOCAL", True),
             (", VLAN, IPv4", "$GID_VLAN", True),
             (", VLAN, IPv6", "$GID_VLAN6", True),
             (", RoCE v1", "$GID_V1", False)]


def pingpongs():
    """Return Rows: each service over each kind of address."""
    return [pingpong(kind, options, rxe, gid, over)
            for kind, options in (("rc", "-c -n 50"), ("uc", "-c -n 50"),
                                  ("ud", "-c -s 1000 -n 50"),
                                  ("srq", "-c -n 50"))
            for over, gid, rxe in ADDRESSES]


# udaddy answers by the address that it reads from the GRH it received.
MANAGER = [
    Row("rping, VLAN, IPv4", "rping -s -V -C 20 -S 4000",
        "rping -c -a $PEER_VLAN -V -C 20 -S 4000"),
    Row("rping, VLAN, IPv6", "rping -s -a :: -V -C 20",
        "rping -c -a $PEER_VLAN6 -V -C 20"),
    Row("rping, 65000 bytes", "rping -s -S 65000 -V -C 10",
        "rping -c -a $PEER -S 65000 -V -C 10"),
    Row("ucmatose, 16 connections", "ucmatose -c 16 -C 20",
        "ucmatose -s $PEER -c 16 -C 20", True, "return status 0"),
    Row("ucmatose, 65536 bytes", "ucmatose -S 65536",
        "ucmatose -s $PEER -S 65536", True, "return status 0"),
    Row("ucmatose, IPv6", "ucmatose -b $SELF6", "ucmatose -s $PEER6 -f ip",
        True, "return status 0"),
    Row("ucmatose, VLAN", "ucmatose", "ucmatose -s $PEER_VLAN", True,
        "return status 0"),
    Row("udaddy, 4 connections", "udaddy -c 4 -C 20",
        "udaddy -s $PEER -c 4 -C 20", True, "return status 0"),
    Row("udaddy, VLAN", "udaddy", "udaddy -s $PEER_VLAN", True,
        "return status 0"),
    Row("rdma_client, rdma_server", "rdma_server", "rdma_client -s $PEER",
        True, "end 0"),
    Row("cmtime, 20 connections", "cmtime -c 20", "cmtime -s $PEER -c 20"),
    Row("rdma_xclient, rdma_xserver", "rdma_xserver -c x",
        "rdma_xclient -s $PEER -c x", False, "end 0"),
    Row("riostream, data verified", "riostream -T v -I 10 -C 10 -S 65536",
        "riostream -T v -s $PEER -I 10 -C 10 -S 65536", False),
]


def mckey(name, group):
    words = f"mckey -m {group} -C 10 -b $SELF"
    return Row(f"mckey, {name}", words, f"{words} -s", True,
               "data transfers complete", False)


# Linux joins no IPv6 group by RoCE v2 (cma.c), whatever the device.
MULTICAST = [
    mckey("IPv4", "239.1.1.1"),
    # perftest's own group is an IPv6 one and wants a GID of that kind; it is
    # of one interface alone (ff01::), so that Linux puts nothing of rxe's out.
    perftest("ib_send_bw", "-c UD -g -s 1000 -n 50", False, "$GID_LOCAL"),
]


def all_kinds():
    """Return Rows that show each kind of packet, and are short to read."""
    return [PING, *pingpongs(), *MODES, *MANAGER, *MULTICAST]
