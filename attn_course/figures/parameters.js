// The parameter counter: a transformer as a tower in which as much area is as much to learn, and how many numbers that
// is, part by part. The reader pulls at the tower, takes one of the listed models or sets sizes; counts are exact, so
// they are BigInts.

import {
  box, caption, choice, control, drawing, element, figure, format, gliding, grid, grouped, handle, heading, lettering,
  put, sum, tableOf, typeset,
} from "./common.js";

const SIZES = ["d_model", "n_heads", "n_key_heads", "d_k", "n_layers", "vocab_size", "n_positions", "d_ff"];
const OPTIONS = {
  biases: "biases", norms: "norms", rms: "norms without a mean", gated: "gated MLPs", positions: "table of positions",
  tied: "unembedding tied to the embedding",
};
const LARGEST = 1_000_000;
const STEPS = { d_model: 64, n_layers: 1, d_ff: 256 }; // what can be pulled, and the steps of the arrow keys
const ROOM = [140, 250, 250]; // of the drawing: for the tower's width and height, and for the enlarged floor's height
const LEFT = 24;
const BOTTOM = 350;
const PITCH = 12; // of a band of floors, so that its attention is seen beside its MLP

// As attn.parameters.count_parameters.
function countParameters(state) {
  const [d_model, n_heads, n_key_heads, d_k, n_layers, vocab_size, n_positions, d_ff] = SIZES.map((name) => BigInt(state[name]));
  const heads = n_heads + n_key_heads;
  const parts = {
    attention: n_layers * heads * 2n * d_model * d_k,
    mlp: n_layers * (state.gated ? 3n : 2n) * d_model * d_ff,
    embedding: vocab_size * d_model,
    unembedding: state.tied ? 0n : vocab_size * d_model,
    positions: state.positions ? n_positions * d_model : 0n,
    norms: state.norms ? (2n * n_layers + 1n) * (state.rms ? 1n : 2n) * d_model : 0n,
    biases: state.biases ? n_layers * ((heads + n_key_heads) * d_k + d_model + d_ff + d_model) + (state.tied ? 0n : vocab_size) : 0n,
  };
  return { ...parts, total: Object.values(parts).reduce((sum, part) => sum + part, 0n) };
}

// The tower: as wide as the model, a floor for each layer, and below them what is there once. Heights are of a floor's
// attention, of its MLP and of the base, so that width times height is the number of parameters.
function tower({ d_model, n_heads, n_key_heads, d_k, n_layers, vocab_size, n_positions, d_ff, gated, positions, tied }) {
  const floor = [2 * (n_heads + n_key_heads) * d_k, (gated ? 3 : 2) * d_ff], base = vocab_size * (tied ? 1 : 2) + (positions ? n_positions : 0);
  return { width: d_model, floor, base, height: n_layers * sum(floor) + base };
}

// What makes of a size at least half of the room and not more than all.
function fitting(room, size) {
  return room / 2 ** Math.ceil(Math.log2(size));
}

function scalesOf(state) {
  const { width, floor, height } = tower(state);
  return [fitting(ROOM[0], width), fitting(ROOM[1], height), fitting(ROOM[2], sum(floor))];
}

// Area in units of a drawing, as the side of a square that stands for a power of ten of parameters.
function unitOf([x, y]) {
  const power = Math.ceil(Math.log10(100 / (x * y)));
  return { power, side: Math.sqrt(10 ** power * x * y) };
}

function build(means) {
  const { read, change, reset, line, tell, draw } = means;
  const { presets, ...shown } = read();
  const labels = Object.keys(presets);
  const choose = choice({ legend: "Model", labels, onChoose: (i) => change(presets[labels[i]]) });
  const problem = element("p", { className: "attn-problem", role: "status" });
  const fields = SIZES.map((name) => {
    const input = control("number", { min: 1, max: LARGEST, step: 1 });
    input.addEventListener("input", () => {
      const number = Number(input.value);
      const { n_heads } = read(), divides = name !== "n_key_heads" || n_heads % number === 0;
      const fits = input.value !== "" && Number.isInteger(number) && number >= 1 && number <= LARGEST && divides;
      problem.replaceChildren(...typeset(fits ? "" : `${name} must be a whole number from 1 to ${grouped(LARGEST)}, `
        + `${divides ? "" : `one that divides ${n_heads}, `}but is “${input.value}”; the counts are those of ${read()[name]}.`));
      if (fits) change({ [name]: number, ...(name === "n_heads" ? { n_key_heads: number } : {}) });
    });
    return { name, input, row: element("label", { className: "attn-field" }, element("span", {}, ...typeset(name)), input) };
  });
  const boxes = Object.entries(OPTIONS).map(([name, label]) => {
    const input = control("checkbox");
    const other = { gated: "biases", biases: "gated" }[name]; // a gated MLP has no biases
    input.addEventListener("change", () => change({ [name]: input.checked, ...(other && input.checked ? { [other]: false } : {}) }));
    return { name, input, row: element("label", {}, input, element("span", {}, label)) };
  });

  let now = shown, before = null, scales = scalesOf(shown); // these stay as they are while the tower is held
  const holds = Object.entries(STEPS).map(([name, step], i) => handle({
    label: name,
    onMove: ([x, y]) => {
      const { floor, base } = tower(now);
      const end = Math.min(i ? BOTTOM - y : x - LEFT, 1.2 * ROOM[i]) / scales[i];
      const size = [end, (end - base) / sum(floor), (end - floor[0]) / (now.gated ? 3 : 2)][i];
      change({ [name]: Math.max(step, Math.min(LARGEST, Math.floor(size / step) * step)) });
    },
    onStep: ([right, up]) => change({ [name]: Math.max(1, Math.min(LARGEST, now[name] + (right + up) * step)) }),
  }, drawing("circle", { r: 8, class: "attn-grip" })));
  const held = () => holds.some((one) => one.held());

  const [all, attention, oneMlp, oneAttention, base, unit] =
    ["mlp", "attention", "mlp", "attention", "base", "base"].map((part) => drawing("path", { class: `attn-${part}` }));
  const ghosts = holds.slice(1).map(() => drawing("rect", { class: "attn-ghost attn-outlined" }));
  const names = holds.map(() => drawing("text", { class: "attn-word", "text-anchor": "middle" }));
  const [unitName, rescaled] = [22, 46].map((y) => drawing("text", { class: "attn-word", x: 4, y }));
  const enlarged = lettering(0, 0, "attn-word");
  const lens = drawing("path", { class: "attn-cursor" });
  const scene = drawing("svg", {
    viewBox: "0 0 420 376", class: "attn-scene", role: "group",
    "aria-label": "A tower with a floor for each layer, and one floor enlarged; as much area is as many parameters.",
  }, lens, all, attention, base, oneMlp, oneAttention, ...ghosts, unit, unitName, rescaled, enlarged, ...names,
  ...holds.map((one) => one.group));

  const parts = Object.keys(countParameters(shown));
  const cells = grid(parts.length, 1);
  const rows = parts.map((part) => heading("row", `attn-${part}`)(part === "mlp" ? "MLP" : part));
  const { table } = tableOf({ className: "attn-sizes attn-parts", cells, rows });
  const counted = element("fieldset", { className: "attn-choice" }, element("legend", {}, "Counted"),
    ...boxes.map((one) => one.row));
  const sizes = element("details", { open: means.open ?? false }, element("summary", {}, "All sizes as numbers"),
    box("attn-fields", ...fields.map((one) => one.row)), problem, counted);
  sizes.addEventListener("toggle", () => (means.open = sizes.open)); // and so when the figure is drawn anew
  draw(
    choose.row, caption("Pull the tower wider or higher, or pull the MLP of its enlarged floor."),
    box("attn-panes attn-areas", scene, box("attn-beside", table)), line, sizes, reset);

  const block = (x, y, width, height) => `M${x},${y}h${width}v${-height}h${-width}z`;
  const show = gliding((logarithms) => { // of sizes and scales, so that their products go straight to their goals
    const [d, a, m, floors, b, x, y, z] = logarithms.map(Math.exp);
    const width = d * x, floor = (a + m) * y, ground = BOTTOM - b * y, top = ground - floors * floor, far = LEFT + 220;
    put(base, { d: block(LEFT, BOTTOM, width, b * y) });
    put(all, { d: block(LEFT, ground, width, floors * floor) });
    const band = Math.min(now.n_layers, 2 ** Math.max(0, Math.ceil(Math.log2(PITCH / floor))));
    put(attention, { d: Array.from({ length: Math.ceil(floors / band - 1e-9) }, (_, i) =>
      block(LEFT, ground - i * band * floor, width, Math.min(band, floors - i * band) * a * y)).join("") });
    const { power, side } = unitOf([x, y]);
    put(unit, { d: block(4, 17 + side / 2, side, side) });
    unitName.textContent = `= ${grouped(10 ** power)}${band > 1 ? `, a band = ${band} floors` : ""}`;
    put(unitName, { x: side + 10 });
    put(oneAttention, { d: block(far, BOTTOM, width, a * z) });
    put(oneMlp, { d: block(far, BOTTOM - a * z, width, m * z) });
    const summit = BOTTOM - (a + m) * z;
    put(lens, { d: `M${LEFT + width},${top + floor}L${far},${BOTTOM}M${LEFT + width},${top}L${far},${summit}` });
    enlarged.textContent = `× ${grouped(Math.round(z / y))}`;
    put(enlarged, { x: (LEFT + width + far) / 2, y: (2 * top + BOTTOM + summit) / 4 + 5 });
    const places = [[LEFT + width, BOTTOM - (BOTTOM - top) / 3], [LEFT + width / 2, top], [far + width / 2, summit]];
    const floorsTold = `${grouped(now.n_layers)} ${now.n_layers === 1 ? "floor" : "floors"}`;
    const told = [`d_model ${grouped(now.d_model)}`, floorsTold, `d_ff ${grouped(now.d_ff)}`];
    holds.forEach((one, i) => one.set(places[i], now[Object.keys(STEPS)[i]], told[i]));
    names.forEach((name, i) => {
      name.replaceChildren(...typeset(told[i], true));
      put(name, i ? { x: places[i][0], y: places[i][1] - 14 } : { x: LEFT + width / 2, y: BOTTOM + 18 });
    });
    const then = tower(before ?? now), fits = then.width * x < far - LEFT && then.height * y < BOTTOM;
    [then.height * y, sum(then.floor) * z].forEach((height, i) => put(ghosts[i], {
      x: i ? far : LEFT, y: BOTTOM - height, width: then.width * x, height, visibility: fits ? "visible" : "hidden",
    }));
  }, 500);
  const update = () => {
    if (!held()) scales = scalesOf(now);
    const counts = countParameters(now), { width, floor, base: b } = tower(now);
    choose.set(Object.values(presets).findIndex((preset) => Object.keys(preset).every((name) => preset[name] === now[name])));
    fields.forEach(({ name, input }) => {
      if (Number(input.value) !== now[name]) {
        input.value = now[name];
        problem.textContent = "";
      }
    });
    boxes.forEach(({ name, input }) => (input.checked = now[name]));
    parts.forEach((part, i) => (cells[i][0].textContent = grouped(counts[part])));
    show([width, ...floor, now.n_layers, b, ...scales].map(Math.log), held());
    const [x, y] = scales, [oldX, oldY] = scalesOf(before ?? now), times = (oldX * oldY) / (x * y);
    rescaled.textContent = held() || times === 1 ? "" : `A parameter is drawn ${grouped(Math.max(times, 1 / times))} times `
      + `${times > 1 ? "smaller" : "larger"}.`;
    const share = (part) => format((100 * Number(counts[part])) / Number(counts.total));
    tell(`${grouped(counts.total)} parameters; ${share("attention")} % of them are in the attention matrices, `
      + `${share("mlp")} % in the MLPs. The keys and values of one token take ${grouped(4 * now.n_layers * now.n_key_heads * now.d_k)} bytes.`);
  };
  holds.forEach(({ group }) => ["pointerup", "pointercancel"].forEach((name) => group.addEventListener(name, update)));

  return (state, last) => {
    now = state;
    before = last;
    update();
  };
}

const render = figure({ label: "Parameter counter", build });

export default { render, countParameters, tower };
