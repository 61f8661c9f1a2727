// The blocks explorer: the mixtures of all heads side by side, times all rows of W_O. The reader pulls the rows apart into
// one block for each head, and finds the same products, added up head by head.

function addUp({ mixtures, W_O }) {
  const updates = mixtures.map((row, h) => W_O[h][0].map((_, d) => dot(row, W_O[h].map((weights) => weights[d]))));
  return { updates, total: updates[0].map((_, d) => sum(updates.map((update) => update[d]))) };
}

function build({ read, change, reset, line, tell, draw }) {
  const { mixtures, W_O } = read();
  const { updates, total } = addUp(read());
  const [H, k, d] = [W_O.length, W_O[0].length, W_O[0][0].length];
  const whole = [mixtures, W_O].flat(3).every(Number.isInteger);
  const short = (number) => format(number, whole ? 0 : 1);
  const wide = sceneWidth(), top = 26, tall = 26, gap = 34, space = wide > 400 ? 30 : 18;
  const cell = Math.min(36, (wide - 8 - 2 * space) / (k * H + 2 * d));
  const [left, middle, right] = [4, 4 + cell * k * H + space, 4 + cell * (k * H + d) + 2 * space];
  const end = top + H * k * tall + gap * (H - 1) + 22;

  const numberIn = (text) => drawing("text", { x: cell / 2 - 1, y: 17, "text-anchor": "middle",
    ...(cell < 30 ? { "font-size": 11 } : {}), ...(cell < 30 && text.length > 2 ? { textLength: cell - 4, lengthAdjust: "spacingAndGlyphs" } : {}) }, text);
  const table = (rows, className) => {
    const cells = rows.map((row, y) => row.map((number, x) => drawing("g", { transform: `translate(${cell * x},${tall * y})` },
      drawing("rect", { width: cell - 2, height: tall - 2, rx: 3 }), numberIn(short(number)))));
    return { cells, group: drawing("g", { class: className }, ...cells.flat()) };
  };
  const ofHead = (h) => `attn-block attn-block-${h % 3}`;
  const rows = mixtures.map((row, h) => table([row], ofHead(h)));
  const blocks = W_O.map((block, h) => table(block, ofHead(h)));
  const written = updates.map((update, h) => table([update], ofHead(h)));
  const sums = table([total], "attn-block");
  const sign = (text) => drawing("text", { class: "attn-quiet", "text-anchor": "middle" }, text);
  const [times, equals] = [W_O.map(() => sign("×")), W_O.map(() => sign("="))];
  const pluses = W_O.map((_, h) => sign(h ? "+" : ""));
  const together = drawing("text", { x: right - 8, class: "attn-quiet", "text-anchor": "end" }, "added up:");
  const go = (apart) => change({ apart: Math.max(0, Math.min(1, Math.round(apart * 100) / 100)) });
  const grip = handle({
    label: "how far the blocks are apart",
    onMove: ([, y]) => go((y - 8 - top - H * k * tall) / (gap * (H - 1) || 1)),
    onStep: ([across, up]) => go(read().apart + (across + up) / 10),
  }, drawing("circle", { r: 9, class: "attn-knob" }));
  put(grip.group, { "aria-valuemin": 0, "aria-valuemax": 1 });
  const titles = [[["the heads’ mixtures"], left], [["W", drawing("tspan", { dy: 3, "font-size": 9 }, "O")], middle], [["update"], right]];
  const scene = movingScene(`0 0 ${wide} ${end + tall + 4}`,
    "A row of numbers for each head, times its block of rows of W_O; the products are added up",
    ...titles.map(([title, x]) => drawing("text", { x, y: 14, class: "attn-tick" }, ...title)),
    ...[...rows, ...blocks, ...written, sums].map((one) => one.group), ...times, ...equals, ...pluses, together, grip.group);
  const way = choice({
    legend: "The heads", labels: ["side by side", "each with its own block"], onChoose: (i) => change({ apart: i }),
  });
  const entry = choice({
    legend: "Write out entry", labels: total.map((_, i) => String(i + 1)), onChoose: (i) => change({ entry: i }),
  });
  draw(scene, box("attn-controls", way.row, entry.row), line, reset);

  const glide = gliding(([apart]) => {
    const between = (from, to) => from + (to - from) * apart;
    const move = (group, x, y) => put(group, { transform: `translate(${x},${y})` });
    const half = top + ((H * k - 1) / 2) * tall;
    W_O.forEach((_, h) => {
      const at = top + h * (k * tall + gap * apart), y = between(half, at + ((k - 1) / 2) * tall);
      move(rows[h].group, between(left + cell * k * h, left + cell * k * (H - 1)), y);
      move(blocks[h].group, middle, at);
      move(written[h].group, right, y);
      put(written[h].group, { opacity: Math.min(1, 2 * apart) });
      put(times[h], { x: middle - space / 2 - 1, y: y + 17 });
      put(equals[h], { x: right - space / 2 - 1, y: y + 17 });
      put(pluses[h], { x: right + (cell * d) / 2, y: y - (k * tall + gap * apart) / 2 + 17, opacity: Math.max(0, 2 * apart - 1) });
    });
    move(sums.group, right, between(half, end));
    put(together, { y: between(half, end) + 17, opacity: apart });
    grip.set([middle + (cell * d) / 2, top + H * k * tall + gap * (H - 1) * apart + 8], apart, `${format(100 * apart, 0)} % apart`);
  }, 600);

  return (state) => {
    const i = state.entry;
    [...blocks, ...written, sums].forEach((one) =>
      one.cells.forEach((row) => row.forEach((node, x) => node.classList.toggle("attn-column", x === i))));
    way.set([0, 1].indexOf(state.apart));
    entry.set(i);
    glide([state.apart], grip.held());
    const bracketed = (number) => (number < 0 ? `(${short(number)})` : short(number));
    const sumsOf = mixtures.map((row, h) =>
      row.map((number, j) => `${bracketed(number)} × ${bracketed(W_O[h][j][i])}`).join(" + "));
    const apart = state.apart >= 0.5;
    const terms = apart ? `${sumsOf.map((one) => `[${one}]`).join(" + ")} = ${updates.map((one) => bracketed(one[i])).join(" + ")}`
      : sumsOf.join(" + ");
    tell(`${apart ? "Each head with its own block" : "One long row, one tall matrix"}: entry ${i + 1} is ${terms} = ${short(total[i])}. `
      + `${apart ? "The products are the same, only the brackets are new." : "Pull the matrix apart."}`);
  };
}

const render = figure({ label: "Blocks explorer", names: STATE, build, fixed: ({ mixtures, W_O }) => [mixtures, W_O] });

export default { render, addUp };
