# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of the tour.
A driver tells the core what it can do by tables of functions, `struct
ib_device_ops`. mlx5_ib has more than one: a table for everybody, and small
ones for what only some cards or ports can do. `ib_set_device_ops` copies a
table's functions into the device, each into the slot of its name, **unless the
slot is filled already**. An earlier table wins, and a driver may put a special
table in front of a general one.

A slot that stays empty is how the core and user space learn that the device
cannot do a thing: the uverbs command is refused with `EOPNOTSUPP`, without
asking the driver. So the same driver on two cards is two different devices.
Below, `card 0` has all that the model offers; `card 1` was started with
`mw=off,dm=off,odp=off`, and `card 2` with `xrc=off`.

mlx5_ib does its setup in *stages*, a list of functions in `pf_profile`. That a
table is set in a stage after one that asks the card is how the conditional
tables come about.
"""

import capture
from cards import sh, wait

TITLE = "Tables of operations"

# Table: the property that takes it away, its slots, what a program then gets.
CONDITIONAL = {
    "mlx5_ib_dev_mw_ops": ("mw=off", ["alloc_mw", "dealloc_mw"],
                           "EOPNOTSUPP"),
    "mlx5_ib_dev_dm_ops": ("dm=off", ["alloc_dm", "dealloc_dm",
                                      "reg_dm_mr"], "max_dm_size is 0"),
    "mlx5_ib_dev_odp_ops": ("odp=off", ["advise_mr"], "EOPNOTSUPP"),
}
# What has a condition that no card of ours fails or meets.
ALWAYS = {
    "mlx5_ib_dev_sriov_ops": "the function is physical, not a virtual one, "
                             "also where there are no virtual functions",
    "hw_stats_ops": "the card has counters for queue pairs",
    "mlx5_ib_dev_common_roce_ops": "the port is an Ethernet one",
}
NEVER = {
    "mlx5_ib_dev_ipoib_enhanced_ops": "only an InfiniBand port has it",
    "mlx5_ib_dev_port_rep_ops": "only a port without RoCE, or of a switch's "
                                "representor, has it",
    "hw_switchdev_stats_ops": "only in the eswitch's switchdev mode",
}


def installed(kernel, events):
    """Return table and calling function of each ib_set_device_ops."""
    return [(kernel.symbols.name(e.args["ops"]),
             kernel.symbols.name(e.args["caller"]), e.args["ops"])
            for e in events if e.name == "setops"]


def replay(kernel, tables):
    """Return the slots that the tables make by the rule, and which slots a
    later table wanted, too: slot, table."""
    slots, lost = {}, []
    for name, _, address in tables:
        for slot, value in kernel.at("ib_device_ops", address).pointers():
            if not value or slot == "owner":
                continue
            if slot in slots and slots[slot] != value:
                lost.append((slot, name))
            slots.setdefault(slot, value)
    return slots, lost


def slots_of(device):
    return {slot: value for slot, value in device["ops"].pointers()
            if value and slot != "owner"}


def run(tour):
    kernel = tour.kernel
    tables = installed(kernel, tour.notes["bind"])
    order(tour, tables)
    slots, _ = replay(kernel, tables)
    device = kernel.device(tour.notes["cards"][0].ibdev())
    tour.same(slots_of(device), slots, "the device's slots are what the "
              "tables give when an earlier one wins")
    conditional(tour, tables)
    xrc(tour)
    ports(tour)


def order(tour, tables):
    """The order of the tables and their stages."""
    kernel = tour.kernel
    stages = [name for _, name in
              capture.stage_functions(kernel, "pf_profile", "init")]
    where = [caller for _, caller, _ in tables]
    tour.same([w for w in where if w not in stages], [],
              "each table is set by a stage of pf_profile")
    places = [stages.index(w) for w in where if w in stages]
    tour.same(places, sorted(places), "in the order of the stages")
    names = [name for name, _, _ in tables]
    main = names.index("mlx5_ib_dev_ops")
    same_stage = [n for n, w, _ in tables if w == "mlx5_ib_stage_caps_init"]
    tour.same(same_stage[-1], "mlx5_ib_dev_ops", "the table for every device "
              "comes after the conditional ones of its stage: those win")
    tour.ok(names.index("mlx5_ib_dev_common_roce_ops") > main,
            "the table of WQs and their indirection tables comes later, with "
            "the Ethernet port", names)
    tour.same(names[-1], "restrack_ops", "the last table comes when the "
              "device is registered already")
    tour.same(len(names), len(set(names)), "no table is set twice")
    for name, why in ALWAYS.items():
        tour.ok(name in names, f"{name} is set: {why}", names)
    for name, why in NEVER.items():
        tour.ok(name not in names, f"{name} is not set: {why}", names)
    pci = tour.notes["cards"][0].path
    tour.ok(not (pci / "sriov_totalvfs").exists(),
            "though the card has no virtual functions (sriov_totalvfs)")
    tour.show([["stage", "table", "functions"], *(
        [stages.index(w) if w in stages else "?", n,
         len([1 for _, v in kernel.at("ib_device_ops", a).pointers() if v])]
        for n, w, a in tables)])


def attempts(card):
    """Return what a program gets that asks for a thing: name to errno."""
    from verbs import attempt
    return {name: attempt(card, name) for name in
            ("alloc_mw", "alloc_dm", "advise_mr")}


def conditional(tour, tables):
    """The tables of card 0 that card 1 has not."""
    kernel = tour.kernel
    cards = tour.notes["cards"]
    with_, without = (slots_of(kernel.device(c.ibdev())) for c in cards[:2])
    other = {name for name, _, _ in installed(kernel, tour.notes["bind1"])}
    tries = [attempts(card) for card in cards[:2]]
    rows = [["table", "property", "slots", "program on card 0",
             "program on card 1"]]
    for name, (prop, slots, refusal) in CONDITIONAL.items():
        tour.ok(name in {n for n, _, _ in tables} and name not in other,
                f"{name} is set on card 0 and not on card 1 ({prop})")
        tour.ok(all(s in with_ for s in slots),
                f"card 0 has {', '.join(slots)}", with_)
        tour.same([s for s in slots if s in without], [],
                  "card 1 has an empty slot instead")
        call = slots[0]
        tour.same([t[call] for t in tries], [0, refusal],
                  f"a program's {call} works on card 0; on card 1: "
                  f"{refusal}")
        rows.append([name, prop, " ".join(slots),
                     *(t[call] or "works" for t in tries)])
    tour.same(sorted(set(with_) - set(without)),
              sorted(s for _, slots, _ in CONDITIONAL.values()
                     for s in slots),
              "the two devices differ in no other slot")
    tour.show(rows)


def xrc(tour):
    """Without XRC the driver does not come up at all."""
    card, events = tour.notes["cards"][2], tour.notes["bind2"]
    names = [name for name, _, _ in installed(tour.kernel, events)]
    first = [n for n, _, _ in installed(tour.kernel, tour.notes["bind"])]
    tour.ok("mlx5_ib_dev_xrc_ops" in first
            and "mlx5_ib_dev_xrc_ops" not in names,
            "mlx5_ib_dev_xrc_ops is set on card 0, and not on card 2 "
            "(xrc=off)", names)
    tour.same(card.ibdev(), None, "card 2 has no RDMA device: the driver "
              "needs XRC for an SRQ of its own, and its probe fails")
    tour.ok([e for e in events if e.name == "dealloc"]
            and not [e for e in events if e.name == "register"],
            "the device was given back without having been registered",
            [e.name for e in events])


def ports(tour):
    """A port without RoCE gets another table."""
    kernel, card = tour.kernel, tour.notes["cards"][1]
    before = kernel.device(card.ibdev())
    tour.same(kernel.symbols.name(before["ops.query_port"]),
              "mlx5_ib_query_port", "a RoCE port: mlx5_ib_dev_port_ops")
    said = sh(f"devlink dev param set pci/{card.pci} name enable_roce value "
              f"false cmode driverinit && devlink dev reload pci/{card.pci}")
    if not wait(card.ibdev, 15):
        tour.ok(False, "the device comes back without RoCE", said)
        return
    device = kernel.device(card.ibdev())
    ops = {s: kernel.symbols.name(v) for s, v in slots_of(device).items()}
    tour.same((ops["query_port"], ops["get_port_immutable"]),
              ("mlx5_ib_rep_query_port", "mlx5_port_rep_immutable"),
              "with RoCE switched off by devlink: mlx5_ib_dev_port_rep_ops")
    tour.same(ops["query_pkey"], "mlx5_ib_query_pkey", "whose query_pkey "
              "lost to that of mlx5_ib_dev_ops, which came earlier")
    flags = [d["port_data[1].immutable.core_cap_flags"]
             for d in (kernel.device(tour.notes["cards"][0].ibdev()), device)]
    tour.show([["port", "get_port_immutable", "query_port", "core_cap_flags",
                "entries of the GID table"],
               ["RoCE", "mlx5_port_immutable", "mlx5_ib_query_port",
                f"{flags[0]:#x}", kernel.device(
                    tour.notes["cards"][0].ibdev())[
                        "port_data[1].immutable.gid_tbl_len"]],
               ["Ethernet only", ops["get_port_immutable"],
                ops["query_port"], f"{flags[1]:#x}",
                device["port_data[1].immutable.gid_tbl_len"]]])
    tour.ok(flags[0] != flags[1] and flags[1] == RAW_PACKET,
            "such a port offers raw packets and no RoCE", flags)
    sh(f"devlink dev param set pci/{card.pci} name enable_roce value "
       f"true cmode driverinit && devlink dev reload pci/{card.pci}")
    wait(card.ibdev, 15)


RAW_PACKET = 0x01000000         # RDMA_CORE_CAP_PROT_RAW_PACKET
