# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of the tour.
How does a call reach the driver? `drivers/infiniband/core/verbs.c` is the
library of verbs inside the kernel, and what creates or destroys objects goes
through it where there is something to count or to check. What moves data does
not: `ib_post_send`, `ib_post_recv` and `ib_poll_cq` are inline functions of a
header that call the device's slot, so the caller of the driver's function is
the consumer itself. A program with libmlx5 does not enter the kernel at all to
post: it writes the work request into memory that it shares with the card and
rings a doorbell page that it has mapped. The old uverbs commands to post from
user space exist, but a device has to allow them, and mlx5 does not.

Each row below is the first caller of the slot's function that was seen while a
program created its objects and sent data, and while rdma_cm made a connection
(which lets the kernel send management datagrams from its own QP). What a
program creates without a check of the core's own, a PD, a CQ or an MR, uverbs
asks of the driver by itself.

Where kernels differ: a program's CQ has a slot of its own in 7.x,
`create_user_cq`, so that the driver need not guess whose it is.
"""

import os
import struct

import ask
import uverbs
from cards import sh
from probes import Probes
from verbs import errno_of

TITLE = "Dispatch"
SLOTS = ("alloc_pd", "create_cq", "create_user_cq", "create_qp", "modify_qp", "destroy_qp",
         "reg_user_mr", "dereg_mr", "create_user_ah", "create_ah",
         "destroy_cq", "dealloc_pd", "post_send", "post_recv", "poll_cq",
         "req_notify_cq")
DATA = ("post_send", "post_recv", "poll_cq", "req_notify_cq")
# Functions of verbs.c that hand a call on to the driver; the compiler may
# have put one into another.
VERBS_C = {"__ib_alloc_pd", "ib_dealloc_pd_user", "create_qp",
           "ib_create_qp_user", "ib_create_qp_kernel", "_ib_modify_qp",
           "ib_modify_qp_with_udata", "ib_modify_qp", "ib_destroy_qp_user",
           "ib_dereg_mr_user", "_rdma_create_ah", "rdma_create_ah",
           "rdma_create_user_ah", "rdma_destroy_ah_user",
           "ib_destroy_cq_user", "__ib_create_cq", "ib_create_srq_user"}
# What must pass it: slot to process kind.
THROUGH = ("create_qp", "destroy_qp", "dereg_mr", "destroy_cq", "dealloc_pd",
           "modify_qp")
PINGPONG = ("ibv_rc_pingpong -d {0} -g 1 -n 50 -p 18800 > /tmp/pp 2>&1 & "
            "sleep $((2 * ${{SLOW:-1}})); "
            "ibv_rc_pingpong -d {0} -g 1 -n 50 -p 18800 127.0.0.1; wait; "
            "cat /tmp/pp")
RPING = ("limit=$((30 * ${SLOW:-1})); "
         "timeout $limit rping -s -a 192.168.77.1 -C 3 > /tmp/rp 2>&1 & "
         "sleep $((2 * ${SLOW:-1})); "
         "timeout $limit rping -c -a 192.168.77.1 -C 3; wait; cat /tmp/rp")


def owner(kernel, slot):
    """Return what to fetch to tell a program's queue from the kernel's."""
    if slot not in DATA:
        return {}
    struct_ = "ib_qp" if slot.startswith("post") else "ib_cq"
    return {"user": kernel.fetch(struct_, "uobject", "$arg1")}


def watch(kernel, device):
    """Return Probes on the slots, and whether the create passed verbs.c."""
    probes = Probes(kernel)
    have = device["ops"].names()
    for slot in SLOTS:
        if slot not in have:
            continue
        function = kernel.symbols.name(device[f"ops.{slot}"])
        if function.endswith("_nodrain"):
            # A small one, not to be watched, that jumps to this.
            function = function.removesuffix("_nodrain")
        probes.add(slot, function,
                   dict({"caller": "$stack0:x64"}, **owner(kernel, slot)),
                   module="mlx5_ib")
    return probes


def callers(kernel, events):
    """Return slot and whether a user's process to the set of callers."""
    found = {}
    for event in events:
        name = kernel.symbols.name(event.args["caller"]).split(".")[0]
        found.setdefault(event.name, {}).setdefault(name, event.comm)
    return found


def run(tour):
    kernel, card = tour.kernel, tour.notes["cards"][0]
    device = kernel.device(card.ibdev())
    packets = [sent(ask.card(0))]
    with watch(kernel, device) as probes:
        said = sh(PINGPONG.format(card.ibdev()))
    packets.append(sent(ask.card(0)))
    user = [e for e in probes.events if e.comm.startswith("ibv_rc_pingpon")]
    tour.ok("iters in" in said, "a program sends and receives", said)
    tour.ok(packets[1] - packets[0] >= 100, "the card moves its packets",
            packets)
    tour.same([e.name for e in probes.events if e.args.get("user")], [],
              "and posts, polls and arms its queues without the kernel")
    made = {e.name.replace("create_user_cq", "create_cq") for e in user}
    tour.ok({"create_qp", "create_cq", "reg_user_mr", "alloc_pd"} <= made,
            "while its objects are made there", made)
    rows = [["slot", "who", "caller of the driver", "of verbs.c"]]
    seen = callers(kernel, [e for e in user if e.name not in DATA])
    through(tour, seen, rows, "program")
    with watch(kernel, device) as probes:
        said = sh(RPING)
    mads = [e for e in probes.events if e.args.get("user") == 0]
    seen = callers(kernel, mads)
    tour.ok("post_send" in seen, "rdma_cm makes the kernel send", said)
    tour.same(sorted({c for slot in DATA for c in seen.get(slot, {})
                      if c in VERBS_C}), [],
              "ib_post_send, ib_post_recv and ib_poll_cq reach the driver "
              "without passing verbs.c")
    for slot in DATA:
        for caller in seen.get(slot, {}):
            rows.append([slot, "kernel", caller,
                         "yes" if caller in VERBS_C else "no"])
    tour.show(rows)
    refused(tour, card)


def through(tour, seen, rows, who):
    for slot in SLOTS:
        for caller in seen.get(slot, {}):
            rows.append([slot, who, caller,
                         "yes" if caller in VERBS_C else "no"])
    for slot in THROUGH:
        if slot in seen:
            tour.ok(all(c in VERBS_C for c in seen[slot]),
                    f"a program's {slot} passes verbs.c", seen[slot])
    tour.ok(all(slot in seen for slot in THROUGH[:3]),
            "QPs were created and destroyed, MRs deregistered that way", seen)


def sent(state):
    return state["counters"]["transmitted_ib_unicast"]["packets"]


def refused(tour, card):
    """The old command to post a work request from user space."""
    fd = os.open(card.uverbs(), os.O_RDWR)
    try:
        uverbs.get_context(fd)
        body = struct.pack("<IIII", 0, 0, 0, 128)
        error = errno_of(lambda: uverbs.command(fd, uverbs.POST_SEND, body, 4))
    finally:
        os.close(fd)
    tour.same(error, "EOPNOTSUPP", "the uverbs command POST_SEND is refused: "
              "mlx5 does not allow it")
