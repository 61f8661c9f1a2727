// The heads explorer: several heads on one sentence. The reader chooses a head and a word, and sees that head's pattern
// beside what every head adds to the word.

const MOST_HEADED_WORDS = 8;

function product(A, B) {
  const columns = B[0].map((_, j) => B.map((row) => row[j]));
  return A.map((row) => columns.map((column) => dot(row, column)));
}

// As attn.multi_head_attention, each head's proposal kept apart. A word that is not known has no features.
function attendHeads({ tokens, known, features, W_Q, W_K, W_V, W_O }) {
  const X = tokens.map((word) => features[known.indexOf(word)] ?? features[0].map(() => 0));
  const weights = W_Q.map((_, h) => {
    const K = product(X, W_K[h]);
    return product(X, W_Q[h]).map((q) => softmax(K.map((k) => dot(q, k) / Math.sqrt(q.length))));
  });
  const updates = W_V.map((_, h) => product(product(weights[h], product(X, W_V[h])), W_O[h]));
  const total = X.map((row, i) => row.map((_, d) => updates.reduce((sum, update) => sum + update[i][d], 0)));
  return { weights, updates, total };
}

function render({ model, el }) {
  const root = figureRoot(el, "Heads explorer");
  const names = ["tokens", "known", "features", "W_Q", "W_K", "W_V", "W_O", "heads", "axes", "head", "query"];
  const start = readState(model, names);
  const { line, tell } = reporter();
  let state, drawn, parts;

  const build = () => {
    const { tokens, heads, axes, known, W_O } = state;
    const written = axes.map((_, d) => d).filter((d) => W_O.some((rows) => rows.some((row) => row[d] !== 0)));
    const head = choice({ legend: "Head", labels: heads, onChoose: (i) => change(model, { head: i }) });
    const query = choice({ legend: "Word", labels: tokens, onChoose: (i) => change(model, { query: i }) });

    const pattern = element("table", { className: "attn-table attn-pattern" });
    const title = pattern.createCaption();
    pattern.createTHead().append(element("tr", {}, element("td", {}),
      ...tokens.map((token) => element("th", { scope: "col", className: "attn-key" }, token))));
    const cells = tokens.map(() => tokens.map(() => element("div", { className: "attn-cell" })));
    const rows = tokens.map((token, i) => element("tr", {}, element("th", { scope: "row", className: "attn-query" }, token),
      ...cells[i].map((cell) => element("td", {}, cell))));
    pattern.append(element("tbody", {}, ...rows));

    const shares = element("table", { className: "attn-table attn-pattern" });
    const sharesTitle = shares.createCaption();
    shares.createTHead().append(element("tr", {}, element("td", {}),
      ...written.map((d) => element("th", { scope: "col", className: "attn-axis-name" }, axes[d]))));
    const shareCells = [...heads, "ΔE"].map(() => written.map(() => element("div", { className: "attn-cell" })));
    const shareRows = [...heads, "ΔE"].map((name, h) => element("tr", {}, element("th", { scope: "row" }, name),
      ...shareCells[h].map((cell) => element("td", {}, cell))));
    shares.append(element("tbody", {}, ...shareRows));

    const words = wordField({
      most: MOST_HEADED_WORDS, note: `; these mean something here: ${known.join(", ")}`,
      onWords: (own) => change(model, { tokens: own, query: own.length - 1 }),
    });
    words.set(tokens);
    const scroll = (table, label) => element("div", { className: "attn-scroll", role: "group", tabIndex: 0, "aria-label": label }, table);
    root.replaceChildren(
      element("div", { className: "attn-controls" }, head.row, query.row),
      element("div", { className: "attn-panes" }, scroll(pattern, "Pattern"), scroll(shares, "Update")), line,
      element("div", { className: "attn-controls" }, words.row, resetButton(model, start)));
    parts = { head, query, title, cells, rows, sharesTitle, shareCells, shareRows, written };
  };

  const update = () => {
    state = readState(model, names);
    const fixed = JSON.stringify([state.tokens, state.known, state.features, state.heads, state.axes, state.W_O]);
    if (fixed !== drawn) build();
    drawn = fixed;
    const { tokens, heads, axes, head, query } = state;
    const { weights, updates, total } = attendHeads(state);
    parts.head.set(head);
    parts.query.set(query);
    parts.title.textContent = `Pattern of the head “${heads[head]}”`;
    parts.cells.forEach((row, i) => row.forEach((cell, j) => {
      cell.textContent = format(weights[head][i][j]);
      cell.style.setProperty("--attn-w", weights[head][i][j]);
    }));
    parts.rows.forEach((row, i) => row.classList.toggle("attn-chosen", i === query));
    parts.sharesTitle.textContent = `What each head adds to “${tokens[query]}”`;
    [...updates, total].forEach((one, h) => parts.written.forEach((d, column) => {
      const cell = parts.shareCells[h][column];
      cell.textContent = format(one[query][d]);
      cell.style.setProperty("--attn-w", Math.min(1, Math.abs(one[query][d])));
    }));
    parts.shareRows.forEach((row, h) => row.classList.toggle("attn-chosen", h === head));
    const most = weights[head][query].indexOf(Math.max(...weights[head][query]));
    const added = parts.written.filter((d) => Math.abs(total[query][d]) >= 0.005).map((d) => `${axes[d]} ${format(total[query][d])}`);
    tell(`In the head “${heads[head]}”, “${tokens[query]}” looks most at “${tokens[most]}” (${format(weights[head][query][most])}). `
      + `All heads together add ${added.length ? added.join(", ") : "nothing"}.`);
  };

  return follow(model, names, update);
}

export default { render, attendHeads };
