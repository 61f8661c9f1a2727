// The training explorer: weights recorded during training. The reader takes the time axis by its handle, or lets it
// run, and sees who gets the weight: as bars beside the curves of a run, or as arcs of all runs over one row of words.

const CURVE_WIDTH = 300;
const CURVE_HEIGHT = 180;
const INKS = 9; // three colours: whole, dashed and dotted

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

// The curves that are shown, each with its name: of every word, or of the word that each run ends with.
function curvesOf({ tokens, weights, run, askers }) {
  if (!askers.length) return tokens.map((name, j) => ({ name, points: weights[run].map((row) => row[j]) }));
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
  const start = read(), { tokens, steps, runs, askers } = start, last = steps.length - 1;
  const ink = (i) => `attn-ink-${i % INKS}`;
  const run = choice({ legend: "Trained", labels: runs, onChoose: (i) => change({ run: i }) });
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
  const bars = tokens.map((token, j) =>
    barRow(`attn-weighted ${ink(j)}`, element("span", { className: "attn-name" }, token)));
  const arcs = askers.length ? emptyArcs(start) : null;
  const plot = emptyPlot(steps);
  const curves = curvesOf(start).map((_, j) => ({
    path: drawing("path", { class: `attn-curve ${ink(j)}` }),
    dot: drawing("circle", { r: 4, class: `attn-dot ${ink(j)}` }),
    label: drawing("text", { x: CURVE_WIDTH + 8, class: `attn-name ${ink(j)}` }),
  }));
  plot.append(...curves.map((one) => one.path), cursor.group, ...curves.flatMap((one) => [one.dot, one.label]));

  draw(
    ...(arcs ? [] : [run.row]),
    arcs ? box("attn-panes attn-areas attn-alike", arcs.scene, plot)
      : box("attn-panes attn-areas", plot, box("attn-beside", ...bars.map((bar) => bar.row))),
    line, box("attn-controls", play.press, reset));

  const height = (weight) => CURVE_HEIGHT * (1 - weight);
  const showCurves = gliding((numbers) => curves.forEach(({ path }, j) => {
    const points = steps.map((step, i) =>
      `${across(steps, step).toFixed(1)},${height(numbers[j * steps.length + i]).toFixed(1)}`);
    put(path, { d: `M${points.join(" L")}` });
  }));
  const showNow = gliding((numbers) => {
    const x = across(steps, numbers[0]);
    curves.forEach(({ dot }, j) => put(dot, { cx: x, cy: height(numbers[j + 1]) }));
    arcs?.show(runs.map((_, i) => numbers.slice(1 + (i + 1) * tokens.length).slice(0, tokens.length)));
  });

  return (state, before) => {
    const { weights, moment } = state, shown = curvesOf(state), step = steps[moment];
    run.set(state.run);
    bars.forEach((bar, j) => {
      bar.set(weights[state.run][moment][j]);
      bar.haunt(before ? before.weights[before.run][before.moment][j] : null);
    });
    showCurves(shown.flatMap((one) => one.points));
    const lows = apart(shown.map((one) => height(one.points[last])), 16, CURVE_HEIGHT);
    curves.forEach(({ label }, j) => {
      label.textContent = shown[j].name;
      put(label, { y: lows[j] + 5 });
    });
    cursor.set([across(steps, step), CURVE_HEIGHT], moment, `step ${step}`);
    const dots = tokens.map((_, j) => shown[j]?.points[moment] ?? 0);
    showNow([step, ...dots, ...weights.flatMap((rows) => rows[moment])], cursor.held());
    const loss = `loss ${state.losses[state.run][moment].toPrecision(2)}`;
    const most = (i) => {
      const row = weights[i][moment], j = largest(row);
      return `“${tokens[j]}”${askers.length ? ` ${format(row[j])}` : ""}`;
    };
    const each = runs.map((name, i) => `${name}: most weight on ${most(i)}.`);
    tell(askers.length ? `Step ${step}, ${loss}. ${each.join(" ")}`
      : `Step ${step}, trained: ${runs[state.run]}. L${loss.slice(1)}; most weight on ${most(state.run)}.`);
  };
}

const render = figure({
  label: "Training explorer", names: ["tokens", "steps", "runs", "weights", "losses", "run", "moment", "askers"], build,
  fixed: ({ tokens, steps, runs, askers }) => [tokens, steps, runs, askers],
});

export default { render, across, apart, curvesOf };
