# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite gdb: scripts for the debugger, run as a user would.

One is tools/gdb/probe.gdb. The other is written as by somebody who knows gdb
and not our commands: plain breakpoints, set before the module is there, on a
driver that is loaded twice.
"""

import re
import subprocess
import tempfile
from pathlib import Path

from paths import REPO
from results import FAIL, PASS, Result

PLAIN = """
break mlx5r_probe
break ib_register_device
continue
info args
print adev->id
continue
info args
finish
print $
delete 2
continue
info args
continue
"""
TWICE = "for i in 1 2; do modprobe mlx5_ib; modprobe -r mlx5_ib; done"

# What the output of each script must match.
PROBE = [
    ("the driver's probe is reached, with its arguments by name",
     r"mlx5r_probe: auxiliary device mlx5_core\.rdma\.\d+, id mlx5_core\.rdma"),
    ("with its source line", r"(?m)^Line \d+ of \S*main\.c"),
    ("the backtrace passes from the driver into the kernel and the module "
     "that called it", r"#0 +mlx5r_probe (?s:.*) in auxiliary_bus_probe "
     r"(?s:.*) in mlx5_\w+ "),
    ("nothing is registered then", r"(?m)^no device$"),
    ("the card's state is told",
     r"card0: \S.*, hca \w+, port \w+, [1-9]\d* commands \(\d+ refused\)"),
    ("the first table of operations",
     r"ib_set_device_ops: table 1 for device 0x\w+: \w+_ops in section"),
    ("the common one", r"ib_set_device_ops: table .*: mlx5_ib_dev_ops in"),
    ("several tables follow", r"ib_set_device_ops: table [5-9] "),
    ("the device is registered under a pattern",
     r"ib_register_device: name mlx5_%d"),
    ("the last commands are decoded",
     r"card0 #\d+ [A-Z_]+ opcode=0x\w+(?s:.*)\n    -> OK"),
    ("the device has its mark, and its references, before it goes",
     r"ib_unregister_device: mlx5_0\n0: mlx5_0 at 0x\w+ REGISTERED "
     r"refcount [1-9]"),
    ("its resources are told", r"(?m)^pd \d+ at 0x\w+: mlx5_ib"),
    ("its operations are told, with their tables",
     r"(?m)^alloc_pd +mlx5_ib_alloc_pd +mlx5_ib_dev_ops$"),
    ("an operation of a table that the card's capabilities choose",
     r"(?m)^alloc_mw +mlx5_ib_alloc_mw +mlx5_ib_dev_mw_ops$"),
]
ARGS = [
    ("arguments of the probe",
     r"Breakpoint 1, mlx5r_probe (?s:.*)adev = 0x\w+\s.*id = 0x\w+"),
    ("a field of one", r"\$1 = \d+"),
    ("arguments of the RDMA core",
     r"Breakpoint 2, ib_register_device (?s:.*)name = 0x\w+ (?:<\S+> )?"
     r'"mlx5_%d"'),
    ("what a function returned", r"Value returned is \$2 = 0"),
    ("the breakpoint holds when the module comes again",
     r"(?s:.*)(?:Breakpoint 1, mlx5r_probe (?s:.*)){2}"),
]


def run_script(context, text, command=()):
    """Run gdb on a script. Return: its exit status and all it said."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "script.gdb")
        path.write_text(text)
        done = subprocess.run(
            [str(REPO / "tools/mlx5sim"), "gdb", "--guest", context.guest,
             "--batch", "--script", str(path), *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace")
    if context.verbose:
        print(done.stdout, flush=True)
    return done.returncode, done.stdout


def judge(title, status, text, wanted):
    """Yield Results: the script's end, and whether its output has each of
    @wanted, pairs of a name and a pattern."""
    yield Result(f"{title}: status 0", FAIL if status else PASS,
                 f"{status}\n{text[-4000:]}" if status else "")
    for name, pattern in wanted:
        found = re.search(pattern, text)
        yield Result(f"{title}: {name}", PASS if found else FAIL,
                     "" if found else f"no {pattern} in:\n{text[-4000:]}")


def run(context):
    """Return the Results of the suite."""
    probe = (REPO / "tools/gdb/probe.gdb").read_text()
    found = list(judge("probe.gdb", *run_script(context, probe), PROBE))
    found += judge("a plain script", *run_script(
        context, PLAIN, ["--", "sh", "-c", TWICE]), ARGS)
    status, text = run_script(context, "print no_such_symbol\n")
    found.append(Result("a failing line is the exit status",
                        PASS if status == 1 else FAIL, text[-2000:]))
    return found
