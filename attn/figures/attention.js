// The attention explorer: one short sentence, one head. Arcs as wide as the weights leave the word that asks; the reader
// presses words, changes a query or the mask, and may unfold every number: scores -> scaled -> weights -> output for one
// word, and the whole pattern.

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

// The sums of the figure, written out: the score, scaled score and weight of key j for query i, an entry of the output.
function inWords(read) {
  const now = () => ({ ...read(), ...attend(read()) });
  const scoreOf = (i, j) => {
    const { tokens, Q, K, scores } = now();
    return `score(${tokens[i]}, ${tokens[j]}) = ${dotInWords(Q[i], K[j])} = ${format(scores[i][j])}`;
  };
  const scaledOf = (i, j) => {
    const { tokens, K, scores, scaled } = now();
    return scaled[i][j] === -Infinity
      ? `“${tokens[j]}” comes after “${tokens[i]}”: its score becomes −∞, so its weight is 0.`
      : `${format(scores[i][j])} ÷ √${K[0].length} = ${format(scaled[i][j])}`;
  };
  const weightOf = (i, j) => {
    const { tokens, scaled, weights } = now();
    if (scaled[i][j] === -Infinity) return scaledOf(i, j);
    const exponential = (score) => `e^${factor(score)}`;
    const terms = scaled[i].filter((score) => score !== -Infinity).map(exponential).join(" + ");
    return `weight(${tokens[i]} → ${tokens[j]}) = ${exponential(scaled[i][j])} ÷ (${terms}) = ${format(weights[i][j])}`;
  };
  const outputOf = (i, d) => {
    const { V, weights, output } = now();
    return `${indexed("output", d)} = ${dotInWords(weights[i], V.map((v) => v[d]))} = ${format(output[i][d])}`;
  };
  return { scoreOf, scaledOf, weightOf, outputOf };
}

function build({ start, read, change, reset, line, tell, explain, draw }) {
  const { tokens, Q, V } = read();
  const { scoreOf, scaledOf, weightOf, outputOf } = inWords(read);
  const wide = sceneWidth(), base = 100;
  const now = arcs(tokens.length, [wide, 80], base), past = arcs(tokens.length, [wide, 80], base);
  past.group.classList.add("attn-ghost");
  const numbers = tokens.map((_, j) => drawing("text", { x: now.across(j), y: base + 26, "text-anchor": "middle" }));
  const scene = drawing("svg", { viewBox: `0 0 ${wide} ${base + 34}`, class: "attn-scene", role: "img" },
    past.group, now.group, ...numbers);
  const row = element("p", { className: "attn-outcome", "aria-live": "polite" });
  const query = sentence({ legend: "Query word", labels: tokens, onChoose: (i) => change({ query: i }) });
  const mask = choice({
    legend: "A word sees", labels: ["all words", "itself and earlier words"],
    onChoose: (i) => change({ causal: i === 1 }),
  });
  const legend = element("legend", {});
  const setQueryEntry = (d, number) => {
    const state = read();
    change({ Q: state.Q.with(state.query, state.Q[state.query].with(d, number)) });
  };
  const sliders = Q[0].map((_, d) => slider({
    label: indexed("q", d), min: -6, max: 6, className: "attn-query", onInput: (number) => setQueryEntry(d, number),
  }));

  // A word of the example keeps its vectors; another gets made-up ones.
  const useWords = (own) => {
    const vectors = (name, shift) => own.map((word) =>
      start[name][start.tokens.lastIndexOf(word)] ?? madeUpNumbers(word + shift, start[name][0].length));
    change({
      tokens: own, Q: vectors("Q", "q"), K: vectors("K", "k"), V: vectors("V", "v"),
      query: Math.min(read().query, own.length - 1),
    });
  };

  const cell = (text, onPress) => {
    const node = button("attn-cell", "", onPress);
    explain(node, text);
    return node;
  };
  const asked = () => read().query;
  const steps = tokens.map((_, j) => [scoreOf, scaledOf, weightOf].map((text) => cell(() => text(asked(), j))));
  const outputs = [V[0].map((_, d) => cell(() => outputOf(asked(), d)))];
  const pairs = grid(tokens.length, tokens.length, (i, j) => cell(() => weightOf(i, j), () => change({ query: i })));
  const stepTable = tableOf({
    className: "attn-steps", title: "", cells: steps,
    columns: ["key of", "score", `÷ √${Q[0].length}`, "weight"].map(heading("col")),
    rows: tokens.map(heading("row", "attn-key")),
  });
  const outputTable = tableOf({ className: "attn-output", rows: [heading("row")("output")], cells: outputs });
  const pattern = tableOf({
    title: "The whole pattern: each row sums to 1", cells: pairs,
    columns: tokens.map(heading("col", "attn-key")), rows: tokens.map(heading("row", "attn-query")),
  });
  tell("Point at a number, or move to it with Tab and the arrow keys, to see its sum written out.");

  const words = wordField({
    words: tokens, most: MOST_WORDS, note: "; new words get made-up vectors", onWords: useWords,
  });
  const entries = sliders.map((one) => one.row);
  draw(
    caption("Press a word to let it ask. Point at another to see its row."), scene, query.row, row,
    box("attn-controls", mask.row, element("fieldset", { className: "attn-choice attn-sliders" }, legend, ...entries)),
    folded("All the numbers, each with its sum",
      box("attn-panes", box("attn-scroll", stepTable.table, outputTable.table), box("attn-scroll", pattern.table)), line),
    box("attn-controls", words, reset));

  let seen = []; // which words the one that asks sees
  const glide = gliding(([from, ...weights]) => {
    now.set(from, weights);
    numbers.forEach((number, j) => (number.textContent = seen[j] ? format(weights[j]) : "–"));
  });
  const showRow = (i, { scaled, weights, output }) => {
    const most = largest(weights[i]);
    seen = scaled[i].map((score) => score > -Infinity);
    glide([i, ...weights[i]]);
    row.textContent = `“${tokens[i]}” takes most from “${tokens[most]}” (${format(weights[i][most])}). `
      + `Its output: (${output[i].map((entry) => format(entry)).join(", ")})`;
    const shares = tokens.map((token, j) => `${token} ${format(weights[i][j])}`).join(", ");
    put(scene, { "aria-label": `Arcs from “${tokens[i]}”, as wide as its weights: ${shares}` });
  };
  query.row.querySelectorAll("label").forEach((word, i) => {
    word.addEventListener("pointerenter", () => showRow(i, attend(read())));
    word.addEventListener("pointerleave", () => showRow(read().query, attend(read())));
  });

  return (state, before) => {
    const found = attend(state), { scores, scaled, weights, output } = found;
    query.set(state.query);
    showRow(state.query, found);
    const old = before ?? state;
    past.set(old.query, attend(old).weights[old.query]);
    mask.set(state.causal ? 1 : 0);
    legend.textContent = `Query of “${tokens[state.query]}”`;
    sliders.forEach((one, d) => one.set(state.Q[state.query][d]));
    stepTable.caption.textContent = `“${tokens[state.query]}” asks every key`;
    steps.forEach((cells, j) => {
      [scores, scaled, weights].forEach((rows, step) => (cells[step].textContent = format(rows[state.query][j])));
      cells[2].style.setProperty("--attn-w", weights[state.query][j]);
    });
    outputs[0].forEach((node, d) => (node.textContent = format(output[state.query][d])));
    pairs.forEach((row, i) => row.forEach((node, j) => {
      const masked = scaled[i][j] === -Infinity;
      node.textContent = masked ? "–" : format(weights[i][j]);
      node.style.setProperty("--attn-w", weights[i][j]);
      node.setAttribute("aria-label", `${tokens[i]} to ${tokens[j]}: ${masked ? "masked" : format(weights[i][j])}`);
    }));
    pattern.lines.forEach((row, i) => row.classList.toggle("attn-chosen", i === state.query));
  };
}

const render = figure({
  label: "Attention explorer", names: STATE, build,
  fixed: ({ tokens, Q, V }) => [tokens, Q[0].length, V[0].length],
});

export default { render, attend };
