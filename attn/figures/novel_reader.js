// The novel reader: a language model of a million parameters that reads the reader's own text. It is loaded on request.

const SHOWN = 8; // tokens whose probability is shown

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
  return { params, config: about.config, mostTokens: about.most_tokens, ...tokenizerOf(about) };
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

// What the model makes of tokens: by head the weights, by layer the stream, and the logits, row after row; and how
// surprising each token but the first was, in nats. `off` names the heads that write nothing. Where `before` was read with
// the same heads and the tokens only go on, only the new ones are read.
function readTokens({ params, config }, tokens, off, before) {
  const goesOn = before && before.off === off && before.tokens.length < tokens.length
    && before.tokens.every((token, i) => token === tokens[i]);
  const fresh = { tokens, off, cache: new Map(), weights: {}, streams: [], logits: [], lost: [] };
  const done = goesOn ? { ...before, tokens } : fresh;
  const nodes = runMachine(params, config, tokens.slice(goesOn ? before.tokens.length : 0),
    (layer, head) => off.split(" ").includes(`${layer}.${head}`), done.cache);
  const value = (name) => nodes.find((node) => node.name === name)?.value;
  const rowsOf = (X) => Array.from({ length: X.rows }, (_, i) => rowOf(X, i));
  const and = (earlier = [], X) => [...earlier, ...rowsOf(X)];
  const weights = { ...done.weights };
  for (let layer = 1; layer <= config.n_layers; layer++) {
    for (let head = 0; head < config.n_heads; head++) {
      const P = value(`layer ${layer}, head ${head + 1}: weights`);
      if (P) weights[`${layer}.${head}`] = and(weights[`${layer}.${head}`], P);
    }
  }
  const streams = ["embeddings", ...Array.from({ length: config.n_layers }, (_, i) => `layer ${i + 1}: stream`)]
    .map((name, i) => and(done.streams[i], value(name)));
  const logits = and(done.logits, nodes.at(-1).value);
  const lost = tokens.slice(1).map((token, i) => done.lost[i] ?? -Math.log(softmax(logits[i])[token]));
  return { ...done, weights, streams, logits, lost };
}

// The logits if the model ended here: the last norm and the unembedding, applied to a row of the stream.
function readEarly({ params, config }, row) {
  const normal = KINDS.norm.value([matrix(1, row.length, Float64Array.from(row)), params.norm.gain, params.norm.bias], config);
  return rowOf(timesRows(normal, params.embedding), 0);
}

// The tokens in order of their probability.
function likeliest(shares, count) {
  return shares.map((share, token) => [share, token]).sort((a, b) => b[0] - a[0]).slice(0, count).map(([, token]) => token);
}

// A token so that its spaces and ends of lines are seen.
function visible(word) {
  return word.replace(/ /g, "·").replace(/\n/g, "¶");
}

// The model, brought once for all figures of the page: by the scripts beside the book's pages, or by the kernel.
let brought = null;

async function bring({ load, model }, onProgress) {
  if (!load) {
    const answer = new Promise((resolve) => model.on("msg:custom", (about, buffers) => resolve([about, buffers[0]])));
    model.send({ wanted: "model" });
    const [about, view] = await answer;
    return modelOf(about, new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice());
  }
  for (let part = 0; part < (window.attnNovels?.count ?? 1); part++) { // the first script says how many there are
    await load(`novels-${part}.js`);
    onProgress((part + 1) / window.attnNovels.count);
  }
  const parts = window.attnNovels.parts.map(bytesOf);
  const bytes = new Uint8Array(sum(parts.map((part) => part.length)));
  parts.reduce((place, part) => (bytes.set(part, place), place + part.length), 0);
  return modelOf(window.attnNovels.about, bytes);
}

function machineFor(means, place) {
  const { read, change, reset, line, explain, tell } = means;
  const { texts } = read();
  const model = brought;
  const { config, words, encode, mostTokens } = model;
  const layers = Array.from({ length: config.n_layers }, (_, i) => i + 1);
  const heads = Array.from({ length: config.n_heads }, (_, i) => i);
  let done = null, whole = null; // as the heads are now, and with all of them on

  const problem = element("span", { className: "attn-problem", role: "status" });
  const take = (tokens) => {
    const told = tokens.length > mostTokens
      ? `These are ${tokens.length} tokens; the model was trained on ${mostTokens} at a time, and the figure takes no more.`
      : tokens.length === 0 ? "There is no token to read." : "";
    problem.textContent = told;
    if (!told) change({ tokens, token: tokens.length - 1 });
  };
  const goOn = (token) => take([...read().tokens, token]);

  const ours = element("select", { autocomplete: "off" }, element("option", { value: "" }, "Choose a text of ours"),
    ...texts.map((text, i) => element("option", { value: i }, text)));
  ours.addEventListener("change", () => ours.value && take(encode(texts[Number(ours.value)])));
  const field = element("textarea", { rows: 3, autocomplete: "off", spellcheck: false });
  const form = element("form", { className: "attn-words attn-own" },
    element("label", {}, element("span", {}, `Your own text (up to ${mostTokens} tokens)`), field),
    element("button", { type: "submit", className: "attn-button" }, "Read it"), problem);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    take(encode(field.value.replace(/[“”]/g, '"').replace(/[‘’]/g, "'")));
  });

  const strip = element("div", { className: "attn-tokens", role: "group", "aria-label": "The tokens: choose the one that asks" });
  const outcome = element("p", { className: "attn-outcome" });

  const temperature = slider({
    label: "temperature", min: 0.1, max: 2, step: 0.1, show: (number) => format(number, 1),
    onInput: (number) => change({ temperature: number }),
  });
  const draw = button("attn-button", "Draw the next token", () => {
    const shares = sharesNow(read());
    let left = Math.random();
    const drawn = shares.findIndex((share) => (left -= share) < 0);
    goOn(drawn < 0 ? largest(shares) : drawn);
  });
  const add = button("attn-button", "Take the likeliest", () => goOn(largest(sharesNow(read()))));
  const bars = Array.from({ length: SHOWN }, (_, n) => {
    const press = button("attn-next", "", () => goOn(likeliest(sharesNow(read()), SHOWN)[n]));
    return { press, ...barRow("attn-nexts", press) };
  });
  const nextTitle = element("p", { className: "attn-head" });
  const following = box("attn-following", ...bars.map((bar) => bar.row));

  const cells = grid(config.n_layers, config.n_heads, (l, head) => {
    const name = `${layers[l]}.${head}`;
    const path = drawing("path", { class: "attn-look" });
    const look = button("attn-looks", "", () => change({ head: name }));
    look.append(element("span", {}, name), drawing("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" }, path));
    look.setAttribute("aria-label", `Head ${name}: show where it looks`);
    const power = button("attn-power", "on", () => {
      const { off } = read();
      change({ off: off.includes(name) ? off.filter((other) => other !== name) : [...off, name].sort(), head: name });
    });
    power.setAttribute("aria-label", `Head ${name} writes`);
    return { name, path, look, power, cell: box("attn-one-head", look, power) };
  });
  const table = tableOf({
    className: "attn-heads-table", title: "All heads: where each looks from the chosen token",
    rows: layers.map((layer) => heading("row")(`layer ${layer}`)), cells: cells.map((row) => row.map((one) => one.cell)),
  });
  const allOn = button("attn-button", "All heads on", () => change({ off: [] }));
  const early = ["embedding", ...layers.map((layer) => `layer ${layer}`)].map((name) => [name, element("td")]);
  const earlyTable = element("table", { className: "attn-table attn-early" },
    element("caption", {}, "The stream at the chosen token, read early: the likeliest next tokens if the model ended there"),
    element("tbody", {}, ...early.map(([name, cell]) => element("tr", {}, heading("row")(`after ${name}`), cell))));

  const sharesNow = ({ token, temperature: t }) => softmax(done.logits[token].map((logit) => logit / t));
  const told = (token) => `“${visible(words[token])}”`;

  place.replaceChildren(
    box("attn-controls", element("label", { className: "attn-wanted" }, element("span", {}, "Texts"), ours), form),
    strip, outcome,
    box("attn-read", box("attn-nexts-pane", nextTitle, following),
      box("attn-knobs-pane", temperature.row, box("attn-controls", add, draw)), box("attn-heads-pane", table.table, allOn)),
    line, scrolling("The stream, read early", earlyTable), reset);

  return (state) => {
    const off = state.off.join(" ");
    const same = (one, heads) => one && one.off === heads && one.tokens.join() === state.tokens.join();
    if (!same(done, off)) done = readTokens(model, state.tokens, off, done);
    if (!same(whole, "")) whole = off === "" ? done : readTokens(model, state.tokens, "", whole);
    const { tokens, token } = state;
    const weights = done.weights[state.head]?.[token];
    if (strip.children.length !== tokens.length || [...strip.children].some((node, i) => node.textContent !== visible(words[tokens[i]]))) {
      keepingFocus(strip, () => strip.replaceChildren(...tokens.map((one, i) => {
        const node = element("button", { type: "button", className: "attn-token" }, visible(words[one]));
        explain(node, () => {
          const now = read();
          const weight = done.weights[now.head]?.[now.token]?.[i] ?? 0;
          return `Head ${now.head}, asked by ${told(now.tokens[now.token])}: weight ${format(weight)} on ${told(now.tokens[i])}.`;
        });
        node.addEventListener("click", () => change({ token: i })); // behind `explain`: what all heads do is told last
        return node;
      })));
    }
    [...strip.children].forEach((node, i) => {
      node.style.setProperty("--attn-w", weights?.[i] ?? 0);
      node.setAttribute("aria-pressed", i === token);
      node.classList.toggle("attn-later", i > token);
    });
    const now = sharesNow(state);
    const before = softmax(whole.logits[token].map((logit) => logit / state.temperature));
    const isLast = token === tokens.length - 1;
    const mayGoOn = isLast && tokens.length < mostTokens;
    nextTitle.textContent = `The next token after ${told(tokens[token])}${isLast ? "" : `, which was ${told(tokens[token + 1])}`}`;
    likeliest(now, SHOWN).forEach((one, n) => {
      bars[n].press.textContent = visible(words[one]);
      bars[n].press.disabled = !mayGoOn;
      bars[n].set(now[one], state.off.length ? `${format(now[one], 3)}, was ${format(before[one], 3)}` : format(now[one], 3));
      bars[n].haunt(state.off.length ? before[one] : null);
      bars[n].row.classList.toggle("attn-chosen", !isLast && one === tokens[token + 1]);
    });
    following.classList.toggle("attn-compared", state.off.length > 0);
    [add, draw].forEach((node) => (node.disabled = !mayGoOn));
    temperature.set(state.temperature);
    cells.flat().forEach(({ name, path, look, power }) => {
      const row = done.weights[name]?.[token] ?? [];
      const width = 100 / tokens.length;
      path.setAttribute("d", tokens.map((_, j) => {
        const height = 20 * (row[j] ?? 0);
        return `M${(j * width).toFixed(2)},20h${(0.85 * width).toFixed(2)}v${(-height).toFixed(2)}h${(-0.85 * width).toFixed(2)}z`;
      }).join(""));
      look.setAttribute("aria-pressed", name === state.head);
      const isOff = state.off.includes(name);
      power.textContent = isOff ? "off" : "on";
      power.setAttribute("aria-pressed", !isOff);
    });
    allOn.disabled = state.off.length === 0;
    early.forEach(([, cell], i) => {
      const shares = softmax(i === early.length - 1 ? done.logits[token] : readEarly(model, done.streams[i][token]));
      cell.textContent = likeliest(shares, 3).map((one) => `${visible(words[one])} ${format(shares[one])}`).join("   ");
    });
    const mean = (lost) => format(sum(lost) / lost.length);
    const unknown = tokens.filter((one) => one === 0).length;
    outcome.textContent = (tokens.length === 1 ? "One token: nothing to be judged by yet."
      : `${tokens.length} tokens. Their loss is ${mean(done.lost)} nats a token`
        + (state.off.length ? `, with all heads on ${mean(whole.lost)}.` : "."))
      + (unknown ? ` ${unknown} of them, shown as ${visible(words[0])}, stand for characters that the novels do not have.` : "");
    if (state.off.includes(state.head)) return tell(`Head ${state.head} is off: it writes nothing.`);
    const order = weights.map((_, j) => j).sort((a, b) => weights[b] - weights[a]).slice(0, 3);
    return tell(`Head ${state.head}, asked by ${told(tokens[token])}, looks at `
      + `${order.map((j) => `${told(tokens[j])} ${format(weights[j])}`).join(", ")}.`);
  };
}

function build(means) {
  const place = box("attn-live");
  means.draw(place);
  let update = null;
  const start = () => {
    update = machineFor(means, place);
    update(means.read());
  };
  if (brought) start();
  else {
    place.append(element("p", {}, "The model reads your text here, in the page: nothing you type leaves it."), invitation({
      what: "model", megabytes: means.read().megabytes, onReady: start,
      bring: async (onProgress) => (brought ??= await bring(means, onProgress)),
    }));
  }
  return (state) => update?.(state);
}

const render = figure({
  label: "Novel reader", names: ["texts", "tokens", "token", "head", "off", "temperature", "megabytes"], build,
  fixed: ({ texts }) => [texts],
});

export default { render, modelOf, bytesOf, readTokens, readEarly, tokenizerOf };
