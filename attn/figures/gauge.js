// The gauge explorer: queries are stretched along one direction and keys shrunk along it, by the head of an arrow. No
// score moves, but every cosine inside key space and inside query space does.

const MAPS = ["cosines of keys", "scores", "cosines of queries"];

// Stretch the first entry of each query by a factor, and shrink that of each key by the same.
function regauge({ Q, K, power }) {
  const factor = 2 ** power;
  const first = (rows, by) => rows.map((row) => row.map((entry, d) => (d === 0 ? entry * by : entry)));
  const queries = first(Q, factor), keys = first(K, 1 / factor);
  const scale = 1 / Math.sqrt(Q[0].length);
  const cosine = (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  return [
    keys.map((a) => keys.map((b) => cosine(a, b))),
    queries.map((q) => keys.map((k) => dot(q, k) * scale)),
    queries.map((a) => queries.map((b) => cosine(a, b))),
  ];
}

const MOST = 2; // powers of two
const WIDE = 328, BASE = [WIDE / 2, 132], SIDE = 104;

// A vector as it is drawn: its first entry, and the length of all others together.
function upright([first, ...others]) {
  return [first, Math.hypot(...others)];
}

// The plane of keys or of queries. The head of the arrow that is longest across is held.
function plane(role, rows, tokens, unit, { read, change }) {
  const sign = role === "key" ? -1 : 1, pairs = rows.map(upright);
  const chosen = largest(pairs.map(([across]) => Math.abs(across)));
  const place = ([across, up], factor) => [BASE[0] + unit * across * factor, BASE[1] - unit * up];
  const draw = (more) => pairs.map((pair) => {
    const arrow = drawnArrow(`attn-${role}-arrow attn-thin${more}`);
    arrow.set(BASE, place(pair, 1));
    return arrow;
  });
  const ghosts = draw(" attn-ghost"), arrows = draw("");
  const stretch = (factor) => {
    const power = sign * Math.log2(Math.max(factor, 0.01));
    change({ power: Math.round(20 * Math.max(-MOST, Math.min(MOST, power))) / 20 });
  };
  const name = lettering(0, -16, `attn-${role}-label`, tokens[chosen]);
  const knob = handle({
    label: `${role} of ${tokens[chosen]}`,
    onMove: ([x]) => stretch((x - BASE[0]) / (unit * pairs[chosen][0])),
    onStep: ([right, up]) => stretch(2 ** (sign * read().power + 0.1 * (right + up))),
  }, drawing("circle", { r: 9, class: "attn-grip" }), name);
  const view = { viewBox: `0 0 ${WIDE} 140`, class: "attn-scene", role: "group", "aria-label": `The ${role} space` };
  const scene = drawing("svg", view,
    drawing("line", { x1: 4, x2: WIDE - 4, y1: BASE[1], y2: BASE[1], class: "attn-axis" }),
    drawing("line", { x1: BASE[0], x2: BASE[0], y1: 4, y2: BASE[1], class: "attn-grid" }),
    ...[...ghosts, ...arrows].map(({ group }) => group), knob.group);
  const set = (power) => {
    const factor = 2 ** (sign * power);
    arrows.forEach((arrow, i) => arrow.set(BASE, place(pairs[i], factor)));
    const [x, y] = place(pairs[chosen], factor), half = 4.2 * tokens[chosen].length;
    knob.set([x, y], factor, `× ${format(factor)}`);
    put(name, { x: Math.max(half, Math.min(WIDE - half, x)) - x }); // it stays inside
  };
  return { scene, set, held: knob.held };
}

// A dot for each pair of words, and a ring around where it was before any stretch.
function dots(name, entries) {
  const n = entries.length, pitch = SIDE / n, most = Math.max(...entries.flat().map(Math.abs));
  const circle = (i, j) => drawing("circle", { cx: 3 + pitch * (j + 0.5), cy: 3 + pitch * (i + 0.5) });
  const radius = (entry) => 0.5 * pitch * Math.sqrt(Math.min(1, Math.abs(entry) / most));
  const now = grid(n, n, circle).flat(), before = grid(n, n, circle).flat();
  before.forEach((ring, place) => put(ring, { r: radius(entries.flat()[place]), class: "attn-landmark" }));
  const scene = drawing("svg", { viewBox: "0 0 110 110", class: "attn-scene", role: "img", "aria-label": name },
    ...now, ...before);
  const set = (numbers) => now.forEach((dot, place) =>
    put(dot, { r: radius(numbers[place]), class: numbers[place] < 0 ? "attn-falls" : "attn-rises" }));
  return { pane: box("", caption(name), scene), set };
}

function build({ read, change, reset, line, tell, draw }) {
  const { tokens, Q, K } = read();
  const power = slider({
    label: "stretch", min: -MOST, max: MOST, step: 0.1, show: (number) => `× ${format(2 ** number)}`,
    onInput: (number) => change({ power: number }),
  });
  const ends = [...K, ...Q].map(upright);
  const unit = Math.min(...ends.map(([across, up]) =>
    Math.min((WIDE / 2 - 12) / (2 ** MOST * Math.abs(across)), (BASE[1] - 30) / up)));
  const planes = [["key", K], ["query", Q]].map(([role, rows]) => plane(role, rows, tokens, unit, { read, change }));
  const start = regauge({ Q, K, power: 0 });
  const maps = MAPS.map((name, m) => dots(name, start[m]));
  const rest = Q[0].length === 2 ? "the second" : `how long the other ${Q[0].length - 1} are together`;

  draw(
    box("attn-panes",
      box("attn-beside", caption(`Keys. Across: their first entry. Up: ${rest}.`), planes[0].scene),
      box("attn-beside", caption("Queries, likewise. Take hold of the head of an arrow."), planes[1].scene)),
    box("attn-thirds", ...maps.map(({ pane }) => pane)),
    caption("A dot for each two words: orange is negative, the other colour positive; a ring is the size before any stretch."),
    box("attn-knobs", power.row), line, reset);

  const glide = gliding(([shown]) => {
    planes.forEach(({ set }) => set(shown));
    regauge({ Q, K, power: shown }).forEach((entries, m) => maps[m].set(entries.flat()));
  });

  return (state) => {
    const now = regauge(state);
    power.set(state.power);
    glide([state.power], planes.some(({ held }) => held()));
    const moved = now.map((rows, m) =>
      Math.max(...rows.flatMap((row, i) => row.map((entry, j) => Math.abs(entry - start[m][i][j])))));
    tell(`Queries × ${format(2 ** state.power)}, keys × ${format(2 ** -state.power)}. `
      + `Largest change so far: ${MAPS.map((name, m) => `${name} ${format(moved[m])}`).join(", ")}.`);
  };
}

const render = figure({
  label: "Gauge explorer", names: ["tokens", "Q", "K", "power"], build,
  fixed: ({ tokens, Q, K }) => [tokens, Q, K],
});

export default { render, regauge, upright };
