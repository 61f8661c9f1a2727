// The heads explorer: several heads on one sentence. The reader chooses a head and a word, and sees that head's pattern
// beside what every head adds to the word.

const MOST_HEADED_WORDS = 8;

function product(A, B) {
  const columns = B[0].map((_, j) => B.map((row) => row[j]));
  return A.map((row) => columns.map((column) => dot(row, column)));
}

// As attn.multi_head_attention, each head's proposal kept apart. A word that is not known has no features.
function attendHeads({ tokens, known, W_Q, W_K, W_V, W_O }) {
  const nothing = W_O[0][0].map(() => 0);
  const X = tokens.map((word) => (Object.hasOwn(known, word) ? known[word] : nothing));
  const weights = W_Q.map((_, h) => {
    const K = product(X, W_K[h]);
    return product(X, W_Q[h]).map((q) => softmax(K.map((k) => dot(q, k) / Math.sqrt(q.length))));
  });
  const updates = W_V.map((_, h) => product(product(weights[h], product(X, W_V[h])), W_O[h]));
  const total = X.map((row, i) => row.map((_, d) => sum(updates.map((update) => update[i][d]))));
  return { weights, updates, total };
}

function build({ read, change, reset, line, tell, draw }) {
  const { tokens, heads, axes, known, W_O } = read();
  const written = axes.map((_, d) => d).filter((d) => W_O.some((rows) => rows.some((row) => row[d] !== 0)));
  const head = choice({ legend: "Head", labels: heads, onChoose: (i) => change({ head: i }) });
  const query = choice({ legend: "Word", labels: tokens, onChoose: (i) => change({ query: i }) });
  const shown = grid(tokens.length, tokens.length);
  const pattern = tableOf({
    title: "", columns: tokens.map(heading("col", "attn-key")), rows: tokens.map(heading("row", "attn-query")),
    cells: shown,
  });
  const added = grid(heads.length + 1, written.length);
  const shares = tableOf({
    title: "", columns: written.map((d) => heading("col", "attn-axis-name")(axes[d])),
    rows: [...heads, "ΔE"].map(heading("row")), cells: added,
  });

  const words = wordField({
    words: tokens, most: MOST_HEADED_WORDS, note: `; these mean something here: ${Object.keys(known).join(", ")}`,
    onWords: (own) => change({ tokens: own, query: own.length - 1 }),
  });
  draw(
    box("attn-controls", head.row, query.row),
    box("attn-panes", scrolling("Pattern", pattern.table), scrolling("Update", shares.table)), line,
    box("attn-controls", words, reset));

  return (state) => {
    const { weights, updates, total } = attendHeads(state);
    const [name, word] = [heads[state.head], tokens[state.query]];
    const row = weights[state.head][state.query], sums = total[state.query];
    head.set(state.head);
    query.set(state.query);
    pattern.caption.textContent = `Pattern of the head “${name}”`;
    fill(shown, weights[state.head]);
    pattern.lines.forEach((one, i) => one.classList.toggle("attn-chosen", i === state.query));
    shares.caption.textContent = `What each head adds to “${word}”`;
    fill(added, [...updates, total].map((one) => written.map((d) => one[state.query][d])), Math.abs);
    shares.lines.forEach((one, h) => one.classList.toggle("attn-chosen", h === state.head));
    const most = largest(row);
    const moved = written.filter((d) => Math.abs(sums[d]) >= 0.005).map((d) => `${axes[d]} ${format(sums[d])}`);
    const even = row[most] - Math.min(...row) < 0.005;
    tell(`In the head “${name}”, “${word}” looks `
      + `${even ? `at all words alike (${format(row[most])} each)` : `most at “${tokens[most]}” (${format(row[most])})`}. `
      + `All heads together add ${moved.length ? moved.join(", ") : "nothing"}.`);
  };
}

const render = figure({
  label: "Heads explorer", build,
  names: ["tokens", "known", "W_Q", "W_K", "W_V", "W_O", "heads", "axes", "head", "query"],
  fixed: ({ tokens, known, heads, axes, W_O }) => [tokens, known, heads, axes, W_O],
});

export default { render, attendHeads };
