// Softmax backward as areas: a column is as wide as a weight and as high as the gradient there, and what lies between
// it and the average of all, weighted, is the gradient at the score. The reader pulls the columns up and down.

import {box, button, caption, dot, drawing, figure, fill, format, gliding, grid, handle, heading, largest,
  movingScene, put, slider, softmax, tableOf,
} from "./common.js";

const ACROSS = 380;
const REACH = 3; // of the gradient, both ways
const ZERO = 130;
const UNIT = 36;
const LANE = 284; // the height from which the arrows at the scores start

// As attn.attention.softmax_backward, beside the weights and the weighted average of the gradient.
function passBack(scores, gradient) {
  const weights = softmax(scores), average = dot(weights, gradient);
  return { weights, average, atScores: weights.map((weight, j) => weight * (gradient[j] - average)) };
}

function build({ read, change, reset, line, tell, draw }) {
  const { tokens } = read();
  const limited = (number) => Math.max(-REACH, Math.min(REACH, Math.round(number * 20) / 20));
  const set = (j, number) => change({ gradient: read().gradient.with(j, limited(number)) });
  const [widths, areas, columns, ghosts] = ["attn-of-patterns", "attn-area", "attn-column", "attn-ghost attn-outlined"].map((kind) =>
    tokens.map(() => drawing("rect", { class: kind })));
  const arrows = tokens.map(() => drawing("path", { class: "attn-push" }));
  const names = tokens.map((token) => drawing("text", { y: 20, class: "attn-word", "text-anchor": "middle" }, token));
  const grips = tokens.map((token, j) => handle({
    label: `gradient at the weight of ${token}`,
    onMove: ([, y]) => set(j, (ZERO - y) / UNIT),
    onStep: ([right, up]) => set(j, read().gradient[j] + 0.1 * (right + up)),
  }, drawing("circle", { r: 7, class: "attn-grip" })));
  const average = drawing("line", { x2: ACROSS, class: "attn-cursor" });
  const scene = movingScene(`-10 0 ${ACROSS + 20} 340`,
    "Columns as wide as weights and as high as the gradient there, and their dotted average.",
    ...areas, ...columns, ...ghosts, drawing("line", { x2: ACROSS, y1: ZERO, y2: ZERO, class: "attn-axis" }), average,
    ...widths, ...names, drawing("text", { y: 238, class: "attn-mark" }, "the weights are the widths"),
    drawing("text", { y: LANE + 50, class: "attn-mark" }, "the areas go to the scores"),
    drawing("line", { x2: ACROSS, y1: LANE, y2: LANE, class: "attn-axis" }), ...arrows, ...grips.map((one) => one.group));
  const sliders = tokens.map((token, j) => slider({
    label: `score of ${token}`, min: -3, max: 3, step: 0.1, show: (number) => format(number, 1),
    onInput: (number) => change({ scores: read().scores.with(j, number) }),
  }));
  const cells = grid(3, tokens.length);
  const { table } = tableOf({
    columns: tokens.map(heading("col")), rows: ["weight", "gradient", "at score"].map(heading("row")), cells,
  });
  const alike = button("attn-button", "All columns alike", () => change({ gradient: tokens.map(() => 1) }));
  draw(caption("Pull a column: how would the error change if this key got more weight?"),
    box("attn-panes attn-areas", scene, box("attn-beside", table)), box("attn-knobs", ...sliders.map((one) => one.row)), line,
    box("attn-controls", alike, reset));

  const show = gliding((numbers) => {
    const [weights, gradient, was] = [0, 1, 2].map((i) => numbers.slice(i * tokens.length, (i + 1) * tokens.length));
    const mean = ZERO - UNIT * dot(weights, gradient);
    put(average, { y1: mean, y2: mean });
    let left = 0;
    weights.forEach((weight, j) => {
      const width = Math.max(0, weight * ACROSS - 2), x = left, y = ZERO - UNIT * gradient[j], middle = x + width / 2;
      put(columns[j], { x, width, y: Math.min(y, ZERO), height: Math.abs(y - ZERO) });
      const sign = y < mean ? "plus" : "minus", moved = was[j] !== gradient[j];
      put(areas[j], { x, width, y: Math.min(y, mean), height: Math.abs(y - mean), "data-sign": sign });
      put(ghosts[j], { x, width, y: ZERO - UNIT * was[j], height: 1, visibility: moved ? "visible" : "hidden" });
      put(widths[j], { x, width, y: 244, height: 14 });
      put(names[j], { x: middle, visibility: width > 9 * tokens[j].length ? "visible" : "hidden" });
      grips[j].set([middle, y], gradient[j]);
      const long = weight * (mean - y), tip = Math.sign(long) * Math.min(8, Math.abs(long));
      put(arrows[j], { d: `M${middle},${LANE}v${-long}m-6,${tip}l6,${-tip}l6,${tip}`, "data-sign": sign });
      left += weight * ACROSS;
    });
  });

  return (state, before) => {
    const { scores, gradient } = state, { weights, average: mean, atScores } = passBack(scores, gradient);
    sliders.forEach((one, j) => one.set(scores[j]));
    fill(cells, [weights, gradient, atScores], () => 0);
    show([...weights, ...gradient, ...(before ?? state).gradient], grips.some((one) => one.held()));
    const most = largest(atScores.map(Math.abs));
    const way = atScores[most] < 0 ? "higher" : "lower";
    tell(Math.abs(atScores[most]) < 0.005 ? "✓ Every gradient at the scores is zero: no score need move."
      : `The dotted average is ${format(mean)}. A ${way} score of “${tokens[most]}” makes the error smaller most quickly. `
        + "The areas above and below the average are equal, so the gradients at the scores sum to 0.");
  };
}

const render = figure({ label: "Softmax, backward", build, fixed: ({ tokens }) => tokens });

export default { render, passBack };
