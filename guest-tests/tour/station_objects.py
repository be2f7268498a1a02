# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of the tour.
Objects stand on others: a QP on a PD and on its CQs, an MR on a PD. The core
counts that in the parent, in `usecnt`, and refuses to destroy a parent that is
in use: the program gets `EBUSY`, and the driver is not even asked. A QP counts
for its send CQ and for its receive CQ; when both are one CQ, that is two.

For each kind of object the tour notes `usecnt` of every parent before,
creates the object, looks again, tries to destroy each parent through uverbs,
destroys the object, and looks a third time. The same is done with the card's
own tables: what a create added there must be gone after the destroy. A driver
or core that forgets one decrement, or an object, fails here, in the line that
names the kind.
"""

import json
import os

import ask
import objects
import uverbs
from cards import sh
from verbs import errno_of

TITLE = "Object model"

# What the card has of each kind, and by how many one object changes it; an
# address handle is made without the card.
ON_CARD = {"MR": {"mkey": 1}, "AH": {}, "MW": {"mkey": 1}, "SRQ": {"srq": 1},
           "QP, one CQ": {"qp": 1}, "QP, two CQs": {"qp": 1},
           "QP with SRQ": {"qp": 1}, "WQ": {"rq": 1},
           "RWQ_IND_TBL": {"rqt": 1}, "DM": {"memic": 1},
           "MR of DM": {"mkey": 1}, "XRCD": {"xrcd": 1},
           "XRC SRQ": {"srq": 1}, "XRC target QP": {"qp": 1},
           "PD": {"pd": 1}, "CQ": {"cq": 1}}
LATE = {"mkey"}                  # may stay with the driver, for the next MR


def run(tour):
    kernel, card = tour.kernel, tour.notes["cards"][0]
    device = kernel.device(card.ibdev())
    first = ask.card(0)["objects"]
    counts = users(kernel, device)
    with objects.World(kernel, card) as world:
        rows = [["object", "usecnt of its parents", "on the card"]]
        for name, make, parents in world.kinds():
            rows.append(one(tour, world, name, make, parents))
        tour.show(rows)
        joined(tour, kernel, card, world)
    tour.same(world.trouble, 0, "everything can be destroyed at the end")
    tour.same(users(kernel, device), counts,
              "then the kernel tracks as much as at the beginning")
    last = ask.card(0)["objects"]
    tour.same({k: v for k, v in last.items() if k not in LATE},
              {k: v for k, v in first.items() if k not in LATE},
              "and the card holds as much")
    keys(tour)


def users(kernel, device):
    """Return usecnt of what the kernel tracks, for each kind."""
    found = {}
    for kind, struct in ((0, "ib_pd"), (1, "ib_cq"), (7, "ib_srq")):
        found[struct] = [kernel.around(struct, "res", e)["usecnt"]
                         for _, e in kernel.tracked(device, kind)]
    found["qps"] = len(list(kernel.tracked(device, 2)))
    found["mrs"] = len(list(kernel.tracked(device, 4)))
    return found


def keys(tour):
    """No memory key of a program may stay behind."""
    state = ask.card(0)
    pds = {row["pd"] for row in state["pds"]}
    left = [k for k in state["mkeys"] if k["uid"] or k["pd"] not in pds]
    tour.same(left, [], "no memory key of a program is left on the card")


def one(tour, world, name, make, parents):
    """Create and destroy one object. Return: a row of the table."""
    before, card = world.usecnts(), ask.card(0)["objects"]
    thing = make()
    during, on_card = world.usecnts(), ask.card(0)["objects"]
    delta = {k: during[k] - before[k] for k in before
             if during.get(k) != before[k]}
    tour.same({world.labels[k]: v for k, v in delta.items()}, parents,
              f"{name}: usecnt of its parents")
    busy = {world.labels[k]: errno_of(lambda k=k: uverbs.destroy(
        world.fd, *k)) for k in delta}
    if parents:
        tour.same(busy, {p: "EBUSY" for p in parents}, f"{name}: while it "
                  "is there, its parents can't be destroyed through uverbs")
    thing.close()
    after, later = world.usecnts(), ask.card(0)["objects"]
    tour.same({world.labels[k]: v for k, v in after.items()},
              {world.labels[k]: v for k, v in before.items()},
              f"{name}: after its end usecnt is what it was")
    made = {k: on_card[k] - card[k] for k in card if on_card[k] != card[k]}
    tour.ok(all(made.get(k) == n for k, n in ON_CARD[name].items())
            and (made or not ON_CARD[name]),
            f"{name}: what the card has of it", made)
    tour.same({k: later[k] - card[k] for k in card
               if k not in LATE and later[k] != card[k]}, {},
              f"{name}: after its end the card has nothing of it")
    return [name, ", ".join(f"{p} +{n}" for p, n in parents.items()) or
            "no parent", ", ".join(f"{k} +{n}" for k, n in made.items())
            or "nothing"]


def rdma(kind):
    """Return what rdma lists of our process."""
    rows = json.loads(sh(f"rdma -dd -j resource show {kind}") or "[]")
    return [row for row in rows if row.get("pid") == os.getpid()]


def joined(tour, kernel, card, world):
    """One table of the numbers that the four tell."""
    state = ask.card(0)
    on_card = {"PD": {r["pd"] for r in state["pds"]},
               "CQ": {r["cqn"] for r in state["cqs"]},
               "QP": {r["qpn"] for r in state["qps"]},
               "MR": {r["mkey"] for r in state["mkeys"]},
               "SRQ": {r["srqn"] for r in state["srqs"]}}
    listed = {"PD": [r["pdn"] for r in rdma("pd")],
              "CQ": [r["cqn"] for r in rdma("cq")],
              "QP": [r["lqpn"] for r in rdma("qp")],
              "MR": [int(str(r["rkey"]), 16) for r in rdma("mr")],
              "SRQ": [r["srqn"] for r in rdma("srq")]}
    rows = [["object", "program", "rdma -dd", "kernel", "driver", "card"]]
    agree = {}
    for kind, hardware, core, program in world.numbers():
        shown = core if kind in ("PD", "CQ", "SRQ") else hardware
        there = hardware in on_card[kind]
        agree[kind] = there and shown in listed[kind] and (
            program in (None, hardware))
        rows.append([kind, "" if program is None else f"{program:#x}",
                     f"{shown:#x}" if shown in listed[kind] else "missing",
                     f"{core:#x}", f"{hardware:#x}",
                     f"{hardware:#x}" if there else "missing"])
    tour.same(agree, dict.fromkeys(on_card, True), "the numbers of PD, CQ, "
              "QP, MR, SRQ: rdma, the kernel, the driver and the card agree")
    tour.text("`rdma` shows two kinds of number: for QPs and memory keys the "
              "hardware's, for PDs, CQs and SRQs one of the core's own "
              "(`restrack` counts them); the hardware's PDN, CQN and SRQN "
              "are the driver's, and the card's.")
    tour.show(rows)
