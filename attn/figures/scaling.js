// The scaling explorer: scores of one query for vectors of more and more entries, and what softmax makes of them. The
// reader moves one score and sees whether the weights still answer; dots show the Jacobian, how much each weight would.

function saturate({ scores, sizes, chosen, scaled, key, nudge }) {
  const divisor = scaled ? Math.sqrt(sizes[chosen]) : 1;
  const shown = scores[chosen].map((score, j) => score / divisor + (j === key ? nudge : 0));
  const weights = softmax(shown);
  const jacobian = weights.map((p, i) => weights.map((q, j) => (i === j ? p : 0) - p * q));
  const trace = sum(jacobian.map((row, i) => row[i]));
  return { shown, weights, jacobian, trace };
}

const WIDE = 328, FLOOR = 150, UP = 126; // the foot of the bars, and how high a weight of 1 rises above it
const SLOT = 198, REACH = 28; // where a score rests, and how far a whole unit moves it

// The column of key j: its bar with the number above, and below it the slot in which its score moves.
function column(name, x, wide) {
  const bar = drawing("rect", { x: x - wide / 2, width: wide, class: "attn-share" });
  const was = drawing("rect", { x: x - wide / 2, width: wide, class: "attn-was attn-ghost" });
  const weight = lettering(x, 0, "attn-plane-label"), score = lettering(x, SLOT + 50, "attn-tick");
  const slot = drawing("path", { class: "attn-axis", d: `M${x},${SLOT - REACH}v${2 * REACH}M${x - 5},${SLOT}h10` });
  const rise = (node, share) => put(node, { y: FLOOR - UP * share, height: UP * share });
  const set = (share, before) => {
    rise(bar, share);
    rise(was, before);
    put(was, { visibility: share === before ? "hidden" : "visible" });
    put(weight, { y: FLOOR - UP * Math.max(share, before) - 6 });
    weight.textContent = format(share);
  };
  return { nodes: [slot, bar, was, weight, score, lettering(x, SLOT + 68, "attn-key-label", name)], score, set };
}

function build({ read, change, reset, line, tell, draw }) {
  const { sizes, scores } = read();
  const n = scores[0].length, pitch = WIDE / n, middle = (j) => pitch * (j + 0.5);
  const size = slider({
    label: "d_k", min: 0, max: sizes.length - 1, step: 1, show: (i) => String(sizes[i]),
    onInput: (chosen) => change({ chosen }),
  });
  const scale = choice({
    legend: "Scores", labels: ["as they are", "divided by √d_k"], onChoose: (i) => change({ scaled: i === 1 }),
  });
  const move = (key, nudge) => change({ key, nudge: Math.round(20 * Math.max(-1, Math.min(1, nudge))) / 20 });
  const columns = scores[0].map((_, j) => column(String(j + 1), middle(j), Math.min(28, 0.7 * pitch)));
  const knobs = scores[0].map((_, j) => handle({
    label: `score of key ${j + 1}`,
    onMove: ([, y]) => move(j, (SLOT - y) / REACH),
    onStep: ([right, up]) => move(j, (read().key === j ? read().nudge : 0) + (right + up) / 10),
  }, drawing("circle", { r: 9, class: "attn-key-point" })));
  const scene = (role, name, ...nodes) =>
    drawing("svg", { viewBox: `0 0 ${WIDE} 276`, class: "attn-scene", role, "aria-label": name }, ...nodes);
  const bars = scene("group", "Weights and scores",
    drawing("line", { x2: WIDE, y1: FLOOR, y2: FLOOR, class: "attn-axis" }),
    ...columns.flatMap(({ nodes }) => nodes), ...knobs.map(({ group }) => group));

  const dots = grid(n, n, (i, j) => drawing("circle", { cx: middle(j), cy: 20 + (30.5 * 8 * (i + 0.5)) / n }));
  const held = drawing("rect", { y: 16, width: pitch, height: 256, class: "attn-grid", fill: "none" });
  const names = scores[0].map((_, j) => lettering(middle(j), 13, "attn-key-label", String(j + 1)));
  const rows = dots.map(([dot], i) => lettering(-12, Number(dot.getAttribute("cy")) + 5, "attn-key-label", String(i + 1)));
  const table = scene("img", "Jacobian", held, ...names, ...rows, ...dots.flat());
  put(table, { viewBox: `-24 0 ${WIDE + 24} 276` });

  draw(
    box("attn-controls", scale.row, box("attn-sliders", size.row)),
    box("attn-panes",
      box("attn-beside",
        caption("Weights of the keys, and below them the scores. Take hold of a score and move it."), bars),
      box("attn-beside",
        caption("The Jacobian: as a score (column) rises, a weight (row) rises too (slate) or falls (orange)."), table)),
    line, reset);

  const glide = gliding((numbers) => {
    const weights = numbers.slice(0, n), before = numbers.slice(n, 2 * n);
    columns.forEach(({ set }, j) => set(weights[j], before[j]));
    dots.flat().forEach((dot, place) => {
      const entry = numbers[2 * n + place];
      put(dot, { r: 1 + 0.9 * pitch * Math.sqrt(Math.abs(entry)), class: entry < 0 ? "attn-falls" : "attn-rises" });
    });
  });

  return (state) => {
    const { shown, weights, jacobian, trace } = saturate(state), { key, nudge } = state;
    const { weights: before } = saturate({ ...state, nudge: 0 });
    size.set(state.chosen);
    scale.set(state.scaled ? 1 : 0);
    const by = (j) => (j === key ? nudge : 0), signed = (number) => (number > 0 ? "+" : "") + format(number);
    knobs.forEach(({ set }, j) =>
      set([middle(j), SLOT - REACH * by(j)], by(j), `${format(shown[j])}, moved by ${signed(by(j))}`));
    columns.forEach(({ score }, j) => (score.textContent = format(shown[j], 1)));
    put(held, { x: pitch * key, visibility: nudge ? "visible" : "hidden" });
    glide([...weights, ...before, ...jacobian.flat()], knobs.some((knob) => knob.held()));
    const answer = trace > 0.5 ? "answer to the scores"
      : trace > 0.05 ? "answer weakly to the scores" : "hardly answer to the scores";
    const told = `Largest weight ${format(Math.max(...weights), 3)}. `
      + `Trace of the Jacobian ${format(trace, 3)}: the weights ${answer}.`;
    const moved = Math.abs(weights[key] - before[key]);
    tell(nudge ? `The score of key ${key + 1} is moved by ${signed(nudge)}: its weight goes from ${format(before[key], 3)} to `
      + `${format(weights[key], 3)}, and the others together ${nudge > 0 ? "lose" : "gain"} ${format(moved, 3)}. ${told}` : told);
  };
}

const render = figure({
  label: "Scaling explorer", names: STATE, build,
  fixed: ({ sizes, scores }) => [sizes, scores[0].length],
});

export default { render, saturate };
