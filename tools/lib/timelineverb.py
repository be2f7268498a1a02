# SPDX-License-Identifier: GPL-2.0-or-later
"""The verb timeline: one picture of what the kernel and the card did while a
command ran, as a web page that needs nothing else."""

import html
import json
import os
import tempfile
from pathlib import Path

import timeline
from step import Failure, say
from verbs import forwarded_stdin, run_in, running

TRACED = "ib_core ib_uverbs rdma_cm rdma_ucm mlx5_ib mlx5_core"
# Kept small: functions of the modules alone, entered by whoever.
PREPARE = f"""
[ -e /sys/kernel/tracing/trace ] ||
    mount -t tracefs none /sys/kernel/tracing || exit 1
cd /sys/kernel/tracing || exit 1
echo 0 > tracing_on
echo mono > trace_clock
echo 16384 > buffer_size_kb
for m in {TRACED}; do
    echo "*:mod:$m" >> set_ftrace_filter
done 2> /dev/null
echo function_graph > current_tracer || exit 1
for o in abstime proc tail; do
    echo funcgraph-$o > trace_options || exit 1
done
echo > trace
"""
FOLDER = "/sys/kernel/tracing"
PAGE = """<!DOCTYPE html>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 13px sans-serif; margin: 8px }}
svg {{ width: 100%; border: 1px solid #ccc; cursor: grab;
       font: 11px sans-serif; user-select: none }}
#note {{ font-family: monospace; white-space: pre-wrap; min-height: 3em }}
</style>
<h3>{title}</h3>
<p>{about} Wheel: zoom. Drag: move. Click: what it is.
<input id="find" placeholder="find, e.g. CREATE_QP" list="names">
<button id="all">all</button><datalist id="names">{names}</datalist> Go to:
{words}</p>
<svg id="picture"></svg>
<div id="note"></div>
<script id="data" type="application/json">{data}</script>
<script>{script}</script>
"""


def label(event):
    """Return the short name of an event in the picture."""
    ids = event.ids
    if event.kind == "cmd":
        return ids["name"]
    if event.kind == "wqe":
        # The opcode is the first word in capitals; an Ethernet queue has no
        # "qp" before it.
        opcode = next((w for w in event.text.split() if w.isupper()), "WQE")
        return f"{opcode} {ids.get('wqe', '')}".strip() + \
            ("" if "qpn" in ids else ", Ethernet")
    if event.kind == "packet":
        return " ".join(event.text.split()[:3:2])
    return event.kind


def model(calls, events):
    """Return what the page draws, in one clock: the host's."""
    found = timeline.clock_distance(calls, events)
    if not found:
        raise Failure("the guest's trace and the card's can't be joined: the "
                      "command made the driver send no firmware command", 1)
    distance, doubt = found
    rows = [dict(c._asdict(), begin=c.begin + distance, end=c.end + distance)
            for c in calls]
    marks = [{"kind": e.kind, "begin": e.begin, "end": e.end, "text": e.text,
              "label": label(e)} for e in events]
    times = [r["begin"] for r in rows] + [m["begin"] for m in marks]
    ends = [r["end"] for r in rows] + [m["end"] or m["begin"] for m in marks]
    tasks = list(dict.fromkeys(r["task"] for r in rows))
    return {
        "begin": min(times), "end": max(ends), "doubt": doubt,
        "tasks": tasks,
        "kinds": list(dict.fromkeys(m["kind"] for m in marks)),
        "calls": rows, "events": marks,
        "links": [list(pair) for pair in timeline.links(events)],
    }


# The way of an object and of its first message, as buttons of the page: each
# that the traces have.
WORDS = ["ib_create_qp", "CREATE_QP", "INIT2RTR_QP", "RTR2RTS_QP", "doorbell",
         "SEND 0", "RDMA_WRITE", "packet", "cqe", "eqe", "irq",
         "mlx5_eq_comp_int", "mlx5_ib_cq_comp", "ib_destroy_qp", "DESTROY_QP"]


def page(title, picture):
    """Return the page as text."""
    names = {c["name"] for c in picture["calls"]} | \
        {e["label"] for e in picture["events"]}
    kinds = set(picture["kinds"])
    # No text of a trace may end the script element.
    data = json.dumps(picture).replace("</", "<\\/")
    return PAGE.format(
        title=html.escape(title), data=data,
        about=f"{len(picture['calls'])} calls of the guest's kernel, "
              f"{len(picture['events'])} events of the card; their clocks "
              f"agree within {picture['doubt'] * 1e6:.0f} us.",
        words=" ".join(f'<button class="word">{w}</button>' for w in WORDS
                       if any(w in name for name in names | kinds)),
        names="".join(f"<option>{html.escape(n)}</option>" for n in sorted(names)),
        script=Path(__file__).with_name("timeline.js").read_text())


def record(guest, command, log):
    """Run @command with both traces. Return: its status, the guest's trace
    and the card's."""
    status, _, err = guest.agent.capture(["sh", "-c", PREPARE])
    if status:
        raise Failure(f"the guest's kernel doesn't trace functions: {err}", 1)
    start = os.path.getsize(log) if os.path.exists(log) else 0
    guest.qmp("trace-event-set-state", name="mlx5sim_*", enable=True)
    guest.qmp("trace-event-set-state", name="mlx5sim_reg", enable=False)
    guest.agent.capture(["sh", "-c", f"echo 1 > {FOLDER}/tracing_on"])
    status = run_in(guest, command, stdin=forwarded_stdin(), stdout=2)
    guest.agent.capture(["sh", "-c", f"echo 0 > {FOLDER}/tracing_on"])
    guest.qmp("trace-event-set-state", name="mlx5sim_*", enable=False)
    text = guest.agent.capture(["cat", f"{FOLDER}/trace"])[1]
    with open(log, errors="replace") as file:
        file.seek(start)
        return status, text, file.read()


def show(args):
    with tempfile.TemporaryDirectory(prefix="mlx5sim-trace-") as folder:
        log = os.path.join(folder, "log")
        with running(args, "-D", log, "-msg", "timestamp=on") as guest:
            status, kernel, card = record(guest, args.command, log)
    picture = model(timeline.parse_graph(kernel), timeline.parse_card(card))
    out = Path(args.output)
    out.write_text(page(" ".join(args.command), picture))
    say(f"{out}: {len(picture['calls'])} calls, {len(picture['events'])} "
        f"events, {len(picture['links'])} of them joined; clocks agree within "
        f"{picture['doubt'] * 1e6:.0f} us")
    return status
