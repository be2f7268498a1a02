# SPDX-License-Identifier: GPL-2.0-or-later
"""Records what happens when mlx5_ib leaves a card and comes back: the events
that the stations about registration and unregistration read."""

import time

from kernel import DEVICE_REGISTERED, entries
from probes import Probes

DEVICE = "ib_device"
BATCH = 64
BULKS = {f"free_bulk_{first}": first for first in range(0, 512, BATCH)}
FREES = ("kfree", "free_large", *BULKS)


def stage_functions(kernel, profile, what):
    """Return number and function of the stages of a profile. @what: init or
    cleanup."""
    rows = kernel.at("mlx5_ib_profile", kernel.symbols.address(profile))
    types, number = kernel.find("mlx5_ib_profile")
    member = types.member(number, "stage")
    found = []
    for i in range(types.array(types.strip(member.type))[1]):
        address = rows[f"stage[{i}].{what}"]
        if address:
            found.append((i, kernel.symbols.name(address)))
    return found


def clients(kernel):
    """Return the ib_clients by number."""
    xarray = kernel.at("xarray", kernel.symbols.address("clients", "ib_core"))
    return {i: kernel.at("ib_client", entry)
            for i, entry, _ in entries(kernel, xarray)}


def marks(kernel):
    """Return what to fetch of the marks "registered" of the first 64 devices.
    The functions of xarrays can't be watched. The list's head points, plus 2,
    to a node: it would not with one device at index 0, but there are two
    cards."""
    head = kernel.at("xarray", kernel.symbols.address("devices", "ib_core")
                     ).follow("xa_head").address
    offset = kernel.offset("xa_node", f"marks[{DEVICE_REGISTERED}]") - 2
    return f"+{offset}(@{head:#x}):x64"


def registered(event):
    """Tell whether the device of an event was marked registered then."""
    return bool(event.args["marks"] >> event.args["index"] & 1)


def device_state(kernel, base):
    """Return what to fetch of an ib_device that @base points to."""
    return {"dev": base + ":x64",
            "name": kernel.fetch(DEVICE, "name", base),
            "index": kernel.fetch(DEVICE, "index", base),
            "ref": kernel.fetch(DEVICE, "refcount", base),
            "res": kernel.fetch(DEVICE, "res", base),
            "marks": marks(kernel),
            "in_sysfs": kernel.fetch_bit(DEVICE, "dev.kobj.state_in_sysfs",
                                         base)}


def add_registration(probes, kernel):
    """Add what a bind passes."""
    state = device_state(kernel, "$arg1")
    port = {key: kernel.fetch(DEVICE, f"port_data[1].{path}", "$arg1")
            for key, path in (("gid_len", "immutable.gid_tbl_len"),
                              ("flags", "immutable.core_cap_flags"),
                              ("state", "cache.port_state"),
                              ("pkeys", "cache.pkey.table_len"),
                              ("gids", "cache.gid"))}
    probes.add("probe", "mlx5r_probe", {"device": kernel.fetch(
        "auxiliary_device", "dev.kobj.name", "$arg1")})
    probes.add("alloc_call", "_ib_alloc_device", {"size": "$arg1:u64",
                                                  "net": "$arg2:x64"})
    probes.add("alloc", "_ib_alloc_device", {"dev": "$retval:x64"}, True)
    for number, function in stage_functions(kernel, "pf_profile", "init"):
        probes.add(f"stage_{number}", function, state)
    probes.add("setops", "ib_set_device_ops",
               dict(state, ops="$arg2:x64", caller="$stack0:x64"))
    probes.add("register", "ib_register_device", state)
    for name in ("mlx5_port_immutable", "mlx5_port_rep_immutable"):
        probes.add("immutable" if "rep" not in name else "rep_immutable",
                   name, state)
    probes.add("query_device", "mlx5_ib_query_device", state)
    probes.add("cache", "ib_cache_setup_one",
               dict(state, gid_len=port["gid_len"], flags=port["flags"]))
    probes.add("add_gid", "mlx5_ib_add_gid")
    probes.add("query_pkey", "mlx5_ib_query_pkey")
    probes.add("attrs", "ib_setup_device_attrs", dict(state, **port))
    probes.add("device_add", "device_add",
               {"device": "$arg1:x64",
                "kobj": kernel.fetch("device", "kobj.name", "$arg1"),
                "init_name": kernel.fetch("device", "init_name", "$arg1")})
    probes.add("port_attrs", "ib_setup_port_attrs", {"coredev": "$arg1:x64"})
    probes.add("client", "add_client_context",
               dict(state, client=kernel.fetch("ib_client", "name", "$arg2")))
    for number, client in clients(kernel).items():
        if client["add"]:
            probes.add(f"add_{number}", kernel.symbols.name(client["add"]),
                       {"dev": "$arg1:x64"})
    probes.add("uevent", "dev_uevent", {"kobj": "$arg1:x64"})
    probes.add("notify", "rdma_nl_notify_event", {"dev": "$arg1:x64",
                                                  "type": "$arg3:u32"})
    probes.add("dealloc", "ib_dealloc_device", {"dev": "$arg1:x64"})


# To the preprocessor rcu_head is another word for callback_head.
def add_unregistration(probes, kernel, device):
    """Add what an unbind passes; @device: the ib_device, still there."""
    done = device.follow("unreg_completion").address
    state = device_state(kernel, "$arg1")
    probes.add("remove", "mlx5r_remove")
    for number, function in stage_functions(kernel, "pf_profile", "cleanup"):
        probes.add(f"clean_{number}", function, state)
    probes.add("unregister", "ib_unregister_device", state)
    probes.add("client_gone", "remove_client_context",
               {"dev": "$arg1:x64", "client": "$arg2:u32",
                "ref": state["ref"], "marks": state["marks"],
                "index": state["index"]})
    for number, client in clients(kernel).items():
        if client["remove"]:
            probes.add(f"remove_{number}",
                       kernel.symbols.name(client["remove"]),
                       {"dev": "$arg1:x64"})
    probes.add("wait", "wait_for_completion", {"x": "$arg1:x64"},
               only=f"x == {done}")
    probes.add("complete", "complete", {"x": "$arg1:x64"},
               only=f"x == {done}")
    probes.add("notify", "rdma_nl_notify_event", {"dev": "$arg1:x64",
                                                  "type": "$arg3:u32"})
    probes.add("free_ports", "ib_free_port_attrs", {"coredev": "$arg1:x64"})
    probes.add("device_del", "device_del",
               {"device": "$arg1:x64",
                "kobj": kernel.fetch("device", "kobj.name", "$arg1")})
    probes.add("cache_gone", "ib_cache_cleanup_one", state)
    probes.add("del_gid", "mlx5_ib_del_gid")
    probes.add("add_gid", "mlx5_ib_add_gid")
    probes.add("dealloc", "ib_dealloc_device", state)
    probes.add("restrack", "rdma_restrack_clean", {"dev": "$arg1:x64"})
    probes.add("release", "ib_device_release", {"device": "$arg1:x64"})
    for name in ("kvfree_call_rcu", "call_rcu"):
        probes.add(name, name, {"head": "$arg1:x64"}, only="head == "
                   f"{device.follow('callback_head').address}")
    probes.add("kfree", "kfree", {"ptr": "$arg1:x64"},
               only=f"ptr == {device.address}")
    probes.add("free_large", "free_large_kmalloc", {"ptr": "$arg2:x64"},
               only=f"ptr == {device.address}")
    # What waited for RCU is freed by the batch, a page of pointers: it can
    # stand anywhere in it, and a probe can fetch no more than so many.
    for name, first in BULKS.items():
        probes.add(name, "kmem_cache_free_bulk",
                   {f"p{i}": f"+{8 * (first + i)}($arg3):x64"
                    for i in range(BATCH)},
                   only=" || ".join(f"p{i} == {device.address}"
                                    for i in range(BATCH)))


def unbind(kernel, card, seconds):
    """Record an unbind. @seconds: how long to wait until the memory of the
    device is given back. Return: the events, and the device's address."""
    device = kernel.device(card.ibdev())
    probes = Probes(kernel)
    add_unregistration(probes, kernel, device)
    with probes:
        card.unbind()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if any(probes.seen(n) for n in FREES):
                break
            time.sleep(0.2)
    return probes.events, device.address


def bind(kernel, cards):
    """Record the binds of cards, one after the other; one that is bound is
    taken from the driver before, unrecorded. Return: the events of each."""
    probes = Probes(kernel)
    add_registration(probes, kernel)
    with probes:
        for card in cards:
            probes.pause()
            if card.bound():
                card.unbind()
            probes.go_on()
            try:
                card.bind()
            except OSError:
                pass         # a probe that fails: the events say why
    return [of_card(probes.events, card.auxiliary()) for card in cards]


def of_card(events, name):
    """Return the events from the probe of a card's auxiliary device up to
    the next probe."""
    found = []
    for event in events:
        if event.name == "probe" and found:
            break
        if found or (event.name == "probe" and event.args["device"] == name):
            found.append(event)
    return found
