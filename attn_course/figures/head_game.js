// Name that head. One pattern of one head on one sentence; the reader says what the head does, and sees what it does on
// average in many sentences. After ten heads, a line to send.

import {
  barRow, box, button, caption, drawing, element, figure, format, put, sceneWidth, sending, smallMap,
} from "./common.js";
import { patternsOf } from "./windows.js";

const ANSWERS = {
  first: "rests on the first token, whatever comes", before: "looks at the token before",
  again: "goes back where a word comes again, to it or to what followed it", none: "does none of the three",
};
const SHARES = ["the first token", "the token before", "the word again"];
const A_ROUND = 10;

// What a reader can send of a round: a square for each head, dark where it was known.
function lineOf(known) {
  const squares = known.map((right) => (right ? "■" : "□")).join("");
  return `Name that head: ${known.filter(Boolean).length} of ${known.length} heads of SmolLM2. ${squares}`;
}

// A pattern with its words: those that ask at the left, those that are looked at below.
function patternOf() {
  const { picture, show } = smallMap(8);
  const words = drawing("g"), scene = drawing("svg", { class: "attn-scene attn-large-map", role: "img" }, words, picture);
  const set = (rows, tokens) => {
    const side = Math.min(320, sceneWidth() - 110), cell = side / tokens.length, size = Math.min(14, 0.85 * cell);
    const text = (i, place) => drawing("text", { "font-size": size, "text-anchor": "end", ...place }, tokens[i].trim() || "␣");
    const below = 20 + 0.55 * size * Math.max(...tokens.map((token) => token.length));
    put(scene, { viewBox: `0 0 ${side + 100} ${side + below}`, "aria-label": "The pattern of a head: a row for each token that asks, a column for each that it may look at." });
    put(picture, { x: 96, y: 4, width: side, height: side });
    words.replaceChildren(drawing("rect", { x: 96, y: 4, width: side, height: side, class: "attn-frame" }),
      ...tokens.flatMap((_, i) => {
        const x = 96 + (i + 0.5) * cell, y = side + 12;
        return [text(i, { x: 90, y: 4 + (i + 0.5) * cell + size / 3 }), text(i, { x, y, transform: `rotate(-60 ${x} ${y})` })];
      }));
    show(rows);
  };
  return { scene, set };
}

function build(means) {
  const { read, change, reset, draw, line, tell } = means;
  const { cases, levels, n_sentences: nSentences } = read();
  const nRounds = cases.length / A_ROUND;
  const open = ({ round }) => Number.isInteger(round) && round >= 0 && round < nRounds && change({ round, said: [], seen: 0 });
  const pattern = patternOf(), sentence = caption(""), squares = element("p", { className: "attn-squares", "aria-hidden": "true" });
  const answers = Object.entries(ANSWERS).map(([kind, told]) => {
    const press = button("attn-button", `It ${told}`, () => {
      const { said, seen } = read();
      if (said.length === seen) change({ said: [...said, kind] });
    });
    return { kind, told, press };
  });
  const asked = box("attn-controls", ...answers.map(({ press }) => press));
  const bars = SHARES.map((told) => barRow("attn-nexts", element("span", {}, told)));
  const found = box("attn-bars", ...bars.map((bar) => bar.row),
    caption(`A bar is its mean weight in ${nSentences} sentences, the mark that in this one. The third is of words that come again.`));
  const next = button("attn-button", "Next head", () => change({ seen: read().said.length }));
  const again = button("attn-button", "Ten others", () => change({ round: (read().round + 1) % nRounds, said: [], seen: 0 }));
  const result = element("p", { className: "attn-step-title" }), list = element("ol");
  const atTheEnd = [result, list, again, ...sending(means, "heads", ["round"], open)];
  const one = box("attn-game", pattern.scene, box("", sentence, asked, next, found));
  draw(squares, line, one, result, list, box("attn-controls", ...atTheEnd.slice(2), reset));

  return ({ round, said, seen }) => {
    const heads = cases.slice(A_ROUND * round, A_ROUND * (round + 1)), known = said.map((kind, i) => kind === heads[i].kind);
    const isOver = seen === A_ROUND, isSaid = said.length > seen, now = heads[Math.min(seen, A_ROUND - 1)];
    squares.textContent = heads.map((_, i) => (known[i] === undefined ? "·" : known[i] ? "■" : "□")).join(" ");
    one.hidden = isOver;
    atTheEnd.forEach((node) => (node.hidden = !isOver));
    result.textContent = isOver ? lineOf(known) : "";
    pattern.set(patternsOf(now, levels, 1)[0], now.tokens);
    sentence.textContent = `A row asks, a column is looked at: “${now.tokens.join("")}”`;
    answers.forEach(({ kind, told, press }) => {
      press.textContent = `${isSaid && kind === now.kind ? "✓ " : isSaid && kind === said[seen] ? "✗ " : ""}It ${told}`;
      press.setAttribute("aria-disabled", isSaid); // and the keyboard stays where it is
    });
    list.replaceChildren(...(isOver ? heads.map(({ head, kind }, i) =>
      element("li", {}, `${head} ${ANSWERS[kind]}${known[i] ? "" : `; you said: it ${ANSWERS[said[i]]}`}.`)) : []));
    found.hidden = next.hidden = !isSaid;
    next.textContent = seen + 1 === A_ROUND ? "See all ten" : "Next head";
    bars.forEach((bar, i) => {
      bar.set(now.mean[i], `${format(now.mean[i])}, here ${format(now.here[i])}`);
      bar.showBefore(now.here[i]);
    });
    tell(isOver ? "The line below is yours to send. Whoever gives the same answer ten times knows two or three." : isSaid
      ? `${known[seen] ? "Yes" : "No"}. In ${nSentences} sentences head ${now.head} ${ANSWERS[now.kind]}.`
      : `Head ${seen + 1} of ${A_ROUND}. What does it do, in this sentence and in others?`);
  };
}

export default { render: figure({ label: "Name that head", build }) };
