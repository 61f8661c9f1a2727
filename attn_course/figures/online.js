// Softmax without the whole row: scores come one by one, and three things are kept. Where a new largest score comes,
// all that was summed before is scaled down.

import { box, drawing, figure, format, gliding, handle, player, put, } from "./common.js";

const WIDE = 340;

// What is kept after each of the first scores: the largest m, the sum t and the mixture o, both with m subtracted.
function readOnline(scores, values) {
  let m = -Infinity, t = 0, o = 0;
  return scores.map((score, i) => {
    const larger = Math.max(m, score), kept = Math.exp(m - larger), power = Math.exp(score - larger);
    [m, t, o] = [larger, t * kept + power, o * kept + power * values[i]];
    return { m, t, o, kept, power };
  });
}

function build({ read, change, reset, line, tell, draw }) {
  const { scores, values } = read(), n = scores.length, steps = readOnline(scores, values);
  const [low, high] = [Math.min(...scores), Math.max(...scores)], most = Math.max(...steps.map((step) => step.t));
  const [least, greatest] = [Math.min(...values), Math.max(...values)];
  const x = (i) => ((i + 0.5) * WIDE) / n;
  const y = (score) => 100 - (80 * (score - low)) / (high - low || 1);
  const along = (value) => (WIDE * (value - least)) / (greatest - least || 1);
  const play = player({ last: n - 1, now: () => read().seen - 1, goTo: (i) => change({ seen: i + 1 }) });
  const place = handle({
    label: "scores that have come",
    onMove: ([at]) => play.go(Math.round((at * n) / WIDE - 0.5)),
    onStep: ([right, up]) => play.go(read().seen - 1 + right + up),
  }, drawing("rect", { x: -WIDE / n / 2, y: -106, width: WIDE / n, height: 100, class: "attn-frame" }),
  drawing("circle", { r: 8, class: "attn-grip" }));
  const text = (at, className, words) => drawing("text", { ...at, class: className }, words);
  const dots = scores.map((_, i) => drawing("circle", { cx: x(i), class: "attn-come" }));
  const top = drawing("line", { x1: 0, class: "attn-top" });
  const topName = text({ x: WIDE + 6 }, "attn-ink-0 attn-name", "m");
  const title = text({ y: 8 }, "attn-mark", "the scores as they come; the largest so far, m");
  const blocks = scores.map(() => drawing("rect", { y: 158, height: 26, class: "attn-of-patterns" }));
  const ghost = drawing("rect", { x: 0, y: 154, height: 34, class: "attn-ghost attn-outlined" });
  const total = text({ y: 176 }, "attn-word", "");
  const axis = drawing("line", { x1: 0, x2: WIDE, y1: 240, y2: 240, class: "attn-axis" });
  const marks = values.map(along).map((at) => drawing("line", { x1: at, x2: at, y1: 233, y2: 247, class: "attn-come" }));
  const output = drawing("circle", { cy: 240, r: 7, class: "attn-mixed" });
  const scene = drawing("svg", {
    viewBox: "-14 -6 404 266", class: "attn-scene attn-modest", role: "group",
    "aria-label": "Scores that come one by one, and what is kept of them",
  }, title, ...dots, top, topName, text({ y: 150 }, "attn-mark", "the sum so far, t: a block for each score"),
  ...blocks, ghost, total, text({ y: 224 }, "attn-mark", "the output so far, o ÷ t, among the values"),
  axis, ...marks, output, place.group);
  draw(scene, line, box("attn-controls", play.press, reset));

  const unit = (WIDE - 20) / most;
  const show = gliding(([m, sumBefore, out, ...rest]) => {
    put(top, { x2: WIDE, y1: m, y2: m });
    put(topName, { y: m + 5 });
    put(ghost, { width: sumBefore * unit, visibility: sumBefore ? "visible" : "hidden" });
    put(output, { cx: out });
    let left = 0;
    dots.forEach((dot, i) => {
      put(dot, { cy: rest[i] });
      const width = rest[n + i] * unit;
      put(blocks[i], { x: left, width: Math.max(0, width - 1.5), visibility: width > 0 ? "visible" : "hidden" });
      left += width;
    });
    put(total, { x: left + 6 });
  });

  return ({ seen }, before) => {
    const { m, t, o, kept } = steps[seen - 1], was = before ? steps[before.seen - 1].t : 0;
    dots.forEach((dot, i) => put(dot, { r: i < seen ? 5 : 3, class: i < seen ? "attn-come" : "attn-come attn-unseen" }));
    marks.forEach((mark, i) => put(mark, { visibility: i < seen ? "visible" : "hidden" }));
    place.set([x(seen - 1), 122], seen, `${seen} of ${n}`);
    total.textContent = format(t);
    show([y(m), was, along(o / t), ...scores.map((score, i) => (i < seen ? y(score) : 60)),
      ...scores.map((score, i) => (i < seen ? Math.exp(score - m) : 0))], place.held());
    const score = format(scores[seen - 1]);
    const news = seen === 1 ? `The first score, ${score}, is the largest so far, and the sum begins with e to the 0, which is 1.`
      : kept < 1 ? `The new score, ${score}, is the largest: what was summed before is multiplied by ${format(kept, 3)}.`
        : `The new score, ${score}, is not above m: it adds ${format(steps[seen - 1].power, 3)} to the sum.`;
    const end = seen < n ? "" : " ✓ All have come: the same as softmax over the whole row.";
    tell(`${news} m = ${format(m)}, t = ${format(t)}, output ${format(o / t)}.${end}`);
  };
}

const render = figure({
  label: "Online softmax", build,
  fixed: ({ scores, values }) => [scores, values],
});

export default { render, readOnline };
