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

function build({ read, change, reset, line, tell, draw }) {
  const { tokens } = read();
  const shown = choice({ legend: "Show", labels: MAPS, onChoose: (i) => change({ shown: i }) });
  const power = slider({
    label: "stretch", min: -4, max: 4, step: 0.1, show: (number) => `× ${format(2 ** number)}`,
    onInput: (number) => change({ power: number }),
  });
  const cells = grid(tokens.length, tokens.length);
  const { table, caption } = tableOf({
    title: "", columns: tokens.map(heading("col")), rows: tokens.map(heading("row")), cells,
  });

  const panes = box("attn-panes", scrolling("Table", table));
  draw(shown.row, box("attn-knobs", power.row), panes, line, reset);

  return (state) => {
    const maps = regauge(state), before = regauge({ ...state, power: 0 });
    const map = maps[state.shown];
    const most = Math.max(...map.flat().map(Math.abs));
    shown.set(state.shown);
    power.set(state.power);
    caption.textContent = MAPS[state.shown];
    fill(cells, map, (number) => Math.abs(number) / most);
    const moved = maps.map((rows, m) =>
      Math.max(...rows.flatMap((row, i) => row.map((entry, j) => Math.abs(entry - before[m][i][j])))));
    tell(`Largest change so far: ${MAPS.map((name, m) => `${name} ${format(moved[m])}`).join(", ")}.`);
  };
}

const render = figure({
  label: "Gauge explorer", names: ["tokens", "Q", "K", "power", "shown"], build,
  fixed: ({ tokens }) => tokens,
});

export default { render, regauge };
