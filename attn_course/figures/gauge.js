// The gauge explorer: keys are stretched along their first entry and queries shrunk along it, by the head of an arrow. No
// score moves, but the cosine of two keys does, and that of two queries.

import {
  box, caption, cosine, dot, drawing, drawnArrow, figure, fill, format, gliding, grid, handle, heading,
  largest, lettering, likeliest, movingScene, put, scrolling, tableOf,
} from "./common.js";

// Stretch the first entry of each query by a factor, and shrink that of each key by the same.
function regauge({ Q, K, power }) {
  const factor = 2 ** power;
  const first = (rows, by) => rows.map((row) => row.map((entry, d) => (d === 0 ? entry * by : entry)));
  const queries = first(Q, factor), keys = first(K, 1 / factor);
  const scale = 1 / Math.sqrt(Q[0].length);
  return [
    keys.map((a) => keys.map((b) => cosine(a, b))),
    queries.map((q) => keys.map((k) => dot(q, k) * scale)),
    queries.map((a) => queries.map((b) => cosine(a, b))),
  ];
}

const MOST = 2; // powers of two
const WIDE = 328, HIGH = 250;

// Where names stand beyond the tips of arrows, inside the plane, and each clear of those farther out across.
function beyond(tips, names) {
  const placed = [];
  likeliest(tips.map(([x]) => Math.abs(x - WIDE / 2)), tips.length).forEach((i) => {
    const [x, y] = tips[i], [right, down] = [x - WIDE / 2, y - HIGH / 2], length = Math.hypot(right, down) || 1, half = 4.2 * names[i].length;
    const at = { half, x: Math.max(half, Math.min(WIDE - half, x + ((14 + half) * right) / length)), y: y + 5 + (16 * down) / length };
    const hit = (one) => Math.abs(one.x - at.x) < one.half + half && Math.abs(one.y - at.y) < 15;
    while (placed.some(hit)) at.y += down > 0 ? 3 : -3;
    placed[i] = at;
  });
  return placed;
}

// The plane of the first two entries of keys or of queries, with ghosts where they were before any stretch. The two whose
// cosine is told, the first and the last, are thick; the one that is longest across is held.
function plane(role, rows, tokens, { read, change }) {
  const sign = role === "key" ? -1 : 1, held = largest(rows.map(([first]) => Math.abs(first)));
  const told = [0, rows.length - 1];
  const fit = (room, d) => room / (Math.max(...rows.map((row) => Math.abs(row[d]))) || 1);
  const across = fit((WIDE / 2 - 12) / 2 ** MOST, 0), up = fit(HIGH / 2 - 44, 1), middle = [WIDE / 2, HIGH / 2];
  const place = ([first, second = 0], factor) => [middle[0] + across * first * factor, middle[1] - up * second];
  const draw = (more) => rows.map((row, i) => {
    const arrow = drawnArrow(`attn-${role}-arrow${told.includes(i) ? "" : " attn-thin"}${more}`);
    arrow.set(middle, place(row, 1));
    return arrow;
  });
  const ghosts = draw(" attn-ghost"), arrows = draw("");
  const names = tokens.map((token) => lettering(0, 0, `attn-${role}-label attn-plane-label`, token));
  const stretch = (factor) => {
    const power = sign * Math.log2(Math.max(factor, 0.01));
    change({ power: Math.round(20 * Math.max(-MOST, Math.min(MOST, power))) / 20 });
  };
  const knob = handle({
    label: `${role} of ${tokens[held]}`,
    onMove: ([x]) => stretch((x - middle[0]) / (across * rows[held][0])),
    onStep: ([right, up]) => stretch(2 ** (sign * read().power + 0.1 * (right + up))),
  }, drawing("circle", { r: 9, class: "attn-grip" }));
  const scene = movingScene(`0 0 ${WIDE} ${HIGH}`, `The ${role} space`,
    drawing("path", { d: `M4,${middle[1]}H${WIDE - 4}M${middle[0]},4V${HIGH - 4}`, class: "attn-axis" }),
    ...[...ghosts, ...arrows].map(({ group }) => group), ...names, knob.group);
  const set = (power) => {
    const factor = 2 ** (sign * power);
    rows.forEach((row, i) => arrows[i].set(middle, place(row, factor)));
    beyond(rows.map((row) => place(row, factor)), tokens).forEach(({ x, y }, i) => put(names[i], { x, y }));
    knob.set(place(rows[held], factor), factor, `× ${format(factor)}`);
  };
  return { scene, set, held: knob.held };
}

function build({ read, change, reset, line, tell, draw }) {
  const { tokens, Q, K } = read();
  const planes = [["key", K], ["query", Q]].map(([role, rows]) => plane(role, rows, tokens, { read, change }));
  const cells = grid(tokens.length, tokens.length), start = regauge({ Q, K, power: 0 });
  const { table } = tableOf({
    title: "Scores, a row for each query:", cells,
    columns: tokens.map(heading("col", "attn-key")), rows: tokens.map(heading("row", "attn-query")),
  });
  const most = Math.max(1, ...start[1].flat());

  draw(
    box("attn-panes",
      box("attn-beside", caption("Keys. Across: the first entry. Up: the second."), planes[0].scene),
      box("attn-beside", caption("Queries, likewise. Take hold of a ring."), planes[1].scene)),
    scrolling("Scores", table), line, reset);

  const glide = gliding(([power]) => {
    planes.forEach(({ set }) => set(power));
    fill(cells, regauge({ Q, K, power })[1], (score) => score / most);
  });

  return (state) => {
    const now = regauge(state);
    glide([state.power], planes.some(({ held }) => held()));
    const cosine = (m) => `was ${format(start[m][0].at(-1))} and is ${format(now[m][0].at(-1))}`;
    const moved = Math.max(...now[1].flatMap((row, i) => row.map((score, j) => Math.abs(score - start[1][i][j]))));
    tell(`Keys × ${format(2 ** -state.power)}, queries × ${format(2 ** state.power)}. The cosine of the keys of “${tokens[0]}” `
      + `and “${tokens.at(-1)}” ${cosine(0)}; that of their queries ${cosine(2)}. The largest change of a score is ${format(moved)}.`);
  };
}

const render = figure({ label: "Gauge explorer", build, fixed: ({ tokens, Q, K }) => [tokens, Q, K] });

export default { render, regauge };
