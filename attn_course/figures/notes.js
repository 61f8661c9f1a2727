// The notes as a square: pairs of a key and a value are written into one matrix, by one of three rules. The reader writes
// one after the other, and asks for each how well it is still read.

import {
  box, button, caption, choice, cosine, countedBar, dot, drawing, figure, format, gliding, largest, put, slider,
  softmax, sum, tableOf,
} from "./common.js";

const GATE = 0.8, SHARP = 40; // what the notes are multiplied by under that rule, and the scores of attention
const RULES = {
  sum: "Each pair is added.",
  "delta rule": "Only the difference to what is read is added.",
  gate: `The notes are multiplied by ${GATE} before each pair.`,
};

// What the notes give for a key.
function readNotes(notes, key) {
  return notes[0].map((_, j) => sum(key.map((entry, i) => entry * notes[i][j])));
}

// The notes after the pairs that are written.
function writeNotes({ K, V, written, rule }) {
  const empty = K[0].map(() => V[0].map(() => 0)), kept = rule === "gate" ? GATE : 1;
  return K.slice(0, written).reduce((notes, key, pair) => {
    const there = readNotes(notes, key), value = V[pair];
    const news = rule === "delta rule" ? value.map((entry, j) => entry - there[j]) : value;
    return notes.map((row, i) => row.map((entry, j) => kept * entry + key[i] * news[j]));
  }, empty);
}

// For each pair written, the cosine of what is read for its key with its value, and which of the values written is nearest:
// in the notes, and in attention over the pairs themselves.
function recall(state) {
  const [K, V] = [state.K, state.V].map((rows) => rows.slice(0, state.written)), notes = writeNotes(state);
  const attend = (key) => readNotes(V, softmax(K.map((one) => SHARP * dot(one, key))));
  const [inNotes, inAttention] = [(key) => readNotes(notes, key), attend].map((read) => K.map((key, pair) => {
    const cosines = V.map((value) => cosine(read(key), value));
    return { cosine: cosines[pair], nearest: largest(cosines) };
  }));
  return { notes, inNotes, inAttention };
}

const rightOf = (found) => found.filter(({ nearest }, pair) => nearest === pair).length;
const SIDE = 150, LEFT = 34, TOP = 20, REACH = 2; // of the square and its place; the number that has all of its colour

function build({ read, change, reset, line, tell, draw }) {
  const { K, V } = read(), [n, rows, columns] = [K.length, K[0].length, V[0].length];
  const cell = SIDE / Math.max(rows, columns), low = TOP + rows * cell + 8, pairs = K.map((_, pair) => pair);
  const patch = (x, y) => drawing("rect", { x: x + 0.5, y: y + 0.5, width: cell - 1, height: cell - 1 });
  const across = V[0].map((_, j) => LEFT + j * cell), down = K[0].map((_, i) => TOP + i * cell);
  const patches = [...down.flatMap((y) => across.map((x) => patch(x, y))), ...down.map((y) => patch(4, y)),
    ...across.map((x) => patch(x, low)), ...across.map((x) => patch(x, low + cell))];
  const beside = LEFT + columns * cell + 8;
  const text = (x, y, className, words = "") => drawing("text", { x, y, class: className }, words);
  const asker = text(0, 12, "attn-key-label"), given = text(beside, low + cell / 2 + 5, "attn-mark", "what is read");
  const own = text(beside, low + cell * 1.5 + 5, "attn-value-label");
  const scene = drawing("svg", { viewBox: `0 0 340 ${low + 2 * cell + 2}`, class: "attn-scene attn-modest", role: "img" },
    drawing("rect", { x: LEFT - 1, y: TOP - 1, width: columns * cell + 2, height: rows * cell + 2, class: "attn-frame" }),
    ...patches, asker, given, own);

  const cells = pairs.map((pair) => button("attn-cell", "", () => change({ asked: pair })));
  const { table } = tableOf({
    className: "attn-upright attn-pairs", title: "Press a pair to read it; bar: its cosine",
    cells: Array.from({ length: Math.ceil(n / rows) }, (_, i) => cells.slice(i * rows, (i + 1) * rows)),
  });
  const tallies = ["the notes", "attention"].map(countedBar);
  const rules = Object.keys(RULES);
  const way = choice({ legend: "How a pair is written", labels: rules, onChoose: (i) => change({ rule: rules[i] }) });
  const count = slider({
    label: "pairs written", min: 0, max: n, step: 1, show: String, onInput: (written) => change({ written }),
  });
  const next = button("attn-button", "Write the next pair", () => change({ written: Math.min(n, read().written + 1) }));
  draw(
    box("attn-panes",
      box("attn-beside", scene),
      box("attn-beside", table, caption("Read right, and the numbers kept for it"), ...tallies.map(({ row }) => row))),
    box("attn-controls", way.row, box("attn-sliders", count.row)), box("attn-controls", next, reset), line);

  const glide = gliding((numbers) => patches.forEach((one, i) => put(one, {
    class: numbers[i] < 0 ? "attn-falls" : "attn-rises", "fill-opacity": Math.min(1, Math.abs(numbers[i]) / REACH),
  })));

  return (state, before) => {
    const { written, rule, asked } = state, { notes, inNotes, inAttention } = recall(state);
    const found = readNotes(notes, K[asked]), old = before && recall(before).inNotes, name = `pair ${asked + 1}`;
    glide([...notes.flat(), ...K[asked], ...found, ...V[asked]]);
    asker.textContent = `key of ${name}`;
    own.textContent = `value of ${name}`;
    cells.forEach((one, pair) => {
      const { cosine: share = 0, nearest } = inNotes[pair] ?? {}, was = old?.[pair]?.cosine ?? share;
      one.textContent = pair < written ? `${pair + 1} ${nearest === pair ? "✓" : "✗"}` : pair + 1;
      one.setAttribute("aria-label", `Pair ${one.textContent}, ${pair < written ? `cosine ${format(share)}` : "not written"}`);
      one.setAttribute("aria-pressed", pair === asked);
      one.classList.toggle("attn-moved", Math.abs(was - share) >= 0.005);
      one.style.setProperty("--attn-w", Math.max(0, share));
      one.style.setProperty("--attn-was", Math.max(0, was));
    });
    [[inNotes, rows * columns], [inAttention, written * (rows + columns)]].forEach(([read, kept], i) =>
      tallies[i].set(rightOf(read) / (written || 1), `${rightOf(read)} of ${written} from ${kept}`));
    way.set(rules.indexOf(rule));
    count.set(written);
    const one = inNotes[asked];
    const told = !one ? "is not written: what its key reads is not its value."
      : `is read with cosine ${format(one.cosine)} to its value; `
        + (one.nearest === asked ? "no other is nearer ✓." : `that of pair ${one.nearest + 1} is nearer ✗.`);
    scene.setAttribute("aria-label", `The notes, ${rows} by ${columns} numbers. The key of ${name} reads `
      + `${found.map((number) => format(number, 1)).join(", ")}; its value is ${V[asked].map((number) => format(number, 1)).join(", ")}`);
    tell(`${RULES[rule]} Pair ${asked + 1} ${told}`);
  };
}

const render = figure({ label: "The notes as a square", build, fixed: ({ K, V }) => [K, V] });

export default { render, writeNotes, readNotes, recall };
