// The novel reader: language models of a million parameters that read the reader's own text. Each is loaded on request.

import {
  alike, box, button, bytesOf, choice, chooser, drawing, element, figure, folded, format, grid, heading, invitation,
  largest, likeliest, scrolling, slider, softmax, sum, tableOf, visible,
} from "./common.js";
import { at } from "./engines/machine.js";
import { firstRead } from "./engines/bytepairs.js";
import { addedTo, asInNovels, modelOf, readEarly, readTokens, tokenizerOf } from "./reading.js";
import { doing, LISTS, nextBars, onceThere, ownText, quoted, tokenStrip } from "./tokens.js";

const SHOWN = 8; // tokens whose probability is shown
const TURN = 40; // tokens that are written in one go
const MODELS = { novels: "that read six novels", copying: "that also learned to copy" };
const SWITCH = { on: "on", off: "off", itself: "itself", exchanged: "swap" };
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
  brought[name] = modelOf(parts().about, bytesOf(parts().parts.join("")));
}

// What is done to heads, by name, from the lists of the state.
function doneTo(state) {
  return Object.fromEntries(LISTS.flatMap((what) => state[what].map((head) => [head, what])));
}

function readerOf(means) {
  const { read, change, reset, line, explain, tell } = means;
  const { texts } = read();
  const { config, words, encode, decode, mostTokens } = brought[read().model];
  const layers = Array.from({ length: config.n_layers }, (_, i) => i + 1);
  let done = null, whole = null, wanted = null; // as the heads are now, and with all of them on; the model last chosen
  const encoded = texts.map(encode);
  const windowOf = (tokens) => tokens.slice(firstRead(tokens.length, mostTokens));

  const take = (tokens) => {
    own.problem.textContent = tokens.length ? "" : "There is no token to read.";
    if (tokens.length) change({ tokens, token: tokens.length - 1, target: -1 });
  };
  const goOn = (token) => take([...read().tokens, token]);

  const which = choice({
    legend: "The model", labels: MODELS,
    onChoose: async (name) => {
      wanted = name;
      const isWanted = () => wanted === name && waiting.isConnected; // not if another was chosen meanwhile
      const say = (text) => isWanted() && (waiting.textContent = text);
      say(brought[name] ? "" : "The model is on the way.");
      try {
        await bring(means, name, (share) => say(`The model is on the way: ${Math.round(100 * share)} %.`));
        say("");
        if (isWanted()) change({ model: name });
      } catch {
        say("The model did not come. Beside the pages of the book, the folder _static should hold it.");
        if (isWanted()) which.set(read().model);
      }
    },
  });
  const waiting = element("span", { className: "attn-waiting", role: "status" });
  const ours = chooser("Texts", texts, (i) => take(encoded[i]), "Choose one of our texts");
  const random = button("attn-button", "Random tokens, told twice", () => {
    const once = Array.from({ length: 20 }, () => 1 + Math.floor(Math.random() * (words.length - 1)));
    take([...once, ...once]);
  });
  const own = ownText("Your own text", 2, (text) => take(encode(asInNovels(text))));

  const colour = choice({ legend: "Colour the text by", labels: COLOURS, onChoose: (by) => change({ colour: by }) });
  const forgotten = element("span", { className: "attn-forgotten" });
  const { strip, show: showStrip } = tokenStrip({
    explain,
    told: (i) => {
      const now = read(), asked = at(now.tokens, now.token), seen = windowOf(now.tokens);
      const lost = done.lost[i - 1], weight = done.weights[now.head]?.[asked]?.[i] ?? 0;
      const cost = i ? `It cost ${format(lost)} nats: its probability was ${format(Math.exp(-lost), 3)}. ` : "";
      return `${told(seen[i])}. ${cost}Head ${now.head}, asked by ${told(seen[asked])}, gives it the weight `
        + `${format(weight)}.`;
    },
    onChoose: (i) => change({ token: read().tokens.length - strip.children.length + i, target: -1 }),
  });
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
    if (left === 0 || document.hidden || !strip.isConnected || read().tokens !== mine) return stopWriting();
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
  const next = nextBars(SHOWN, (n) => goOn(likeliest(sharesNow(read()), SHOWN)[n]));
  const nextTitle = element("p", { className: "attn-head" });

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
  const states = choice({ legend: "", labels: TOLD, onChoose: (what) => change(doing(read(), read().head, what)) });
  const allOn = button("attn-button", "All heads on", () => change({ off: [], itself: [], exchanged: [] }));
  const early = ["embedding", ...layers.map((layer) => `layer ${layer}`)].map((name) => [name, element("td")]);
  const earlyTable = element("table", { className: "attn-table attn-early" },
    element("caption", {}, "The stream at the chosen token, read early: the likeliest next tokens if the model ended there"),
    element("tbody", {}, ...early.map(([name, cell]) => element("tr", {}, heading("row")(`after ${name}`), cell))));

  const at = (tokens, token) => token - firstRead(tokens.length, mostTokens);
  const sharesNow = ({ tokens, token, temperature: t }) => softmax(done.logits[at(tokens, token)].map((logit) => logit / t));
  const told = (token) => quoted(words[token]);

  const more = folded("", states.row,
    element("label", { className: "attn-adds" }, "The numbers: added to the logit of ", target));
  means.draw(box("attn-live",
    box("attn-controls", write, allOn, reset), forgotten, strip, outcome,
    box("attn-read", box("", nextTitle, next.following), box("", table, more)), line,
    folded("Another text, model, colour, temperature", box("attn-controls", which.row, waiting),
      box("attn-controls", ours.row, random, own.form),
      colour.row, temperature.row, draw),
    folded("The stream, read early", scrolling("The stream, read early", earlyTable))));

  return (state) => {
    const model = brought[state.model], seen = windowOf(state.tokens), token = at(state.tokens, state.token);
    const doings = doneTo(state), anyDone = Object.keys(doings).length > 0;
    const same = (one, heads) => one && one.model === model && one.key === JSON.stringify(heads) && alike(one.tokens, seen);
    if (!same(done, doings)) done = readTokens(model, seen, doings, done);
    if (!same(whole, {})) whole = anyDone ? readTokens(model, seen, {}, whole) : done;
    const weights = done.weights[state.head]?.[token];
    which.set(state.model);
    colour.set(state.colour);
    const gone = state.tokens.slice(0, -seen.length);
    forgotten.textContent = decode(gone);
    ours.set(encoded.findIndex((text) => alike(text, state.tokens)));
    showStrip({ words: seen.map((one) => words[one]), asks: token, colour: state.colour, weights, lost: done.lost });
    [...strip.children].forEach((node, i) => node.classList.toggle("attn-later", state.colour === "weights" && i > token));
    const now = sharesNow(state);
    const before = softmax(whole.logits[token].map((logit) => logit / state.temperature));
    const isLast = token === seen.length - 1;
    nextTitle.textContent = `The next token after ${told(seen[token])}${isLast ? "" : `, which was ${told(seen[token + 1])}`}`;
    const first = likeliest(now, SHOWN);
    next.show(first.map((one) => [words[one], now[one], anyDone ? before[one] : null]));
    next.bars.forEach(({ press, row }, n) => {
      press.disabled = !isLast;
      row.classList.toggle("attn-chosen", !isLast && first[n] === seen[token + 1]);
    });
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
      power.textContent = SWITCH[what];
      power.setAttribute("aria-pressed", what === "on");
    });
    states.row.querySelector("legend").textContent = `Head ${state.head}`;
    states.set(doings[state.head] ?? "on");
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
  const { model, megabytes } = means.read();
  return onceThere(means, brought[model], () => readerOf(means), (onReady) => [
    element("p", {}, "What comes next? The model reads this text, or yours, here in the page: nothing you type leaves it."),
    invitation({
      label: `Load the model (${format(megabytes, 1)} MB)`, what: "model", onReady,
      bring: (onProgress) => bring(means, model, onProgress),
    }).row,
  ]);
}

const render = figure({ label: "Novel reader", build, fixed: ({ texts }) => [texts] });

export default { render, modelOf, bytesOf, readTokens, readEarly, addedTo, asInNovels, firstRead, tokenizerOf };
