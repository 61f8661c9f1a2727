// The softmax explorer: one score for each word, and the weights that softmax makes of them.

const MOST_WORDS = 10;

function weigh({ scores, temperature, offset }) {
  return softmax(scores.map((score) => (score + offset) / temperature));
}

function render({ model, el }) {
  const root = figureRoot(el, "Softmax explorer");
  const names = ["tokens", "scores", "temperature", "offset", "knobs"];
  const start = readState(model, names);
  const { line, tell } = reporter();
  let state, parts;

  const setScore = (i, number) => change(model, { scores: state.scores.map((score, j) => (i === j ? number : score)) });
  const useWords = (tokens) => { // a word that stays keeps its score; a new one starts at 0
    const known = new Map(state.tokens.map((token, i) => [token, state.scores[i]]));
    change(model, { tokens, scores: tokens.map((token) => known.get(token) ?? 0) });
  };

  const build = () => {
    const { tokens, knobs } = state;
    const rows = tokens.map((token, i) => {
      const one = slider({ label: token, min: -5, max: 5, step: 0.1, onInput: (number) => setScore(i, number) });
      const { bar, value, set } = weightBar();
      return { setScore: one.set, setWeight: set, line: element("div", { className: "attn-scored" }, one.row, bar, value) };
    });
    const temperature = slider({
      label: "temperature", min: 0.1, max: 5, step: 0.1, onInput: (number) => change(model, { temperature: number }),
    });
    const offset = slider({
      label: "added to every score", min: -50, max: 50, step: 1, onInput: (number) => change(model, { offset: number }),
    });
    const words = wordField({ most: MOST_WORDS, onWords: useWords });
    words.set(tokens);
    root.replaceChildren(
      element("div", { className: "attn-scored attn-head" }, element("span", {}, "word and its score"),
        element("span", {}, "weight"), element("span", {})),
      ...rows.map((row) => row.line),
      ...(knobs ? [element("div", { className: "attn-knobs" }, temperature.row, offset.row)] : []),
      line,
      element("div", { className: "attn-controls" }, words.row, resetButton(model, start)),
    );
    parts = { rows, temperature, offset };
  };

  const update = () => {
    const before = state?.tokens;
    state = readState(model, names);
    if (!before || before.join("\n") !== state.tokens.join("\n")) build();
    const weights = weigh(state);
    parts.rows.forEach((row, i) => {
      row.setScore(state.scores[i]);
      row.setWeight(weights[i]);
    });
    parts.temperature.set(state.temperature);
    parts.offset.set(state.offset);
    const sum = weights.reduce((total, weight) => total + weight, 0);
    const entropy = weights.reduce((total, weight) => total - (weight > 0 ? weight * Math.log(weight) : 0), 0);
    const spread = ` Entropy: ${format(entropy)} nats; equal weights have ${format(Math.log(weights.length))}.`;
    tell(`The weights sum to ${format(sum, 3)}.${state.knobs ? spread : ""}`);
  };

  return follow(model, names, update);
}

export default { render, weigh };
