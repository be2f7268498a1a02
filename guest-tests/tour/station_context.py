# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of the tour.
A program opens `/dev/infiniband/uverbs0`. That alone makes an
`ib_uverbs_file`, the kernel's side of the descriptor, and nothing of the
device. The command GET_CONTEXT then makes the `ib_ucontext`: the driver gives
the program pages of the card's doorbells to map, and everything the program
creates will belong to this context and be destroyed with it. It is tracked:
`rdma resource show ctx` lists it with the process.

Users inside the kernel have none. They call the same core, but what they
create belongs to no context and stands in `rdma` under the name of a module.
"""

import json
import os

import ask
import uverbs
from cards import sh

TITLE = "User context"
CTX = 5                          # RDMA_RESTRACK_CTX
PD = 0


def run(tour):
    kernel, card = tour.kernel, tour.notes["cards"][0]
    device = kernel.device(card.ibdev())
    count = [len(list(kernel.tracked(device, CTX)))]
    uars = [ask.card(0)["objects"]["uar"]]
    fd = os.open(card.uverbs(), os.O_RDWR)
    count.append(len(list(kernel.tracked(device, CTX))))
    uverbs.get_context(fd)
    found = [entry for _, entry in kernel.tracked(device, CTX)]
    count.append(len(found))
    uars.append(ask.card(0)["objects"]["uar"])
    listed = json.loads(sh("rdma -j resource show ctx") or "[]")
    shown = sh("rdma resource show ctx")
    context = kernel.around("ib_ucontext", "res", found[-1]) if found else None
    driver(tour, kernel, context)
    os.close(fd)
    count.append(len(list(kernel.tracked(device, CTX))))
    uars.append(ask.card(0)["objects"]["uar"])
    tour.same(count, [0, 0, 1, 0], "open makes no context, GET_CONTEXT one, "
              "close takes it away (restrack)")
    tour.ok(uars[1] > uars[0] and uars[2] == uars[0],
            "with the context the card has doorbell pages more, after close "
            "as many as before", uars)
    tour.ok(any(row.get("pid") == os.getpid() for row in listed),
            "rdma resource show ctx lists it with our process", shown)
    kernel_consumers(tour, kernel, device)
    tour.show(["$ rdma resource show ctx", *shown.splitlines()])


def driver(tour, kernel, context):
    if not context:
        tour.ok(False, "the context is in restrack")
        return
    tour.same(context["device"].address,
              kernel.device(tour.notes["cards"][0].ibdev()).address,
              "the context points to its device")
    tour.same(kernel.offset("mlx5_ib_ucontext", "ibucontext"), 0,
              "it is the head of the driver's mlx5_ib_ucontext")


def kernel_consumers(tour, kernel, device):
    rows = json.loads(sh("rdma -dd -j resource show pd") or "[]")
    rows = [r for r in rows if r.get("ifname") == device["name"]]
    tour.ok(rows and not [r for r in rows if "ctxn" in r or "pid" in r],
            "the kernel's own PDs name a module and no context", rows)
    owners = [kernel.around("ib_pd", "res", entry)["uobject"]
              for _, entry in kernel.tracked(device, PD)]
    tour.ok(owners and not any(owners), "and have no user object", owners)
    tour.show(["$ rdma -dd resource show pd",
               *sh("rdma -dd resource show pd").splitlines()])
