// The training explorer: weights recorded during training. The reader moves through the steps and sees who gets the
// weight, beside curves of the whole run.

const CURVE_WIDTH = 340;
const CURVE_HEIGHT = 150;

// Where step number `step` of `steps` lies across the picture: the axis is logarithmic, and 0 has a place.
function across(steps, step) {
  const last = Math.log1p(steps[steps.length - 1]);
  return (Math.log1p(step) / last) * CURVE_WIDTH;
}

function emptyPlot(steps) {
  const plot = drawing("svg", {
    viewBox: `-4 -8 ${CURVE_WIDTH + 60} ${CURVE_HEIGHT + 30}`, class: "attn-curves", role: "img",
    "aria-label": "The weight of each word over the steps; the numbers are in the bars.",
  });
  plot.append(
    drawing("line", { x1: 0, y1: CURVE_HEIGHT, x2: CURVE_WIDTH, y2: CURVE_HEIGHT, class: "attn-axis" }),
    drawing("line", { x1: 0, y1: 0, x2: 0, y2: CURVE_HEIGHT, class: "attn-axis" }),
    drawing("text", { x: 4, y: 6, class: "attn-tick" }, "1"));
  [1, 10, 100, 1000].filter((step) => step <= steps[steps.length - 1]).forEach((step) => plot.append(drawing("text", {
    x: across(steps, step), y: CURVE_HEIGHT + 16, class: "attn-tick", "text-anchor": "middle",
  }, String(step))));
  return plot;
}

function build({ read, change, reset, line, tell, draw }) {
  const { tokens, steps, runs } = read();
  const run = choice({ legend: "Trained", labels: runs, onChoose: (i) => change({ run: i }) });
  const moment = slider({
    label: "step", min: 0, max: steps.length - 1, step: 1, show: (i) => String(steps[i]),
    onInput: (i) => change({ moment: i }),
  });
  const bars = tokens.map(keyBar);
  const plot = emptyPlot(steps);
  const curves = tokens.map((token) => {
    const path = drawing("path", { class: "attn-curve" });
    const label = drawing("text", { x: CURVE_WIDTH + 4, class: "attn-plane-label" }, token);
    plot.append(path, label);
    return { path, label };
  });
  const cursor = drawing("line", { y1: 0, y2: CURVE_HEIGHT, class: "attn-cursor" });
  plot.append(cursor);

  draw(
    run.row, box("attn-knobs", moment.row),
    box("attn-panes", box("attn-beside", ...bars.map((bar) => bar.row)), plot), line, reset);

  return (state) => {
    const weights = state.weights[state.run];
    run.set(state.run);
    moment.set(state.moment);
    bars.forEach((bar, j) => bar.set(weights[state.moment][j]));
    const heights = tokens.map((_, j) => CURVE_HEIGHT * (1 - weights[steps.length - 1][j]));
    const order = tokens.map((_, j) => j).sort((i, j) => heights[i] - heights[j]);
    order.forEach((j, place) => { // labels of curves that end together are moved apart
      if (place > 0) heights[j] = Math.max(heights[j], heights[order[place - 1]] + 13);
    });
    curves.forEach(({ path, label }, j) => {
      const points = steps.map((step, i) =>
        `${across(steps, step).toFixed(1)},${(CURVE_HEIGHT * (1 - weights[i][j])).toFixed(1)}`);
      path.setAttribute("d", `M${points.join(" L")}`);
      label.setAttribute("y", heights[j] + 4);
      label.setAttribute("visibility", heights[j] > CURVE_HEIGHT + 16 ? "hidden" : "visible"); // too many end at the bottom
    });
    ["x1", "x2"].forEach((name) => cursor.setAttribute(name, across(steps, steps[state.moment])));
    tell(`Step ${steps[state.moment]}, trained: ${runs[state.run]}. `
      + `Loss ${state.losses[state.run][state.moment].toPrecision(2)}; `
      + `most weight on “${tokens[largest(weights[state.moment])]}”.`);
  };
}

const render = figure({
  label: "Training explorer", names: ["tokens", "steps", "runs", "weights", "losses", "run", "moment"], build,
  fixed: ({ tokens, steps, runs }) => [tokens, steps, runs],
});

export default { render, across };
