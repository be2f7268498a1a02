# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of the tour.
The PCI driver mlx5_core finds the card and adds a device to the auxiliary bus
for each thing that it can do: `mlx5_core.rdma.0` for RDMA. The driver mlx5_ib
is bound to that, and its `mlx5r_probe` begins with one allocation. The driver
asks the RDMA core for the bytes of its own `struct mlx5_ib_dev`; the core's
`struct ib_device` is that struct's first member, so one object is both, one
`kfree` will release both, and to get from one to the other costs nothing.

What the core does at this point is bookkeeping for later: roots where it will
track each PD, CQ, QP (`restrack`), lists, locks, and an embedded `struct
device` that is initialised but not added anywhere. Nobody can find the device
yet: it has no name, no index, no reference to take, and stands in no list.

Where kernels differ: in 6.1 and 6.12 the call is `_ib_alloc_device(size)`, and
the device starts in the first network namespace; in 7.x it is
`_ib_alloc_device(size, net)`, so that a device can be born in another.
"""

TITLE = "Allocation"


def run(tour):
    kernel = tour.kernel
    events = tour.notes["bind"]
    named = {e.name: e for e in reversed(events)}
    call, result = named["alloc_call"], named["alloc"]
    types, number = kernel.find("mlx5_ib_dev")
    size = types.size(number)
    tour.order(events, ["probe", "alloc_call", "alloc", "stage_0"],
               "mlx5r_probe allocates before anything else")
    tour.same(len([e for e in events if e.name == "alloc"]), 1,
              "it allocates one device")
    tour.same(call.args["size"], size,
              "the core allocates as much as the driver's struct mlx5_ib_dev")
    tour.same(kernel.offset("mlx5_ib_dev", "ib_dev"), 0,
              "the core's ib_device is its first member")
    network(tour, call)
    first = named["stage_0"].args
    tour.same(first["dev"], result.args["dev"],
              "the driver's stages are given that object")
    tour.ok(first["res"], "restrack roots exist before the first stage",
            first)
    tour.same((first["name"], first["index"], first["ref"],
               first["in_sysfs"]), ("", 0, 0, 0),
              "no name, no index, no reference, not in sysfs")
    before = [e for e in events
              if result.order < e.order < named["register"].order]
    tour.same([e.name for e in before if e.name in
               ("device_add", "client", "uevent", "notify")
               and device_of(e, result.args["dev"])], [],
              "nothing is added or told before ib_register_device")
    last = named["register"].args
    tour.same((last["name"], last["index"], last["ref"], last["in_sysfs"]),
              ("", 0, 0, 0), "it is the same when ib_register_device is "
              "called, all tables but the last filled in")
    show(tour, size, call, first)


def device_of(event, address):
    """Tell whether an event is about the device."""
    return event.args.get("dev") == address or event.name == "device_add"


def network(tour, call):
    """Whether the allocation names a network namespace."""
    if takes_net(tour.kernel):
        net = tour.kernel.symbols.address("init_net")
        tour.same(call.args["net"], net, "the call names the network "
                  "namespace the device is to be in: the first one")


def takes_net(kernel):
    """Tell whether _ib_alloc_device takes a network namespace: in BTF."""
    for unit in kernel.types:
        found = unit.function("_ib_alloc_device")
        if found:
            return len(found) > 1
    return False


def show(tour, size, call, first):
    tour.show([
        ["size", "in sysfs", "name", "index", "references", "restrack"],
        [size, first["in_sysfs"], repr(first["name"]), first["index"],
         first["ref"], "yes" if first["res"] else "no"]])
