// Trains the small transformers of chapters 12 and 15 in the page, from the random numbers that NumPy would draw:
// the same seed gives the notebook's parameters, batches and losses. Its text makes a worker.

import { defaultRng } from "./random.js";
import { memoryOf } from "./products.js";
import { batchOf, evenly, range, TASKS } from "./tasks.js";

// --- the model: attn.transformer.decoder with pre-norm, ReLU, biases in the MLP and an unembedding of its own ---

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
function makeModel(sizes, { rules, edges }, most, control) {
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

  const clear = (start, size) => M.fill(0, start, start + size);
  const copy = (to, from, size) => M.copyWithin(to, from, from + size);
  const multiply = (C, A, W, T, k, n) => product(C, n, A, k, 1, W, n, T, n, k);
  const transpose = (to, ldt, from, ldf, n, m) => { // of n rows of m
    for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) M[to + j * ldt + i] = M[from + i * ldf + j];
  };
  // Gradients of Z = Y W: that of W, and that of Y, which is added to `dA`.
  const multiplyBack = (dA, A, W, dC, T, k, n) => {
    product(W + grads, n, A, 1, k, dC, n, k, n, T);
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
  const distance = (i, j) => Math.max(-8, j - i) + 8; // as an entry of the table, for a key that is not later

  // What is added to the scores of a head, -Infinity where it may not look, and its rule if it is held to one.
  function manner(layer, h, n) {
    const held = control.held[`L${layer}H${h + 1}`], edge = edges[control.forbidden] ?? (() => false);
    const table = positions === "relative" ? P[`layer ${layer}/attention/relative`] + 17 * h : null;
    const added = new Float64Array(n * n);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        added[i * n + j] = edge(layer, i, j) ? -Infinity : table === null ? 0 : M[table + distance(i, j)];
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
      const at = S + i * w, end = i + 1, looks = rule ? rule(tokens, r * n, i) : -1;
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
          const end = i + 1, here = i * w;
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

export { makeModel, serve, startRun };
