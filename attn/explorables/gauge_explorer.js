// The gauge explorer: queries are stretched along one direction and keys shrunk along it. No score moves, but every
// cosine inside key space and inside query space does.

const MAPS = ["cosines of keys", "cosines of queries", "scores"];

// Stretch the first entry of each query by a factor, and shrink that of each key by the same.
function regauge({ Q, K, power }) {
  const factor = 2 ** power;
  const first = (rows, by) => rows.map((row) => row.map((entry, d) => (d === 0 ? entry * by : entry)));
  const queries = first(Q, factor), keys = first(K, 1 / factor);
  const scale = 1 / Math.sqrt(Q[0].length);
  const cosine = (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  return [
    keys.map((a) => keys.map((b) => cosine(a, b))),
    queries.map((a) => queries.map((b) => cosine(a, b))),
    queries.map((q) => keys.map((k) => dot(q, k) * scale)),
  ];
}

function render({ model, el }) {
  const root = figureRoot(el, "Gauge explorer");
  const names = ["tokens", "Q", "K", "power", "shown"];
  const start = readState(model, names);
  const { line, tell } = reporter();
  let state, drawn, parts;

  const build = () => {
    const { tokens } = state;
    const shown = choice({ legend: "Show", labels: MAPS, onChoose: (i) => change(model, { shown: i }) });
    const power = slider({
      label: "stretch", min: -4, max: 4, step: 0.1, show: (number) => `× ${format(2 ** number)}`,
      onInput: (number) => change(model, { power: number }),
    });
    const table = element("table", { className: "attn-table attn-pattern" });
    const title = table.createCaption();
    table.createTHead().append(element("tr", {}, element("td", {}), ...tokens.map((token) => element("th", { scope: "col" }, token))));
    const cells = tokens.map(() => tokens.map(() => element("div", { className: "attn-cell" })));
    table.append(element("tbody", {}, ...tokens.map((token, i) => element("tr", {}, element("th", { scope: "row" }, token),
      ...cells[i].map((cell) => element("td", {}, cell))))));
    const scroll = element("div", { className: "attn-scroll", role: "group", tabIndex: 0, "aria-label": "Table" }, table);
    root.replaceChildren(shown.row, element("div", { className: "attn-knobs" }, power.row),
      element("div", { className: "attn-panes" }, scroll), line, resetButton(model, start));
    parts = { shown, power, title, cells };
  };

  const update = () => {
    state = readState(model, names);
    const fixed = JSON.stringify(state.tokens);
    if (fixed !== drawn) build();
    drawn = fixed;
    const maps = regauge(state), before = regauge({ ...state, power: 0 });
    const map = maps[state.shown];
    const largest = Math.max(...map.flat().map(Math.abs));
    parts.shown.set(state.shown);
    parts.power.set(state.power);
    parts.title.textContent = MAPS[state.shown];
    parts.cells.forEach((row, i) => row.forEach((cell, j) => {
      cell.textContent = format(map[i][j]);
      cell.style.setProperty("--attn-w", Math.abs(map[i][j]) / largest);
    }));
    const moved = maps.map((table, m) => Math.max(...table.flatMap((row, i) => row.map((entry, j) => Math.abs(entry - before[m][i][j])))));
    tell(`Largest change so far: ${MAPS.map((name, m) => `${name} ${format(moved[m])}`).join(", ")}.`);
  };

  return follow(model, names, update);
}

export default { render, regauge };
