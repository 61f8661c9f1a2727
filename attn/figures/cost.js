// The cost explorer: what a text of n tokens asks of a model in memory, and when the part that grows with the square
// takes over the work. Two bytes a number, as models are usually run.

const BYTES = 2;
const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];

function costs({ presets, chosen, n_tokens, key_heads }) {
  const { d_model, n_heads, d_k, n_layers, d_ff, parameters } = presets[chosen];
  const pairs = 4 * n_tokens * n_heads * d_k; // one token against n keys and n values: a multiplication and an addition each
  const matrices = 2 * d_model * (2 * n_heads * d_k + 2 * key_heads * d_k + 2 * d_ff);
  const saved = 2 * n_layers * (n_heads - key_heads) * d_k * (d_model + 1); // W_K and W_V with their biases
  return {
    parameters: BYTES * (parameters - saved),
    patterns: BYTES * n_heads * n_tokens ** 2,
    cache: BYTES * 2 * n_layers * key_heads * d_k * n_tokens,
    share: pairs / (pairs + matrices),
  };
}

function inUnits(bytes) {
  const step = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(bytes) / 10)));
  return `${(bytes / 2 ** (10 * step)).toFixed(step ? 1 : 0)} ${UNITS[step]}`;
}

function build({ read, change, reset, line, tell, draw }) {
  const { presets, chosen } = read();
  const labels = Object.keys(presets);
  const { n_heads } = presets[chosen];
  const divisors = Array.from({ length: n_heads }, (_, i) => i + 1).filter((number) => n_heads % number === 0);
  const choose = choice({
    legend: "Model", labels,
    onChoose: (i) => change({ chosen: labels[i], key_heads: presets[labels[i]].n_heads }),
  });
  const tokens = slider({
    label: "tokens", min: 7, max: 20, step: 1, show: (power) => grouped(2 ** power),
    onInput: (power) => change({ n_tokens: 2 ** power }),
  });
  const heads = slider({
    label: "key heads", min: 0, max: divisors.length - 1, step: 1, className: "attn-key",
    show: (i) => String(divisors[i] ?? ""), onInput: (i) => change({ key_heads: divisors[i] }),
  });
  const bars = {
    parameters: countedBar("parameters"),
    patterns: countedBar("patterns of a layer"),
    cache: countedBar("keys and values"),
  };
  const share = countedBar("pairs of tokens");

  draw(
    choose.row, box("attn-knobs", tokens.row, heads.row),
    caption("Memory at two bytes a number; a third of a bar is a factor of a thousand"),
    ...Object.values(bars).map((bar) => bar.row),
    caption("Share of the last token's work that depends on how many came before"), share.row, line, reset);

  return (state) => {
    const found = costs(state);
    choose.set(labels.indexOf(state.chosen));
    tokens.set(Math.log2(state.n_tokens));
    heads.set(divisors.indexOf(state.key_heads));
    Object.entries(bars).forEach(([name, bar]) =>
      bar.set(Math.max(0, Math.min(1, (Math.log2(found[name]) - 20) / 30)), inUnits(found[name])));
    share.set(found.share);
    const times = format(found.cache / found.parameters);
    tell(`${grouped(state.n_tokens)} tokens: the keys and values take ${times} times the memory of the parameters.`);
  };
}

const render = figure({
  label: "Cost explorer", names: ["presets", "chosen", "n_tokens", "key_heads"], build,
  fixed: ({ chosen }) => chosen,
});

export default { render, costs };
