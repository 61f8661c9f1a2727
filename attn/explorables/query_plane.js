// The query plane: a query as an arrow that the reader turns, keys as points, and the mixture that comes out.

function attendOne({ q, K, V }) {
  const scores = K.map((k) => dot(q, k));
  const weights = softmax(scores.map((score) => score / Math.sqrt(q.length)));
  return { scores, weights, output: V[0].map((_, d) => dot(weights, V.map((v) => v[d]))) };
}

// The plane with a point and a label for each key.
function drawPlane(state) {
  const plane = emptyPlane(`The query of ${state.asker} as an arrow among the keys of ${state.tokens.join(", ")}; the sliders move it.`);
  const points = state.K.map((k, j) => {
    const [x, y] = toPixels(k);
    const point = drawing("circle", { cx: x, cy: y, class: "attn-key-point" });
    plane.append(point, drawing("text", { x: x + 12, y: y - 10, class: "attn-key-label" }, state.tokens[j]));
    return point;
  });
  const query = planeArrow("attn-query-arrow");
  plane.append(query.group);
  return { plane, points, query };
}

// Report where in the plane the pointer is held, in steps of 0.05.
function followPointer(plane, onMove) {
  let dragging = false;
  const clamp = (number) => Math.max(-PLANE_REACH, Math.min(PLANE_REACH, Math.round(number * 20) / 20));
  const tell = (event) => {
    const box = plane.getBoundingClientRect();
    onMove([
      clamp(((event.clientX - box.left) / box.width - 0.5) * 2 * PLANE_REACH),
      clamp((0.5 - (event.clientY - box.top) / box.height) * 2 * PLANE_REACH),
    ]);
  };
  plane.addEventListener("pointerdown", (event) => {
    dragging = true;
    plane.setPointerCapture(event.pointerId);
    tell(event);
  });
  plane.addEventListener("pointermove", (event) => dragging && tell(event));
  ["pointerup", "pointercancel"].forEach((name) => plane.addEventListener(name, () => (dragging = false)));
}

function render({ model, el }) {
  const root = figureRoot(el, "Query plane");
  const names = ["tokens", "asker", "q", "K", "V"];
  const start = readState(model, names);
  const { line, tell } = reporter();
  let state, drawn, parts;

  // Everything but the arrow and the numbers; made anew when words or keys change.
  const build = () => {
    const { tokens, asker } = state;
    const { plane, points, query } = drawPlane(state);
    followPointer(plane, (q) => change(model, { q }));
    const sliders = state.q.map((_, d) => slider({
      label: indexed("q", d), min: -PLANE_REACH, max: PLANE_REACH, step: 0.05, className: "attn-query",
      onInput: (number) => change(model, { q: state.q.map((entry, i) => (i === d ? number : entry)) }),
    }));
    const bars = tokens.map(keyBar);
    const words = wordField({ fewest: tokens.length, most: tokens.length, onWords: (own) => change(model, { tokens: own }) });
    words.set(tokens);
    root.replaceChildren(element("div", { className: "attn-panes attn-plane-panes" }, plane,
      element("div", { className: "attn-beside" },
        element("p", { className: "attn-caption" }, `Drag the arrow, the query of “${asker}”, or use the sliders.`),
        ...sliders.map((one) => one.row),
        element("p", { className: "attn-caption" }, `How much “${asker}” takes from each word:`),
        ...bars.map((one) => one.row), line)),
      element("div", { className: "attn-controls" }, words.row, resetButton(model, start)));
    parts = { points, query, sliders, bars };
  };

  const update = () => {
    state = readState(model, names);
    const fixed = JSON.stringify([state.tokens, state.asker, state.K]);
    if (fixed !== drawn) build();
    drawn = fixed;
    const { weights, output } = attendOne(state);
    parts.query.set([0, 0], state.q);
    parts.sliders.forEach((one, d) => one.set(state.q[d]));
    parts.points.forEach((point, j) => point.setAttribute("r", 4 + 12 * Math.sqrt(weights[j])));
    parts.bars.forEach((bar, j) => bar.set(weights[j]));
    tell(`Output: (${output.map((entry) => format(entry, 3)).join(", ")})`);
  };

  return follow(model, names, update);
}

export default { render, attendOne };
