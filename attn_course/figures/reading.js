// A language model of a million parameters, read from bytes: what it makes of a text, and what is done to its heads.

import { dot, softmax, sum } from "./common.js";
import { at, columnSums, KINDS, matrix, matrixFrom, rowOf, runMachine, spread, timesRows } from "./engines/machine.js";
import { joined } from "./engines/bytepairs.js";

// The model from its description and its bytes: matrices of numbers in place of rounded ones.
function modelOf(about, bytes) {
  let place = 0;
  const params = {};
  const floats = (count) => {
    const numbers = new Float32Array(bytes.buffer, bytes.byteOffset + place, count);
    place += 4 * count;
    return numbers;
  };
  for (const [name, shape] of about.arrays) {
    const path = name.split("/");
    const part = path.slice(0, -1).reduce((inner, step) => (inner[step] ??= {}), params);
    const [cols, rows] = [shape.at(-1), shape.at(-2) ?? 1];
    const heads = shape.length === 3 ? shape[0] : 1;
    const scales = shape.length > 1 ? floats(heads * rows) : null;
    const all = scales ? new Int8Array(bytes.buffer, bytes.byteOffset + place, heads * rows * cols) : floats(cols);
    place += scales ? all.length : 0;
    const matrices = Array.from({ length: heads }, (_, head) => matrix(rows, cols, Float64Array.from(
      all.subarray(head * rows * cols, (head + 1) * rows * cols),
      (number, i) => number * (scales ? scales[head * rows + Math.floor(i / cols)] : 1))));
    part[path.at(-1)] = shape.length === 3 ? matrices : matrices[0];
  }
  return { params, config: about.config, mostTokens: about.most_tokens, marks: about.marks, ...tokenizerOf(about) };
}

const PIECES = / ?[\p{L}\p{Nl}\p{No}]+| ?[0-9]+| ?[^ \n]|\n| /gu; // \p: what Python's \w has beside digits and _

// Text to tokens and back, as attn.bytepairs.Tokenizer.
function tokenizerOf({ characters, joins }) {
  const words = ["\ufffd", ...characters, ...joins.map(([first, second]) => first + second)];
  const tokens = new Map(words.map((word, token) => [word, token]).slice(1));
  const order = new Map(joins.map((pair, number) => [pair.join("\n"), number])); // no token but one holds a line's end
  const encodePiece = (piece) =>
    joined([...piece], (first, second) => order.get(`${first}\n${second}`)).map((part) => tokens.get(part) ?? 0);
  return {
    words,
    encode: (text) => (text.match(PIECES) ?? []).flatMap(encodePiece),
    decode: (given) => given.map((token) => words[token]).join(""),
  };
}

// A text as the novels are written: straight quotation marks, a dash between spaces, single spaces, none at a line's end.
function asInNovels(text) {
  return text.replace(/[“”„«»]/g, '"').replace(/[‘’]/g, "'").replace(/…/g, "...").replace(/[^\S\n]*[–—―][^\S\n]*/g, " - ")
    .replace(/[^\S\n]+/g, " ").replace(/ ?\n[ \n]*/g, "\n").trim();
}

// Where quotations are opened and closed, as attn_course.novels.quotations has it: for each token "opening", "closing" or
// null. A mark that follows a space, or begins a paragraph, opens.
function quotationMarks(words, tokens) {
  return tokens.map((token, i) => {
    const word = words[token];
    if (word.trim() !== '"') return null;
    return word !== '"' || i === 0 || words[tokens[i - 1]] === "\n" ? "opening" : "closing";
  });
}

// The values of a head with those of opening marks and of closing ones exchanged: each gets the mean of the other kind.
function marksExchanged({ words, marks: [opening, closing] }, tokens, layer, head) {
  const kinds = quotationMarks(words, tokens);
  const means = { opening: closing[layer - 1][head], closing: opening[layer - 1][head] };
  return (V) => matrixFrom(V.rows, V.cols, (i, j) => means[kinds[i]]?.[j] ?? at(V, i, j));
}

// What the model makes of tokens: by head the weights, by head and MLP what it writes, by layer the stream, and the logits,
// row after row; and how surprising each token but the first was, in nats. `done` says what is done to heads, by name:
// "off", "itself" or "exchanged". Where `before` was read with the same heads and the tokens only go on, only the new ones
// are read.
function readTokens(model, tokens, done, before) {
  const { params, config } = model;
  const key = JSON.stringify(done);
  const goesOn = before && before.model === model && before.key === key && before.tokens.length < tokens.length
    && before.tokens.every((token, i) => token === tokens[i]);
  const fresh = { model, tokens, key, cache: new Map(), weights: {}, written: {}, streams: [], logits: [], lost: [] };
  const earlier = goesOn ? { ...before, tokens } : fresh;
  const nodes = runMachine(params, config, tokens.slice(goesOn ? before.tokens.length : 0), (layer, head) => {
    const what = done[`L${layer}H${head + 1}`] ?? null;
    return what === "exchanged" ? marksExchanged(model, tokens, layer, head) : what;
  }, earlier.cache);
  const byName = new Map(nodes.map((node) => [node.name, node.value]));
  const rowsOf = (X) => Array.from({ length: X.rows }, (_, i) => rowOf(X, i));
  const and = (rows = [], X) => [...rows, ...rowsOf(X)];
  const weights = { ...earlier.weights }, written = { ...earlier.written };
  for (let layer = 1; layer <= config.n_layers; layer++) {
    for (let head = 0; head < config.n_heads; head++) {
      const name = `L${layer}H${head + 1}`, called = `layer ${layer}, head ${head + 1}: `;
      if (!byName.has(`${called}weights`)) continue;
      weights[name] = and(weights[name], byName.get(`${called}weights`));
      written[name] = and(written[name], byName.get(`${called}update`));
    }
    written[`MLP ${layer}`] = and(written[`MLP ${layer}`], byName.get(`layer ${layer}: update of the MLP`));
  }
  const streams = ["embeddings", ...Array.from({ length: config.n_layers }, (_, i) => `layer ${i + 1}: stream`)]
    .map((name, i) => and(earlier.streams[i], byName.get(name)));
  const logits = and(earlier.logits, nodes.at(-1).value);
  const lost = tokens.slice(1).map((token, i) => earlier.lost[i] ?? -Math.log(softmax(logits[i])[token]));
  return { ...earlier, weights, written, streams, logits, lost };
}

// The logits if the model ended here: the last norm and the unembedding, applied to a row of the stream.
function readEarly({ params, config }, row) {
  const normal = KINDS.norm.value([matrix(1, row.length, Float64Array.from(row)), params.norm.gain, params.norm.bias], config);
  return rowOf(timesRows(normal, params.embedding), 0);
}

// What each part of the model adds at a place to the logit of a token, over the mean of all logits: by name of the head or
// the MLP. The last norm divides by what it divides the whole stream by, so that the parts add up.
function addedTo({ params, config }, read, place, token) {
  const [, deviation] = spread(read.streams.at(-1)[place], config.epsilon);
  const mean = columnSums(params.embedding).data.map((total) => total / params.embedding.rows);
  const towards = rowOf(params.embedding, token).map((entry, j) => (entry - mean[j]) * params.norm.gain.data[j]);
  const level = sum(towards) / towards.length;
  return Object.fromEntries(Object.entries(read.written).map(([name, rows]) =>
    [name, dot(rows[place], towards.map((entry) => entry - level)) / deviation]));
}

export { addedTo, asInNovels, modelOf, readEarly, readTokens, tokenizerOf };
