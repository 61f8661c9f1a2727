// Ask, share, receive: the one picture of attention. A query as an arrow that the reader turns, how far along it each key
// lies, ribbons as wide as the weights, and values that pull the output. Chapters add one thing each.

import {
  alike, box, button, choice, dot, drawing, element, figure, format, gliding, largest, lettering, onceSeen, planeArrow,
  pressable, put, sending, slider, sum, tween,
} from "./common.js";
import {
  ask, askPicture, coloured, colouredLine, divisorOf, inside, line, pair, percent, PICTURE_WIDTH, pull, scene,
} from "./ask.js";

const SHARE_HEIGHT = 170, RECEIVE_HEIGHT = 164;
const TABLE = { left: 44, zero: 66, bars: 20, percent: 150, ribbon: 156, end: 268 }; // where in the middle picture things stand
const STEPS = 160, RATE = 0.08, DROPS = 30;

// The way of the query while it learns, to its last step or until the edge of the plane, along which it may go, holds it.
function learn(state, goal) {
  const way = [state.q];
  while (way.length <= STEPS) {
    const q = way.at(-1);
    const { step } = pull({ ...state, q }, goal);
    const next = inside(q.map((entry, d) => entry + RATE * step[d]));
    if (Math.hypot(...next.map((entry, d) => entry - q[d])) < 1e-3) break;
    way.push(next);
  }
  return way;
}

// Whether the edge of the plane is what holds a query.
function isAtEdge(q) {
  return inside(q.map((entry) => 1.001 * entry)).some((entry, d) => Math.abs(entry - 1.001 * q[d]) > 1e-9);
}

// Scores as large as d_k makes them, divided by its root or not.
const asLarge = (state, scores) => scores.map((score) => score / divisorOf(state));

// The second picture: score, share and a ribbon for each word, into the word that asks. A ribbon can be cut.
function sharePicture({ tokens, asker, adds }, onCut) {
  const picture = scene(PICTURE_WIDTH, SHARE_HEIGHT, `The shares of ${tokens.join(", ")} as ribbons into ${asker}.`);
  const [left, right] = [tokens, [asker]].map((words) => 9 * Math.max(0, ...words.map((word) => word.length - 4))); // for long words
  put(picture, { viewBox: `${-left} 0 ${PICTURE_WIDTH + left + right} ${SHARE_HEIGHT}` });
  if (adds === "mask") picture.setAttribute("role", "group");
  const rows = tokens.map((_, j) => 50 + (80 * j) / (tokens.length - 1 || 1));
  const arrival = { top: 35, height: 110 };
  const parts = tokens.map((token, j) => {
    const [y, y1] = [rows[j], rows[j] + 5];
    const ribbon = drawing("path", { class: "attn-band" });
    const bar = drawing("rect", { y: y - 5, height: 10, rx: 3, class: "attn-score" });
    const share = drawing("text", { x: TABLE.percent, y: y1, "text-anchor": "end" });
    const old = drawing("path", { class: "attn-ribbon-before" });
    const name = drawing("text", { x: TABLE.left - 6, y: y1, class: "attn-key-label", "text-anchor": "end" }, token);
    const group = drawing("g", {}, ribbon, bar, share, name), press = drawing("g");
    if (adds === "mask") {
      press.append(drawing("rect", { x: 0, y: y - 22, width: TABLE.end, height: 44, class: "attn-target" }));
      pressable(press, () => onCut(j), { "aria-label": `Hide ${token}` });
    }
    picture.append(old, group, press);
    return { group, press, ribbon, bar, share, old };
  });
  const titles = [["score", TABLE.zero, "start"], ["weight", TABLE.percent, "end"]].map(([name, x, side]) =>
    drawing("text", { x, y: 16, class: "attn-column", "text-anchor": side }, name));
  picture.append(...titles, line("attn-axis", [TABLE.zero, 26], [TABLE.zero, SHARE_HEIGHT - 6]).node,
    drawing("rect", { x: TABLE.end, y: arrival.top, width: 8, height: arrival.height, rx: 4, class: "attn-asker" }),
    drawing("text", { x: TABLE.end + 14, y: arrival.top + arrival.height / 2 + 5, class: "attn-asker" }, asker));
  const arrivesAt = (weights, j) => arrival.top + arrival.height * (sum(weights.slice(0, j)) + weights[j] / 2);
  const band = (weights, j) => {
    const [from, to] = [rows[j], arrivesAt(weights, j)];
    const [thin, thick] = [0.35, 0.5].map((part) => weights[j] * arrival.height * part);
    const [x0, x1, bend] = [TABLE.ribbon, TABLE.end, (TABLE.ribbon + TABLE.end) / 2];
    const edge = (start, end) => [start, start, end, end].map((y) => y.toFixed(1));
    const [a, b, c, d] = edge(from - thin, to - thick), [e, f, g, h] = edge(to + thick, from + thin);
    return `M${x0},${a}C${bend},${b} ${bend},${c} ${x1},${d}V${e}C${bend},${f} ${bend},${g} ${x0},${h}Z`;
  };
  // Values run down the ribbons once, so many of a word as its weight says.
  const drops = Array.from({ length: DROPS }, () => drawing("circle", { r: 3, class: "attn-drop", visibility: "hidden" }));
  picture.append(...drops);
  let flowing = false;
  const flow = (weights) => {
    if (flowing || !sum(weights)) return;
    flowing = true;
    const word = (i) => weights.findIndex((_, j) => sum(weights.slice(0, j + 1)) >= (i + 0.5) / DROPS);
    tween(0, 2, (time) => {
      drops.forEach((drop, i) => {
        const [j, order] = [word(i), (i * 7) % DROPS];
        const share = time - order / DROPS;
        const isSeen = share > 0 && share < 1 && j >= 0;
        put(drop, { visibility: isSeen ? "visible" : "hidden" });
        if (!isSeen) return;
        const aside = (((i * 11) % 9) / 8 - 0.5) * weights[j] * arrival.height * 0.6;
        const ease = share * share * (3 - 2 * share);
        put(drop, { cx: TABLE.ribbon + (TABLE.end - TABLE.ribbon) * share, cy: rows[j] + aside + (arrivesAt(weights, j) - rows[j]) * ease });
      });
      if (time === 2) flowing = false;
    }, 2600);
  };
  const set = (state, { scores, weights }, before) => {
    const shown = adds === "length" ? asLarge(state, scores) : scores;
    const longest = Math.max(adds === "length" ? 48 : 4, ...shown.map(Math.abs));
    const old = before && ask(before).weights;
    parts.forEach(({ group, press, ribbon, bar, share, old: ghost }, j) => {
      put(ribbon, { d: band(weights, j) });
      put(ghost, { d: old ? band(old, j) : "" });
      const length = (shown[j] / longest) * TABLE.bars;
      put(bar, { x: TABLE.zero + Math.min(0, length), width: Math.max(1.5, Math.abs(length)) });
      share.textContent = state.hidden?.[j] ? "hidden" : percent(weights[j]);
      group.classList.toggle("attn-struck", Boolean(state.hidden?.[j]));
      if (adds === "mask") press.setAttribute("aria-pressed", Boolean(state.hidden?.[j]));
    });
  };
  return { picture, set, flow };
}

// The third picture: the values, which pull the output by springs as thick as the weights; and the word it is added to.
function receivePicture({ tokens, asker, V, E }) {
  const picture = scene(PICTURE_WIDTH, RECEIVE_HEIGHT, `The values of ${tokens.join(", ")}, and the output between them.`);
  const sums = E ? V.map((v) => v.map((entry, d) => entry + E[d])) : [];
  const all = [...V, ...(E ? [[0, 0], E, ...sums] : [])];
  const [low, high] = [Math.min, Math.max].map((end) => [0, 1].map((d) => end(...all.map((v) => v[d]))));
  const unit = Math.min((PICTURE_WIDTH - 110) / (high[0] - low[0] || 1), (RECEIVE_HEIGHT - 56) / (high[1] - low[1] || 1));
  const place = (v) => [0, 1].map((d) => [PICTURE_WIDTH, RECEIVE_HEIGHT][d] / 2 + (d ? -1 : 1) * (v[d] - (low[d] + high[d]) / 2) * unit);
  const springs = V.map(() => line("attn-spring"));
  const ghost = drawing("circle", { r: 9, class: "attn-out attn-ghost" }), out = drawing("circle", { r: 9, class: "attn-out" });
  const word = planeArrow("attn-own-arrow", place), moved = planeArrow("attn-value-arrow", place);
  picture.append(drawing("polygon", { points: V.map((v) => place(v).map((x) => x.toFixed(1))).join(" "), class: "attn-hull" }),
    ...springs.map((spring) => spring.node), ghost, out, ...V.map((v) => {
      const [x, y] = place(v);
      return drawing("rect", { x: x - 6, y: y - 6, width: 12, height: 12, rx: 3, class: "attn-value-point" });
    }));
  if (E) {
    const [x, y] = place(E), [x0, y0] = place([0, 0]);
    picture.append(word.group, moved.group, drawing("circle", { cx: x0, cy: y0, r: 3, class: "attn-mark" }),
      lettering(x0, y0 + 17, "attn-mark", "0"), drawing("text", { x: x - 8, y: y + 5, "text-anchor": "end" }, asker));
    word.set([0, 0], E);
  }
  const names = V.map((v, j) => drawing("text", { y: place(v)[1] + 5, class: "attn-value-label attn-plane-label" }, tokens[j]));
  picture.append(...names); // above what moves
  const set = (state, { weights, output }, before) => {
    const [x, y] = place(output), takes = sum(weights) > 0 ? "visible" : "hidden"; // from nobody, if all words are hidden
    springs.forEach((spring, j) => {
      spring.set([x, y], place(V[j]));
      const side = V[j][0] < output[0] ? -1 : 1; // away from the output
      put(names[j], { x: place(V[j])[0] + 12 * side, "text-anchor": side > 0 ? "start" : "end" });
      put(spring.node, { "stroke-width": 1 + 14 * weights[j], opacity: 0.25 + 0.6 * weights[j], visibility: takes });
    });
    put(out, { cx: x, cy: y, visibility: takes });
    const [bx, by] = before ? place(ask(before).output) : [x, y];
    put(ghost, { cx: bx, cy: by });
    if (E) moved.set(E, E.map((entry, d) => entry + output[d]));
  };
  return { picture, set };
}

function inWords(state, { scores, weights, output }) {
  const { asker, tokens, q, E, hidden, panes, adds } = state;
  if (panes === 1) return [[`“${asker}”`, "query"], [` asks with ${pair(q)}. Scores: `],
    ...tokens.flatMap((token, j) => [[`${j ? ", " : ""}${token} `, "key"], [format(scores[j]), "weight"]]), ["."]];
  const seen = tokens.map((_, j) => j).filter((j) => !hidden?.[j]);
  if (!seen.length) return [[`“${asker}”`, "query"], [" may look at nothing, and receives nothing."]];
  const takes = seen.flatMap((j, i) => [[i === 0 ? "" : i === seen.length - 1 ? " and " : ", "],
    [percent(weights[j]), "weight"], [" from "], [tokens[j], "key"]]);
  if (panes === 2) return [[`“${asker}”`, "query"], [` asks with ${pair(q)} and takes `], ...takes, ["."]];
  const added = E ? [[`. Added to its own vector ${pair(E)}, that makes ${pair(E.map((entry, d) => entry + output[d]))}.`]] : [["."]];
  const large = adds === "length" ? `, scores ${asLarge(state, scores).map((score) => format(score)).join(", ")},` : "";
  return [[`“${asker}”`, "query"], [` asks with ${pair(q)}${large} and takes `], ...takes, [". It receives "],
    [pair(output), "value"], [": the values, mixed in these shares"], ...added];
}

// The arrow that figures of a page share: each tells the others.
const ARROW = "attn-arrow";

function shareArrow({ linked, read, change, isThere }) {
  const hear = ({ detail: { name, q } }) => {
    if (!isThere()) return removeEventListener(ARROW, hear);
    if (name === linked && !alike(q, read().q)) change({ q });
  };
  addEventListener(ARROW, hear);
  return (q) => dispatchEvent(new CustomEvent(ARROW, { detail: { name: linked, q } }));
}

function build(means) {
  const { start, read, change, reset, draw } = means;
  const { tokens, asker, K, adds, learns, puzzle, panes, linked, shows } = read();
  const goal = tokens.indexOf(learns);
  let run = 0, learningNow = false, hasLearned = false; // another move ends it
  const moveTo = (q) => {
    run++;
    learningNow = hasLearned = false;
    first.follow([]);
    change({ q });
  };
  const first = askPicture(read(), read, moveTo);
  const second = sharePicture(read(), (j) => change({ hidden: tokens.map((_, i) => Boolean(read().hidden?.[i]) !== (i === j)) }));
  const third = receivePicture(read());
  const say = colouredLine();
  const task = element("p", { className: "attn-task", role: "status" });

  const show = (state, before, numbers) => {
    const q = numbers.slice(0, 2), weights = numbers.slice(2);
    const output = state.V[0].map((_, d) => dot(weights, state.V.map((v) => v[d])));
    const found = { scores: K.map((k) => dot(q, k)), weights, output };
    first.set({ ...state, q }, found, before, goal);
    second.set(state, found, before);
    third.set(state, found, before);
  };
  let latest = read(), earlier = null;
  const glide = gliding((numbers) => show(latest, earlier, numbers));

  const learnNow = (then) => {
    const way = learn(read(), goal), mine = ++run;
    learningNow = true;
    tween(0, way.length - 1, (at) => {
      if (mine !== run) return;
      first.follow(way.slice(0, Math.floor(at) + 1));
      if (at === way.length - 1) [learningNow, hasLearned] = [false, true];
      change({ q: way[Math.floor(at)].map((entry) => Math.round(entry * 1e4) / 1e4) });
      if (at === way.length - 1 && then) setTimeout(() => mine === run && then(), 1200);
    }, 2500);
  };
  const learning = button("attn-button", `Let it learn to find “${learns}”`, () => learnNow());
  const single = button("attn-button", "One step", () => {
    const { step } = pull(read(), goal);
    moveTo(inside(read().q.map((entry, d) => entry + step[d])));
  });
  const temperature = slider({
    label: "temperature", min: 0.1, max: 5, step: 0.1, onInput: (number) => change({ temperature: number }),
  });
  const size = slider({
    label: "d_k", min: 1, max: 10, step: 1, show: (power) => String(2 ** power), onInput: (power) => change({ d_k: 2 ** power }),
  });
  const scale = choice({ legend: "Scores", labels: ["as they are", "divided by √d_k"], onChoose: (i) => change({ scaled: i === 1 }) });
  const more = { temperature: [temperature.row], length: [scale.row, size.row], learning: [single] }[adds] ?? [];

  const panel = (title, told, picture) => box("attn-panel",
    element("p", { className: "attn-panel-title" }, element("b", { className: "attn-panel-name" }, title), ...told.map(coloured)), picture);
  const panels = [
    panel("Ask. ", [[`The arrow is what “${asker}” looks for, its `], ["query", "query"],
      ["; a dot is what a word can be found by, its "], ["key", "key"], ["."]], first.picture),
    panel("Share. ", [["The farther along the arrow a key lies, the wider its ribbon: its "], ["weight", "weight"],
      [adds === "mask" ? ". Press a word to hide it." : "."]], second.picture),
    panel("Receive. ", [["A square is what a word hands over, its "], ["value", "value"],
      [". It pulls as its weight says."]], third.picture),
  ].slice(0, panes);
  const open = ({ q }) => q?.length === 2 && q.every(Number.isFinite) && moveTo(inside(q));
  draw(...(more.length ? [box("attn-controls", ...more)] : []), box(`attn-three attn-panes-${panes}`, ...panels), say.row,
    box("attn-controls", ...(learns ? [learning] : []), ...sending(means, `arrow-${adds}${panes}`, ["q"], open), reset), ...(puzzle.length ? [task] : []));

  onceSeen(second.picture, () => second.flow(ask(read()).weights));
  if (shows) onceSeen(say.row, () => run === 0 && learnNow(() => moveTo(start.q))); // not once the reader has moved it
  const tell = linked ? shareArrow({ linked, read, change, isThere: () => say.row.isConnected }) : () => {};

  return (state, before) => {
    const found = ask(state);
    if (before) tell(state.q);
    [latest, earlier] = [state, before];
    glide([...state.q, ...found.weights], first.held() || learningNow);
    if (before) second.flow(found.weights);
    temperature.set(state.temperature);
    size.set(Math.log2(state.d_k));
    scale.set(state.scaled ? 1 : 0);
    const held = hasLearned && isAtEdge(state.q) ? [[" The arrow has come to the edge of the picture; it would go on growing."]] : [];
    say.set([...inWords(state, found), ...held]);
    if (!puzzle.length) return;
    const [word, share, insight] = puzzle;
    const solved = panes === 1 ? tokens[largest(found.scores)] === word : found.weights[tokens.indexOf(word)] >= share;
    const wanted = panes === 1 ? `“${word}” the highest score` : `“${word}” more than ${Math.round(100 * share)} %`;
    task.textContent = solved ? `✓ ${insight}` : `Puzzle: can you give ${wanted}?`;
    task.classList.toggle("attn-solved", solved);
  };
}

const render = figure({
  label: "Ask, share, receive", build,
  fixed: ({ tokens, asker, K, V, E, adds, learns, puzzle, panes, linked }) => [tokens, asker, K, V, E, adds, learns, puzzle, panes, linked],
});

export default { render, ask, pull, learn };
