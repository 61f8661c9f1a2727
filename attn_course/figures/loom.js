// The loom: the run of a transformer as a picture. A thread for each word runs upward, which is the stream; vectors are
// strips of coloured cells beside it, weights are ribbons from thread to thread, and above stand the likeliest next words.
// What is drawn stays the same from step to step, so that the eye can follow it.

import { drawing, format, pressable, put, sum } from "./common.js";
import { at, rowOf } from "./engines/machine.js";

const SIZES = {
  large: { width: 960, gutter: 76, pitch: 13, between: 58, inset: 12, widest: 160 },
  wide: { width: 640, gutter: 68, pitch: 14, between: 68, inset: 12, widest: 120 },
  narrow: { width: 340, gutter: 56, pitch: 16, between: 78, inset: 7, widest: 120 },
};
const NARROWEST = 480; // the stage is narrow up to this width, in pixels
const GAP = 4; // below and above the stream
const SHARE = 0.72; // of its room, what a vector of the stream takes: those of the MLP are wider
const LIKELIEST = 3; // so many of the next words are shown
const BAR = 17; // from one of them to the next
const RIBBON = 14; // the width of a weight of 1
const FLIGHT = 600; // milliseconds

// The floors of a layer, from below: what is written beside each, its role, and the nodes that stand there in turn.
const LAYER = [
  ["norm", "", "normalised"], ["q", "query", "Q"], ["k", "key", "K"], ["v", "value", "V"],
  ["weights", "weight", "scores", "masked scores", "weights"], ["mixed", "value", "mixtures"], ["written", "", "update"],
  ["stream", "", "stream after attention"], ["norm", "", "normalised for the MLP"], ["MLP", "", "widened", "hidden"],
  ["written", "", "update of the MLP"], ["stream", "", "stream"],
];
const OF_HEADS = ["Q", "K", "V", "scores", "mixtures", "update"];

// What `one` makes of 0, 1, …
function range(length, one) {
  return Array.from({ length }, (_, i) => one(i));
}

// The size of the largest number that is one.
function mostOf({ data }) {
  return Math.max(1e-9, ...data.map((number) => (Number.isFinite(number) ? Math.abs(number) : 0)));
}

// The length of each row.
function lengthsOf(X) {
  return range(X.rows, (i) => Math.hypot(...rowOf(X, i)));
}

// The floors of a model, from below: { label, role, parts }, and by part (a head, where it is the heads') its nodes.
function floorsOf({ n_layers: nLayers, n_heads: nHeads }) {
  const one = (label, ...names) => ({ label, role: "plain", parts: [names] });
  const layers = range(nLayers, (l) => LAYER.map(([label, role, ...names]) => {
    const owners = OF_HEADS.includes(names[0]) ? range(nHeads, (head) => `, head ${head + 1}`) : [""];
    const parts = owners.map((owner) => names.map((name) => `layer ${l + 1}${owner}: ${name}`));
    return { label, role: role || "plain", parts };
  }));
  return [one("place", "positions of the tokens"), one("stream", "embeddings", "stream"), ...layers.flat(),
    one("norm", "normalised"), one("next", "logits", "probabilities")];
}

// Where everything stands on the stage: how high the window is, and the whole behind it, and a strip for each word of
// each part of each floor: { floor, part, word, names, x, y, w, high }, y from the top of the whole.
function loomOf(config, n, room) {
  const size = SIZES[room];
  const { width, gutter, pitch, between, inset, widest } = size;
  const lines = ({ label, parts }) => (label === "written" ? parts.length : 1); // what heads write stands in lines
  const edge = ({ label }) => (label === "stream" ? GAP : 0);
  const highOf = (floor) => (floor.label === "weights" ? between : pitch * lines(floor));
  const all = (floors) => sum(floors.map((floor) => highOf(floor) + 2 * edge(floor)));
  const floors = floorsOf(config);
  const [whole, window] = [all(floors), all(floorsOf({ ...config, n_layers: 1 }))];
  const column = (width - gutter) / n, full = Math.min(column - 8, widest);
  const columns = range(n, (i) => gutter + i * column);
  let below = whole;
  const strips = floors.flatMap((floor, k) => {
    const top = below - highOf(floor) - edge(floor);
    below = top - edge(floor);
    const room = ["place", "stream"].includes(floor.label) ? full : full - inset;
    const beside = lines(floor) > 1 ? 1 : floor.parts.length; // all else of heads stands side by side
    const share = beside > 1 || ["weights", "MLP", "next"].includes(floor.label) ? 1 : SHARE;
    const w = ((room - 5 * (beside - 1)) / beside) * share;
    const high = highOf(floor) / lines(floor);
    return columns.flatMap((left, word) => floor.parts.map((names, part) => ({
      floor: k, part, word, names, w, high, x: left + full - room + (beside > 1 ? part * (w + 5) : 0),
      y: top + (lines(floor) > 1 ? (floor.parts.length - 1 - part) * high : 0),
    })));
  });
  return { ...size, columns, full, whole, window, floors, strips };
}

// By node, the step that makes it, and the first that uses it, which sends its gradient last; `steps` are those of each
// head.
function timesOf(steps) {
  const times = new Map();
  steps.forEach((own) => own.forEach(({ shows }, step) => shows.forEach(([{ name }], k) => {
    const time = times.get(name) ?? { born: step, spent: Infinity };
    const made = k === shows.length - 1;
    times.set(name, made ? { ...time, born: step } : { ...time, spent: Math.min(time.spent, step) });
  })));
  return times;
}

// Which of its nodes a strip shows at a step, and whether it is there by then: its number forward, its gradient backward.
function shownAt(names, times, step, backward) {
  const there = names.map((name) => [name, times.get(name)])
    .filter(([, { born, spent }]) => (backward ? spent >= step && spent < Infinity : born <= step)).map(([name]) => name);
  return { name: (backward ? there[0] : there.at(-1)) ?? names.at(-1), there: there.length > 0 };
}

// Which strips fly where at a step: pairs, from what goes in to what is made. The query of the word that is followed flies
// to the keys that it meets, and values to the words that look at them.
function flightsOf(strips, steps, step, token) {
  return strips.flatMap((to) => {
    const { kind, shows } = steps[to.part][step];
    const [made, ...inputs] = shows.map(([{ name }]) => name).reverse();
    const holding = (wanted) => strips.filter((from) => from !== to && from.names.some((name) => wanted.includes(name)));
    if (kind === "scores") {
      const asks = to.names.includes(inputs[0]) && to.word <= token;
      return asks ? holding([inputs[1]]).filter(({ word }) => word === token).map((from) => [from, to]) : [];
    }
    if (!to.names.includes(made)) return [];
    return holding(inputs).filter(({ word }) => word === to.word || (kind === "mixtures" && word < to.word))
      .map((from) => [from, to]);
  });
}

// The nodes that a step shows, of all heads.
function shownNodes(steps, step) {
  return steps.flatMap((own) => own[step].shows.map(([node]) => node));
}

function moved(x, y) {
  return `translate(${x}px, ${y}px)`;
}

// The way of a ribbon from one word's room to another's, or of a line beside it.
function curve(from, to, aside = 0) {
  const [x0, x1, y0, y1] = [from.x + from.w / 2 + aside, to.x + to.w / 2 + aside, from.y + from.high, to.y];
  return `M${x0},${y0} C${x0},${(y0 + y1) / 2} ${x1},${(y0 + y1) / 2} ${x1},${y1}`;
}

function colourOf(name, number) {
  return name === "probabilities" ? "rgb(var(--attn-weight))" : `var(--attn-${number < 0 ? "minus" : "plus"})`;
}

// What can be pressed, by mouse, finger, Enter and the space bar.
function pressedMarks(className, onPress, ...marks) {
  const group = drawing("g", {}, drawing("rect", { class: "attn-target" }), ...marks);
  return pressable(group, onPress, { class: className, tabindex: -1 });
}

// One tab stop for rows of what can be pressed, from below: arrow keys, Home and End move inside.
function moveThrough(stage, rows) {
  rows[0][0].group.setAttribute("tabindex", 0);
  stage.addEventListener("focusin", ({ target }) => {
    stage.querySelectorAll("[tabindex='0']").forEach((node) => node.setAttribute("tabindex", -1));
    target.setAttribute("tabindex", 0);
  });
  stage.addEventListener("keydown", (event) => {
    const y = rows.findIndex((row) => row.some(({ group }) => group === event.target));
    const x = rows[y].findIndex(({ group }) => group === event.target);
    const ofWord = (row) => row?.find(({ word }) => word === rows[y][x].word);
    const goals = {
      ArrowLeft: rows[y][x - 1], ArrowRight: rows[y][x + 1], Home: rows[y][0], End: rows[y].at(-1),
      ArrowUp: ofWord(rows[y + 1]), ArrowDown: ofWord(rows[y - 1]),
    };
    if (!(event.key in goals)) return;
    event.preventDefault();
    goals[event.key]?.group.focus({ preventScroll: true });
  });
}

// The strips of a loom as marks; `widths` says how many numbers a node has for a word.
function stripsOf({ floors, strips }, widths, onStrip) {
  return strips.map((place) => {
    const { label, role } = floors[place.floor];
    const cells = range(label === "weights" ? 0 : widths.get(place.names.at(-1)), () => drawing("rect"));
    const ground = drawing("rect", { class: `attn-ground attn-${role}` });
    const strip = { ...place, cells, ground };
    strip.group = pressedMarks("attn-vector", () => onStrip(strip), ...(cells.length ? [ground, ...cells] : []));
    return strip;
  });
}

// Ribbons between the rooms of a floor of weights, and a dot in each room for a score.
function ribbonsOf(strips) {
  const rooms = strips.filter(({ cells }) => !cells.length);
  const ribbons = rooms.flatMap((to) => rooms
    .filter(({ floor, part, word }) => floor === to.floor && part === to.part && word <= to.word)
    .map((from) => ({ from, to, path: drawing("path", { class: `attn-ribbon attn-of-${to.part % 2}` }) })));
  return { ribbons, dots: rooms.map((strip) => ({ strip, node: drawing("circle", { class: "attn-dot" }) })) };
}

// A row for a word that may come next: its bar, and what the bar was.
function barOf(word) {
  const name = drawing("text", { "text-anchor": "end", y: 12 }, word);
  const number = drawing("text", { class: "attn-bar-number", y: 12 });
  const [bar, ghost] = ["attn-grown", "attn-ghost"].map((kind) => drawing("rect", { class: kind, y: 1, height: 13 }));
  return { name, number, bar, ghost, group: drawing("g", { class: "attn-outlook" }, bar, ghost, name, number) };
}

// The stage of a sentence. `show` draws what has been worked out: { state, done, was, all, byName }, where `was` is the
// same before the reader's changes, or null, and `all` are the steps of each head; `fly` lets strips fly to what the
// present step makes, or back; `light` frames the numbers that went into a sum.
function stageOf({ config, tokens, words, steps, widths, onWord, onStrip, large }) {
  const times = timesOf(steps), room = large ? "large" : "wide";
  const first = loomOf(config, tokens.length, room);
  const strips = stripsOf(first, widths, onStrip);
  const { ribbons, dots } = ribbonsOf(strips);
  const ofFloor = first.floors.map((_, floor) => strips.filter((strip) => strip.floor === floor));
  const streams = first.floors.flatMap(({ label, parts }, floor) => (label === "stream" ? [{ floor, name: parts[0].at(-1) }] : []));
  const threads = streams.flatMap((_, k) => tokens.map((_token, word) => ({ k, word, node: drawing("line", { class: "attn-thread" }) })));
  const labels = first.floors.map(({ label, role }) =>
    drawing("text", { class: `attn-floor attn-${role}` }, (large && label.length === 1 && role) || label));
  const feet = tokens.map((token, word) => {
    const name = drawing("text", { "text-anchor": "middle", y: 18 }, token);
    return { name, word, group: pressedMarks("attn-foot", () => onWord(word), name) };
  });
  const bars = words.map(barOf);
  const groups = (marks) => marks.map(({ group }) => group);
  const ghosts = drawing("g", { class: "attn-ghosts" }), flights = drawing("g", { class: "attn-flights" });
  const world = drawing("g", { class: "attn-world" }, ...threads.map(({ node }) => node), ...ribbons.map(({ path }) => path),
    ghosts, ...dots.map(({ node }) => node), ...labels, ...groups(strips), flights);
  const view = drawing("svg", {}, world);
  const stage = drawing("svg", {
    class: "attn-loom", role: "group", "aria-label": `The loom: ${tokens.length === 1 ? "a thread" : `${tokens.length} threads`}, read `
      + "from below. The arrow keys go from strip to strip, Enter opens one.",
  }, ...groups(bars), view, ...groups(feet));
  moveThrough(stage, [feet, ...ofFloor]);

  // Whether there is room, what is above the window, the floor that the keyboard is at, and what is shown.
  let wide = null, hidden = 0, looked = null, shown = null;
  const isWide = () => (stage.getBoundingClientRect().width || SIZES[room].width) > NARROWEST;
  const madeFloor = () => strips.find(({ names }) => names.includes(steps[0][shown.state.step].shows.at(-1)[0].name)).floor;
  strips.forEach(({ group, floor }) => group.addEventListener("focus", () => {
    if (!group.matches(":focus-visible")) return; // what is pressed must not move away
    looked = floor;
    look();
  }));
  labels.forEach((node, floor) => node.addEventListener("click", () =>
    onStrip(ofFloor[floor].find(({ word }) => word === shown.state.token))));
  new ResizeObserver(() => {
    if (wide === null || isWide() === wide) return;
    arrange();
    draw();
  }).observe(stage);

  // Put everything in its place, for the width there is.
  function arrange() {
    wide = isWide();
    const loom = loomOf(config, tokens.length, wide ? room : "narrow");
    const { width, gutter, columns, full, whole, window } = loom;
    const top = LIKELIEST * BAR + 6;
    put(stage, { viewBox: `0 0 ${width} ${top + window + 26}` });
    put(view, { y: top, width, height: window });
    strips.forEach((strip, k) => {
      const { x, y, w, high } = Object.assign(strip, loom.strips[k]);
      const cell = w / strip.cells.length;
      strip.group.style.transform = moved(x, y);
      put(strip.group.firstChild, { width: w, height: high });
      put(strip.ground, { y: 2, width: w, height: high - 4 });
      strip.cells.forEach((node, j) => put(node, { x: j * cell, y: 2, width: cell, height: high - 4 }));
    });
    ribbons.forEach(({ from, to, path }) => put(path, { d: curve(from, to) }));
    dots.forEach(({ strip: { x, y, w, high }, node }) => put(node, { cx: x + w / 2, cy: y + high - 9 }));
    threads.forEach(({ k, word, node }) => {
      const [here, above] = [streams[k], streams[k + 1]].map((stream) => stream && ofFloor[stream.floor][0]);
      const x = columns[word] + 4;
      put(node, { x1: x, x2: x, y1: k === 0 ? whole : here.y, y2: above ? above.y + above.high : 0 });
    });
    labels.forEach((node, floor) => put(node, { x: 2, y: ofFloor[floor].at(-1).y + ofFloor[floor][0].high / 2 + 4 }));
    const letters = Math.max(...tokens.map((token) => token.length));
    feet.forEach(({ group, name, word }) => {
      group.style.transform = moved(columns[word], top + window);
      put(group.firstChild, { width: full, height: 26 });
      put(name, { x: full / 2 });
      name.style.fontSize = `${Math.max(10, Math.min(14, (full + 6) / letters / 0.58))}px`;
    });
    bars.forEach((bar) => {
      Object.assign(bar, { full: width - gutter - 120, from: gutter });
      put(bar.name, { x: gutter - 6 });
      put(bar.bar, { width: bar.full });
      put(bar.ghost, { x: gutter });
    });
    hidden = whole - window;
  }

  // Of a model of many layers, the window shows what is made, or where the keyboard is.
  function look() {
    const { y, high } = ofFloor[looked ?? madeFloor()][0];
    const middle = Number(view.getAttribute("height")) / 2;
    world.style.transform = moved(0, Math.min(0, Math.max(-hidden, middle - y - high / 2)));
  }

  // What stands in a strip, as numbers or gradients, and the size of the largest of them in all strips of the kind.
  function reader({ byName, grads }) {
    const known = new Map();
    return (name, grad) => {
      const key = `${grad}${name}`;
      if (!known.has(key)) {
        const X = grad ? grads.get(byName.get(name)) : byName.get(name).value;
        known.set(key, { X, most: mostOf(X) });
      }
      return known.get(key);
    };
  }

  function paintStrip(strip, numbers, earlier, here) {
    const { step, backward } = shown.state;
    const { name, there } = Object.assign(strip, shownAt(strip.names, times, step, backward));
    const grad = (strip.grad = backward && there);
    const { X, most } = numbers(name, grad);
    const { held } = shown.byName.get(name);
    const lengths = grad && strip.cells.length ? lengthsOf(X) : [];
    const now = there && here.has(name); // the rest is only a little paler: the whole run is seen from the start
    strip.group.style.opacity = now ? 1 : 0.8;
    const size = lengths.length ? 0.3 + (0.7 * lengths[strip.word]) / Math.max(1e-9, ...lengths) : 1; // of a gradient
    strip.group.style.setProperty("--attn-size", size);
    strip.group.setAttribute("aria-label", `${grad ? "gradient of " : ""}${name}, “${tokens[strip.word]}”`);
    strip.group.classList.toggle("attn-now", now);
    strip.cells.forEach((cell, j) => {
      const number = at(X, strip.word, j);
      cell.style.fill = colourOf(name, number);
      cell.style.fillOpacity = Math.abs(number) / most;
      cell.classList.toggle("attn-set", Boolean(held?.has(strip.word * X.cols + j)));
      if (!earlier || grad) return;
      const old = at(earlier(name, false).X, strip.word, j);
      if (Math.abs(number - old) < 0.02 * most) return;
      const [x, width] = ["x", "width"].map((side) => Number(cell.getAttribute(side)));
      const ghost = drawing("rect", { x: strip.x + x, y: strip.y + strip.high - 2, width, height: 2 });
      ghost.style.fill = colourOf(name, old);
      ghost.style.fillOpacity = Math.abs(old) / earlier(name, false).most;
      ghosts.append(ghost);
    });
  }

  function paintRibbon({ from, to, path }, numbers, earlier, here) {
    const { name, grad } = to;
    const followed = to.word === shown.state.token;
    const { X, most } = numbers(name, grad);
    const number = at(X, to.word, from.word);
    const isWeight = name.endsWith(": weights");
    path.style.strokeWidth = RIBBON * (grad ? Math.abs(number) / most : isWeight ? number : 0);
    path.style.stroke = grad ? colourOf(name, number) : "";
    path.style.opacity = followed ? (here.has(name) ? 0.85 : 0.6) : 0.12;
    if (!earlier || grad || !isWeight || !followed) return;
    const old = at(earlier(name, false).X, to.word, from.word);
    if (Math.abs(old - number) < 0.01) return;
    const sides = [-1, 1].map((side) => curve(from, to, (side * RIBBON * old) / 2));
    ghosts.append(...sides.map((d) => drawing("path", { class: "attn-was", d })));
  }

  // The score of the word that is followed with each key, until it becomes a weight.
  function paintDot({ strip, node }, numbers) {
    const { token } = shown.state;
    const { name, there, grad } = ofFloor[strip.floor].find(({ part, word }) => part === strip.part && word === token);
    const { X, most } = numbers(name, grad);
    const score = there && !grad && name.endsWith("scores") ? at(X, token, strip.word) : 0;
    const shut = score === -Infinity;
    node.classList.toggle("attn-shut", shut);
    node.style.fill = colourOf(name, score);
    put(node, { r: shut ? 3 : score === 0 ? 0 : 2 + (5 * Math.abs(score)) / most });
  }

  function paintThreads() {
    const { state: { step, backward }, done, byName } = shown;
    const lengths = streams.map(({ name }) => lengthsOf(done.grads.get(byName.get(name))));
    const longest = Math.max(1e-9, ...lengths.flat());
    threads.forEach(({ k, word, node }) => {
      const { there } = shownAt([streams[k].name], times, step, backward);
      node.classList.toggle("attn-passed", there);
      node.style.strokeWidth = backward && there ? 1 + (8 * lengths[k][word]) / longest : 2;
    });
  }

  function paintBars() {
    const { state: { backward, wanted }, done, was } = shown;
    const order = words.map((_, i) => i).sort((a, b) => done.shares[b] - done.shares[a]);
    if (backward && order.indexOf(wanted) >= LIKELIEST) order.splice(LIKELIEST - 1, 0, wanted); // it is always seen
    bars.forEach(({ group, number, bar, ghost, full, from }, i) => {
      const rank = order.indexOf(i);
      const [share, old] = [done.shares[i], was?.shares[i] ?? 0];
      group.style.transform = moved(0, 3 + BAR * Math.min(rank, LIKELIEST - 1));
      group.style.opacity = Number(rank < LIKELIEST && (!large || shown.state.step === steps[0].length - 1)); // there at last
      bar.style.transform = `${moved(from, 0)} scale(${share}, 1)`;
      put(ghost, { width: full * old });
      number.textContent = format(share, 3) + (backward && i === wanted ? ` right, loss ${format(done.loss)}` : "");
      number.style.transform = moved(from + full * Math.max(share, old) + 6, 0);
    });
  }

  function draw() {
    const { state, done, was, all, byName } = shown;
    const numbers = reader({ ...done, byName });
    const earlier = was && reader({ ...was, byName: new Map(was.nodes.map((node) => [node.name, node])) });
    const here = new Set(shownNodes(all, state.step).map(({ name }) => name));
    if (wide === null) arrange();
    look();
    ghosts.replaceChildren();
    strips.forEach((strip) => paintStrip(strip, numbers, earlier, here));
    ribbons.forEach((ribbon) => paintRibbon(ribbon, numbers, earlier, here));
    dots.forEach((dot) => paintDot(dot, numbers));
    paintThreads();
    paintBars();
    stage.classList.toggle("attn-backward", state.backward);
    labels.forEach((node, floor) => node.classList.toggle("attn-here", floor === madeFloor()));
    feet.forEach(({ group, word }) => group.setAttribute("aria-pressed", word === state.token));
    if (stage.classList.contains("attn-gliding")) return;
    stage.getBoundingClientRect(); // what is drawn first stands there at once
    stage.classList.add("attn-gliding");
  }

  function show(now) {
    if (now.state.step !== shown?.state.step) looked = null;
    shown = now;
    draw();
  }

  function fly() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const { state: { step, token, backward }, all } = shown;
    const pairs = flightsOf(strips, all, step, token).filter((pair) => pair.every(({ cells }) => cells.length));
    pairs.forEach(([one, other]) => {
      const along = ribbons.find(({ from, to }) => from.word === one.word && to.word === other.word
        && to.part === other.part && to.floor === other.floor - 1);
      // What goes along a ribbon is seen as far as that is wide.
      const opacity = along ? Number(along.path.style.strokeWidth) / RIBBON : 0.9;
      const [from, to] = backward ? [other, one] : [one, other];
      const copy = from.group.cloneNode(true);
      ["role", "tabindex", "aria-label"].forEach((name) => copy.removeAttribute(name));
      flights.append(copy);
      const [begin, end] = [`${moved(from.x, from.y)} scale(1, 1)`, `${moved(to.x, to.y)} scale(${to.w / from.w}, 1)`];
      copy.animate([
        { transform: begin, opacity }, { transform: end, opacity, offset: 0.75 }, { transform: end, opacity: 0 },
      ], { duration: FLIGHT, easing: "ease-in-out" }).onfinish = () => copy.remove();
    });
  }

  function light(lit) {
    strips.forEach(({ name, grad, word, cells }) => cells.forEach((cell, j) => cell.classList.toggle("attn-lit",
      lit.some((one) => one.node.name === name && one.i === word && one.j === j && Boolean(one.grad) === grad))));
  }

  return { stage, show, fly, light };
}

export { lengthsOf, loomOf, mostOf, range, shownAt, stageOf, timesOf };
