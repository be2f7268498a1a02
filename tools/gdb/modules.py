# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells gdb of modules: those that are loaded, and each as it is loaded, after
its sections are in place and before a line of it runs."""

import os
import re
import struct
from pathlib import Path

import elf
import gdb
import orc

# enum mod_mem_type of Linux 6.4 and later.
MEMORIES = {"text": 0, "data": 1, "rodata": 2, "ro_after_init": 3,
            "init_text": 4}
INIT = ".init.text"
# Where gdb is to see sections that are not in memory; nothing is there. By
# itself it would put them at 0, and name the null pointer after one of them.
NOWHERE = 0xffffffffffe00000


def offset_of(kind, name):
    for field in kind.fields():
        if field.name == name:
            return field.bitpos // 8
        if not field.name:
            inner = offset_of(field.type, name)
            if inner is not None:
                return field.bitpos // 8 + inner
    return None


class Kernel:
    """What of the kernel's structures must be known before there is a file
    with types: taken from a module's debug information."""

    def __init__(self, module_file):
        gdb.execute(f"file {module_file}", to_string=True)
        module = gdb.lookup_type("struct module")
        self.name = offset_of(module, "name")
        self.mem = offset_of(module, "mem")
        if self.mem is None:
            core = gdb.lookup_type("struct module_layout")
            self.core, self.init = (
                offset_of(module, name) + offset_of(core, "base")
                for name in ("core_layout", "init_layout"))
        else:
            memory = gdb.lookup_type("struct module_memory")
            self.mem_size = memory.sizeof
            self.base = offset_of(memory, "base")

    def bases(self, module, sizes):
        """Return {memory: address} of the module at @module."""
        if self.mem is None:
            base = read_u64(module + self.core)
            return {memory: base + offset for memory, offset in
                    elf.in_one_piece(sizes).items()} | {
                        "init_text": read_u64(module + self.init)}
        return {memory: read_u64(module + self.mem + i * self.mem_size +
                                 self.base)
                for memory, i in MEMORIES.items()}


def read_u64(address):
    data = gdb.selected_inferior().read_memory(address, 8)
    return struct.unpack("<Q", bytes(data))[0]


def read_string(address, limit=56):
    data = bytes(gdb.selected_inferior().read_memory(address, limit))
    return data.split(b"\0")[0].decode(errors="replace")


def files(folder):
    """Return {module name: file with debug information}."""
    return {p.stem.replace("-", "_"): p
            for p in Path(folder).rglob("*.ko")}


class Known:
    """The modules that gdb knows of.

    @files: {module: its file with debug information}
    @at: {module: {section: address}} of those that gdb was told of"""

    def __init__(self, folder):
        self.files = files(folder)
        self.at = {}

    def add(self, name, addresses):
        """Tell gdb where the sections of a module are."""
        self.forget(name)
        self.settle(addresses)
        all_sections = elf.nowhere(elf.sections(self.files[name]), addresses,
                                   NOWHERE) | addresses
        others = [f"-s {section} {address:#x}" for section, address in
                  sorted(all_sections.items()) if section != ".text"]
        gdb.execute(f"add-symbol-file {self.files[name]} "
                    f"{addresses['.text']:#x} {' '.join(others)}",
                    to_string=True)
        self.at[name] = addresses

    def forget(self, name):
        if name in self.at:
            text = self.at.pop(name)[".text"]
            gdb.execute(f"remove-symbol-file -a {text:#x}", to_string=True)

    def settle(self, new):
        """Forget the starting code of modules that lies where the new one
        has its own: the kernel freed it."""
        for name, addresses in list(self.at.items()):
            if INIT in new and addresses.get(INIT, 0) >> 12 == new[INIT] >> 12:
                del addresses[INIT]
                self.add(name, addresses)


class Loading(gdb.Breakpoint):
    """Stops, without the user noticing, when a module is about to begin."""

    def __init__(self, kernel, known):
        super().__init__("do_init_module", internal=True)
        self.silent = True
        self.kernel = kernel
        self.known = known

    def stop(self):
        module = int(gdb.parse_and_eval("(unsigned long)$rdi"))
        name = read_string(module + self.kernel.name)
        if name in self.known.files:
            self.load(name, module)
        return False

    def load(self, name, module):
        placed, sizes = elf.layout(elf.sections(self.known.files[name]))
        bases = self.kernel.bases(module, sizes)
        addresses = {section: bases[memory] + offset for
                     section, (memory, offset) in placed.items()}
        # The kernel's name for this object is its place in the module.
        found = addresses.get(".gnu.linkonce.this_module")
        if found != module:
            gdb.write(f"mlx5sim: the sections of {name} are not where they "
                      "were expected; no symbols\n", gdb.STDERR)
            return
        self.known.add(name, addresses)


def add_loaded(sections, known):
    """Tell gdb of modules that are loaded: lines
    "MODULE/sections/SECTION:ADDRESS"."""
    found = {}
    for line in sections.splitlines():
        name, section, address = re.split("/sections/|:", line)
        if re.match(r"0x0*$", address) or section.startswith(".init"):
            continue
        found.setdefault(name, {})[section] = int(address, 16)
    for name, addresses in found.items():
        if name in known.files and ".text" in addresses:
            kept = {s.name for s in elf.sections(known.files[name])}
            known.add(name, {s: a for s, a in addresses.items()
                             if s in kept})


def begin():
    env = os.environ
    known = Known(env["MLX5SIM_MODULES"])
    for there, here in ((env["MLX5SIM_COMPILED_AT"], env["MLX5SIM_MODULES"]),
                        ("/usr/src", env["MLX5SIM_HEADERS"])):
        gdb.execute(f"set substitute-path {there} {here}")
    kernel = Kernel(known.files["mlx5_core"])
    gdb.execute(f"file {env['MLX5SIM_KERNEL']}", to_string=True)
    gdb.execute(f"target remote {env['MLX5SIM_GDB']}/gdb.sock", to_string=True)
    orc.begin()
    Loading(kernel, known)
    add_loaded(Path(env["MLX5SIM_GDB"], "sections").read_text(), known)
