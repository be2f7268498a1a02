# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of the tour.
The way back is the way forth, reversed. The stages' cleanups run from the last
to the first; that of registration calls `ib_unregister_device`. The mark is
cleared first, so that nobody finds the device any more. The clients are told in
the reverse of their order, each giving back its reference. Then the thread
gives up the reference that stood for "registered", and waits until all others
are given back: a consumer that holds one holds up the driver, not the other way
round. Only then the twins of other namespaces, sysfs and the caches are taken
down; the driver is told to delete each GID.

What is left is memory. `ib_dealloc_device` looks that nothing is tracked any
more and drops the last reference of the `struct device`; its release function
hands the memory to RCU, since a reader may still be looking at it. It is freed
when a grace period is over, seconds later.

Where kernels differ: 6.1 and 6.12 collect such memory and free it in bulk, of
which a function can be watched; 7.x keeps it in the slab's sheaves. A netlink
notification there is from 6.12 on.
"""

import ask
import capture
from cards import sh, wait

TITLE = "Unregistration"
UNREGISTER = 1
SHEAVES = (6, 18)
FREE_S = 30
WORDS = {"remove": "mlx5r_remove", "unregister": "ib_unregister_device",
         "wait": "wait until no reference is left",
         "complete": "the last reference is given back",
         "notify": "netlink notification", "cache_gone": "caches are removed",
         "twin_del": "twin in another namespace is removed",
         "device_gone": "the device leaves sysfs",
         "del_gid": "the driver deletes a GID",
         "dealloc": "ib_dealloc_device",
         "restrack": "restrack roots are removed",
         "release": "the last reference of struct device",
         "kvfree_call_rcu": "the memory is handed to RCU",
         "call_rcu": "the memory is handed to RCU",
         "kfree": "the memory is free", "free_large": "the memory is free",
         **dict.fromkeys(capture.BULKS, "the memory is free")}


def own(kernel, events, address):
    """Name device_del by whose it is."""
    device = address + kernel.offset("ib_device", "dev")
    name = [e.args["name"] for e in events if e.name == "unregister"][0]
    for event in events:
        if event.name == "device_del":
            kind = "char_del"
            if event.args["device"] == device:
                kind = "device_gone"
            elif event.args["kobj"] == name:
                kind = "twin_del"
            event = event._replace(name=kind)
        yield event


def run(tour):
    kernel, card = tour.kernel, tour.notes["cards"][0]
    events, address = capture.unbind(
        kernel, card, 1 if kernel.level >= SHEAVES else FREE_S)
    events = list(own(kernel, events, address))
    stages(tour, events)
    clients(tour, events)
    order(tour, kernel, events)
    memory(tour, kernel, events)
    left = ask.card(0)["objects"]
    tour.same((left["qp"], left["srq"], left["xrcd"]), (0, 0, 0),
              "the card has no QP, SRQ and XRCD left")
    tour.same(sh("dmesg | tail -n 50 | grep -E 'restrack|ib_device'"), "",
              "restrack does not complain of anything left")
    show(tour, events)
    card.bind()
    tour.ok(wait(card.active, 20), "the device comes back")


def stages(tour, events):
    cleaned = [int(e.name[6:]) for e in events
               if e.name.startswith("clean_")]
    tour.ok(len(cleaned) > 10 and cleaned == sorted(cleaned, reverse=True),
            "the stages are cleaned up in reverse", cleaned)


def clients(tour, events):
    gone = [e.args["client"] for e in events if e.name == "client_gone"]
    tour.same(gone, sorted(gone, reverse=True),
              "the clients are told in reverse")
    tour.same(len(gone), len(tour.notes["clients"]), "each of them")
    first = next(e for e in events if e.name == "client_gone")
    before = next(e for e in events if e.name == "unregister")
    tour.ok(capture.registered(before) and not capture.registered(first),
            "the mark is cleared before the first")
    refs = [e.args["ref"] for e in events if e.name == "client_gone"]
    tour.ok(refs == sorted(refs, reverse=True) and refs[-1] <= 2,
            "each gives back its reference", refs)


def order(tour, kernel, events):
    tour.order(events, ["unregister", "client_gone", "wait", "twin_del",
                        "device_gone", "cache_gone", "dealloc"],
               "clients, the wait for the last reference, twins, sysfs, "
               "caches, in this order")
    named = {e.name: e for e in reversed(events)}
    tour.same(named["cache_gone"].args["ref"], 0,
              "no reference is left when the caches go")
    gone = named["device_gone"].order
    gids = [e.order for e in events if e.name == "del_gid"]
    tour.ok(gids and min(gids) > gone, "the GIDs are deleted from the card "
            "after sysfs is gone", gids)
    tour.same([e.name for e in events if e.name == "add_gid"], [],
              "and none is added")
    if kernel.symbols.all("rdma_nl_notify_event"):
        tour.ok(any(e.name == "notify" and e.args["type"] == UNREGISTER
                    for e in events), "netlink tells of it")


def memory(tour, kernel, events):
    named = {e.name: e for e in reversed(events)}
    tour.order(events, ["dealloc", "restrack", "release"],
               "ib_dealloc_device, restrack, release")
    handed = [named[n].order for n in ("kvfree_call_rcu", "call_rcu")
              if n in named]
    freed = [named[n].order for n in capture.FREES if n in named]
    tour.ok(handed and handed[0] > named["release"].order,
            "release hands the memory to RCU", list(named))
    statement = "which frees it later than ib_dealloc_device"
    if kernel.level >= SHEAVES and not freed:
        tour.skip(statement, "this kernel collects such objects in sheaves "
                  "of the slab, without a function that could be watched")
        return
    tour.ok(freed and handed and freed[0] > handed[0], statement, list(named))


def show(tour, events):
    rows = [["step", "what", "references", "registered"]]
    last = None
    for event in events:
        what = WORDS.get(event.name)
        if event.name == "client_gone":
            what = f"client {event.args['client']} is removed"
        elif event.name == "char_del":
            what = f"device node {event.args['kobj']} is removed"
        if not what or what == last:
            continue
        last = what
        mark = ""
        if "marks" in event.args and event.args["index"] is not None:
            mark = "yes" if capture.registered(event) else "no"
        rows.append([f"{event.order:.0f}", what, event.args.get("ref", ""),
                     mark])
    tour.show(rows)
