# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands of gdb that read the RDMA core: its devices, what they hold, their
operations."""

import os
import subprocess

import gdb
import modules
import xarray

# Marks of the devices' array (drivers/infiniband/core/device.c).
REGISTERED = 1


def devices():
    """Yield (index, struct ib_device, registered)."""
    kind = gdb.lookup_type("struct ib_device").pointer()
    for index, entry, marks in xarray.entries(device_array()):
        yield (index, gdb.Value(entry).cast(kind).dereference(),
               REGISTERED in marks)


def device_array():
    """Return the array; other files have variables of its name, too."""
    symbols = gdb.lookup_static_symbols("devices")
    for symbol in symbols:
        objfile = symbol.symtab.objfile.filename
        if objfile.endswith("/ib_core.ko") and \
                str(symbol.type) == "struct xarray":
            return symbol.value()
    raise gdb.GdbError("ib_core is not loaded, or has no symbols")


def choose(name):
    """Return the struct ib_device called @name, or the first."""
    for _, device, _ in devices():
        if not name or device["name"].string() == name:
            return device
    raise gdb.GdbError(f"no RDMA device {name}".rstrip())


class Rdma(gdb.Command):
    """Commands about the RDMA core: rdma devices, rdma res, rdma ops."""

    def __init__(self):
        super().__init__("rdma", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class Devices(gdb.Command):
    """The devices that the RDMA core knows, with their marks."""

    def __init__(self):
        super().__init__("rdma devices", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        found = False
        for index, device, registered in devices():
            found = True
            name = device["name"].string() or "(no name yet)"
            refs = int(device["refcount"]["refs"]["counter"])
            print(f"{index}: {name} at {int(device.address):#x} "
                  f"{'REGISTERED' if registered else 'not registered'} "
                  f"refcount {refs} ports {int(device['phys_port_cnt'])}")
        if not found:
            print("no device")


def resource_kinds():
    """Yield (number, name) of enum rdma_restrack_type."""
    for field in gdb.lookup_type("enum rdma_restrack_type").fields():
        name = field.name.removeprefix("RDMA_RESTRACK_").lower()
        if name != "max":
            yield field.enumval, name


class Res(gdb.Command):
    """What a device's resource tracking holds: rdma res [DEVICE]."""

    def __init__(self):
        super().__init__("rdma res", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        device = choose(argument.strip())
        entry_kind = gdb.lookup_type("struct rdma_restrack_entry").pointer()
        found = False
        if device["res"]:
            for number, kind in resource_kinds():
                for index, entry, _ in xarray.entries(
                        device["res"][number]["xa"]):
                    found = True
                    e = gdb.Value(entry).cast(entry_kind).dereference()
                    print(f"{kind} {index} at {entry:#x}: {owner(e)}")
        if not found:
            print("nothing")


def owner(entry):
    """Return whose a struct rdma_restrack_entry is."""
    if entry["task"]:
        return f"user, task {int(entry['task']):#x}"
    return entry["kern_name"].string() if entry["kern_name"] else "kernel"


def tables():
    """Return {name: struct ib_device_ops} of the tables of mlx5_ib, which are
    its objects of that size."""
    ko = modules.files(os.environ["MLX5SIM_MODULES"])["mlx5_ib"]
    kind = gdb.lookup_type("struct ib_device_ops")
    lines = subprocess.run(["nm", "-S", str(ko)], capture_output=True,
                           text=True, check=True).stdout.splitlines()
    found = {}
    for words in map(str.split, lines):
        if len(words) == 4 and int(words[1], 16) == kind.sizeof:
            try:
                value = gdb.parse_and_eval(f"(struct ib_device_ops *)"
                                           f"&{words[3]}")
            except gdb.error:
                continue
            found[words[3]] = value.dereference()
    return found


def function_name(pointer):
    text = str(pointer.format_string(symbols=True))
    return text.partition("<")[2].rstrip(">") or text


class Ops(gdb.Command):
    """The operations of a device: rdma ops [DEVICE]. Each slot that is
filled, by what function, and in which tables of mlx5_ib that stands."""

    def __init__(self):
        super().__init__("rdma ops", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        ops = choose(argument.strip())["ops"]
        known = tables()
        filled = slots = 0
        for field in ops.type.fields():
            if field.type.strip_typedefs().code != gdb.TYPE_CODE_PTR or \
                    field.type.target().code != gdb.TYPE_CODE_FUNC:
                continue
            slots += 1
            value = ops[field.name]
            if not value:
                continue
            filled += 1
            holders = [name for name, table in known.items()
                       if table[field.name] == value]
            print(f"{field.name:28} {function_name(value):36} "
                  f"{' '.join(holders)}")
        print(f"{filled} of {slots} slots are filled")


Rdma()
Devices()
Res()
Ops()
