// The query plane: a query as an arrow that the reader turns, keys as points, and the mixture that comes out.

function attendOne({ q, K, V }) {
  const scores = K.map((k) => dot(q, k));
  const weights = softmax(scores.map((score) => score / Math.sqrt(q.length)));
  return { scores, weights, output: V[0].map((_, d) => dot(weights, V.map((v) => v[d]))) };
}

// The plane with a point and a label for each key.
function drawPlane(state) {
  const others = state.tokens.join(", ");
  const plane = emptyPlane(`The query of ${state.asker} as an arrow among the keys of ${others}; the sliders move it.`);
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

function build({ read, change, reset, line, tell, draw }) {
  const { tokens, asker, q } = read();
  const { plane, points, query } = drawPlane(read());
  followPointer(plane, (moved) => change({ q: moved }));
  const sliders = q.map((_, d) => slider({
    label: indexed("q", d), min: -PLANE_REACH, max: PLANE_REACH, step: 0.05, className: "attn-query",
    onInput: (number) => change({ q: read().q.with(d, number) }),
  }));
  const bars = tokens.map(keyBar);
  const words = wordField({
    called: "Other labels for these words",
    words: tokens, fewest: tokens.length, most: tokens.length, onWords: (own) => change({ tokens: own }),
  });

  draw(
    box("attn-panes attn-plane-panes", plane, box("attn-beside",
      caption(`Drag the arrow, the query of “${asker}”, or use the sliders.`), ...sliders.map((one) => one.row),
      caption(`How much “${asker}” takes from each word:`), ...bars.map((bar) => bar.row), line)),
    box("attn-controls", words, reset));

  return (state) => {
    const { weights, output } = attendOne(state);
    query.set([0, 0], state.q);
    sliders.forEach((one, d) => one.set(state.q[d]));
    points.forEach((point, j) => point.setAttribute("r", 4 + 12 * Math.sqrt(weights[j])));
    bars.forEach((bar, j) => bar.set(weights[j]));
    tell(`Output: (${output.map((entry) => format(entry, 3)).join(", ")})`);
  };
}

const render = figure({
  label: "Query plane", names: ["tokens", "asker", "q", "K", "V"], build,
  fixed: ({ tokens, asker, K }) => [tokens, asker, K],
});

export default { render, attendOne };
