// The update plane: a word as a point, moved by a weighted sum of values. The reader sets the scores and sees each
// weighted value as an arrow, laid tip to tail from where the word was to where it goes.

function move({ E, V, scores }) {
  const weights = softmax(scores);
  const steps = V.map((v, j) => v.map((entry) => weights[j] * entry));
  const delta = E.map((_, d) => steps.reduce((sum, step) => sum + step[d], 0));
  return { weights, steps, delta, moved: E.map((entry, d) => entry + delta[d]) };
}

function render({ model, el }) {
  const root = figureRoot(el, "Update plane");
  const names = ["tokens", "asker", "E", "V", "scores", "axes", "places", "spots"];
  const start = readState(model, names);
  const { line, tell } = reporter();
  let state, drawn, parts;

  const build = () => {
    const { tokens, asker, axes, places, spots } = state;
    const plane = emptyPlane(`The word ${asker} moved by the values of ${tokens.join(", ")}; the sliders set their scores.`);
    plane.classList.add("attn-still");
    plane.append(
      drawing("text", { x: PLANE_SIZE - 4, y: PLANE_SIZE / 2 - 6, class: "attn-tick", "text-anchor": "end" }, axes[0]),
      drawing("text", { x: PLANE_SIZE / 2 + 6, y: 12, class: "attn-tick" }, axes[1]));
    spots.forEach((spot, i) => {
      const [x, y] = toPixels(spot);
      const right = x > 0.6 * PLANE_SIZE;
      plane.append(drawing("circle", { cx: x, cy: y, r: 7, class: "attn-landmark" }),
        drawing("text", { x: right ? x + 8 : x - 8, y: y - 12, class: "attn-plane-label", "text-anchor": right ? "end" : "middle" }, places[i]));
    });
    const arrows = tokens.map(() => planeArrow("attn-value-arrow"));
    const point = drawing("circle", { r: 4, class: "attn-place" });
    plane.append(...arrows.map((one) => one.group), point);
    const rows = tokens.map((token, j) => {
      const score = slider({
        label: token, min: -4, max: 8, step: 0.1, className: "attn-key", show: (number) => format(number, 1),
        onInput: (number) => change(model, { scores: state.scores.map((old, i) => (i === j ? number : old)) }),
      });
      const bar = weightBar();
      return { score, bar, row: element("div", { className: "attn-scored" }, score.row, bar.bar, bar.value) };
    });
    root.replaceChildren(element("div", { className: "attn-panes attn-plane-panes" }, plane,
      element("div", { className: "attn-beside" },
        element("p", { className: "attn-caption" }, `Score of each word for “${asker}”, and its weight:`),
        ...rows.map((one) => one.row), line, resetButton(model, start))));
    parts = { arrows, point, rows };
  };

  const update = () => {
    state = readState(model, names);
    const fixed = JSON.stringify([state.tokens, state.asker, state.axes, state.places, state.spots]);
    if (fixed !== drawn) build();
    drawn = fixed;
    const { weights, steps, delta, moved } = move(state);
    let from = state.E;
    parts.arrows.forEach((arrow, j) => {
      const to = from.map((entry, d) => entry + steps[j][d]);
      arrow.set(from, to);
      from = to;
    });
    const [x, y] = toPixels(moved);
    parts.point.setAttribute("cx", x);
    parts.point.setAttribute("cy", y);
    parts.rows.forEach((one, j) => {
      one.score.set(state.scores[j]);
      one.bar.set(weights[j]);
    });
    const pair = (vector) => `(${vector.map((entry) => format(entry)).join(", ")})`;
    tell(`${pair(state.E)} + ΔE ${pair(delta)} = ${pair(moved)}`);
  };

  return follow(model, names, update);
}

export default { render, move };
