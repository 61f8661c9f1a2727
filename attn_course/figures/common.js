// What the explorables share, placed before each one's own source, in the book and in the widget alike.

// Make an element. Keys of `properties` that hold a dash, and `role`, become attributes; text is only ever set as text.
function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children);
  return node;
}

function box(className, ...children) {
  return element("div", { className }, ...children);
}

function caption(text) {
  return element("p", { className: "attn-caption" }, text);
}

function button(className, text, onPress) {
  const node = element("button", { type: "button", className }, text);
  node.addEventListener("click", onPress);
  return node;
}

// A native control. A browser would fill in what it held before the reader left the page and came back.
function control(type, properties = {}) {
  return element("input", { type, autocomplete: "off", ...properties });
}

const SVG = "http://www.w3.org/2000/svg";

function put(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

function drawing(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  put(node, attributes);
  node.append(...children);
  return node;
}

// A drawing in which something can be moved.
function movingScene(viewBox, label, ...nodes) {
  return drawing("svg", { viewBox, class: "attn-scene", role: "group", "aria-label": label }, ...nodes);
}

// Text in a drawing, its middle at x.
function lettering(x, y, className, text = "") {
  return drawing("text", { x, y, class: className, "text-anchor": "middle" }, text);
}

// A text whose symbols are set: what follows the underscore of W_Q or d_ff is a subscript, in a drawing as well.
function typeset(text, inDrawing = false) {
  return text.split(/(?<!\w)(\p{L})_(\w+)/u).map((part, i) => {
    const isLow = i % 3 === 2;
    if (inDrawing) return drawing("tspan", isLow ? { dy: 4, "font-size": "75%" } : { dy: i % 3 || i === 0 ? 0 : -4 }, part);
    return isLow ? element("sub", {}, part) : part;
  });
}

function format(number, digits = 2) {
  if (number === -Infinity) return "−∞";
  const text = number.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text.replace("-", "−");
}

// A large number, its digits in groups of three.
function grouped(number) {
  return number.toLocaleString("en-US");
}

// A number as a factor in a sum: a negative one in brackets.
function factor(number) {
  const text = format(number);
  return text.startsWith("−") ? `(${text})` : text;
}

// Draw what lies between two numbers over some time, and at once for a reader who asked for no motion.
function tween(from, to, draw, milliseconds = 450) {
  if (from === to || matchMedia("(prefers-reduced-motion: reduce)").matches) return draw(to);
  const start = performance.now();
  const step = (now) => {
    const share = Math.min((now - start) / milliseconds, 1);
    draw(share === 1 ? to : from + (to - from) * share * share * (3 - 2 * share));
    if (share < 1) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

// Numbers that go to their goal over a quarter of a second, and at once the first time or when asked to (while the reader
// holds what moves them); a new goal on the way is taken from where they are. `draw` shows them.
function gliding(draw, milliseconds = 250) {
  let shown = null, last = 0;
  return (goal, atOnce = false) => {
    const from = shown, mine = ++last;
    const show = (numbers) => draw((shown = numbers));
    if (!from || atOnce || from.length !== goal.length) return show(goal);
    tween(0, 1, (share) => mine === last && show(goal.map((number, i) => from[i] + share * (number - from[i]))), milliseconds);
  };
}

// What is pressed in a drawing, by a pointer, Enter or the space bar.
function pressable(group, onPress, attributes) {
  put(group, { class: "attn-pressed", tabindex: 0, role: "button", ...attributes });
  group.addEventListener("click", onPress);
  group.addEventListener("keydown", (event) => {
    if (!["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    onPress();
  });
  return group;
}

// What the reader takes hold of in a drawing: marks around a target of 44 units, so that a finger elsewhere still scrolls
// the page. `onMove` is told where it is held, in the drawing's units, and `onStep` by how many steps of the arrow keys
// it goes right and up (five at a time with Shift); `set` puts it somewhere and says its value.
function handle({ label, onMove, onStep }, ...marks) {
  const group = drawing("g", { class: "attn-handle", tabindex: 0, role: "slider", "aria-label": label },
    drawing("circle", { r: 22, class: "attn-target" }), ...marks);
  let place = [0, 0], grip = null; // the handle's middle, seen from the pointer that holds it
  const pointer = ({ clientX, clientY }) => {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(group.ownerSVGElement.getScreenCTM().inverse());
    return [x, y];
  };
  group.addEventListener("pointerdown", (event) => {
    const [x, y] = pointer(event);
    grip = [place[0] - x, place[1] - y];
    group.setPointerCapture(event.pointerId);
  });
  // A finger that holds it does not scroll: Chromium does not heed touch-action inside a drawing.
  group.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  group.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const [x, y] = pointer(event);
    onMove([x + grip[0], y + grip[1]]);
  });
  ["pointerup", "pointercancel"].forEach((name) => group.addEventListener(name, () => (grip = null)));
  group.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!step) return;
    event.preventDefault();
    onStep(step.map((number) => number * (event.shiftKey ? 5 : 1)));
  });
  const set = ([x, y], value, said = format(value)) => {
    place = [x, y];
    put(group, { transform: `translate(${x},${y})`, "aria-valuenow": value, "aria-valuetext": said });
  };
  return { group, set, held: () => grip !== null };
}

// Two words on a line of places from 0 to `last`: one is held above the line, one below it by its marks, and between them
// what moves both by as much. `onMove` is given both places; `set` shows them, on their way from others.
function twoPlaces({ labels, marks, last, y, apart, from, to, read, onMove }) {
  const unit = (to - from) / last, x = (place) => from + place * unit;
  const within = (place) => Math.max(0, Math.min(last, Math.round(place)));
  const moveOne = (i, place) => onMove(read().with(i, within(place)));
  const moveBoth = (by) => {
    const [low, high] = [Math.min(...read()), Math.max(...read())];
    onMove(read().map((place) => place + Math.max(-low, Math.min(last - high, Math.round(by)))));
  };
  const held = labels.map((label, i) => handle({
    label,
    onMove: ([at]) => moveOne(i, (at - from) / unit),
    onStep: ([right, up]) => moveOne(i, read()[i] + right + up),
  }, ...marks[i]));
  const pair = handle({
    label: "both, together",
    onMove: ([at]) => moveBoth((at - from) / unit - sum(read()) / 2),
    onStep: ([right, up]) => moveBoth(right + up),
  }, drawing("circle", { r: 9, class: "attn-grip" }));
  const between = drawing("line", { y1: y, y2: y, class: "attn-between" });
  const ticks = [0, 1, 2, 3, 4].map((i) => Math.round((i * last) / 4));
  const nodes = [drawing("line", { x1: from, x2: to, y1: y, y2: y, class: "attn-axis" }), between,
    ...ticks.map((place) => lettering(x(place), y + 20, "attn-tick", String(place))),
    ...[...held, pair].map(({ group }) => group)];
  const set = (shown, places) => {
    held.forEach((one, i) => one.set([x(shown[i]), y + (i ? apart : -apart)], places[i], String(places[i])));
    pair.set([x(sum(shown) / 2), y], Math.min(...places), places.join(" and "));
    put(between, { x1: x(shown[0]), x2: x(shown[1]) });
  };
  return { nodes, set, held: () => [...held, pair].some((one) => one.held()) };
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

function dot(a, b) {
  return sum(a.map((entry, i) => entry * b[i]));
}

// 0 where one of the two is zero.
function cosine(a, b) {
  return dot(a, b) / (Math.sqrt(dot(a, a) * dot(b, b)) || 1);
}

// The position of the largest number.
function largest(numbers) {
  return numbers.indexOf(Math.max(...numbers));
}

// The positions of the largest numbers, the largest first.
function likeliest(numbers, count) {
  return Array.from(numbers, (number, place) => [number, place]).sort((a, b) => b[0] - a[0]).slice(0, count).map(([, place]) => place);
}

// A token so that its spaces and ends of lines are seen.
function visible(word) {
  return word.replace(/ /g, "·").replace(/\n/g, "¶");
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

function dotInWords(a, b) {
  return a.map((entry, i) => `${factor(entry)} × ${factor(b[i])}`).join(" + ");
}

// As attn.softmax: the maximum is subtracted, and a row of nothing but -Infinity gives zeros.
function softmax(scores) {
  const top = Math.max(...scores);
  if (top === -Infinity) return scores.map(() => 0);
  const exponentials = scores.map((score) => Math.exp(score - top));
  const total = sum(exponentials);
  return exponentials.map((exponential) => exponential / total);
}

// A slider with its label and its value; `set(value)` shows a value that came from elsewhere.
function slider({ label, min, max, step = 0.01, show = format, onInput }) {
  const input = control("range", { min, max, step });
  const value = element("output", { className: "attn-value" });
  input.addEventListener("input", () => onInput(Number(input.value)));
  const row = element("label", { className: "attn-slider" }, element("span", {}, ...typeset(label)), input, value);
  const set = (number) => {
    input.value = number;
    value.textContent = show(number);
    input.setAttribute("aria-valuetext", show(number));
  };
  return { row, set };
}

// A row with something in front, a bar and its number; `set(share)` shows it.
function barRow(className, front) {
  const bar = element("span", { className: "attn-bar" });
  const value = element("output", { className: "attn-value" });
  const set = (share, text = format(share, 3)) => {
    bar.style.setProperty("--attn-w", share);
    value.textContent = text;
  };
  // Mark what the bar showed before; null takes the mark away.
  const showBefore = (share) => {
    bar.classList.toggle("attn-haunted", share !== null);
    bar.style.setProperty("--attn-was", share);
  };
  return { row: box(className, front, bar, value), set, showBefore };
}

// A slice of a circle around (x, y) from one angle to another, the shorter way.
function slice([x, y], radius, from, to) {
  const [first, second] = [from, to].map((angle) => `${x + radius * Math.cos(angle)} ${y - radius * Math.sin(angle)}`);
  return `M${x} ${y}L${first}A${radius} ${radius} 0 0 ${Math.sin(to - from) > 0 ? 0 : 1} ${second}Z`;
}

// An arrow in a drawing; `set(from, to)` moves it, and one that is hardly longer than a dot is not drawn.
function drawnArrow(className) {
  const shaft = drawing("line", { class: "attn-shaft" });
  const head = drawing("path", { class: "attn-tip", d: "M0,0 L-11,-6 L-11,6 Z" });
  const group = drawing("g", { class: className }, shaft, head);
  const set = ([x0, y0], [x1, y1]) => {
    put(group, { visibility: Math.hypot(x1 - x0, y1 - y0) < 4 ? "hidden" : "visible" });
    put(shaft, { x1: x0, y1: y0, x2: x1, y2: y1 });
    put(head, { transform: `translate(${x1},${y1}) rotate(${(Math.atan2(y1 - y0, x1 - x0) * 180) / Math.PI})` });
  };
  return { group, set };
}

// An arrow between two vectors, which `place` puts into the drawing.
function planeArrow(className, place) {
  const { group, set } = drawnArrow(className);
  return { group, set: (from, to) => set(place(from), place(to)) };
}

// One choice of several as native radio buttons; `set` marks one. What is chosen is told by its place in a list of labels,
// and by its name where labels have names.
function choice({ legend, labels, onChoose }) {
  const name = `attn-${Math.random().toString(36).slice(2)}`; // radio buttons are grouped by name, page-wide
  const keys = Array.isArray(labels) ? [...labels.keys()] : Object.keys(labels);
  const inputs = keys.map((key, value) => {
    const input = control("radio", { name, value });
    input.addEventListener("change", () => onChoose(key));
    return input;
  });
  const row = element("fieldset", { className: "attn-choice" }, element("legend", {}, legend));
  inputs.forEach((input, i) => row.append(element("label", {}, input, element("span", {}, ...typeset(labels[keys[i]])))));
  const set = (chosen) => inputs.forEach((input, i) => (input.checked = keys[i] === chosen));
  return { row, set };
}

// One of several texts from a list that folds; `set(i)` shows text i, and -1 what stands there for `none` of them.
function chooser(label, texts, onChoose, none = null) {
  const options = texts.map((text, value) => element("option", { value }, text));
  if (none) options.unshift(element("option", { value: -1 }, none));
  const select = element("select", { autocomplete: "off", "aria-label": label }, ...options);
  select.addEventListener("change", () => select.value >= 0 && onChoose(Number(select.value)));
  const row = element("label", { className: "attn-wanted attn-chooser" }, element("span", {}, label), select);
  return { row, set: (i) => (select.value = i) };
}

// A sentence: a choice of one of its words, each in the middle of its share of the line, below the arcs that leave it.
function sentence(options) {
  const line = choice(options);
  line.row.classList.add("attn-sentence");
  line.row.querySelectorAll("label").forEach((label, i) => {
    label.style.gridColumn = i + 1;
    label.title = options.labels[i];
  });
  return line;
}

// Arcs from one word of n to each of them, as wide as its weight; `set(from, weights)` draws them.
function arcs(n, [wide, tall], base) {
  const across = (i) => ((i + 0.5) * wide) / n;
  const lines = Array.from({ length: n }, () => drawing("path", { class: "attn-arc" }));
  const dots = lines.map((_, i) => drawing("circle", { cx: across(i), cy: base, class: "attn-share" }));
  const set = (from, weights) => weights.forEach((weight, i) => {
    const visibility = weight > 0 ? "visible" : "hidden"; // no arc to a word that may not be seen
    const high = base - 2 * tall * Math.abs((from - i) / (n - 1)) ** 0.6;
    put(lines[i], {
      d: `M${across(from)},${base}Q${across((from + i) / 2)},${high},${across(i)},${base}`,
      "stroke-width": 1 + 11 * weight, opacity: 0.2 + 0.8 * weight, visibility,
    });
    put(dots[i], { r: 2 + 6 * Math.sqrt(weight), visibility });
  });
  return { group: drawing("g", {}, ...lines, ...dots), set };
}

// A small picture of a pattern: a path for each shade. `show(rows)` draws another one.
function smallMap(shades = 4) {
  const paths = Array.from({ length: shades }, (_, i) => drawing("path", { class: "attn-look", opacity: 0.2 + (0.8 * (i + 1)) / shades }));
  const picture = drawing("svg", { class: "attn-small", preserveAspectRatio: "none", "aria-hidden": "true" }, ...paths);
  const show = (rows) => {
    picture.setAttribute("viewBox", `0 0 ${rows.length} ${rows.length}`);
    const squares = paths.map(() => "");
    rows.forEach((row, i) => row.forEach((weight, j) => {
      const shade = Math.round(weight * shades);
      if (shade > 0) squares[shade - 1] += `M${j},${i}h1v1h-1z`;
    }));
    paths.forEach((path, i) => path.setAttribute("d", squares[i]));
  };
  return { picture, show };
}

// What only some readers want to see, folded away.
function folded(title, ...nodes) {
  return element("details", { className: "attn-folded" }, element("summary", {}, title), ...nodes);
}

// A heading of a column ("col") or row ("row") of a table, from its text.
function heading(scope, className = "") {
  return (text) => element("th", { scope, className }, text);
}

// A node in each of n rows and m columns; boxes, where a cell is only read.
function grid(n, m, cell = () => box("attn-cell")) {
  return Array.from({ length: n }, (_, i) => Array.from({ length: m }, (_, j) => cell(i, j)));
}

// A table of a grid of cells, with headings of its columns and rows and a caption where these are given; the caption's
// text may be set later.
function tableOf({ className = "attn-pattern", title, columns = [], rows = [], cells }) {
  const table = element("table", { className: `attn-table ${className}` });
  const above = element("caption", {}, ...typeset(title ?? ""));
  if (title !== undefined) table.append(above);
  const corner = columns.length === cells[0].length ? [element("td")] : [];
  if (columns.length) table.append(element("thead", {}, element("tr", {}, ...corner, ...columns)));
  const lines = cells.map((row, i) =>
    element("tr", {}, ...rows.slice(i, i + 1), ...row.map((cell) => element("td", {}, cell))));
  table.append(element("tbody", {}, ...lines));
  moveByArrows(table);
  return { table, caption: above, lines };
}

// Heads as windows to press: a column for each layer where there is room, and else a row, which looks as `flat` says.
function mapTable(title, byLayer, flat = "") {
  const across = byLayer.length > byLayer[0].length && matchMedia("(min-width: 600px)").matches; // the way that is lower
  const layers = byLayer.map((_, layer) => String(layer + 1)), numbers = byLayer[0].map((_, i) => String(i + 1));
  return tableOf({
    className: across ? "attn-maps" : `attn-maps ${flat}`,
    title: `${title}, a ${across ? "column" : "row"} for each layer: choose one`,
    columns: (across ? layers : numbers).map(heading("col")), rows: (across ? numbers : layers).map(heading("row")),
    cells: across ? numbers.map((_, i) => byLayer.map((row) => row[i])) : byLayer,
  }).table;
}

// Numbers in a grid of cells, shaded by a share of which no more than 1 is seen.
function fill(cells, numbers, share) {
  cells.forEach((row, i) => row.forEach((cell, j) => {
    cell.textContent = format(numbers[i][j]);
    cell.style.setProperty("--attn-w", Math.min(1, share(numbers[i][j])));
  }));
}

// A box that scrolls by the keyboard; a table of buttons, which does so as one moves in it, needs no label.
function scrolling(label, table) {
  return element("div", { className: "attn-scroll", role: "group", tabIndex: 0, "aria-label": label }, table);
}

// One tab stop for a table of buttons: arrow keys, Home and End move inside it.
function moveByArrows(table) {
  const rows = () => [...table.rows].map((row) => [...row.querySelectorAll("button")]).filter((row) => row.length);
  const first = rows()[0]?.[0];
  rows().flat().forEach((cell) => (cell.tabIndex = cell === first ? 0 : -1));
  table.addEventListener("keydown", (event) => {
    const now = rows();
    const y = now.findIndex((row) => row.includes(event.target));
    if (y < 0) return;
    const x = now[y].indexOf(event.target);
    const goal = {
      ArrowUp: [y - 1, x], ArrowDown: [y + 1, x], ArrowLeft: [y, x - 1], ArrowRight: [y, x + 1],
      Home: [y, 0], End: [y, now[y].length - 1],
    }[event.key];
    if (!goal) return;
    event.preventDefault();
    now[goal[0]]?.[goal[1]]?.focus();
  });
  table.addEventListener("focusin", (event) => {
    if (event.target.tagName !== "BUTTON") return;
    rows().flat().forEach((cell) => (cell.tabIndex = cell === event.target ? 0 : -1));
  });
}

// A line that reports what the hovered, focused or pressed thing means; `retell` does so again after a change. Spoken
// once it has been quiet for a moment.
function reporter() {
  const line = element("p", { className: "attn-detail", "aria-live": "polite" });
  let meaning = () => "", told = "";
  const retell = () => {
    const text = meaning();
    if (told !== text) line.replaceChildren(...typeset((told = text)));
  };
  const mean = (text) => {
    meaning = text;
    retell();
  };
  const tell = (text) => mean(() => text);
  const explain = (node, text) =>
    ["pointerenter", "focus", "click"].forEach((name) => node.addEventListener(name, () => mean(text)));
  return { line, tell, explain, retell };
}

// A button that brings what is too heavy to come with the page. `bring` is given a function that takes the share that is
// there, and what `start` was given, if that and not the button was used; `onReady` is called once all is there.
function invitation({ label, what, kind = "attn-load", bring, onReady }) {
  const progress = element("progress", { max: 1, value: 0, hidden: true, "aria-label": `How much of the ${what} is there` });
  const said = element("span", { className: "attn-waiting", role: "status" });
  const start = async (given = null) => {
    if (press.disabled) return; // it is on the way
    press.disabled = true;
    progress.hidden = false;
    said.textContent = `The ${what}: on the way.`;
    try {
      await bring((share) => (progress.value = share), given);
      onReady();
    } catch ({ message = "Beside the pages of the book, the folder _static should hold what is missing." }) {
      press.disabled = false;
      progress.hidden = true;
      said.textContent = `The ${what} did not come. ${message}`;
    }
  };
  const press = button(`attn-button ${kind}`, label, () => start());
  return { row: box("attn-controls", press, progress, said), start };
}

const VISIBLE = /[^\p{Cc}\p{Default_Ignorable_Code_Point}]/u;

// A field for the words of the figure or the reader's own; onWords gets between `fewest` and `most` of them, and may
// return a sentence that says why it refuses them.
function wordField({ words, fewest = 2, most, note = "", onWords }) {
  const range = `${fewest} to ${most}`;
  const input = control("text", { spellcheck: false, value: words.join(" ") });
  const problem = element("span", { className: "attn-problem", role: "status" });
  const row = element("form", { className: "attn-words" },
    element("label", {}, element("span", {}, `Your own words (${range}${note})`), input),
    element("button", { type: "submit", className: "attn-button" }, "Use them"), problem);
  row.addEventListener("submit", (event) => {
    event.preventDefault();
    const own = input.value.split(/\s+/).filter((word) => VISIBLE.test(word));
    const fits = own.length >= fewest && own.length <= most;
    const given = `${own.length} ${own.length === 1 ? "word" : "words"} given`;
    problem.textContent = fits ? onWords(own) ?? "" : `${given}; this figure takes ${range}.`;
  });
  return row;
}

// How wide a drawing is in its own units, so that one of them is about a pixel: one layout for telephones, one for more.
function sceneWidth() {
  return matchMedia("(max-width: 480px)").matches ? 340 : 640;
}

// The root of an explorable. Keys stay inside, as JupyterLab would take the arrow keys for itself, but Shift+Enter goes on
// to the next cell.
function figureRoot(el, label) {
  const root = element("div", { className: "attn-explorable", role: "group", "aria-label": label });
  root.addEventListener("keydown", (event) => (event.shiftKey && event.key === "Enter") || event.stopPropagation());
  // Firefox scrolls to the top of a drawing when a part of it gets the focus, and not to the part.
  root.addEventListener("focusin", ({ target }) =>
    target instanceof SVGElement && target.matches(":focus-visible") && target.firstElementChild?.scrollIntoView({ block: "nearest" }));
  el.replaceChildren(root);
  return root;
}

// Call `update` once now and once after each change, wherever it comes from; returns the clean-up. Several values that
// change together are drawn once, when all of them have arrived.
function follow(model, names, update) {
  let waiting = false, over = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(() => {
      waiting = false;
      if (!over) update();
    });
  };
  names.forEach((name) => model.on(`change:${name}`, soon));
  update();
  return () => {
    over = true;
    names.forEach((name) => model.off(`change:${name}`, soon));
  };
}

// Do what draws a figure anew. What was unfolded stays so, and the keyboard where it was: at the control that has the same
// place among its kind.
function keepingFocus(root, work) {
  const held = root.querySelector(":focus");
  const alike = () => [...root.querySelectorAll(held.tagName)].filter((node) =>
    node.type === held.type && node.classList[0] === held.classList[0]);
  const place = held && alike().indexOf(held);
  const folds = () => [...root.querySelectorAll("details")];
  const open = folds().map((fold) => fold.open);
  const result = work();
  folds().forEach((fold, i) => (fold.open = Boolean(open[i])));
  if (held) alike()[Math.min(place, alike().length - 1)]?.focus({ preventScroll: true });
  return result;
}

// A button that copies an address of this page with what the reader made; a page that is opened by such an address begins
// with it: `open` is given that, and returns false where it does not fit. A notebook has no address to send, and no button.
function sending(means, key, names, open) {
  const { read, load } = means;
  if (!load) return [];
  const send = button("attn-button", "Send this", async () => {
    const made = encodeURIComponent(JSON.stringify(names.map((name) => read()[name])));
    history.replaceState(null, "", `#${key}=${made}`);
    try {
      await navigator.clipboard.writeText(location.href);
      send.textContent = "Its address is copied";
    } catch {
      send.textContent = "The page's address has it now"; // from a folder, a browser lets nobody copy
    }
  });
  means.openSent = open; // of what is drawn now
  const arrive = () => {
    if (!location.hash.startsWith(`#${key}=`)) return;
    try {
      const given = JSON.parse(decodeURIComponent(location.hash.slice(key.length + 2)));
      const state = Object.fromEntries(names.map((name, i) => [name, given[i]]));
      requestAnimationFrame(() => means.openSent(state) !== false && means.root.scrollIntoView()); // once it is drawn
    } catch { /* what is not of this kind is another address */ }
  };
  if (!means.arrives) {
    arrive();
    addEventListener("hashchange", arrive);
  }
  means.arrives = true;
  return [send];
}

// Begin once what moves by itself, when it is seen, and never for a reader who asked for less motion.
function onceSeen(node, begin) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  new IntersectionObserver(([{ isIntersecting }], observer) => {
    if (!isIntersecting) return;
    observer.disconnect();
    begin();
  }, { threshold: 0.6 }).observe(node);
}

// Whether two values of a state say the same; most are the same object.
function alike(one, other) {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

// The life of a figure, as anywidget and mount.js start it, whose model says by `shown` what its state is called. `build` is given the tools to draw, to report, and to read and change the state; it returns what shows a state
// in what it drew, beside the state before the reader's last move (null where that changed nothing), whose ghost may stay.
// It is called again when something has changed that is `fixed` there. A page of the book gives `addressOf` by chapter, and `load`.
function figure({ label, fixed = () => [], build }) {
  return ({ model, el, addressOf = () => null, load = null }) => {
    const root = figureRoot(el, label), names = model.get("shown");
    const draw = (...nodes) => root.replaceChildren(...nodes);
    const read = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
    const change = (values) => {
      Object.entries(values).forEach(([name, value]) => model.set(name, value));
      model.save_changes();
    };
    const start = read();
    let drawn, update, before = null;
    ["pointerdown", "keydown"].forEach((name) => root.addEventListener(name, () => (before = read()), true));
    const show = () => {
      const state = read();
      const now = JSON.stringify(fixed(state));
      if (now !== drawn) {
        update = keepingFocus(root, () => build(tools));
        before = null;
      }
      drawn = now;
      const moved = before && names.some((name) => !alike(before[name], state[name]));
      update(state, moved ? before : null);
      tools.retell();
    };
    const reset = button("attn-button", "Start again", () => {
      drawn = null; // what was typed and refused goes as well
      if (load && location.hash.includes("=")) history.replaceState(null, "", location.href.split("#")[0]);
      change(start);
      show();
    });
    const tools = { root, start, read, change, reset, draw, addressOf, model, load, ...reporter() };
    return follow(model, names, show);
  };
}

export {
  alike, arcs, barRow, box, button, bytesOf, caption, choice, chooser, control, cosine, dot, dotInWords,
  drawing, drawnArrow, element, factor, figure, figureRoot, fill, folded, follow, format, gliding, grid, grouped,
  handle, heading, invitation, keepingFocus, largest, lettering, likeliest, mapTable, movingScene, onceSeen, planeArrow,
  pressable, put, sceneWidth, scrolling, sending, sentence, slice, slider, smallMap, softmax, sum, tableOf, tween, twoPlaces,
  typeset, visible, wordField,
};
