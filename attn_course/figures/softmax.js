// The softmax explorer: one score for each word, and the weights that softmax makes of them, as bars that the reader
// takes by the end, and as one bar of length 1 that the words divide. With `knobs`, the words stand on the curve of eˣ too,
// which shows what a temperature does and what a number that is added to every score does not.

import {
  box, drawing, figure, format, gliding, handle, largest, likeliest, movingScene, put, sceneWidth, slider,
  softmax, sum, wordField,
} from "./common.js";

const MOST_WORDS = 10;
const BOUND = 5; // of the scores, below and above zero

function weigh({ scores, temperature, offset }) {
  return softmax(scores.map((score) => (score + offset) / temperature));
}

function bounded(score) {
  return Math.max(-BOUND, Math.min(BOUND, Math.round(score * 100) / 100));
}

// The score that gives a word this weight while the other scores stay, or the bound before it.
function scoreFor({ scores, temperature }, i, weight) {
  const others = scores.filter((_, j) => j !== i).map((score) => score / temperature);
  const top = Math.max(...others);
  const rest = top + Math.log(sum(others.map((score) => Math.exp(score - top))));
  const share = Math.max(0, Math.min(1, weight));
  return bounded(temperature * (Math.log(share / (1 - share)) + rest));
}

// How spread out weights are, in nats.
function entropy(weights) {
  return -sum(weights.map((weight) => (weight > 0 ? weight * Math.log(weight) : 0)));
}

// What the last move did, in words.
function account(state, before) {
  const { tokens, scores, temperature, offset } = state;
  const weights = weigh(state), old = weigh(before), most = largest(weights);
  const moved = scores.findIndex((score, i) => score !== before.scores[i]);
  if (moved >= 0) {
    const change = weights[moved] - old[moved];
    const edge = Math.abs(scores[moved]) === BOUND ? ` Its score is at the end of the scale, ${format(scores[moved], 0)}.` : "";
    return `“${tokens[moved]}” went from ${format(old[moved], 3)} to ${format(weights[moved], 3)}; the others `
      + `${change < 0 ? "got" : "gave up"} ${format(Math.abs(change), 3)}.${edge} `;
  }
  if (temperature !== before.temperature) {
    return `At temperature ${format(temperature, 1)}, “${tokens[most]}” has ${format(weights[most], 3)}; `
      + `before, it had ${format(old[most], 3)}. `;
  }
  const factor = Math.exp((offset - before.offset) / temperature);
  return offset === before.offset ? "" : `Each power of e is ${factor.toPrecision(3)} times what it was, so no share changed. `;
}

// How many lines each label stands above its dot, so that none lies on another: from the lowest dot up.
function lines(places, heights, widths) {
  const found = places.map(() => 0), placed = [];
  likeliest(heights, heights.length).forEach((i) => {
    const over = placed.filter((j) => Math.abs(places[j] - places[i]) < (widths[j] + widths[i]) / 2);
    found[i] = (heights[i] - Math.min(heights[i], ...over.map((j) => heights[j] - 15 * found[j] - 15))) / 15;
    placed.push(i);
  });
  return found;
}

// The words on the curve of eˣ: as tall as their powers of e, the tallest always as tall as the drawing.
function curveOf(tokens, [left, long], base) {
  const tall = base - 80;
  const across = (x, reach) => left + long * (0.5 + x / reach / 2);
  const curve = drawing("path", { class: "attn-curve" });
  const ticks = [-1, 0, 1].map((side) => drawing("text", { x: across(side, 1), y: base + 16, class: "attn-tick", "text-anchor": "middle" }));
  const top = drawing("line", { x1: left, x2: left + long, y1: base - tall, y2: base - tall, class: "attn-grid" });
  const power = drawing("text", { x: left, y: base - tall - 6, class: "attn-tick" });
  const axis = drawing("line", { x1: left, x2: left + long, y1: base, y2: base, class: "attn-axis" });
  const name = drawing("text", { x: left + long * 0.75, y: base + 16, class: "attn-tick", "text-anchor": "middle" }, "score ÷ temperature");
  const stems = tokens.map(() => drawing("line", { y1: base, class: "attn-stem" }));
  const dots = tokens.map(() => drawing("circle", { r: 6, class: "attn-place" }));
  const labels = tokens.map((token) => drawing("text", { class: "attn-plane-label", "text-anchor": "end" }, token));
  const widths = tokens.map((token) => 8 * token.length + 6);
  const group = drawing("g", {}, top, axis, ...ticks, name, curve, ...stems, ...dots, ...labels, power);
  let above = tokens.map(() => 0);

  const up = (x, highest) => base - tall * Math.exp(x - highest);
  const set = (xs, reach) => {
    const highest = Math.max(...xs);
    const end = Math.min(reach, highest + Math.log(1.5));
    const points = Array.from({ length: 81 }, (_, i) => -reach + ((end + reach) * i) / 80);
    curve.setAttribute("d", points.map((x, i) => `${i ? "L" : "M"}${across(x, reach).toFixed(1)},${up(x, highest).toFixed(1)}`).join(""));
    ticks.forEach((tick, i) => (tick.textContent = format((i - 1) * reach, 0)));
    const number = Math.exp(highest);
    power.textContent = `e to the ${format(highest)}${number < 1e6 ? ` = ${format(number)}` : ""}`;
    xs.forEach((x, i) => {
      const [at, y] = [across(x, reach), up(x, highest)];
      put(stems[i], { x1: at, x2: at, y2: y });
      put(dots[i], { cx: at, cy: y });
      put(labels[i], { x: Math.max(at - 9, widths[i]), y: y - 4 - 15 * above[i] });
    });
  };
  const label = (xs, reach) => {
    above = lines(xs.map((x) => across(x, reach)), xs.map((x) => up(x, Math.max(...xs))), widths);
    above.forEach((line, i) => (labels[i].textContent = line < 4 ? tokens[i] : line === 4 ? "…" : "")); // all stand below
  };
  return { group, set, label };
}

function build({ read, change, reset, line, tell, draw }) {
  const { tokens, knobs } = read();
  const wide = sceneWidth(), left = wide > 400 ? 150 : 106, long = wide - 60 - left;
  const begin = knobs ? 240 : 26, rows = begin + 66, pitch = 32;
  const short = (word) => (8.5 * word.length > left - 54 ? `${word.slice(0, (left - 54) / 8.5 - 1)}…` : word);
  const piece = (y, height, kind = "") => () => drawing("rect", { y, height, class: `attn-share ${kind}` });
  const pieces = tokens.map(piece(begin, 28)), old = tokens.map(piece(begin + 30, 7, "attn-ghost"));
  const inside = tokens.map((token) =>
    drawing("text", { y: begin + 19, class: "attn-inside", "text-anchor": "middle" }, token));
  const middle = (i) => rows + pitch * (i + 0.5);
  const bars = tokens.map((_, i) => drawing("rect", { x: left, y: middle(i) - 9, height: 18, rx: 3, class: "attn-share" }));
  const ghosts = tokens.map((_, i) => drawing("rect", { y: middle(i) - 13, width: 3, height: 26, class: "attn-share attn-ghost" }));
  const text = (properties) => (_, i) => drawing("text", { y: middle(i) + 5, "text-anchor": "end", ...properties });
  const scores = tokens.map(text({ x: left - 14, class: "attn-quiet" }));
  const weights = tokens.map(text({ x: wide - 2 }));
  const names = tokens.map((token, i) => drawing("text", { x: left - 54, y: middle(i) + 5, "text-anchor": "end" }, short(token)));
  const set = (i, score) => change({ scores: read().scores.with(i, score) });
  const ends = tokens.map((token, i) => {
    const end = handle({
      label: `score of ${token}`,
      onMove: ([x]) => set(i, scoreFor(read(), i, (x - left) / long)),
      onStep: ([right, up]) => set(i, bounded(read().scores[i] + (right + up) / 10)),
    }, drawing("circle", { r: 8, class: "attn-knob" }));
    put(end.group, { "aria-valuemin": -BOUND, "aria-valuemax": BOUND });
    put(end.group.firstChild, { r: pitch / 2 }); // the rows are closer to each other than two fingers
    return end;
  });
  const curve = knobs && curveOf(tokens, [20, wide - 40], begin - 40);
  const heads = [["score", left - 14], ["weight", wide - 2]].map(([name, x]) =>
    drawing("text", { x, y: rows - 2, class: "attn-tick", "text-anchor": "end" }, name));
  const scene = movingScene(`0 0 ${wide} ${rows + pitch * tokens.length}`,
    "One bar of length 1, divided among the words; below, a bar for each word, which is taken by its end",
    ...(knobs ? [curve.group] : []), ...old, ...pieces, ...inside,
    drawing("text", { x: left - 14, y: begin + 19, class: "attn-quiet", "text-anchor": "end" }, "all: 1"), ...heads,
    ...ghosts, ...bars, ...names, ...scores, ...weights, ...ends.map((end) => end.group));
  const temperature = slider({
    label: "temperature", min: 0.1, max: 5, step: 0.1, onInput: (number) => change({ temperature: number }),
  });
  const offset = slider({
    label: "added to every score", min: -BOUND, max: BOUND, step: 0.1, onInput: (number) => change({ offset: number }),
  });
  const useWords = (own) => { // a word that stays keeps its score; a new one starts at 0
    const known = new Map(read().scores.map((score, i) => [tokens[i], score]));
    change({ tokens: own, scores: own.map((token) => known.get(token) ?? 0) });
  };
  draw(scene, ...(knobs ? [box("attn-knobs", temperature.row, offset.row)] : []), line,
    box("attn-controls", wordField({ words: tokens, most: MOST_WORDS, onWords: useWords }), reset));

  // Cut a bar of length 1 at these places.
  const divide = (rects, shares) => shares.reduce((from, share, i) => {
    put(rects[i], { x: left + long * from, width: long * share });
    return from + share;
  }, 0);
  let given; // the scores that are drawn, or on their way to be
  const glide = gliding((numbers) => {
    const shares = numbers.slice(0, tokens.length);
    divide(pieces, shares);
    shares.forEach((share, i) => {
      const end = left + long * share;
      const from = Number(pieces[i].getAttribute("x"));
      const fits = long * share > 8.5 * tokens[i].length + 6;
      put(inside[i], { x: from + (long * share) / 2, visibility: fits ? "visible" : "hidden" });
      bars[i].setAttribute("width", long * share);
      weights[i].textContent = format(share, 3);
      ends[i].set([end, middle(i)], given[i], `score ${format(given[i])}, weight ${format(share, 3)}`);
    });
    if (knobs) curve.set(numbers.slice(tokens.length, -1), numbers.at(-1));
  });

  return (state, before) => {
    const shares = weigh(state);
    given = state.scores;
    const xs = state.scores.map((score) => (score + state.offset) / state.temperature);
    const reach = Math.max(8, ...xs.map((x) => Math.ceil(Math.abs(x))));
    if (knobs) curve.label(xs, reach);
    state.scores.forEach((score, i) => (scores[i].textContent = format(score, 1)));
    const past = before && weigh(before);
    [...old, ...ghosts].forEach((one) => one.setAttribute("visibility", past ? "visible" : "hidden"));
    if (past) {
      divide(old, past);
      ghosts.forEach((ghost, i) => ghost.setAttribute("x", left + long * past[i] - 1.5));
    }
    glide([...shares, ...xs, reach], ends.some((end) => end.held()));
    temperature.set(state.temperature);
    offset.set(state.offset);
    const spread = ` Entropy: ${format(entropy(shares))} nats; equal weights have ${format(Math.log(shares.length))}.`;
    tell(`${before ? account(state, before) : ""}The weights sum to ${format(sum(shares), 3)}.${knobs ? spread : ""}`);
  };
}

const render = figure({
  label: "Softmax explorer", build,
  fixed: ({ tokens, knobs }) => [tokens, knobs],
});

export default { render, weigh, scoreFor };
