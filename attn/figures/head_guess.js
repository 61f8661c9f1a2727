// The guess: the patterns of all heads of a model on some sentences. The reader looks at one, writes down what the head
// does, and is told only then what was measured of it.

const MOST_NUMBERED = 12; // tokens for which the numbers fit into the cells
const BARS = {
  "previous token": "to the token before", "same word": "to the same word elsewhere",
  "the noun that fits": "difference of differences", "rests on the first": "to the first, [CLS]",
};

// The weights of a head on a text, row after row, from one letter each.
function weightsOf({ levels, weights, tokens }, text, head) {
  const n = tokens[text].split(" ").length;
  const letters = weights[text].slice(head * n * n, (head + 1) * n * n);
  return Array.from({ length: n }, (_, i) => [...letters.slice(i * n, (i + 1) * n)].map((letter) => levels.indexOf(letter) / 100));
}

// The layer of a head such as L4H3: "4".
function layerOf(name) {
  return name.slice(1).split("H")[0];
}

function rankOf(numbers, place) {
  return numbers.filter((number) => number > numbers[place]).length + 1;
}

// The rank of a head in its layer and among all, by how much changes when it is switched off.
function ranksOf(heads, changes, head) {
  const layer = heads.flatMap((name, i) => (layerOf(name) === layerOf(heads[head]) ? [i] : []));
  return [rankOf(layer.map((i) => changes[i]), layer.indexOf(head)), rankOf(changes, head)];
}

// The case that comes after the present one: the next for which there is no guess yet, if any is left.
function caseAfter({ cases, guesses, head }) {
  const now = cases.findIndex((one) => one.head === head);
  const order = [...cases.slice(now + 1), ...cases.slice(0, now + 1)];
  return order.find((one) => !(one.head in guesses)) ?? order[0];
}

function alive({ read, change, reset, line, tell, explain, draw }) {
  const { heads, kinds, texts, tokens: lines, cases } = read();
  const layers = [...new Set(heads.map(layerOf))];
  const inLayer = (layer) => heads.filter((name) => layerOf(name) === layer);
  const words = (text) => lines[text].split(" ");
  const choose = (text) => change({ text, token: Math.max(1, words(text).indexOf("it")) });

  const sentence = chooser("Sentence", texts, choose);
  const nextCase = button("attn-button", "Next case →", () => {
    const { head, text, token } = caseAfter(read());
    change({ head, text, token });
  });

  const maps = Object.fromEntries(heads.map((name) => {
    const { picture, show } = smallMap();
    const press = button("attn-map", "", () => change({ head: name }));
    press.append(picture);
    return [name, { press, show }];
  }));
  const wide = matchMedia("(min-width: 600px)").matches; // room for the large pattern beside the maps
  const windows = layers.map((layer) => inLayer(layer).map((name) => maps[name].press));
  const table = mapTable("All heads on this sentence", windows);

  const large = box("attn-scroll attn-large-pane");
  const showMore = () => large.classList.toggle("attn-more", large.scrollWidth - large.clientWidth - large.scrollLeft > 2);
  large.addEventListener("scroll", showMore);
  const why = element("p", { className: "attn-why", role: "status" });
  const legend = element("legend");
  const answers = kinds.map((kind) => button("attn-answer", kind, () => {
    const { head, guesses } = read();
    if (!(head in guesses)) change({ guesses: { ...guesses, [head]: kind } }); // what is written down stays
  }));
  const tally = caption("");
  const after = box("attn-after");

  draw(
    sentence.row,
    box("attn-panes", box(wide ? "attn-all-maps attn-shelf" : "attn-all-maps", table), large), line,
    element("fieldset", { className: "attn-question" }, legend, box("attn-answers", ...answers), why),
    box("attn-controls", nextCase, tally), after, reset);

  let cells = [], asks = [], pattern = null, drawn = null, goesThere = false;
  const drawPattern = (text) => {
    const tokens = words(text), n = tokens.length;
    const told = (i, j) => {
      const now = read();
      return `Head ${now.head}: “${tokens[i]}” asks “${tokens[j]}” and gives ${format(weightsOf(now, text, heads.indexOf(now.head))[i][j])}.`;
    };
    asks = tokens.map((token, i) => button("attn-ask", token, () => change({ token: i })));
    cells = grid(n, n, (i, j) => {
      const cell = element("button", { type: "button", className: "attn-cell" });
      explain(cell, () => told(i, j));
      cell.addEventListener("click", () => change({ token: i })); // after `explain`: what the row says comes last
      return cell;
    });
    pattern = tableOf({
      className: n > MOST_NUMBERED ? "attn-large attn-shaded" : "attn-large", title: "",
      columns: [heading("col", "attn-corner")("is asked →\nasks ↓"), ...tokens.map((token) =>
        heading("col", "attn-key")(element("span", {}, token)))],
      rows: asks.map(heading("row")), cells,
    });
    large.replaceChildren(pattern.table);
  };

  const drawAfter = (state, head) => {
    const { guesses, measures, least, here, change: changes } = state;
    const asked = [guesses[state.head], state.classes[head]].includes("the noun that fits");
    const bars = kinds.slice(0, -1).flatMap((kind, i) => {
      if (kind === "the noun that fits" && !asked) return [];
      const named = element("span", {}, element("span", {}, BARS[kind]), ` (named from ${format(least[i])})`);
      const bar = barRow("attn-measured", named);
      bar.set(Math.max(0, measures[kind][head]), format(measures[kind][head]));
      return [bar.row];
    });
    const rows = [here[state.text], changes].map((numbers) => [numbers[head], ...ranksOf(heads, numbers, head)]);
    const inOne = inLayer(layerOf(state.head)).length;
    const off = tableOf({
      className: "attn-off", title: "Switched off: how much the tokens change in the last layer (rank 1: most)",
      columns: ["change", `rank in its layer, of ${inOne}`, `rank of all ${heads.length}`].map(heading("col")),
      rows: ["this sentence", `the ${state.sentences} sentences`].map(heading("row")),
      cells: rows.map(([number, ...ranks]) => [format(number, 3), ...ranks.map(String)].map((text) => {
        const cell = box("attn-number");
        cell.textContent = text;
        return cell;
      })),
    });
    const elsewhere = texts.flatMap((text, i) => {
      if (i === state.text) return [];
      const { picture, show } = smallMap();
      show(weightsOf(state, i, head));
      const press = button("attn-elsewhere", "", () => {
        goesThere = true;
        choose(i);
      });
      press.append(picture, element("span", {}, text));
      return [press];
    });
    after.replaceChildren(
      box("attn-panes",
        box("attn-beside", caption(`Head ${state.head} over ${state.sentences} sentences${asked ? "; the difference of differences over pairs" : ""}`), ...bars),
        scrolling("What changes when the head is switched off", off.table)),
      caption(`Head ${state.head} on the other sentences: choose one to see it large`),
      box("attn-elsewheres", ...elsewhere));
  };

  return (state) => {
    const head = heads.indexOf(state.head), tokens = words(state.text);
    sentence.set(state.text);
    if (drawn !== state.text) {
      keepingFocus(large, () => drawPattern(state.text));
      heads.forEach((name, i) => maps[name].show(weightsOf(state, state.text, i)));
      drawn = state.text;
    }
    const rows = weightsOf(state, state.text, head);
    pattern.caption.textContent = `Head ${state.head}, large`;
    cells.forEach((row, i) => row.forEach((cell, j) => {
      cell.textContent = tokens.length > MOST_NUMBERED ? "" : format(rows[i][j]);
      cell.style.setProperty("--attn-w", rows[i][j]);
      cell.setAttribute("aria-label", `${tokens[i]} asks ${tokens[j]}: ${format(rows[i][j])}`);
    }));
    asks.forEach((ask, i) => ask.setAttribute("aria-pressed", i === state.token));
    pattern.lines.forEach((row, i) => row.classList.toggle("attn-chosen", i === state.token));
    heads.forEach((name) => {
      const { press } = maps[name], guess = state.guesses[name];
      press.setAttribute("aria-pressed", name === state.head);
      press.setAttribute("aria-label", `Head ${name}${guess ? `, your guess: ${guess}` : ""}`);
      press.classList.toggle("attn-guessed", guess !== undefined);
    });

    const guess = state.guesses[state.head], place = cases.findIndex((one) => one.head === state.head);
    legend.textContent = `What does head ${state.head} do?${place < 0 ? "" : ` (case ${place + 1} of ${cases.length})`}`;
    answers.forEach((answer, i) => {
      answer.setAttribute("aria-pressed", kinds[i] === guess);
      answer.setAttribute("aria-disabled", guess !== undefined);
      answer.classList.toggle("attn-right", kinds[i] === guess && guess === state.classes[head]);
    });
    const verdict = guess === undefined ? "" : `You said “${guess}”; ${state.verdicts[head]}`;
    if (why.textContent !== verdict) why.textContent = verdict;
    keepingFocus(after, () => (guess === undefined ? after.replaceChildren() : drawAfter(state, head)));
    const guessed = Object.entries(state.guesses);
    const agreeing = guessed.filter(([name, kind]) => kind === state.classes[heads.indexOf(name)]).length;
    tally.textContent = guessed.length ? `${agreeing} of ${guessed.length} guesses agree with the measure` : "No guess yet";

    const row = rows[state.token];
    const best = likeliest(row, 3).filter((j) => row[j] > 0);
    tell(`Head ${state.head}: “${tokens[state.token]}” asks, and gives most to `
      + `${best.map((j) => `“${tokens[j]}” ${format(row[j])}`).join(", ")}.`);
    const { offsetLeft, offsetWidth } = cells[state.token][best[0]].parentElement; // what gets most is in sight
    const beyond = offsetLeft + offsetWidth - large.clientWidth;
    if (beyond > large.scrollLeft) large.scrollLeft = beyond;
    if (offsetLeft - asks[0].offsetWidth < large.scrollLeft) large.scrollLeft = offsetLeft - asks[0].offsetWidth;
    showMore();
    if (goesThere) asks[state.token].focus(); // to the large pattern, which may be out of sight
    goesThere = false;
  };
}

// Before the weights are there: a page of the book brings them when the reader asks.
function build(means) {
  const { read, change, draw, load } = means;
  if (read().weights) return alive(means);
  const onReady = () => change({ weights: window.attnHeads });
  draw(element("p", {}, "Ten sentences, and the patterns of all 72 heads on each of them."),
    invitation({ label: "Load the patterns (0.1 MB)", what: "patterns", bring: () => load("head_guess.js"), onReady }).row);
  if (window.attnHeads) queueMicrotask(onReady); // brought before, and started again
  return () => {};
}

const render = figure({
  label: "Head guess", names: STATE, build,
  fixed: ({ heads, kinds, levels, texts, tokens, weights, cases }) => [heads, kinds, levels, texts, tokens, weights, cases],
});

export default { render, weightsOf, ranksOf, caseAfter };
