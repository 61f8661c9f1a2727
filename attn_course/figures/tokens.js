// What the two readers share: a text as tokens that are pressed, bars of what comes next, a text of the reader's own, and
// what is done to heads.

import { barRow, box, button, element, format, keepingFocus, visible } from "./common.js";

const LISTS = ["off", "itself", "exchanged"]; // of heads in the state, by what is done to them
const quoted = (word) => `“${visible(word)}”`;

// The lists after something is done to a head; what is none of them undoes it.
function doing(state, head, what) {
  return Object.fromEntries(LISTS.map((list) =>
    [list, [...state[list].filter((other) => other !== head), ...(list === what ? [head] : [])].sort()]));
}

// A field for a text of the reader's own; `problem` tells why it cannot be read.
function ownText(label, rows, onText) {
  const problem = element("span", { className: "attn-problem", role: "status" });
  const field = element("textarea", { rows, autocomplete: "off", spellcheck: false });
  const form = element("form", { className: "attn-words attn-own" },
    element("label", {}, element("span", {}, label), field),
    element("button", { type: "submit", className: "attn-button" }, "Read it"), problem);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    onText(field.value);
  });
  return { form, field, problem };
}

// The tokens of a text, of which one asks: `told(i)` says what is explained of token i, `onChoose` lets it ask. `show` colours
// them by the weights that they get, or by the nats that each but the first has cost.
function tokenStrip({ explain, told, onChoose }) {
  const strip = element("div", { className: "attn-tokens", role: "group", "aria-label": "The tokens: choose the one that asks" });
  const one = (word, i) => {
    const node = element("button", { type: "button", className: "attn-token" }, visible(word));
    explain(node, () => told(i));
    node.addEventListener("click", () => onChoose(i)); // behind `explain`: what all heads do is told last
    return node;
  };
  const show = ({ words, asks, colour, weights = [], lost }) => {
    const nodes = () => [...strip.children];
    if (nodes().length !== words.length || nodes().some((node, i) => node.textContent !== visible(words[i]))) {
      keepingFocus(strip, () => strip.replaceChildren(...words.map(one)));
    }
    strip.classList.toggle("attn-surprising", colour === "surprise");
    nodes().forEach((node, i) => {
      node.style.setProperty("--attn-w", colour === "weights" ? weights[i] ?? 0 : i ? Math.min(1, lost[i - 1] / 12) : 0);
      node.setAttribute("aria-pressed", i === asks);
    });
  };
  return { strip, show };
}

// The likeliest next tokens, the nth of which goes on with the text. `show` is given of each its word, its share, and what
// that was before something was done to heads, or null.
function nextBars(count, onPress) {
  const bars = Array.from({ length: count }, (_, n) => {
    const press = button("attn-next", "", () => onPress(n));
    return { press, ...barRow("attn-nexts", press) };
  });
  const following = box("attn-following", ...bars.map((bar) => bar.row));
  const show = (found) => {
    found.forEach(([word, share, was], i) => {
      bars[i].press.textContent = visible(word);
      bars[i].set(share, was === null ? format(share, 3) : `${format(share, 3)}, was ${format(was, 3)}`);
      bars[i].showBefore(was);
    });
    following.classList.toggle("attn-compared", found[0][2] !== null);
  };
  return { following, bars, show };
}

// A reader before its model is there, and after: `alive` draws it, and `ask` what brings the model and then calls `start`.
function onceThere({ read, draw }, isThere, alive, ask) {
  let update = null;
  const start = () => {
    update = alive();
    update(read());
  };
  if (isThere) start();
  else draw(element("p", { className: "attn-unread" }, `${[read().texts[0]].flat()[0]} …`), ...ask(start));
  return (state) => update?.(state);
}

export { doing, LISTS, nextBars, onceThere, ownText, quoted, tokenStrip };
