#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a user can see of each card of this guest, as JSON: by the number of
its PCI slot, lines of text, and how traffic fared.

The lines hold nothing that two cards of the same properties differ in. They
are what tools print, what the libraries say when asked for a feature, and
what a DevX program reads of capabilities that no driver passes on.
"""

import errno
import json
import os
import re
import subprocess
from pathlib import Path

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import AllocDmAttr, Context, DM
from pyverbs.pd import PD
from pyverbs.providers.mlx5 import mlx5_enums as dve
from pyverbs.providers.mlx5 import mlx5dv as dv
from pyverbs.providers.mlx5.mlx5dv_flow import Mlx5PacketReformatFlowAction
from pyverbs.providers.mlx5.mlx5dv_mkey import Mlx5Mkey
from pyverbs.providers.mlx5.mlx5dv_sched import (Mlx5dvSchedAttr,
                                                 Mlx5dvSchedNode)
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

CAPS = [  # name, group, place of the field's first bit, bits
    ("null_mkey", 0, 0x119, 1),
    ("striding_rq", 0, 0x201, 1),
    ("vport_group_manager", 0, 0x1a0, 1),
    ("swp", 1, 0x20, 1),
    ("lro_cap", 1, 0x2, 1),
    ("ets", 0, 0x1a5, 1),
    ("resource_dump", 0xd, 0x9, 1),
    ("sctr_data_cqe", 0, 0x215, 1),
    ("flow_counter_bulk_alloc", 0, 0x310, 8),
    ("cq_period_mode_modify", 0, 0x223, 1),
    ("disable_local_lb_uc", 0, 0x3e1, 1),
    ("relaxed_ordering_write", 0, 0xe8, 1),
    ("sq_ts_format", 0, 0x440, 2),
    ("mem_page_fault", 2, 0x600, 1),
    ("atomic_operations", 3, 0x90, 16),
    ("send_dbr_mode_no_dbr_ext", 0x20, 0x2e1, 1),
]
DV = ["flags", "cqe_comp_caps", "dc_odp_caps", "dci_streams_caps",
      "max_dc_rd_atom", "max_dc_init_rd_atom", "flow_action_flags",
      "tunnel_offload_caps"]
TESTS = ["rc", "ud"]


def output(*words):
    """Return what a command prints, or why it doesn't, as one line."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout if not done.returncode else (
        f"{words[0]} ends with status {done.returncode}")


def plain(line):
    """Return @line without what each card has of its own."""
    line = re.sub(r"[0-9a-f]{2,4}(:[0-9a-f]{0,4}){3,}[0-9a-f.]*", "*", line)
    line = re.sub(r"mlx5_\d+|GID\[ *\d+\]|netdev \S+|192\.168\.\d+", "*", line)
    return " ".join(line.split())


def devinfo_lines(text):
    """Yield lines of ibv_devinfo, below a heading with that before it. The
    flags it prints as a number it names, too."""
    heading, depth = "", 0
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if indent <= depth:
            heading = ""
        if line.rstrip().endswith(":"):
            heading, depth = plain(line) + " ", indent
        elif line.strip() and "device_cap_flags" not in line:
            yield f"devinfo: {heading}{plain(line)}"


def tool_lines(dev):
    """Yield what tools say of a device."""
    folder = Path("/sys/class/infiniband", dev, "device")
    yield from devinfo_lines(output("ibv_devinfo", "-v", "-d", dev))
    for line in output("rdma", "link", "show", f"{dev}/1").splitlines():
        yield "link: " + plain(line)
    for word in re.findall(r"([a-z]\w+) \d+",
                           output("rdma", "statistic", "show", "link",
                                  f"{dev}/1")):
        yield "counter: " + word
    for word in output("rdma", "statistic", "mode", "supported", "link",
                       f"{dev}/1").replace(",", " ").split():
        yield "optional counter: " + plain(word)
    for kind in "net", "ptp":
        yield f"{kind}: {len(list(folder.glob(kind + '/*')))}"


def attempt(function):
    """Return what comes of it: ok, or the error's name."""
    try:
        function()
    except PyverbsRDMAError as error:
        return errno.errorcode.get(error.error_code, error.error_code)
    except PyverbsError as error:
        return str(error)
    return "ok"


def route(ctx, index):
    return GlobalRoute(dgid=ctx.query_gid(1, index), sgid_index=index)


def connected(ctx, pd, index):
    """Return a queue pair that is its own peer."""
    cq = CQ(ctx, 4)
    qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq,
                           cap=QPCap(max_send_wr=1, max_recv_wr=1)))
    attr = QPAttr(port_num=1)
    attr.dest_qp_num = qp.qp_num
    attr.path_mtu = e.IBV_MTU_1024
    attr.ah_attr = AHAttr(port_num=1, is_global=1, gr=route(ctx, index))
    qp.to_rts(attr)
    return qp


def map_address(ctx, pd, index):
    handle = AH(pd, attr=AHAttr(port_num=1, is_global=1,
                                gr=route(ctx, index)))
    dv.Mlx5QP.map_ah_to_qp(handle, connected(ctx, pd, index).qp_num)


def reserve(ctx):
    qpn = dv.Mlx5Context.reserved_qpn_alloc(ctx)
    dv.Mlx5Context.reserved_qpn_dealloc(ctx, qpn)


def dm_operation(ctx):
    with DM(ctx, AllocDmAttr(length=64)) as memory:
        dv.Mlx5DmOpAddr(memory, 0).unmap(64)


def tries(ctx, pd, index):
    """Yield features and functions that use one."""
    sport = dv.Mlx5QP.modify_udp_sport
    yield "resize a CQ", lambda: CQ(ctx, 10).resize(100)
    yield "reserve a QP number", lambda: reserve(ctx)
    yield "operation on device memory", lambda: dm_operation(ctx)
    yield "device memory", lambda: DM(ctx, AllocDmAttr(length=64))
    yield "UAR page for BlueFlame", lambda: dv.Mlx5UAR(
        ctx, dve._MLX5DV_UAR_ALLOC_TYPE_BF)
    yield "scheduling element", lambda: Mlx5dvSchedNode(ctx, Mlx5dvSchedAttr())
    if index is not None:
        # Of the mapping a queue pair that is none of DC's is refused.
        yield "UDP source port", lambda: sport(connected(ctx, pd, index),
                                               55555)
        yield "map an address to a QP", lambda: map_address(ctx, pd, index)
    yield "key with a signature", lambda: Mlx5Mkey(
        pd, dve.MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
        dve.MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE, 4)
    yield "flow action", lambda: Mlx5PacketReformatFlowAction(
        ctx, b"\0" * 50,
        dve.MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L2_TUNNEL_,
        dve.MLX5DV_FLOW_TABLE_TYPE_NIC_TX_)
    yield "packet pacing entry", lambda: dv.Mlx5PP(ctx, b"\0\0\0\x64")


def cap_lines(ctx):
    """Yield capabilities as a DevX program reads them."""
    for name, group, first, bits in CAPS:
        command = bytearray(16)
        command[0:2] = (0x100).to_bytes(2, "big")
        command[6:8] = (group << 1 | 1).to_bytes(2, "big")
        try:
            answer = ctx.devx_general_cmd(bytes(command), 16 + 0x1000)
        except PyverbsRDMAError:
            yield f"cap {name}: no such group"
            continue
        whole = int.from_bytes(answer[16:], "big")
        value = whole >> (0x1000 * 8 - first - bits) & ((1 << bits) - 1)
        yield f"cap {name}: {value:#x}"


def library_lines(dev):
    """Yield what the libraries say."""
    devx = True
    try:
        ctx = dv.Mlx5Context(dv.Mlx5DVContextAttr(
            dve.MLX5DV_CONTEXT_FLAGS_DEVX), dev)
    except PyverbsError:
        devx = False
        ctx = dv.Mlx5Context(dv.Mlx5DVContextAttr(0), dev)
    yield f"devx: {devx}"
    told = ctx.query_mlx5_device()
    for name in DV:
        yield f"mlx5dv: {name} {getattr(told, name, '')}"
    pd = PD(ctx)
    for name, function in tries(ctx, pd, gid_v4(dev)):
        yield f"try {name}: {attempt(function)}"
    if devx:
        yield from cap_lines(ctx)


def gid_v4(dev):
    """Return the index of a GID that is an IPv4 address, RoCE v2."""
    port = Path("/sys/class/infiniband", dev, "ports/1")
    for index in range(16):
        try:
            if ("ffff:c0a8" in (port / f"gids/{index}").read_text() and "v2" in
                    (port / f"gid_attrs/types/{index}").read_text()):
                return index
        except OSError:
            pass
    return None


def traffic(dev, port):
    """Run ping-pongs in the card. Return: those that failed, with what they
    said."""
    index = gid_v4(dev)
    if index is None:
        return ["no GID"]
    bad = []
    for kind in TESTS:
        words = ["timeout", "20", f"ibv_{kind}_pingpong", "-d", dev, "-g",
                 str(index), "-n", "20", "-s", "1000", "-c", "-p", str(port)]
        with subprocess.Popen(words, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as server:
            while port_is_free(port) and server.poll() is None:
                pass
            done = subprocess.run([*words, "127.0.0.1"], capture_output=True,
                                  text=True, check=False)
            said = server.communicate()[0]
            if done.returncode or server.returncode or "20 iters" not in said:
                bad.append(f"{kind}: {done.stdout}{done.stderr}{said}")
        port += 1
    return bad


def port_is_free(port):
    return f":{port:04X} " not in Path("/proc/net/tcp").read_text()


def bring_up(dev, subnet):
    for net in Path("/sys/class/infiniband", dev, "device/net").glob("*"):
        for words in (("link", "set", net.name, "up"),
                      ("address", "add", f"192.168.{subnet}.1/24", "dev",
                       net.name)):
            subprocess.run(["ip", *words], check=True)


def wait_for_gids(devices):
    for _ in range(200):
        if all(gid_v4(d) is not None for d in devices):
            return
        subprocess.run(["sleep", "0.05"], check=True)


def main():
    subprocess.run(["modprobe", "mlx5_ib"], check=True)
    folder = Path("/sys/class/infiniband")
    slots = {os.path.basename(os.path.realpath(p / "device")): p.name
             for p in folder.glob("*")}
    for number, dev in enumerate(slots.values()):
        bring_up(dev, 77 + number)
    wait_for_gids([d for d in slots.values()
                   if any((folder / d / "device/net").glob("*"))])
    told = {}
    for number, (slot, dev) in enumerate(slots.items()):
        lines = [*tool_lines(dev), *library_lines(dev)]
        told[slot] = {"lines": sorted(set(lines)),
                      "traffic": traffic(dev, 20000 + 4 * number)}
    print(json.dumps(told))


main()
