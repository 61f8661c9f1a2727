// One sentence with a wire in it. The reader pulls a plug over the heads of SmolLM2; the head on which it rests hands over,
// at the last word of the first sentence, what it mixes in the second. All answers were measured before.

import {
  barRow, box, button, caption, drawing, element, figure, format, gliding, handle, largest, put, sceneWidth, sending,
} from "./common.js";
import { headOf, placeOf, waysOf } from "./windows.js";

const [LAYERS, PER_LAYER] = [30, 9];
const [PITCH, EDGE] = [21, 20]; // from head to head, and around them

// How likely the own capital and the other one are with a head's wire, or with none.
function likely(pair, head) {
  return head ? [pair.own[placeOf(head)], pair.other[placeOf(head)]] : pair["as it is"];
}

function build(means) {
  const { read, change, reset, line, tell, draw } = means;
  const { wording, capitals, pairs } = read();
  const countries = Object.keys(capitals), [before] = wording.split(" {}"), [, after] = wording.split("{} ");
  const open = (state) => {
    const { one, other, head } = state;
    return `${one}, ${other}` in pairs && (head === "" || (placeOf(head) in dots && headOf(placeOf(head)) === head)) && change(state);
  };
  const seen = new Set(); // the heads that were tried
  const field = (name, label) => {
    const select = element("select", { autocomplete: "off", "aria-label": label }, ...countries.map((one) => element("option", {}, one)));
    select.addEventListener("change", () => {
      const rest = name === "one" ? "other" : "one", taken = read()[rest] === select.value;
      seen.clear();
      change({ [name]: select.value, ...(taken ? { [rest]: read()[name] } : {}) });
    });
    const word = element("strong", { className: "attn-next-word" });
    const row = element("p", { className: "attn-wire-line" }, element("span", {}, `${before} `, select, ` ${after}`), word);
    return { row, set: (country, told) => { select.value = country; word.textContent = told; } };
  };
  const one = field("one", "Country of the first sentence"), other = field("other", "Country of the second sentence");
  const bars = [0, 1].map(() => {
    const name = element("span");
    return { name, ...barRow("attn-nexts", name) };
  });

  const columns = sceneWidth() > 500 ? LAYERS : LAYERS / 2; // on a telephone the second half lies below the first
  const rows = (LAYERS / columns) * (PER_LAYER + 1) - 1;
  const [width, foot] = [2 * EDGE + (columns - 1) * PITCH, 2 * EDGE + rows * PITCH];
  const dotOf = (place) => {
    const layer = Math.floor(place / PER_LAYER), below = Math.floor(layer / columns) * (PER_LAYER + 1);
    return [EDGE + (layer % columns) * PITCH, EDGE + (below + (place % PER_LAYER)) * PITCH];
  };
  const dots = Array.from({ length: LAYERS * PER_LAYER }, (_, place) => {
    const [cx, cy] = dotOf(place);
    return drawing("circle", { cx, cy, r: 4, class: "attn-dot-of-head" });
  });
  const headAt = ([x, y]) => {
    if (y > foot - EDGE) return ""; // below the last row
    const distances = dots.map((_, place) => Math.hypot(dotOf(place)[0] - x, dotOf(place)[1] - y));
    return headOf(distances.indexOf(Math.min(...distances)));
  };
  const wire = drawing("path", { class: "attn-wire" });
  const rest = [0.4 * width, foot - 12];
  const plug = handle({
    label: "The wire",
    onMove: (at) => change({ head: headAt(at) }),
    onStep: ([right, up]) => {
      const { head } = read();
      if (!head) return up > 0 ? change({ head: headOf(15 * PER_LAYER + PER_LAYER - 1) }) : undefined;
      const [x, y] = dotOf(placeOf(head));
      return change({ head: headAt([x + right * PITCH, y - up * PITCH]) });
    },
  }, drawing("circle", { r: 8, class: "attn-grip" }));
  const scene = drawing("svg", {
    viewBox: `0 0 ${width} ${foot}`, class: "attn-scene", role: "group",
    "aria-label": "270 heads as dots, a column for each layer. A wire leads from the second sentence over one of them to the first.",
  }, ...dots, wire, plug.group);
  scene.addEventListener("click", ({ clientX, clientY }) => { // a dot that is pressed
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(scene.getScreenCTM().inverse());
    if (plug.held()) return;
    change({ head: headAt([x, y]) });
    plug.group.focus({ preventScroll: true }); // for the arrow keys
  });
  const show = button("attn-button", "Show me", () => {
    const { one: from, other: to } = read();
    change({ head: headOf(largest(pairs[`${from}, ${to}`].other)) });
  });
  const off = button("attn-button", "Take the wire off", () => change({ head: "" }));
  draw(caption("A dot is a head, a column a layer. Pull the ring over the dots, press one, or use the arrow keys. Dots that you tried stay dark."),
    one.row, scene, other.row, box("attn-bars", ...bars.map((bar) => bar.row)), line,
    box("attn-controls", show, off, ...sending(means, "wire", ["one", "other", "head"], open), reset));

  const roll = gliding((shares) => shares.forEach((share, i) => bars[i].set(share)));
  return (state) => {
    const pair = pairs[`${state.one}, ${state.other}`], back = pairs[`${state.other}, ${state.one}`];
    const shares = likely(pair, state.head), names = [capitals[state.one], capitals[state.other]];
    if (state.head) seen.add(state.head);
    one.set(state.one, names[shares[1] > shares[0] ? 1 : 0]);
    other.set(state.other, names[1]);
    bars.forEach((bar, i) => (bar.name.textContent = names[i]));
    roll(shares);
    const ways = waysOf({
      here: pair["as it is"], there: back["as it is"].toReversed(), found: pair.own.map((own, i) => [own, pair.other[i]]),
    });
    dots.forEach((dot, place) => put(dot, {
      style: `--attn-share: ${seen.has(headOf(place)) ? Math.max(0, Math.min(1, ways[place])).toFixed(3) : 0}`,
      class: `attn-dot-of-head${seen.has(headOf(place)) ? " attn-tried" : ""}`,
    }));
    const at = state.head ? dotOf(placeOf(state.head)) : rest;
    put(wire, { d: `M${rest[0]},${foot}L${at.join()}${state.head ? `L${rest[0]},0` : ""}` });
    const told = state.head ? `${state.head}: ${names[0]} ${format(shares[0], 3)}, ${names[1]} ${format(shares[1], 3)}` : "no head";
    plug.set(at, state.head ? placeOf(state.head) : -1, told);
    const was = pair["as it is"], now = (i) => `“${names[i]}” gets ${format(shares[i], 3)}, and had ${format(was[i], 3)}`;
    tell(state.head ? `Head ${state.head} alone takes its numbers from the second sentence: ${now(0)}; ${now(1)}.${shares[1] > shares[0] ? " This head alone turns the answer." : ""}`
      : "No wire: the model continues the first sentence as it is. Beside each sentence stands the likelier of the two capitals.");
  };
}

export default { render: figure({ label: "One sentence with a wire in it", build }), likely };
