// The cost explorer: what a text of n tokens asks of a model in memory, as areas of one scale. The reader pulls the
// corner of the square of patterns, and the edge of the strip of keys and values. Two bytes per number, as is usual.

import {
  barRow, box, caption, choice, drawing, element, figure, format, gliding, grid, grouped, handle, heading, largest,
  movingScene, put, tableOf,
} from "./common.js";

const BYTES = 2;
const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
const STAGE = 320; // units of the drawing
const OUT = 10; // by which the grips stand outside, so that a finger tells them apart
const FEWEST = 128;
const MOST = 2 ** 20;

function costs({ presets, chosen, n_tokens, key_heads }) {
  const { d_model, n_heads, d_k, n_layers, d_ff, parameters } = presets[chosen];
  const pairs = 4 * n_tokens * n_heads * d_k; // one token against n keys and n values: a multiplication and an addition each
  const matrices = 2 * d_model * (2 * n_heads * d_k + 2 * key_heads * d_k + 2 * d_ff);
  const saved = 2 * n_layers * (n_heads - key_heads) * d_k * (d_model + 1); // W_K and W_V with their biases
  return {
    parameters: BYTES * (parameters - saved),
    patterns: BYTES * n_heads * n_tokens ** 2,
    cache: BYTES * 2 * n_layers * key_heads * d_k * n_tokens,
    share: pairs / (pairs + matrices),
  };
}

// The sides of three areas, in tokens, so that each is as large as the memory is, for one of the heads: a square of
// patterns, a strip of keys and values as high as the square, and a square of all parameters.
function sides(state) {
  const { parameters, cache } = costs(state), of = state.presets[state.chosen].n_heads * BYTES;
  return { square: state.n_tokens, strip: cache / of / state.n_tokens, whole: Math.sqrt(parameters / of) };
}

// Units of the drawing for a token, and how many times that was divided by four so that the square leaves room to grow.
function scaleOf(state) {
  const { strip, whole } = sides({ ...state, key_heads: state.presets[state.chosen].n_heads });
  const largest = (0.9 * STAGE) / Math.max(strip, whole);
  const far = Math.max(0, Math.ceil(Math.log2((state.n_tokens * largest) / (0.6 * STAGE)) / 2));
  return { far, scale: largest / 4 ** far };
}

function inUnits(bytes) {
  const step = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(bytes) / 10)));
  return `${(bytes / 2 ** (10 * step)).toFixed(step ? 1 : 0)} ${UNITS[step]}`;
}

function inTimes(number) {
  return `${grouped(number > 100 ? Math.round(number) : Number(number.toPrecision(3)))} times`;
}

function build({ read, change, reset, line, tell, draw }) {
  const { presets, chosen } = read();
  const labels = Object.keys(presets);
  const { n_heads } = presets[chosen];
  const divisors = Array.from({ length: n_heads }, (_, i) => i + 1).filter((number) => n_heads % number === 0);
  const choose = choice({
    legend: "Model", labels,
    onChoose: (i) => change({ chosen: labels[i], key_heads: presets[labels[i]].n_heads }),
  });
  let view = scaleOf(read()); // stays as it is while the corner is held

  const corner = handle({
    label: "tokens",
    onMove: ([x, y]) => {
      const most = Math.min(MOST, STAGE / view.scale);
      const held = Math.min(most, ((x + y) / 2 - OUT) / view.scale);
      change({ n_tokens: Math.max(FEWEST, Math.floor(held / FEWEST) * FEWEST) });
    },
    onStep: ([right, up]) => { // to powers of two
      const step = right + up, power = Math.log2(read().n_tokens);
      const goal = 2 ** ((step > 0 ? Math.floor(power) : Math.ceil(power)) + step);
      change({ n_tokens: Math.max(FEWEST, Math.min(MOST, goal)) });
    },
  }, drawing("circle", { r: 7, class: "attn-grip" }));
  const edge = handle({
    label: "key heads",
    onMove: ([x]) => {
      const held = (x / view.scale / sides(read()).strip) * read().key_heads;
      const off = divisors.map((number) => -Math.abs(number - held));
      change({ key_heads: divisors[largest(off)] });
    },
    onStep: ([right, up]) => {
      const place = divisors.indexOf(read().key_heads) + right + up;
      change({ key_heads: divisors[Math.max(0, Math.min(divisors.length - 1, place))] });
    },
  }, drawing("path", { d: "M0,18 L-8,2 L8,2 Z", class: "attn-grip" }));

  const [keys, values, square, whole, unit] = 
    ["of-keys", "of-values", "of-patterns", "of-all", "of-all"].map((name) => drawing("rect", { class: `attn-${name}` }));
  const ghosts = [0, 1].map(() => drawing("rect", { class: "attn-ghost attn-outlined" }));
  const count = drawing("text", { class: "attn-word" });
  const unitName = drawing("text", { class: "attn-word", x: STAGE + 10, y: -11 });
  const scene = movingScene("-24 -36 420 376",
    "Memory as areas: a square of patterns, a strip of keys and values, a dashed square of parameters.",
    keys, values, square, whole, ...ghosts, unit, unitName, count, edge.group, corner.group);

  const sizes = { patterns: "patterns of a layer", cache: "keys and values", parameters: "all parameters" };
  const cells = grid(3, 1);
  const { table } = tableOf({
    className: "attn-sizes", title: "Memory at two bytes per number", cells,
    rows: Object.values(sizes).map((name, i) => heading("row", `attn-of-${["patterns", "keys", "all"][i]}`)(name)),
  });
  const share = barRow("attn-counted", element("span", {}, "pairs of tokens"));

  draw(
    choose.row,
    caption("Pull the corner: a longer text. Pull the edge of the strip: fewer heads of keys and values."),
    box("attn-panes attn-areas", scene, box("attn-beside", table,
      caption("Share of the last token's work that depends on how many came before"), share.row)), line, reset);

  let now = read(), before = null;
  const show = gliding(([n, strip, all, scale]) => {
    const side = n * scale, width = strip * scale;
    put(square, { width: side, height: side });
    put(keys, { width: width / 2, height: side });
    put(values, { x: width / 2, width: width / 2, height: side });
    if (width > side) values.after(square); // the smaller one is in front
    else square.after(keys, values);
    put(whole, { width: all * scale, height: all * scale });
    const then = before ? sides(before) : { square: 0, strip: 0 };
    [then.strip, then.square].forEach((wide, i) => put(ghosts[i], { width: wide * scale, height: then.square * scale }));
    corner.set([side + OUT, side + OUT], now.n_tokens, grouped(now.n_tokens));
    edge.set([width, -2 * OUT], now.key_heads, String(now.key_heads));
    if (side > 0.7 * STAGE) put(count, { x: side - 10, y: side - 10, "text-anchor": "end" });
    else put(count, { x: side + 22, y: side + 15, "text-anchor": "start" });
  });
  const update = () => {
    if (!corner.held()) view = scaleOf(now);
    const found = costs(now), { square: n, strip, whole: all } = sides(now);
    choose.set(labels.indexOf(now.chosen));
    count.textContent = `${grouped(n)} tokens`;
    show([n, strip, all, view.scale], corner.held() || edge.held());
    const area = (BYTES * n_heads) / view.scale ** 2; // bytes in a unit of the drawing
    const power = 2 * Math.ceil(Math.log2(area * 150) / 2);
    const length = Math.sqrt(2 ** power / area);
    put(unit, { x: STAGE + 2 - length, y: -16 - length / 2, width: length, height: length });
    unitName.textContent = inUnits(2 ** power).replace(".0", "");
    Object.keys(sizes).forEach((name, i) => (cells[i][0].textContent = inUnits(found[name])));
    share.set(found.share);
    const longer = before ? n / before.n_tokens : 1;
    const grown = longer <= 1 ? "" : ` ${inTimes(longer)} the text: the patterns take ${inTimes(longer ** 2)} as much `
      + `memory, the keys and values ${inTimes(longer)}.`;
    const small = view.far ? ` Drawn ${grouped(4 ** view.far)} times as small, so that it fits.` : "";
    const outgrown = found.patterns > found.parameters ? " ✓ One layer's patterns are larger than all parameters." : "";
    tell(`${grouped(n)} tokens: the keys and values take ${format(found.cache / found.parameters)} times the memory of `
      + `the parameters.${grown}${small}${outgrown}`);
  };
  ["pointerup", "pointercancel"].forEach((name) => corner.group.addEventListener(name, update));

  return (state, last) => {
    now = state;
    before = last?.chosen === state.chosen ? last : null;
    update();
  };
}

const render = figure({ label: "Cost explorer", build, fixed: ({ chosen }) => chosen });

export default { render, costs, sides, scaleOf };
