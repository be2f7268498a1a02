# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite properties: each property of the card, changed by itself.

What is offered can be switched off, and then the drivers fall back: they probe
the card, what the feature shows to users is gone and nothing else, ping-pongs
go on, and the kernel's log holds what the table here says. One card with
nothing changed is in each guest; the others are compared with it.
"""

import json
import re
import shutil
import tempfile
from collections import namedtuple
from pathlib import Path

import build
import kernellog
import machine
import suites
from paths import REPO
from results import FAIL, PASS, Result

FOLDER = REPO / "guest-tests/properties"
FIRST_SLOT = 8           # machine.extra_words() puts the first card there
CARDS = 7                # of a guest, besides the one that is as it is

# @setting: the property and its value. @differs: patterns of lines that the
# card has less ("- ") or more ("+ "); each such line matches one, and each of
# them a line. @log: what the drivers warn of. @gone: they make no RDMA device.
# @idle: its port has nothing to exchange data by.
Row = namedtuple("Row", "setting differs log gone idle",
                 defaults=("", False, False))


def flag(name):
    return f"^- devinfo: {name}$"


def refused(what):
    """Return patterns of a library that no longer does something."""
    return [f"^- try {what}: (ok|EINVAL)", f"^\\+ try {what}: "]


def cap(name):
    """Return the pattern of a field that no driver shows to a user."""
    return [f"^[-+] cap {name}: "]


def no_net(log, *differs):
    """Return what comes of a card without network interface."""
    return ([r"^[-+] devinfo: (state|phys_state|active_mtu): ",
             r"^- devinfo: .*RoCE v", r"^[-+] (link|net): ",
             "^- try (UDP|map) ", *differs], log, False, True)


ODP = r"^[-+] devinfo: (general|rc|ud|xrc)_odp_caps: "
ROWS = [
    Row("devx=off", [
        "^[-+] devx: ", "^- cap ", r"^[-+] mlx5dv: dc_odp_caps ",
        r"^[-+] mlx5dv: max_dc_(init_)?rd_atom ",
        *refused("key with a signature"), *refused("map an address to a QP"),
        *refused("packet pacing entry"), *refused("reserve a QP number"),
        *refused("UDP source port"),
        *refused("scheduling element")]),
    Row("mw=off", [flag("MEM_WINDOW"), flag("MEM_WINDOW_TYPE_2B"),
                   r"^[-+] devinfo: max_mw: "]),
    Row("null-mkey=off", [*cap("null_mkey"),
                          "^- devinfo: general_odp_caps: .*IMPLICIT"]),
    Row("signature=off", refused("key with a signature")),
    Row("xrc=off", [], "probe.* failed with error -(12|95)$", gone=True),
    Row("atomic=off", [r"^[-+] devinfo: atomic_cap: ",
                       *cap("atomic_operations")]),
    Row("odp=off", [ODP, r"^[-+] mlx5dv: dc_odp_caps ",
                    *cap("mem_page_fault")]),
    Row("tag-matching=on", ["^- devinfo: tag matching not supported",
                            r"^\+ devinfo: (.* )?(flags|max_)"]),
    Row("odp-mem=off", cap("mem_page_fault")),
    Row("roce=off", [r"^- devinfo: .*RoCE v", ODP,
                     r"^[-+] devinfo: (gid_tbl_len|port_cap_flags): ",
                     "^- try (UDP|map) "], idle=True),
    Row("mcast=off", [r"^[-+] devinfo: max_(total_)?mcast_\w+: "]),
    Row("dm=off", [r"^[-+] devinfo: maximum available device memory",
                   *refused("device memory"),
                   *refused("operation on device memory")]),
    Row("dbr-less=off", cap("send_dbr_mode_no_dbr_ext")),
    Row("packet-pacing=off", [r"^[-+] devinfo: packet_pacing_caps: ",
                              *refused("packet pacing entry")]),
    Row("qos-scheduling=off", refused("scheduling element")),
    Row("rtc=on", [*cap("sq_ts_format"), r"^[-+] mlx5dv: flags "]),
    Row("local-lb=off", cap("disable_local_lb_uc")),
    Row("dc=off", [r"^[-+] mlx5dv: dci_streams_caps ",
                   r"^[-+] mlx5dv: max_dc_(init_)?rd_atom "]),
    Row("cqe-compression=off", [r"^[-+] mlx5dv: cqe_comp_caps ",
                                r"^[-+] mlx5dv: flags "]),
    Row("cqe-128-always=off", [r"^[-+] mlx5dv: flags "]),
    Row("scatter-to-cqe=off", cap("sctr_data_cqe")),
    Row("cq-period-modes=off", cap("cq_period_mode_modify")),
    Row("flow-counters=off", cap("flow_counter_bulk_alloc")),
    Row("flow-rewrite=off", refused("flow action")),
    Row("rdma-flow=off", [r"^- optional counter: "]),
    Row("scatter-fcs=off", [flag("RAW_SCATTER_FCS"),
                            "^- devinfo: raw packet caps: Scatter FCS"]),
    Row("lro=off", cap("lro_cap")),
    Row("masked-atomic=off", cap("atomic_operations")),
    Row("dm-atomic=off", refused("operation on device memory")),
    Row("dci-streams=off", [r"^[-+] mlx5dv: dci_streams_caps "]),
    Row("reserved-qpn=off", refused("reserve a QP number")),
    Row("av-qp-mapping=off", refused("map an address to a QP")),
    Row("udp-sport=off", refused("UDP source port")),
    Row("relaxed-ordering=off", cap("relaxed_ordering_write")),
    Row("end-padding=off", [flag("PCI_WRITE_END_PADDING")]),
    Row("blueflame=off", refused("UAR page for BlueFlame")),
    Row("cq-resize=off", refused("resize a CQ")),
    Row("cq-moderation=off", [r"^[-+] devinfo: cq moderation caps: "],
        "CQ moderation is not supported$"),
    Row("error-counters=off", [r"^- counter: "]),
    Row("csum=off", *no_net("Missing csum_cap", flag("RAW_IP_CSUM"),
                            "^- devinfo: raw packet caps: IP csum")),
    Row("tso=off", *no_net("Missing max_lso_cap",
                           r"^[-+] devinfo: tso_caps: ")),
    Row("vlan=off", *no_net("Missing vlan_cap",
                            "^- devinfo: raw packet caps: C-VLAN")),
    Row("rss=off", *no_net("Missing rss_ind_tbl_cap")),
    Row("mpw=off", [r"^[-+] mlx5dv: flags "]),
    Row("striding-rq=off", cap("striding_rq")),
    Row("tunnel=off", [*cap("swp"), r"^[-+] mlx5dv: tunnel_offload_caps "]),
    Row("port-manager=off", cap("vport_group_manager")),
    Row("dcb=off", cap("ets")),
    Row("resource-dump=off", cap("resource_dump")),
    Row("congestion=off", [r"^- counter: (rp_cnp|np_)"]),
    Row("deterministic=on", []),
    Row("cmd-reorder=on", []),
]


def batches(rows):
    """Yield lists of rows that share a guest."""
    for first in range(0, len(rows), CARDS):
        yield rows[first:first + CARDS]


def compare(row, plain, changed):
    """Yield what is wrong with the lines of the card that has @row's
    property changed, @plain being those of one that has not."""
    differ = ["- " + line for line in sorted(set(plain) - set(changed))]
    differ += ["+ " + line for line in sorted(set(changed) - set(plain))]
    for line in differ:
        if not any(re.search(p, line) for p in row.differs):
            yield "differs, too: " + line
    for pattern in row.differs:
        if not any(re.search(pattern, line) for line in differ):
            yield f"makes no difference: {pattern}"


def log_of(log, slot):
    """Return the lines of a kernel's log on the card in @slot, and on its
    auxiliary devices, which are numbered as the cards are."""
    address, number = f"0000:00:{slot:02x}.0", slot - FIRST_SLOT
    name = re.compile(rf"{address}|mlx5_core\.\w+\.{number}\b")
    return [line for line in log.splitlines() if name.search(line)]


def judge(row, number, told, log):
    """Yield the Results of a row, whose card is that @number."""
    slot = FIRST_SLOT + number
    address = f"0000:00:{slot:02x}.0"
    plain = told[f"0000:00:{FIRST_SLOT:02x}.0"]
    mine = told.get(address)
    wrong = []
    if row.gone:
        wrong += ["it has an RDMA device"] if mine else []
    elif not mine:
        wrong.append("it has no RDMA device")
    else:
        wrong += compare(row, plain["lines"], mine["lines"])
    yield Result(f"{row.setting}: what there is", FAIL if wrong else PASS,
                 "\n".join(wrong))
    if mine and not row.idle:
        bad = mine["traffic"]
        yield Result(f"{row.setting}: traffic", FAIL if bad else PASS,
                     "\n".join(bad))
    lines = log_of(log, slot)
    odd = [line for line in lines
           if not row.log or not re.search(row.log, line)]
    if row.log and not lines:
        odd.append(f"no line is like {row.log}")
    yield Result(f"{row.setting}: kernel log", FAIL if odd else PASS,
                 "\n".join(odd))


def rest_of_log(log, cards):
    """Return a Result on what the kernel says of other things."""
    known = [pattern for pattern, _ in kernellog.explained(suites.KERNEL_LOG)]
    of_cards = {line for number in range(cards)
                for line in log_of(log, FIRST_SLOT + number)}
    odd = [line for line in log.splitlines()
           if line.strip() and line not in of_cards and
           not any(p.search(line) for p in known)]
    return Result("the rest of the kernel's log", FAIL if odd else PASS,
                  "\n".join(odd))


def run_batch(context, image, rows):
    """Run a guest with a card for each row. Return: Results."""
    devices = ["vectors=8", *(f"vectors=8,{row.setting}" for row in rows)]
    with tempfile.TemporaryDirectory(prefix="mlx5sim-suite-") as share:
        shutil.copy2(FOLDER / "facts.py", share)
        options = machine.Options(devices=devices, share=share, probe=False)
        with machine.start(context.emulator, image, options) as guest:
            status, out, err = guest.agent.capture(
                ["timeout", "200", "python3", "/share/facts.py"])
            if status:
                return [Result(", ".join(r.setting for r in rows), FAIL,
                               f"facts.py: status {status}\n{err}")]
            log = guest.agent.capture(["dmesg", "-t", "-l",
                                       "emerg,alert,crit,err,warn"])[1]
            told = json.loads(out)
            results = [result for number, row in enumerate(rows, 1)
                       for result in judge(row, number, told, log)]
            results.append(rest_of_log(log, len(devices)))
            said = guest.warnings().strip()
            results.append(Result("QEMU is silent", FAIL if said else PASS,
                                  said))
    return results


def run(context):
    """Return the Results."""
    image = build.build(context.guest)
    return [result for rows in batches(ROWS)
            for result in run_batch(context, image, rows)]
