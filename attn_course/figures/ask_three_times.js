// Three heads ask the same words, each with a query and keys of its own; what they receive is added to the word.

import { box, drawing, element, figure, gliding, planeArrow, put } from "./common.js";
import { ask, askPicture, pair, percent, scene } from "./ask.js";

const HEAD = 220; // how wide the picture of a head is
const SUM = { height: 176, unit: 52, origin: [146, 135] }; // the picture in which the outputs are added
const PLAIN = { temperature: 1, d_k: 2, scaled: true };

// What each head takes, and where their outputs, one after the other, bring the word.
function askAll({ E, Q, K, V }) {
  const found = Q.map((q, h) => ask({ q, K: K[h], V: V[h], ...PLAIN }));
  const stops = found.reduce((way, { output }) => [...way, way.at(-1).map((entry, d) => entry + output[d])], [E]);
  return { found, stops };
}

// Where the name of an arrow stands: to the left of its middle, as one goes along it, and inside the picture. Beside a very
// short arrow there is none.
function beside([x0, y0], [x1, y1], name) {
  const length = Math.hypot(x1 - x0, y1 - y0) || 1, half = 4.2 * name.length;
  const [u, v] = [(y1 - y0) / length, (x0 - x1) / length];
  const x = (x0 + x1) / 2 + 10 * u + (u > 0.5 ? half : u < -0.5 ? -half : 0);
  return {
    x: Math.max(half + 2, Math.min(HEAD - half - 2, x)), y: (y0 + y1) / 2 + 12 * v + 5, "text-anchor": "middle",
    visibility: length < 14 ? "hidden" : "visible",
  };
}

function build({ read, change, reset, line: said, tell, draw }) {
  const { tokens, asker, heads, Q, K } = read();
  const asks = heads.map((_, h) => askPicture(
    { tokens, asker: `${asker} in head ${heads[h]}`, K: K[h] }, () => ({ q: read().Q[h] }), (q) => change({ Q: read().Q.with(h, q) }), HEAD));
  const place = ([x, y]) => [SUM.origin[0] + x * SUM.unit, SUM.origin[1] - y * SUM.unit];
  const whole = scene(HEAD, SUM.height, `The outputs of the heads ${heads.join(", ")}, added to ${asker} one after the other.`);
  const word = planeArrow("attn-own-arrow", place), arrows = heads.map(() => planeArrow("attn-value-arrow", place));
  const old = arrows.map(() => planeArrow("attn-value-arrow attn-ghost", place));
  const labels = heads.map((head) => drawing("text", { class: "attn-value-label" }, head));
  const own = drawing("text", {}, asker);
  whole.append(word.group, ...old.map((arrow) => arrow.group), ...arrows.map((arrow) => arrow.group), own, ...labels);
  const shares = heads.map(() => element("p", { className: "attn-head" }));

  const askPanels = heads.map((head, h) => box("attn-panel",
    element("p", { className: "attn-panel-title" }, element("b", { className: "attn-role-query" }, head)),
    asks[h].picture, shares[h]));
  const sumPanel = box("attn-panel attn-sum-of-heads",
    element("p", { className: "attn-panel-title" }, `What they receive, added to “${asker}”`), whole);
  draw(box("attn-heads-ask", ...askPanels, sumPanel), said, reset);

  const show = (state, before, numbers) => {
    const now = { ...state, Q: Q.map((_, h) => numbers.slice(2 * h, 2 * h + 2)) };
    const { found, stops } = askAll(now);
    const earlier = before && askAll(before).stops;
    asks.forEach((one, h) => one.set({ ...PLAIN, q: now.Q[h] }, found[h], before && { q: before.Q[h] }));
    word.set([0, 0], state.E);
    arrows.forEach((arrow, h) => {
      arrow.set(stops[h], stops[h + 1]);
      old[h].set(...(earlier ? [earlier[h], earlier[h + 1]] : [[0, 0], [0, 0]]));
      put(labels[h], beside(place(stops[h]), place(stops[h + 1]), heads[h]));
    });
    put(own, beside(place([0, 0]), place(state.E), asker));
  };
  let latest, earlier;
  const glide = gliding((numbers) => show(latest, earlier, numbers));

  return (state, before) => {
    [latest, earlier] = [state, before];
    const { found, stops } = askAll(state);
    glide(state.Q.flat(), asks.some((one) => one.held()));
    found.forEach(({ weights }, h) => {
      shares[h].textContent = tokens.map((token, j) => `${token} ${percent(weights[j])}`).join(", ");
    });
    const written = found.map(({ output }, h) => `${heads[h]} ${pair(output)}`).join(", ");
    tell(`The heads write ${written}. Added to ${pair(state.E)}, that makes ${pair(stops.at(-1))}.`);
  };
}

const render = figure({
  label: "Ask, three times", build,
  fixed: ({ tokens, asker, heads, K }) => [tokens, asker, heads, K],
});

export default { render, askAll };
