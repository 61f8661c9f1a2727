// The scaling explorer: scores of one query for vectors of more and more entries, what softmax makes of them, and how
// much each weight still answers to each score (the Jacobian).

function saturate({ scores, sizes, chosen, scaled }) {
  const divisor = scaled ? Math.sqrt(sizes[chosen]) : 1;
  const weights = softmax(scores[chosen].map((score) => score / divisor));
  const jacobian = weights.map((p, i) => weights.map((q, j) => (i === j ? p : 0) - p * q));
  const trace = sum(jacobian.map((row, i) => row[i]));
  return { weights, jacobian, trace };
}

function build({ read, change, reset, line, tell, draw }) {
  const { sizes, scores } = read();
  const n = scores[0].length;
  const size = slider({
    label: "d_k", min: 0, max: sizes.length - 1, step: 1, show: (i) => String(sizes[i]),
    onInput: (chosen) => change({ chosen }),
  });
  const scale = choice({
    legend: "Scores", labels: ["as they are", "divided by √d_k"], onChoose: (i) => change({ scaled: i === 1 }),
  });
  const bars = scores[0].map((_, j) => keyBar(`key ${j + 1}`));
  const cells = grid(n, n);
  const { table } = tableOf({ title: "Jacobian: what a score (column) does to a weight (row)", cells });

  draw(
    box("attn-controls", scale.row, box("attn-sliders", size.row)),
    box("attn-panes",
      box("attn-beside", caption("Weights"), ...bars.map((bar) => bar.row)), scrolling("Jacobian", table)),
    line, reset);

  return (state) => {
    const { weights, jacobian, trace } = saturate(state);
    size.set(state.chosen);
    scale.set(state.scaled ? 1 : 0);
    bars.forEach((bar, j) => bar.set(weights[j]));
    fill(cells, jacobian, (entry) => 4 * Math.abs(entry)); // an entry is at most 1/4
    const answer = trace > 0.5 ? "answer to the scores"
      : trace > 0.05 ? "answer weakly to the scores" : "hardly answer to the scores";
    tell(`Largest weight ${format(Math.max(...weights), 3)}. `
      + `Trace of the Jacobian ${format(trace, 3)}: the weights ${answer}.`);
  };
}

const render = figure({
  label: "Scaling explorer", names: ["sizes", "scores", "chosen", "scaled"], build,
  fixed: ({ sizes, scores }) => [sizes, scores[0].length],
});

export default { render, saturate };
