// One word in three phrases: a dot for each, pulled to three senses as far as its cosines say, layer after layer.

const CORNERS = [[0, -1], [Math.sqrt(0.75), 0.5], [-Math.sqrt(0.75), 0.5]];

// Where a dot lies: the sum of its cosines, each towards its corner. Then the corner it points to has the largest one.
function pointOf(cosines) {
  return [0, 1].map((axis) => dot(cosines, CORNERS.map((corner) => corner[axis])));
}

function build({ read, change, reset, line, tell, draw }) {
  const { phrases, senses, meant, cosines } = read(), last = cosines[0].length - 1;
  const reach = Math.max(...cosines.flat().map((row) => Math.hypot(...pointOf(row))));
  const place = (row) => pointOf(row).map((number) => (number * 120) / reach);
  const paths = cosines.map((rows) => rows.map(place));
  const play = player({ last, now: () => read().layer, goTo: (layer) => change({ layer }), milliseconds: 5000 });
  const at = (layer) => -150 + (300 * layer) / last;
  const grip = handle({
    label: "layer",
    onMove: ([x]) => play.go(Math.round(((x + 150) / 300) * last)),
    onStep: ([right, up]) => play.go(read().layer + right + up),
  }, drawing("circle", { r: 8, class: "attn-grip" }));
  const corners = senses.map((sense, k) => drawing("text", {
    x: CORNERS[k][0] * 158, y: CORNERS[k][1] * (k ? 170 : 138), class: "attn-word", "text-anchor": "middle",
  }, sense));
  const spokes = CORNERS.map(([x, y]) => drawing("line", { x2: x * 130, y2: y * 130, class: "attn-grid" }));
  const trails = phrases.map((_, i) => drawing("path", { class: `attn-curve attn-ghost attn-ink-${i}` }));
  const dots = phrases.map((_, i) => drawing("circle", { r: 8, class: `attn-dot attn-ink-${i}` }));
  const ticks = paths[0].map((_, layer) =>
    drawing("text", { x: at(layer), y: 158, class: "attn-mark", "text-anchor": "middle" }, layer ? String(layer) : "layer 0"));
  const scene = movingScene("-190 -156 380 324", "A dot for each phrase between three senses; the table has its cosines.",
    ...spokes, ...trails, ...dots, ...corners, drawing("line", { x1: -150, x2: 150, y1: 126, y2: 126, class: "attn-axis" }),
    ...ticks, grip.group);
  const cells = grid(phrases.length, 3);
  const { table } = tableOf({
    title: "Cosine with each sense", columns: senses.map(heading("col")), cells,
    rows: phrases.map((phrase, i) => heading("row", `attn-name attn-ink-${i}`)(phrase)),
  });
  draw(box("attn-panes attn-areas attn-alike", scene, box("attn-beside attn-senses", table)), line,
    box("attn-controls", play.press, reset));

  const show = gliding((numbers) =>
    dots.forEach((one, i) => put(one, { cx: numbers[2 * i], cy: numbers[2 * i + 1] })), 450);

  return ({ layer }) => {
    show(paths.flatMap((path) => path[layer]), grip.held());
    trails.forEach((trail, i) => put(trail, { d: `M${paths[i].slice(0, layer + 1).join("L")}` }));
    grip.set([at(layer), 126], layer, `layer ${layer}`);
    const nearest = cosines.map((rows) => largest(rows[layer]));
    cells.forEach((row, i) => row.forEach((cell, k) => {
      cell.textContent = format(cosines[i][layer][k]);
      cell.classList.toggle("attn-lit", k === nearest[i]);
    }));
    const told = phrases.map((phrase, i) => {
      const sense = senses[nearest[i]];
      return `“${phrase}” points to ${sense}${sense === meant[i] ? "" : `, and means ${meant[i]}`}`;
    });
    tell(`${layer ? `After layer ${layer}` : "Before the first layer"}: ${told.join("; ")}.`);
  };
}

const render = figure({
  label: "Senses", names: STATE, build,
  fixed: ({ phrases, senses, cosines }) => [phrases, senses, cosines],
});

export default { render, pointOf };
