# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's symbols as a file that debuggers read.

A distribution's kernel comes without its symbols; the running one tells them
in /proc/kallsyms. They are written as an ELF file (ELF specification: Symbol
Table) with two sections that have addresses and no contents, code and the
rest: gdb breaks only at symbols of a section with code.
"""

import struct

EHDR = struct.Struct("<16sHHIQQQIHHHHHH")
SHDR = struct.Struct("<IIQQQQIIQQ")
SYM = struct.Struct("<IBBHQQ")
SHT_SYMTAB, SHT_STRTAB, SHT_NOBITS = 2, 3, 8
SHF_WRITE, SHF_ALLOC, SHF_EXEC = 1, 2, 4
STT_OBJECT, STT_FUNC = 1, 2
STB_LOCAL, STB_GLOBAL = 0, 1
NAMES = [".text", ".data", ".symtab", ".strtab", ".shstrtab"]
TEXT, DATA, SYMTAB, STRTAB, SHSTRTAB = range(1, 6)


def parse(text):
    """Yield (address, letter, name) of the kernel proper. Modules' symbols,
    which have another column, are left out."""
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3:
            yield int(words[0], 16), words[1], words[2]


def extent(rows):
    """Return where the kernel begins, its code ends, and it ends."""
    known = {name: address for address, _, name in rows
             if name in ("_text", "_etext", "_end")}
    return known["_text"], known["_etext"], known["_end"]


def symbol(address, letter, name_at, etext):
    kind = STT_FUNC if letter in "tTwW" else STT_OBJECT
    bind = STB_GLOBAL if letter.isupper() else STB_LOCAL
    return SYM.pack(name_at, bind << 4 | kind, 0,
                    TEXT if address < etext else DATA, address, 0)


def string_table(names):
    """Return a string table, and {name: place in it}."""
    table, places = bytearray(b"\0"), {}
    for name in names:
        if name not in places:
            places[name] = len(table)
            table += name.encode() + b"\0"
    return bytes(table), places


def write_elf(rows, path):
    """Write @rows, as of parse(), into the ELF file @path."""
    rows = list(rows)
    text, etext, end = extent(rows)
    # Local symbols come first; a section header says how many. What lies
    # outside are offsets, of a CPU's variables.
    rows = sorted((r for r in rows if text <= r[0] < end),
                  key=lambda row: row[1].isupper())
    strings, places = string_table(name for _, _, name in rows)
    table = SYM.pack(0, 0, 0, 0, 0, 0) + b"".join(
        symbol(address, letter, places[name], etext)
        for address, letter, name in rows)
    titles, title = string_table(NAMES)
    local = 1 + sum(not row[1].isupper() for row in rows)
    at = EHDR.size
    headers = [SHDR.pack(*[0] * 10)]

    def add(name, kind, flags, address, size, link=0, info=0, row=0):
        headers.append(SHDR.pack(title[name], kind, flags, address, at, size,
                                 link, info, 16 if address else 1, row))

    add(".text", SHT_NOBITS, SHF_ALLOC | SHF_EXEC, text, etext - text)
    add(".data", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, etext, end - etext)
    add(".symtab", SHT_SYMTAB, 0, 0, len(table), STRTAB, local, SYM.size)
    at += len(table)
    add(".strtab", SHT_STRTAB, 0, 0, len(strings))
    at += len(strings)
    add(".shstrtab", SHT_STRTAB, 0, 0, len(titles))
    at += len(titles)
    ident = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    with open(path, "wb") as file:
        file.write(EHDR.pack(ident, 2, 62, 1, 0, 0, at, 0, EHDR.size, 0, 0,
                             SHDR.size, len(headers), SHSTRTAB))
        for part in (table, strings, titles, *headers):
            file.write(part)
