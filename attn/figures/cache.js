// One token at a time: at each step the whole table anew, or, with keys and values kept, one row. The reader pulls the
// corner of the table.

const LONGEST = 12;
const SIDE = 180; // of the longest table, in units of the drawing

// What has been computed when n tokens are written: rows through the matrices, and pairs, without a cache and with one.
function workOf(n) {
  const steps = Array.from({ length: n }, (_, i) => i + 1);
  return { tokens: [sum(steps), n], pairs: [sum(steps.map((i) => i * i)), sum(steps)] };
}

function build({ read, change, reset, line, tell, draw }) {
  const play = player({ last: LONGEST - 1, now: () => read().n_tokens - 1, goTo: (i) => change({ n_tokens: i + 1 }) });
  const unit = SIDE / LONGEST, second = SIDE + 26;
  const corner = handle({
    label: "tokens written",
    onMove: ([x, y]) => play.go(Math.round((x + y) / 2 / unit) - 1),
    onStep: ([right, up]) => play.go(read().n_tokens - 1 + right + up),
  }, drawing("circle", { cx: 7, cy: 7, r: 7, class: "attn-grip" }));
  const [anew, masked, kept, fresh, ghost] = ["anew", "masked", "kept", "anew", "ghost"].map((name) =>
    drawing("path", { class: `attn-${name}` }));
  const text = (x, words) => drawing("text", { x, y: -8, class: "attn-word" }, words);
  const scene = movingScene(`-4 -26 ${2 * SIDE + 48} ${SIDE + 50}`,
    "Two tables of pairs: on the left all of it is computed at this step, on the right its last row.",
    masked, anew, kept, fresh, ghost, text(0, "everything anew"), text(second, "with a cache"), corner.group);
  const tallies = ["rows, anew", "with a cache", "pairs, anew", "with a cache"].map(countedBar);
  draw(caption("Orange: computed at this step. Pull the corner, or let it write."),
    box("attn-panes attn-areas", scene, box("attn-beside attn-tallies",
      caption("In all steps so far: rows that go through the matrices of a layer, and pairs of tokens"),
      ...tallies.map((bar) => bar.row))), line, box("attn-controls", play.press, reset));

  const cell = (left, i, j) => `M${left + j * unit},${i * unit}h${unit - 1}v${unit - 1}h${1 - unit}z`;
  const cells = (left, n, holds) => Array.from({ length: n * n }, (_, k) => [Math.floor(k / n), k % n])
    .filter(([i, j]) => holds(i, j)).map(([i, j]) => cell(left, i, j)).join("");

  return ({ n_tokens: n }, before) => {
    put(anew, { d: cells(0, n, (i, j) => j <= i) });
    put(masked, { d: cells(0, n, (i, j) => j > i) });
    put(kept, { d: cells(second, n, (i, j) => j <= i && i < n - 1) });
    put(fresh, { d: cells(second, n, (i) => i === n - 1) });
    const was = before ? before.n_tokens * unit : 0;
    put(ghost, { d: `M0,0h${was}v${was}h${-was}z` });
    corner.set([n * unit, n * unit], n, String(n));
    const { tokens, pairs } = workOf(n), most = Object.values(workOf(LONGEST));
    [...tokens, ...pairs].forEach((count, i) => tallies[i].set(count / most[i >> 1][0], grouped(count)));
    const times = ([without, saved]) => `${Number((without / saved).toFixed(1))} times`;
    tell(`${n} ${n === 1 ? "token is" : "tokens are"} written. Without a cache: ${times(tokens)} as many rows through `
      + `the matrices, ${times(pairs)} as many pairs.`);
  };
}

const render = figure({ label: "Cache explorer", names: STATE, build });

export default { render, workOf };
