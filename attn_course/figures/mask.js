// The mask explorer: who may see whom, pair by pair, and what softmax makes of the scores that are left. The reader
// presses single pairs, drags the edge of a staircase or chooses a mask, and whether a score is hidden before softmax or a
// weight after it.

import {
  box, button, choice, drawing, figure, format, grid, handle, heading, put, softmax, sum, tableOf, wordField,
} from "./common.js";

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

// Each word sees the words up to so many places ahead of its own.
function staircase(n, ahead) {
  return grid(n, n, (i, j) => j <= i + ahead);
}

// How many places ahead of each word a staircase goes, or null for a mask of another form.
function aheadIn(mask) {
  const n = mask.length, ahead = mask[0].filter((seen) => seen).length - 1;
  const steps = staircase(n, ahead);
  return mask.every((row, i) => row.every((seen, j) => seen === steps[i][j])) ? ahead : null;
}

function stairsInWords(ahead, n) {
  if (ahead === n - 1) return "all words";
  if (ahead < 1) return ahead < 0 ? "earlier words only" : "itself and earlier words";
  return `itself, earlier words and the next ${ahead === 1 ? "word" : `${ahead} words`}`;
}

// A number between 0 and 1 that depends on the letters of a text alone, so that the same text always gets the same one.
function madeUp(text) {
  let state = 2166136261;
  for (const letter of text) state = Math.imul(state ^ letter.codePointAt(0), 16777619);
  state = Math.imul(state ^ (state >>> 15), 2246822519) + 374761393;
  return Math.round(((state >>> 8) / 2 ** 24) * 100) / 100;
}

// The edge of a staircase over the cells of a table, and the handle in its first row that moves all of it.
function drawEdge(cells, table, onAhead) {
  const n = cells.length;
  const line = drawing("path", { class: "attn-edge" });
  const middles = () => cells[0].map(({ parentNode }) => parentNode.offsetLeft + parentNode.offsetWidth / 2);
  let ahead = null;
  const go = (to) => onAhead(Math.max(-1, Math.min(n - 1, to)));
  const grip = handle({
    label: "edge of the mask",
    onMove: ([x]) => go(middles().filter((middle) => middle < x).length - 1),
    onStep: ([right, up]) => go(ahead + right + up),
  }, drawing("rect", { x: -5, y: -13, width: 10, height: 26, rx: 5, class: "attn-knob" }));
  put(grip.group, { "aria-valuemin": -1, "aria-valuemax": n - 1 });
  put(grip.group.firstChild, { r: 16 }); // what is left of the cells beside it can be pressed
  const scene = drawing("svg", { class: "attn-over" }, line, grip.group);
  const place = () => {
    put(scene, { visibility: ahead === null ? "hidden" : "visible" });
    if (ahead === null) return;
    const after = (i) => {
      const j = Math.min(n - 1, i + ahead), { offsetLeft, offsetWidth } = cells[0][Math.max(0, j)].parentNode;
      return j < 0 ? offsetLeft - 1 : offsetLeft + offsetWidth + 1;
    };
    const rows = cells.map(([{ parentNode }]) => [parentNode.offsetTop - 1, parentNode.offsetTop + parentNode.offsetHeight + 1]);
    put(line, { d: rows.map(([top, bottom], i) => `${i ? "L" : "M"}${after(i)},${top}V${bottom}`).join("") });
    grip.set([after(0), (rows[0][0] + rows[0][1]) / 2], ahead, stairsInWords(ahead, n));
  };
  new ResizeObserver(place).observe(table); // it has no size while what it stands in is hidden
  const set = (to) => {
    ahead = to;
    place();
  };
  return { scene, set };
}

function build({ start, read, change, reset, line, tell, explain, draw }) {
  const { tokens } = read();
  const n = tokens.length;
  const masks = choice({
    legend: "A word may see", labels: Object.keys(MASKS),
    onChoose: (i) => {
      const [allows, allowed] = Object.entries(MASKS)[i];
      change({ mask: grid(n, n, allowed) });
      tell(`A word may see ${allows}.`);
    },
  });
  const moment = choice({
    legend: "Hidden by", labels: ["−∞ before softmax", "zero after softmax"],
    onChoose: (i) => change({ after: i === 1 }),
  });

  // Two words of the example keep their score; other pairs get a made-up one.
  const useWords = (own) => {
    const scores = own.map((one) => own.map((other) => {
      const [i, j] = [start.tokens.indexOf(one), start.tokens.indexOf(other)];
      return i < 0 || j < 0 ? 3 * madeUp(`${one} ${other}`) : start.scores[i][j];
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
  const sums = tokens.map(() => box("attn-cell"));
  const { table } = tableOf({
    className: "attn-pattern attn-upright", title: "Weights; press a cell to hide or show a word (column) to a word (row)",
    columns: [...tokens.map(heading("col", "attn-key")), heading("col")("sum")],
    rows: tokens.map(heading("row", "attn-query")), cells: cells.map((row, i) => [...row, sums[i]]),
  });
  const edge = drawEdge(cells, table, (ahead) => {
    change({ mask: staircase(n, ahead) });
    const blind = ahead < 0 ? ` “${tokens[0]}” sees no word, so its weights are all zero.` : "";
    tell(`A word may see ${stairsInWords(ahead, n)}.${blind}`);
  });
  tell("Drag the edge of the mask, or press a cell. Point at a cell, or move to it with Tab and the arrow keys.");

  const words = wordField({
    words: tokens, most: MOST_MASKED_WORDS, note: "; new pairs get made-up scores", onWords: useWords,
  });
  draw(
    box("attn-controls", masks.row, moment.row), box("attn-scroll", box("attn-stack", table, edge.scene)), line,
    box("attn-controls", words, reset));

  return ({ mask, after, scores }, before) => {
    const weights = weigh({ mask, after, scores }), old = before ? weigh(before) : weights;
    masks.set(whichMask(mask));
    moment.set(after ? 1 : 0);
    cells.forEach((row, i) => row.forEach((cell, j) => {
      const shown = mask[i][j] ? format(weights[i][j]) : "–";
      cell.textContent = shown;
      cell.style.setProperty("--attn-w", weights[i][j]);
      cell.style.setProperty("--attn-was", old[i][j]);
      cell.classList.toggle("attn-moved", Math.abs(weights[i][j] - old[i][j]) >= 0.005);
      cell.classList.toggle("attn-hidden", !mask[i][j]);
      cell.setAttribute("aria-label", `${tokens[i]} to ${tokens[j]}: ${mask[i][j] ? shown : "hidden"}`);
    }));
    sums.forEach((cell, i) => {
      cell.textContent = format(sum(weights[i]));
      cell.style.setProperty("--attn-w", sum(weights[i]));
    });
    edge.set(aheadIn(mask));
  };
}

const render = figure({ label: "Mask explorer", build, fixed: ({ tokens }) => tokens });

export default { render, weigh, staircase, aheadIn };
