# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts QEMU with a guest, cold or warm.

Cold: the kernel boots. Warm: a guest that booted once is restored; its memory
is a file mapped privately, so that nothing is read that it doesn't touch. The
snapshot holds no card and no share: both are given on the restoring command
line and found by a PCI rescan, so each run has a fresh card, and the card
needs no save and load. A snapshot belongs to one QEMU, one image and one
machine; all of them are in its key.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import driver
import inspectverb
import kernellog
import plugin
import privateqemu
import qemubin
from agent import Agent, GuestGone, socket_pair
from paths import cache
from qmp import Qmp, QmpError
from step import Failure, locked, step

CPUS = 2
BOOT_TIMEOUT_S = 120

# Random numbers, timers and clocks that a TCG guest may trust at once, and
# tests of crypto algorithms nobody uses here: together a third of the boot.
# Programs at the same addresses each time: TCG knows translated code by its
# address, and would translate the loader and libc again for each program that
# starts, five times the time that it takes otherwise.
# The last ones are a source of randomness beside the processor's, the test of a
# way to derive keys, and the certificates of modules, which have no signature
# here (guest-tests/image/kernel.py): 0.2 s of a boot.
KERNEL_ARGS = ("console=ttyS0 quiet panic=-1 nokaslr mitigations=off "
               "no_timer_check tsc=reliable cryptomgr.notests=1 "
               "random.trust_cpu=on audit=0 8250.nr_uarts=1 norandmaps "
               "initcall_blacklist=jent_mod_init,crypto_kdf108_init,"
               "load_system_certificate_list")

# The kernel's number of the feature (arch/x86 cpufeatures.h); all releases know
# it, names only the later ones.
X86_FEATURE_CX16 = 4 * 32 + 13

# Words that change what a snapshot was made with.
COLD_ONLY = {"-m", "-smp", "-cpu", "-machine", "-M", "-kernel", "-append",
             "-initrd", "-accel", "-icount", "-bios", "-rtc", "-numa"}
COLD_DEVICES = re.compile(r"(intel-iommu|virtio-iommu|pcie-root-port|"
                          r"pxb|ioh3420|x3130|pci-bridge)")

# What a warm guest did before its snapshot, so that it is in its page cache.
WARM_UP = """
modprobe -a ib_uverbs ib_umad rdma_ucm 9pnet_virtio 9p
ibv_devinfo -l; rdma dev; rdma link; ip link; devlink dev; ethtool --version
ib_write_bw --version; ibv_rc_pingpong --help; lspci; dmesg | tail -n 1; lsmod
bash -c true; cat /proc/mounts; mount --version
"""
PROBE_MODULES = "mlx5_ib"


class Options:
    """What a user may say about a guest.

    @devices: property lists of cards, "" for a card as it is.
    @share: a host folder to mount at /share, or None.
    @qemu_args: words for QEMU's command line.
    @probe: bring the cards up.
    @cold: boot plainly.
    @driver: the driver.Driver to have in the guest, None for the one that its
    user chose."""

    def __init__(self, devices=("",), share=None, qemu_args=(), probe=True,
                 cold=False, driver=None):
        self.devices = list(devices)
        self.share = share
        self.qemu_args = list(qemu_args)
        self.probe = probe
        self.cold = cold
        self.driver = driver

    def must_be_cold(self):
        """Tell whether QEMU words fit no snapshot."""
        return self.cold or any(
            w in COLD_ONLY or COLD_DEVICES.search(w) for w in self.qemu_args)


class Emulator:
    """A QEMU program, what its version allows, and its plugin."""

    def __init__(self, program):
        self.program = program
        self.build_id = qemubin.build_id(program)
        self.version = self._version()

    def _version(self):
        # Asking a program takes as long as restoring a guest: ask once.
        known = cache("qemu-versions", self.build_id)
        if not known.exists():
            known.write_text(qemubin.inspect(self.program).version)
        return tuple(int(n) for n in known.read_text().split(".")[:2])

    def command(self, card):
        """Return the words that start QEMU, with our card or without."""
        env = dict(privateqemu.environment(self.program))
        if card:
            env["LD_PRELOAD"] = plugin.ensure(self.program)
        return ["env", *(f"{k}={v}" for k, v in env.items()),
                str(self.program)]

    def cpu(self):
        """Return a CPU model that is fast under TCG: without the features
        that make guests use rep movsb and rep stosb, which it does slowly, and
        with page tables of four levels. With five, Linux 7.2 with KASAN now
        and then dies at boot: while it reads the processor's features anew, an
        interrupt finds that there are four, and takes good addresses for bad
        ones."""
        off = ["erms", "fsrm", "la57"]
        if self.version >= (9, 0):
            off += ["fsrs", "fzrm"]
        return "max," + ",".join(f"{name}=off" for name in off)

    def kernel_args(self):
        """Return the kernel's command line.

        QEMU before 8.0 does cmpxchg16b wrong: it leaves a pointer's bits among
        the flags. The kernel's allocator uses it; an interrupt right behind
        it, and the guest dies of a double fault. So the kernel is told that
        there is none. Programs may have it: some don't ask the processor."""
        if self.version < (8, 0):
            return f"{KERNEL_ARGS} clearcpuid={X86_FEATURE_CX16}"
        return KERNEL_ARGS

    def common(self, image):
        """Return what cold, saved and restored guests have in common."""
        return [
            "-machine", "q35,memory-backend=mem,sata=off,smbus=off,i8042=off,"
            "hpet=off,vmport=off,usb=off,graphics=off",
            "-accel", "tcg,thread=multi", "-cpu", self.cpu(),
            "-smp", str(CPUS), "-m", image.guest.memory, "-nodefaults",
            "-no-user-config", "-display", "none", "-no-reboot",
            "-bios", "qboot.rom", "-serial", "chardev:console",
            "-kernel", str(image.vmlinux), "-initrd", str(image.initrd),
            "-append", self.kernel_args(),
            "-drive", "if=none,id=root,format=raw,readonly=on,"
            f"file={image.root}",
            "-device", "virtio-blk-pci,drive=root,addr=3",
            "-device", "virtio-serial-pci,id=serial,addr=4",
            "-device", "virtserialport,bus=serial.0,nr=1,chardev=agent,"
            "name=mlx5sim",
        ]


class Machine:
    """A running QEMU."""

    def __init__(self, emulator, words, card=False):
        self.folder = inspectverb.folder()
        self.console = Path(self.folder, "console")
        agent_ours, agent_theirs = socket_pair()
        qmp_ours, qmp_theirs = socket_pair()
        fds = agent_theirs.fileno(), qmp_theirs.fileno()
        # The guest dies with the launcher, however that dies.
        self.argv = [
            "setpriv", "--pdeathsig", "KILL", *emulator.command(card),
            *words,
            "-chardev", f"file,id=console,path={self.console}",
            "-chardev", f"socket,id=agent,fd={fds[0]}",
            "-chardev", f"socket,id=qmp,fd={fds[1]}",
            "-mon", "chardev=qmp,mode=control",
            *inspectverb.monitor_words(self.folder)]
        self.errors = open(Path(self.folder, "stderr"), "w+b")
        self.process = subprocess.Popen(
            self.argv, pass_fds=fds, stdin=subprocess.DEVNULL,
            stdout=self.errors, stderr=self.errors, start_new_session=True)
        agent_theirs.close()
        qmp_theirs.close()
        self.agent = Agent(agent_ours)
        self._qmp_socket = qmp_ours
        self._qmp = None

    @property
    def qmp(self):
        if self._qmp is None:
            try:
                self._qmp = Qmp(self._qmp_socket)
            except (EOFError, OSError) as error:
                raise GuestGone() from error
        return self._qmp

    def qemu_pid(self):
        """Return QEMU's process: setpriv and env have become it."""
        return self.process.pid

    def last_words(self):
        """Return the ends of QEMU's messages and of the guest's console."""
        text = ""
        for title, path in (("QEMU", self.errors.name),
                            ("guest console", self.console)):
            if os.path.exists(path):
                lines = Path(path).read_text(errors="replace").splitlines()
                if lines:
                    text += "\n".join([f"--- {title}:",
                                       *kernellog.end_of(lines)]) + "\n"
        return text

    def warnings(self):
        """Return what QEMU said on its standard error.

        That a card has no netdev is left out: its port loops back; and that a
        hub joins none but cards: it is their wire."""
        text = Path(self.errors.name).read_text(errors="replace")
        return "".join(line for line in text.splitlines(keepends=True)
                       if not re.search(r"nic card\d+ has no peer|hub \d+ is not "
                                     "connected to host network", line))

    def stop(self):
        """End QEMU, politely if it listens."""
        if self.process.poll() is None:
            try:
                self._qmp_socket.settimeout(2)
                self.qmp("quit")
                self.process.wait(5)
            except (GuestGone, QmpError, EOFError, OSError,
                    subprocess.TimeoutExpired):
                self.process.kill()
        self.process.wait()
        self.errors.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def memory_kib(image):
    """Return the size of a guest's memory."""
    return int(image.guest.memory.removesuffix("G")) << 20


def memory_words(image, path=None, private=False, version=(10, 0)):
    """Return the memory backend: anonymous, or a file, shared or private."""
    size = image.guest.memory
    if path is None:
        return ["-object", f"memory-backend-ram,id=mem,size={size}"]
    words = f"memory-backend-file,id=mem,size={size},mem-path={path},"
    if not private:
        return ["-object", words + "share=on"]
    if version >= (9, 0):
        return ["-object", words + "share=off,readonly=on,rom=off"]
    return ["-object", words + "share=off"]


def extra_words(options):
    """Return the words for cards, share and what the user added."""
    words = []
    for number, properties in enumerate(options.devices):
        text = f"mlx5sim,id=card{number}"
        if properties:
            text += "," + properties
        if "addr=" not in properties and "bus=" not in properties:
            text += f",addr={8 + number:#x}"
        words += ["-device", text]
    if options.share:
        share = os.path.abspath(options.share)
        if not os.path.isdir(share):
            raise Failure(f"--share {options.share}: no such folder")
        share = share.replace(",", ",,")
        words += ["-fsdev", f"local,id=share,path={share},security_model=none",
                  "-device", "virtio-9p-pci,fsdev=share,mount_tag=share,"
                  "addr=0x10"]
    return words + options.qemu_args


def boot(emulator, image, words, memory, card=False):
    """Boot a guest. Return: its Machine, ready for commands."""
    machine = Machine(emulator, emulator.common(image) + memory + words, card)
    try:
        machine.agent.wait("R", BOOT_TIMEOUT_S * image.guest.slow)
    except (GuestGone, TimeoutError) as error:
        text = machine.last_words()
        machine.stop()
        raise Failure(f"the guest didn't boot:\n{text}", 125) from error
    except BaseException:
        machine.stop()
        raise
    return machine


def host_identity():
    """Return what a snapshot depends on: the guest's clock follows ours."""
    text = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    lines = [line for line in text.splitlines()
             if line.split(":")[0].strip() in ("model name", "flags")]
    try:
        lines.append(Path("/etc/machine-id").read_text())
    except OSError:
        pass
    return "\n".join(lines)


class Snapshot:
    """A warm guest in the cache, with the drivers loaded or without."""

    def __init__(self, emulator, image, probe, built):
        self.emulator = emulator
        self.image = image
        self.probe = probe
        self.driver = built
        parts = [emulator.build_id, image.key, host_identity(), str(probe),
                 WARM_UP, PROBE_MODULES, *emulator.common(image),
                 *([self.driver.key] if self.driver else []),
                 *memory_words(image, "x")]
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        self.folder = cache("warm", key)
        self.ram = self.folder / "ram"
        self.state = self.folder / "state"

    def ensure(self):
        """Make the snapshot unless it is there."""
        if self.state.exists():
            return
        with locked(f"{self.folder}.lock"):
            if self.state.exists():
                return
            with step("boot a guest once and keep it warm"):
                self._make()

    def _make(self):
        self._tidy()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        (self.folder / "image").write_text(str(self.image.path))
        machine = boot(self.emulator, self.image, [],
                       memory_words(self.image, self.ram))
        with machine:
            if self.driver:
                self.driver.install(machine.agent)
            script = WARM_UP
            if self.probe:
                script += f"modprobe {PROBE_MODULES}\n"
            machine.agent.capture(["sh", "-c", script])
            if self.probe:
                status, _, err = machine.agent.capture(
                    ["test", "-d", f"/sys/module/{PROBE_MODULES}"])
                if status:
                    raise Failure(f"{PROBE_MODULES} doesn't load: {err}")
            machine.qmp("migrate-set-capabilities", capabilities=[
                {"capability": "x-ignore-shared", "state": True}])
            part = f"{self.state}.part"
            machine.qmp("migrate",
                        uri=f"exec:cat > {shlex.quote(part)}")
            machine.qmp.wait_migrated()
        os.rename(part, self.state)

    def _tidy(self):
        """Remove snapshots of images that are gone."""
        for note in self.folder.parent.glob("*/image"):
            if not Path(note.read_text()).exists():
                shutil.rmtree(note.parent, ignore_errors=True)

    def restore(self, words, card):
        """Start a guest from the snapshot. Return: its Machine."""
        memory = memory_words(self.image, self.ram, private=True,
                              version=self.emulator.version)
        machine = Machine(self.emulator, [*self.emulator.common(self.image),
                                          *memory, *words,
                                          "-incoming", "defer"], card)
        try:
            machine.qmp("migrate-set-capabilities", capabilities=[
                {"capability": "x-ignore-shared", "state": True}])
            machine.qmp("migrate-incoming",
                        uri=f"exec:cat {shlex.quote(str(self.state))}")
            machine.qmp.wait_event("RESUME")
            machine.agent.set_time()
        except (GuestGone, QmpError, EOFError, OSError) as error:
            text = machine.last_words()
            machine.stop()
            raise Failure("QEMU didn't restore the guest (--cold boots "
                          f"plainly): {error}\n{text}", 125) from error
        except BaseException:
            machine.stop()
            raise
        return machine


def bring_up(machine, options):
    """Find the cards and the share, load the drivers, wait for the ports."""
    agent = machine.agent
    if options.share:
        status, _, err = agent.capture(
            ["sh", "-c", "modprobe -a 9pnet_virtio 9p && mount -t 9p -o "
             "trans=virtio,version=9p2000.L,msize=262144 share /share"])
        if status:
            raise Failure(f"the guest can't mount the share: {err}", 125)
    if options.probe and options.devices:
        status, _, err = agent.capture(["/usr/lib/mlx5sim/up"])
        if status:
            log = agent.capture(["sh", "-c", "dmesg | tail -n 40"])[1]
            raise Failure(f"the card didn't come up: {err}"
                          f"--- the guest's log ends:\n{log}", 125)


def start(emulator, image, options):
    """Start a guest as @options say. Return: its Machine, to be stopped."""
    words = extra_words(options)
    card = bool(options.devices) or any("mlx5sim" in w
                                        for w in options.qemu_args)
    built = options.driver or driver.current(image)
    if options.must_be_cold():
        machine = boot(emulator, image, words, memory_words(image), card)
        if built:
            built.install(machine.agent)
        rescan = False
    else:
        snapshot = Snapshot(emulator, image, options.probe, built)
        snapshot.ensure()
        machine = snapshot.restore(words, card)
        rescan = bool(words)
    try:
        if rescan:
            machine.agent.rescan_pci()
        bring_up(machine, options)
    except GuestGone as error:
        text = machine.last_words()
        machine.stop()
        raise Failure(f"the guest is gone:\n{text}", 125) from error
    except BaseException:
        machine.stop()
        raise
    return machine
