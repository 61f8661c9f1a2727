// One sentence, all the way: a small transformer from words to the next word's probabilities, step by step, and the
// error on its way back. Each step shows its arrays; each number opens the sum that made it, and lights what went in.

const WIDEST = 8; // an array of more columns is shown turned over

const AXES = { // what the tables call them
  token: "words", key: "words asked", word: "vocabulary", entry: "d_model", "of the head": "d_k", unit: "d_ff", "": "1",
};

const CHAPTERS = {
  embedding: 1, positions: 8, norm: 9, queries: 2, keys: 2, scores: 4, mask: 5, weights: 3, values: 6, mixtures: 6, update: 7,
  attended: 6, mlp: 9, stream: 9, logits: 9, probabilities: 9,
};

// The steps of a run, in order: the box in the picture, what the step is called and does, and the arrays it shows, each
// as [node, axis of its rows, axis of its columns]; the last of these is what the step makes.
function stepsOf(nodes, { n_layers: nLayers }, head) {
  const named = (name) => nodes.find((node) => node.name === name);
  const shown = (names, ...axes) => [named(names), ...axes];
  const norm = (into, path, out) => [
    shown(into, "token", "entry"), shown(`${path} / gain`, "", "entry"), shown(`${path} / bias`, "", "entry"),
    shown(out, "token", "entry")];
  const steps = [];
  const step = (part, box, kind, title, text, shows) => steps.push({ part, box, kind, title, text, shows });

  step("words in", "embedding", "embedding", "Embedding", "Each word fetches its row of a learned table.",
    [shown("embedding", "word", "entry"), shown("embeddings", "token", "entry")]);
  step("words in", "+ position", "positions", "Positions", "A learned row for each place is added, so that the order counts.",
    [shown("embeddings", "token", "entry"), shown("positions of the tokens", "token", "entry"), shown("stream", "token", "entry")]);
  let stream = "stream";
  for (let layer = 1; layer <= nLayers; layer++) {
    const [prefix, own] = [`layer ${layer}`, `layer ${layer}, head ${head + 1}: `];
    const matrix = (letter) => `${prefix} / attention / W_${letter} / ${head}`;
    const normal = `${prefix}: normalised`;
    const heads = nodes.filter(({ name }) => name.startsWith(`${prefix}, head`) && name.endsWith("update"));
    const attention = nLayers > 1 ? `attention, layer ${layer}` : "attention";
    const mlp = nLayers > 1 ? `MLP, layer ${layer}` : "MLP";
    const project = (letter, kind, box, text) => step(attention, box, kind, `The ${kind} of head ${head + 1}`, text,
      [shown(normal, "token", "entry"), shown(matrix(letter), "entry", "of the head"), shown(own + letter, "token", "of the head")]);

    step(attention, "norm", "norm", "Normalise", "Each row is brought to mean 0 and deviation 1, then stretched and shifted by learned numbers.",
      norm(stream, `${prefix} / attention / norm`, normal));
    project("Q", "queries", "q", "What each word asks: its normalised row times a matrix.");
    project("K", "keys", "k", "What each word can be found by: the same row times another matrix.");
    step(attention, "scores", "scores", "Scores", "Each query meets each key in a dot product, divided by the root of their length.",
      [shown(`${own}Q`, "token", "of the head"), shown(`${own}K`, "key", "of the head"), shown(`${own}scores`, "token", "key")]);
    step(attention, "mask", "mask", "Mask", "No word may look at a later one: those scores become −∞.",
      [shown(`${own}scores`, "token", "key"), shown(`${own}masked scores`, "token", "key")]);
    step(attention, "softmax", "weights", "Weights", "Softmax makes each row of scores into shares of 1.",
      [shown(`${own}masked scores`, "token", "key"), shown(`${own}weights`, "token", "key")]);
    project("V", "values", "v", "What each word hands over when it is looked at.");
    step(attention, "mix", "mixtures", "Mixtures", "Each word gets the average of the values, weighted by its row.",
      [shown(`${own}weights`, "token", "key"), shown(`${own}V`, "key", "of the head"), shown(`${own}mixtures`, "token", "of the head")]);
    step(attention, "W_O", "update", "What the head writes", "A last matrix brings the mixture back to the width of the stream.",
      [shown(`${own}mixtures`, "token", "of the head"), shown(matrix("O"), "of the head", "entry"), shown(`${own}update`, "token", "entry")]);
    step(attention, "+ add", "attended", "Add", "What all heads write is added to the stream.",
      [shown(stream, "token", "entry"), ...heads.map((node) => [node, "token", "entry"]), shown(`${prefix}: stream after attention`, "token", "entry")]);

    step(mlp, "norm", "norm", "Normalise again", "The sum is normalised for the MLP; the stream itself stays as it is.",
      norm(`${prefix}: stream after attention`, `${prefix} / mlp / norm`, `${prefix}: normalised for the MLP`));
    step(mlp, "widen", "mlp", "Widen", "Each word alone, its row meets more directions than it has entries; a bias is added.",
      [shown(`${prefix}: normalised for the MLP`, "token", "entry"), shown(`${prefix} / mlp / W_1`, "entry", "unit"),
        shown(`${prefix} / mlp / b_1`, "", "unit"), shown(`${prefix}: widened`, "token", "unit")]);
    step(mlp, "ReLU", "mlp", "ReLU", "Negative numbers become zero: these units stay silent.",
      [shown(`${prefix}: widened`, "token", "unit"), shown(`${prefix}: hidden`, "token", "unit")]);
    step(mlp, "narrow", "mlp", "Narrow", "Each unit that is not silent writes its row, as loudly as it was met.",
      [shown(`${prefix}: hidden`, "token", "unit"), shown(`${prefix} / mlp / W_2`, "unit", "entry"),
        shown(`${prefix} / mlp / b_2`, "", "entry"), shown(`${prefix}: update of the MLP`, "token", "entry")]);
    step(mlp, "+ add", "stream", "Add again", "What the MLP writes is added too. This is the stream behind the layer.",
      [shown(`${prefix}: stream after attention`, "token", "entry"), shown(`${prefix}: update of the MLP`, "token", "entry"),
        shown(`${prefix}: stream`, "token", "entry")]);
    stream = `${prefix}: stream`;
  }
  step("next word out", "norm", "norm", "Normalise a last time", "The stream is normalised once more, for reading.",
    norm(stream, "norm", "normalised"));
  step("next word out", "unembed", "logits", "Logits", "Each word of the vocabulary has a direction; the dot product with it, and a bias, is its logit.",
    [shown("normalised", "token", "entry"), shown("unembedding / W", "entry", "word"), shown("unembedding / b", "", "word"), shown("logits", "token", "word")]);
  step("next word out", "softmax", "probabilities", "Probabilities", "Softmax makes the logits into probabilities of the next word.",
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
function work({ params, config, words, tokens, wanted }) {
  const nodes = runMachine(params, config, tokens.map((word) => words.indexOf(word)));
  const logits = nodes.at(-1);
  const value = KINDS.softmax.value([logits.value]);
  const last = tokens.length - 1;
  const top = matrixFrom(value.rows, value.cols, (i, j) => (i < last ? 0 : at(value, i, j) - Number(j === wanted)));
  const grads = runBack(nodes, top);
  nodes.push({ kind: "softmax", name: "probabilities", inputs: [logits], options: {}, value });
  return { nodes, grads, logits, shares: rowOf(value, last), loss: -Math.log(at(value, last, wanted)) };
}

// The sum behind a number, as text, and the numbers in it: each { node, i, j } and whether its gradient is meant.
function openValue({ node, i, j }, { words, tokens }) {
  const { kind, inputs, options, value } = node;
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
  const { kind, inputs, options, value } = consumer;
  const grad = grads.get(consumer);
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

function build({ read, change, reset, line, tell, explain, draw, addressOf }) {
  const { config, words, sentences, tokens } = read();
  const say = (own) => change({ tokens: own, token: own.length - 1 });
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
  const head = choice({ legend: "Head", labels: Array.from({ length: config.n_heads }, (_, i) => String(i + 1)), onChoose: (i) => change({ head: i }) });
  const token = choice({ legend: "Word that is followed", labels: tokens, onChoose: (i) => change({ token: i }) });
  const select = element("select", { autocomplete: "off" }, ...words.map((word, i) => element("option", { value: i }, word)));
  select.addEventListener("change", () => change({ wanted: Number(select.value) }));
  const wantedRow = element("label", { className: "attn-wanted" }, element("span", {}, "Next word that would be right"), select);
  const outcome = element("p", { className: "attn-outcome" });

  const parts = new Map();
  const boxes = stepsOf(work(read()).nodes, config, 0).map(({ part, box: text, title }, i) => {
    const node = button("attn-step", text, () => change({ step: i }));
    node.title = title;
    parts.set(part, [...(parts.get(part) ?? []), node]);
    return node;
  });
  const picture = element("div", { className: "attn-machine", role: "group", "aria-label": "The picture: each box is a step" },
    ...[...parts].map(([part, boxesOf]) => element("div", { className: "attn-part", role: "group", "aria-label": part },
      element("span", { className: "attn-head" }, part), box("attn-flow", ...boxesOf))));
  picture.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const goal = boxes[boxes.indexOf(event.target) + move];
    if (!goal) return;
    event.preventDefault();
    goal.focus();
    goal.click();
  });
  const onward = (by) => change({ step: read().step + (read().backward ? -by : by) });
  const previous = button("attn-button", "← Previous step", () => onward(-1));
  const next = button("attn-button", "Next step →", () => onward(1));
  const title = element("p", { className: "attn-step-title", "aria-live": "polite" });
  const text = element("p", { className: "attn-step-text" });
  const arrays = box("attn-panes attn-arrays");

  draw(
    sentence.row, box("attn-controls", own), outcome, picture,
    box("attn-controls", previous, next, way.row, head.row, wantedRow), token.row, title, text, arrays, line, reset);

  // An array as a table of buttons, each of which opens its sum; `grad` shows gradients in place of numbers.
  function arrayOf([node, rowAxis, columnAxis], state, done, cellsOf, grad) {
    const X = grad ? done.grads.get(node) : node.value;
    const names = { token: tokens, key: tokens, word: words, "": [""] };
    const turn = X.cols > WIDEST;
    const axes = [[rowAxis, X.rows], [columnAxis, X.cols]];
    const [[down, n], [across, m]] = turn ? axes.reverse() : axes;
    const headings = (axis, length, scope) => Array.from({ length }, (_, k) => heading(scope)(names[axis]?.[k] ?? String(k + 1)));
    const widest = Math.max(...X.data.map((number) => (Number.isFinite(number) ? Math.abs(number) : 0))) || 1;
    const cells = grid(n, m, (y, x) => {
      const [i, j] = turn ? [x, y] : [y, x];
      const number = at(X, i, j);
      const cell = button(`attn-cell ${number < 0 ? "attn-minus" : ""}`, format(number));
      cell.style.setProperty("--attn-w", Number.isFinite(number) ? Math.abs(number) / widest : 0);
      cellsOf.push({ cell, node, i, j, grad });
      explain(cell, () => {
        const opened = grad ? openGrad({ node, i, j }, done, state) : openValue({ node, i, j }, state);
        cellsOf.forEach((one) => one.cell.classList.toggle("attn-lit", opened.lit.some((part) =>
          part.node === one.node && part.i === one.i && part.j === one.j && Boolean(part.grad) === one.grad)));
        return `${grad ? "Gradient. " : ""}${opened.text}`;
      });
      return cell;
    });
    const { table, lines } = tableOf({
      title: `${grad ? "Gradient: " : ""}${shortName(node)} (${AXES[down]} × ${AXES[across]})`,
      columns: headings(across, m, "col"), rows: headings(down, n, "row"), cells,
    });
    if (down === "token") lines.forEach((row, y) => row.classList.toggle("attn-other", y !== state.token));
    cells.flat().forEach((cell) => (cell.tabIndex = -1)); // the tab stop is where a narrow page shows it
    cells[down === "token" ? state.token : 0][across === "token" ? state.token : 0].tabIndex = 0;
    if (across === "token") {
      [...table.rows].forEach((row) => [...row.cells].slice(1).forEach((cell, x) => cell.classList.toggle("attn-other", x !== state.token)));
    }
    return box("attn-scroll", table);
  }

  return (state) => {
    const done = work(state);
    const steps = stepsOf(done.nodes, config, state.head);
    const now = steps[state.step];
    const likeliest = done.shares.map((share, i) => [share, words[i]]).sort(([a], [b]) => b - a).slice(0, 2);
    sentence.set(sentences.indexOf(state.tokens.join(" ")));
    way.set(state.backward ? 1 : 0);
    head.set(state.head);
    token.set(state.token);
    select.value = state.wanted;
    wantedRow.hidden = !state.backward;
    outcome.textContent = `${state.tokens.join(" ")} … ${likeliest.map(([share, word]) => `${word} ${format(share, 3)}`).join(", ")}`
      + (state.backward ? `. Were “${words[state.wanted]}” right, the loss would be ${format(done.loss)}.` : ".");
    boxes.forEach((node, i) => {
      node.setAttribute("aria-current", i === state.step ? "step" : "false");
      node.tabIndex = i === state.step ? 0 : -1;
    });
    picture.classList.toggle("attn-backward", state.backward);
    const ends = state.backward ? [steps.length - 1, 0] : [0, steps.length - 1];
    [previous, next].forEach((node, i) => (node.disabled = state.step === ends[i]));
    const taken = state.backward ? steps.length - state.step : state.step + 1;
    title.textContent = `Step ${taken} of ${steps.length}: ${now.title}`;
    next.textContent = state.backward ? "← Next step" : "Next step →";
    previous.textContent = state.backward ? "Previous step →" : "← Previous step";
    const made = now.shows.at(-1)[0];
    const chapter = CHAPTERS[now.kind];
    const address = addressOf(chapter);
    text.replaceChildren(
      `${state.backward ? BACKWARD[now.kind] ?? BACKWARD[made.kind] : now.text} `,
      address ? element("a", { href: address }, `Chapter ${chapter}.`) : `Chapter ${chapter}.`);
    const cellsOf = [];
    const values = now.shows.map((one) => arrayOf(one, state, done, cellsOf, false));
    const back = state.backward ? now.shows.filter(([node]) => done.grads.has(node)) : [];
    arrays.replaceChildren(...values, ...back.map((one) => arrayOf(one, state, done, cellsOf, true)));
    tell("Touch a number, or move to it with Tab and the arrow keys: it shows the sum that made it.");
  };
}

const render = figure({
  label: "One sentence, all the way",
  names: ["params", "config", "words", "sentences", "tokens", "token", "step", "head", "backward", "wanted"], build,
  fixed: ({ words, sentences, tokens }) => [words, sentences, tokens],
});

export default { render, runMachine, runBack, work, openValue, openGrad, matrixOf };
