// The novel reader: language models of a million parameters that read the reader's own text. Each is loaded on request.

const SHOWN = 8; // tokens whose probability is shown
const TURN = 40; // tokens that are written in one go
const MODELS = { novels: "that read six novels", copying: "that also learned to copy" };
const STATES = { on: "on", off: "off", itself: "itself", exchanged: "swap" };
const TOLD = { on: "on", off: "off", itself: "looks only at itself", exchanged: "opening and closing marks swapped" };
const COLOURS = { weights: "where the head looks", surprise: "how surprising each token was" };

// The models, each brought once for all figures of the page: by the scripts beside the book's pages, or by the kernel.
const brought = {};

async function bring({ load, model }, name, onProgress) {
  if (brought[name]) return;
  if (!load) {
    const answer = new Promise((resolve) =>
      model.on("msg:custom", (about, buffers) => about.name === name && resolve([about, buffers[0]])));
    model.send({ wanted: name });
    const [about, view] = await answer;
    brought[name] = modelOf(about, new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice());
    return;
  }
  const parts = () => window.attnNovels?.[name];
  for (let part = 0; part < (parts()?.count ?? 1); part++) { // the first script says how many there are
    await load(`${name}-${part}.js`);
    onProgress((part + 1) / parts().count);
  }
  const all = parts().parts.map(bytesOf), bytes = new Uint8Array(sum(all.map((part) => part.length)));
  let place = 0;
  for (const part of all) {
    bytes.set(part, place);
    place += part.length;
  }
  brought[name] = modelOf(parts().about, bytes);
}

// What is done to heads, by name, from the lists of the state.
function doneTo(state) {
  return Object.fromEntries(Object.keys(STATES).slice(1).flatMap((what) => state[what].map((head) => [head, what])));
}

// The lists of the state after something is done to a head; "on" undoes it.
function doing(state, head, what) {
  return Object.fromEntries(Object.keys(STATES).slice(1).map((list) =>
    [list, [...state[list].filter((other) => other !== head), ...(list === what ? [head] : [])].sort()]));
}

function readerOf(means, place) {
  const { read, change, reset, line, explain, tell } = means;
  const { texts } = read();
  const { config, words, encode, decode, mostTokens } = brought[read().model];
  const layers = Array.from({ length: config.n_layers }, (_, i) => i + 1);
  let done = null, whole = null; // as the heads are now, and with all of them on
  const encoded = texts.map(encode);
  const windowOf = (tokens) => tokens.slice(firstRead(tokens.length, mostTokens));

  const problem = element("span", { className: "attn-problem", role: "status" });
  const take = (tokens) => {
    problem.textContent = tokens.length ? "" : "There is no token to read.";
    if (tokens.length) change({ tokens, token: tokens.length - 1, target: -1 });
  };
  const goOn = (token) => take([...read().tokens, token]);

  const which = choice({
    legend: "The model", labels: Object.values(MODELS),
    onChoose: async (i) => {
      const name = Object.keys(MODELS)[i];
      waiting.textContent = brought[name] ? "" : "The model is on the way.";
      try {
        await bring(means, name, (share) => (waiting.textContent = `The model is on the way: ${Math.round(100 * share)} %.`));
        waiting.textContent = "";
        change({ model: name });
      } catch {
        waiting.textContent = "The model did not come. Beside the pages of the book, the folder _static should hold it.";
        which.set(Object.keys(MODELS).indexOf(read().model));
      }
    },
  });
  const waiting = element("span", { className: "attn-waiting", role: "status" });
  const ours = element("select", { autocomplete: "off" }, element("option", { value: "" }, "Choose one of our texts"),
    ...texts.map((text, i) => element("option", { value: i }, text)));
  ours.addEventListener("change", () => ours.value && take(encoded[Number(ours.value)]));
  const random = button("attn-button", "Random tokens, told twice", () => {
    const once = Array.from({ length: 20 }, () => 1 + Math.floor(Math.random() * (words.length - 1)));
    take([...once, ...once]);
  });
  const field = element("textarea", { rows: 2, autocomplete: "off", spellcheck: false });
  const form = element("form", { className: "attn-words attn-own" },
    element("label", {}, element("span", {}, "Your own text"), field),
    element("button", { type: "submit", className: "attn-button" }, "Read it"), problem);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    take(encode(asInNovels(field.value)));
  });

  const colour = choice({
    legend: "Colour the text by", labels: Object.values(COLOURS),
    onChoose: (i) => change({ colour: Object.keys(COLOURS)[i] }),
  });
  const forgotten = element("span", { className: "attn-forgotten" });
  const strip = element("div", { className: "attn-tokens", role: "group", "aria-label": "The tokens: choose the one that asks" });
  const outcome = element("p", { className: "attn-outcome" });

  const temperature = slider({
    label: "temperature", min: 0.1, max: 2, step: 0.1, show: (number) => format(number, 1),
    onInput: (number) => change({ temperature: number }),
  });
  const drawOne = () => {
    const shares = sharesNow(read());
    let left = Math.random();
    const drawn = shares.findIndex((share) => (left -= share) < 0);
    goOn(drawn < 0 ? largest(shares) : drawn);
  };
  let mine = null; // while it writes: the text so far, so that whatever else changes it ends the writing
  const stopWriting = () => {
    mine = null;
    write.textContent = "▶ Write on";
  };
  const writeOn = (left) => {
    if (mine === null) return;
    if (left === 0 || document.hidden || !place.isConnected || read().tokens !== mine) return stopWriting();
    drawOne();
    mine = read().tokens;
    setTimeout(writeOn, 60, left - 1);
  };
  const write = button("attn-button", "▶ Write on", () => {
    if (mine !== null) return stopWriting();
    write.textContent = "❚❚ Stop";
    if (read().token < read().tokens.length - 1) change({ token: read().tokens.length - 1 });
    mine = read().tokens;
    setTimeout(writeOn, 0, TURN);
  });
  const draw = button("attn-button", "Draw one", drawOne);
  const bars = Array.from({ length: SHOWN }, (_, n) => {
    const press = button("attn-next", "", () => goOn(likeliest(sharesNow(read()), SHOWN)[n]));
    return { press, ...barRow("attn-nexts", press) };
  });
  const nextTitle = element("p", { className: "attn-head" });
  const following = box("attn-following", ...bars.map((bar) => bar.row));

  const stateOf = (name) => doneTo(read())[name] ?? "on";
  const cells = grid(config.n_layers, config.n_heads, (l, head) => {
    const name = `L${layers[l]}H${head + 1}`;
    const path = drawing("path", { class: "attn-look" });
    const added = element("span", { className: "attn-added" });
    const look = button("attn-looks", "", () => change({ head: name }));
    look.append(element("span", { className: "attn-named" }, element("span", {}, name), added), drawing("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" }, path));
    look.setAttribute("aria-label", `Head ${name}: show where it looks`);
    const power = button("attn-power", "on", () =>
      change({ ...doing(read(), name, stateOf(name) === "on" ? "off" : "on"), head: name }));
    power.setAttribute("aria-label", `Head ${name} writes`);
    return { name, path, added, look, power, cell: box("attn-one-head", look, power) };
  });
  const mlps = layers.map((layer) => {
    const added = element("span", { className: "attn-added" });
    return { name: `MLP ${layer}`, added, cell: box("attn-one-mlp", `MLP ${layer}`, added) };
  });
  const { table } = tableOf({
    className: "attn-heads-table", title: "Switch a head off, or see where it looks",
    cells: cells.map((row, l) => [...row.map((one) => one.cell), mlps[l].cell]),
  });
  const target = element("select", { autocomplete: "off", "aria-label": "The token whose logit is looked at" });
  target.addEventListener("change", () => change({ target: Number(target.value) }));
  const states = choice({
    legend: "", labels: Object.values(TOLD),
    onChoose: (i) => change(doing(read(), read().head, Object.keys(STATES)[i])),
  });
  const allOn = button("attn-button", "All heads on", () => change({ off: [], itself: [], exchanged: [] }));
  const early = ["embedding", ...layers.map((layer) => `layer ${layer}`)].map((name) => [name, element("td")]);
  const earlyTable = element("table", { className: "attn-table attn-early" },
    element("caption", {}, "The stream at the chosen token, read early: the likeliest next tokens if the model ended there"),
    element("tbody", {}, ...early.map(([name, cell]) => element("tr", {}, heading("row")(`after ${name}`), cell))));

  const at = (tokens, token) => token - firstRead(tokens.length, mostTokens);
  const sharesNow = ({ tokens, token, temperature: t }) => softmax(done.logits[at(tokens, token)].map((logit) => logit / t));
  const told = (token) => `“${visible(words[token])}”`;

  const more = folded("", states.row,
    element("label", { className: "attn-adds" }, "The numbers: added to the logit of ", target));
  place.replaceChildren(
    box("attn-controls", write, allOn, reset), forgotten, strip, outcome,
    box("attn-read", box("", nextTitle, following), box("", table, more)), line,
    folded("Another text, model, colour, temperature", box("attn-controls", which.row, waiting),
      box("attn-controls", element("label", { className: "attn-wanted" }, element("span", {}, "Texts"), ours), random, form),
      colour.row, temperature.row, draw),
    folded("The stream, read early", scrolling("The stream, read early", earlyTable)));

  const showStrip = (tokens) => {
    if (strip.children.length === tokens.length && [...strip.children].every((node, i) => node.textContent === visible(words[tokens[i]]))) return;
    keepingFocus(strip, () => strip.replaceChildren(...tokens.map((one, i) => {
      const node = element("button", { type: "button", className: "attn-token" }, visible(words[one]));
      explain(node, () => {
        const now = read(), asked = at(now.tokens, now.token), seen = windowOf(now.tokens);
        const cost = i ? `It cost ${format(done.lost[i - 1])} nats: its probability was ${format(Math.exp(-done.lost[i - 1]), 3)}. ` : "";
        const weight = done.weights[now.head]?.[asked]?.[i] ?? 0;
        return `${told(seen[i])}. ${cost}Head ${now.head}, asked by ${told(seen[asked])}, gives it the weight ${format(weight)}.`;
      });
      node.addEventListener("click", () => // behind `explain`: what all heads do is told last
        change({ token: read().tokens.length - strip.children.length + i, target: -1 }));
      return node;
    })));
  };

  return (state) => {
    const model = brought[state.model], seen = windowOf(state.tokens), token = at(state.tokens, state.token);
    const doings = doneTo(state), anyDone = Object.keys(doings).length > 0;
    const same = (one, heads) => one && one.model === model && one.key === JSON.stringify(heads) && alike(one.tokens, seen);
    if (!same(done, doings)) done = readTokens(model, seen, doings, done);
    if (!same(whole, {})) whole = anyDone ? readTokens(model, seen, {}, whole) : done;
    const weights = done.weights[state.head]?.[token];
    which.set(Object.keys(MODELS).indexOf(state.model));
    colour.set(Object.keys(COLOURS).indexOf(state.colour));
    const gone = state.tokens.slice(0, -seen.length);
    forgotten.textContent = decode(gone);
    const chosen = encoded.findIndex((text) => alike(text, state.tokens));
    ours.value = chosen < 0 ? "" : chosen;
    showStrip(seen);
    strip.classList.toggle("attn-surprising", state.colour === "surprise");
    [...strip.children].forEach((node, i) => {
      const shade = state.colour === "weights" ? weights?.[i] ?? 0 : i ? Math.min(1, done.lost[i - 1] / 12) : 0;
      node.style.setProperty("--attn-w", shade);
      node.setAttribute("aria-pressed", i === token);
      node.classList.toggle("attn-later", state.colour === "weights" && i > token);
    });
    const now = sharesNow(state);
    const before = softmax(whole.logits[token].map((logit) => logit / state.temperature));
    const isLast = token === seen.length - 1;
    nextTitle.textContent = `The next token after ${told(seen[token])}${isLast ? "" : `, which was ${told(seen[token + 1])}`}`;
    const first = likeliest(now, SHOWN);
    first.forEach((one, n) => {
      bars[n].press.textContent = visible(words[one]);
      bars[n].press.disabled = !isLast;
      bars[n].set(now[one], anyDone ? `${format(now[one], 3)}, was ${format(before[one], 3)}` : format(now[one], 3));
      bars[n].haunt(anyDone ? before[one] : null);
      bars[n].row.classList.toggle("attn-chosen", !isLast && one === seen[token + 1]);
    });
    following.classList.toggle("attn-compared", anyDone);
    draw.disabled = !isLast;
    temperature.set(state.temperature);

    const wanted = state.target < 0 ? first[0] : state.target;
    const added = addedTo(model, done, token, wanted);
    const offered = [...new Set([wanted, ...first, ...(isLast ? [] : [seen[token + 1]])])];
    target.replaceChildren(...offered.map((one) => element("option", { value: one }, told(one))));
    more.firstChild.textContent = `More for ${state.head}, and what each part adds`;
    const showAdded = (node, number) => {
      node.textContent = number === undefined ? "" : `${number > 0 ? "+" : ""}${format(number, 1)}`;
      node.classList.toggle("attn-minus", number < 0);
      node.style.setProperty("--attn-w", Math.min(1, Math.abs(number ?? 0) / 4));
    };
    mlps.forEach(({ name, added: node }) => showAdded(node, added[name]));
    cells.flat().forEach(({ name, path, added: node, look, power }) => {
      const row = done.weights[name]?.[token] ?? [];
      const width = 100 / seen.length;
      path.setAttribute("d", seen.map((_, j) => {
        const height = 20 * (row[j] ?? 0);
        return `M${(j * width).toFixed(2)},20h${(0.85 * width).toFixed(2)}v${(-height).toFixed(2)}h${(-0.85 * width).toFixed(2)}z`;
      }).join(""));
      showAdded(node, added[name]);
      look.setAttribute("aria-pressed", name === state.head);
      look.setAttribute("aria-description", added[name] === undefined ? "" : `It adds ${format(added[name], 1)}.`);
      const what = doings[name] ?? "on";
      power.textContent = STATES[what];
      power.setAttribute("aria-pressed", what === "on");
    });
    states.row.querySelector("legend").textContent = `Head ${state.head}`;
    states.set(Object.keys(STATES).indexOf(doings[state.head] ?? "on"));
    allOn.disabled = !anyDone;
    early.forEach(([, cell], i) => {
      const shares = softmax(i === early.length - 1 ? done.logits[token] : readEarly(model, done.streams[i][token]));
      cell.textContent = likeliest(shares, 3).map((one) => `${visible(words[one])} ${format(shares[one])}`).join("   ");
    });
    const mean = (lost) => format(sum(lost) / lost.length);
    const unknown = seen.filter((one) => one === 0).length;
    outcome.textContent = (seen.length === 1 ? "One token: nothing to be judged by yet."
      : `${seen.length} tokens. Their loss is ${mean(done.lost)} nats per token`
        + (anyDone ? `, with all heads on ${mean(whole.lost)}.` : "."))
      + (gone.length ? ` The first ${gone.length}, in grey, are no longer read: the model was trained on ${mostTokens} at a time.` : "")
      + (unknown ? ` ${unknown} of them, shown as ${visible(words[0])}, stand for characters that the novels do not have. The model`
        + " has never met this sign, so what it expects after one means little." : "");
    if (doings[state.head] === "off") return tell(`Head ${state.head} is off: it writes nothing.`);
    const order = likeliest(weights, 3);
    return tell(`Head ${state.head}, asked by ${told(seen[token])}, looks at `
      + `${order.map((j) => `${told(seen[j])} ${format(weights[j])}`).join(", ")}.`);
  };
}

function build(means) {
  const place = box("attn-live");
  means.draw(place);
  let update = null;
  const start = () => {
    update = readerOf(means, place);
    update(means.read());
  };
  const { model, megabytes, texts } = means.read();
  if (brought[model]) start();
  else {
    place.append(
      element("p", { className: "attn-unread" }, `${texts[0]} …`),
      element("p", {}, "What comes next? The model reads this text, or yours, here in the page: nothing you type leaves it."),
      invitation({ what: "model", megabytes, onReady: start, bring: (onProgress) => bring(means, model, onProgress) }));
  }
  return (state) => update?.(state);
}

const render = figure({
  label: "Novel reader",
  names: ["texts", "tokens", "token", "head", "off", "itself", "exchanged", "temperature", "model", "colour", "target", "megabytes"],
  build, fixed: ({ texts }) => [texts],
});

export default { render, modelOf, bytesOf, readTokens, readEarly, addedTo, asInNovels, firstRead, tokenizerOf };
