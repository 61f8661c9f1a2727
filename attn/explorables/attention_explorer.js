// The attention explorer: one short sentence, one head. The reader changes a query or the mask and follows
// scores -> scaled -> weights -> output for one word, with the whole pattern beside it.

const MOST_WORDS = 8;

// As attn.scaled_dot_product_attention with a causal mask or none; rows are queries.
function attend({ Q, K, V, causal }) {
  const scale = 1 / Math.sqrt(K[0].length);
  const scores = Q.map((q) => K.map((k) => dot(q, k)));
  const scaled = scores.map((row, i) => row.map((score, j) => (causal && j > i ? -Infinity : score * scale)));
  const weights = scaled.map(softmax);
  const output = weights.map((row) => V[0].map((_, d) => dot(row, V.map((v) => v[d]))));
  return { scores, scaled, weights, output };
}

function render({ model, el }) {
  const root = figureRoot(el, "Attention explorer");
  const names = ["tokens", "Q", "K", "V", "query", "causal"];
  const start = readState(model, names);
  const known = new Map(start.tokens.map((word, i) => [word, i]));
  const { line, tell, explain } = reporter();
  let state, result, parts;

  const setQueryEntry = (d, number) => {
    const Q = state.Q.map((row) => [...row]);
    Q[state.query][d] = number;
    change(model, { Q });
  };

  // A word of the example keeps its vectors; another gets made-up ones.
  const useWords = (tokens) => {
    const vectors = (name, shift) => tokens.map((word) =>
      known.has(word) ? start[name][known.get(word)] : madeUpNumbers(word + shift, start[name][0].length));
    change(model, {
      tokens, Q: vectors("Q", "q"), K: vectors("K", "k"), V: vectors("V", "v"),
      query: Math.min(state.query, tokens.length - 1),
    });
  };

  const scoreText = (i, j) =>
    `score(${state.tokens[i]}, ${state.tokens[j]}) = ${dotInWords(state.Q[i], state.K[j])} = ${format(result.scores[i][j])}`;
  const scaledText = (i, j) => result.scaled[i][j] === -Infinity
    ? `“${state.tokens[j]}” comes after “${state.tokens[i]}”: its score becomes −∞, so its weight is 0.`
    : `${format(result.scores[i][j])} ÷ √${state.K[0].length} = ${format(result.scaled[i][j])}`;
  const weightText = (i, j) => {
    if (result.scaled[i][j] === -Infinity) return scaledText(i, j);
    const terms = result.scaled[i].filter((score) => score !== -Infinity).map((score) => `e^${factor(score)}`);
    return `weight(${state.tokens[i]} → ${state.tokens[j]}) = e^${factor(result.scaled[i][j])} ÷ (${terms.join(" + ")}) = ${format(result.weights[i][j])}`;
  };
  const outputText = (i, d) =>
    `${indexed("output", d)} = ${dotInWords(result.weights[i], state.V.map((v) => v[d]))} = ${format(result.output[i][d])}`;

  const cell = (text) => {
    const button = element("button", { type: "button", className: "attn-cell" });
    explain(button, text);
    return button;
  };

  // Everything whose number depends on the words; made anew when they change.
  const build = () => {
    const { tokens, Q, V } = state;
    const query = choice({ legend: "Query word", labels: tokens, onChoose: (i) => change(model, { query: i }) });
    const mask = choice({
      legend: "A word sees", labels: ["all words", "itself and earlier words"],
      onChoose: (i) => change(model, { causal: i === 1 }),
    });
    const legend = element("legend", {});
    const sliders = Q[0].map((_, d) => slider({
      label: indexed("q", d), min: -6, max: 6, className: "attn-query", onInput: (number) => setQueryEntry(d, number),
    }));
    const words = wordField({ most: MOST_WORDS, note: "; new words get made-up vectors", onWords: useWords });
    words.set(tokens);

    const columns = ["key of", "score", `÷ √${Q[0].length}`, "weight"];
    const steps = element("table", { className: "attn-table attn-steps" });
    const title = steps.createCaption();
    steps.createTHead().append(element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name))));
    const stepCells = tokens.map((token, j) => [
      cell(() => scoreText(state.query, j)), cell(() => scaledText(state.query, j)), cell(() => weightText(state.query, j)),
    ]);
    steps.append(element("tbody", {}, ...tokens.map((token, j) => element("tr", {},
      element("th", { scope: "row", className: "attn-key" }, token),
      ...stepCells[j].map((button) => element("td", {}, button))))));

    const outputCells = V[0].map((_, d) => cell(() => outputText(state.query, d)));
    const output = element("table", { className: "attn-table attn-output" }, element("tbody", {}, element("tr", {},
      element("th", { scope: "row" }, "output"), ...outputCells.map((button) => element("td", {}, button)))));

    const pattern = element("table", { className: "attn-table attn-pattern" });
    pattern.createCaption().textContent = "The whole pattern: each row sums to 1";
    pattern.createTHead().append(element("tr", {}, element("td", {}),
      ...tokens.map((token) => element("th", { scope: "col", className: "attn-key" }, token))));
    const patternCells = tokens.map((_, i) => tokens.map((_, j) => {
      const button = cell(() => weightText(i, j));
      button.addEventListener("click", () => change(model, { query: i }));
      return button;
    }));
    const patternRows = tokens.map((token, i) => element("tr", {},
      element("th", { scope: "row", className: "attn-query" }, token),
      ...patternCells[i].map((button) => element("td", {}, button))));
    pattern.append(element("tbody", {}, ...patternRows));
    [steps, output, pattern].forEach(moveByArrows);

    root.replaceChildren(
      element("div", { className: "attn-controls" }, query.row, mask.row,
        element("fieldset", { className: "attn-choice attn-sliders" }, legend, ...sliders.map((one) => one.row))),
      element("div", { className: "attn-panes" }, element("div", { className: "attn-scroll" }, steps, output), element("div", { className: "attn-scroll" }, pattern)),
      line,
      element("div", { className: "attn-controls" }, words.row, resetButton(model, start)),
    );
    tell("Point at a number, or move to it with Tab and the arrow keys, to see its sum written out.");
    parts = { query, mask, legend, sliders, title, stepCells, outputCells, patternCells, patternRows };
  };

  const update = () => {
    const before = state?.tokens;
    state = readState(model, names);
    result = attend(state);
    if (!before || before.join("\n") !== state.tokens.join("\n")) build();
    const { tokens, Q, query } = state;
    const { scores, scaled, weights, output } = result;
    parts.query.set(query);
    parts.mask.set(state.causal ? 1 : 0);
    parts.legend.textContent = `Query of “${tokens[query]}”`;
    parts.sliders.forEach((one, d) => one.set(Q[query][d]));
    parts.title.textContent = `“${tokens[query]}” asks every key`;
    parts.stepCells.forEach((cells, j) => {
      [scores, scaled, weights].forEach((grid, step) => (cells[step].textContent = format(grid[query][j])));
      cells[2].style.setProperty("--attn-w", weights[query][j]);
    });
    parts.outputCells.forEach((button, d) => (button.textContent = format(output[query][d])));
    parts.patternCells.forEach((row, i) => row.forEach((button, j) => {
      const masked = scaled[i][j] === -Infinity;
      button.textContent = masked ? "–" : format(weights[i][j]);
      button.style.setProperty("--attn-w", weights[i][j]);
      button.setAttribute("aria-label", `${tokens[i]} to ${tokens[j]}: ${masked ? "masked" : format(weights[i][j])}`);
    }));
    parts.patternRows.forEach((row, i) => row.classList.toggle("attn-chosen", i === query));
  };

  return follow(model, names, update);
}

export default { render, attend };
