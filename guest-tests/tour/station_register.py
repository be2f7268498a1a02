# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of the tour.
`ib_register_device` makes a device public, and does so in an order that no
observer can see half of it. First what others will ask for must be there: the
name and the index, what is immutable of each port, and a cache of the tables
that answer a lookup without asking the card: GIDs, P_Keys, the state of the
port. Then come sysfs and the character devices, then the mark *registered* in
the core's list of devices, with the first reference; only now can anybody take
one. Each `ib_client`, a user of devices inside the kernel, is told of the
device in the order in which the clients came: the MAD layer, uverbs, the
connection manager. A client that has no use for the device declines, as `sa`
does on an Ethernet port, and holds no reference. After them, a twin in sysfs
is made for every other network namespace. At last user space is told, by the
uevent ADD that was held back and by a netlink notification, and a second one
that names the port's network interface.

Where kernels differ: 6.1 has no such notifications, nor `rdma monitor`.
"""

import capture
from cards import sh, wait

TITLE = "Registration"
REGISTER, ATTACH = 0, 2          # enum rdma_nl_notify_event_type
ADD_NOTIFY = (6, 12)


def run(tour):
    kernel, events = tour.kernel, tour.notes["bind"]
    card = tour.notes["cards"][0]
    named = {e.name: e for e in reversed(events)}
    dev = named["register"].args["dev"]
    mine = own(kernel, events, dev)
    name = card.ibdev()
    ports(tour, named, name)
    caches(tour, named, mine, name)
    publication(tour, mine, named)
    clients(tour, kernel, events, named)
    namespaces(tour, mine)
    told(tour, mine, events, dev)
    addresses(tour, card)
    tour.show([["step", "what", "references", "registered"],
               *steps(kernel, mine)])


def own(kernel, events, dev):
    """Return the events, of device_add and uevent only the device's own, and
    those of its twins as another name."""
    device = dev + kernel.offset("ib_device", "dev")
    kobj = device + kernel.offset("device", "kobj")
    found = []
    for event in events:
        if event.name == "device_add" and event.args["device"] != device:
            if event.args["kobj"] == kernel.at("ib_device", dev)["name"]:
                event = event._replace(name="twin_add")
            else:
                event = event._replace(name="char_add")
        if event.name == "uevent" and event.args["kobj"] != kobj:
            continue
        found.append(event)
    return found


def ports(tour, named, name):
    first, reg = named["immutable"].args, named["register"].args
    tour.ok(reg["name"] == "" and first["name"] == name and first["index"],
            "the name and the index come first", first)
    tour.same((first["in_sysfs"], first["ref"]), (0, 0),
              "while the device is not public")
    cache = named["cache"].args
    tour.ok(cache["gid_len"] and cache["flags"],
            "then what is immutable of each port, from the driver", cache)


def caches(tour, named, mine, name):
    tour.order(mine, ["immutable", "query_device", "cache", "add_gid",
                      "attrs", "device_add"],
               "then the caches are filled, before sysfs")
    at = named["attrs"].args
    tour.ok(at["gids"], "by then there is a table of GIDs")
    tour.same(at["pkeys"], 1, "and of P_Keys, with one entry")
    tour.same(at["state"], 4, "and the port is known to be ACTIVE")
    adds = [e for e in mine if e.name == "add_gid"
            and e.order < named["attrs"].order]
    tour.ok(len(adds) >= 4, "the driver was given a GID for each address "
            "and RoCE version", len(adds))


def publication(tour, mine, named):
    tour.order(mine, ["attrs", "device_add", "port_attrs", "client"],
               "sysfs: the device, then its ports")
    client = named["client"].args
    tour.ok(not capture.registered(named["attrs"]),
            "before that the device is not marked registered")
    tour.ok(capture.registered(named["client"]),
            "it is when the first client is told")
    tour.same((named["attrs"].args["ref"], client["ref"]), (0, 2),
              "it has no reference before; then one for being registered "
              "and one of the thread that registers")


def clients(tour, kernel, events, named):
    told_ = [e.args["client"] for e in events if e.name == "client"]
    known = [c["name"] for _, c in sorted(capture.clients(kernel).items())]
    known = [kernel.text(c) for c in known]
    tour.same(told_, known, "each client is told, in the order of its number")
    added = [int(e.name[4:]) for e in events if e.name.startswith("add_")
             and e.name[4:].isdigit()]
    tour.same(added, sorted(added), "their add functions run in that order")
    adds = [e for e in events if e.name == "char_add"
            or e.name == "device_add"]
    chars = [e.args["kobj"] or e.args["init_name"] for e in adds]
    tour.ok(any(c.startswith("uverbs") for c in chars),
            "the character device uverbs is made by the client of that "
            "name", chars)
    tour.notes["clients"] = told_


def namespaces(tour, mine):
    tour.order(mine, ["client", "twin_add", "uevent"], "a twin in another "
               "network namespace is made after the clients' turn")
    last = max(e.order for e in mine if e.name == "client")
    twin = min(e.order for e in mine if e.name == "twin_add")
    tour.ok(last < twin, "after the last of them", (last, twin))
    name = tour.notes["cards"][0].ibdev()
    seen = sh("ip netns exec tour ls /sys/class/infiniband")
    tour.ok(name in seen.split(), "the namespace's sysfs shows it", seen)


def told(tour, mine, events, dev):
    uevent = [e.order for e in mine if e.name == "uevent"]
    tour.same(len(uevent), 1, "one uevent of the device, ADD")
    last = max(e.order for e in mine
               if e.name in ("client", "twin_add", "port_attrs"))
    tour.ok(uevent and uevent[0] > last, "after clients and twins",
            (uevent, last))
    tour.ok("add" in [a for a, d in tour.notes["uevents"]
                      if d.endswith("/infiniband/" +
                                    tour.notes["cards"][0].ibdev())],
            "a program that listens to uevents hears it",
            tour.notes["uevents"])
    notes = [e for e in events if e.name == "notify" and e.args["dev"] == dev]
    if tour.kernel.level < ADD_NOTIFY:
        tour.ok(not notes, "this kernel has no netlink notification")
        return
    tour.same([e.args["type"] for e in notes], [REGISTER, ATTACH],
              "netlink tells of the registration, and of the port's network "
              "interface")
    tour.ok(notes and notes[0].order > uevent[0], "last of all")
    tour.ok("[REGISTER]" in tour.notes["monitor"],
            "rdma monitor prints it", tour.notes["monitor"])
    name = tour.notes["cards"][0].ibdev()
    tour.show(["$ rdma monitor", *(
        line for line in tour.notes["monitor"].splitlines()
        if name in line.split())])


def steps(kernel, mine):
    """Yield the rows of the table that shows the whole."""
    words = {"register": "ib_register_device", "immutable": "port immutable "
             "data is asked for", "cache": "caches are set up",
             "attrs": "sysfs attributes are prepared",
             "device_add": "the device is added to sysfs",
             "port_attrs": "its ports are", "char_add": "device node",
             "twin_add": "twin in another namespace",
             "uevent": "uevent ADD", "notify": "netlink notification"}
    for event in mine:
        args = event.args
        if event.name == "client":
            what = f"client {args['client']}"
        elif event.name == "char_add":
            what = f"device node {args['kobj'] or args['init_name']}"
        elif event.name in words:
            what = words[event.name]
        else:
            continue
        mark = ""
        if "marks" in args and args["index"]:
            mark = "yes" if capture.registered(event) else "no"
        yield [f"{event.order:.0f}", what, args.get("ref", ""), mark]


def addresses(tour, card):
    """The GID table follows the addresses of the interface."""
    name, net = card.ibdev(), card.netdev()
    gid = "0000:0000:0000:0000:0000:ffff:c000:0237"     # 192.0.2.55

    def there():
        return gid in sh(f"cat /sys/class/infiniband/{name}/ports/1/gids/"
                         "[0-9] /sys/class/infiniband/{name}/ports/1/gids/"
                         "1[0-9] 2>/dev/null")

    before = there()
    sh(f"ip address add 192.0.2.55/24 dev {net}")
    came = wait(there)
    sh(f"ip address del 192.0.2.55/24 dev {net}")
    gone = wait(lambda: not there())
    tour.same((before, came, gone), (False, True, True),
              "the GID table follows: an address of the interface comes and "
              "goes, and its GID does")
