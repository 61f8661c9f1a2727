// The norm: a vector before and after layer norm. The reader moves an entry, or all of them by their mean or by their
// standard deviation, and sees which of it is still seen afterwards.

import {
  box, button, caption, drawing, figure, format, gliding, handle, lettering, put, sum,
} from "./common.js";

function meanOf(x) {
  return sum(x) / x.length;
}

function deviationOf(x) {
  const mean = meanOf(x);
  return Math.sqrt(meanOf(x.map((entry) => (entry - mean) ** 2)));
}

// As attn.layers.layer_norm, with gain 1 and bias 0.
function normalise(x) {
  const mean = meanOf(x), deviation = Math.sqrt(deviationOf(x) ** 2 + 1e-5);
  return x.map((entry) => (entry - mean) / deviation);
}

const REACH = 6;

// All entries moved by the same, so that they have a certain mean, or stretched about it; none leaves the drawing.
function shifted(x, mean) {
  const by = Math.max(-REACH - Math.min(...x), Math.min(REACH - Math.max(...x), mean - meanOf(x)));
  return x.map((entry) => entry + by);
}

function stretched(x, deviation) {
  const mean = meanOf(x), apart = x.map((entry) => entry - mean), now = deviationOf(x);
  if (now < 1e-6) return x; // equal entries have no direction in which to stretch
  const most = Math.min(...apart.filter(Boolean).map((by) => (Math.sign(by) * REACH - mean) / by));
  const factor = Math.min(most, Math.max(0.2, deviation) / now);
  return apart.map((by) => mean + factor * by);
}

const ZERO = 110, UNIT = 15, TALL = 46; // the height of zero, and of one before the norm and after it

function build({ read, change, reset, line, tell, draw }) {
  const n = read().x.length;
  const scene = (role, name, ...nodes) =>
    drawing("svg", { viewBox: "0 0 340 220", class: "attn-scene", role, "aria-label": name }, ...nodes);
  const columns = (width, unit, className) => {
    const x = (i) => 10 + (width * (i + 0.5)) / n, wide = Math.min(30, (0.6 * width) / n);
    const make = (name) =>
      Array.from({ length: n }, (_, i) => drawing("rect", { x: x(i) - wide / 2, width: wide, class: name }));
    const ghosts = make("attn-was attn-ghost"), bars = make(className);
    const numbers = bars.map((_, i) => lettering(x(i), 0, "attn-plane-label"));
    const rise = (rects, entries) => rects.forEach((rect, i) =>
      put(rect, { y: ZERO - unit * Math.max(0, entries[i]), height: unit * Math.abs(entries[i]) }));
    const set = (entries, gap) => {
      rise(bars, entries);
      numbers.forEach((number, i) => {
        put(number, { y: ZERO - unit * entries[i] + (entries[i] < 0 ? gap + 9 : -gap) });
        number.textContent = format(entries[i]);
      });
    };
    const was = (entries) => {
      if (entries) rise(ghosts, entries);
      ghosts.forEach((ghost) => put(ghost, { visibility: entries ? "visible" : "hidden" }));
    };
    return { nodes: [...bars, ...ghosts, ...numbers], x, set, was };
  };
  const raw = columns(226, UNIT, "attn-slate-fill"), normed = columns(320, TALL, "attn-amount");

  const keep = (x) => change({ x: x.map((entry) => Math.round(1e4 * entry) / 1e4) });
  const setEntry = (i, to) => keep(read().x.with(i, Math.max(-REACH, Math.min(REACH, Math.round(20 * to) / 20))));
  const grip = (label, onMove, now, ...marks) => handle({
    label, onMove: ([, y]) => onMove((ZERO - y) / UNIT), onStep: ([right, up]) => onMove(now() + (right + up) / 10),
  }, drawing("circle", { r: 9, class: "attn-grip" }), ...marks);
  const ends = Array.from({ length: n }, (_, i) =>
    grip(`entry ${i + 1}`, (to) => setEntry(i, to), () => read().x[i]));
  const mean = grip("mean", (to) => keep(shifted(read().x, to)), () => meanOf(read().x),
    lettering(0, 24, "attn-plane-label", "mean"));
  const deviation = grip("standard deviation", (to) => keep(stretched(read().x, to - meanOf(read().x))),
    () => meanOf(read().x) + deviationOf(read().x), lettering(-2, -16, "attn-plane-label", "spread"));
  const knobs = [...ends, mean, deviation];
  const band = drawing("rect", { x: 10, width: 302, class: "attn-wedge" });
  const level = drawing("line", { x1: 10, x2: 268, class: "attn-cursor" });
  const zero = () => drawing("line", { x1: 4, x2: 336, y1: ZERO, y2: ZERO, class: "attn-axis" });
  const signs = button("attn-button", "All times −1", () => keep(read().x.map((entry) => -entry)));

  draw(
    box("attn-panes",
      box("attn-beside",
        caption("A vector. Move an entry, or all of them by their mean or by their spread."),
        scene("group", "A vector before the norm", band, level, zero(), ...raw.nodes, ...knobs.map(({ group }) => group))),
      box("attn-beside", caption("After layer norm: mean 0, standard deviation 1 (the band)."),
        scene("img", "The vector after the norm", drawing("rect", {
          x: 4, width: 332, y: ZERO - TALL, height: 2 * TALL, class: "attn-wedge",
        }), zero(), ...normed.nodes))),
    box("attn-controls", signs, reset), line);

  const glide = gliding((x) => {
    const middle = meanOf(x), spread = deviationOf(x), y = (number) => ZERO - UNIT * number;
    raw.set(x, 16);
    normed.set(normalise(x), 5);
    ends.forEach(({ set }, i) => set([raw.x(i), y(x[i])], x[i]));
    mean.set([268, y(middle)], middle);
    deviation.set([312, y(middle + spread)], spread);
    put(level, { y1: y(middle), y2: y(middle) });
    put(band, { y: y(middle + spread), height: 2 * UNIT * spread });
  });

  return ({ x }, before) => {
    const old = before?.x ?? x, kept = normalise(x), keptBefore = normalise(old);
    raw.was(before?.x);
    normed.was(before && keptBefore);
    glide(x, knobs.some((knob) => knob.held()));
    const moved = (now, then) => Math.max(...now.map((entry, i) => Math.abs(entry - then[i])));
    tell(`Mean ${format(meanOf(x))}, standard deviation ${format(deviationOf(x))}: the norm forgets both. `
      + `It keeps (${kept.map((entry) => format(entry)).join(", ")}).`
      + (moved(x, old) < 0.005 ? "" : moved(kept, keptBefore) < 0.005
        ? " Your last move cannot be seen after the norm." : " Your last move is seen after the norm."));
  };
}

const render = figure({ label: "Layer norm", build, fixed: ({ x }) => x.length });

export default { render, normalise, shifted, stretched };
