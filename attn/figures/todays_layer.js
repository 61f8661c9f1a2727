// Today's layer: a model with layers like GPT-2's, at the size of Llama 3 8B. The reader presses a part, which is then built
// as today; the parameters and the cache are counted anew.

const PARTS = { // each change with what the part is before and after it, and what is said of it
  RMSNorm: ["layer norm", "RMSNorm", "It divides by the size, and no longer takes the mean away; half of its numbers go."],
  "no biases": ["biases", "no biases", "Nothing is added after a product with a matrix. They were few."],
  "rotary positions": ["table of positions", "rotary positions", "Queries and keys are turned; a table with a row for each position goes, and with it the longest text."],
  "gated MLP": ["a plain MLP", "a gated MLP", "A third matrix makes a gate for each hidden number. A gated MLP has no biases."],
  "fewer key heads": ["32 key heads", "8 key heads", "Four heads of queries share keys and values: a quarter of the cache."],
  "separate unembedding": ["unembedding: tied", "own unembedding", "The tokens are scored by a matrix of its own: a second table as large as the first."],
};
const GOAL = Object.keys(PARTS).length;

// As attn.parameters.count_parameters and cache_bytes, for one token.
function countLayer({ vocab_size, d_model, n_heads, d_k, n_layers, n_positions, d_ff, gated, shared }, changed) {
  const has = (name) => changed.includes(name);
  const keyHeads = has("fewer key heads") ? shared : n_heads, hidden = has("gated MLP") ? gated : d_ff;
  const parts = {
    attention: n_layers * d_model * d_k * 2 * (n_heads + keyHeads),
    MLP: n_layers * d_model * hidden * (has("gated MLP") ? 3 : 2),
    embedding: vocab_size * d_model,
    unembedding: has("separate unembedding") ? vocab_size * d_model + (has("no biases") ? 0 : vocab_size) : 0,
    positions: has("rotary positions") ? 0 : n_positions * d_model,
    norms: (2 * n_layers + 1) * d_model * (has("RMSNorm") ? 1 : 2),
    biases: has("no biases") ? 0 : n_layers * (n_heads * d_k + 2 * keyHeads * d_k + d_model + hidden + d_model),
  };
  return { parts, total: sum(Object.values(parts)), cache: 4 * n_layers * keyHeads * d_k };
}

function build({ read, change, reset, line, tell, draw }) {
  const { sizes } = read();
  const press = (name) => {
    const { changed } = read();
    const on = !changed.includes(name);
    const follows = { "gated MLP": on ? ["no biases"] : [], "no biases": on ? [] : ["gated MLP"] }[name] ?? [];
    const others = changed.filter((one) => one !== name && !follows.includes(one));
    change({ changed: Object.keys(PARTS).filter((one) => others.includes(one) || (on && (one === name || follows.includes(one)))) });
    said = name;
  };
  let said = null;

  const rect = (x, y, width, height, className) => drawing("rect", { x, y, width, height, rx: 4, class: className });
  const bars = (y, count, className) =>
    Array.from({ length: count }, (_, i) => rect(52 + (i * 110) / count, y, 110 / count - 2, 14, className));
  const stack = (y, count, tall) => Array.from({ length: count }, (_, i) => rect(52, y + i * 1.5 * tall, 108, tall, "attn-quiet-bar"));
  const versions = { // where a part stands, and what is drawn of it before and after
    "separate unembedding": [28, [rect(52, 16, 108, 24, "attn-tied")], [rect(52, 16, 108, 24, "attn-filled")]],
    "gated MLP": [88, [0, 1].map((i) => rect(62 + 48 * i, 62, 40, 52, "attn-filled")), [0, 1, 2].map((i) => rect(62 + 31 * i, 65, 26, 46, "attn-filled"))],
    RMSNorm: [146, stack(136, 2, 8), stack(142, 1, 8)],
    "fewer key heads": [210,
      [...bars(184, 8, "attn-q"), ...bars(203, 8, "attn-k"), ...bars(222, 8, "attn-v")],
      [...bars(184, 8, "attn-q"), ...bars(203, 2, "attn-k"), ...bars(222, 2, "attn-v")]],
    "no biases": [266, Array.from({ length: 12 }, (_, i) => drawing("circle", { cx: 57 + 9 * i, cy: 266, r: 3, class: "attn-filled" })), []],
    "rotary positions": [316, stack(300, 5, 4),
      [0, 1, 2, 3].map((i) => drawing("path", { d: `M${58 + 27 * i},316a9,9 0 1 1 9,9`, class: "attn-turn" }))],
  };
  const groups = Object.entries(versions).map(([name, [y, before, after]]) => {
    const label = drawing("text", { x: 178, y: y + 5 });
    const [old, today] = [before, after].map((shapes) => drawing("g", {}, ...shapes));
    const target = drawing("rect", { x: 42, y: y - 24, width: 296, height: 48, rx: 6, class: "attn-target" });
    const group = pressable(drawing("g", {}, target, old, today, label), () => press(name), {});
    return { name, label, old, today, group };
  });
  const scene = drawing("svg", { viewBox: "0 0 340 388", class: "attn-scene attn-built", role: "group",
    "aria-label": "A layer from below: embedding, positions, attention, MLP, unembedding. Press a part to build it as today" },
    drawing("path", { d: "M24,384V8M24,8l-5,9m5,-9l5,9M24,210H46M24,88H46" }),
    rect(52, 352, 108, 24, "attn-filled"), drawing("text", { x: 178, y: 369, class: "attn-quiet" }, "embedding"),
    ...groups.map(({ group }) => group));

  const total = element("p", { className: "attn-outcome" });
  const names = Object.keys(countLayer(sizes, []).parts);
  const rows = [...names, "cache per token"].map((name) => ({ name, ...countedBar(name) }));
  const task = element("p", { className: "attn-task", role: "status" });
  const all = button("attn-button", "All six", () => {
    said = null;
    change({ changed: Object.keys(PARTS) });
  });
  draw(box("attn-counted-layer", scene, box("attn-counts", total, ...rows.map(({ row }) => row))), task, box("attn-controls", all, reset), line);

  return (state, before) => {
    const now = countLayer(sizes, state.changed), was = before ? countLayer(sizes, before.changed) : null;
    groups.forEach(({ name, label, old, today, group }) => {
      const on = state.changed.includes(name);
      label.textContent = PARTS[name][on ? 1 : 0];
      put(old, { visibility: on ? "hidden" : "visible" });
      put(today, { visibility: on ? "visible" : "hidden" });
      put(group, { "aria-label": label.textContent, "aria-pressed": on });
    });
    total.textContent = `${grouped(now.total)} parameters`;
    const widest = 6e9;
    rows.forEach(({ name, set, haunt }) => {
      const isCache = name === "cache per token";
      const [share, ghost] = [now, was].map((one) => one && (isCache ? one.cache / 2 ** 19 : Math.min(1, one.parts[name] / widest)));
      set(share, isCache ? `${now.cache / 1024} KiB` : grouped(now.parts[name]));
      haunt(ghost !== null && ghost !== share ? ghost : null);
    });
    const done = state.changed.length === GOAL;
    task.classList.toggle("attn-solved", done);
    task.textContent = done ? "✓ This is Llama 3 8B, to the last digit." : `${state.changed.length} of ${GOAL} parts are built as in Llama 3 8B.`;
    const part = said && PARTS[said];
    tell(part ? (state.changed.includes(said) ? `Now: ${part[1]}. ${part[2]}` : `Back to: ${part[0]}.`) : "Press a part: it is built as in a model of 2024.");
  };
}

const render = figure({ label: "Today's layer", names: STATE, build });

export default { render, countLayer };
