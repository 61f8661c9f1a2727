// What the explorables share: placed in front of each one's own source, in the book and in the widget alike.

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

const SVG = "http://www.w3.org/2000/svg";

function drawing(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function format(number, digits = 2) {
  if (number === -Infinity) return "−∞";
  const text = number.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text.replace("-", "−");
}

// A number as a factor in a sum: a negative one in brackets.
function factor(number) {
  return number < 0 ? `(${format(number)})` : format(number);
}

function dot(a, b) {
  return a.reduce((sum, entry, i) => sum + entry * b[i], 0);
}

function dotInWords(a, b) {
  return a.map((entry, i) => `${factor(entry)} × ${factor(b[i])}`).join(" + ");
}

// As attn.softmax: the maximum is subtracted, and a row of nothing but -Infinity gives zeros.
function softmax(scores) {
  const top = Math.max(...scores);
  if (top === -Infinity) return scores.map(() => 0);
  const powers = scores.map((score) => Math.exp(score - top));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

// The names of entries: q₁, q₂, …
function indexed(letter, i) {
  return letter + String(i + 1).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]);
}

// A slider with its label and its value; `set(value)` shows a value that came from elsewhere.
function slider({ label, min, max, step = 0.01, className = "", show = format, onInput }) {
  const input = element("input", { type: "range", min, max, step });
  const value = element("output", { className: "attn-value" });
  input.addEventListener("input", () => onInput(Number(input.value)));
  const row = element("label", { className: `attn-slider ${className}` }, element("span", {}, label), input, value);
  const set = (number) => {
    input.value = number;
    value.textContent = show(number);
    input.setAttribute("aria-valuetext", show(number));
  };
  return { row, set };
}

// A bar for a weight and its number; `set(weight)` shows it.
function weightBar() {
  const bar = element("span", { className: "attn-bar" });
  const value = element("output", { className: "attn-value" });
  const set = (weight) => {
    bar.style.setProperty("--attn-w", weight);
    value.textContent = format(weight, 3);
  };
  return { bar, value, set };
}

// A row with the name of a key and the bar of its weight.
function keyBar(name) {
  const { bar, value, set } = weightBar();
  const row = element("div", { className: "attn-weighted" }, element("span", { className: "attn-key" }, name), bar, value);
  return { row, set };
}

// A row with a name, a bar and room for a long number.
function countedRow(name) {
  const bar = element("span", { className: "attn-bar" });
  const value = element("output", { className: "attn-value" });
  return { bar, value, row: element("div", { className: "attn-counted" }, element("span", {}, name), bar, value) };
}

// A plane for vectors of two entries; it shows -PLANE_REACH to PLANE_REACH on both axes.
const PLANE_REACH = 3;
const PLANE_SIZE = 320;

function toPixels([x, y]) {
  const unit = PLANE_SIZE / (2 * PLANE_REACH);
  return [PLANE_SIZE / 2 + x * unit, PLANE_SIZE / 2 - y * unit];
}

function emptyPlane(label) {
  const plane = drawing("svg", { viewBox: `0 0 ${PLANE_SIZE} ${PLANE_SIZE}`, class: "attn-plane", role: "img", "aria-label": label });
  for (let i = -PLANE_REACH + 1; i < PLANE_REACH; i++) {
    const [at] = toPixels([i, 0]);
    const kind = i === 0 ? "attn-axis" : "attn-grid";
    plane.append(drawing("line", { x1: at, y1: 0, x2: at, y2: PLANE_SIZE, class: kind }),
      drawing("line", { x1: 0, y1: PLANE_SIZE - at, x2: PLANE_SIZE, y2: PLANE_SIZE - at, class: kind }));
    if (i === 0) continue;
    plane.append(drawing("text", { x: at, y: PLANE_SIZE / 2 + 14, class: "attn-tick", "text-anchor": "middle" }, format(i, 0)),
      drawing("text", { x: PLANE_SIZE / 2 - 5, y: PLANE_SIZE - at + 4, class: "attn-tick", "text-anchor": "end" }, format(i, 0)));
  }
  return plane;
}

// An arrow in the plane; `set(from, to)` moves it, and one that is hardly longer than a dot is not drawn.
function planeArrow(className) {
  const shaft = drawing("line", { class: "attn-shaft" });
  const head = drawing("path", { class: "attn-tip", d: "M0,0 L-11,-6 L-11,6 Z" });
  const group = drawing("g", { class: className }, shaft, head);
  const set = (from, to) => {
    const [x0, y0] = toPixels(from);
    const [x1, y1] = toPixels(to);
    group.setAttribute("visibility", Math.hypot(x1 - x0, y1 - y0) < 4 ? "hidden" : "visible");
    Object.entries({ x1: x0, y1: y0, x2: x1, y2: y1 }).forEach(([name, value]) => shaft.setAttribute(name, value));
    head.setAttribute("transform", `translate(${x1},${y1}) rotate(${(Math.atan2(y1 - y0, x1 - x0) * 180) / Math.PI})`);
  };
  return { group, set };
}

// One choice of several as native radio buttons; `set(i)` marks choice i.
function choice({ legend, labels, onChoose }) {
  const name = `attn-${Math.random().toString(36).slice(2)}`; // radio buttons are grouped by name, page-wide
  const inputs = labels.map((_, i) => {
    const input = element("input", { type: "radio", name, value: i });
    input.addEventListener("change", () => onChoose(i));
    return input;
  });
  const row = element("fieldset", { className: "attn-choice" }, element("legend", {}, legend));
  inputs.forEach((input, i) => row.append(element("label", {}, input, element("span", {}, labels[i]))));
  const set = (chosen) => inputs.forEach((input, i) => (input.checked = i === chosen));
  return { row, set };
}

// One tab stop for a table of buttons: arrow keys, Home and End move inside it.
function moveByArrows(table) {
  const rows = () => [...table.rows].map((row) => [...row.querySelectorAll("button")]).filter((row) => row.length);
  const first = rows()[0]?.[0];
  rows().flat().forEach((button) => (button.tabIndex = button === first ? 0 : -1));
  table.addEventListener("keydown", (event) => {
    const grid = rows();
    const y = grid.findIndex((row) => row.includes(event.target));
    if (y < 0) return;
    const x = grid[y].indexOf(event.target);
    const goal = {
      ArrowUp: [y - 1, x], ArrowDown: [y + 1, x], ArrowLeft: [y, x - 1], ArrowRight: [y, x + 1],
      Home: [y, 0], End: [y, grid[y].length - 1],
    }[event.key];
    const button = goal && grid[goal[0]]?.[goal[1]];
    if (!goal) return;
    event.preventDefault();
    if (button) button.focus();
  });
  table.addEventListener("focusin", (event) => {
    if (event.target.tagName !== "BUTTON") return;
    rows().flat().forEach((button) => (button.tabIndex = button === event.target ? 0 : -1));
  });
}

// A line that reports what the hovered or focused thing means. Spoken once it has been quiet for a moment.
function reporter() {
  const line = element("p", { className: "attn-detail", "aria-live": "polite" });
  const tell = (text) => {
    if (line.textContent !== text) line.textContent = text;
  };
  const explain = (node, text) => {
    node.addEventListener("pointerenter", () => tell(text()));
    node.addEventListener("focus", () => tell(text()));
  };
  return { line, tell, explain };
}

// The words a reader typed, or a sentence that says why they cannot be used.
function readWords(text, fewest, most) {
  const words = text.trim().split(/\s+/).filter(Boolean);
  if (words.length < fewest || words.length > most) {
    return { error: `${words.length} ${words.length === 1 ? "word" : "words"} given; this figure takes ${range(fewest, most)}.` };
  }
  return { words };
}

function range(fewest, most) {
  return fewest === most ? String(most) : `${fewest} to ${most}`;
}

// A field for the reader's own words; onWords gets between `fewest` and `most` of them.
function wordField({ fewest = 2, most, note = "", onWords }) {
  const input = element("input", { type: "text", autocomplete: "off", spellcheck: false });
  const problem = element("span", { className: "attn-problem", role: "status" });
  const row = element("form", { className: "attn-words" },
    element("label", {}, element("span", {}, `Your own words (${range(fewest, most)}${note})`), input),
    element("button", { type: "submit", className: "attn-button" }, "Use them"), problem);
  row.addEventListener("submit", (event) => {
    event.preventDefault();
    const { words, error } = readWords(input.value, fewest, most);
    problem.textContent = error ?? "";
    if (words) onWords(words);
  });
  return { row, set: (words) => (input.value = words.join(" ")) };
}

// Numbers between 0 and 1 that depend on a word's letters alone, so that the same word always gets the same ones.
function madeUpNumbers(word, count) {
  let state = 2166136261;
  for (const letter of word) state = Math.imul(state ^ letter.codePointAt(0), 16777619);
  return Array.from({ length: count }, () => {
    state = Math.imul(state ^ (state >>> 15), 2246822519) + 374761393;
    return Math.round(((state >>> 8) / 2 ** 24) * 100) / 100;
  });
}

// The root of an explorable. Keys stay inside: JupyterLab would take the arrow keys for itself.
function figureRoot(el, label) {
  const root = element("div", { className: "attn-explorable", role: "group", "aria-label": label });
  root.addEventListener("keydown", (event) => event.stopPropagation());
  el.replaceChildren(root);
  return root;
}

// Keep the figure in step with its state, wherever a change comes from; returns the clean-up. Several values that
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

function readState(model, names) {
  return Object.fromEntries(names.map((name) => [name, model.get(name)]));
}

function change(model, values) {
  Object.entries(values).forEach(([name, value]) => model.set(name, value));
  model.save_changes();
}

// A button that brings the figure back to the state it started with.
function resetButton(model, start) {
  const button = element("button", { type: "button", className: "attn-button" }, "Start again");
  button.addEventListener("click", () => change(model, start));
  return button;
}
