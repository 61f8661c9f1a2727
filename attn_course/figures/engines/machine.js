// A transformer in plain JavaScript, forward and backward: the arithmetic of the figures that show a whole model.
//
// A matrix is { rows, cols, data }, its numbers row after row in a Float64Array. A node is what one step makes: its
// name, its kind (a key of KINDS), its inputs, which are nodes as well, and its value. A run is the list of its nodes.
// Where numbers of a value were set by hand, `made` is the value as it was computed, and `held` has those numbers by place.

import { dot, grid, softmax, sum } from "../common.js";

function matrix(rows, cols, data = new Float64Array(rows * cols)) {
  return { rows, cols, data };
}

function matrixFrom(rows, cols, entry) {
  const X = matrix(rows, cols);
  for (let i = 0; i < rows; i++) for (let j = 0; j < cols; j++) X.data[i * cols + j] = entry(i, j);
  return X;
}

// From nested lists, or from one list as a single row; a matrix stays as it is.
function matrixOf(numbers) {
  if (numbers.data) return numbers;
  const rows = Array.isArray(numbers[0]) ? numbers : [numbers];
  return matrix(rows.length, rows[0].length, Float64Array.from(rows.flat()));
}

function at(X, i, j) {
  return X.data[i * X.cols + j];
}

function rowOf(X, i) {
  return [...X.data.subarray(i * X.cols, (i + 1) * X.cols)];
}

function mapped(X, change) {
  return matrix(X.rows, X.cols, X.data.map(change));
}

function summed(X, Y) {
  return mapped(X, (number, i) => number + Y.data[i]);
}

function columnSums(X) {
  const total = matrix(1, X.cols);
  X.data.forEach((number, i) => (total.data[i % X.cols] += number));
  return total;
}

function transposed(X) {
  return matrixFrom(X.cols, X.rows, (i, j) => at(X, j, i));
}

function times(A, B) {
  const C = matrix(A.rows, B.cols);
  for (let i = 0; i < A.rows; i++) {
    for (let k = 0; k < A.cols; k++) {
      const a = A.data[i * A.cols + k];
      if (a !== 0) for (let j = 0; j < B.cols; j++) C.data[i * B.cols + j] += a * B.data[k * B.cols + j];
    }
  }
  return C;
}

// A times the transpose of B: each row of A with each row of B.
function timesRows(A, B) {
  const C = matrix(A.rows, B.rows);
  for (let i = 0; i < A.rows; i++) {
    for (let j = 0; j < B.rows; j++) {
      let total = 0;
      for (let k = 0; k < A.cols; k++) total += A.data[i * A.cols + k] * B.data[j * A.cols + k];
      C.data[i * B.rows + j] = total;
    }
  }
  return C;
}

// The rows of B below those of A.
function below(A, B) {
  const both = matrix(A.rows + B.rows, B.cols);
  both.data.set(A.data);
  both.data.set(B.data, A.data.length);
  return both;
}

// The share of a normal distribution below x, as attn.layers has it: Abramowitz and Stegun 7.1.26.
function normalBelow(x) {
  const t = 1 / (1 + 0.3275911 * Math.SQRT1_2 * Math.abs(x));
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const tail = 0.5 * Math.exp(-0.5 * x * x) * series;
  return x < 0 ? tail : 1 - tail;
}

const ACTIVATIONS = {
  relu: { value: (x) => Math.max(x, 0), slope: (x) => Number(x > 0) },
  gelu: {
    value: (x) => x * normalBelow(x),
    slope: (x) => normalBelow(x) + (x * Math.exp(-0.5 * x * x)) / Math.sqrt(2 * Math.PI),
  },
};

// A pair's angle at a position, and each pair of a row turned by it; with sign -1, turned back.
function angleAt(position, pair, size, base = 10000) {
  return position * base ** ((-2 * pair) / size);
}

function turned(X, sign, start, step, base) {
  return matrixFrom(X.rows, X.cols, (i, j) => {
    const angle = step * angleAt(start + i, Math.floor(j / 2), X.cols, base);
    const other = j % 2 ? at(X, i, j - 1) : -at(X, i, j + 1);
    return at(X, i, j) * Math.cos(angle) + sign * other * Math.sin(angle);
  });
}

// Mean and deviation of a row, the root of its variance and epsilon.
function spread(row, epsilon) {
  const mean = sum(row) / row.length;
  return [mean, Math.sqrt(sum(row.map((x) => (x - mean) ** 2)) / row.length + epsilon)];
}

// Where in a table of distances the pair of a query i and a key j is found.
function distanceAt(table, i, j) {
  const furthest = (table.cols - 1) / 2;
  return Math.max(-furthest, Math.min(furthest, j - i)) + furthest;
}

// The ways to tell positions, as in attn.positions: `embed` makes the step that is added to embeddings, `turn` changes
// queries or keys, and `bias` is added to the score of a query i and a key j; it may read a table that is learned, `param`.
// Backward, `turnBack` takes a gradient to what was turned, and `biasBack` adds a score's to `found`, that of the table.
const POSITIONS = {
  learned: {
    embed: (places, name, { make, param }) => make("embedding", name, [param("positions")], { tokens: places }),
  },
  sinusoid: {
    embed: (places, name, { leaf, config: { d_model: size } }) => leaf(name, matrixFrom(places.length, size, (i, j) =>
      Math[j % 2 ? "cos" : "sin"](angleAt(places[i], Math.floor(j / 2), size)))),
  },
  relative: {
    param: "relative",
    bias: (head, i, j, table) => at(table, head, distanceAt(table, i, j)),
    biasBack: (grad, head, i, j, found) => (found.data[head * found.cols + distanceAt(found, i, j)] += grad),
  },
  rotary: {
    turn: (X, ...told) => turned(X, 1, ...told),
    turnBack: (grad, ...told) => turned(grad, -1, ...told),
  },
  none: {},
};

// Each kind of step. `value` takes the inputs' values, and whatever else it needs; `back` the gradient, the inputs'
// values, that, and the value: it returns a gradient for each input.
const KINDS = {
  embedding: {
    value: ([table], { tokens }) => matrixFrom(tokens.length, table.cols, (i, j) => at(table, tokens[i], j)),
    back: (grad, [table], { tokens }) => {
      const found = matrix(table.rows, table.cols);
      tokens.forEach((token, i) => rowOf(grad, i).forEach((number, j) => (found.data[token * table.cols + j] += number)));
      return [found];
    },
  },
  add: {
    value: (inputs) => inputs.reduce(summed),
    back: (grad, inputs) => inputs.map(() => grad),
  },
  norm: {
    value: ([X, gain, bias], { epsilon }) => {
      const spreads = Array.from({ length: X.rows }, (_, i) => spread(rowOf(X, i), epsilon));
      return matrixFrom(X.rows, X.cols, (i, j) =>
        ((at(X, i, j) - spreads[i][0]) / spreads[i][1]) * gain.data[j] + bias.data[j]);
    },
    back: (grad, [X, gain], { epsilon }) => {
      const spreads = Array.from({ length: X.rows }, (_, i) => spread(rowOf(X, i), epsilon));
      const normal = matrixFrom(X.rows, X.cols, (i, j) => (at(X, i, j) - spreads[i][0]) / spreads[i][1]);
      const scaled = matrixFrom(X.rows, X.cols, (i, j) => at(grad, i, j) * gain.data[j]);
      const along = spreads.map((_, i) => dot(rowOf(scaled, i), rowOf(normal, i)) / X.cols);
      const mean = spreads.map((_, i) => sum(rowOf(scaled, i)) / X.cols);
      return [
        matrixFrom(X.rows, X.cols, (i, j) => (at(scaled, i, j) - mean[i] - at(normal, i, j) * along[i]) / spreads[i][1]),
        columnSums(mapped(grad, (number, i) => number * normal.data[i])), columnSums(grad),
      ];
    },
  },
  linear: {
    value: ([X, W, b]) => (b ? mapped(times(X, W), (number, i) => number + b.data[i % W.cols]) : times(X, W)),
    back: (grad, [X, W, b]) =>
      [times(grad, transposed(W)), times(transposed(X), grad), ...(b ? [columnSums(grad)] : [])],
  },
  scores: {
    value: ([Q, K], { scale }) => mapped(timesRows(Q, K), (number) => number * scale),
    back: (grad, [Q, K], { scale }) => {
      const scaled = mapped(grad, (number) => number * scale);
      return [times(scaled, K), times(transposed(scaled), Q)];
    },
  },
  bias: {
    value: ([S, table], { positions, head, start }) =>
      matrixFrom(S.rows, S.cols, (i, j) => at(S, i, j) + positions.bias(head, start + i, j, table)),
    back: (grad, [S, table], { positions, head, start }) => {
      if (!table) return [grad];
      const found = matrix(table.rows, table.cols);
      grad.data.forEach((number, n) => positions.biasBack(number, head, start + Math.floor(n / S.cols), n % S.cols, found));
      return [grad, found];
    },
  },
  mask: {
    value: ([S], { start, window }) => matrixFrom(S.rows, S.cols, (i, j) =>
      (j > start + i || j <= start + i - window ? -Infinity : at(S, i, j))),
    back: (grad) => [matrixFrom(grad.rows, grad.cols, (i, j) => (j > i ? 0 : at(grad, i, j)))],
  },
  softmax: {
    value: ([S]) => matrix(S.rows, S.cols, Float64Array.from(grid(S.rows, 1, (i) => softmax(rowOf(S, i))).flat(2))),
    back: (grad, _inputs, _options, P) => {
      const average = Array.from({ length: P.rows }, (_, i) => dot(rowOf(P, i), rowOf(grad, i)));
      return [matrixFrom(P.rows, P.cols, (i, j) => at(P, i, j) * (at(grad, i, j) - average[i]))];
    },
  },
  turn: {
    value: ([X], { positions, start, step, base }) => positions.turn(X, start, step, base),
    back: (grad, _inputs, { positions, start, step, base }) => [positions.turnBack(grad, start, step, base)],
  },
  activation: {
    value: ([X], { activation }) => mapped(X, ACTIVATIONS[activation].value),
    back: (grad, [X], { activation }) => [mapped(grad, (number, i) => number * ACTIVATIONS[activation].slope(X.data[i]))],
  },
};

// What a figure's config may say, of what attn.parameters knows.
const KNOWN = { positions: Object.keys(POSITIONS), activation: Object.keys(ACTIVATIONS), norm_type: ["layer"] };

// Run a decoder of the package: `params` and `config` as attn has them, matrices as nested lists. `doneTo` says what is done
// to a head: null, "off" (it writes nothing), "itself" (each token looks at itself alone), or a function that makes the
// values that it mixes from its own. A `cache`, a Map that is empty at first, holds the keys and values of all tokens that were read with it;
// `tokens` are then those that follow. `changes` are numbers that are set, whatever comes to stand there: each [name of a
// node, row, column, number]. Returns the nodes in order, of which the last is what the model returns.
function runMachine(params, config, tokens, doneTo = () => null, cache = null, changes = []) {
  for (const [name, known] of Object.entries(KNOWN)) {
    if (known.includes(config[name])) continue;
    throw new Error(`${name} must be one of ${known.join(", ")} in a figure, but it is ${config[name]}`);
  }
  const positions = POSITIONS[config.positions];
  const nodes = [];
  const start = cache?.size ? cache.values().next().value.rows : 0;
  const add = (node) => {
    const own = changes.filter(([name]) => name === node.name);
    if (own.length) {
      const { value } = node;
      const held = new Map(own.map(([, i, j, number]) => [i * value.cols + j, number]));
      Object.assign(node, { held, made: value, value: mapped(value, (number, k) => held.get(k) ?? number) });
    }
    nodes.push(node);
    return node;
  };
  const make = (kind, name, inputs, options = {}) =>
    add({ kind, name, inputs, options, value: KINDS[kind].value(inputs.map((input) => input.value), options) });
  const leaf = (name, value) => add({ kind: "given", name, inputs: [], value });
  const param = (...path) => {
    const name = path.join(" / ");
    return nodes.find((node) => node.name === name) ?? leaf(name, matrixOf(path.reduce((part, key) => part[key], params)));
  };
  const withEarlier = (node) => {
    if (!cache) return node;
    cache.set(node.name, cache.has(node.name) ? below(cache.get(node.name), node.value) : node.value);
    return leaf(`${node.name}, and of all before`, cache.get(node.name));
  };
  const linear = (name, X, part, path, matrixName, biasName, ...head) => make("linear", name,
    [X, param(...path, matrixName, ...head), ...(biasName in part ? [param(...path, biasName, ...head)] : [])]);
  const norm = (when, name, X, ...path) => (config.norm !== when ? X : make("norm", name,
    [X, param(...path, "norm", "gain"), param(...path, "norm", "bias")], { epsilon: config.epsilon }));

  const attention = (layer, X, part) => {
    const written = [];
    for (let head = 0; head < config.n_heads; head++) {
      const done = doneTo(layer, head);
      if (done === "off") continue;
      const name = `layer ${layer}, head ${head + 1}: `;
      const keyHead = Math.floor((head * config.n_key_heads) / config.n_heads);
      const project = (letter, from) =>
        linear(name + letter, X, part, [`layer ${layer}`, "attention"], `W_${letter}`, `b_${letter}`, from);
      let [Q, K] = [project("Q", head), project("K", keyHead)];
      if (positions.turn) [Q, K] = [Q, K].map((Y) => make("turn", `${Y.name}, turned`, [Y],
        { positions, start, step: config.position_step, base: config.rotary_base }));
      K = withEarlier(K);
      let S = make("scores", `${name}scores`, [Q, K], { scale: config.scale ?? config.d_k ** -0.5 });
      if (positions.bias) {
        const table = positions.param ? [param(`layer ${layer}`, "attention", positions.param)] : [];
        S = make("bias", `${name}scores and distances`, [S, ...table], { positions, head, start });
      }
      S = make("mask", `${name}masked scores`, [S], { start, window: done === "itself" ? 1 : config.window ?? Infinity });
      const P = make("softmax", `${name}weights`, [S]);
      let V = withEarlier(project("V", keyHead));
      if (typeof done === "function") V = leaf(`${V.name}, replaced`, done(V.value));
      const mixtures = make("linear", `${name}mixtures`, [P, V]);
      written.push(make("linear", `${name}update`, [mixtures, param(`layer ${layer}`, "attention", "W_O", head)]));
    }
    return written;
  };

  let X = make("embedding", "embeddings", [param("embedding")], { tokens });
  if (positions.embed) {
    const places = tokens.map((_, i) => start + i);
    X = make("add", "stream", [X, positions.embed(places, "positions of the tokens", { make, leaf, param, config })]);
  }
  X = norm("post", "normalised stream", X);
  for (let layer = 1; layer <= config.n_layers; layer++) {
    const name = `layer ${layer}`;
    const { attention: part, mlp } = params[name];
    const written = attention(layer, norm("pre", `${name}: normalised`, X, name, "attention"), part);
    if ("b_O" in part) {
      const ones = leaf(`${name}: ones`, matrixFrom(tokens.length, 1, () => 1));
      written.push(make("linear", `${name}: bias of the heads`, [ones, param(name, "attention", "b_O")]));
    }
    if (written.length) X = make("add", `${name}: stream after attention`, [X, ...written]);
    X = norm("post", `${name}: stream after attention, normalised`, X, name, "attention");
    if (!config.d_ff) continue;
    const before = norm("pre", `${name}: normalised for the MLP`, X, name, "mlp");
    const wide = linear(`${name}: widened`, before, mlp, [name, "mlp"], "W_1", "b_1");
    const hidden = make("activation", `${name}: hidden`, [wide], { activation: config.activation });
    X = make("add", `${name}: stream`, [X, linear(`${name}: update of the MLP`, hidden, mlp, [name, "mlp"], "W_2", "b_2")]);
    X = norm("post", `${name}: stream, normalised`, X, name, "mlp");
  }
  X = norm("pre", "normalised", X);
  if (config.unembedding === "tied") make("scores", "logits", [X, param("embedding")], { scale: 1 });
  if (config.unembedding === "separate") linear("logits", X, params.unembedding, ["unembedding"], "W", "b");
  return nodes;
}

// What goes on from a node to its inputs of the gradient that arrived: at a number that is set, nothing.
function passedOn({ held }, grad) {
  return held ? mapped(grad, (number, k) => (held.has(k) ? 0 : number)) : grad;
}

// The gradients of all nodes, by node, where `grad` arrives at the last one.
function runBack(nodes, grad) {
  const found = new Map([[nodes.at(-1), grad]]);
  for (const node of [...nodes].reverse()) {
    const arrived = found.get(node);
    if (!arrived || node.kind === "given") continue;
    const values = node.inputs.map((input) => input.value);
    const parts = KINDS[node.kind].back(passedOn(node, arrived), values, node.options, node.made ?? node.value);
    node.inputs.forEach((input, i) => found.set(input, found.has(input) ? summed(found.get(input), parts[i]) : parts[i]));
  }
  return found;
}

export {
  at, columnSums, KINDS, matrix, matrixFrom, matrixOf, passedOn, rowOf, runBack, runMachine, spread, timesRows,
  transposed,
};
