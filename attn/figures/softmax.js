// The softmax explorer: one score for each word, and the weights that softmax makes of them.

const MOST_WORDS = 10;

function weigh({ scores, temperature, offset }) {
  return softmax(scores.map((score) => (score + offset) / temperature));
}

// How spread out weights are, in nats.
function entropy(weights) {
  return -sum(weights.map((weight) => (weight > 0 ? weight * Math.log(weight) : 0)));
}

function build({ read, change, reset, line, tell, draw }) {
  const { tokens, knobs } = read();
  const scores = tokens.map((token, i) => slider({
    label: token, min: -5, max: 5, step: 0.1, onInput: (number) => change({ scores: read().scores.with(i, number) }),
  }));
  const bars = scores.map((score) => barRow("attn-scored", score.row));
  const temperature = slider({
    label: "temperature", min: 0.1, max: 5, step: 0.1, onInput: (number) => change({ temperature: number }),
  });
  const offset = slider({
    label: "added to every score", min: -50, max: 50, step: 1, onInput: (number) => change({ offset: number }),
  });
  const useWords = (own) => { // a word that stays keeps its score; a new one starts at 0
    const known = new Map(read().scores.map((score, i) => [tokens[i], score]));
    change({ tokens: own, scores: own.map((token) => known.get(token) ?? 0) });
  };

  const names = ["word and its score", "weight", ""].map((name) => element("span", {}, name));
  draw(
    box("attn-scored attn-head", ...names), ...bars.map((bar) => bar.row),
    ...(knobs ? [box("attn-knobs", temperature.row, offset.row)] : []), line,
    box("attn-controls", wordField({ words: tokens, most: MOST_WORDS, onWords: useWords }), reset));

  return (state) => {
    const weights = weigh(state);
    scores.forEach((score, i) => score.set(state.scores[i]));
    bars.forEach((bar, i) => bar.set(weights[i]));
    temperature.set(state.temperature);
    offset.set(state.offset);
    const most = format(Math.log(weights.length));
    const spread = ` Entropy: ${format(entropy(weights))} nats; equal weights have ${most}.`;
    tell(`The weights sum to ${format(sum(weights), 3)}.${knobs ? spread : ""}`);
  };
}

const render = figure({
  label: "Softmax explorer", names: ["tokens", "scores", "temperature", "offset", "knobs"], build,
  fixed: ({ tokens, knobs }) => [tokens, knobs],
});

export default { render, weigh };
