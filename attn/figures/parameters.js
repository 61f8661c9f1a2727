// The parameter counter: the sizes of a transformer, and how many numbers it has to learn, part by part. The reader
// takes one of the listed models or sets sizes; counts are exact, so they are BigInts.

const SIZES = ["d_model", "n_heads", "d_k", "n_layers", "vocab_size", "n_positions", "d_ff"];
const OPTIONS = { biases: "biases", norms: "layer norms", positions: "table of positions", tied: "unembedding tied to the embedding" };
const LARGEST = 1_000_000;

// As attn.parameters.count_parameters.
function countParameters(state) {
  const [d_model, n_heads, d_k, n_layers, vocab_size, n_positions, d_ff] = SIZES.map((name) => BigInt(state[name]));
  const parts = {
    attention: n_layers * n_heads * 4n * d_model * d_k,
    mlp: n_layers * 2n * d_model * d_ff,
    embedding: vocab_size * d_model,
    unembedding: state.tied ? 0n : vocab_size * d_model,
    positions: state.positions ? n_positions * d_model : 0n,
    norms: state.norms ? (2n * n_layers + 1n) * 2n * d_model : 0n,
    biases: state.biases ? n_layers * (3n * n_heads * d_k + d_model + d_ff + d_model) + (state.tied ? 0n : vocab_size) : 0n,
  };
  return { ...parts, total: Object.values(parts).reduce((sum, part) => sum + part, 0n) };
}

function build({ read, change, reset, line, tell, draw }) {
  const { presets, ...shown } = read();
  const labels = Object.keys(presets);
  const choose = choice({ legend: "Model", labels, onChoose: (i) => change(presets[labels[i]]) });
  const problem = element("p", { className: "attn-problem", role: "status" });
  const fields = SIZES.map((name) => {
    const input = control("number", { min: 1, max: LARGEST, step: 1 });
    input.addEventListener("input", () => {
      const number = Number(input.value);
      const fits = input.value !== "" && Number.isInteger(number) && number >= 1 && number <= LARGEST;
      problem.textContent = fits ? "" : `${name} must be a whole number from 1 to ${grouped(LARGEST)}, `
        + `but is “${input.value}”; the counts are those of ${read()[name]}.`;
      if (fits) change({ [name]: number });
    });
    return { name, input, row: element("label", { className: "attn-field" }, element("span", {}, name), input) };
  });
  const boxes = Object.entries(OPTIONS).map(([name, label]) => {
    const input = control("checkbox");
    input.addEventListener("change", () => change({ [name]: input.checked }));
    return { name, input, row: element("label", {}, input, element("span", {}, label)) };
  });
  const parts = Object.keys(countParameters(shown)).filter((name) => name !== "total");
  const bars = parts.map(countedBar);

  const counted = element("fieldset", { className: "attn-choice" }, element("legend", {}, "Counted"),
    ...boxes.map((one) => one.row));
  draw(
    choose.row, box("attn-fields", ...fields.map((one) => one.row)), problem, counted,
    box("attn-knobs", ...bars.map((bar) => bar.row)), line, reset);

  return (state) => {
    const counts = countParameters(state);
    choose.set(Object.values(presets).findIndex((sizes) => SIZES.every((name) => sizes[name] === state[name])));
    fields.forEach(({ name, input }) => {
      if (Number(input.value) !== state[name]) {
        input.value = state[name];
        problem.textContent = "";
      }
    });
    boxes.forEach(({ name, input }) => (input.checked = state[name]));
    bars.forEach((bar, i) => bar.set(Number(counts[parts[i]]) / Number(counts.total), grouped(counts[parts[i]])));
    const share = (100 * Number(counts.attention)) / Number(counts.total);
    tell(`${grouped(counts.total)} parameters; ${format(share)} % of them are in the attention matrices.`);
  };
}

const render = figure({
  label: "Parameter counter", names: ["presets", ...SIZES, ...Object.keys(OPTIONS)], build,
});

export default { render, countParameters };
