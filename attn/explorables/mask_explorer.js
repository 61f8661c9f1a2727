// The mask explorer: who may see whom, pair by pair, and what softmax makes of the scores that are left. The reader
// switches single pairs or whole masks, and chooses whether a score is hidden before softmax or a weight after it.

const MOST_MASKED_WORDS = 8;

const MASKS = {
  "all words": () => true,
  "itself and earlier words": (i, j) => j <= i,
  "itself and the word before": (i, j) => j === i || j === i - 1,
  "all but itself": (i, j) => j !== i,
};

function weigh({ scores, mask, after }) {
  if (after) return scores.map((row, i) => softmax(row).map((weight, j) => (mask[i][j] ? weight : 0)));
  return scores.map((row, i) => softmax(row.map((score, j) => (mask[i][j] ? score : -Infinity))));
}

function render({ model, el }) {
  const root = figureRoot(el, "Mask explorer");
  const names = ["tokens", "scores", "mask", "after"];
  const start = readState(model, names);
  const { line, tell, explain } = reporter();
  let state, weights, parts;

  const built = (allowed, n) => Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => allowed(i, j)));
  const chosenMask = () => Object.values(MASKS).findIndex((allowed) =>
    JSON.stringify(built(allowed, state.tokens.length)) === JSON.stringify(state.mask));

  // Two words of the example keep their score; other pairs get a made-up one.
  const useWords = (tokens) => {
    const scores = tokens.map((one) => tokens.map((other) => {
      const [i, j] = [start.tokens.indexOf(one), start.tokens.indexOf(other)];
      return i < 0 || j < 0 ? 3 * madeUpNumbers(`${one} ${other}`, 1)[0] : start.scores[i][j];
    }));
    const allowed = Object.values(MASKS)[chosenMask()] ?? (() => true);
    change(model, { tokens, scores, mask: built(allowed, tokens.length) });
  };

  const cellText = (i, j) => state.mask[i][j]
    ? `“${state.tokens[i]}” may see “${state.tokens[j]}”: score ${format(state.scores[i][j])}, weight ${format(weights[i][j])}. Press to hide it.`
    : `“${state.tokens[j]}” is hidden from “${state.tokens[i]}”. Press to show it.`;

  const build = () => {
    const { tokens } = state;
    const masks = choice({
      legend: "A word may see", labels: Object.keys(MASKS),
      onChoose: (i) => change(model, { mask: built(Object.values(MASKS)[i], tokens.length) }),
    });
    const moment = choice({
      legend: "Hidden by", labels: ["−∞ before softmax", "zero after softmax"],
      onChoose: (i) => change(model, { after: i === 1 }),
    });
    const table = element("table", { className: "attn-table attn-pattern" });
    table.createCaption().textContent = "Weights; press a cell to hide or show a word (column) to a word (row)";
    table.createTHead().append(element("tr", {}, element("td", {}),
      ...tokens.map((token) => element("th", { scope: "col", className: "attn-key" }, token)), element("th", { scope: "col" }, "sum")));
    const cells = tokens.map((_, i) => tokens.map((_, j) => {
      const button = element("button", { type: "button", className: "attn-cell" });
      explain(button, () => cellText(i, j));
      button.addEventListener("click", () => {
        change(model, { mask: state.mask.map((row, r) => row.map((seen, c) => (r === i && c === j ? !seen : seen))) });
        queueMicrotask(() => tell(cellText(i, j)));
      });
      return button;
    }));
    const sums = tokens.map(() => element("td", { className: "attn-sum" }));
    table.append(element("tbody", {}, ...tokens.map((token, i) => element("tr", {},
      element("th", { scope: "row", className: "attn-query" }, token),
      ...cells[i].map((button) => element("td", {}, button)), sums[i]))));
    moveByArrows(table);
    const words = wordField({ most: MOST_MASKED_WORDS, note: "; new pairs get made-up scores", onWords: useWords });
    words.set(tokens);
    root.replaceChildren(
      element("div", { className: "attn-controls" }, masks.row, moment.row),
      element("div", { className: "attn-panes" }, element("div", { className: "attn-scroll" }, table)), line,
      element("div", { className: "attn-controls" }, words.row, resetButton(model, start)));
    tell("Point at a cell, or move to it with Tab and the arrow keys.");
    parts = { masks, moment, cells, sums };
  };

  const update = () => {
    const before = state?.tokens;
    state = readState(model, names);
    weights = weigh(state);
    if (before?.join("\n") !== state.tokens.join("\n")) build();
    parts.masks.set(chosenMask());
    parts.moment.set(state.after ? 1 : 0);
    parts.cells.forEach((row, i) => row.forEach((button, j) => {
      const seen = state.mask[i][j];
      button.textContent = seen ? format(weights[i][j]) : "–";
      button.style.setProperty("--attn-w", weights[i][j]);
      button.classList.toggle("attn-hidden", !seen);
      button.setAttribute("aria-label", `${state.tokens[i]} to ${state.tokens[j]}: ${seen ? format(weights[i][j]) : "hidden"}`);
    }));
    parts.sums.forEach((sum, i) => (sum.textContent = format(weights[i].reduce((total, weight) => total + weight, 0))));
  };

  return follow(model, names, update);
}

export default { render, weigh };
