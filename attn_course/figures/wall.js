// The wall: all heads of a released model on one sentence, a window each. The reader presses a word, which asks, and a
// window; and chooses what the windows tell: where a head looks, whether it rests, a work one can see, what it is needed
// for, and what it hands over of another sentence.

import {
  barRow, box, button, choice, control, chooser, element, figure, format, largest, likeliest, sending,
} from "./common.js";
import {
  arcsOver, headOf, MANY, patternsOf, placeOf, repeats, restOf, wallOf, waysOf, workOf, WORKS,
} from "./windows.js";

const LOOKS = {
  see: "Look", rest: "Who rests?", work: "Whose work can you see?", matter: "Who matters?", exchange: "Exchange",
};
const NUMBERS = {
  see: "its largest weight from the token that asks", rest: "mean weight on the first token", work: "mean weight on it",
  matter: "nats added with the head off", exchange: "share of the way to the other answer",
};

const SWAP = ["The cat sat on the mat because it was tired.", "The cat sat on the mat because it was soft."];

const signed = (number) => `${number > 0 ? "+" : ""}${format(number)}`;

// A recorded sentence as it is read: the patterns of all heads, and by how many nats each next token costs more with a
// head off.
function reading(record, levels, nHeads = 270) {
  const n = record.tokens.length, patterns = patternsOf(record, levels, nHeads), heads = [...patterns.keys()];
  const middle = (levels.length - 2) / 2; // as recordings/smollm2/wall.py writes them
  const off = (place, j) => {
    const steps = (levels.indexOf(record.off[place * (n - 1) + j - 1]) - middle) / 10;
    return Math.sign(steps) * steps ** 2;
  };
  return { ...record, n, heads, patterns, off };
}

// What was recorded of an exchange, as `waysOf` takes it.
function exchangeOf({ answers, here, there, ...by }) {
  return { here, there, found: by[answers[0]].map((one, place) => [one, by[answers[1]][place]]) };
}

// What a look finds of each head, and whether a head shines.
function found(now, { look, work, token }) {
  if (look === "see") return now.patterns.map((rows) => Math.max(...rows[token]));
  if (look === "rest") return now.patterns.map(restOf);
  if (look === "work") return now.patterns.map((rows) => workOf(rows, now.tokens, work));
  if (look === "matter") return now.heads.map((place) => (token ? now.off(place, token) : 0));
  return waysOf(exchangeOf(now.exchange));
}

function build(means) {
  const { read, change, reset, line, tell, draw, load } = means;
  const { model, per_layer: perLayer, n_heads: nHeads, looks: offered, texts, first, levels, more, sentence: shown } = read();
  const now = reading([first, ...(more ?? [])][shown], levels, nHeads);
  const { tokens, n, heads, patterns } = now;
  const named = (j) => `“${tokens[j].trim()}”`;

  const problem = element("span", { className: "attn-problem", role: "status" });
  let wanted = shown;
  const show = async (i, also = {}) => {
    let others = read().more;
    wanted = i;
    if (i && !others) {
      problem.textContent = "The sentences are on the way.";
      try {
        if (!window.attnWall?.[model]) await load(`wall-${model}.js`);
      } catch {
        if (wanted !== i || !problem.isConnected) return;
        sentences.set(shown);
        problem.textContent = "The sentences did not come. Beside the pages of the book, the folder _static should hold the rest.";
        return;
      }
      others = window.attnWall[model];
    }
    if (wanted !== i || !problem.isConnected) return; // another was chosen meanwhile
    problem.textContent = "";
    const record = [first, ...(others ?? [])][i], last = record.tokens.length - 1;
    const { token = last, look = read().look, ...rest } = also;
    change({
      ...(others ? { more: others } : {}), ...rest, sentence: i, token: Math.min(token, last),
      look: look === "exchange" && !record.exchange ? "see" : look,
    });
  };
  const open = ({ sentence, head, look, work, token }) => texts[sentence] !== undefined && placeOf(head, perLayer) in heads
    && offered.includes(look) && work in WORKS && token >= 0 && show(sentence, { head, look, work, token });
  const sentences = chooser("Sentence", texts, show);
  sentences.set(shown);
  sentences.row.hidden = texts.length === 1;

  const looks = choice({
    legend: "Show", labels: Object.fromEntries(offered.filter((look) => look !== "exchange" || now.exchange).map((look) => [look, LOOKS[look]])),
    onChoose: (look) => change({ look, ...(look === "matter" && !read().token ? { token: n - 1 } : {}) }),
  });
  looks.row.hidden = offered.length === 1;
  const works = choice({ legend: "Heads that look at", labels: WORKS, onChoose: (work) => change({ work }) });
  const told = element("p", { className: "attn-outcome attn-why", role: "status" });
  const bars = (now.exchange?.answers ?? []).map((answer) => barRow("attn-nexts", element("span", {}, answer)));
  const given = box("attn-following attn-compared", ...bars.map((bar) => bar.row));

  const [here, there] = SWAP.map((one) => texts.indexOf(one)), other = { [here]: there, [there]: here }[shown];
  const swap = button("attn-button", "Another last word", () => show(other, { token: Math.min(read().token, n - 1) }));
  swap.hidden = other === undefined || other < 0;
  const hide = control("checkbox", { checked: Boolean(means.hides) }); // and so in the next sentence
  const without = element("label", { className: "attn-without" }, hide, element("span", {}, "without the first word"));
  // All windows; where a word is pointed at, its row stands out in each.
  const seen = (row) => (hide.checked ? [0, ...row.slice(1)] : row);
  const drawWall = (asks) => wall.draw(patterns.map((rows) => rows.map((row, i) =>
    seen(row).map((weight) => (asks === undefined || asks === i ? weight : weight / 4)))));
  hide.addEventListener("change", () => {
    means.hides = hide.checked;
    drawWall();
    arcsFrom(from);
  });

  const text = arcsOver(tokens, (i) => change({ token: i }));
  const wall = wallOf(heads.length, (head) => change({ head }), perLayer);
  drawWall();
  let from = 0, chosen = 0; // the word and the head whose arcs are shown
  const arcsFrom = (i) => text.set(i, seen(patterns[chosen][i]));
  [...text.row.querySelectorAll("label")].forEach((label, i) => {
    label.addEventListener("pointerenter", () => {
      drawWall(i);
      arcsFrom(i);
    });
    label.addEventListener("pointerleave", () => {
      drawWall();
      arcsFrom(from);
    });
  });
  draw(sentences.row, problem, looks.row, works.row, told, given, text.scroll, line, box("attn-controls", without, swap), wall.table, wall.numbers,
    box("attn-controls", ...sending(means, "wall", ["sentence", "head", "look", "work", "token"], open), reset));

  const bold = (content) => element("b", {}, content);
  const telling = {
    see: () => ["Press a word to let it ask, and a window to see where that head looks."],
    rest: (numbers) => [bold(`${numbers.filter((share) => share > 0.5).length} of ${heads.length}`),
      ` heads give “${tokens[0].trim()}”, the first token, more than half of their weight, on average over the words from the third on, and fade. Weights must sum to one, so a head that finds nothing has to put them somewhere. One that fades may still find something from a single word.`],
    work: (numbers, { work }) => [bold(`${numbers.filter((share) => share > MANY).length} of ${heads.length}`),
      ` heads give more than ${MANY} of their weight to ${WORKS[work]}. `,
      work !== "one back" && !repeats(tokens).length ? "No word comes twice in this sentence." : texts.length > 1 ? "Which of them stay in another sentence?" : ""],
    matter: (numbers, { token }) => {
      if (!token) return ["Choose a word from the second on: the first is not guessed."];
      const best = largest(numbers);
      return [`Each head is switched off alone. ${named(token)} has a probability of ${format(now.likely[token - 1], 3)}. `,
        bold(`${numbers.filter((nats) => nats > 0.1).length} of ${heads.length}`),
        ` heads off make it less likely, by a tenth or more (blue-grey), ${numbers.filter((nats) => nats < -0.1).length} more likely (orange).`
        + ` Most needed: ${headOf(best)}, without which it has ${format(now.likely[token - 1] * Math.exp(-numbers[best]), 3)}.`];
    },
    exchange: (numbers, { head }) => {
      return [`While the model reads “${now.text}”, head `, bold(head),
        ` hands over, at the last word, what it would hand over in “${now.exchange.other}”. It goes `,
        bold(`${format(100 * numbers[placeOf(head, perLayer)], 0)} per cent`), " of the way to the other answer, in log-odds (the logarithm of one probability over the other). A dot says how far each head alone goes."];
    },
  };
  const labelled = {
    see: (place, number, { token }) => `looks from ${named(token)} at ${named(largest(patterns[place][token]))}, ${format(number)}`,
    rest: (place, number) => `gives the first token ${format(number)}`,
    work: (place, number, { work }) => `gives ${WORKS[work]} ${format(number)}`,
    matter: (place, number) => `off: ${signed(number)} nats`,
    exchange: (place, number) => `goes ${format(100 * number, 0)} per cent of the way`,
  };

  return (state) => {
    const look = state.look === "exchange" && !now.exchange ? "see" : state.look; // this sentence has no second one
    const { token, head, work } = state, numbersNow = found(now, { ...state, look });
    chosen = placeOf(head, perLayer);
    const dotted = look === "matter" || look === "exchange";
    from = look === "matter" ? Math.max(0, token - 1) : token;
    looks.set(look);
    works.row.hidden = look !== "work";
    works.set(work);
    given.hidden = look !== "exchange";
    told.replaceChildren(...telling[look](numbersNow, state));
    bars.forEach((bar, i) => {
      const is = now.exchange[now.exchange.answers[i]][chosen], was = now.exchange.here[i];
      bar.set(is, `${format(is, 3)}, was ${format(was, 3)}`);
      bar.showBefore(was);
    });
    text.choose(token);
    arcsFrom(from);
    wall.set({
      head, numbers: numbersNow, title: NUMBERS[look], says: (place) => labelled[look](place, numbersNow[place], state),
      fades: (place) => dotted || (look === "rest" && numbersNow[place] > 0.5) || (look === "work" && numbersNow[place] <= MANY),
      dot: (place) => (dotted ? numbersNow[place] : 0),
    });
    const row = patterns[chosen][from], best = likeliest(row, 3).filter((j) => row[j] > 0);
    const guessed = look === "matter" && token ? `, where ${named(token)} is guessed,` : "";
    tell(`Head ${head}: ${named(from)}${guessed} asks, and gives most to ${best.map((j) => `${named(j)} ${format(row[j])}`).join(", ")}.`
      + (other >= 0 && from < n - 2 ? " It has not read the last word, so with another one all its arcs are the same." : ""));
  };
}

const render = figure({ label: "Wall of heads", build, fixed: ({ model, sentence }) => [model, sentence] });

export default { render, reading, restOf, workOf, exchangeOf, waysOf };
