// What the pictures of asking share: how one query attends, and the arrow among the keys that the reader drags.

import {
  dot, drawing, element, format, handle, lettering, planeArrow, pressable, put, softmax, sum,
} from "./common.js";

const PICTURE_WIDTH = 320;
const EDGE = [3, 2.2]; // how far a query goes in the plane, across and down; up it goes to 2.9

function divisorOf({ temperature, d_k, scaled }) {
  return temperature * (scaled ? Math.sqrt(d_k) : 1) / Math.sqrt(d_k / 2);
}

// What one query takes. Scores of d_k independent entries spread as widely as those of two, times the root of d_k / 2.
function ask({ q, K, V, hidden, ...rest }) {
  const scores = K.map((k) => dot(q, k));
  const weights = softmax(scores.map((score, j) => (hidden?.[j] ? -Infinity : score / divisorOf(rest))));
  return { scores, weights, output: V[0].map((_, d) => dot(weights, V.map((v) => v[d]))) };
}

// Where a step of learning takes the query, so that it takes more from one word: towards that word's key, away from the
// mean of the keys under its present weights.
function pull(state, goal) {
  const { weights } = ask(state);
  const mean = state.q.map((_, d) => dot(weights, state.K.map((k) => k[d])));
  return { mean, step: mean.map((entry, d) => (state.K[goal][d] - entry) / divisorOf(state)) };
}

const direction = (vector) => vector.map((entry) => entry / (Math.hypot(...vector) || 1));
const inside = (q) => q.map((entry, d) => Math.max(-EDGE[d], Math.min(d ? 2.9 : EDGE[d], entry)));
const pair = (vector) => `(${vector.map((entry) => format(entry)).join(", ")})`;
const percent = (weight) => `${format(100 * weight, 1)}\u00a0%`;

function scene(wide, height, label, ...nodes) {
  return drawing("svg", { viewBox: `0 0 ${wide} ${height}`, class: "attn-scene", role: "img", "aria-label": label }, ...nodes);
}

function line(className, from, to) {
  const node = drawing("line", { class: className });
  const set = ([x1, y1], [x2, y2]) => put(node, { x1, y1, x2, y2 });
  if (from) set(from, to);
  return { node, set };
}

// The first picture: the arrow, the keys, and the feet of the keys on the arrow's line.
function askPicture({ tokens, asker, K, adds }, read, onMove, wide = PICTURE_WIDTH) {
  const unit = 0.15 * wide, height = 5.45 * unit, origin = [wide / 2, 3.12 * unit];
  const inPlane = ([x, y]) => [origin[0] + x * unit, origin[1] - y * unit];
  const fromPlane = ([x, y]) => [(x - origin[0]) / unit, (origin[1] - y) / unit];
  const picture = scene(wide, height, `The query of ${asker} as an arrow among the keys of ${tokens.join(", ")}.`);
  picture.setAttribute("role", "group");
  for (let i = -3; i <= 3; i++) {
    const kind = i === 0 ? "attn-axis" : "attn-grid";
    const [x, y] = inPlane([i, i]);
    picture.append(line(kind, [x, 0], [x, height]).node, line(kind, [0, y], [wide, y]).node);
  }
  const along = line("attn-along"), trail = drawing("polyline", { class: "attn-trail" });
  const ghost = line("attn-ask-shaft attn-ghost"), shaft = line("attn-ask-shaft");
  const towards = planeArrow("attn-pull", inPlane);
  const mean = drawing("circle", { r: 7, class: "attn-fallen" }), meanName = drawing("text", {}, "mean key");
  const feet = K.map(() => [line("attn-fall"), drawing("circle", { r: 4, class: "attn-fallen" })]);
  const middle = [0, 1].map((d) => sum(K.map((k) => k[d])) / K.length);
  const keys = K.map((k, j) => {
    const [x, y] = inPlane(k);
    const target = drawing("circle", { r: 22, cx: x, cy: y, class: "attn-target" }), point = drawing("circle", { class: "attn-key-point" });
    const name = lettering(x, y, "attn-key-label attn-plane-label", tokens[j]);
    const group = pressable(drawing("g", {}, target, point, name), () => onMove(inside(k.map((entry) => 1.25 * entry))),
      { "aria-label": `Point at ${tokens[j]}` });
    const away = direction([k[0] - middle[0], k[1] - middle[1]]);
    const set = (weight, hidden, q) => { // the name lies away from the other keys, and from the line of the arrow
      const r = (0.1 + 0.27 * Math.sqrt(weight)) * unit, side = q[0] * k[1] < q[1] * k[0] ? 1 : -1;
      const [u, v] = direction([away[0] + side * direction(q)[1], away[1] - side * direction(q)[0]]);
      put(point, { cx: x, cy: y, r });
      put(name, { x: x + u * (r + 5 + 4 * tokens[j].length), y: y - v * (r + 9) + 5 });
      group.classList.toggle("attn-struck", Boolean(hidden));
    };
    return { group, set };
  });
  const head = drawing("path", { d: "M11,0L-11,-11L-6,0L-11,11Z", class: "attn-arrowhead" });
  const grip = handle({
    label: `The question of ${asker}`,
    onMove: (place) => onMove(inside(fromPlane(place).map((entry) => Math.round(entry * 20) / 20))),
    onStep: (step) => onMove(inside(read().q.map((entry, d) => entry + 0.1 * step[d]))),
  }, head);
  picture.append(along.node, trail, ghost.node, shaft.node, ...feet.flatMap(([fall, foot]) => [fall.node, foot]),
    ...keys.map((key) => key.group), ...(adds === "learning" ? [mean, meanName] : []), grip.group, towards.group);

  const set = (state, { scores, weights }, before, goal) => {
    const { q } = state;
    const length = Math.hypot(...q);
    const [tip, root] = [inPlane(q), inPlane([0, 0])];
    const far = q.map((entry) => (entry / (length || 1)) * 7);
    along.set(inPlane(far.map((entry) => -entry)), inPlane(far));
    shaft.set(root, tip);
    ghost.set(root, inPlane(before ? before.q : [0, 0]));
    K.forEach((k, j) => {
      const foot = inPlane(q.map((entry) => (length ? (entry * scores[j]) / length ** 2 : 0)));
      feet[j][0].set(inPlane(k), foot);
      put(feet[j][1], { cx: foot[0], cy: foot[1] });
      keys[j].set(weights[j], state.hidden?.[j], q);
    });
    grip.set(tip, length, pair(q));
    put(head, { transform: `rotate(${(Math.atan2(tip[1] - root[1], tip[0] - root[0]) * 180) / Math.PI})` });
    if (adds !== "learning") return;
    const { mean: center, step } = pull(state, goal);
    const [cx, cy] = inPlane(center);
    put(mean, { cx, cy });
    put(meanName, cx > 0.7 * wide ? { x: cx, y: cy + 28, "text-anchor": "end" } : { x: cx + 10, y: cy - 9, "text-anchor": "start" });
    towards.set(q, q.map((entry, d) => entry + step[d]));
  };
  const follow = (way) => put(trail, { points: way.map((q) => inPlane(q).map((x) => x.toFixed(1))).join(" ") });
  return { picture, set, held: grip.held, follow };
}

const ROLES = { query: "attn-role-query", key: "attn-role-key", weight: "attn-role-weight", value: "attn-role-value" };
const coloured = ([text, role]) => (role ? element("b", { className: ROLES[role] }, text) : text);

// A line whose parts have the colours of their roles.
function colouredLine() {
  const row = element("p", { className: "attn-say", "aria-live": "polite" });
  const set = (parts) => row.replaceChildren(...parts.map(coloured));
  return { row, set };
}

export { ask, askPicture, coloured, colouredLine, divisorOf, inside, line, pair, percent, PICTURE_WIDTH, pull, scene };
