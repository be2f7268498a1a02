// SPDX-License-Identifier: GPL-2.0-or-later
// Draws the picture of tools/mlx5sim timeline: a lane for each task of the
// guest, its calls nested, and a lane for each kind of the card's events.
// Wheel: zoom; drag: move; click: what it is, and what it comes of.
"use strict";
const ROW = 16, LEFT = 150, NS = "http://www.w3.org/2000/svg";
const svg = document.getElementById("picture");
const note = document.getElementById("note");
const data = JSON.parse(document.getElementById("data").textContent);
const COLOR = { cmd: "#c55", doorbell: "#b80", wqe: "#393", packet: "#27a",
                cqe: "#639", eqe: "#a39", irq: "#555", state: "#888",
                reg: "#aaa", frame: "#078", guest_error: "#f00" };
let from = data.begin, to = data.end, picked = null;

// The lanes that have something between from and to, from the top down.
let place = [];
function lanes() {
  const seen = (o) => o.begin <= to && (o.end || o.begin) >= from;
  const depth = {}, kinds = new Set();
  for (const c of data.calls) {
    if (seen(c)) depth[c.task] = Math.max(depth[c.task] || 0, c.depth);
  }
  for (const e of data.events) if (seen(e)) kinds.add(e.kind);
  place = [];
  let y = 24;
  for (const task of data.tasks.filter((t) => t in depth)) {
    place.push({ task, y });
    y += (depth[task] + 1) * ROW + 8;
  }
  for (const kind of data.kinds.filter((k) => kinds.has(k))) {
    place.push({ kind, y });
    y += ROW + 8;
  }
  svg.setAttribute("height", y + 10);
}

const width = () => svg.clientWidth - LEFT;
const x = (t) => LEFT + (t - from) / (to - from) * width();
const laneOf = (key, value) => place.find((l) => l[key] === value)?.y;

function add(name, attributes, parent) {
  const node = document.createElementNS(NS, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  (parent || svg).appendChild(node);
  return node;
}

function micro(t) {
  return ((t - data.begin) * 1e6).toFixed(1) + " us";
}

function bar(y, begin, end, color, label, tell, index) {
  const left = Math.max(x(begin), LEFT), right = x(end || begin);
  if (right < LEFT || left > LEFT + width()) return;
  const wide = Math.max(right - left, 2);
  const node = add("rect", { x: left, y, width: wide, height: ROW - 2,
                             fill: color, "fill-opacity":
                             picked === null || index === picked ? 0.75 : 0.4 });
  add("title", {}, node).textContent = tell;
  node.onclick = () => { picked = index; note.textContent = tell; draw(); };
  if (wide > label.length * 6.2) {
    add("text", { x: left + 3, y: y + 11, "pointer-events": "none" })
      .textContent = label;
  }
}

function arrows() {
  for (const [a, b] of data.links) {
    const first = data.events[a], second = data.events[b];
    const x1 = x(first.begin), x2 = x(second.begin);
    const y1 = laneOf("kind", first.kind), y2 = laneOf("kind", second.kind);
    if (y1 === undefined || y2 === undefined ||
        x2 < LEFT || x1 > LEFT + width()) continue;
    const mine = picked === "e" + a || picked === "e" + b;
    add("line", { x1: Math.max(x1, LEFT), y1: y1 + ROW, x2, y2,
                  stroke: mine ? "#000" : "#999",
                  "stroke-width": mine ? 1.5 : 0.6 });
  }
}

function axis() {
  let step = Math.pow(10, Math.floor(Math.log10((to - from) / 4)));
  for (let t = Math.ceil((from - data.begin) / step) * step;
       t < to - data.begin; t += step) {
    const at = x(t + data.begin);
    add("line", { x1: at, y1: 16, x2: at, y2: "100%", stroke: "#eee" });
    add("text", { x: at + 2, y: 12 }).textContent =
      (t * 1e6).toFixed(step < 1e-6 ? 1 : 0) + " us";
  }
}

function draw() {
  svg.textContent = "";
  lanes();
  axis();
  for (const lane of place) {
    add("text", { x: 4, y: lane.y + 11, "font-weight": "bold" }).textContent =
      lane.task || "card: " + lane.kind;
  }
  data.calls.forEach((c, i) => bar(laneOf("task", c.task) + c.depth * ROW,
    c.begin, c.end, "#69c", c.name, `${c.name}, ${c.task}, CPU ${c.cpu}: ` +
    `${micro(c.begin)} to ${micro(c.end)}`, "c" + i));
  arrows();
  data.events.forEach((e, i) => bar(laneOf("kind", e.kind), e.begin, e.end,
    COLOR[e.kind] || "#333", e.label, `${e.kind} at ${micro(e.begin)}: ` +
    e.text, "e" + i));
}

function go(begin, end) {
  const margin = Math.max((end - begin) * 0.15, 1e-6);
  from = begin - margin;
  to = end + margin;
  draw();
}

svg.addEventListener("wheel", (event) => {
  event.preventDefault();
  const at = from + (event.offsetX - LEFT) / width() * (to - from);
  const scale = event.deltaY > 0 ? 1.25 : 0.8;
  from = at - (at - from) * scale;
  to = at + (to - at) * scale;
  draw();
}, { passive: false });
svg.addEventListener("mousemove", (event) => {
  if (!event.buttons) return;
  const move = event.movementX / width() * (to - from);
  from -= move;
  to -= move;
  draw();
});
// Show the next place, in time, that has the word; from the first again at
// the end. The address of the page may end with #WORD.
let asked = null, hits = [], turn = 0;
function find(word) {
  if (word !== asked) {
    asked = word;
    turn = 0;
    const all = data.calls.map((c, i) => [c, "c" + i, c.name, ""])
      .concat(data.events.map((e, i) =>
        [e, "e" + i, `${e.kind}: ${e.label}`, e.text]));
    hits = all.filter((h) => h[2].includes(word));
    if (!hits.length) hits = all.filter((h) => h[3].includes(word));
    hits.sort((a, b) => a[0].begin - b[0].begin);
  }
  if (!hits.length) {
    note.textContent = "nothing has " + word;
    return;
  }
  const [hit, index, name, text] = hits[turn % hits.length];
  turn += 1;
  picked = index;
  go(hit.begin, Math.max(hit.end || 0, hit.begin + 1e-4));
  note.textContent = `${word}: ${(turn - 1) % hits.length + 1} of ` +
    `${hits.length}, at ${micro(hit.begin)}: ` +
    (text || name);
}
document.getElementById("find").addEventListener("keydown", (event) => {
  if (event.key === "Enter") find(event.target.value);
});
for (const button of document.querySelectorAll("button.word")) {
  button.onclick = () => find(button.textContent);
}
document.getElementById("all").onclick = () => go(data.begin, data.end);
window.onresize = draw;
if (location.hash) find(decodeURIComponent(location.hash.slice(1)));
else go(data.begin, data.end);
