# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a cpio archive in the form that Linux takes as an initramfs.

Format: Documentation/driver-api/early-userspace/buffer-format.rst, "newc".
"""

import stat


def _entry(ino, name, mode, data=b"", dev=(0, 0)):
    fields = (ino, mode, 0, 0, 1, 0, len(data), 0, 0, dev[0], dev[1],
              len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % f for f in fields)
    head += name.encode() + b"\0"
    return _padded(head) + _padded(data)


def _padded(data):
    return data + b"\0" * (-len(data) % 4)


def write(path, files, folders=()):
    """Write to @path: @folders, /dev/console, and @files, a dict that gives
    (mode, bytes) for each name."""
    out = [_entry(1, "dev", stat.S_IFDIR | 0o755),
           _entry(2, "dev/console", stat.S_IFCHR | 0o600, dev=(5, 1))]
    for name in folders:
        out.append(_entry(len(out) + 1, name, stat.S_IFDIR | 0o755))
    for name, (mode, data) in files.items():
        out.append(_entry(len(out) + 1, name, stat.S_IFREG | mode, data))
    out.append(_entry(0, "TRAILER!!!", 0))
    with open(path, "wb") as file:
        file.write(b"".join(out))
