# SPDX-License-Identifier: GPL-2.0-or-later
"""The launcher's command line; docs/mlx5sim.1 describes it to users."""

import argparse
import functools
import importlib
import sys
from pathlib import Path

GUEST_HELP = ("guest to boot: bookworm (Linux 6.1), trixie (6.12, the "
              "default), backports or sid (7.x), debug (7.x, compiled here: "
              "KASAN, lockdep, kmemleak)")
EPILOG = ("Exit status: that of CMD; 125 when the guest or the card failed, "
          "1 when something is missing, 2 for a wrong command line.")


def _call(module, function, args):
    return getattr(importlib.import_module(module), function)(args)


def later(module, function):
    """Return a function of a module that is imported when it is called: what
    one verb needs is half of the time to start another."""
    return functools.partial(_call, module, function)


def add_guest_options(parser):
    """Add what every verb that starts a guest takes."""
    add = parser.add_argument
    add("--guest", default="trixie", metavar="G", help=GUEST_HELP)
    add("--device", action="append", metavar="OPTS",
        help="properties of the card, e.g. netdev=n0,mw=off; given again: "
             "another card; 'none': no card")
    add("--share", metavar="DIR", help="host folder, at /share in the guest")
    add("--qemu-arg", action="append", default=[], metavar="ARG",
        help="one more word for QEMU; may be repeated")
    add("--no-probe", action="store_true",
        help="leave the card's drivers unloaded")
    add("--cold", action="store_true",
        help="boot plainly instead of restoring a warm guest")


def add_command(parser, nargs):
    parser.add_argument("command", nargs=nargs, metavar="CMD",
                        help="command and arguments, after --")


def build_parser():
    parser = argparse.ArgumentParser(
        prog="mlx5sim", description="Runs stock Debian kernels on an "
        "emulated mlx5 network card.", epilog=EPILOG)
    sub = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name, function, text):
        new = sub.add_parser(name, help=text, description=text, epilog=EPILOG)
        new.set_defaults(function=function)
        return new

    new = verb("demo", later("demo", "demo"),
               "Show the whole of it once: a stock Debian "
               "kernel probes the card, verbs programs run, the drivers "
               "unload; each with what the device saw.")
    new.add_argument("--guest", default="trixie", metavar="G",
                     help=GUEST_HELP)
    new.add_argument("--cold", action="store_true",
                     help="boot plainly instead of restoring a warm guest")
    new = verb("run", later("verbs", "run"),
               "Boot, bring the card up, run CMD as root in "
               "the guest and return its exit status.")
    add_guest_options(new)
    add_command(new, "+")
    new = verb("shell", later("verbs", "shell"),
               "Boot, bring the card up and give an "
               "interactive shell in the guest.")
    add_guest_options(new)
    new = verb("trace", later("verbs", "trace"),
               "Run CMD in the guest and print what the "
               "device did meanwhile: commands with their fields, events, "
               "work requests. CMD's own output goes to standard error.")
    add_guest_options(new)
    new.add_argument("--event", action="append", metavar="NAME",
                     help="only this kind, e.g. cmd, eqe, wqe; may be "
                          "repeated")
    add_command(new, "+")
    new = verb("inspect", later("inspectverb", "inspect"),
               "Print what the cards of a "
               "guest hold that another mlx5sim is running: queues with their "
               "states and indices, keys, pages, flow tables, counters.")
    new.add_argument("part", nargs="*", metavar="PART",
                     help="only these members, e.g. qps mkeys")
    new.add_argument("--pid", type=int, metavar="N",
                     help="process of the mlx5sim, if several are running")
    new.add_argument("--card", metavar="ID", help="only this card, e.g. card0")
    new = verb("timeline", later("timelineverb", "show"),
               "Run CMD in the guest and join "
               "the calls of the guest's RDMA core and driver with what the "
               "card did into one picture, a web page.")
    add_guest_options(new)
    new.add_argument("--output", "-o", default="timeline.html", metavar="FILE",
                     help="where to write it (default: timeline.html)")
    add_command(new, "+")
    new = verb("gdb", later("gdbverb", "gdb"),
               "Boot with the drivers unloaded, connect "
               "gdb to the kernel, then run CMD in the guest; without CMD, "
               "load mlx5_ib. The drivers are those of build-driver.")
    add_guest_options(new)
    new.add_argument("--script", action="append", metavar="FILE",
                     help="gdb commands to run; may be repeated")
    new.add_argument("--batch", action="store_true",
                     help="no terminal: end with the scripts, status 1 if a "
                          "command of them failed")
    add_command(new, "*")
    new = verb("pair", later("pairverb", "pair"),
               "Boot two guests joined by one wire and "
               "run a command in each; both find the other's address in "
               "$PEER ($PEER6), their device in $DEV. CMD_B begins when CMD_A "
               "listens. Usage: pair [OPTION...] -- CMD_A... -- CMD_B...")
    add = new.add_argument
    add("--guest", default="trixie", metavar="G", help=GUEST_HELP)
    add("--peer", choices=("mlx5sim", "rxe"), default="mlx5sim",
        help="what guest b has: another card, or Linux's software RDMA on a "
             "virtio-net card")
    add("--pcap", metavar="FILE", help="write what passes at guest a's card")
    add("--mtu", type=int, default=1500, metavar="BYTES",
        help="of both interfaces; 4200 allows path MTU 4096 (default: 1500)")
    for name, what in (("loss", "lost"), ("duplicate", "doubled"),
                       ("reorder", "overtaken by the next ones"),
                       ("mark", "marked as by a congested switch, if they "
                                "heed that")):
        add("--" + name, type=float, default=0, metavar="PERCENT",
            help=f"of the frames that are {what}")
    add("--delay", type=float, default=0, metavar="MS",
        help="that each frame takes")
    add("--seed", type=int, default=1, metavar="N",
        help="of the chances (default: 1)")
    add("--device", action="append", metavar="OPTS",
        help="more properties of the cards, e.g. mw=off")
    add("--share", metavar="DIR", help="host folder, at /share in both guests")
    add("--qemu-arg", action="append", default=[], metavar="ARG",
        help="one more word for both QEMUs; may be repeated")
    add("--cold", action="store_true",
        help="boot plainly instead of restoring warm guests")
    new = verb("test", later("testverb", "test"),
               "Run test suites; without SUITE the "
               "default set.")
    add = new.add_argument
    add("suite", nargs="*", metavar="SUITE", help="suite to run")
    add("--guest", default="trixie", metavar="G", help=GUEST_HELP)
    add("--list", action="store_true", help="name the suites")
    add("--all", action="store_true", help="run all of them")
    add("--junit", metavar="FILE", type=Path, help="write JUnit XML, too")
    add("--ktap", action="store_true", help="print KTAP")
    add("--status", action="store_true",
        help="write docs/status.md from what comes of the suites on it")
    add("--tour-doc", metavar="FILE", type=Path,
        help="write what the suite tour saw as a page: docs/tour.md")
    add("--duration", metavar="S", type=int,
        help="seconds that the suites of sustained traffic last")
    add("--cycles", metavar="N", type=int,
        help="how often the suites of hot-plug do it")
    add("--verbose", action="store_true",
        help="print all that guest suites print, as they print it")
    new = verb("bench", later("benchverb", "bench"),
               "Measure the card beside Linux's "
               "software RDMA (rxe) in the same guest, by the same programs, "
               "in turns; print the medians, their ratios and the targets.")
    add = new.add_argument
    add("--guest", default="trixie", metavar="G", help=GUEST_HELP)
    add("--repeat", type=int, default=3, metavar="N",
        help="measure each figure N times and take the median (default: 3)")
    add("--only", default="", metavar="REGEX",
        help="only rows whose name or title matches")
    add("--device", default="", metavar="OPTS",
        help="more properties of the card, e.g. blueflame=off")
    add("--list", action="store_true", help="name the rows")
    add("--json", metavar="FILE", help="write all samples, too")
    add("--svg", metavar="FILE", help="draw the ratios, too")
    add("--markdown", metavar="FILE", help="write the table as Markdown, too")
    add("--strict", action="store_true",
        help="status 1 if a target is missed")
    new = verb("build-driver", later("builddriver", "build_driver"),
               "Build RDMA core, "
               "mlx5_core and mlx5_ib with debug information for the guest's "
               "kernel; guests use them from then on.")
    add = new.add_argument
    add("--guest", default="trixie", metavar="G", help=GUEST_HELP)
    add("--source", metavar="DIR", help="kernel source to build from; made, "
        "with the source of the guest's kernel, if it isn't there (default: "
        "that source as it is)")
    add("--stock", action="store_true",
        help="don't build: let the guest use its own drivers again")
    return parser


def split_words(argv):
    """Let --qemu-arg take words that start with a dash."""
    out = []
    words = iter(argv)
    for word in words:
        if word == "--":
            return out + [word, *words]
        if word == "--qemu-arg":
            word += "=" + next(words, "")
        out.append(word)
    return out


def split_commands(words):
    """Cut what follows the first -- at each further one."""
    if "--" not in words:
        return words, []
    at = words.index("--")
    commands = [[]]
    for word in words[at + 1:]:
        if word == "--":
            commands.append([])
        else:
            commands[-1].append(word)
    return words[:at], [command for command in commands if command]


def main(argv):
    words = split_words(argv)
    commands = []
    if words[:1] == ["pair"]:
        words, commands = split_commands(words)
    args = build_parser().parse_args(words)
    args.commands = commands
    return later("verbs", "guarded")(args)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
