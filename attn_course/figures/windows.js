// What pictures of all heads of a model share: a window for each, in a wall; a sentence with arcs; and what is seen of a head.

import {
  arcs, box, button, drawing, element, folded, format, grid, heading, mapTable, sceneWidth, scrolling, sentence,
  smallMap, sum, tableOf,
} from "./common.js";

const MANY = 0.4; // the least mean weight by which a head is said to do a work
const WORKS = {
  "one back": "the token before", "same word": "the same word before",
  "after the same word": "what came after the same word",
};

// The name of the head at a place, and back, in a model of so many heads in each layer.
const headOf = (place, perLayer = 9) => `L${Math.floor(place / perLayer) + 1}H${(place % perLayer) + 1}`;
const placeOf = (head, perLayer = 9) => {
  const [layer, number] = head.slice(1).split("H").map(Number);
  return (layer - 1) * perLayer + number - 1;
};
// The patterns of so many heads on a sentence, from a letter for each weight, row by row; up to the token that asks where
// none looks ahead.
function patternsOf({ tokens, weights }, levels, nHeads) {
  const n = tokens.length, size = weights.length / nHeads, isFull = size === n * n;
  return Array.from({ length: nHeads }, (_, place) => grid(n, n, (i, j) => (j > i && !isFull ? 0
    : levels.indexOf(weights[place * size + (isFull ? i * n : (i * (i + 1)) / 2) + j]) / (levels.length - 1))));
}
const mean = (numbers) => sum(numbers) / numbers.length;

// What a head gives the first token, on average over the tokens from the third on.
function restOf(rows) {
  return mean(rows.slice(2).map((row) => row[0]));
}

// Where a token's word has come before: [[5, [2]], …].
function repeats(tokens) {
  const words = tokens.map((token) => token.trim().toLowerCase());
  const earlier = words.map((word, i) => words.flatMap((other, j) => (j < i && other === word && /\p{L}/u.test(word) ? [j] : [])));
  return earlier.flatMap((places, i) => (places.length ? [[i, places]] : []));
}

// How much of its weight a head gives to a work, on average over the tokens at which the work can be done.
function workOf(rows, tokens, work) {
  if (work === "one back") return mean(rows.slice(2).map((row, i) => row[i + 1]));
  const shift = work === "same word" ? 0 : 1;
  const places = repeats(tokens).map(([i, js]) => [i, js.map((j) => j + shift).filter((j) => j < i)]).filter(([, js]) => js.length);
  return places.length ? mean(places.map(([i, js]) => sum(js.map((j) => rows[i][j])))) : 0;
}

// By head, how much of the way from one answer to the other it goes, in log-odds, if it hands over what it mixes in the
// other text: `here`, `there` and `found` by head say how likely both answers are.
function waysOf({ here, there, found }) {
  const odds = ([one, other]) => Math.log(other) - Math.log(one);
  return found.map((both) => (odds(both) - odds(here)) / (odds(there) - odds(here)));
}

// A sentence whose words can be pressed, and the arcs from one of them, for as many words as scroll in a narrow page.
function arcsOver(tokens, onChoose) {
  const n = tokens.length, wide = Math.max(sceneWidth(), 46 * n), base = 84;
  const links = arcs(n, [wide, 78], base);
  const ask = sentence({ legend: "Word", labels: tokens.map((token) => token.trim() || "␣"), onChoose });
  const scene = drawing("svg", { viewBox: `0 0 ${wide} ${base + 8}`, class: "attn-scene", "aria-hidden": "true" }, links.group);
  const text = box("attn-wall-text", scene, ask.row);
  text.style.minWidth = `${46 * n}px`;
  const scroll = scrolling("The sentence and where the head looks", text);
  const choose = (i) => {
    ask.set(i);
    const at = ((i + 0.5) * text.clientWidth) / n; // in view, with half of its room
    scroll.scrollLeft = Math.max(at + 30 - scroll.clientWidth, Math.min(at - 30, scroll.scrollLeft));
  };
  return { scroll, row: ask.row, choose, set: links.set };
}

// All heads, a window for each, which is pressed to choose one. A dot in a window says how much, dark for more and orange
// for less.
function wallOf(count, onChoose, perLayer = 9) {
  const places = Array.from({ length: count }, (_, place) => place);
  const windows = places.map((place) => {
    const { picture, show } = smallMap();
    const dot = element("span", { className: "attn-effect" });
    const press = button("attn-map", "", () => onChoose(headOf(place, perLayer)));
    press.append(picture, dot);
    press.style.setProperty("--attn-layer", Math.floor(place / perLayer));
    return { press, dot, show };
  });
  const nLayers = count / perLayer;
  const named = (n, scope) => Array.from({ length: n }, (_, i) => heading(scope)(String(i + 1)));
  const table = mapTable(`All ${count} heads`,
    grid(nLayers, perLayer, (layer, number) => windows[layer * perLayer + number].press), nLayers > perLayer ? "attn-flat" : "");
  const cells = grid(nLayers, perLayer);
  const behind = tableOf({ className: "attn-pattern attn-maps", title: "", columns: named(perLayer, "col"), rows: named(nLayers, "row"), cells });
  // `says` gives what is told of a head, `fades` whether its pattern does, `dot` what its dot says, `touched` whether
  // something is done to it.
  const set = ({ head, numbers: found, title, says, fades = () => false, dot = () => 0, touched = () => false }) => {
    behind.caption.textContent = `A row for each layer, a column for each head: ${title}`;
    windows.forEach(({ press, dot: mark }, place) => {
      const share = dot(place), size = Math.min(1, Math.abs(share)) ** 0.5;
      press.setAttribute("aria-pressed", headOf(place, perLayer) === head);
      press.setAttribute("aria-label", `Head ${headOf(place, perLayer)} ${says(place)}`);
      press.classList.toggle("attn-resting", fades(place));
      press.classList.toggle("attn-guessed", touched(place));
      mark.style.setProperty("--attn-w", size < 0.08 ? 0 : size);
      mark.classList.toggle("attn-minus", share < 0);
      cells[Math.floor(place / perLayer)][place % perLayer].textContent = format(found[place]);
    });
  };
  const draw = (patterns) => windows.forEach(({ show }, place) => show(patterns[place]));
  return { table, draw, numbers: folded("The numbers", scrolling("The numbers of all heads", behind.table)), set };
}

export { arcsOver, headOf, MANY, patternsOf, placeOf, repeats, restOf, wallOf, waysOf, workOf, WORKS };
