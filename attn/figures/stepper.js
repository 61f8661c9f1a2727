// One sentence, all the way: a small transformer as a loom, from words to the next word's probabilities, and the error on
// its way back. A thread for each word runs upward, vectors are strips of coloured cells on it, weights are ribbons
// between threads. A strip opens its numbers: each shows the sum that made it, lights what went in, and can be changed.

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
    step(mlp, "stream", "Add again", "What the MLP writes is added too. This is the stream behind the layer.",
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

// --- the stage -------------------------------------------------------------------------------------------------------

const WIDE = { width: 640, gutter: 68, pitch: 15, ribbons: 86, inset: 12, likeliest: 4 };
const NARROW = { width: 340, gutter: 56, pitch: 17, ribbons: 80, inset: 7, likeliest: 3 };
const GAP = 8; // below and above the stream
const SHARE = 0.72; // of its room, what a vector of the stream takes: the MLP's are wider
const BAR = 17;

// The floors of a layer, from below: what is written beside each, its role, and the nodes that stand there in turn.
const LAYER = [
  ["norm", "", "normalised"], ["q", "query", "Q"], ["k", "key", "K"], ["v", "value", "V"],
  ["weights", "weight", "scores", "masked scores", "weights"], ["mixed", "value", "mixtures"], ["written", "", "update"],
  ["stream", "", "stream after attention"], ["norm", "", "normalised for the MLP"], ["MLP", "", "widened", "hidden"],
  ["written", "", "update of the MLP"], ["stream", "", "stream"],
];
const OF_HEADS = ["Q", "K", "V", "scores", "mixtures", "update"];

// The floors of a model, from below: { label, role, parts }, and by part (a head, where it is the heads') its nodes.
function floorsOf({ n_layers: nLayers, n_heads: nHeads }) {
  const one = (label, ...names) => ({ label, role: "", parts: [names] });
  const layers = Array.from({ length: nLayers }, (_, l) => LAYER.map(([label, role, ...names]) => {
    const owners = OF_HEADS.includes(names[0]) ? Array.from({ length: nHeads }, (_, head) => `, head ${head + 1}`) : [""];
    return { label, role, parts: owners.map((owner) => names.map((name) => `layer ${l + 1}${owner}: ${name}`)) };
  }));
  return [one("place", "positions of the tokens"), one("stream", "embeddings", "stream"), ...layers.flat(),
    one("norm", "normalised"), one("next", "logits", "probabilities")];
}

// What `one` makes of 0, 1, …
function range(length, one) {
  return Array.from({ length }, (_, i) => one(i));
}

// Where everything stands on the stage: how high the window is, and the whole behind it, and a strip for each word of
// each part of each floor: { floor, part, word, names, x, y, w, high }, y from the top of the whole.
function loomOf(config, n, wide) {
  const { width, gutter, pitch, ribbons, inset } = wide ? WIDE : NARROW;
  const stacked = ({ label, parts }) => label === "written" && parts.length;
  const edge = ({ label }) => (label === "stream" ? GAP : 0);
  const highOf = (floor) => (floor.label === "weights" ? ribbons : pitch * (stacked(floor) || 1));
  const all = (floors) => sum(floors.map((floor) => highOf(floor) + 2 * edge(floor)));
  const floors = floorsOf(config);
  const [whole, window] = [all(floors), all(floorsOf({ ...config, n_layers: 1 }))];
  const column = (width - gutter) / n, full = Math.min(column - 8, 120);
  const columns = range(n, (i) => gutter + i * column);
  let below = whole;
  const strips = floors.flatMap((floor, k) => {
    const top = (below -= highOf(floor) + edge(floor));
    below -= edge(floor);
    const onThread = ["place", "stream"].includes(floor.label);
    const room = onThread ? full : full - inset;
    const beside = stacked(floor) ? 1 : floor.parts.length; // heads stand side by side, and what they write above each other
    const w = beside > 1 ? (room - 5 * (beside - 1)) / beside : room * (["weights", "MLP", "next"].includes(floor.label) ? 1 : SHARE);
    return columns.flatMap((left, word) => floor.parts.map((names, part) => ({
      floor: k, part, word, names, w, x: left + full - room + (beside > 1 ? part * (w + 5) : 0),
      y: top + (stacked(floor) ? (floor.parts.length - 1 - part) * pitch : 0), high: stacked(floor) ? pitch : highOf(floor),
    })));
  });
  return { width, gutter, columns, full, whole, window, floors, strips };
}

// By node, the step that makes it, and the first that uses it, which sends its gradient last; `steps` are those of all heads.
function timesOf(steps) {
  const times = new Map();
  steps.forEach((own) => own.forEach(({ shows }, step) => shows.forEach(([{ name }], k) => {
    const time = times.get(name) ?? { born: step, spent: Infinity };
    times.set(name, k === shows.length - 1 ? { ...time, born: step } : { ...time, spent: Math.min(time.spent, step) });
  })));
  return times;
}

// Which of its nodes a strip shows at a step, and whether it is there by then: its number forward, its gradient backward.
function shownAt(names, times, step, backward) {
  const there = names.filter((name) => (backward
    ? times.get(name).spent >= step && times.get(name).spent < Infinity : times.get(name).born <= step));
  return { name: (backward ? there[0] : there.at(-1)) ?? names.at(-1), there: there.length > 0 };
}

// How far a strip flies at a step: pairs of strips, from what goes in to what is made. A query flies to the keys that it
// meets, and values to the words that look at them.
function flightsOf(strips, steps, step, token) {
  return strips.flatMap((to) => {
    const { kind, shows } = steps[to.part][step];
    const [made, ...inputs] = shows.map(([{ name }]) => name).reverse();
    if (kind === "scores") return to.names.includes(inputs[0]) && to.word <= token
      ? strips.filter((from) => from.names.includes(inputs[1]) && from.word === token).map((from) => [from, to]) : [];
    if (!to.names.includes(made)) return [];
    return strips.filter((from) => from !== to && from.names.some((name) => inputs.includes(name))
      && (from.word === to.word || (kind === "mixtures" && from.word < to.word))).map((from) => [from, to]);
  });
}

// The nodes that a step shows, or all steps, of all heads.
function shownNodes(steps, step) {
  return steps.flatMap((own) => (step === undefined ? own : [own[step]]).flatMap(({ shows }) => shows.map(([node]) => node)));
}

function put(node, attributes) {
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
}

function moved(x, y) {
  return `translate(${x}px, ${y}px)`;
}

// The way of a ribbon from one word's room to another's, or of a line beside it.
function curve(from, to, aside = 0) {
  const [x0, x1, y0, y1] = [from.x + from.w / 2 + aside, to.x + to.w / 2 + aside, from.y + from.high, to.y];
  return `M${x0},${y0} C${x0},${(y0 + y1) / 2} ${x1},${(y0 + y1) / 2} ${x1},${y1}`;
}

// The size of the largest number that is one.
function mostOf({ data }) {
  return Math.max(1e-9, ...data.map((number) => (Number.isFinite(number) ? Math.abs(number) : 0)));
}

function lengthOf(row) {
  return Math.hypot(...row);
}

// What is seen at a step, of the word that is followed.
function seenAt(step, steps, { grads, nodes, shares }, { tokens, words, token, backward }) {
  const quoted = (i) => `“${tokens[i]}”`;
  const now = steps[0][step];
  const made = now.shows.at(-1)[0];
  if (backward) {
    const along = (wanted) => now.shows.find(([one, axis]) => grads.has(one) && axis === wanted);
    const [node] = along("key") ?? along("token");
    const X = grads.get(node);
    const sizes = tokens.map((_, i) => lengthOf(rowOf(X, i)));
    const most = largest(sizes);
    const other = token === most ? "" : `, ${quoted(token)} one of ${format(sizes[token], 3)}`;
    return `At ${shortName(node)}, ${quoted(most)} has the largest gradient (length ${format(sizes[most], 3)})${other}.`;
  }
  const row = rowOf(made.value, token);
  const ofHeads = (one) => steps.map((own, head) => `${one(rowOf(own[step].shows.at(-1)[0].value, token))} in head ${head + 1}`).join(", ");
  const best = (numbers) => `${quoted(largest(numbers))} (${format(Math.max(...numbers))})`;
  if (now.kind === "scores") return `For ${quoted(token)} the highest score is that of ${ofHeads(best)}.`;
  if (now.kind === "mask") return `${quoted(token)} may look at ${token + 1} of ${tokens.length} words.`;
  if (now.kind === "weights") return `${quoted(token)} looks most at ${ofHeads(best)}.`;
  if (made.kind === "activation") return `${row.filter((number) => number === 0).length} of ${row.length} units are silent for ${quoted(token)}.`;
  if (now.kind === "probabilities") return `Likeliest after ${quoted(tokens.length - 1)}: “${words[largest(shares)]}” (${format(Math.max(...shares))}).`;
  if (made.kind === "add") {
    const lengths = [now.shows[0][0].value, made.value].map((X) => format(lengthOf(rowOf(X, token))));
    return `The vector of ${quoted(token)} was ${lengths[0]} long and is now ${lengths[1]}.`;
  }
  return `${row.length} numbers for ${quoted(token)}, from ${format(Math.min(...row))} to ${format(Math.max(...row))}.`;
}

function build({ read, change, reset, line, tell, explain, retell, draw, addressOf }) {
  const { config, words, sentences, tokens } = read();
  const heads = range(config.n_heads, (head) => head);
  const stepsBy = ({ nodes }) => heads.map((head) => stepsOf(nodes, config, head));
  const atFirst = stepsBy(work(read()));
  const [times, count] = [timesOf(atFirst), atFirst[0].length];
  let wide = true, looked = null, open = null, chosen = null, shown = null; // `shown` is what stands there: state, done, …

  // The sentence, the way, and what would be right.
  const say = (own) => {
    const learned = read().changes.filter(([name]) => shown.byName.get(name).kind === "given");
    change({ tokens: own, token: own.length - 1, changes: learned });
  };
  const sentence = choice({ legend: "Sentence", labels: sentences, onChoose: (i) => say(sentences[i].split(" ")) });
  const own = wordField({
    words: tokens, fewest: 1, most: config.n_positions, note: ` of the ${words.length} the model knows: ${words.join(" ")}`,
    onWords: (given) => {
      const unknown = given.filter((word) => !words.includes(word));
      if (unknown.length) return `The model does not know ${unknown.map((word) => `“${word}”`).join(", ")}.`;
      return say(given);
    },
  });
  const way = choice({ legend: "Way", labels: ["forward: the prediction", "backward: the error"], onChoose: (i) => change({ backward: i === 1 }) });
  const select = element("select", { autocomplete: "off" }, ...words.map((word, i) => element("option", { value: i }, word)));
  select.addEventListener("change", () => change({ wanted: Number(select.value) }));
  const wantedRow = element("label", { className: "attn-wanted" }, element("span", {}, "Next word that would be right"), select);
  const outcome = element("p", { className: "attn-outcome" });

  // Time, in the direction walked.
  let timer = null;
  const inWalk = (step, { backward }) => (backward ? count - 1 - step : step); // its place among the steps, and back
  const walked = () => inWalk(read().step, read());
  const walkTo = (place) => change({ step: inWalk(place, read()) });
  const stop = () => {
    clearTimeout(timer);
    timer = null;
    play.textContent = "▶ Run";
  };
  const run = () => {
    if (!stage.isConnected || walked() === count - 1) return stop();
    walkTo(walked() + 1);
    timer = setTimeout(run, 1000);
  };
  const play = button("attn-button", "▶ Run", () => {
    if (timer) return stop();
    play.textContent = "Stop";
    if (walked() === count - 1) walkTo(0);
    timer = setTimeout(run, 500);
  });
  const byHand = (place) => {
    stop();
    walkTo(place);
  };
  const previous = button("attn-button", "←", () => byHand(walked() - 1));
  const next = button("attn-button", "→", () => byHand(walked() + 1));
  previous.ariaLabel = "Previous step";
  next.ariaLabel = "Next step";
  const time = slider({ label: "Step", min: 0, max: count - 1, step: 1, show: (place) => `${place + 1} of ${count}`, onInput: byHand });
  const title = element("p", { className: "attn-step-title" });
  const text = element("p", { className: "attn-step-text" });

  // The stage: what will stand on it is made once, and then only set.
  const label = (className, node = drawing("text")) => {
    node.setAttribute("class", className);
    return node;
  };
  const pressable = (...marks) => drawing("g", { role: "button", tabindex: -1 }, drawing("rect", { class: "attn-target" }), ...marks);
  const first = loomOf(config, tokens.length, true);
  const widths = new Map(shownNodes(atFirst).map(({ name, value }) => [name, value.cols]));
  const strips = first.strips.map(({ floor, part, word, names }) => {
    const { label: kind, role } = first.floors[floor];
    const cells = range(kind === "weights" ? 0 : widths.get(names.at(-1)), () => drawing("rect"));
    const ground = drawing("rect", { class: `attn-ground attn-${role || "plain"}` });
    const group = pressable(...(cells.length ? [ground] : []), ...cells);
    group.classList.add("attn-vector");
    return { floor, part, word, names, cells, ground, group };
  });
  const ribbons = strips.filter(({ cells }) => !cells.length).flatMap((to) => strips
    .filter(({ floor, part, word }) => floor === to.floor && part === to.part && word <= to.word)
    .map((from) => ({ from, to, path: drawing("path", { class: `attn-ribbon attn-of-${to.part % 2}` }) })));
  const dots = strips.filter(({ cells }) => !cells.length).map((strip) => ({ strip, node: drawing("circle", { class: "attn-dot" }) }));
  const streams = first.floors.flatMap(({ label: kind, parts }, floor) => (kind === "stream" ? [{ floor, names: parts[0] }] : []));
  const threads = streams.flatMap((stream, k) => tokens.map((_, word) => ({ k, word, node: drawing("line", { class: "attn-thread" }) })));
  const beside = first.floors.map(({ label: name, role }) => label(`attn-floor attn-${role || "plain"}`, drawing("text", {}, name)));
  const feet = tokens.map((token, i) => {
    const name = drawing("text", { "text-anchor": "middle" }, token);
    const group = pressable(name);
    group.classList.add("attn-foot");
    return { group, name, word: i };
  });
  const bars = words.map((word) => {
    const [name, number] = [label("attn-bar-word", drawing("text", { "text-anchor": "end", y: 12 }, word)), label("attn-bar-number", drawing("text", { y: 12 }))];
    const [bar, ghost] = ["attn-grown", "attn-ghost"].map((kind) => drawing("rect", { class: kind, y: 1, height: 13 }));
    return { word, name, number, bar, ghost, group: drawing("g", { class: "attn-outlook" }, bar, ghost, name, number) };
  });
  const ghosts = drawing("g", { class: "attn-ghosts" }), flights = drawing("g", { class: "attn-flights" });
  const world = drawing("g", { class: "attn-world" }, ...threads.map(({ node }) => node), ...ribbons.map(({ path }) => path), ghosts,
    ...dots.map(({ node }) => node), ...beside, ...strips.map(({ group }) => group), flights);
  const windowed = drawing("svg", {}, world);
  const stage = drawing("svg", { class: "attn-loom", role: "group" },
    ...bars.map(({ group }) => group), windowed, ...feet.map(({ group }) => group));
  const rows = [feet, ...first.floors.map((_, floor) => strips.filter((strip) => strip.floor === floor))];
  feet.forEach(({ group, word }) => pressed(group, () => change({ token: word })));
  strips.forEach((strip) => {
    pressed(strip.group, () => openStrip(strip));
    strip.group.addEventListener("focus", () => {
      if (!strip.group.matches(":focus-visible")) return; // what is pressed must not move away
      looked = strip.floor;
      arrange();
    });
  });
  feet[0].group.setAttribute("tabindex", 0);
  stage.addEventListener("focusin", ({ target }) => {
    stage.querySelectorAll("[tabindex='0']").forEach((node) => node.setAttribute("tabindex", -1));
    target.setAttribute("tabindex", 0);
  });
  stage.addEventListener("keydown", (event) => {
    const up = rows.findIndex((row) => row.some(({ group }) => group === event.target));
    const across = rows[up].findIndex(({ group }) => group === event.target);
    const { word } = rows[up][across];
    const goal = {
      ArrowLeft: rows[up][across - 1], ArrowRight: rows[up][across + 1], Home: rows[up][0], End: rows[up].at(-1),
      ArrowUp: rows[up + 1]?.find((one) => one.word === word), ArrowDown: rows[up - 1]?.find((one) => one.word === word),
    };
    if (!(event.key in goal)) return;
    event.preventDefault();
    goal[event.key]?.group.focus({ preventScroll: true });
  });

  function pressed(group, onPress) {
    group.addEventListener("click", onPress);
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      onPress();
    });
  }

  const isWide = () => (stage.getBoundingClientRect().width || 640) > 480;

  // Put everything in its place: for the width there is, and in the window the floor that is looked at.
  function arrange() {
    const { state } = shown;
    wide = isWide();
    const { width, gutter, columns, full, whole, window, strips: places } = loomOf(config, tokens.length, wide);
    const { likeliest } = wide ? WIDE : NARROW;
    const top = likeliest * BAR + 6;
    stage.setAttribute("viewBox", `0 0 ${width} ${top + window + 26}`);
    put(windowed, { y: top, width, height: window });
    strips.forEach((strip, k) => {
      const { x, y, w, high } = Object.assign(strip, places[k]);
      strip.group.style.transform = moved(x, y);
      put(strip.group.firstChild, { width: w, height: high });
      put(strip.ground, { y: 2, width: w, height: high - 4 });
      strip.cells.forEach((cell, j) => put(cell, { x: (j * w) / strip.cells.length, y: 2, width: w / strip.cells.length, height: high - 4 }));
    });
    const middle = ({ x, w }) => x + w / 2;
    ribbons.forEach((ribbon) => put(ribbon.path, { d: curve(ribbon.from, ribbon.to) }));
    dots.forEach(({ strip, node }) => put(node, { cx: middle(strip), cy: strip.y + strip.high - 9 }));
    const floorOf = (floor) => strips.find((strip) => strip.floor === floor);
    threads.forEach(({ k, word, node }) => {
      const [low, high] = [floorOf(streams[k].floor), streams[k + 1] ? floorOf(streams[k + 1].floor) : null];
      put(node, { x1: columns[word] + 4, x2: columns[word] + 4, y1: k === 0 ? whole : low.y, y2: high ? high.y + high.high : 0 });
    });
    beside.forEach((node, floor) => put(node, { x: 2, y: floorOf(floor).y + floorOf(floor).high / 2 + 4 }));
    const letters = Math.max(...tokens.map((token) => token.length));
    feet.forEach(({ group, name, word }) => {
      group.style.transform = moved(columns[word], top + window);
      put(group.firstChild, { width: full, height: 26 });
      put(name, { x: full / 2, y: 18 });
      name.style.fontSize = `${Math.max(10, Math.min(14, (full + 6) / letters / 0.58))}px`;
    });
    bars.forEach((bar) => {
      put(bar.name, { x: gutter - 6 });
      bar.full = width - gutter - 120;
      put(bar.bar, { width: bar.full });
      put(bar.ghost, { x: gutter });
      bar.from = gutter;
    });
    const focus = floorOf(looked ?? madeFloor(state));
    const down = Math.min(0, Math.max(window - whole, window / 2 - focus.y - focus.high / 2));
    world.style.transform = moved(0, down);
  }

  function madeFloor({ step }) {
    return strips.find(({ names }) => names.includes(atFirst[0][step].shows.at(-1)[0].name)).floor;
  }

  // Numbers as colours, weights as widths, probabilities as lengths; beside them what they were before the reader's changes.
  function paint() {
    const { state, done, byName, was } = shown;
    const { step, backward, token } = state;
    const here = new Set(shownNodes(shown.all, step).map(({ name }) => name));
    const known = new Map();
    const lookAt = (name, grad, source) => {
      const X = grad ? source.grads.get(source.nodes.find((node) => node.name === name)) : source.nodes.find((node) => node.name === name).value;
      return { X, most: mostOf(X) };
    };
    const numbers = (name, grad) => known.get(name + grad) ?? known.set(name + grad, lookAt(name, grad, done)).get(name + grad);
    const colour = (name, number) => (name === "probabilities" ? "rgb(var(--attn-weight))" : `var(--attn-${number < 0 ? "minus" : "plus"})`);
    ghosts.replaceChildren();
    strips.forEach((strip) => {
      const { name, there } = shownAt(strip.names, times, step, backward);
      const grad = backward && there;
      Object.assign(strip, { name, there, grad });
      strip.group.style.opacity = there ? (here.has(name) ? 1 : 0.6) : 0.16;
      strip.group.setAttribute("aria-label", `${grad ? "gradient of " : ""}${name}, “${tokens[strip.word]}”`);
      strip.group.classList.toggle("attn-now", there && here.has(name));
      const { X, most } = numbers(name, grad);
      const { held } = byName.get(name);
      const earlier = was && !grad && strip.cells.length ? lookAt(name, false, was) : null;
      strip.cells.forEach((cell, j) => {
        const number = at(X, strip.word, j);
        cell.style.fill = colour(name, number);
        cell.style.fillOpacity = Math.abs(number) / most;
        cell.classList.toggle("attn-set", Boolean(held?.has(strip.word * X.cols + j)));
        const old = earlier && at(earlier.X, strip.word, j);
        if (!earlier || Math.abs(number - old) < 0.02 * most) return;
        const mark = drawing("rect", { x: strip.x + Number(cell.getAttribute("x")), y: strip.y + strip.high - 2, width: cell.getAttribute("width"), height: 2 });
        mark.style.fill = colour(name, old);
        mark.style.fillOpacity = Math.abs(old) / earlier.most;
        ghosts.append(mark);
      });
      const size = grad && strip.cells.length ? lengthOf(rowOf(X, strip.word)) / Math.max(1e-9, ...tokens.map((_, i) => lengthOf(rowOf(X, i)))) : 1;
      strip.group.style.setProperty("--attn-size", 0.3 + 0.7 * size);
    });
    ribbons.forEach(({ from, to, path }) => {
      const number = at(numbers(to.name, to.grad).X, to.word, from.word);
      const drawn = to.grad || /weights$/.test(to.name);
      const width = to.grad ? Math.abs(number) / numbers(to.name, true).most : drawn ? number : 0;
      path.style.strokeWidth = 14 * width;
      path.style.stroke = to.grad ? colour("", number) : "";
      path.style.opacity = (to.there ? 1 : 0.2) * (to.word === token ? 0.75 : 0.12);
      if (!was || to.grad || !drawn || to.word !== token) return;
      const old = at(lookAt(to.name, false, was).X, to.word, from.word);
      if (Math.abs(old - number) > 0.01) {
        ghosts.append(...[-7, 7].map((side) => label("attn-was", drawing("path", { d: curve(from, to, side * old) }))));
      }
    });
    dots.forEach(({ strip, node }) => {
      const asked = strips.find(({ floor, part, word }) => floor === strip.floor && part === strip.part && word === token);
      const score = /scores$/.test(asked.name) && asked.there && !asked.grad;
      const { X, most } = numbers(asked.name, asked.grad);
      const number = score ? at(X, token, strip.word) : 0;
      node.classList.toggle("attn-shut", score && number === -Infinity);
      node.style.fill = colour("", number);
      put(node, { r: !score ? 0 : number === -Infinity ? 3 : 2 + 5 * Math.abs(number) / most });
    });
    const lengths = streams.map(({ names }) => tokens.map((_, i) => lengthOf(rowOf(done.grads.get(byName.get(names.at(-1))), i))));
    const longest = Math.max(1e-9, ...lengths.flat());
    threads.forEach(({ k, word, node }) => {
      const { there } = shownAt([streams[k].names.at(-1)], times, step, backward);
      node.classList.toggle("attn-passed", there);
      node.style.strokeWidth = backward && there ? 1 + 8 * lengths[k][word] / longest : 2;
    });
    stage.classList.toggle("attn-backward", backward);
    beside.forEach((node, floor) => node.classList.toggle("attn-here", floor === madeFloor(state)));
    feet.forEach(({ group, word }) => group.setAttribute("aria-pressed", word === token));
    const { likeliest } = wide ? WIDE : NARROW;
    const order = words.map((_, i) => i).sort((a, b) => done.shares[b] - done.shares[a]);
    if (backward && order.indexOf(state.wanted) >= likeliest) order.splice(likeliest - 1, 0, state.wanted);
    bars.forEach(({ group, number, bar, ghost, full, from }, i) => {
      const rank = order.indexOf(i);
      const share = done.shares[i];
      group.style.transform = moved(0, 3 + BAR * Math.min(rank, likeliest - 1));
      group.style.opacity = Number(rank < likeliest);
      bar.style.transform = `${moved(from, 0)} scale(${share}, 1)`;
      put(ghost, { width: was ? full * was.shares[i] : 0 });
      number.textContent = format(share, 3) + (backward && i === state.wanted ? ` right, loss ${format(done.loss)}` : "");
      number.style.transform = moved(from + full * Math.max(share, was ? was.shares[i] : 0) + 6, 0);
    });
  }

  function fly(step, backward) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    flightsOf(strips, shown.all, step, shown.state.token).forEach((pair) => {
      const [from, to] = backward ? pair.reverse() : pair;
      if (!from.cells.length || !to.cells.length) return;
      const copy = from.group.cloneNode(true);
      copy.removeAttribute("role");
      copy.removeAttribute("tabindex");
      copy.setAttribute("aria-hidden", true);
      flights.append(copy);
      const goal = `${moved(to.x, to.y)} scale(${to.w / from.w}, 1)`;
      copy.animate([
        { transform: `${moved(from.x, from.y)} scale(1, 1)`, opacity: 0.9 },
        { transform: goal, opacity: 0.9, offset: 0.75 }, { transform: goal, opacity: 0 },
      ], { duration: 600, easing: "ease-in-out" }).onfinish = () => copy.remove();
    });
  }

  // The numbers of what is open.
  const head = choice({ legend: "Head", labels: heads.map((one) => String(one + 1)), onChoose: (i) => change({ head: i }) });
  const tabs = element("select", { autocomplete: "off", "aria-label": "Numbers that are shown" }), panel = box("attn-arrays");
  let cells = [], listed = null, drawn = null;
  const setting = slider({ label: "", min: -4, max: 4, onInput: (number) => setTo(number) });
  const [asked, input, shownNumber] = setting.row.children;
  const back = button("attn-button", "Take it back", () => change({ changes: read().changes.slice(0, -1) })); // the last one
  tabs.addEventListener("change", () => {
    open = { ...open, ...arraysOf(open)[Number(tabs.value)] };
    showArray();
  });

  const arraysOf = ({ step }) => {
    const { shows } = shown.steps[step];
    const both = [false, true].flatMap((grad) => shows.map(([node, ...axes], place) => ({ node, axes, place, grad })));
    return both.filter(({ node, grad }) => !grad || (shown.state.backward && shown.done.grads.has(node)));
  };

  function openStrip({ name, grad, part, word }) {
    stop();
    const { born: step } = times.get(name);
    const head = name.includes(", head ") ? part : read().head;
    const place = shown.all[head][step].shows.findIndex(([node]) => node.name === name);
    open = { step, place, grad };
    chosen = null;
    change({ token: word, head });
  }

  function setTo(number) {
    const { name, i, j } = chosen;
    const others = read().changes.filter(([other, row, column]) => !(other === name && row === i && column === j));
    change({ changes: [...others, [name, i, j, number]] });
  }

  function showArray() {
    const { state } = shown;
    const all = arraysOf(open);
    const number = Math.max(0, all.findIndex(({ place, grad }) => place === open.place && grad === open.grad));
    const list = JSON.stringify([open.step, state.head, state.backward]);
    if (list !== listed) {
      tabs.replaceChildren(...all.map(({ node, grad }, value) => element("option", { value },
        `${grad ? "gradient of " : ""}${shortName(node)}${/, head \d+/.exec(node.name) ?? ""}`)));
    }
    tabs.value = number;
    if (list !== listed || number !== drawn) drawArray(all[number]);
    [listed, drawn] = [list, number];
    panel.classList.toggle("attn-shares", !all[number].grad && /weights$|probabilities/.test(all[number].node.name));
    fillArray(all[number]);
  }

  function drawArray({ node, axes: [rowAxis, columnAxis], grad }) {
    chosen = null;
    const X = node.value;
    const names = { token: tokens, key: tokens, word: words, "": [""] };
    const turn = X.cols > WIDEST;
    const sides = [[rowAxis, X.rows], [columnAxis, X.cols]];
    const [[down, n], [across, m]] = turn ? sides.reverse() : sides;
    const called = (axis, k) => names[axis]?.[k] ?? String(k + 1);
    const headings = (axis, length, scope) => range(length, (k) => heading(scope)(called(axis, k)));
    cells = grid(n, m, (y, x) => {
      const [i, j] = turn ? [x, y] : [y, x];
      const cell = button("attn-cell", "", () => choose());
      const choose = () => {
        chosen = { name: node.name, i, j };
        fillArray({ node: shown.byName.get(node.name), grad });
      };
      cell.addEventListener("focus", choose);
      explain(cell, () => {
        const at = { node: shown.byName.get(node.name), i, j };
        const opened = grad ? openGrad(at, shown.done, shown.state) : openValue(at, shown.state);
        light(opened.lit);
        return `${grad ? "Gradient. " : ""}${opened.text}`;
      });
      return { cell, i, j, called: [called(down, y), called(across, x)].filter(Boolean).join(", ") };
    }).flat();
    const { table, lines } = tableOf({
      title: `${grad ? "Gradient: " : ""}${shortName(node)} (${AXES[down]} × ${AXES[across]})`,
      columns: headings(across, m, "col"), rows: headings(down, n, "row"),
      cells: range(n, (y) => cells.slice(y * m, (y + 1) * m).map(({ cell }) => cell)),
    });
    panel.replaceChildren(box("attn-scroll", table));
    if (down === "token") lines[shown.state.token].scrollIntoView?.({ block: "nearest" });
  }

  function fillArray({ node, grad }) {
    const { state, done } = shown;
    const X = grad ? done.grads.get(node) : node.value;
    const widest = mostOf(X);
    cells.forEach(({ cell, i, j }) => {
      const number = at(X, i, j);
      cell.textContent = format(number);
      cell.classList.toggle("attn-minus", number < 0);
      cell.classList.toggle("attn-set", !grad && Boolean(node.held?.has(i * X.cols + j)));
      cell.style.setProperty("--attn-w", Number.isFinite(number) ? Math.abs(number) / widest : 0);
      cell.setAttribute("aria-pressed", chosen?.i === i && chosen.j === j);
    });
    const number = chosen && at(X, chosen.i, chosen.j);
    const fits = chosen !== null && !grad && node.name !== "probabilities" && Number.isFinite(number);
    input.disabled = !fits;
    back.disabled = state.changes.length === 0;
    asked.textContent = fits ? `Set “${cells.find(({ i, j }) => i === chosen.i && j === chosen.j).called}” to`
      : grad ? "Gradients follow" : "Press a number";
    if (!fits) return void (shownNumber.textContent = "");
    const reach = Math.max(4, Math.ceil(2 * Math.abs(at(node.made ?? X, chosen.i, chosen.j))));
    put(input, { min: -reach, max: reach });
    setting.set(number);
  }

  // Frame what went into a sum.
  function light(lit) {
    const is = (name, i, j, grad) => lit.some((one) => one.node.name === name && one.i === i && one.j === j && Boolean(one.grad) === grad);
    strips.forEach((strip) => strip.cells.forEach((cell, j) => cell.classList.toggle("attn-lit", is(strip.name, strip.word, j, strip.grad))));
  }

  draw(
    sentence.row, box("attn-controls", way.row, wantedRow), outcome, stage, box("attn-time", play, previous, time.row, next),
    title, text, box("attn-magnifier", box("attn-open", tabs, head.row), panel, box("attn-beside-numbers", box("attn-setting", setting.row, back), line)),
    box("attn-controls", own), reset);
  new ResizeObserver(() => {
    if (isWide() === wide) return;
    arrange();
    paint();
  }).observe(stage);

  return (state) => {
    const { state: from } = shown ?? {};
    const done = work(state);
    const all = stepsBy(done);
    const steps = all[state.head];
    const now = steps[state.step];
    const was = state.changes.length ? work({ ...state, changes: [] }) : null;
    shown = { state, done, all, steps, was, byName: new Map(done.nodes.map((node) => [node.name, node])) };
    const likeliest = done.shares.map((share, i) => [share, words[i]]).sort(([a], [b]) => b - a).slice(0, 2);
    sentence.set(sentences.indexOf(tokens.join(" ")));
    way.set(state.backward ? 1 : 0);
    head.set(state.head);
    select.value = state.wanted;
    wantedRow.hidden = !state.backward;
    outcome.textContent = `${tokens.join(" ")} … ${likeliest.map(([share, word]) => `${word} ${format(share, 3)}`).join(", ")}`
      + (state.backward ? `. Were “${words[state.wanted]}” right, the loss would be ${format(done.loss)}.` : ".");
    const place = inWalk(state.step, state);
    time.set(place);
    previous.disabled = place === 0;
    next.disabled = place === count - 1;
    title.textContent = `Step ${place + 1} of ${count}, ${now.part}: ${now.title}`;
    const made = now.shows.at(-1)[0];
    const chapter = CHAPTERS[now.kind];
    const address = addressOf(chapter);
    text.replaceChildren(
      `${state.backward ? BACKWARD[now.kind] ?? BACKWARD[made.kind] : now.text} `,
      address ? element("a", { href: address }, `Chapter ${chapter}.`) : `Chapter ${chapter}.`);
    stage.setAttribute("aria-label", `The loom: ${tokens.length} threads, read from below. The arrow keys go from strip to strip, Enter opens one.`);
    const turned = !from || from.backward !== state.backward;
    if (turned || from.step !== state.step) {
      const grad = state.backward;
      open = { step: state.step, place: grad ? now.shows.findIndex(([node]) => done.grads.has(node)) : now.shows.length - 1, grad };
      looked = chosen = null;
    }
    arrange();
    paint();
    if (!turned && state.step - from.step === (state.backward ? -1 : 1)) fly(state.step, state.backward);
    showArray();
    if (!chosen) {
      light([]);
      const elsewhere = `“${tokens[state.token]}”, step ${inWalk(open.step, state) + 1}, ${steps[open.step].title}: these are the numbers.`;
      tell(open.step === state.step ? seenAt(state.step, all, done, state) : elsewhere);
    }
  };
}

const render = figure({
  label: "One sentence, all the way",
  names: ["params", "config", "words", "sentences", "tokens", "token", "step", "head", "backward", "wanted", "changes"], build,
  fixed: ({ words, sentences, tokens }) => [words, sentences, tokens],
});

export default { render, runMachine, runBack, work, openValue, openGrad, matrixOf, loomOf, stepsOf, timesOf, shownAt };
