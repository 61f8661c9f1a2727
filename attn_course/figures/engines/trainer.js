// Trains the small transformers of chapters 12, 13 and 15 in the page, from the random numbers that NumPy would draw:
// the same seed gives the notebook's parameters, batches and losses. Its text makes a worker.

// --- numpy.random.default_rng: SeedSequence, PCG64, and what the course draws with it ---

// The tables of the ziggurat: 256 layers of equal area under the bell, as in NumPy.
const LAYERS = 256, REACH = 3.6541528853610088, AREA = 0.004928673233974655;
const bell = (x) => Math.exp(-0.5 * x * x);
const sure = new Float64Array(LAYERS), widths = new Float64Array(LAYERS), heights = new Float64Array(LAYERS);
const fillTables = () => {
  const whole = 2 ** 52, bottom = AREA / bell(REACH);
  [sure[0], widths[0], heights[0]] = [Math.floor((REACH / bottom) * whole), bottom / whole, 1];
  [widths[LAYERS - 1], heights[LAYERS - 1]] = [REACH / whole, bell(REACH)];
  for (let i = LAYERS - 2, outer = REACH; i >= 0; i--) {
    const inner = i ? Math.sqrt(-2 * Math.log(AREA / outer + bell(outer))) : 0;
    sure[i + 1] = Math.floor((inner / outer) * whole);
    if (i) [widths[i], heights[i]] = [inner / whole, bell(inner)];
    outer = inner;
  }
};
fillTables();

function seedWords(seed) { // SeedSequence(seed).generate_state(4, uint64), for a seed below 2 ** 32
  const hasher = (start, factor) => {
    let hash = start;
    return (value) => {
      const mixed = value ^ hash;
      hash = Math.imul(hash, factor);
      const hashed = Math.imul(mixed, hash);
      return hashed ^ (hashed >>> 16);
    };
  };
  const first = hasher(0x43b0d7e5, 0x931e8875), second = hasher(0x8b51f9dd, 0x58f38ded);
  const pool = [seed, 0, 0, 0].map(first);
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) {
      if (from === to) continue;
      const mixed = Math.imul(pool[to], 0xca01f9dd) - Math.imul(first(pool[from]), 0x4973f715);
      pool[to] = mixed ^ (mixed >>> 16);
    }
  }
  const words = [...pool, ...pool].map((value) => BigInt(second(value) >>> 0));
  return [0, 2, 4, 6].map((i) => words[i] | (words[i + 1] << 32n));
}

function defaultRng(seed) {
  const low = (number, bits) => BigInt.asUintN(bits, number);
  const [a, b, c, d] = seedWords(seed);
  const increment = low((((c << 64n) | d) << 1n) | 1n, 128);
  const next = (state) => low(state * 0x2360ed051fc65da44385df649fccf645n + increment, 128);
  let state = next(increment + ((a << 64n) | b)), spare = null;
  const next64 = () => {
    state = next(state);
    const mixed = (state >> 64n) ^ low(state, 64), turn = state >> 122n;
    return low((mixed >> turn) | (mixed << (64n - turn)), 64);
  };
  const next32 = () => {
    if (spare !== null) {
      const kept = spare;
      spare = null;
      return kept;
    }
    const both = next64();
    spare = Number(both >> 32n);
    return Number(low(both, 32));
  };
  const random = () => Number(next64() >> 11n) / 2 ** 53;
  const below = (n) => { // integers(n): Lemire 2019
    for (;;) {
      const product = BigInt(next32()) * BigInt(n), rest = Number(low(product, 32));
      if (rest >= n || rest >= 2 ** 32 % n) return Number(product >> 32n);
    }
  };
  const normal = () => { // Marsaglia and Tsang 2000
    for (;;) {
      const bits = next64(), i = Number(low(bits, 8)), sign = bits & 256n ? -1 : 1;
      const size = Number(low(bits >> 9n, 52)), x = size * widths[i];
      if (size < sure[i]) return sign * x;
      if (i === 0) {
        for (;;) {
          const far = -Math.log1p(-random()) / REACH, height = -Math.log1p(-random());
          if (2 * height > far * far) return (size >> 8) & 1 ? -(REACH + far) : REACH + far;
        }
      }
      if ((heights[i - 1] - heights[i]) * random() + heights[i] < bell(x)) return sign * x;
    }
  };
  const shuffle = (list) => {
    for (let i = list.length - 1; i > 0; i--) {
      const mask = 2 ** (32 - Math.clz32(i)) - 1;
      let j = next32() & mask;
      while (j > i) j = next32() & mask;
      [list[i], list[j]] = [list[j], list[i]];
    }
    return list;
  };
  return { random, below, normal, shuffle };
}

// --- products of matrices ---
// All numbers lie in one memory, `M`, and a matrix is where it starts in it. A product adds A B to C: C is m by n and
// starts at c, its rows ldc apart; B is k by n; rows and columns of A lie as far apart as is said, so that A may be a
// transpose.

function plainProduct(M) {
  return (c, ldc, a, row, column, b, ldb, m, n, k) => {
    for (let i = 0; i < m; i++, a += row, c += ldc) {
      let p = 0;
      for (; p + 4 <= k; p += 4) { // four terms at a time, as reading and writing C takes longest
        const at = a + p * column, b0 = b + p * ldb, b1 = b0 + ldb, b2 = b1 + ldb, b3 = b2 + ldb;
        const x0 = M[at], x1 = M[at + column], x2 = M[at + 2 * column], x3 = M[at + 3 * column];
        for (let j = 0; j < n; j++) {
          M[c + j] += x0 * M[b0 + j] + x1 * M[b1 + j] + x2 * M[b2 + j] + x3 * M[b3 + j];
        }
      }
      for (; p < k; p++) for (let j = 0; j < n; j++) M[c + j] += M[a + p * column] * M[b + p * ldb + j];
    }
  };
}

// The same as WebAssembly, whose bytes are made here from words in the order in which a stack machine takes them: a
// name puts a local on the stack, =name takes it off, a number is a constant, ?1 leaves two blocks if the top is not
// zero, ^0 goes back to the loop around. A vector is two numbers; load and store are told how many bytes further.
const CODES = {
  "+": [0x6a], "-": [0x6b], "*": [0x6c], "<": [0x48], block: [0x02, 0x40], loop: [0x03, 0x40], end: [0x0b],
  load: [0xfd, 0, 3], splat: [0xfd, 10, 3, 0], store: [0xfd, 11, 3], fadd: [0xfd, 0xf0, 1], fmul: [0xfd, 0xf2, 1],
  fma: [0xfd, 0x87, 2],
};
const NAMES = "c ldc a row column b ldb m n k row2 row3 at p q left l cj aj".split(" "); // ten arguments, and locals
const VECTORS = ["x", "b0", "b1", ...[0, 1, 2, 3].flatMap((r) => [`s${r}0`, `s${r}1`])];
const EACH = (count, text) => Array.from({ length: count }, (_, i) => text(i)).join(" ");

// `rows` rows of C times as many vectors, summed in the processor's registers.
const tile = (rows, vectors, fused) => {
  const sums = (word) =>
    `cj =at ${EACH(rows, (r) => `${EACH(vectors, (v) => word(`s${r}${v}`, 16 * v))} at ldc + =at`)}`;
  return `${sums((sum, far) => `at load ${far} =${sum}`)} aj =p b =q k =l
    loop ${EACH(vectors, (v) => `q load ${16 * v} =b${v}`)}
      ${EACH(rows, (r) => `p ${["", "row +", "row2 +", "row3 +"][r]} splat =x
        ${EACH(vectors, (v) => `x b${v} ${fused ? `s${r}${v} fma` : `fmul s${r}${v} fadd`} =s${r}${v}`)}`)}
      p column + =p q ldb + =q l 1 - =l l ?0 end
    ${sums((sum, far) => `at ${sum} store ${far}`)}
    at =cj aj row ${rows} * + =aj left ${rows} - =left`;
};
// All rows of so many vectors of columns, while there are as many left: a strip of B stays in the processor's cache.
const strips = (vectors, fused) => `block loop n ${2 * vectors} < ?1 c =cj a =aj m =left
  ${[4, 3, 2, 1].map((rows) => `block loop left ${rows} < ?1 ${tile(rows, vectors, fused)} ^0 end end`).join(" ")}
  b ${16 * vectors} + =b c ${16 * vectors} + =c n ${2 * vectors} - =n ^0 end end`;

function moduleBytes(fused) {
  const long = (number) => (number < 128 ? [number] : [(number & 127) | 128, ...long(number >> 7)]);
  const constant = (number) => (number < 64 ? [number] : [(number & 127) | 128, ...constant(number >> 7)]); // signed
  const locals = [...NAMES, ...VECTORS];
  const code = `row 2 * =row2 row 3 * =row3 ${strips(2, fused)} ${strips(1, fused)}`.trim().split(/\s+/);
  const bytes = code.flatMap((word, i) => {
    if (["load", "store"].includes(code[i - 1])) return long(Number(word));
    if (CODES[word]) return CODES[word];
    if (/^\d/.test(word)) return [0x41, ...constant(Number(word))];
    const jump = { "?": 0x0d, "^": 0x0c }[word[0]];
    if (jump) return [jump, Number(word[1])];
    return word[0] === "=" ? [0x21, locals.indexOf(word.slice(1))] : [0x20, locals.indexOf(word)];
  });
  const section = (id, ...content) => [id, ...long(content.length), ...content];
  const body = [2, NAMES.length - 10, 0x7f, VECTORS.length, 0x7b, ...bytes, 0x0b];
  return Uint8Array.from([
    0, 97, 115, 109, 1, 0, 0, 0,
    ...section(1, 1, 0x60, 10, ...Array(10).fill(0x7f), 0), // one type: ten integers, and nothing comes back
    ...section(2, 1, 1, 101, 1, 109, 2, 0, 1), // the memory e.m
    ...section(3, 1, 0), ...section(7, 1, 1, 103, 0, 0), // one function, g
    ...section(10, 1, ...long(body.length), ...body),
  ]);
}

// A memory of so many numbers, and the product in it; plain JavaScript where WebAssembly is absent or forbidden.
function memoryOf(count) {
  try {
    const memory = new WebAssembly.Memory({ initial: Math.ceil(count / 8192) });
    const bytes = [true, false].map(moduleBytes).find((one) => WebAssembly.validate(one)); // not all know fma
    const { g } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { e: { m: memory } }).exports;
    const M = new Float64Array(memory.buffer), plain = plainProduct(M);
    const product = (c, ldc, a, row, column, b, ldb, m, n, k) =>
      n % 2 ? plain(c, ldc, a, row, column, b, ldb, m, n, k)
        : g(8 * c, 8 * ldc, 8 * a, 8 * row, 8 * column, 8 * b, 8 * ldb, m, n, k);
    return { M, product };
  } catch {
    const M = new Float64Array(count);
    return { M, product: plainProduct(M) };
  }
}

// --- tasks: rows of tokens, what is wanted where (-1: nothing), and rules for where a place looks (-1: nowhere) ---

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

// As attn_course.corpora.coreference.
const NOUNS = "cat dog mat rug fox bed hen box cow mule chair goat sofa duck bench pig".split(" ");
const TIRED = "tired hungry sleepy bored shy cold".split(" "), DIRTY = "dirty soft red new wet flat".split(" ");
const WORDS = [..."the sat on because it was".split(" "), ...NOUNS, ...TIRED, ...DIRTY];
const IT = 7, NOUNS_AT = [1, 5], ADJECTIVE_AT = 9;
const nounMeant = (adjective) => (adjective < WORDS.indexOf("dirty") ? NOUNS_AT[0] : NOUNS_AT[1]);

function sentence(x, y, adjective) {
  const tokens = `the ${x} sat on the ${y} because it was ${adjective}`.split(" ").map((word) => WORDS.indexOf(word));
  const meant = tokens[nounMeant(tokens[ADJECTIVE_AT])];
  return { tokens, targets: tokens.map((_, i) => (i === IT ? meant : -1)), whole: tokens };
}

function coreference(rng) {
  const pairs = rng.shuffle(NOUNS.flatMap((x, i) => NOUNS.slice(i + 1).map((y) => [x, y])));
  const all = (x, y) => [...TIRED, ...DIRTY].map((adjective) => sentence(x, y, adjective));
  const rows = pairs.map(([x, y]) => [...all(x, y), ...all(y, x)]);
  const split = Math.floor(pairs.length / 4);
  return { train: rows.slice(split).flat(), test: rows.slice(0, split).flat() };
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

// What a task has that draws its batches from so many rows.
const opened = ({ train, test }, size, example = test[0]) => ({
  drawBatch: (rng) => range(size, () => rng.below(train.length)).map((i) => train[i]), test, example,
});

const TASKS = {
  fortunes: {
    words: FORTUNES, causal: true, size: 16, n: 6,
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
    open: () => opened(fortunes(defaultRng(0)), 16),
  },
  copying: {
    words: [..."ABCDEFGHIJKLMNOPQRST"], causal: true, size: 32, n: 19,
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
  noun: {
    words: WORDS, causal: false, size: 64, n: 10,
    rules: {
      ...RULES,
      "from the nouns to the adjective": (tokens, start, i) => (NOUNS_AT.includes(i) ? ADJECTIVE_AT : -1),
      "from “it” to the noun meant": (tokens, start, i) =>
        (i === IT ? nounMeant(tokens[start + ADJECTIVE_AT]) : -1),
    },
    scores: ["from the nouns to the adjective", "from “it” to the noun meant"],
    edges: {
      "the adjective from the nouns in layer 1": (layer, i, j) =>
        layer === 1 && NOUNS_AT.includes(i) && j === ADJECTIVE_AT,
      "the adjective from “it” in layer 1": (layer, i, j) => layer === 1 && i === IT && j === ADJECTIVE_AT,
      "the adjective from “it” in layer 2": (layer, i, j) => layer === 2 && i === IT && j === ADJECTIVE_AT,
      "the nouns from “it” in layer 2": (layer, i, j) => layer === 2 && i === IT && NOUNS_AT.includes(j),
    },
    open: () => opened(coreference(defaultRng(0)), 64, sentence("cat", "mat", "tired")),
  },
};

// --- the model: attn.transformer with pre-norm, ReLU, biases in the MLP and an unembedding of its own ---

// All parameters one behind the other, in NumPy's order: path, shape, how it is drawn, and where an entry lies. The
// queries, keys and values of all heads lie beside each other, so that one product makes them all.
function layOut({ vocab, d, heads, layers, ff, positions, n_positions }, take) {
  const dk = d / heads, parts = [], places = {};
  const add = (path, shape, kind, start = take(shape.reduce((a, b) => a * b)), strides = null) => {
    const [s2, s3] = [shape.at(-1) * (shape.at(-2) ?? 1), shape.at(-1)];
    parts.push({ path, shape, kind, start, strides: strides ?? [s2, s3, 1].slice(3 - shape.length) });
    places[path] = start;
  };
  const norm = (path) => [add(`${path}norm/gain`, [d], "one"), add(`${path}norm/bias`, [d], "zero")];
  add("embedding", [vocab, d], 1);
  if (positions === "learned") add("positions", [n_positions, d], 1);
  for (let l = 1; l <= layers; l++) {
    const path = `layer ${l}/attention/`;
    norm(path);
    const start = (places[`layer ${l}/QKV`] = take(d * 3 * d));
    ["W_Q", "W_K", "W_V"].forEach((name, i) =>
      add(path + name, [heads, d, dk], 1 / d, start + i * d, [dk, 3 * d, 1]));
    add(`${path}W_O`, [heads, dk, d], 1 / d);
    if (positions === "relative") add(`${path}relative`, [heads, 17], "zero");
    if (!ff) continue;
    norm(`layer ${l}/mlp/`);
    add(`layer ${l}/mlp/W_1`, [d, ff], 1 / d);
    add(`layer ${l}/mlp/W_2`, [ff, d], 1 / ff);
    add(`layer ${l}/mlp/b_1`, [ff], "zero");
    add(`layer ${l}/mlp/b_2`, [d], "zero");
  }
  norm("");
  add("unembedding/W", [d, vocab], 1 / d);
  add("unembedding/b", [vocab], "zero");
  return { parts, places };
}

// Call `visit` with the place of each entry of a part, in NumPy's order.
function eachEntry({ shape, strides, start }, visit) {
  const visitAll = (axis, at) => {
    if (axis === shape.length) visit(at);
    else for (let i = 0; i < shape[axis]; i++) visitAll(axis + 1, at + i * strides[axis]);
  };
  visitAll(0, start);
}

const LONGEST = 20; // tokens in a row, an even number

// A model for batches of up to `most` tokens. `control` says what is done to it: by head the rule to which it is
// held, or "off", and the edge that is forbidden.
function makeModel(sizes, { causal, rules, edges }, most, control) {
  const { vocab, d, heads, layers, ff, positions } = sizes;
  const dk = d / heads, scale = dk ** -0.5, wide = 3 * d;
  let used = 0;
  const take = (count) => (used += count) - count;
  const { parts, places: P } = layOut(sizes, take);
  const count = used;
  const [grads, mean, square] = range(3, () => take(count)); // a gradient lies `grads` behind its parameter
  const rows = (width) => take(most * width);
  const norms = () => ({ Y: rows(d), normal: rows(d), inverse: rows(1) });
  const layersOf = range(layers, (i) => ({
    number: i + 1, byToken: i === 0 && positions === "relative",
    norm: norms(), qkv: rows(wide), weights: take(most * heads * LONGEST), mix: rows(d), after: rows(d),
    ...(ff && { mlpNorm: norms(), hidden: rows(ff), out: rows(d) }),
  }));
  const X0 = rows(d), last = norms(), logits = rows(vocab);
  const dX = rows(d), dY = rows(d), dMix = rows(d), dQkv = rows(wide), dHidden = rows(ff);
  const turned = take(d * Math.max(wide, ff, vocab)), small = take(dk * LONGEST), dS = take(LONGEST ** 2);
  const [table, dTable] = range(2, () => take(vocab * wide)); // of layer 1, if all it reads of a place is its token
  const added = P.positions ?? take(LONGEST * d); // to what is embedded: zeros, if positions are relative
  const { M, product } = memoryOf(used);
  if (positions === "sinusoid") {
    for (let at = 0; at < LONGEST * d; at++) {
      const pair = (at % d) - (at % d % 2);
      M[added + at] = Math[at % 2 ? "cos" : "sin"](Math.floor(at / d) * 10000 ** -(pair / d));
    }
  }

  const clear = (start, size) => M.fill(0, start, start + size);
  const copy = (to, from, size) => M.copyWithin(to, from, from + size);
  const multiply = (C, A, W, T, k, n) => product(C, n, A, k, 1, W, n, T, n, k);
  const transpose = (to, ldt, from, ldf, n, m) => { // of n rows of m
    for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) M[to + j * ldt + i] = M[from + i * ldf + j];
  };
  // Gradients of Z = Y W: that of W, and that of Y, which is added to `dA` where one is given.
  const multiplyBack = (dA, A, W, dC, T, k, n) => {
    product(W + grads, n, A, 1, k, dC, n, k, n, T);
    if (dA === null) return;
    transpose(turned, k, W, n, k, n);
    product(dA, k, dC, n, 1, turned, k, T, k, n);
  };
  const addBias = (C, bias, T, n) => {
    for (let i = 0; i < T; i++) for (let j = 0; j < n; j++) M[C + i * n + j] += M[bias + j];
  };
  const biasBack = (bias, dC, T, n) => {
    for (let i = 0; i < T; i++) for (let j = 0; j < n; j++) M[bias + grads + j] += M[dC + i * n + j];
  };

  function normalise({ Y, normal, inverse }, X, T, path) {
    const gain = P[`${path}norm/gain`], bias = P[`${path}norm/bias`];
    for (let i = 0; i < T; i++) {
      const at = i * d;
      let total = 0, variance = 0;
      for (let j = 0; j < d; j++) total += M[X + at + j];
      const middle = total / d;
      for (let j = 0; j < d; j++) {
        const x = (M[normal + at + j] = M[X + at + j] - middle);
        variance += x * x;
      }
      const by = (M[inverse + i] = 1 / Math.sqrt(variance / d + 1e-5));
      for (let j = 0; j < d; j++) M[Y + at + j] = (M[normal + at + j] *= by) * M[gain + j] + M[bias + j];
    }
  }

  function normaliseBack({ normal, inverse }, T, path, to = dX) { // from dY, added to the gradient of what was read
    const gain = P[`${path}norm/gain`], bias = P[`${path}norm/bias`];
    for (let i = 0; i < T; i++) {
      const at = i * d;
      let total = 0, along = 0;
      for (let j = 0; j < d; j++) {
        const g = M[dY + at + j], x = M[normal + at + j], s = g * M[gain + j];
        M[gain + grads + j] += g * x;
        M[bias + grads + j] += g;
        total += s;
        along += s * x;
      }
      const by = M[inverse + i], middle = total / d, slope = along / d;
      for (let j = 0; j < d; j++) {
        M[to + at + j] += (M[dY + at + j] * M[gain + j] - middle - M[normal + at + j] * slope) * by;
      }
    }
  }

  const even = (n) => n + (n % 2); // rows of weights are padded by a zero, as vectors hold two numbers
  const distance = (i, j) => Math.max(-8, Math.min(8, j - i)) + 8;

  // What is added to the scores of a head, -Infinity where it may not look, and its rule if it is held to one.
  function manner(layer, h, n) {
    const held = control.held[`L${layer}H${h + 1}`], edge = edges[control.forbidden] ?? (() => false);
    const table = positions === "relative" ? P[`layer ${layer}/attention/relative`] + 17 * h : null;
    const added = new Float64Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        const open = !(causal && j > i) && !edge(layer, i, j);
        added[i * n + j] = !open ? -Infinity : table === null ? 0 : M[table + distance(i, j)];
      }
    }
    return { added, rule: rules[held], off: held === "off" };
  }

  // The weights of one head on row r of the batch, whose queries lie at q; keys lie d behind.
  function weigh({ n, tokens }, { added, rule }, r, q, S) {
    const w = even(n);
    transpose(small, w, q + d, wide, n, dk);
    product(S, w, q, wide, 1, small, w, n, w, dk);
    for (let i = 0; i < n; i++) {
      const at = S + i * w, end = causal ? i + 1 : n, looks = rule ? rule(tokens, r * n, i) : -1;
      let top = -Infinity, total = 0;
      for (let j = 0; j < end; j++) {
        const score = (M[at + j] = M[at + j] * scale + added[i * n + j]);
        if (score > top) top = score;
      }
      if (looks >= 0) { // what it is held to alone; nothing, where that is forbidden
        top = M[at + looks];
        M.fill(-Infinity, at, at + end);
        M[at + looks] = top;
      }
      if (top === -Infinity) top = 0;
      for (let j = 0; j < end; j++) total += M[at + j] = Math.exp(M[at + j] - top);
      const share = 1 / (total || 1);
      for (let j = 0; j < end; j++) M[at + j] *= share;
      for (let j = end; j < w; j++) M[at + j] = 0;
    }
  }

  const eachHead = ({ rows: count, n }, layer, visit) => {
    for (let r = 0; r < count; r++) {
      for (let h = 0; h < heads; h++) {
        const q = layer.qkv + r * n * wide + h * dk, S = layer.weights + (r * heads + h) * n * even(n);
        visit(h, r, q, S, r * n * d + h * dk);
      }
    }
  };

  function forward(batch) {
    const { rows: count, n, tokens } = batch, T = count * n, w = even(n);
    for (let i = 0; i < T; i++) {
      const from = P.embedding + tokens[i] * d, place = added + (i % n) * d;
      for (let j = 0; j < d; j++) M[X0 + i * d + j] = M[from + j] + M[place + j];
    }
    let X = X0;
    for (const layer of layersOf) {
      const path = `layer ${layer.number}/`;
      const [from, places, to] = layer.byToken ? [P.embedding, vocab, table] : [X, T, layer.qkv];
      normalise(layer.norm, from, places, `${path}attention/`);
      clear(to, places * wide);
      multiply(to, layer.norm.Y, P[`${path}QKV`], places, d, wide);
      if (layer.byToken) for (let i = 0; i < T; i++) copy(layer.qkv + i * wide, table + tokens[i] * wide, wide);
      clear(layer.weights, batch.rows * heads * n * w);
      clear(layer.mix, T * d);
      const manners = range(heads, (h) => manner(layer.number, h, n));
      eachHead(batch, layer, (h, r, q, S, at) => {
        if (manners[h].off) return;
        weigh(batch, manners[h], r, q, S);
        product(layer.mix + at, d, S, w, 1, q + 2 * d, wide, n, dk, n);
      });
      copy(layer.after, X, T * d);
      multiply(layer.after, layer.mix, P[`${path}attention/W_O`], T, d, d);
      X = layer.after;
      if (!ff) continue;
      normalise(layer.mlpNorm, X, T, `${path}mlp/`);
      clear(layer.hidden, T * ff);
      multiply(layer.hidden, layer.mlpNorm.Y, P[`${path}mlp/W_1`], T, d, ff);
      addBias(layer.hidden, P[`${path}mlp/b_1`], T, ff);
      for (let i = layer.hidden; i < layer.hidden + T * ff; i++) if (M[i] < 0) M[i] = 0;
      copy(layer.out, X, T * d);
      multiply(layer.out, layer.hidden, P[`${path}mlp/W_2`], T, ff, d);
      addBias(layer.out, P[`${path}mlp/b_2`], T, d);
      X = layer.out;
    }
    normalise(last, X, T, "");
    clear(logits, T * vocab);
    multiply(logits, last.Y, P["unembedding/W"], T, d, vocab);
    addBias(logits, P["unembedding/b"], T, vocab);
  }

  // The mean loss in nats where something is wanted; logits become their own gradient.
  function loseOn({ targets }, T) {
    const counted = targets.reduce((sum, target) => sum + (target >= 0), 0);
    let loss = 0;
    for (let i = 0; i < T; i++) {
      const at = logits + i * vocab;
      if (targets[i] < 0) {
        clear(at, vocab);
        continue;
      }
      let top = -Infinity, total = 0;
      for (let j = 0; j < vocab; j++) top = Math.max(top, M[at + j]);
      loss += top - M[at + targets[i]];
      for (let j = 0; j < vocab; j++) total += M[at + j] = Math.exp(M[at + j] - top);
      loss += Math.log(total);
      for (let j = 0; j < vocab; j++) M[at + j] /= total * counted;
      M[at + targets[i]] -= 1 / counted;
    }
    return loss / counted;
  }

  // Forward and back: the loss, with the gradients in their place.
  function learn(batch) {
    const { tokens, n } = batch, T = batch.rows * n, w = even(n);
    forward(batch);
    const loss = loseOn(batch, T);
    clear(grads, mean - grads);
    clear(dX, T * d);
    clear(dY, T * d);
    multiplyBack(dY, last.Y, P["unembedding/W"], logits, T, d, vocab);
    biasBack(P["unembedding/b"], logits, T, vocab);
    normaliseBack(last, T, "");
    for (const layer of [...layersOf].reverse()) {
      const path = `layer ${layer.number}/`;
      if (ff) {
        clear(dHidden, T * ff);
        multiplyBack(dHidden, layer.hidden, P[`${path}mlp/W_2`], dX, T, ff, d);
        biasBack(P[`${path}mlp/b_2`], dX, T, d);
        for (let i = 0; i < T * ff; i++) if (M[layer.hidden + i] <= 0) M[dHidden + i] = 0;
        clear(dY, T * d);
        multiplyBack(dY, layer.mlpNorm.Y, P[`${path}mlp/W_1`], dHidden, T, d, ff);
        biasBack(P[`${path}mlp/b_1`], dHidden, T, ff);
        normaliseBack(layer.mlpNorm, T, `${path}mlp/`);
      }
      clear(dMix, T * d);
      multiplyBack(dMix, layer.mix, P[`${path}attention/W_O`], dX, T, d, d);
      clear(dQkv, T * wide);
      const table = positions === "relative" ? P[`${path}attention/relative`] + grads : null;
      eachHead(batch, layer, (h, r, q, S, at) => {
        const dq = q - layer.qkv + dQkv;
        product(dq + 2 * d, wide, S, 1, w, dMix + at, d, n, dk, n);
        transpose(small, w, q + 2 * d, wide, n, dk);
        clear(dS, n * w);
        product(dS, w, dMix + at, d, 1, small, w, n, w, dk);
        for (let i = 0; i < n; i++) { // back through softmax; where a head is held or off, nothing comes out
          const end = causal ? i + 1 : n, here = i * w;
          let average = 0;
          for (let j = 0; j < end; j++) average += M[S + here + j] * M[dS + here + j];
          for (let j = 0; j < end; j++) {
            const g = M[S + here + j] * (M[dS + here + j] - average);
            if (table !== null) M[table + 17 * h + distance(i, j)] += g;
            M[dS + here + j] = g * scale;
          }
          for (let j = end; j < w; j++) M[dS + here + j] = 0;
        }
        product(dq, wide, dS, w, 1, q + d, wide, n, dk, n);
        product(dq + d, wide, dS, 1, w, q, wide, n, dk, n);
      });
      const [dRead, places, to] = layer.byToken ? [dTable, vocab, P.embedding + grads] : [dQkv, T, dX];
      if (layer.byToken) {
        clear(dTable, vocab * wide);
        for (let i = 0; i < T; i++) {
          const row = dTable + tokens[i] * wide;
          for (let j = 0; j < wide; j++) M[row + j] += M[dQkv + i * wide + j];
        }
      }
      clear(dY, places * d);
      multiplyBack(dY, layer.norm.Y, P[`${path}QKV`], dRead, places, d, wide);
      normaliseBack(layer.norm, places, `${path}attention/`, to);
    }
    for (let i = 0; i < T; i++) {
      const to = P.embedding + grads + tokens[i] * d, place = added + grads + (i % n) * d;
      for (let j = 0; j < d; j++) {
        M[to + j] += M[dX + i * d + j];
        if (positions === "learned") M[place + j] += M[dX + i * d + j];
      }
    }
    return loss;
  }

  // One step of attn.training.Adam, the gradient clipped to a length of 1; false if it is no number.
  function step(number, rate) {
    let length = 0;
    for (let i = 0; i < count; i++) length += M[grads + i] ** 2;
    if (!Number.isFinite(length)) return false;
    const by = Math.min(1, 1 / (Math.sqrt(length) + 1e-12));
    const move = (rate * Math.sqrt(1 - 0.98 ** number)) / (1 - 0.9 ** number);
    for (let i = 0; i < count; i++) {
      const g = M[grads + i] * by;
      const m = (M[mean + i] = 0.9 * M[mean + i] + (1 - 0.9) * g);
      const s = (M[square + i] = 0.98 * M[square + i] + (1 - 0.98) * g * g);
      M[i] -= (m / (Math.sqrt(s) + 1e-9)) * move;
    }
    return true;
  }

  // The share right in batches, and for each rule and head the mean weight where the rule looks.
  function judge(batches, names) {
    const found = names.map(() => range(layers, () => Array(heads).fill(0))), places = names.map(() => 0);
    let right = 0, counted = 0;
    for (const batch of batches) {
      forward(batch);
      const { rows: count, n, tokens, targets } = batch;
      targets.forEach((target, i) => {
        if (target < 0) return;
        const row = M.subarray(logits + i * vocab, logits + (i + 1) * vocab);
        counted++;
        right += row.every((logit) => logit <= row[target]);
      });
      names.forEach((name, one) => {
        for (let r = 0; r < count; r++) {
          for (let i = 0; i < n; i++) {
            const j = rules[name](tokens, r * n, i);
            if (j < 0) continue;
            places[one]++;
            layersOf.forEach(({ weights }, l) => range(heads).forEach((h) => {
              found[one][l][h] += M[weights + ((r * heads + h) * n + i) * even(n) + j];
            }));
          }
        }
      });
    }
    const scores = found.map((table, one) => table.map((row) => row.map((total) => total / places[one])));
    return { right: right / counted, scores };
  }

  // The weights of all heads on one row, by layer and head.
  function looks(batch) {
    forward(batch);
    const { n } = batch;
    return layersOf.map(({ weights }) => range(heads, (h) => range(n, (i) =>
      Array.from(M.subarray(weights + (h * n + i) * even(n), weights + (h * n + i) * even(n) + n)))));
  }

  const draw = (rng) => parts.forEach((part) => {
    const deviation = Math.sqrt(part.kind);
    eachEntry(part, (at) => (M[at] = { one: 1, zero: 0 }[part.kind] ?? rng.normal() * deviation));
  });
  const read = (behind = 0) => Object.fromEntries(parts.map((part) => {
    const numbers = [];
    eachEntry(part, (at) => numbers.push(M[behind + at]));
    return [part.path, Float64Array.from(numbers)];
  }));
  const put = (params) => parts.forEach((part) => {
    let i = 0;
    eachEntry(part, (at) => (M[at] = params[part.path][i++]));
  });
  return { draw, learn, step, judge, looks, read, put, gradients: () => read(grads) };
}

// As attn.training.schedule.
function schedule(step, steps, warmUp) {
  return Math.min(1, step / (warmUp + 1)) * Math.max(0, 1 - (step - 1) / steps);
}

// --- a run of a setting: what the figure asks for, with a control that may change on the way ---

function startRun(setting, control) {
  const task = TASKS[setting.task], { drawBatch, test, example } = task.open(), rng = defaultRng(setting.seed);
  const sizes = { ...setting.sizes, vocab: task.words.length, heads: setting.heads, layers: setting.layers };
  const model = makeModel(sizes, task, task.size * task.n, control);
  const sample = [batchOf(evenly(test, task.size))];
  const shown = batchOf([{ tokens: example.whole, targets: example.whole.map(() => -1) }]);
  const chunk = (i) => batchOf(test.slice(i * task.size, (i + 1) * task.size));
  const chunks = range(Math.ceil(test.length / task.size), chunk);
  model.draw(rng);
  const run = {
    model, step: 0, over: false, words: example.whole.map((token) => task.words[token]),
    points: [{ step: 0, ...model.judge(sample, task.scores) }], losses: [],
    advance: () => {
      const loss = model.learn(batchOf(drawBatch(rng)));
      const next = run.step + 1, rate = setting.rate * schedule(next, setting.steps, setting.warmUp);
      const moved = Number.isFinite(loss) && model.step(next, rate);
      run.over = !moved || next === setting.steps;
      if (!moved) return;
      run.step++;
      run.losses.push(loss);
      if (next % 10 === 0 || run.over) run.points.push({ step: next, ...model.judge(sample, task.scores) });
    },
    diverged: () => run.over && run.step < setting.steps,
    looks: () => model.looks(shown),
    tested: () => ({ ...model.judge(chunks, []), count: test.length }),
  };
  return run;
}

// Answer what is asked: `start` a setting, `go` on or stop, and `control`, whose `pace` is the least time of a step, in
// milliseconds. It works a slice of time at a time, and tells in between what is new; when it stops, also the parameters
// and how it does on all new rows.
function serve(tell, slice) {
  let run = null, control = null, going = false, told = 0, turns = 0, began = 0;
  const early = () => began + control.pace * (run.step + 1) - Date.now(); // milliseconds, for the next step
  const report = () => {
    const { step, words, losses } = run;
    const points = run.points.splice(0);
    tell({
      step, words, points, going, losses: losses.slice(told), looks: run.looks(),
      over: run.over, diverged: run.diverged(),
      ...(!going && { params: run.model.read(), tested: run.tested() }),
    });
    told = losses.length;
  };
  const work = (turn) => {
    if (turn !== turns || !going) return;
    const until = Date.now() + slice;
    while (!run.over && early() <= 0 && Date.now() < until) run.advance();
    going = !run.over;
    report();
    if (going) setTimeout(work, early() > 0 ? Math.max(early(), 16) : 0, turn); // a frame
  };
  return ({ start, go, control: changed }) => {
    if (changed) control ? Object.assign(control, changed) : (control = changed);
    if (start) [run, told] = [startRun(start, control), 0];
    if (go !== undefined) going = go && !run.over;
    if (run) began = Date.now() - control.pace * run.step;
    if (run) report();
    if (going) work(++turns);
  };
}

export {
  defaultRng, TASKS, makeModel, startRun, serve, memoryOf, plainProduct, repeatedRows, coreference, fortunes, batchOf,
};
