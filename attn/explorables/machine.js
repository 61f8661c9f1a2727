// A transformer in plain JavaScript, forward and backward: the arithmetic of the figures that show a whole model.
//
// A matrix is { rows, cols, data }, its numbers row after row in a Float64Array. What a step makes is a node: its name,
// its kind (a key of KINDS), its inputs and its value. A run is the list of its nodes, in order.

function matrix(rows, cols, data = new Float64Array(rows * cols)) {
  return { rows, cols, data };
}

// A matrix from nested lists, or from one list as a single row.
function matrixOf(numbers) {
  const rows = Array.isArray(numbers[0]) ? numbers : [numbers];
  return matrix(rows.length, rows[0].length, Float64Array.from(rows.flat()));
}

function at(X, i, j) {
  return X.data[i * X.cols + j];
}

function made(rows, cols, entry) {
  const X = matrix(rows, cols);
  for (let i = 0; i < rows; i++) for (let j = 0; j < cols; j++) X.data[i * cols + j] = entry(i, j);
  return X;
}

function mapped(X, change) {
  return matrix(X.rows, X.cols, X.data.map(change));
}

// A B, where either may be turned over first.
function times(A, B, { turnA = false, turnB = false } = {}) {
  const [rows, inner] = turnA ? [A.cols, A.rows] : [A.rows, A.cols];
  const cols = turnB ? B.rows : B.cols;
  const [aRow, aStep] = turnA ? [1, A.cols] : [A.cols, 1];
  const [bStep, bCol] = turnB ? [1, B.cols] : [B.cols, 1];
  const C = matrix(rows, cols);
  for (let i = 0; i < rows; i++) {
    for (let k = 0; k < inner; k++) {
      const a = A.data[i * aRow + k * aStep];
      if (a === 0) continue;
      for (let j = 0; j < cols; j++) C.data[i * cols + j] += a * B.data[k * bStep + j * bCol];
    }
  }
  return C;
}

function summed(X, Y) {
  return matrix(X.rows, X.cols, X.data.map((number, i) => number + Y.data[i]));
}

function columnSums(X) {
  return made(1, X.cols, (_, j) => {
    let total = 0;
    for (let i = 0; i < X.rows; i++) total += at(X, i, j);
    return total;
  });
}

// The share of a normal distribution below x, and its density, as attn.layers._gelu: Abramowitz and Stegun 7.1.26.
function normalBelow(x) {
  const bell = Math.exp(-0.5 * x * x);
  const t = 1 / (1 + 0.3275911 * Math.SQRT1_2 * Math.abs(x));
  const tail = 0.5 * bell * t *
    (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return [x < 0 ? tail : 1 - tail, bell / Math.sqrt(2 * Math.PI)];
}

const ACTIVATIONS = {
  relu: { value: (x) => Math.max(x, 0), slope: (x) => Number(x > 0) },
  gelu: {
    value: (x) => x * normalBelow(x)[0],
    slope: (x) => normalBelow(x)[0] + x * normalBelow(x)[1],
  },
};

// Mean and standard deviation of a row.
function spread(X, i, epsilon) {
  const row = X.data.subarray(i * X.cols, (i + 1) * X.cols);
  const mean = sum([...row]) / X.cols;
  return [mean, Math.sqrt(sum([...row].map((x) => (x - mean) ** 2)) / X.cols + epsilon)];
}

// Each pair of entries turned by the angle of its row; `sign` -1 turns back.
function turned(X, start, sign) {
  return made(X.rows, X.cols, (i, j) => {
    const [cos, sin] = turnOf(start + i, j, X.cols, sign);
    return at(X, i, j) * cos + (j % 2 ? at(X, i, j - 1) : -at(X, i, j + 1)) * sin;
  });
}

function turnOf(position, j, size, sign = 1) {
  const angle = position * 10000 ** -((j - (j % 2)) / size);
  return [Math.cos(angle), sign * Math.sin(angle)];
}

// Each kind of step: `value` from its inputs' values, `back` from the gradient to one gradient for each input (null for
// what has none), and `terms`, the numbers whose sum or formula an entry is, as [input, row, column] pairs.
const KINDS = {
  lookup: {
    value: (table, { tokens }) => made(tokens.length, table.cols, (i, j) => at(table, tokens[i], j)),
    back: (grad, [table], { tokens }) => {
      const found = matrix(table.rows, table.cols);
      tokens.forEach((token, i) => {
        for (let j = 0; j < table.cols; j++) found.data[token * table.cols + j] += at(grad, i, j);
      });
      return [found];
    },
  },
  add: {
    value: (X, Y) => made(X.rows, X.cols, (i, j) => at(X, i, j) + at(Y, Y.rows === 1 ? 0 : i, j)),
    back: (grad, [, Y]) => [grad, Y.rows === grad.rows ? grad : columnSums(grad)],
  },
  norm: {
    value: (X, gain, bias, { epsilon }) => {
      const rows = Array.from({ length: X.rows }, (_, i) => spread(X, i, epsilon));
      return made(X.rows, X.cols, (i, j) =>
        ((at(X, i, j) - rows[i][0]) / rows[i][1]) * gain.data[j] + bias.data[j]);
    },
    back: (grad, [X, gain], { epsilon }) => {
      const rows = Array.from({ length: X.rows }, (_, i) => spread(X, i, epsilon));
      const normal = made(X.rows, X.cols, (i, j) => (at(X, i, j) - rows[i][0]) / rows[i][1]);
      const scaled = made(X.rows, X.cols, (i, j) => at(grad, i, j) * gain.data[j]);
      const product = made(X.rows, X.cols, (i, j) => at(scaled, i, j) * at(normal, i, j));
      const means = (Y, i) => sum([...Y.data.subarray(i * Y.cols, (i + 1) * Y.cols)]) / Y.cols;
      const [along, mean] = [product, scaled].map((Y) => rows.map((_, i) => means(Y, i)));
      const gradX = made(X.rows, X.cols, (i, j) =>
        (at(scaled, i, j) - mean[i] - at(normal, i, j) * along[i]) / rows[i][1]);
      const heard = made(X.rows, X.cols, (i, j) => at(grad, i, j) * at(normal, i, j));
      return [gradX, columnSums(heard), columnSums(grad)];
    },
  },
  product: {
    value: (X, W) => times(X, W),
    back: (grad, [X, W]) => [times(grad, W, { turnB: true }), times(X, grad, { turnA: true })],
  },
  scores: {
    value: (Q, K, { scale }) => mapped(times(Q, K, { turnB: true }), (x) => x * scale),
    back: (grad, [Q, K], { scale }) => {
      const scaled = mapped(grad, (x) => x * scale);
      return [times(scaled, K), times(scaled, Q, { turnA: true })];
    },
  },
  // What the table of distances adds to a score; `head` is its row.
  distance: {
    value: (S, table, { head }) => made(S.rows, S.cols, (i, j) => at(S, i, j) + at(table, head, apart(S, table, i, j))),
    back: (grad, [S, table], { head }) => {
      const found = matrix(table.rows, table.cols);
      for (let i = 0; i < S.rows; i++) {
        for (let j = 0; j < S.cols; j++) found.data[head * table.cols + apart(S, table, i, j)] += at(grad, i, j);
      }
      return [grad, found];
    },
  },
  mask: {
    value: (S, { hidden }) => made(S.rows, S.cols, (i, j) => (hidden(i, j) ? -Infinity : at(S, i, j))),
    back: (grad) => [grad],
  },
  softmax: {
    value: (S) => {
      const P = matrix(S.rows, S.cols);
      for (let i = 0; i < S.rows; i++) P.data.set(softmax([...S.data.subarray(i * S.cols, (i + 1) * S.cols)]), i * S.cols);
      return P;
    },
    back: (grad, _, __, P) => {
      const average = Array.from({ length: P.rows }, (_, i) =>
        sum(Array.from({ length: P.cols }, (_, j) => at(P, i, j) * at(grad, i, j))));
      return [made(P.rows, P.cols, (i, j) => at(P, i, j) * (at(grad, i, j) - average[i]))];
    },
  },
  turn: {
    value: (X, { start }) => turned(X, start, 1),
    back: (grad, _, { start }) => [turned(grad, start, -1)],
  },
  bend: {
    value: (X, { activation }) => mapped(X, ACTIVATIONS[activation].value),
    back: (grad, [X], { activation }) => [made(X.rows, X.cols, (i, j) => at(grad, i, j) * ACTIVATIONS[activation].slope(at(X, i, j)))],
  },
};

function apart(S, table, i, j) {
  const furthest = (table.cols - 1) / 2;
  return Math.max(-furthest, Math.min(furthest, j - (i + S.cols - S.rows))) + furthest;
}
