// The update plane: a word as a point, moved by a weighted sum of values. The reader sets the scores and sees each
// weighted value as an arrow, laid tip to tail from where the word was to where it goes.

function move({ E, V, scores }) {
  const weights = softmax(scores);
  const steps = V.map((v, j) => v.map((entry) => weights[j] * entry));
  const delta = E.map((_, d) => sum(steps.map((step) => step[d])));
  return { weights, steps, delta, moved: E.map((entry, d) => entry + delta[d]) };
}

// The plane with its axes named and a ring for each spot.
function drawPlane({ tokens, asker, axes, spots }) {
  const others = tokens.join(", ");
  const plane = emptyPlane(`The word ${asker} moved by the values of ${others}; the sliders set their scores.`);
  plane.classList.add("attn-still");
  plane.append(
    drawing("text", { x: PLANE_SIZE - 4, y: PLANE_SIZE / 2 - 6, class: "attn-tick", "text-anchor": "end" }, axes[0]),
    drawing("text", { x: PLANE_SIZE / 2 + 6, y: 12, class: "attn-tick" }, axes[1]));
  Object.entries(spots).forEach(([name, spot]) => {
    const [x, y] = toPixels(spot);
    const [beside, anchor] = x > 0.6 * PLANE_SIZE ? [x + 8, "end"] : [x - 8, "middle"];
    plane.append(drawing("circle", { cx: x, cy: y, r: 7, class: "attn-landmark" }),
      drawing("text", { x: beside, y: y - 12, class: "attn-plane-label", "text-anchor": anchor }, name));
  });
  return plane;
}

function build({ read, change, reset, line, tell, draw }) {
  const { tokens, asker } = read();
  const plane = drawPlane(read());
  const arrows = tokens.map(() => planeArrow("attn-value-arrow"));
  const point = drawing("circle", { r: 4, class: "attn-place" });
  plane.append(...arrows.map((arrow) => arrow.group), point);
  const scores = tokens.map((token, j) => slider({
    label: token, min: -4, max: 8, step: 0.1, className: "attn-key", show: (number) => format(number, 1),
    onInput: (number) => change({ scores: read().scores.with(j, number) }),
  }));
  const bars = scores.map((score) => barRow("attn-scored", score.row));

  const beside = box("attn-beside", caption(`Score of each word for “${asker}”, and its weight:`),
    ...bars.map((bar) => bar.row), line, reset);
  draw(box("attn-panes attn-plane-panes", plane, beside));

  return (state) => {
    const { weights, steps, delta, moved } = move(state);
    let from = state.E;
    arrows.forEach((arrow, j) => {
      const to = from.map((entry, d) => entry + steps[j][d]);
      arrow.set(from, to);
      from = to;
    });
    const [x, y] = toPixels(moved);
    point.setAttribute("cx", x);
    point.setAttribute("cy", y);
    scores.forEach((score, j) => score.set(state.scores[j]));
    bars.forEach((bar, j) => bar.set(weights[j]));
    const pair = (vector) => `(${vector.map((entry) => format(entry)).join(", ")})`;
    tell(`${pair(state.E)} + ΔE ${pair(delta)} = ${pair(moved)}`);
  };
}

const render = figure({
  label: "Update plane", names: ["tokens", "asker", "E", "V", "scores", "axes", "spots"], build,
  fixed: ({ tokens, asker, axes, spots }) => [tokens, asker, axes, spots],
});

export default { render, move };
