// The heads explorer: several heads on one sentence. Each head has a line with arcs from the word that asks, as wide as its
// weights, and what the heads write to that word is added up arrow by arrow. The reader presses words and lines.

const MOST_HEADED_WORDS = 8;

function product(A, B) {
  const columns = B[0].map((_, j) => B.map((row) => row[j]));
  return A.map((row) => columns.map((column) => dot(row, column)));
}

// As attn.multi_head_attention, each head's proposal kept apart. A word that is not known has no features.
function attendHeads({ tokens, known, W_Q, W_K, W_V, W_O }) {
  const nothing = W_O[0][0].map(() => 0);
  const X = tokens.map((word) => (Object.hasOwn(known, word) ? known[word] : nothing));
  const weights = W_Q.map((_, h) => {
    const K = product(X, W_K[h]);
    return product(X, W_Q[h]).map((q) => softmax(K.map((k) => dot(q, k) / Math.sqrt(q.length))));
  });
  const updates = W_V.map((_, h) => product(product(weights[h], product(X, W_V[h])), W_O[h]));
  const total = X.map((row, i) => row.map((_, d) => sum(updates.map((update) => update[i][d]))));
  return { weights, updates, total };
}

// The heads on their lines: from the word that asks, an arc to each word, as wide as its weight there.
function drawLanes({ tokens, heads }, wide) {
  const band = 78;
  const lanes = heads.map((_, h) => arcs(tokens.length, [wide, band - 44], band * (h + 1) - 20));
  const most = heads.map((_, h) => drawing("text", { y: band * (h + 1) - 3, class: "attn-tick", "text-anchor": "middle" }));
  const scene = drawing("svg", { viewBox: `0 0 ${wide} ${band * heads.length}`, class: "attn-scene", role: "img" },
    ...lanes.map((lane) => lane.group), ...most);
  return { lanes, most, scene };
}

// What the heads write to one word: for each entry of the word, their arrows, each from where the one above it ends.
function drawSums({ heads, axes }, written, wide) {
  const left = 84, long = wide - left - 106, lane = 14, pitch = lane * heads.length + 16;
  const rows = written.map((d, r) => {
    const top = 4 + pitch * r;
    const arrows = heads.map((name, h) => {
      const y = top + lane * (h + 0.5);
      const shaft = drawing("line", { y1: y, y2: y }), tip = drawing("path", { class: "attn-tip" });
      const text = drawing("text", { y: y + 4, class: "attn-tick" }, name);
      return { y, shaft, tip, text, group: drawing("g", { class: "attn-value-arrow" }, shaft, tip, text) };
    });
    const zero = drawing("line", { y1: top, y2: top + pitch - 12, class: "attn-axis" });
    const ghost = drawing("circle", { cy: top + lane * heads.length, r: 5, class: "attn-landmark attn-ghost" });
    const end = drawing("circle", { cy: top + lane * heads.length, r: 5, class: "attn-sum-point" });
    const drop = drawing("line", { y1: top, y2: top + lane * heads.length, class: "attn-axis", "stroke-dasharray": "2 3" });
    const middle = top + (lane * heads.length) / 2 + 5;
    const name = drawing("text", { x: left - 10, y: middle, class: "attn-axis-label", "text-anchor": "end" }, axes[d]);
    const number = drawing("text", { x: wide - 4, y: middle, class: "attn-axis-label", "text-anchor": "end" });
    const group = drawing("g", {}, zero, drop, ...arrows.map((arrow) => arrow.group), ghost, end, name, number);
    return { arrows, zero, drop, ghost, end, number, group };
  });
  const scene = drawing("svg", { viewBox: `0 0 ${wide} ${pitch * written.length}`, class: "attn-scene", role: "img" },
    ...rows.map((row) => row.group));

  const across = (x, [low, high]) => left + (long * (x - low)) / (high - low);
  // `parts[r][h]`: what head h writes to entry r.
  const set = (parts, ends) => rows.forEach(({ arrows, zero, drop, end, number }, r) => {
    const at = (x) => across(x, ends);
    const total = arrows.reduce((from, { y, shaft, tip, text }, h) => {
      const to = from + parts[r][h];
      const [x1, x2] = [at(from), at(to)], ahead = Math.sign(x2 - x1) || 1, length = Math.abs(x2 - x1);
      put(shaft, { x1, x2: x2 - ahead * Math.min(6, length) });
      put(tip, { d: `M${x2},${y}l${-ahead * Math.min(8, length)},-5v10Z` });
      put(text, { x: x2 + 6 * ahead, "text-anchor": ahead > 0 ? "start" : "end", visibility: length < 8 ? "hidden" : "visible" });
      return to;
    }, 0);
    put(zero, { x1: at(0), x2: at(0) });
    put(drop, { x1: at(total), x2: at(total) });
    put(end, { cx: at(total) });
    number.textContent = format(total);
  });
  const remember = (totals, ends) => rows.forEach(({ ghost }, r) =>
    put(ghost, totals ? { cx: across(totals[r], ends), visibility: "visible" } : { visibility: "hidden" }));
  const choose = (head) => rows.forEach(({ arrows }) =>
    arrows.forEach((arrow, h) => arrow.group.classList.toggle("attn-lesser", h !== head)));
  return { set, remember, choose, scene };
}

function build({ read, change, reset, line, tell, draw }) {
  const { tokens, heads, axes, known, W_O } = read();
  const n = tokens.length, wide = sceneWidth();
  const written = axes.map((_, d) => d).filter((d) => W_O.some((rows) => rows.some((row) => row[d] !== 0)));
  const head = choice({ legend: "Head", labels: heads, onChoose: (i) => change({ head: i }) });
  head.row.classList.add("attn-lanes");
  const query = sentence({ legend: "Word", labels: tokens, onChoose: (i) => change({ query: i }) });
  const { lanes, most, scene } = drawLanes(read(), wide);
  const sums = drawSums(read(), written, wide), sumsTitle = caption("");
  const shown = grid(n, n);
  const pattern = tableOf({
    title: "", columns: tokens.map(heading("col", "attn-key")), rows: tokens.map(heading("row", "attn-query")),
    cells: shown,
  });
  const added = grid(heads.length + 1, written.length);
  const shares = tableOf({
    title: "", columns: written.map((d) => heading("col", "attn-axis-name")(axes[d])),
    rows: [...heads, "ΔE"].map(heading("row")), cells: added,
  });

  const words = wordField({
    words: tokens, most: MOST_HEADED_WORDS, note: `; these mean something here: ${Object.keys(known).join(", ")}`,
    onWords: (own) => change({ tokens: own, query: own.length - 1 }),
  });
  draw(
    caption("Press a word to let it ask, or a line to choose its head."), box("attn-stack", scene, head.row), query.row, sumsTitle, sums.scene, line,
    folded("All the numbers, of the line that is pressed",
      box("attn-panes", scrolling("Pattern", pattern.table), scrolling("Update", shares.table))),
    box("attn-controls", words, reset));

  const glide = gliding(([from, low, high, ...numbers]) => {
    lanes.forEach((lane, h) => lane.set(from, numbers.slice(n * h, n * (h + 1))));
    const parts = numbers.slice(n * heads.length);
    sums.set(written.map((_, r) => parts.slice(heads.length * r, heads.length * (r + 1))), [low, high]);
  });

  return (state, before) => {
    const { weights, updates, total } = attendHeads(state);
    const [name, word] = [heads[state.head], tokens[state.query]];
    const rows = weights.map((pattern) => pattern[state.query]), sumsHere = total[state.query];
    const parts = written.map((d) => updates.map((update) => update[state.query][d]));
    const running = parts.flatMap((row) => row.map((_, h) => sum(row.slice(0, h + 1))));
    const old = before && attendHeads(before).total[before.query];
    const past = old ? written.map((d) => old[d]) : [];
    const ends = [1.2 * Math.min(0, ...running, ...past), Math.max(1, ...running, ...past)];
    const even = (row) => Math.max(...row) - Math.min(...row) < 0.005;
    head.set(state.head);
    query.set(state.query);
    sums.choose(state.head);
    sums.remember(old && past, ends);
    most.forEach((text, h) => {
      const place = largest(rows[h]);
      put(text, { x: even(rows[h]) ? wide / 2 : lanes[h].across(place) });
      text.textContent = even(rows[h]) ? `${format(rows[h][0])} to each` : format(rows[h][place]);
    });
    glide([state.query, ...ends, ...rows.flat(), ...parts.flat()]);
    const looks = (row) => (even(row) ? `at all words alike (${format(row[0])} each)`
      : `most at “${tokens[largest(row)]}” (${format(Math.max(...row))})`);
    put(scene, { "aria-label": `Where “${word}” looks. ${heads.map((one, h) => `${one}: ${looks(rows[h])}`).join("; ")}` });
    sumsTitle.textContent = `What each head adds to “${word}”, arrow after arrow:`;
    put(sums.scene, { "aria-label": written.map((d) => `${axes[d]}: ${heads.map((one, h) =>
      `${one} ${format(updates[h][state.query][d])}`).join(", ")}; together ${format(sumsHere[d])}`).join(". ") });
    pattern.caption.textContent = `Pattern of the head “${name}”`;
    fill(shown, weights[state.head]);
    pattern.lines.forEach((one, i) => one.classList.toggle("attn-chosen", i === state.query));
    shares.caption.textContent = `What each head adds to “${word}”`;
    fill(added, [...updates, total].map((one) => written.map((d) => one[state.query][d])), Math.abs);
    shares.lines.forEach((one, h) => one.classList.toggle("attn-chosen", h === state.head));
    const moved = written.filter((d) => Math.abs(sumsHere[d]) >= 0.005).map((d) => `${axes[d]} ${format(sumsHere[d])}`);
    tell(`In the head “${name}”, “${word}” looks ${looks(rows[state.head])}. `
      + `All heads together add ${moved.length ? moved.join(", ") : "nothing"}.`);
  };
}

const render = figure({
  label: "Heads explorer", names: STATE, build,
  fixed: ({ tokens, known, heads, axes, W_O }) => [tokens, known, heads, axes, W_O],
});

export default { render, attendHeads };
