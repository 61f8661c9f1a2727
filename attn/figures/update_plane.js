// The update plane: a word as a point, moved by a weighted sum of values, which are arrows laid tip to tail from where
// the word was to where it goes. The reader pulls the end of an arrow, or the end of a weight's bar.

function move({ E, V, scores }) {
  const weights = softmax(scores), moved = path(E, V, weights).at(-1);
  return { weights, moved, delta: moved.map((entry, d) => entry - E[d]) };
}

// Where the arrows of some weights end, one after the other, beginning with the word itself.
function path(E, V, weights) {
  return V.reduce((ends, v, j) => [...ends, ends.at(-1).map((entry, d) => entry + weights[j] * v[d])], [E]);
}

const LEAST = -4, MOST = 8;

// The scores with which word j has a certain weight, and the other weights keep their proportions: its own score moves,
// and where that would leave the scale, the others move instead.
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

const ROW = 52; // for the bar of a word, in units of its drawing

// The plane in which all that can be reached is seen: `at` and `from` lead into the drawing and back.
function drawPlane({ tokens, asker, axes, spots, E, V }) {
  const seen = [E, ...V.map((v) => v.map((entry, d) => E[d] + entry)), ...Object.values(spots)];
  const bounds = E.map((_, d) => [Math.min, Math.max].map((end) => end(...seen.map((point) => point[d]))));
  const span = Math.max(...bounds.map(([low, high]) => high - low)) + 1;
  const [first, lowest] = bounds.map(([low, high]) => (low + high - span) / 2);
  const left = 34, top = 22, size = 288, unit = size / span, bottom = top + size;
  const at = ([x, y]) => [left + (x - first) * unit, bottom - (y - lowest) * unit];
  const from = ([x, y]) => [first + (x - left) / unit, lowest + (bottom - y) / unit];
  const plane = drawing("svg", {
    viewBox: "0 0 328 348", class: "attn-scene", role: "group",
    "aria-label": `The word ${asker} moved by the values of ${tokens.join(", ")}`,
  });
  [first, lowest].forEach((low, d) => {
    for (let i = Math.ceil(low); i <= low + span; i++) {
      const [x, y] = at([i, i]), along = d ? `M${left},${y}h${size}` : `M${x},${top}v${size}`;
      plane.append(drawing("path", { d: along, class: i === 0 ? "attn-axis" : "attn-grid" }),
        lettering(d ? left - 14 : x, d ? y + 4 : bottom + 16, "attn-tick", format(i, 0)));
    }
  });
  plane.append(lettering(left + size / 2, bottom + 33, "attn-plane-label", `${axes[0]} →`),
    drawing("text", { x: left - 18, y: 13, class: "attn-plane-label" }, `↑ ${axes[1]}`));
  Object.entries(spots).forEach(([name, spot]) => {
    const [x, y] = at(spot);
    plane.append(drawing("circle", { cx: x, cy: y, r: 13, class: "attn-landmark" }),
      lettering(Math.max(left + 40, Math.min(left + size - 40, x)), y - 18, "attn-plane-label", name));
  });
  return { plane, at, from };
}

// The bar of a word's weight, which is taken by its end, below the word and its score.
function weightBar(token, j, wide, pull) {
  const y = ROW * j + 34, long = wide - 50, bar = drawing("rect", { y: y - 8, height: 16, class: "attn-share" });
  const text = (x, up, name = "") => drawing("text", { x, y: y + up, class: name, "text-anchor": "end" });
  const weight = text(wide, 5), score = text(long, -16, "attn-tick");
  const name = drawing("text", { y: y - 16, class: "attn-value-label" }, token);
  const end = pull(`weight of ${token}`, j, ([x]) => x / long, drawing("circle", { r: 8, class: "attn-knob" }));
  const set = (share) => {
    put(bar, { width: share * long });
    weight.textContent = format(share);
    end.set([share * long, y], share);
  };
  return { nodes: [name, score, weight, bar, end.group], score, set, held: end.held };
}

function build({ read, change, reset, line, tell, draw }) {
  const { tokens, asker, spots, E, V } = read();
  const { plane, at, from } = drawPlane(read());
  const trail = (more) => {
    const arrows = tokens.map(() => drawnArrow(`attn-value-arrow${more}`));
    const point = drawing("circle", { r: 4, class: `attn-place${more}` });
    const set = (ends) => {
      arrows.forEach((arrow, j) => arrow.set(ends[j], ends[j + 1]));
      put(point, { transform: `translate(${ends.at(-1)})` });
    };
    return { nodes: [...arrows.map((arrow) => arrow.group), point], set };
  };
  const ghost = trail(" attn-ghost"), now = trail("");
  const pull = (label, j, weightOf, ...marks) => {
    const weigh = (weight) => change({ scores: scoresFor(read(), j, weight) });
    const onStep = ([right, up]) => weigh(softmax(read().scores)[j] + 0.02 * (right + up));
    return handle({ label, onMove: (place) => weigh(weightOf(place)), onStep }, ...marks);
  };
  const tips = tokens.map((token, j) => { // a name is at the side to which its arrow leads
    const [x, anchor] = V[j][0] > 0 ? [14, "start"] : [-14, "end"];
    return pull(`arrow of ${token}`, j, (place) => weightAt(read(), j, from(place)),
      drawing("circle", { r: 9, class: "attn-grip" }),
      drawing("text", { x, y: 5, class: "attn-value-label", "text-anchor": anchor }, token));
  });
  plane.append(...ghost.nodes, ...tips.filter((_, j) => dot(V[j], V[j])).map(({ group }) => group), ...now.nodes);
  const wide = sceneWidth() > 400 ? 250 : 330, bars = tokens.map((token, j) => weightBar(token, j, wide, pull));
  const scene = drawing("svg", {
    viewBox: `-10 0 ${wide + 10} ${ROW * tokens.length}`, class: "attn-scene", role: "group", "aria-label": "Weights",
  }, ...bars.flatMap(({ nodes }) => nodes));

  draw(caption("Each arrow is a value times its weight. Pull the end of an arrow, or of a bar."),
    box("attn-panes attn-areas", plane, box("attn-beside", scene, line, reset)));

  const glide = gliding((weights) => {
    const ends = path(E, V, weights).map(at);
    now.set(ends);
    tips.forEach(({ set }, j) => set(ends[j + 1], weights[j]));
    bars.forEach(({ set }, j) => set(weights[j]));
  });

  return (state, before) => {
    const { weights, delta, moved } = move(state);
    ghost.set(path(E, V, softmax((before ?? state).scores)).map(at));
    glide(weights, [...tips, ...bars].some((end) => end.held()));
    bars.forEach(({ score }, j) => (score.textContent = `score ${format(state.scores[j], 1)}`));
    const away = Object.entries(spots).map(([name, spot]) =>
      [Math.hypot(...spot.map((entry, d) => entry - moved[d])), name]);
    const [near, name] = away.sort(([a], [b]) => a - b)[0];
    const pair = (vector) => `(${vector.map((entry) => format(entry)).join(", ")})`;
    tell(`${pair(E)} + ΔE ${pair(delta)} = ${pair(moved)}. `
      + (near < 0.1 ? `✓ “${asker}” stands at “${name}”.` : `Nearest: “${name}”, ${format(near)} away.`));
  };
}

const render = figure({
  label: "Update plane", names: STATE, build,
  fixed: ({ scores, ...others }) => others,
});

export default { render, move, path, scoresFor, weightAt };
