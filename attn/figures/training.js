// The training explorer: weights recorded during training. The reader takes the time axis by its handle, or lets it
// run, and sees who gets the weight, as arcs of all runs over one row of words.

const CURVE_WIDTH = 300;
const CURVE_HEIGHT = 180;

// Where step number `step` of `steps` lies across the picture: the axis is logarithmic, and 0 has a place.
function across(steps, step) {
  const last = Math.log1p(steps[steps.length - 1]);
  return (Math.log1p(step) / last) * CURVE_WIDTH;
}

// Heights of labels so that each has room and none is beyond the bottom; all stay in their order.
function apart(heights, room, bottom) {
  const order = heights.map((_, j) => j).sort((i, j) => heights[i] - heights[j]);
  const found = [...heights], least = Math.min(room, bottom / Math.max(1, heights.length - 1));
  order.forEach((j, place) => place && (found[j] = Math.max(found[j], found[order[place - 1]] + least)));
  order.reverse().forEach((j, place) =>
    (found[j] = Math.min(found[j], place ? found[order[place - 1]] - least : bottom)));
  return found;
}

// The curves that are shown, each with its name: of the word that each run ends with.
function curvesOf({ tokens, weights }) {
  return weights.map((rows) => {
    const j = largest(rows.at(-1));
    return { name: tokens[j], points: rows.map((row) => row[j]) };
  });
}

function emptyPlot(steps) {
  const plot = drawing("svg", {
    viewBox: `-24 -16 400 ${CURVE_HEIGHT + 52}`, class: "attn-scene", role: "group",
    "aria-label": "The weights over the steps",
  });
  plot.append(
    drawing("line", { x1: 0, y1: CURVE_HEIGHT, x2: CURVE_WIDTH, y2: CURVE_HEIGHT, class: "attn-axis" }),
    drawing("line", { x1: 0, y1: 0, x2: 0, y2: CURVE_HEIGHT, class: "attn-axis" }),
    drawing("text", { x: -6, y: 5, class: "attn-mark", "text-anchor": "end" }, "1"));
  [0, 1, 10, 100, 1000].filter((step) => step <= steps[steps.length - 1]).forEach((step) => plot.append(drawing("text", {
    x: across(steps, step), y: CURVE_HEIGHT + 32, class: "attn-mark", "text-anchor": "middle",
  }, step ? String(step) : "step 0")));
  return plot;
}

// A row of words with an arc for each weight of each run: of the first below, of the next above.
function emptyArcs({ tokens, runs, askers }) {
  const wide = 380 / tokens.length, at = (j) => (j + 0.5) * wide, middle = 130;
  const words = tokens.flatMap((token, j) => token.split(" ").map((part, i) => drawing("text", {
    x: at(j), y: middle + 5 + 15 * i, class: i ? "attn-mark" : "attn-word", "text-anchor": "middle",
  }, part)));
  const side = (i) => (i % 2 ? -1 : 1); // below, and then above
  const arcs = askers.map((asker, i) => tokens.map((_, j) => {
    const from = at(asker), to = at(j), y = middle + (side(i) < 0 ? -12 : 26), far = Math.abs(from - to);
    const turn = (to < from) === (side(i) < 0) ? 0 : 1;
    const d = j === asker ? `M${from - 6},${y}a6,8 0 1 ${side(i) < 0 ? 1 : 0} 12,0`
      : `M${from},${y}A${far / 2},${Math.min(far / 2, 74)} 0 0 ${turn} ${to},${y}`;
    return drawing("path", { d, class: "attn-arc" });
  }));
  const names = runs.map((run, i) =>
    drawing("text", { x: 4, y: i % 2 ? 14 : 2 * middle - 4, class: `attn-ink-${i} attn-name` }, run));
  const scene = drawing("svg", {
    viewBox: `0 0 380 ${2 * middle}`, class: "attn-scene", role: "img",
    "aria-label": "Who looks where, as arcs: the line below tells it",
  }, ...arcs.flat(), ...names, ...words);
  const show = (rows) => arcs.forEach((row, i) => row.forEach((arc, j) =>
    put(arc, { "stroke-width": (14 * rows[i][j]).toFixed(2) })));
  return { scene, show };
}

function build({ read, change, reset, line, tell, draw }) {
  const start = read(), { tokens, steps, runs } = start, last = steps.length - 1;
  const play = player({ last, now: () => read().moment, goTo: (moment) => change({ moment }) });
  const go = (moment) => {
    play.stop();
    change({ moment: Math.max(0, Math.min(last, moment)) });
  };
  const cursor = handle({
    label: "step",
    onMove: ([x]) => go(largest(steps.map((step) => -Math.abs(across(steps, step) - x)))),
    onStep: ([right, up]) => go(read().moment + right + up),
  }, drawing("line", { y1: -CURVE_HEIGHT, class: "attn-cursor" }), drawing("circle", { r: 8, class: "attn-grip" }));
  const arcs = emptyArcs(start), plot = emptyPlot(steps), ended = curvesOf(start);
  const height = (weight) => CURVE_HEIGHT * (1 - weight);
  const lows = apart(ended.map(({ points }) => height(points[last])), 16, CURVE_HEIGHT);
  const curves = ended.map(({ name, points }, i) => {
    const d = points.map((weight, k) => `${across(steps, steps[k]).toFixed(1)},${height(weight).toFixed(1)}`);
    return {
      path: drawing("path", { class: `attn-curve attn-ink-${i}`, d: `M${d.join(" L")}` }),
      dot: drawing("circle", { r: 4, class: `attn-dot attn-ink-${i}` }),
      label: drawing("text", { x: CURVE_WIDTH + 8, y: lows[i] + 5, class: `attn-name attn-ink-${i}` }, name),
    };
  });
  plot.append(...curves.map((one) => one.path), cursor.group, ...curves.flatMap((one) => [one.dot, one.label]));

  draw(box("attn-panes attn-areas attn-alike", arcs.scene, plot), line, box("attn-controls", play.press, reset));

  const showNow = gliding((numbers) => {
    const x = across(steps, numbers[0]);
    curves.forEach(({ dot }, i) => put(dot, { cx: x, cy: height(numbers[i + 1]) }));
    arcs.show(runs.map((_, i) => numbers.slice(1 + runs.length + i * tokens.length).slice(0, tokens.length)));
  });

  return ({ weights, losses, moment }) => {
    const step = steps[moment];
    cursor.set([across(steps, step), CURVE_HEIGHT], moment, `step ${step}`);
    showNow([step, ...ended.map(({ points }) => points[moment]), ...weights.flatMap((rows) => rows[moment])], cursor.held());
    const each = runs.map((name, i) => {
      const row = weights[i][moment], j = largest(row);
      return `${name}: most weight on “${tokens[j]}” ${format(row[j])}.`;
    });
    const told = each.map((one) => one[0].toUpperCase() + one.slice(1)).join(" ");
    tell(`Step ${step}, loss ${losses[moment].toPrecision(2)}. ${told}`);
  };
}

const render = figure({
  label: "Training explorer", names: STATE, build,
  fixed: ({ moment, ...others }) => others,
});

export default { render, across, apart, curvesOf };
