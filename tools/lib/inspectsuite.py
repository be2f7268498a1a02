# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite inspect: what the card says it holds, the kernel says, too.

While two processes exchange data, `rdma resource show` of the guest, the verb
inspect and the numbers we know of are compared.
"""

import json
import os
import subprocess

import build
import machine
from paths import REPO
from results import FAIL, PASS, Result

BUSY = ("ib_write_bw -d mlx5_0 -D 60 -q 3 > /dev/null 2>&1 & sleep 2; "
        "exec ib_write_bw -d mlx5_0 -D 60 -q 3 127.0.0.1 > /dev/null 2>&1 &")
PAIRS = 6                # of the two processes together
# The kernel's own, which rdma lists and a card has: GSI. UMR it does not list.
TYPES = {"RC": "rc", "UD": "ud", "GSI": "gsi", "UC": "uc"}


def rdma(guest, kind):
    """Return what the guest's rdma tool lists of @kind."""
    out = guest.agent.capture(["rdma", "-dd", "-j", "resource", "show",
                               kind])[1]
    return json.loads(out or "[]")


def card_state():
    """Return what the verb prints, as a user gets it."""
    done = subprocess.run([str(REPO / "tools/mlx5sim"), "inspect", "--pid",
                           str(os.getpid())], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)


def by(rows, key):
    return {row[key]: row for row in rows}


def check(name, wrong):
    """Return a Result: @wrong yields what does not agree."""
    wrong = list(wrong)
    return Result(name, FAIL if wrong else PASS, "\n".join(map(str, wrong)))


def compare_qps(kernel, card):
    """Yield what differs between the kernel's QPs and the card's."""
    known = by(card["qps"], "qpn")
    busy = 0
    for row in kernel:
        # QP 1 is a number of packets; the card numbers its queue differently.
        if row["type"] not in TYPES or row["lqpn"] == 1:
            continue
        mine = known.get(row["lqpn"])
        if not mine:
            yield f"QP {row['lqpn']} is not the card's"
            continue
        busy += row["type"] == "RC"
        if (TYPES[row["type"]], row["state"], row.get("rqpn", 0)) != (
                mine["type"], mine["state"], mine["remote_qpn"]):
            yield f"kernel: {row}\n  card: {mine}"
    if busy != PAIRS:
        yield f"{busy} RC QPs instead of {PAIRS}"


def compare_cqs(kernel, card):
    """The kernel's numbers of CQs are its own: sizes of the users' alone."""
    theirs = sorted(row["cqe"] for row in kernel if "pid" in row)
    mine = sorted(row["entries"] - 1 for row in card["cqs"] if row["uid"])
    if theirs != mine:
        yield f"kernel: {theirs}\n  card: {mine}"


def compare_mrs(kernel, card):
    """Users' keys: rkey and length as the kernel has them."""
    known = by(card["mkeys"], "mkey")
    users = 0
    for row in kernel:
        if "pid" not in row:
            continue
        users += 1
        mine = known.get(int(str(row["rkey"]), 16))
        if not mine:
            yield f"key {row['rkey']} is not the card's"
        elif mine["len"] != row["mrlen"]:
            yield f"kernel: {row}\n  card: {mine}"
    if users != 2:
        yield f"{users} MRs of users instead of 2"


def moving(before, after):
    """Yield why the card does not look busy."""
    first = by(before["qps"], "qpn")
    senders = [q for q in after["qps"] if q["type"] == "rc" and
               q["next_psn"] != first.get(q["qpn"], {}).get("next_psn")]
    if len(senders) != PAIRS // 2:
        yield f"{len(senders)} QPs send"
    for qp in after["qps"]:
        if qp["type"] == "rc" and not (qp["msn"] or qp["sq_posted"]):
            yield f"idle: {qp}"
    sent = [state["counters"]["transmitted_ib_unicast"]["packets"]
            for state in (before, after)]
    if sent[0] >= sent[1]:
        yield "no packet was counted"


def run(context):
    """Return the Results."""
    image = build.build(context.guest)
    with machine.start(context.emulator, image, machine.Options()) as guest:
        guest.agent.capture(["sh", "-c", BUSY])
        guest.agent.capture(["sh", "-c", "until rdma resource show qp | grep "
                             f"-c 'type RC.*state RT' | grep -qx {PAIRS}; "
                             "do sleep 0.2; done; sleep 1"])
        before, after = card_state(), card_state()
        results = [
            check("queue pairs, their states and peers",
                  compare_qps(rdma(guest, "qp"), after)),
            check("completion queues", compare_cqs(rdma(guest, "cq"), after)),
            check("memory regions and their lengths",
                  compare_mrs(rdma(guest, "mr"), after)),
            check("numbers move while data does", moving(before, after)),
        ]
    return results
