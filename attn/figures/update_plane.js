// The update plane: a word as a point, moved by a weighted sum of values, which are arrows laid tip to tail from where
// the word was to where it goes. The reader pulls the end of an arrow, or sets the scores.

function move({ E, V, scores }) {
  const weights = softmax(scores);
  const steps = V.map((v, j) => v.map((entry) => weights[j] * entry));
  const delta = E.map((_, d) => sum(steps.map((step) => step[d])));
  return { weights, steps, delta, moved: E.map((entry, d) => entry + delta[d]) };
}

// Where the arrows of some weights end, one after the other, beginning with the word itself.
function path(E, V, weights) {
  return V.reduce((ends, v, j) => [...ends, ends.at(-1).map((entry, d) => entry + weights[j] * v[d])], [E]);
}

const LEAST = -4, MOST = 8;

// The scores with which word j has a certain weight, and the other weights keep their proportions: its own score moves,
// and where that would leave the sliders, the others move instead.
function scoresFor({ scores }, j, weight) {
  const within = (score) => Math.max(LEAST, Math.min(MOST, score));
  const others = Math.log(sum(scores.filter((_, k) => k !== j).map(Math.exp)));
  const share = Math.max(0.0001, Math.min(0.9999, weight));
  const score = others + Math.log(share / (1 - share)), over = score - within(score);
  return scores.map((other, k) => Math.round(100 * within((k === j ? score : other) - over)) / 100);
}

// The weight of word j that brings the end of its arrow as near as can be to a point. What it gains, the others lose, so
// that the end moves on a straight line: from where the arrows before it would end without it, to its whole value.
function weightAt({ E, V, scores }, j, point) {
  const without = softmax(scores.with(j, -Infinity));
  const start = path(E, V, without)[j];
  const line = E.map((entry, d) => entry + V[j][d] - start[d]);
  return dot(line, point.map((entry, d) => entry - start[d])) / dot(line, line);
}

const FRAME = { left: 34, top: 22, size: 288 };

// The plane in which all that can be reached is seen: `at` and `from` lead into the drawing and back.
function drawPlane({ tokens, asker, axes, spots, E, V }) {
  const seen = [E, ...V.map((v) => v.map((entry, d) => E[d] + entry)), ...Object.values(spots)];
  const bounds = E.map((_, d) => [Math.min, Math.max].map((end) => end(...seen.map((point) => point[d]))));
  const span = Math.max(...bounds.map(([low, high]) => high - low)) + 1;
  const [first, lowest] = bounds.map(([low, high]) => (low + high - span) / 2);
  const { left, top, size } = FRAME, unit = size / span, bottom = top + size;
  const at = ([x, y]) => [left + (x - first) * unit, bottom - (y - lowest) * unit];
  const from = ([x, y]) => [first + (x - left) / unit, lowest + (bottom - y) / unit];
  const plane = drawing("svg", {
    viewBox: "0 0 328 348", class: "attn-scene", role: "group",
    "aria-label": `The word ${asker} moved by the values of ${tokens.join(", ")}`,
  });
  for (let i = Math.ceil(first); i <= first + span; i++) {
    const [x] = at([i, 0]);
    plane.append(drawing("line", { x1: x, x2: x, y1: top, y2: bottom, class: i === 0 ? "attn-axis" : "attn-grid" }),
      lettering(x, bottom + 16, "attn-tick", format(i, 0)));
  }
  for (let i = Math.ceil(lowest); i <= lowest + span; i++) {
    const [, y] = at([0, i]);
    plane.append(drawing("line", { x1: left, x2: left + size, y1: y, y2: y, class: i === 0 ? "attn-axis" : "attn-grid" }),
      lettering(left - 14, y + 4, "attn-tick", format(i, 0)));
  }
  plane.append(lettering(left + size / 2, bottom + 33, "attn-plane-label", `${axes[0]} →`),
    drawing("text", { x: left - 18, y: 13, class: "attn-plane-label" }, `↑ ${axes[1]}`));
  Object.entries(spots).forEach(([name, spot]) => {
    const [x, y] = at(spot);
    plane.append(drawing("circle", { cx: x, cy: y, r: 13, class: "attn-landmark" }),
      lettering(Math.max(left + 40, Math.min(left + size - 40, x)), y - 18, "attn-plane-label", name));
  });
  return { plane, at, from };
}

// A name at the side to which its arrow leads.
function beside(right, name) {
  const [x, anchor] = right ? [14, "start"] : [-14, "end"];
  return drawing("text", { x, y: 5, class: "attn-value-label", "text-anchor": anchor }, name);
}

function build({ read, change, reset, line, tell, draw }) {
  const { tokens, asker, spots, E, V } = read();
  const { plane, at, from } = drawPlane(read());
  const trail = (more) => {
    const arrows = tokens.map(() => drawnArrow(`attn-value-arrow${more}`));
    const point = drawing("circle", { r: 4, class: `attn-place${more}` });
    const set = (ends) => {
      arrows.forEach((arrow, j) => arrow.set(ends[j], ends[j + 1]));
      const [cx, cy] = ends.at(-1);
      put(point, { cx, cy });
    };
    return { nodes: [...arrows.map((arrow) => arrow.group), point], set };
  };
  const ghost = trail(" attn-ghost"), now = trail("");
  const weigh = (j, weight) => change({ scores: scoresFor(read(), j, weight) });
  const knobs = tokens.map((token, j) => handle({
    label: `${token}: weight`,
    onMove: (place) => weigh(j, weightAt(read(), j, from(place))),
    onStep: ([right, up]) => weigh(j, softmax(read().scores)[j] + 0.02 * (right + up)),
  }, drawing("circle", { r: 9, class: "attn-grip" }), beside(V[j][0] > 0, token)));
  plane.append(...ghost.nodes, ...knobs.filter((_, j) => dot(V[j], V[j])).map(({ group }) => group), ...now.nodes);
  const scores = tokens.map((token, j) => slider({
    label: token, min: LEAST, max: MOST, step: 0.1, className: "attn-key", show: (number) => format(number, 1),
    onInput: (number) => change({ scores: read().scores.with(j, number) }),
  }));
  const bars = scores.map((score) => barRow("attn-scored", score.row));

  draw(box("attn-panes",
    box("attn-beside", caption("Pull the end of an arrow, a value times its weight."), plane),
    box("attn-beside", caption(`Score of each word for “${asker}”, and its weight:`), ...bars.map((bar) => bar.row),
      line, reset)));

  const glide = gliding((weights) => {
    const ends = path(E, V, weights).map(at);
    now.set(ends);
    knobs.forEach(({ set }, j) => set(ends[j + 1], weights[j]));
    bars.forEach((bar, j) => bar.set(weights[j]));
  });

  return (state, before) => {
    const { weights, delta, moved } = move(state);
    ghost.set(path(E, V, softmax((before ?? state).scores)).map(at));
    glide(weights, knobs.some((knob) => knob.held()));
    scores.forEach((score, j) => score.set(state.scores[j]));
    const away = Object.entries(spots).map(([name, spot]) =>
      [Math.hypot(...spot.map((entry, d) => entry - moved[d])), name]);
    const [near, name] = away.sort(([a], [b]) => a - b)[0];
    const pair = (vector) => `(${vector.map((entry) => format(entry)).join(", ")})`;
    tell(`${pair(E)} + ΔE ${pair(delta)} = ${pair(moved)}. `
      + (near < 0.1 ? `✓ “${asker}” stands at “${name}”.` : `Nearest: “${name}”, ${format(near)} away.`));
  };
}

const render = figure({
  label: "Update plane", names: ["tokens", "asker", "E", "V", "scores", "axes", "spots"], build,
  fixed: ({ scores, ...others }) => others,
});

export default { render, move, path, scoresFor, weightAt };
