// One sentence, all the way: a small transformer as a loom, from words to the next word's probabilities, and the error on
// its way back. A thread for each word runs upward, vectors are strips of coloured cells on it, weights are ribbons
// between threads. A strip opens its numbers: each shows the sum that made it, lights what went in, and can be changed.

import {
  box, button, caption, choice, chooser, dot, dotInWords, element, factor, figure, folded, format, grid, heading, largest, onceSeen, put, sending, slider, sum, tableOf, wordField,
} from "./common.js";
import {
  at, KINDS, matrixFrom, matrixOf, passedOn, rowOf, runBack, runMachine, spread, transposed, 
} from "./engines/machine.js";
import { lengthsOf, loomOf, mostOf, range, shownAt, stageOf, timesOf } from "./loom.js";

const WIDEST = 8; // an array of more columns is shown turned over

const AXES = { // what the tables call them
  token: "words", key: "words asked", word: "vocabulary", entry: "d_model", "of the head": "d_k", unit: "d_ff", "": "1",
};

const CHAPTERS = {
  embedding: 1, positions: 8, norm: 9, queries: 2, keys: 2, scores: 4, mask: 5, weights: 3, values: 6, mixtures: 6, update: 7,
  attended: 6, mlp: 9, stream: 9, logits: 9, probabilities: 9,
};

// The steps of a run, in order: the part of the model, what the step is called and does, and the arrays it shows, each
// as [node, axis of its rows, axis of its columns]; the last of these is what the step makes.
function stepsOf(nodes, { n_layers: nLayers }, head) {
  const named = (name) => nodes.find((node) => node.name === name);
  const shown = (names, ...axes) => [named(names), ...axes];
  const norm = (into, path, out) => [
    shown(into, "token", "entry"), shown(`${path} / gain`, "", "entry"), shown(`${path} / bias`, "", "entry"),
    shown(out, "token", "entry")];
  const steps = [];
  const step = (part, kind, title, text, shows) => steps.push({ part, kind, title, text, shows });

  step("words in", "embedding", "Embedding", "Each word fetches its row of a learned table.",
    [shown("embedding", "word", "entry"), shown("embeddings", "token", "entry")]);
  step("words in", "positions", "Positions", "A learned row for each place is added, so that the order counts.",
    [shown("embeddings", "token", "entry"), shown("positions of the tokens", "token", "entry"), shown("stream", "token", "entry")]);
  let stream = "stream";
  for (let layer = 1; layer <= nLayers; layer++) {
    const [prefix, own] = [`layer ${layer}`, `layer ${layer}, head ${head + 1}: `];
    const matrix = (letter) => `${prefix} / attention / W_${letter} / ${head}`;
    const normal = `${prefix}: normalised`;
    const heads = nodes.filter(({ name }) => name.startsWith(`${prefix}, head`) && name.endsWith("update"));
    const attention = nLayers > 1 ? `attention, layer ${layer}` : "attention";
    const mlp = nLayers > 1 ? `MLP, layer ${layer}` : "MLP";
    const project = (letter, kind, text) => step(attention, kind, `The ${kind} of head ${head + 1}`, text,
      [shown(normal, "token", "entry"), shown(matrix(letter), "entry", "of the head"), shown(own + letter, "token", "of the head")]);

    step(attention, "norm", "Normalise", "Each row is brought to mean 0 and deviation 1, then stretched and shifted by learned numbers.",
      norm(stream, `${prefix} / attention / norm`, normal));
    project("Q", "queries", "What each word asks: its normalised row times a matrix.");
    project("K", "keys", "What each word can be found by: the same row times another matrix.");
    step(attention, "scores", "Scores", "Each query meets each key in a dot product, divided by the root of their length.",
      [shown(`${own}Q`, "token", "of the head"), shown(`${own}K`, "key", "of the head"), shown(`${own}scores`, "token", "key")]);
    step(attention, "mask", "Mask", "No word may look at a later one: those scores become −∞.",
      [shown(`${own}scores`, "token", "key"), shown(`${own}masked scores`, "token", "key")]);
    step(attention, "weights", "Weights", "Softmax makes each row of scores into shares of 1.",
      [shown(`${own}masked scores`, "token", "key"), shown(`${own}weights`, "token", "key")]);
    project("V", "values", "What each word hands over when it is looked at.");
    step(attention, "mixtures", "Mixtures", "Each word gets the average of the values, weighted by its row.",
      [shown(`${own}weights`, "token", "key"), shown(`${own}V`, "key", "of the head"), shown(`${own}mixtures`, "token", "of the head")]);
    step(attention, "update", "What the head writes", "A last matrix brings the mixture back to the width of the stream.",
      [shown(`${own}mixtures`, "token", "of the head"), shown(matrix("O"), "of the head", "entry"), shown(`${own}update`, "token", "entry")]);
    step(attention, "attended", "Add", "What all heads write is added to the stream.",
      [shown(stream, "token", "entry"), ...heads.map((node) => [node, "token", "entry"]), shown(`${prefix}: stream after attention`, "token", "entry")]);

    step(mlp, "norm", "Normalise again", "The sum is normalised for the MLP; the stream itself stays as it is.",
      norm(`${prefix}: stream after attention`, `${prefix} / mlp / norm`, `${prefix}: normalised for the MLP`));
    step(mlp, "mlp", "Widen", "Each word alone, its row meets more directions than it has entries; a bias is added.",
      [shown(`${prefix}: normalised for the MLP`, "token", "entry"), shown(`${prefix} / mlp / W_1`, "entry", "unit"),
        shown(`${prefix} / mlp / b_1`, "", "unit"), shown(`${prefix}: widened`, "token", "unit")]);
    step(mlp, "mlp", "ReLU", "Negative numbers become zero: these units stay silent.",
      [shown(`${prefix}: widened`, "token", "unit"), shown(`${prefix}: hidden`, "token", "unit")]);
    step(mlp, "mlp", "Narrow", "Each unit that is not silent writes its row, as loudly as it was met.",
      [shown(`${prefix}: hidden`, "token", "unit"), shown(`${prefix} / mlp / W_2`, "unit", "entry"),
        shown(`${prefix} / mlp / b_2`, "", "entry"), shown(`${prefix}: update of the MLP`, "token", "entry")]);
    step(mlp, "stream", "Add again", "What the MLP writes is added too. This is the stream after the layer.",
      [shown(`${prefix}: stream after attention`, "token", "entry"), shown(`${prefix}: update of the MLP`, "token", "entry"),
        shown(`${prefix}: stream`, "token", "entry")]);
    stream = `${prefix}: stream`;
  }
  step("next word out", "norm", "Normalise a last time", "The stream is normalised once more, for reading.",
    norm(stream, "norm", "normalised"));
  step("next word out", "logits", "Logits", "Each word of the vocabulary has a direction; the dot product with it, and a bias, is its logit.",
    [shown("normalised", "token", "entry"), shown("unembedding / W", "entry", "word"), shown("unembedding / b", "", "word"), shown("logits", "token", "word")]);
  step("next word out", "probabilities", "Probabilities", "Softmax makes the logits into probabilities of the next word.",
    [shown("logits", "token", "word"), shown("probabilities", "token", "word")]);
  return steps;
}

// What an array is called beside its step: W_Q, gain, scores.
function shortName({ name }) {
  return name.replace(/^layer \d+(, head \d+)?: /, "").split(" / ").filter((part) => !/^\d+$/.test(part)).at(-1);
}

const BACKWARD = {
  embedding: "The rows of the words that were read get the gradient; all other rows get none.",
  add: "A sum hands the same gradient to each of its parts, and the stream carries it past the layer as it is.",
  norm: "What would only shift or stretch the whole row is taken out of the gradient: the output would not feel it.",
  linear: "The gradient goes back through the same matrix. The matrix has its own: what came in, times what came back.",
  mixtures: "A weight gets the dot product of what came back with its value; a value gets what came back, times its weight.",
  scores: "A query gets a sum of keys, a key a sum of queries, each times the gradient of their score.",
  mask: "A score that was hidden gets nothing.",
  softmax: "A weight is compared with the weighted mean of its row: whoever did better than that is to get more.",
  activation: "Where ReLU gave zero, nothing comes back.",
  probabilities: "The loss is −ln of the probability of the right word. Its gradient at a logit is the probability, less 1 at the right word.",
};

// The whole state of the figure worked out: nodes, gradients by node, probabilities and loss at the last word.
function work({ params, config, words, tokens, wanted, changes }) {
  const nodes = runMachine(params, config, tokens.map((word) => words.indexOf(word)), undefined, null, changes);
  const logits = nodes.at(-1);
  const value = KINDS.softmax.value([logits.value]);
  const last = tokens.length - 1;
  const top = matrixFrom(value.rows, value.cols, (i, j) => (i < last ? 0 : at(value, i, j) - Number(j === wanted)));
  const grads = runBack(nodes, top);
  nodes.push({ kind: "softmax", name: "probabilities", inputs: [logits], options: {}, value });
  return { nodes, grads, logits, shares: rowOf(value, last), loss: -Math.log(at(value, last, wanted)) };
}

// The sum behind a number, as text, and the numbers in it: each { node, i, j } and whether its gradient is meant.
function openValue(cell, state) {
  const { node, i, j } = cell;
  const opened = sumBehind(cell, state);
  const set = node.held?.get(i * node.value.cols + j);
  if (set === undefined) return opened;
  const text = `You set this number to ${format(set)}. Without you it would be ${format(at(node.made, i, j))}: ${opened.text}`;
  return { ...opened, text };
}

function sumBehind({ node, i, j }, { words, tokens }) {
  const { kind, inputs, options } = node;
  const value = node.made ?? node.value;
  const [A, B, C] = inputs.map((input) => input.value);
  const lit = (which, row, column) => ({ node: inputs[which], i: row, j: column });
  const columns = (which, row) => Array.from({ length: inputs[which].value.cols }, (_, k) => lit(which, row, k));
  const end = ` = ${format(at(value, i, j))}`;
  if (kind === "given") return { text: "A number that was learned.", lit: [] };
  if (kind === "embedding") {
    const row = options.tokens[i];
    const whose = inputs[0].name === "positions" ? `place ${row + 1}` : `“${words[row]}”`;
    return { text: `The row of ${whose}, entry ${j + 1}.`, lit: [lit(0, row, j)] };
  }
  if (kind === "add") {
    return { text: inputs.map((input) => factor(at(input.value, i, j))).join(" + ") + end, lit: inputs.map((_, n) => lit(n, i, j)) };
  }
  if (kind === "norm") {
    const [mean, deviation] = spread(rowOf(A, i), options.epsilon);
    const text = `(${format(at(A, i, j))} − ${factor(mean)}) / ${format(deviation)} × ${factor(B.data[j])} + ${factor(C.data[j])}${end}; `
      + `${format(mean)} is the mean of the row, ${format(deviation)} its deviation.`;
    return { text, lit: [...columns(0, i), lit(1, 0, j), lit(2, 0, j)] };
  }
  if (kind === "linear") {
    const text = dotInWords(rowOf(A, i), rowOf(transposed(B), j)) + (C ? ` + ${factor(C.data[j])}` : "") + end;
    return { text, lit: [...columns(0, i), ...rowOf(A, i).map((_, k) => lit(1, k, j)), ...(C ? [lit(2, 0, j)] : [])] };
  }
  if (kind === "scores") {
    const text = `(${dotInWords(rowOf(A, i), rowOf(B, j))}) / ${format(1 / options.scale)}${end}`;
    return { text, lit: [...columns(0, i), ...columns(1, j)] };
  }
  if (kind === "mask") {
    const text = j > i ? `“${tokens[j]}” comes after “${tokens[i]}”: hidden.` : "Not hidden, so it stays as it is.";
    return { text, lit: [lit(0, i, j)] };
  }
  if (kind === "softmax") {
    const seen = rowOf(A, i).map((score, k) => [score, k]).filter(([score]) => score > -Infinity);
    const exponential = ([score]) => `e^${factor(score)}`;
    const few = seen.length <= WIDEST ? seen.map(exponential).join(" + ") : `the same of all ${seen.length}`;
    const text = at(A, i, j) === -Infinity ? "e^(−∞) is zero." : `${exponential([at(A, i, j)])} / (${few})${end}`;
    return { text, lit: seen.map(([, k]) => lit(0, i, k)) };
  }
  return { text: `max(0, ${format(at(A, i, j))})${end}`, lit: [lit(0, i, j)] };
}

// What one consumer of a node sends back to a number of it; `n` says which of its inputs the node is.
function sentBack(consumer, n, i, j, grads) {
  const { kind, inputs, options } = consumer;
  const value = consumer.made ?? consumer.value;
  const grad = passedOn(consumer, grads.get(consumer));
  const [A, B] = inputs.map((input) => input.value);
  const back = (row, column) => ({ node: consumer, i: row, j: column, grad: true });
  const lit = (which, row, column) => ({ node: inputs[which], i: row, j: column });
  const all = (length, one) => Array.from({ length }, (_, k) => one(k)).flat();
  const products = (pairs) => pairs.map(([a, b]) => `${factor(a)} × ${factor(b)}`).join(" + ");
  const sumOf = (length, cell, other) => ({ // of the gradients at cell(k) times the numbers at other(k)
    text: products(all(length, (k) => [[at(grad, ...cell(k)), at(inputs[other(k)[0]].value, ...other(k).slice(1))]])),
    lit: all(length, (k) => [back(...cell(k)), lit(...other(k))]),
  });
  if (kind === "embedding") {
    const rows = options.tokens.flatMap((token, k) => (token === i ? [k] : []));
    const text = rows.map((k) => factor(at(grad, k, j))).join(" + ") || "0, as nobody read this row";
    return { text, lit: rows.map((k) => back(k, j)) };
  }
  if (kind === "add" || kind === "mask") return { text: format(at(grad, i, j) * (kind === "add" || j <= i)), lit: [back(i, j)] };
  if (kind === "linear" && n === 0) return sumOf(B.cols, (k) => [i, k], (k) => [1, j, k]);
  if (kind === "linear" && n === 1) return sumOf(A.rows, (k) => [k, j], (k) => [0, k, i]);
  if (kind === "scores") {
    const { text, lit: cells } = n === 0
      ? sumOf(B.rows, (k) => [i, k], (k) => [1, k, j]) : sumOf(A.rows, (k) => [k, i], (k) => [0, k, j]);
    return { text: `(${text}) / ${format(1 / options.scale)}`, lit: cells };
  }
  if (kind === "softmax") {
    const mean = dot(rowOf(value, i), rowOf(grad, i));
    const row = all(value.cols, (k) => [{ node: consumer, i, j: k }, back(i, k)]);
    return { text: `${format(at(value, i, j))} × (${format(at(grad, i, j))} − ${factor(mean)}), ${format(mean)} being the row's weighted mean`, lit: row };
  }
  if (kind === "activation") {
    return { text: at(A, i, j) > 0 ? format(at(grad, i, j)) : "0, as ReLU was silent", lit: [back(i, j), lit(0, i, j)] };
  }
  if (n > 0 && kind === "norm") {
    const normal = (k) => { // the entry before it is stretched and shifted
      const [mean, deviation] = spread(rowOf(A, k), options.epsilon);
      return (at(A, k, j) - mean) / deviation;
    };
    const pairs = all(A.rows, (k) => [[at(grad, k, j), n === 1 ? normal(k) : 1]]);
    return { text: n === 1 ? products(pairs) : pairs.map(([a]) => factor(a)).join(" + "), lit: all(A.rows, (k) => back(k, j)) };
  }
  if (kind === "norm") {
    const scaled = rowOf(grad, i).map((number, k) => number * B.data[k]);
    const [mean, deviation] = spread(rowOf(A, i), options.epsilon);
    const normal = rowOf(A, i).map((number) => (number - mean) / deviation);
    const [level, along] = [sum(scaled) / A.cols, dot(scaled, normal) / A.cols];
    const text = `(${format(scaled[j])} − ${factor(level)} − ${factor(normal[j])} × ${factor(along)}) / ${format(deviation)}`;
    return { text, lit: [...all(A.cols, (k) => [back(i, k), lit(0, i, k)]), ...all(A.cols, (k) => lit(1, 0, k))] };
  }
  return { text: all(grad.rows, (k) => factor(at(grad, k, j))).join(" + "), lit: all(grad.rows, (k) => back(k, j)) }; // a bias
}

// The sum behind a gradient, through all that the number went into.
function openGrad({ node, i, j }, { nodes, grads, logits }, { wanted, tokens }) {
  if (node === logits) {
    const last = i === tokens.length - 1;
    const share = at(nodes.at(-1).value, i, j);
    const text = last ? `${format(share)}${j === wanted ? " − 1" : ""} = ${format(at(grads.get(node), i, j))}` : "Only the last word's guess is judged.";
    return { text, lit: last ? [{ node: nodes.at(-1), i, j }] : [] };
  }
  const parts = nodes.filter((other) => grads.has(other)).flatMap((other) =>
    other.inputs.flatMap((input, n) => (input === node ? [[other, sentBack(other, n, i, j, grads)]] : [])));
  const total = format(at(grads.get(node), i, j));
  const text = parts.length === 1 ? `${parts[0][1].text} = ${total}`
    : `${parts.map(([other, part]) => `through “${other.name}”: ${part.text}`).join("; ")}; together ${total}`;
  return { text, lit: parts.flatMap(([, part]) => part.lit) };
}

// What is seen at a step, of the word that is followed.
function seenAt(step, steps, { grads, shares }, { tokens, words, token, backward }) {
  const quoted = (i) => `“${tokens[i]}”`;
  const now = steps[0][step];
  const made = now.shows.at(-1)[0];
  if (backward) {
    const along = (wanted) => now.shows.find(([one, axis]) => grads.has(one) && axis === wanted);
    const [node] = along("key") ?? along("token");
    const sizes = lengthsOf(grads.get(node));
    const most = largest(sizes);
    const other = token === most ? "" : `, ${quoted(token)} one of ${format(sizes[token], 3)}`;
    const told = `At ${shortName(node)}, ${quoted(most)} has the largest gradient (length ${format(sizes[most], 3)})`;
    return `${told}${other}.`;
  }
  const row = rowOf(made.value, token);
  const rows = steps.map((own) => rowOf(own[step].shows.at(-1)[0].value, token));
  const ofHeads = (one) => rows.map((numbers, head) => `${one(numbers)} in head ${head + 1}`).join(", ");
  const best = (numbers) => `${quoted(largest(numbers))} (${format(Math.max(...numbers))})`;
  if (now.kind === "scores") return `For ${quoted(token)} the highest score is that of ${ofHeads(best)}.`;
  if (now.kind === "mask") return `${quoted(token)} may look at ${token + 1} of ${tokens.length} words.`;
  if (now.kind === "weights") return `${quoted(token)} looks most at ${ofHeads(best)}.`;
  if (made.kind === "activation") {
    return `${row.filter((number) => number === 0).length} of ${row.length} units are silent for ${quoted(token)}.`;
  }
  if (now.kind === "probabilities") {
    return `Likeliest after ${quoted(tokens.length - 1)}: “${words[largest(shares)]}” (${format(Math.max(...shares))}).`;
  }
  if (made.kind === "add") {
    const lengths = [now.shows[0][0].value, made.value].map((X) => format(lengthsOf(X)[token]));
    return `The vector of ${quoted(token)} was ${lengths[0]} long and is now ${lengths[1]}.`;
  }
  return `${row.length} numbers for ${quoted(token)}, from ${format(Math.min(...row))} to ${format(Math.max(...row))}.`;
}

// The likeliest next word and the next but one, with their probabilities.
function outlookOf({ shares, loss }, { tokens, words, backward, wanted }) {
  const likeliest = shares.map((share, i) => [share, words[i]]).sort(([a], [b]) => b - a).slice(0, 2);
  const told = `${tokens.join(" ")} … ${likeliest.map(([share, word]) => `${word} ${format(share, 3)}`).join(", ")}`;
  return told + (backward ? `. Were “${words[wanted]}” right, the loss would be ${format(loss)}.` : ".");
}

// A step's place among all in the direction walked, and the step at a place.
function inWalk(step, count, backward) {
  return backward ? count - 1 - step : step;
}

// The walk through all steps: a slider, a step on or back, and a run that ends by itself.
function walkOf({ read, change, count, attached, pace }) {
  const walked = () => inWalk(read().step, count, read().backward);
  const walkTo = (place) => change({ step: inWalk(place, count, read().backward) });
  let timer = null;
  const stop = () => {
    clearTimeout(timer);
    timer = null;
    play.textContent = "▶ Run";
    play.classList.remove("attn-running");
  };
  const run = () => {
    if (!attached() || walked() === count - 1) return stop();
    walkTo(walked() + 1);
    timer = setTimeout(run, pace);
  };
  const start = () => {
    if (timer) return stop();
    play.textContent = "Stop";
    play.classList.add("attn-running");
    if (walked() === count - 1) walkTo(0);
    timer = setTimeout(run, pace / 2);
  };
  const play = button("attn-button", "▶ Run", start);
  const byHand = (place) => {
    stop();
    walkTo(place);
  };
  const [previous, next] = [["←", "Previous step", -1], ["→", "Next step", 1]].map(([text, name, by]) => {
    const node = button("attn-button", text, () => byHand(walked() + by));
    node.setAttribute("aria-label", name);
    return node;
  });
  const show = (place) => `${place + 1} of ${count}`;
  const time = slider({ label: "Step", min: 0, max: count - 1, step: 1, show, onInput: byHand });
  const set = (place) => {
    time.set(place);
    previous.disabled = place === 0;
    next.disabled = place === count - 1;
  };
  return { row: box("attn-time", play, previous, time.row, next), play, set, start, stop, byHand: (step) => byHand(inWalk(step, count, read().backward)) };
}

// The arrays of a step, and after them, backward, the gradients that came to them.
function arraysOf({ shows }, { grads }, backward) {
  const both = [false, true].flatMap((grad) => shows.map(([node, ...axes], place) => ({ node, axes, place, grad })));
  return both.filter(({ node, grad }) => !grad || (backward && grads.has(node)));
}

// The numbers of one array at a time: each opens its sum, and can be set. `open` says which step and array; `show`
// takes what has been worked out.
function magnifierOf({ read, change, explain, line, light }) {
  const { config, words, tokens } = read();
  const labels = range(config.n_heads, (head) => String(head + 1));
  const heads = choice({ legend: "Head", labels, onChoose: (head) => change({ head }) });
  const select = element("select", { autocomplete: "off", "aria-label": "Numbers that are shown" });
  const panel = box("attn-arrays");
  const setting = slider({ label: "", min: -4, max: 4, onInput: (number) => setTo(number) });
  const [asked, input, output] = setting.row.children;
  const takeBack = () => change({ changes: read().changes.slice(0, -1) }); // the last one
  const back = button("attn-button", "Take it back", takeBack);
  let opened = null, chosen = null, shown = null, cells = [], listed = null, drawn = null, followed = null;
  select.addEventListener("change", () => {
    const { place, grad } = arraysOf(shown.steps[opened.step], shown.done, shown.state.backward)[Number(select.value)];
    opened = { ...opened, place, grad };
    show(shown);
  });

  function setTo(number) {
    const { name, i, j } = chosen;
    const others = read().changes.filter(([other, row, column]) => !(other === name && row === i && column === j));
    change({ changes: [...others, [name, i, j, number]] });
  }

  // What is chosen can be set: no gradient, no probability, and no score that is hidden.
  function canBeSet(node, grad) {
    return !grad && chosen !== null && node.name !== "probabilities" && Number.isFinite(at(node.value, chosen.i, chosen.j));
  }

  // A number is taken hold of, and set by going to the left or to the right.
  function dragged(cell, choose, numberNow) {
    let grip = null;
    cell.addEventListener("pointerdown", ({ clientX, pointerId }) => {
      choose();
      const number = numberNow();
      if (number === false) return;
      grip = [clientX, number];
      cell.setPointerCapture(pointerId);
    });
    cell.addEventListener("pointermove", ({ clientX }) => {
      if (grip && clientX !== grip[0]) setTo(Math.round(100 * grip[1] + 2 * (clientX - grip[0])) / 100);
    });
    ["pointerup", "pointercancel"].forEach((name) => cell.addEventListener(name, () => (grip = null)));
  }

  function drawArray({ node, axes: [rowAxis, columnAxis], grad }) {
    const names = { token: tokens, key: tokens, word: words, "": [""] };
    const turn = node.value.cols > WIDEST;
    const sides = [[rowAxis, node.value.rows], [columnAxis, node.value.cols]];
    const [[down, n], [across, m]] = turn ? sides.reverse() : sides;
    const called = (axis, k) => names[axis]?.[k] ?? String(k + 1);
    const headings = (axis, length, scope) => range(length, (k) => heading(scope)(called(axis, k)));
    const nodes = grid(n, m, (y, x) => {
      const [i, j] = turn ? [x, y] : [y, x];
      const cell = button("attn-cell", "");
      const choose = () => {
        chosen = { name: node.name, i, j, called: [called(down, y), called(across, x)].filter(Boolean).join(", ") };
        fillArray(shown.byName.get(node.name), grad);
      };
      ["focus", "click"].forEach((name) => cell.addEventListener(name, choose));
      dragged(cell, choose, () => canBeSet(shown.byName.get(node.name), grad) && at(shown.byName.get(node.name).value, i, j));
      explain(cell, () => {
        const here = { node: shown.byName.get(node.name), i, j };
        const { lit, text } = grad ? openGrad(here, shown.done, shown.state) : openValue(here, shown.state);
        light(lit);
        return `${grad ? "Gradient. " : ""}${text}`;
      });
      cells.push({ cell, i, j });
      return cell;
    });
    const { table, lines } = tableOf({
      title: `${grad ? "Gradient: " : ""}${shortName(node)} (${AXES[down]} × ${AXES[across]})`,
      columns: headings(across, m, "col"), rows: headings(down, n, "row"), cells: nodes,
    });
    panel.replaceChildren(box("attn-scroll", table));
    panel.classList.toggle("attn-shares", !grad && /weights$|probabilities/.test(node.name));
    const X = grad ? shown.done.grads.get(node) : node.value;
    const sizes = range(n, (y) => Math.max(...range(m, (x) => Math.abs(turn ? at(X, x, y) : at(X, y, x)))));
    followed = lines[down === "token" ? shown.state.token : largest(sizes)];
    toWord();
  }

  // Bring into view the row of the word that is followed, or that of the largest number.
  function toWord() {
    panel.firstChild.scrollTop = followed.offsetTop + followed.offsetHeight - panel.clientHeight;
  }

  function fillArray(node, grad) {
    const X = grad ? shown.done.grads.get(node) : node.value;
    const most = mostOf(X);
    const isSet = (i, j) => !grad && Boolean(node.held?.has(i * X.cols + j));
    cells.forEach(({ cell, i, j }) => {
      const number = at(X, i, j);
      cell.textContent = format(number);
      cell.classList.toggle("attn-minus", number < 0);
      cell.classList.toggle("attn-set", isSet(i, j));
      cell.style.setProperty("--attn-w", Number.isFinite(number) ? Math.abs(number) / most : 0);
      cell.setAttribute("aria-pressed", chosen?.i === i && chosen.j === j);
    });
    const fits = canBeSet(node, grad);
    input.disabled = !fits;
    back.disabled = shown.state.changes.length === 0;
    asked.textContent = fits ? `Set “${chosen.called}” to` : grad ? "Gradients follow" : "Press or drag a number";
    if (!fits) {
      output.textContent = "";
      return;
    }
    const [number, made] = [X, node.made ?? X].map((Y) => Math.abs(at(Y, chosen.i, chosen.j)));
    const reach = Math.max(4, Math.ceil(Math.max(number, 2 * made)));
    put(input, { min: -reach, max: reach });
    setting.set(at(X, chosen.i, chosen.j));
  }

  function show(now) {
    shown = now;
    const { state, steps, done } = shown;
    const all = arraysOf(steps[opened.step], done, state.backward);
    const number = Math.max(0, all.findIndex(({ place, grad }) => place === opened.place && grad === opened.grad));
    const list = JSON.stringify([opened.step, state.head, state.backward]);
    if (list !== listed) {
      select.replaceChildren(...all.map(({ node, grad }, value) => element("option", { value },
        `${grad ? "gradient of " : ""}${shortName(node)}${/, head \d+/.exec(node.name) ?? ""}`)));
    }
    select.value = number;
    heads.set(state.head);
    if (list !== listed || number !== drawn) {
      chosen = null;
      cells = [];
      drawArray(all[number]);
    }
    [listed, drawn] = [list, number];
    fillArray(all[number].node, all[number].grad);
  }

  function open(what) {
    opened = what;
    chosen = null;
  }

  const node = box("attn-magnifier", box("attn-open", select, heads.row, back), panel,
    element("div", {}, box("attn-setting", setting.row), line));
  return { node, open, show, toWord, chosen: () => chosen, opened: () => opened };
}

// What the address of a run says, and whether it says what this model can do.
const SENT = ["tokens", "token", "step", "head", "backward", "wanted", "changes"];

function isRun({ tokens, token, step, head, wanted, changes }, { config, words, count, widths }) {
  const fits = (places) => places.every(([place, most]) => Number.isInteger(place) && place >= 0 && place < most);
  return tokens.length <= config.n_positions && tokens.every((word) => words.includes(word))
    && fits([[token, tokens.length], [step, count], [head, config.n_heads], [wanted, words.length]])
    && changes.every(([name, row, column, number]) => fits([[row, Infinity], [column, widths.get(name) ?? 0]]) && Number.isFinite(number));
}

function build(means) {
  const { root, read, change, reset, line, tell, explain, draw, addressOf } = means;
  const { config, words, sentences, tokens, plays } = read();
  const stepsOfAll = ({ nodes }) => range(config.n_heads, (head) => stepsOf(nodes, config, head));
  const steps = stepsOfAll(work(read()));
  const count = steps[0].length;
  const times = timesOf(steps);
  const nodes = steps.flatMap((own) => own.flatMap(({ shows }) => shows.map(([node]) => node)));
  const widths = new Map(nodes.map(({ name, value }) => [name, value.cols]));
  let shown = null; // the state, and what was worked out of it

  const say = (own) => { // what was set of the words that were there goes with them
    const learned = read().changes.filter(([name]) => shown.byName.get(name).kind === "given");
    change({ tokens: own, token: own.length - 1, changes: learned });
  };
  const offered = [...new Set([...sentences, tokens.join(" ")])]; // one of them may be the reader's own
  const sentence = chooser("Sentence", offered, (i) => say(offered[i].split(" ")));
  const own = wordField({
    words: tokens, fewest: 1, most: config.n_positions,
    note: ` of the ${words.length} the model knows: ${words.join(" ")}`,
    onWords: (given) => {
      const unknown = given.filter((word) => !words.includes(word));
      if (unknown.length) return `The model does not know ${unknown.map((word) => `“${word}”`).join(", ")}.`;
      return say(given);
    },
  });
  const ways = ["forward: the prediction", "backward: the error"];
  const way = choice({ legend: "Way", labels: ways, onChoose: (i) => change({ backward: i === 1 }) });
  const wanted = chooser("Next word that would be right", words, (i) => change({ wanted: i }));
  const outcome = element("p", { className: "attn-outcome" });
  const title = element("b", { className: "attn-step-title" });
  const text = element("span", { className: "attn-step-text" });

  const openStrip = ({ name, grad, part, word }) => {
    walk.stop();
    const { born: step } = times.get(name);
    const head = name.includes(", head ") ? part : read().head;
    magnifier.open({ step, grad, place: steps[head][step].shows.findIndex(([node]) => node.name === name) });
    change({ token: word, head });
    if (fold.open) return;
    fold.open = true;
    magnifier.node.scrollIntoView({ block: "nearest" });
  };
  const onWord = (token) => change({ token });
  const toStrip = ({ name, word }) => {
    walk.byHand(times.get(name).born);
    change({ token: word });
  };
  const onStrip = plays ? toStrip : openStrip;
  const { stage, show, fly, light } = stageOf({ config, tokens, words, steps, widths, onWord, onStrip, large: plays });
  const walk = walkOf({ read, change, count, attached: () => stage.isConnected, pace: plays ? 400 : 1000 });
  const magnifier = magnifierOf({ read, change, explain, line, light });
  const open = (sent) => isRun(sent, { ...read(), count, widths }) && change(sent);
  const fold = folded("The numbers, and a sentence of your own", magnifier.node,
    box("attn-controls", own, ...sending(means, "loom", SENT, open), reset));
  fold.addEventListener("toggle", magnifier.toWord);
  const told = element("p", { className: "attn-step", "aria-live": plays ? "off" : "polite" }, title, " ", text);
  if (plays) {
    draw(outcome, stage, box("attn-time", walk.play, told), caption("Press a row: it says what is computed there, and which chapter explains it."));
    root.classList.add("attn-poster");
    stage.addEventListener("pointerdown", walk.stop);
    onceSeen(stage, walk.start);
  } else draw(box("attn-controls", sentence.row, wanted.row), way.row, outcome, stage, walk.row, told, fold);

  return (state) => {
    const from = shown?.state;
    const done = work(state);
    const all = stepsOfAll(done);
    const was = state.changes.length ? work({ ...state, changes: [] }) : null;
    const byName = new Map(done.nodes.map((node) => [node.name, node]));
    shown = { state, done, was, all, steps: all[state.head], byName };
    const now = shown.steps[state.step];
    const made = now.shows.at(-1)[0];
    sentence.set(offered.indexOf(tokens.join(" ")));
    way.set(state.backward ? 1 : 0);
    wanted.set(state.wanted);
    wanted.row.hidden = !state.backward;
    outcome.textContent = outlookOf(done, state);
    const place = inWalk(state.step, count, state.backward);
    walk.set(place);
    const turned = from?.backward !== state.backward;
    const called = `Step ${place + 1} of ${count}, ${now.part}: ${now.title}.`;
    if (turned || title.textContent !== called) { // else it would be spoken again
      title.textContent = called;
      const [chapter, address] = [CHAPTERS[now.kind], addressOf(CHAPTERS[now.kind])];
      text.replaceChildren(
        `${state.backward ? BACKWARD[now.kind] ?? BACKWARD[made.kind] : now.text} `,
        address ? element("a", { href: address }, `Chapter ${chapter}.`) : `Chapter ${chapter}.`);
    }
    if (turned || from.step !== state.step) {
      const sent = now.shows.findIndex(([node]) => done.grads.has(node)); // backward, what goes on to the step before
      magnifier.open({ step: state.step, place: state.backward ? sent : now.shows.length - 1, grad: state.backward });
    }
    show(shown);
    if (!turned && state.step - from.step === (state.backward ? -1 : 1)) fly();
    magnifier.show(shown);
    if (magnifier.chosen()) return;
    const { step } = magnifier.opened();
    const elsewhere = `step ${inWalk(step, count, state.backward) + 1}, ${shown.steps[step].title}`;
    light([]);
    tell(step === state.step ? seenAt(step, all, done, state)
      : `“${tokens[state.token]}”, ${elsewhere}: these are the numbers.`);
  };
}

const render = figure({
  label: "One sentence, all the way", build,
  fixed: ({ words, sentences, tokens }) => [words, sentences, tokens],
});

export default {
  render, runMachine, runBack, work, openValue, openGrad, matrixOf, loomOf, stepsOf, timesOf, shownAt };
