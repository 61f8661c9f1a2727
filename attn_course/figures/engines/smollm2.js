// A released language model, SmolLM2, run by a worker of a page: from its file, as attn.decoder runs it, with what the
// package's interventions do to its heads. smollm2.c has what takes the time; bytepairs.js comes before this.

import { firstRead, joined } from "./bytepairs.js";

const MOST_READ = 128; // tokens of one text
const CAREFUL = 32; // as many tokens at once are multiplied without rounding
const BEST = 8; // next tokens that are told
const WINDOW = 32; // tokens whose weights are shown, the last ones
const ROOM = 12e6; // bytes beside the file
const QUESTION = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
  + "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"; // as attn_course.smollm2 has it
// The values of a GGUF file, by number; 8 is a text, 9 a list.
const TYPES = "Uint8 Int8 Uint16 Int16 Uint32 Int32 Float32 Uint8 8 9 BigUint64 BigInt64 Float64".split(" ");
const COMPUTED = { // what a file must say, where it says anything of it
  "tokenizer.ggml.add_bos_token": 0, "llama.attention.causal": 1, "llama.rope.dimension_count": 64,
  "llama.rope.scaling.factor": 1, "llama.rope.scale_linear": 1, "llama.rope.scaling.attn_factor": 1,
};
const MATRICES = { // their names here, and how many entries they take and give
  attn_q: ["Q", 576, 576], attn_k: ["K", 576, 192], attn_v: ["V", 576, 192], attn_output: ["O", 576, 576],
  ffn_gate: ["W1", 576, 1536], ffn_up: ["W3", 576, 1536], ffn_down: ["W2", 1536, 576],
};

// UTF-8 as a text. What a TextDecoder returns lies outside of the heap, with more about it than it is long: for 100,000
// words and joins some 15 MB.
const textOf = (bytes) => decodeURIComponent(Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, 0)}`).join(""));

// What a GGUF file says, and where its arrays begin. One that ends before that is no whole file.
function readGguf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const take = (size) => (at += size) - size;
  const value = (type) => {
    const of = type === 9 && u32(), length = (type === 8 || type === 9) && value(10);
    if (type === 8) return textOf(bytes.subarray(at, take(length) + length));
    if (type === 9) return Array.from({ length }, () => value(of));
    return Number(view[`get${TYPES[type]}`](take(TYPES[type].match(/\d+/) / 8), true));
  };
  const u32 = () => value(4), u64 = () => value(10);
  if (bytes.length < 4 || u32() !== 0x46554747) throw Error("This file is not of the kind GGUF.");
  u32();
  const nArrays = u64(), nSaid = u64(), said = {}, arrays = {};
  for (let i = 0; i < nSaid; i++) {
    const name = value(8);
    said[name] = value(u32());
  }
  for (let i = 0; i < nArrays; i++) {
    const name = value(8), shape = Array.from({ length: u32() }, u64);
    arrays[name] = { shape, type: u32(), place: u64() };
  }
  const alignment = said["general.alignment"] ?? 32;
  return { said, arrays, start: Math.ceil(at / alignment) * alignment };
}

// Text to tokens and back, as attn_course.released_tokens.ByteTokenizer.
function byteTokenizer(said) {
  const words = said["tokenizer.ggml.tokens"], kinds = said["tokenizer.ggml.token_type"];
  const tokens = new Map(words.map((word, token) => [word, token]));
  // By token, how long the first of the two is that are joined to it. Joins make tokens in their order, each another one.
  const cuts = new Uint16Array(words.length);
  let before = -1;
  for (const pair of said["tokenizer.ggml.merges"]) {
    const [first, second] = pair.split(" "), token = tokens.get(first + second);
    if (!(token > before)) throw Error(`“${pair}” makes no later token.`);
    cuts[token] = first.length;
    before = token;
  }
  delete said["tokenizer.ggml.merges"]; // 50,000 texts that are not asked again
  const marks = words.filter((word, token) => word && [3, 4].includes(kinds[token]))
    .sort((one, other) => other.length - one.length);
  const bytes = (text) => [...new TextEncoder().encode(text)];
  const unseen = (byte) => byte < 33 || (byte > 126 && byte < 161) || byte === 173;
  let others = 256;
  const spelled = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(unseen(byte) ? others++ : byte));
  const spaces = "\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000", digits = "\\p{Nd}\\p{Nl}\\p{No}";
  const pieces = new RegExp(`'(?:s|t|re|ve|m|ll|d)| ?\\p{L}+|[${digits}]| ?[^\\p{L}${digits}${spaces}]+`
    + `|[${spaces}]+(?![^${spaces}${digits}])|[${spaces}]+`, "gu");
  const cut = new RegExp(`(${marks.map((mark) => mark.replace(/[|\\{}()[\]^$+*?.]/g, "\\$&")).join("|") || "(?!)"})`);
  const encodePiece = (piece) => {
    const parts = joined(bytes(piece).map((byte) => spelled[byte]), (first, second) => {
      const token = tokens.get(first + second);
      return cuts[token] === first.length ? token : undefined;
    });
    return parts.flatMap((part) => tokens.get(part) ?? []);
  };
  const encode = (text) => text.toWellFormed().split(cut).flatMap((part, number) =>
    (number % 2 ? [tokens.get(part)] : (part.match(pieces) ?? []).flatMap(encodePiece)));
  const bytesOf = (word) => {
    const found = [...word].map((letter) => spelled.indexOf(letter));
    return marks.includes(word) || found.includes(-1) ? bytes(word) : found;
  };
  const decode = (given) => new TextDecoder("utf-8", { ignoreBOM: true })
    .decode(Uint8Array.from(given.flatMap((token) => bytesOf(words[token]))));
  return { encode, decode };
}

// The model, whose file has been put into the memory of smollm2.wasm from `file` on.
function engine({ exports: { q4_1, q8_0, pack, scores, mix }, memory, file, size }) {
  const { said, arrays, start } = readGguf(new Uint8Array(memory.buffer, file, size));
  const own = (name) => said[`llama.${name}`];
  const d = own("embedding_length"), ff = own("feed_forward_length"), nLayers = own("block_count");
  const H = own("attention.head_count"), G = own("attention.head_count_kv"), epsilon = own("attention.layer_norm_rms_epsilon");
  if ([said["general.architecture"], said["tokenizer.ggml.pre"], d, ff, nLayers, H, G].join() !== "llama,smollm,576,1536,30,9,3") {
    throw Error(`This file holds ${said["general.name"] ?? "another model"}, and here SmolLM2-135M is read.`);
  }
  const odd = (name, is = "missing") => Error(`${name} is ${is}, and not as in SmolLM2-135M.`);
  for (const [name, number] of Object.entries(COMPUTED)) if ((said[name] ?? number) !== number) throw odd(name, said[name]);
  const dk = d / H, wide = G * dk, vocabulary = said["tokenizer.ggml.tokens"].length;
  let free = file; // what the file says of itself has been read, and makes room
  const room = (count) => {
    if (free < file + start && free + 4 * count > file + start) free = Math.ceil((file + size) / 64) * 64;
    const floats = new Float32Array(memory.buffer, free, count);
    free += Math.ceil(count / 16) * 64;
    return floats;
  };
  const left = new Set(Object.keys(arrays)), logits = room(4 * vocabulary), lost = [room(4 * vocabulary)];
  const place = (module, types, wanted) => {
    const name = `${module}.weight`, { shape, type, place: at } = arrays[name] ?? {};
    if (String(shape) !== String(wanted) || !types[type]) throw odd(name, shape && `${shape} of type ${type}`);
    if (start + at + types[type] * shape.reduce((all, axis) => all * axis) > size) throw Error("The file is not whole.");
    left.delete(name);
    return [file + start + at, type];
  };
  const gain = (name) => new Float32Array(memory.buffer, place(name, { 0: 4 }, [d])[0], d);
  const matrix = (name, nIn, nOut, types = { 3: 20 / 32, 8: 34 / 32 }) => { // Q4_1 and Q8_0, in bytes
    const [at, type] = place(name, types, [nIn, nOut]);
    return { at, nIn, nOut, kernel: { 3: q4_1, 8: q8_0 }[type] };
  };
  const layers = Array.from({ length: nLayers }, (_, i) => ({
    ...Object.fromEntries(Object.entries(MATRICES).map(([theirs, [ours, ...sizes]]) => [ours, matrix(`blk.${i}.${theirs}`, ...sizes)])),
    before: gain(`blk.${i}.attn_norm`), between: gain(`blk.${i}.ffn_norm`),
    keys: room(MOST_READ * wide), values: room(MOST_READ * wide),
  }));
  const last = gain("output_norm"), embedding = matrix("token_embd", d, vocabulary, { 8: 34 / 32 });
  if (left.size) throw odd([...left][0], "there");
  const [X, N, Q, M] = Array.from({ length: 4 }, () => room(MOST_READ * d));
  const [A, B] = Array.from({ length: 2 }, () => room(MOST_READ * ff)), line = room(MOST_READ);
  const packs = room((MOST_READ * ff) / 2), scales = room((MOST_READ * ff) / 32), totals = room((MOST_READ * ff) / 32);
  const whole = new Int16Array(memory.buffer, packs.byteOffset, MOST_READ * ff), rest = room(CAREFUL * ff);
  lost.push(room(CAREFUL * ff), room(CAREFUL * ff));
  const turns = Array.from({ length: MOST_READ }, (_, t) => Array.from({ length: dk / 2 }, (_, i) => {
    const angle = t * (own("rope.freq_base") ?? 10000) ** ((-2 * i) / dk);
    return [Math.cos(angle), Math.sin(angle)];
  }));

  // Matrices times n vectors x of nIn entries, which smollm2.c rounds to 16 bits; of the first `careful` of them, what that
  // takes away is multiplied as well.
  const times = (x, nIn, n, careful, ...products) => {
    const multiply = (from, count, outs, isRest) => {
      pack(from.byteOffset, packs.byteOffset, scales.byteOffset, totals.byteOffset, nIn, count);
      if (isRest) totals.fill(0, 0, ((count + 3) * nIn) / 32); // least values were added before
      products.forEach(([{ at, nOut, kernel }], k) =>
        kernel(at, packs.byteOffset, scales.byteOffset, totals.byteOffset, outs[k].byteOffset, nIn, nOut, count));
    };
    multiply(x, n, products.map(([, y]) => y), false);
    for (let t = 0; t < careful; t++) for (let i = 0; i < nIn; i++) {
      const block = ((t >> 2) * (nIn >> 5) + (i >> 5)) * 4 + (t & 3);
      rest[t * nIn + i] = x[t * nIn + i] - scales[block] * whole[block * 32 + (i & 31)];
    }
    if (careful) multiply(rest, careful, lost, true);
    products.forEach(([{ nOut }, y], k) => {
      for (let o = 0; o < careful * nOut; o++) y[o] += lost[k][o];
    });
  };
  const normal = (x, gains, y, n) => {
    for (let t = 0; t < n; t++) {
      let total = 0;
      for (let i = t * d; i < (t + 1) * d; i++) total += x[i] ** 2;
      const factor = 1 / Math.sqrt(total / d + epsilon);
      for (let i = 0; i < d; i++) y[t * d + i] = x[t * d + i] * factor * gains[i];
    }
  };
  const add = (y, n) => {
    for (let i = 0; i < n * d; i++) X[i] += y[i];
  };
  const turn = (x, from, heads, first, n) => {
    for (let t = 0; t < n; t++) for (let h = 0; h < heads; h++) for (let i = 0; i < dk / 2; i++) {
      const at = from + (t * heads + h) * dk + 2 * i, [cos, sin] = turns[first + t][i], [even, odd] = [x[at], x[at + 1]];
      x[at] = even * cos - odd * sin;
      x[at + 1] = even * sin + odd * cos;
    }
  };
  const half = (bits) => {
    const exponent = (bits >> 10) & 31, rest = bits & 1023;
    return (bits & 32768 ? -1 : 1) * (exponent ? (1 + rest / 1024) * 2 ** (exponent - 15) : rest * 2 ** -24);
  };
  const embed = (tokens) => tokens.forEach((token, t) => {
    for (let block = 0; block < d / 32; block++) {
      const bytes = new DataView(memory.buffer, embedding.at + ((token * d) / 32 + block) * 34, 34), scale = half(bytes.getUint16(0, true));
      for (let i = 0; i < 32; i++) X[t * d + block * 32 + i] = scale * bytes.getInt8(2 + i);
    }
  });

  // What a head gives from token `at`, whose mixture it leaves in `to`; `seen` says what it may look at, where not all.
  const attend = (query, { keys, values }, group, at, to, seen) => {
    const n = at + 1, weights = line.subarray(0, n), offset = 4 * group * dk;
    scores(query.byteOffset, keys.byteOffset + offset, line.byteOffset, dk, wide, n);
    let top = -Infinity, total = 0;
    for (let j = 0; j < n; j++) {
      weights[j] = seen && !seen(j) ? -Infinity : weights[j] / Math.sqrt(dk);
      top = Math.max(top, weights[j]);
    }
    for (let j = 0; j < n; j++) total += weights[j] = top === -Infinity ? 0 : Math.exp(weights[j] - top);
    for (let j = 0; j < n; j++) weights[j] /= total || 1;
    mix(line.byteOffset, values.byteOffset + offset, to.byteOffset, dk, wide, n);
    return weights;
  };

  // Runs the layers from one on over n tokens, whose streams lie in X and of which the first is number `first`. `seenBy`
  // gives by layer and head what a token may look at, or null; `given` by layer and head what it hands over at the last.
  const run = (from, first, n, seenBy, given, keep) => layers.slice(from).forEach((layer, i) => {
    const number = from + i;
    const careful = n === 1 && first ? 0 : n <= CAREFUL ? n : Number(!first); // its first token has the largest entries
    if (keep) layer.entering = X.slice((n - 1) * d, n * d);
    normal(X, layer.before, N, n);
    times(N, d, n, careful, [layer.Q, Q], [layer.K, layer.keys.subarray(first * wide)], [layer.V, layer.values.subarray(first * wide)]);
    turn(Q, 0, H, first, n);
    turn(layer.keys, first * wide, G, first, n);
    for (let t = 0; t < n; t++) for (let h = 0; h < H; h++) {
      const at = (t * H + h) * dk, to = M.subarray(at, at + dk), query = Q.subarray(at, at + dk);
      const weights = attend(query, layer, Math.floor((h * G) / H), first + t, to, seenBy?.(number, h, first + t));
      if (keep) keep(number, h, first + t, weights);
      if (t === n - 1 && given?.(number, h)) to.set(given(number, h));
    }
    if (keep) layer.mixtures = M.slice((n - 1) * d, n * d);
    times(M, d, n, careful, [layer.O, N]);
    add(N, n);
    normal(X, layer.between, N, n);
    times(N, d, n, careful, [layer.W1, A], [layer.W3, B]);
    for (let k = 0; k < n * ff; k++) A[k] *= B[k] / (1 + Math.exp(-A[k]));
    times(A, ff, n, careful, [layer.W2, N]);
    add(N, n);
  });

  // The logits behind n streams in X, four at a time: each is valid until the next.
  const eachLogits = (n, isCareful, use) => {
    for (let t = 0; t < n; t += 4) {
      const some = Math.min(4, n - t);
      normal(X.subarray(t * d), last, N, some);
      times(N, d, some, isCareful ? some : 0, [embedding, logits]);
      for (let k = 0; k < some; k++) use(t + k, logits.subarray(k * vocabulary, (k + 1) * vocabulary));
    }
  };
  return { nLayers, H, dk, layers, X, embed, run, eachLogits, ...byteTokenizer(said) };
}

const logOfSum = (logits) => {
  let top = -Infinity, total = 0;
  for (const logit of logits) top = Math.max(top, logit);
  for (const logit of logits) total += Math.exp(logit - top);
  return top + Math.log(total);
};

function likeliest(logits, count) {
  const best = [];
  logits.forEach((logit, token) => {
    if (best.length === count && logit <= logits[best[count - 1]]) return;
    const at = best.findIndex((other) => logits[other] < logit);
    best.splice(at < 0 ? best.length : at, 0, token);
    best.length = Math.min(best.length, count);
  });
  return best;
}

// What readers ask of the model. It remembers the text it has read last, of which a longer one goes on.
function reader(model) {
  const { nLayers, H, dk, layers, X } = model;
  const nothing = { tokens: [], done: "", rows: [], lost: [], best: [] };
  let read = nothing, kept = []; // what was read last, and the last two results
  const name = (layer, head) => `L${layer + 1}H${head + 1}`;

  // By layer, head and token that asks, what it may look at, as a function of the token that is asked, where not all; of a
  // head that is off nothing.
  const seenBy = ({ off = [], itself = [], forbidden = [] }) => {
    if (!off.length && !itself.length && !forbidden.length) return null;
    return (layer, head, query) => {
      const one = name(layer, head), isAlone = itself.includes(one);
      if (off.includes(one)) return () => false;
      const hidden = forbidden.filter(([of, i]) => of === one && i === query).map(([, , j]) => j);
      return isAlone || hidden.length ? (j) => (j === query || !isAlone) && !hidden.includes(j) : null;
    };
  };

  // Reads tokens with what is done to heads: `off` and `itself` by name, `forbidden` as [name, query, key], and `given`
  // by name, what it hands over at the last token.
  const readAll = (tokens, done) => {
    const key = JSON.stringify(done);
    const again = !done.given && kept.find((one) => one.done === key && String(one.tokens) === String(tokens));
    if (again) return again;
    const goesOn = key === read.done && !done.given && read.tokens.every((token, i) => token === tokens[i]);
    const { tokens: known, rows, lost, best, last: behind } = goesOn ? read : nothing;
    const first = Math.min(known.length, tokens.length - 1), n = tokens.length - first; // the last is read in any case
    const now = { tokens, done: key, rows: rows.slice(0, first), lost: lost.slice(0, first), best: best.slice(0, first) };
    if (first && first === known.length && behind) now.lost[first - 1] = -behind[tokens[first]];
    read = nothing; // should this be cut short
    model.embed(tokens.slice(first));
    model.run(0, first, n, seenBy(done), done.given && ((layer, head) => done.given[name(layer, head)]),
      (layer, head, query, weights) => (now.rows[query] ??= new Float32Array(nLayers * H * weights.length))
        .set(weights, (layer * H + head) * weights.length));
    model.eachLogits(n, n > 1 && n <= CAREFUL, (t, logits) => {
      const total = logOfSum(logits), next = tokens[first + t + 1];
      now.lost[first + t] = next === undefined ? null : total - logits[next];
      now.best[first + t] = likeliest(logits, BEST).map((token) => [token, Math.exp(logits[token] - total)]);
      if (t === n - 1) now.last = Float32Array.from(logits, (logit) => logit - total);
    });
    read = now;
    if (!done.given) kept = [now, ...kept].slice(0, 2);
    return now;
  };

  // What all heads mix at the last token, layer by layer, and what is likely to come next.
  let last;
  const handedBy = (tokens) => {
    if (String(last?.tokens) === String(tokens)) return last;
    kept = kept.filter((one) => String(one.tokens) !== String(tokens));
    const { best, last: logs } = readAll(tokens, {});
    return (last = { tokens, logs, best: best.at(-1)[0][0], mixtures: layers.map(({ mixtures }) => mixtures) });
  };
  const given = (mixtures, heads) => Object.fromEntries(heads.map((head) => {
    const [layer, number] = head.slice(1).split("H").map(Number);
    return [head, mixtures[layer - 1].slice((number - 1) * dk, number * dk)];
  }));

  // By head, how likely each of some tokens is if it alone hands over, at the last token, these mixtures.
  const exchangeEach = (tokens, mixtures, asked) => {
    const at = tokens.length - 1, found = [];
    kept = [];
    const now = readAll(tokens, {});
    for (let layer = 0; layer < nLayers; layer++) for (let head = 0; head < H; head++) {
      const own = mixtures[layer].slice(head * dk, (head + 1) * dk);
      X.set(layers[layer].entering);
      model.run(layer, at, 1, null, (l, h) => l === layer && h === head && own, null);
      model.eachLogits(1, false, (_, logits) => {
        const total = logOfSum(logits);
        found.push(asked.map((token) => Math.exp(logits[token] - total)));
      });
    }
    read = { ...now, tokens: tokens.slice(0, at), last: null }; // the last is to be read again
    return found;
  };
  return { readAll, handedBy, given, exchangeEach };
}

// Answers the page, which asks for a text, as it is or as a question to the assistant, with what it has `written` behind it;
// `done` is what is done to heads, of which those that are `exchanged` hand over what they mix in the `other` text. `each`
// asks what each head alone does so; a `light` answer is one while it writes.
function answer(model, { readAll, handedBy, given, exchangeEach }, { text, question, written, done, other, each, light, token }) {
  const encode = (one) => model.encode(question ? QUESTION.replace("{}", () => one) : one);
  const end = (tokens) => tokens.slice(firstRead(tokens.length, MOST_READ));
  const all = [...encode(text), ...written], tokens = end(all), { exchanged, ...rest } = done;
  const theirs = end(encode(other)), hands = exchanged.length || each;
  if (!tokens.length) throw Error("There is no token to read.");
  if (hands && !theirs.length) throw Error("Type the second text, from which heads hand over.");
  const handed = hands && handedBy(theirs);
  const isPlain = !exchanged.length && Object.values(rest).every((list) => !list.length);
  const plain = isPlain || !light ? readAll(tokens, {}) : null;
  const likely = (logs) => two.map((one) => Math.exp(logs[one]));
  const two = each ? [plain.best.at(-1)[0][0], handed.best] : [];
  const found = each && exchangeEach(tokens, handed.mixtures, two);
  const now = isPlain ? plain : readAll(tokens, exchanged.length ? { ...rest, given: given(handed.mixtures, exchanged) } : rest);
  const n = tokens.length, shown = light ? 0 : Math.min(n, WINDOW), heads = now.rows[0].length, said = (one) => model.decode([one]);
  const patterns = new Float32Array((heads * shown * (shown + 1)) / 2);
  let place = 0;
  for (let head = 0; head < heads; head++) for (let i = n - shown; i < n; i++) {
    const row = now.rows[i].subarray(head * (i + 1) + n - shown, (head + 1) * (i + 1));
    patterns.set(row, place);
    place += row.length;
  }
  return {
    tokens, gone: all.length - n, words: tokens.map(said), lost: now.lost, patterns, shown, isPlain,
    weights: light ? [] : now.rows[Math.min(token < 0 ? n - 1 : token, n - 1)],
    best: now.best.at(-1).map(([one, share]) => [one, said(one), share, plain ? Math.exp(plain.last[one]) : share]),
    each: each && { answers: two.map(said), here: likely(plain.last), there: likely(handed.logs), found },
  };
}

// The life of the worker: it is told how large the file is and given its parts, and then asked.
let parts, model, texts;
const steps = {
  async begin({ wasm, size }) {
    if (!WebAssembly.validate(wasm)) throw Error("This browser cannot run it: its WebAssembly has no SIMD.");
    let memory;
    try {
      memory = new WebAssembly.Memory({ initial: Math.ceil((size + ROOM) / 65536) });
    } catch {
      throw Error(`This browser has no ${Math.round((size + ROOM) / 1e6)} MB of memory left for the model.`);
    }
    const { instance: { exports } } = await WebAssembly.instantiate(wasm, { env: { memory } });
    parts = { exports, memory, size, file: Math.ceil(exports.__heap_base.value / 64) * 64, come: 0 };
  },
  part({ bytes }) {
    if (parts.come + bytes.length > parts.size) throw Error("The file is longer than it should be.");
    new Uint8Array(parts.memory.buffer).set(bytes, parts.file + parts.come);
    parts.come += bytes.length;
    return { come: parts.come / parts.size, bytes };
  },
  end() {
    if (parts.come < parts.size) throw Error("The file is not whole.");
    model = engine(parts);
    texts = reader(model);
  },
  ask: (asked) => answer(model, texts, asked),
};

self.onmessage = async ({ data: { number, step, ...given } }) => {
  let said;
  try {
    said = await steps[step](given);
  } catch (error) {
    said = { problem: error instanceof RangeError ? "The file is not whole." : error.message };
  }
  self.postMessage({ number, ...said }, [said?.patterns?.buffer, said?.bytes?.buffer].filter(Boolean));
};
