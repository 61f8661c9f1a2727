// The training explorer: weights recorded during training. The reader moves through the steps and sees who gets the
// weight, beside curves of the whole run.

const CURVE_WIDTH = 340;
const CURVE_HEIGHT = 150;

// Where step number `step` of `steps` lies across the picture: the axis is logarithmic, and 0 has a place.
function across(steps, step) {
  const last = Math.log1p(steps[steps.length - 1]);
  return (Math.log1p(step) / last) * CURVE_WIDTH;
}

function render({ model, el }) {
  const root = figureRoot(el, "Training explorer");
  const names = ["tokens", "steps", "runs", "weights", "losses", "run", "moment"];
  const start = readState(model, names);
  const { line, tell } = reporter();
  let state, drawn, parts;

  const build = () => {
    const { tokens, steps, runs } = state;
    const run = choice({ legend: "Trained", labels: runs, onChoose: (i) => change(model, { run: i }) });
    const moment = slider({
      label: "step", min: 0, max: steps.length - 1, step: 1, show: (i) => String(steps[i]), onInput: (i) => change(model, { moment: i }),
    });
    const bars = tokens.map(keyBar);
    const plot = drawing("svg", {
      viewBox: `-4 -8 ${CURVE_WIDTH + 60} ${CURVE_HEIGHT + 30}`, class: "attn-curves", role: "img",
      "aria-label": "The weight of each word over the steps; the numbers are in the bars.",
    });
    plot.append(
      drawing("line", { x1: 0, y1: CURVE_HEIGHT, x2: CURVE_WIDTH, y2: CURVE_HEIGHT, class: "attn-axis" }),
      drawing("line", { x1: 0, y1: 0, x2: 0, y2: CURVE_HEIGHT, class: "attn-axis" }),
      drawing("text", { x: 4, y: 6, class: "attn-tick" }, "1"));
    [1, 10, 100, 1000].filter((step) => step <= steps[steps.length - 1]).forEach((step) =>
      plot.append(drawing("text", { x: across(steps, step), y: CURVE_HEIGHT + 16, class: "attn-tick", "text-anchor": "middle" }, String(step))));
    const curves = tokens.map((token, j) => {
      const path = drawing("path", { class: "attn-curve" });
      const label = drawing("text", { x: CURVE_WIDTH + 4, class: "attn-plane-label" }, token);
      plot.append(path, label);
      return { path, label };
    });
    const cursor = drawing("line", { y1: 0, y2: CURVE_HEIGHT, class: "attn-cursor" });
    plot.append(cursor);
    root.replaceChildren(run.row, element("div", { className: "attn-knobs" }, moment.row),
      element("div", { className: "attn-panes" }, element("div", { className: "attn-beside" }, ...bars.map((one) => one.row)), plot),
      line, resetButton(model, start));
    parts = { run, moment, bars, curves, cursor };
  };

  const update = () => {
    state = readState(model, names);
    const fixed = JSON.stringify([state.tokens, state.steps, state.runs]);
    if (fixed !== drawn) build();
    drawn = fixed;
    const { tokens, steps, runs, weights, losses, run, moment } = state;
    parts.run.set(run);
    parts.moment.set(moment);
    parts.bars.forEach((bar, j) => bar.set(weights[run][moment][j]));
    const heights = tokens.map((_, j) => CURVE_HEIGHT * (1 - weights[run][steps.length - 1][j]));
    const order = tokens.map((_, j) => j).sort((i, j) => heights[i] - heights[j]);
    order.forEach((j, place) => { // labels of curves that end together are moved apart
      if (place > 0) heights[j] = Math.max(heights[j], heights[order[place - 1]] + 13);
    });
    parts.curves.forEach(({ path, label }, j) => {
      const points = steps.map((step, i) => `${across(steps, step).toFixed(1)},${(CURVE_HEIGHT * (1 - weights[run][i][j])).toFixed(1)}`);
      path.setAttribute("d", `M${points.join(" L")}`);
      label.setAttribute("y", heights[j] + 4);
      label.setAttribute("visibility", heights[j] > CURVE_HEIGHT + 16 ? "hidden" : "visible"); // too many end at the bottom
    });
    parts.cursor.setAttribute("x1", across(steps, steps[moment]));
    parts.cursor.setAttribute("x2", across(steps, steps[moment]));
    tell(`Step ${steps[moment]}, trained: ${runs[run]}. Loss ${losses[run][moment].toPrecision(2)}; most weight on “${tokens[largest(weights[run][moment])]}”.`);
  };

  return follow(model, names, update);
}

function largest(numbers) {
  return numbers.indexOf(Math.max(...numbers));
}

export default { render, across };
