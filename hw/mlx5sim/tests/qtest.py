# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU without a guest: its test protocol, QMP, and PCI by hand.

Source: QEMU's docs/devel/testing/qtest (protocol), PCI local bus
specification 3.0 section 3.2.2.3.2 (configuration mechanism #1).
"""

import json
import re
import socket
import subprocess
import tempfile
import time
from pathlib import Path

TIMEOUT_S = 30

# Debian builds no qtest accelerator, but the protocol works beside any. The
# firmware then is a processor that halts: cli; hlt; jmp to the hlt.
FIRMWARE_BYTES = 65536
RESET_VECTOR = b"\xfa\xf4\xeb\xfd"


class Line:
    """A unix socket that speaks in lines; QEMU connects to it."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(1)
        self.listener.settimeout(TIMEOUT_S)
        self.file = None

    def accept(self, alive):
        """Wait for QEMU; @alive() tells whether it still may come."""
        self.listener.settimeout(0.2)
        end = time.monotonic() + TIMEOUT_S
        while self.file is None:
            try:
                conn, _ = self.listener.accept()
            except socket.timeout:
                if not alive() or time.monotonic() > end:
                    raise
                continue
            conn.settimeout(TIMEOUT_S)
            self.file = conn.makefile("rw", buffering=1, encoding="utf-8")

    def say(self, line):
        self.file.write(line + "\n")
        self.file.flush()

    def hear(self):
        line = self.file.readline()
        if not line:
            raise EOFError("QEMU closed the line")
        return line.strip()

    def close(self):
        if self.file:
            self.file.close()
        self.listener.close()


class Qemu:
    """A running QEMU. Use as a context manager; exit must be clean."""

    def __init__(self, program, *args, machine="q35", env=None):
        self.dir = tempfile.TemporaryDirectory(prefix="mlx5sim-qtest-")
        self.root = Path(self.dir.name)
        self.log_path = self.root / "log"
        self.qtest = Line(self.root / "qtest")
        self.monitor = Line(self.root / "qmp")
        self.events = []
        firmware = self.root / "firmware"
        firmware.write_bytes(bytes(FIRMWARE_BYTES - 16)
                             + RESET_VECTOR.ljust(16, b"\0"))
        argv = [program, "-machine", machine, "-accel", "tcg", "-m", "64",
                "-bios", str(firmware),
                "-nodefaults", "-display", "none", "-no-user-config",
                "-name", "qtest,debug-threads=on",
                "-qtest", f"unix:{self.root}/qtest", "-qtest-log", "none",
                "-qmp", f"unix:{self.root}/qmp",
                "-d", "guest_errors", "-D", str(self.log_path), *args]
        self.process = subprocess.Popen(
            argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace")
        try:
            alive = lambda: self.process.poll() is None
            self.qtest.accept(alive)
            self.monitor.accept(alive)
            self.monitor.hear()
            self.qmp("qmp_capabilities")
        except (OSError, EOFError):
            self.process.kill()
            raise RuntimeError("QEMU did not start: "
                               + self.process.communicate()[1]) from None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                self.monitor.say('{"execute": "quit"}')
                code = self.process.wait(TIMEOUT_S)
                said = self.process.stderr.read()
                assert code == 0, f"QEMU exited with {code}: {said}"
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self.process.stderr.close()
            self.qtest.close()
            self.monitor.close()
            self.dir.cleanup()

    # The test protocol

    def cmd(self, text):
        """Say @text; return the words after OK."""
        self.qtest.say(text)
        while True:
            words = self.qtest.hear().split()
            if words[0] != "IRQ":
                assert words[0] == "OK", f"{text}: {' '.join(words)}"
                return words[1:]

    def read(self, addr, size):
        name = {1: "readb", 2: "readw", 4: "readl", 8: "readq"}[size]
        return int(self.cmd(f"{name} {addr:#x}")[0], 16)

    def write(self, addr, size, value):
        name = {1: "writeb", 2: "writew", 4: "writel", 8: "writeq"}[size]
        self.cmd(f"{name} {addr:#x} {value:#x}")

    def mem_read(self, addr, size):
        return bytes.fromhex(self.cmd(f"read {addr:#x} {size:#x}")[0][2:])

    def mem_write(self, addr, data):
        self.cmd(f"write {addr:#x} {len(data):#x} 0x{data.hex()}")

    # QMP

    def qmp(self, command, **args):
        """Run a QMP command; return its result, raise its error."""
        self.monitor.say(json.dumps({"execute": command, "arguments": args}))
        while True:
            answer = json.loads(self.monitor.hear())
            if "event" in answer:
                self.events.append(answer)
            elif "error" in answer:
                raise QmpError(answer["error"]["desc"])
            else:
                return answer["return"]

    def wait_event(self, name):
        """Return the next event @name, waiting for it."""
        while True:
            for event in self.events:
                if event["event"] == name:
                    self.events.remove(event)
                    return event
            self.events.append(json.loads(self.monitor.hear()))

    def qom_get(self, ident, name):
        return self.qmp("qom-get", path=f"/machine/peripheral/{ident}",
                        property=name)

    def log(self):
        """What -d and -trace wrote so far."""
        return self.log_path.read_text() if self.log_path.exists() else ""

    def device_thread_ticks(self):
        """CPU time of the device's own threads so far, in clock ticks."""
        ticks, found = 0, False
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            if (task / "comm").read_text().strip() == "mlx5sim":
                words = (task / "stat").read_text().rpartition(")")[2].split()
                ticks += int(words[11]) + int(words[12])
                found = True
        assert found, "QEMU has no thread named mlx5sim"
        return ticks


class QmpError(Exception):
    """What QMP answered instead of a result."""


class Pci:
    """One PCI function, through configuration mechanism #1."""

    COMMAND = 0x04
    BAR0 = 0x10

    def __init__(self, qemu, slot, bus=0, func=0):
        self.qemu = qemu
        self.base = 0x80000000 | bus << 16 | slot << 11 | func << 8

    def _select(self, offset):
        self.qemu.cmd(f"outl 0xcf8 {self.base | (offset & 0xfc):#x}")

    def read(self, offset, size=4):
        self._select(offset)
        name = {1: "inb", 2: "inw", 4: "inl"}[size]
        return int(self.qemu.cmd(f"{name} {0xcfc + (offset & 3):#x}")[0], 16)

    def write(self, offset, value, size=4):
        self._select(offset)
        name = {1: "outb", 2: "outw", 4: "outl"}[size]
        self.qemu.cmd(f"{name} {0xcfc + (offset & 3):#x} {value:#x}")

    def bar_size(self, index, wide=False):
        """Return the size of a BAR in bytes, by writing ones to it."""
        offset = self.BAR0 + 4 * index
        old = self.read(offset)
        self.write(offset, 0xffffffff)
        mask = self.read(offset) & ~0xf
        self.write(offset, old)
        if wide:
            old = self.read(offset + 4)
            self.write(offset + 4, 0xffffffff)
            mask |= self.read(offset + 4) << 32
            self.write(offset + 4, old)
        full = (1 << 64 if wide else 1 << 32) - 1
        return (full ^ mask) + 1 & full if mask else 0

    def capabilities(self):
        """Return {id: offset} of the capability list."""
        found, at = {}, self.read(0x34, 1)
        while at:
            assert at not in found.values(), "the capability list is a loop"
            found[self.read(at, 1)] = at
            at = self.read(at + 1, 1)
        return found

    def map(self, bar0, bar4, command=6):
        """Place both BARs and write the command register."""
        self.write(self.BAR0, bar0 & 0xffffffff)
        self.write(self.BAR0 + 4, bar0 >> 32)
        self.write(self.BAR0 + 16, bar4)
        self.write(self.COMMAND, command, 2)


def run(program, *args, env=None):
    """Run a QEMU that is to end by itself. Return: (status, all it said)."""
    done = subprocess.run([program, *args], env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=TIMEOUT_S * 2)
    return done.returncode, done.stdout


def refusal(program, *args, machine="q35", env=None):
    """Return what QEMU says when it refuses @args; it must refuse."""
    code, said = run(program, "-machine", machine, "-accel", "tcg",
                     "-nodefaults", "-display", "none", "-no-user-config",
                     *args, env=env)
    assert code == 1, f"exit status {code}, said: {said}"
    return said


class Tap:
    """Runs functions named test_* and says how they went (TAP 13)."""

    def __init__(self, tests, only=None):
        self.tests = [t for t in tests
                      if not only or re.search(only, t.__name__)]

    def run(self, *args):
        """Run all with @args. Return: how many failed."""
        print("TAP version 13", flush=True)
        print(f"1..{len(self.tests)}", flush=True)
        failed = 0
        for number, test in enumerate(self.tests, 1):
            name = f"{test.__name__[5:]} - {(test.__doc__ or '').strip()}"
            try:
                test(*args)
            except Skip as why:
                print(f"ok {number} {name} # SKIP {why}", flush=True)
            except Exception as err:
                failed += 1
                text = f"{type(err).__name__}: {err}"
                print(f"not ok {number} {name}")
                print("".join(f"# {line}\n" for line in text.splitlines())
                      + where(err), end="", flush=True)
            else:
                print(f"ok {number} {name}", flush=True)
        return failed


def where(err):
    """Return a comment line with the place that raised @err."""
    trace = err.__traceback__
    lines = []
    while trace:
        code = trace.tb_frame.f_code
        lines.append(f"#   {Path(code.co_filename).name}:{trace.tb_lineno} "
                     f"{code.co_name}\n")
        trace = trace.tb_next
    return "".join(lines)


class Skip(Exception):
    """The test can't run here; the message states what is missing."""
