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

// Which of the masks this is, -1 for none.
function whichMask(mask) {
  return Object.values(MASKS).findIndex((allowed) =>
    mask.every((row, i) => row.every((seen, j) => seen === allowed(i, j))));
}

function build({ start, read, change, reset, line, tell, explain, draw }) {
  const { tokens } = read();
  const n = tokens.length;
  const masks = choice({
    legend: "A word may see", labels: Object.keys(MASKS),
    onChoose: (i) => change({ mask: grid(n, n, Object.values(MASKS)[i]) }),
  });
  const moment = choice({
    legend: "Hidden by", labels: ["−∞ before softmax", "zero after softmax"],
    onChoose: (i) => change({ after: i === 1 }),
  });

  // Two words of the example keep their score; other pairs get a made-up one.
  const useWords = (own) => {
    const scores = own.map((one) => own.map((other) => {
      const [i, j] = [start.tokens.indexOf(one), start.tokens.indexOf(other)];
      return i < 0 || j < 0 ? 3 * madeUpNumbers(`${one} ${other}`, 1)[0] : start.scores[i][j];
    }));
    const allowed = Object.values(MASKS)[whichMask(read().mask)] ?? MASKS["all words"];
    change({ tokens: own, scores, mask: grid(own.length, own.length, allowed) });
  };

  const cellText = (i, j) => {
    const state = read();
    if (!state.mask[i][j]) return `“${tokens[j]}” is hidden from “${tokens[i]}”. Press to show it.`;
    const numbers = `score ${format(state.scores[i][j])}, weight ${format(weigh(state)[i][j])}`;
    return `“${tokens[i]}” may see “${tokens[j]}”: ${numbers}. Press to hide it.`;
  };
  const cells = grid(n, n, (i, j) => {
    const cell = button("attn-cell", "", () => {
      const { mask } = read();
      change({ mask: mask.with(i, mask[i].with(j, !mask[i][j])) });
    });
    explain(cell, () => cellText(i, j));
    return cell;
  });
  const sums = tokens.map(() => box("attn-sum"));
  const { table } = tableOf({
    title: "Weights; press a cell to hide or show a word (column) to a word (row)",
    columns: [...tokens.map(heading("col", "attn-key")), heading("col")("sum")],
    rows: tokens.map(heading("row", "attn-query")), cells: cells.map((row, i) => [...row, sums[i]]),
  });
  tell("Point at a cell, or move to it with Tab and the arrow keys.");

  const words = wordField({
    words: tokens, most: MOST_MASKED_WORDS, note: "; new pairs get made-up scores", onWords: useWords,
  });
  draw(
    box("attn-controls", masks.row, moment.row), box("attn-panes", box("attn-scroll", table)), line,
    box("attn-controls", words, reset));

  return ({ mask, after, scores }) => {
    const weights = weigh({ mask, after, scores });
    masks.set(whichMask(mask));
    moment.set(after ? 1 : 0);
    cells.forEach((row, i) => row.forEach((cell, j) => {
      const shown = mask[i][j] ? format(weights[i][j]) : "–";
      cell.textContent = shown;
      cell.style.setProperty("--attn-w", weights[i][j]);
      cell.classList.toggle("attn-hidden", !mask[i][j]);
      cell.setAttribute("aria-label", `${tokens[i]} to ${tokens[j]}: ${mask[i][j] ? shown : "hidden"}`);
    }));
    sums.forEach((cell, i) => (cell.textContent = format(sum(weights[i]))));
  };
}

const render = figure({
  label: "Mask explorer", names: ["tokens", "scores", "mask", "after"], build,
  fixed: ({ tokens }) => tokens,
});

export default { render, weigh };
