// The scaling explorer: scores of one query for vectors of more and more entries, what softmax makes of them, and how
// much each weight still answers to each score (the Jacobian).

function saturate({ scores, sizes, chosen, scaled }) {
  const divisor = scaled ? Math.sqrt(sizes[chosen]) : 1;
  const weights = softmax(scores[chosen].map((score) => score / divisor));
  const jacobian = weights.map((p, i) => weights.map((q, j) => (i === j ? p : 0) - p * q));
  const trace = jacobian.reduce((sum, row, i) => sum + row[i], 0);
  return { weights, jacobian, trace };
}

function render({ model, el }) {
  const root = figureRoot(el, "Scaling explorer");
  const names = ["scores", "sizes", "chosen", "scaled"];
  const start = readState(model, names);
  const { line, tell } = reporter();
  let state, drawn, parts;

  const build = () => {
    const n = state.scores[0].length;
    const size = slider({
      label: "d_k", min: 0, max: state.sizes.length - 1, step: 1, show: (i) => String(state.sizes[i]),
      onInput: (chosen) => change(model, { chosen }),
    });
    const scale = choice({
      legend: "Scores", labels: ["as they are", "divided by √d_k"],
      onChoose: (i) => change(model, { scaled: i === 1 }),
    });
    const bars = Array.from({ length: n }, (_, j) => keyBar(`key ${j + 1}`));
    const table = element("table", { className: "attn-table attn-pattern" });
    table.createCaption().textContent = "Jacobian: what a score (column) does to a weight (row)";
    const cells = Array.from({ length: n }, () => Array.from({ length: n }, () => element("div", { className: "attn-cell" })));
    table.append(element("tbody", {}, ...cells.map((row) => element("tr", {}, ...row.map((cell) => element("td", {}, cell))))));
    const scroll = element("div", { className: "attn-scroll", role: "group", tabIndex: 0, "aria-label": "Jacobian" }, table);
    root.replaceChildren(
      element("div", { className: "attn-controls" }, scale.row, element("div", { className: "attn-sliders" }, size.row)),
      element("div", { className: "attn-panes" },
        element("div", { className: "attn-beside" },
          element("p", { className: "attn-caption" }, "Weights"), ...bars.map((one) => one.row)), scroll),
      line, resetButton(model, start));
    parts = { size, scale, bars, cells };
  };

  const update = () => {
    state = readState(model, names);
    const fixed = JSON.stringify([state.scores, state.sizes]);
    if (fixed !== drawn) build();
    drawn = fixed;
    const { weights, jacobian, trace } = saturate(state);
    parts.size.set(state.chosen);
    parts.scale.set(state.scaled ? 1 : 0);
    parts.bars.forEach((bar, j) => bar.set(weights[j]));
    parts.cells.forEach((row, i) => row.forEach((cell, j) => {
      cell.textContent = format(jacobian[i][j]);
      cell.style.setProperty("--attn-w", Math.min(1, 4 * Math.abs(jacobian[i][j]))); // an entry is at most 1/4
    }));
    const answer = trace > 0.5 ? "answer to the scores" : trace > 0.05 ? "answer weakly to the scores" : "hardly answer to the scores";
    tell(`Largest weight ${format(Math.max(...weights), 3)}. Trace of the Jacobian ${format(trace, 3)}: the weights ${answer}.`);
  };

  return follow(model, names, update);
}

export default { render, saturate };
