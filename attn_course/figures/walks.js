// The walks: a dot product as a walk of many steps, each the product of two entries. The reader says how many steps, and
// sees how far forty such walks spread.

import {
  box, button, caption, drawing, figure, format, gliding, handle, lettering, put, sum, tween,
} from "./common.js";

const WALKS = 40, LONGEST = 256;

// Numbers between 0 and 1 that follow from a seed (mulberry32).
function numbersFrom(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Where each walk is after 0, 1, … steps: sums of products of two entries of mean 0 and standard deviation 1. Both come
// from two even numbers, by Box and Muller.
function walk(seed) {
  const even = numbersFrom(seed);
  return Array.from({ length: WALKS }, () => {
    const places = [0];
    for (let step = 0; step < LONGEST; step++) {
      const radius = -2 * Math.log(1 - even()), angle = 2 * Math.PI * even();
      places.push(places.at(-1) + radius * Math.cos(angle) * Math.sin(angle));
    }
    return places;
  });
}

// How far the walks are from zero after some steps, as the root of the mean square.
function spread(walks, steps) {
  return Math.sqrt(sum(walks.map((places) => places[steps] ** 2)) / WALKS);
}

const entries = (number) => `${number} ${number === 1 ? "entry" : "entries"}`;
const LEFT = 44, WIDE = 456, MIDDLE = 114, UNIT = 1.8;
const across = (steps) => LEFT + (WIDE * steps) / LONGEST, up = (number) => MIDDLE - UNIT * number;

function build({ read, change, reset, line, tell, draw }) {
  const lines = Array.from({ length: WALKS }, () => drawing("path", { class: "attn-walk" }));
  const dots = lines.map(() => drawing("circle", { r: 3, class: "attn-place" }));
  const edge = (sign) =>
    Array.from({ length: LONGEST + 1 }, (_, steps) => `${across(steps)} ${up(sign * Math.sqrt(steps))}`);
  const band = drawing("path", { class: "attn-wedge", d: `M${[...edge(1), ...edge(-1).reverse()].join("L")}Z` });
  const seen = drawing("svg", { height: 228 }, ...lines, band); // what its width does not reach is not seen
  const bracket = drawing("path", { class: "attn-between" });
  const root = drawing("text", { y: 14, class: "attn-plane-label" });
  let playing = null;
  const go = (steps) => change({ d_k: Math.max(1, Math.min(LONGEST, Math.round(steps))) });
  const hold = (steps) => {
    playing = null;
    go(steps);
  };
  const knob = handle({
    label: "dₖ",
    onMove: ([x]) => hold(((x - LEFT) / WIDE) * LONGEST),
    onStep: ([right, up]) => hold(read().d_k + right + up),
  }, drawing("circle", { r: 34, class: "attn-wider" }), // for a finger, where the drawing is small
  drawing("path", { d: "M0,-10v-232", class: "attn-cursor" }), drawing("circle", { r: 10, class: "attn-grip" }));
  const label = "Forty walks, and the band of the root of d_k";
  const view = { viewBox: "0 0 520 278", class: "attn-scene attn-broad", role: "group", "aria-label": label };
  const scene = drawing("svg", view,
    drawing("line", { x1: LEFT, x2: LEFT + WIDE, y1: MIDDLE, y2: MIDDLE, class: "attn-axis" }),
    ...[-32, -16, 16, 32].flatMap((number) => [
      drawing("line", { x1: LEFT, x2: LEFT + WIDE, y1: up(number), y2: up(number), class: "attn-grid" }),
      lettering(22, up(number) + 5, "attn-tick", format(number, 0))]),
    ...[0, 64, 128, 192, 256].map((steps) => lettering(across(steps), 273, "attn-tick", String(steps))),
    seen, bracket, root, ...dots, knob.group);
  const again = button("attn-button", "Draw again", () => change({ seed: read().seed + 1 }));
  const play = button("attn-button", "▶ Walk", () => {
    const mine = (playing = {});
    tween(1, LONGEST, (steps) => {
      if (mine !== playing || !scene.parentNode) return; // held since, or drawn anew
      if (steps === LONGEST) playing = null;
      go(steps);
    }, 4000);
  });

  draw(caption("Forty dot products of two random vectors, summed entry by entry. Move the ring."),
    scene, box("attn-controls", play, again, reset), line);

  let drawn, walks;
  const glide = gliding(([steps]) => {
    const end = Math.round(steps), x = across(steps), high = Math.sqrt(steps), left = steps > LONGEST / 2;
    put(seen, { width: x });
    dots.forEach((dot, i) => put(dot, { cx: x, cy: up(walks[i][end]) }));
    knob.set([x, 244], end, entries(end));
    put(bracket, { d: `M${x + 9},${up(high)}V${up(-high)}` });
    put(root, { x: x + (left ? -8 : 8), "text-anchor": left ? "end" : "start" });
    root.textContent = `√${end} = ${format(Math.sqrt(end), 1)}`;
  });

  return ({ d_k: steps, seed }) => {
    if (seed !== drawn) {
      walks = walk(seed);
      const trace = (places) => places.map((place, step) => `${across(step).toFixed(1)} ${up(place).toFixed(1)}`);
      walks.forEach((places, i) => put(lines[i], { d: `M${trace(places).join("L")}` }));
    }
    drawn = seed;
    glide([steps], knob.held() || playing);
    const inside = walks.filter((places) => Math.abs(places[steps]) <= Math.sqrt(steps)).length;
    tell(`${entries(steps)}: the root mean square of the ${WALKS} dot products is `
      + `${format(spread(walks, steps))}; √d_k is ${format(Math.sqrt(steps))}. ${inside} of ${WALKS} lie in the band ±√d_k.`);
  };
}

const render = figure({ label: "Walks", build });

export default { render, walk, spread };
