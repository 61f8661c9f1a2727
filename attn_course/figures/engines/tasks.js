// What the trainer trains on: rows of tokens, what is wanted where (-1: nothing), and rules for where a place looks
// (-1: nowhere).

import { defaultRng } from "./random.js";

const range = (n, one = (i) => i) => Array.from({ length: n }, (_, i) => one(i));
const batchOf = (rows) => {
  const n = rows[0].tokens.length, [tokens, targets] = [0, 0].map(() => new Int32Array(rows.length * n));
  rows.forEach((row, r) => [tokens.set(row.tokens, r * n), targets.set(row.targets, r * n)]);
  return { rows: rows.length, n, tokens, targets };
};
const evenly = (list, count) => range(count, (i) => list[Math.floor((i * list.length) / count)]);

// Of the letter at i in the row that starts at `start`: where it stood last.
const lastOf = (tokens, start, i) => {
  let j = i - 1;
  while (j >= 0 && tokens[start + j] !== tokens[start + i]) j--;
  return j;
};
const RULES = {
  "one back": (tokens, start, i) => i - 1,
  itself: (tokens, start, i) => i,
  "the first": () => 0,
};

function repeatedRow(rng, period, length) {
  const keys = range(20, rng.random);
  const round = range(20).sort((i, j) => keys[i] - keys[j]);
  const row = range(length, (i) => round[i % period]);
  const targets = row.slice(1).map((next, i) => (i + 1 > period ? next : -1));
  return { tokens: row.slice(0, -1), targets, whole: row };
}

// As attn_course.corpora.repeated: all periods are drawn first.
function repeatedRows(rng, count, length = 20) {
  const periods = range(count, () => 5 + rng.below(Math.floor(length / 2) - 4));
  return periods.map((period) => repeatedRow(rng, period, length));
}

// As attn_course.corpora.fortunes. All words that come are to be told, but what is asked of new sentences is "she" or
// "he", and how it felt.
const PEOPLE = { Anna: "she", Mary: "she", John: "he", Paul: "he" };
const VERBS = { found: "smiled", shared: "smiled", lost: "wept", wasted: "wept" };
const THINGS = "gold bread wine salt".split(" ");
const FORTUNES = [...Object.keys({ ...PEOPLE, ...VERBS }), ...THINGS, ..."and she he smiled wept .".split(" ")];
const AND = 3, NAME = 0, SHE = 4, VERB = 1; // places

function fortunes(rng) {
  const rows = rng.shuffle(Object.keys(PEOPLE).flatMap((who) => Object.keys(VERBS).flatMap((verb) =>
    THINGS.map((thing) => `${who} ${verb} ${thing} and ${PEOPLE[who]} ${VERBS[verb]} .`.split(" ")))));
  const part = (some, asked) => some.map((words) => {
    const whole = words.map((word) => FORTUNES.indexOf(word));
    return { tokens: whole.slice(0, -1), targets: whole.slice(1).map((next, i) => (asked(i) ? next : -1)), whole };
  });
  return { train: part(rows.slice(16), () => true), test: part(rows.slice(0, 16), (i) => i === AND || i === SHE) };
}

const TASKS = {
  fortunes: {
    words: FORTUNES, size: 16, n: 6,
    rules: {
      ...RULES,
      "from “and” to the name": (tokens, start, i) => (i === AND ? NAME : -1),
      "from “she” or “he” to the verb": (tokens, start, i) => (i === SHE ? VERB : -1),
    },
    scores: ["from “and” to the name", "from “she” or “he” to the verb"],
    edges: {
      "the name from “and”": (layer, i, j) => i === AND && j === NAME,
      "the verb from “she” or “he”": (layer, i, j) => i === SHE && j === VERB,
    },
    open: () => {
      const { train, test } = fortunes(defaultRng(0));
      return { drawBatch: (rng) => range(16, () => rng.below(train.length)).map((i) => train[i]), test, example: test[0] };
    },
  },
  copying: {
    words: [..."ABCDEFGHIJKLMNOPQRST"], size: 32, n: 19,
    rules: {
      ...RULES,
      "the same letter": lastOf,
      "what to copy": (tokens, start, i) => {
        const last = lastOf(tokens, start, i);
        return last < 0 ? -1 : last + 1;
      },
    },
    scores: ["one back", "what to copy"],
    edges: {
      "one back in layer 1": (layer, i, j) => layer === 1 && j === i - 1,
      "two back in layer 1": (layer, i, j) => layer === 1 && j === i - 2,
      "itself in layer 1": (layer, i, j) => layer === 1 && j === i,
      "one back in all layers": (layer, i, j) => j === i - 1,
    },
    open: () => ({
      drawBatch: (rng) => repeatedRows(rng, 32),
      test: repeatedRows(defaultRng(99), 200),
      example: repeatedRows(defaultRng(3), 1, 14)[0],
    }),
  },
};

export { batchOf, evenly, fortunes, range, repeatedRows, TASKS };
