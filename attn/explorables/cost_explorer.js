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

function render({ model, el }) {
  const root = figureRoot(el, "Cost explorer");
  const names = ["presets", "chosen", "n_tokens", "key_heads"];
  const start = readState(model, names);
  const { line, tell } = reporter();
  const labels = Object.keys(start.presets);
  let state, drawn, parts;

  const rows = { parameters: "parameters", patterns: "patterns of a layer", cache: "keys and values" };

  const build = () => {
    const { n_heads } = state.presets[state.chosen];
    const divisors = Array.from({ length: n_heads }, (_, i) => i + 1).filter((number) => n_heads % number === 0);
    const choose = choice({
      legend: "Model", labels,
      onChoose: (i) => change(model, { chosen: labels[i], key_heads: state.presets[labels[i]].n_heads }),
    });
    const tokens = slider({
      label: "tokens", min: 7, max: 20, step: 1, show: (power) => (2 ** power).toLocaleString("en-US"),
      onInput: (power) => change(model, { n_tokens: 2 ** power }),
    });
    const heads = slider({
      label: "key heads", min: 0, max: divisors.length - 1, step: 1, className: "attn-key", show: (i) => String(divisors[i] ?? ""),
      onInput: (i) => change(model, { key_heads: divisors[i] }),
    });
    const bars = Object.entries(rows).map(([name, label]) => ({ name, ...countedRow(label) }));
    const share = weightBar();
    root.replaceChildren(choose.row,
      element("div", { className: "attn-knobs" }, tokens.row, heads.row),
      element("p", { className: "attn-caption" }, "Memory at two bytes a number; a third of a bar is a factor of a thousand"),
      ...bars.map((one) => one.row),
      element("p", { className: "attn-caption" }, "Share of the last token's work that depends on how many came before"),
      element("div", { className: "attn-counted" }, element("span", {}, "pairs of tokens"), share.bar, share.value),
      line, resetButton(model, start));
    parts = { choose, tokens, heads, divisors, bars, share };
  };

  const update = () => {
    state = readState(model, names);
    if (state.chosen !== drawn) build();
    drawn = state.chosen;
    const found = costs(state);
    parts.choose.set(labels.indexOf(state.chosen));
    parts.tokens.set(Math.log2(state.n_tokens));
    parts.heads.set(parts.divisors.indexOf(state.key_heads));
    parts.bars.forEach(({ name, bar, value }) => {
      bar.style.setProperty("--attn-w", Math.max(0, Math.min(1, (Math.log2(found[name]) - 20) / 30)));
      value.textContent = inUnits(found[name]);
    });
    parts.share.set(found.share);
    const times = found.cache / found.parameters;
    tell(`${state.n_tokens.toLocaleString("en-US")} tokens: the keys and values take ${format(times, 2)} times the memory of the parameters.`);
  };

  return follow(model, names, update);
}

export default { render, costs };
