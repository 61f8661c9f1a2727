// The rotary explorer: one pair of a query and of a key, turned by their positions. The reader moves either word along a
// line, or both, and sees that the angle between them, and the score, follow the distance alone.

import {
  box, caption, dot, drawing, drawnArrow, figure, format, gliding, lettering, movingScene, put, slice, slider,
  twoPlaces,
} from "./common.js";

function turnPair([x, y], angle) {
  return [x * Math.cos(angle) - y * Math.sin(angle), x * Math.sin(angle) + y * Math.cos(angle)];
}

function compare({ query, key, turn, query_at: queryAt, key_at: keyAt }) {
  const turned = [turnPair(query, turn * queryAt), turnPair(key, turn * keyAt)];
  return { turned, score: dot(...turned) };
}

// The angle from one pair to another, the shorter way.
function angleBetween([a, b], [c, d]) {
  return Math.atan2(a * d - b * c, a * c + b * d);
}

const degrees = (angle) => `${format((angle * 180) / Math.PI, 1)}°`;
const ROLES = ["query", "key"];
const LAST = 40; // the highest position
const VIEW = "0 0 340 284", MIDDLE = [170, 112], ROUND = 100, BAR = { y: 250, half: 155 };

// A pair as a place in a drawing, so many units from the middle for each of its own.
function around([x, y], [right, up], unit) {
  return [x + right * unit, y - up * unit];
}

function build({ read, change, reset, line, tell, draw }) {
  const { query, key, names: called } = read(), own = [query, key];
  const longest = Math.max(...own.map((pair) => Math.hypot(...pair)));
  const arrows = ROLES.map((role) => drawnArrow(`attn-${role}-arrow`));
  const names = ROLES.map((role, i) => lettering(0, i ? 62 : -50, `attn-${role}-label`));
  const marks = ROLES.map((role, i) => {
    const unturned = drawnArrow(`attn-${role}-arrow attn-unturned`);
    unturned.set([0, 0], around([0, 0], own[i], 38 / longest));
    return [drawing("circle", { r: 44, class: "attn-dial" }),
      drawing("line", { y1: i ? -44 : 44, y2: i ? -70 : 70, class: "attn-axis" }),
      unturned.group, arrows[i].group, names[i]];
  });
  const words = twoPlaces({
    labels: called.slice(0, 2).map((name) => `${name} stands at`), marks, last: LAST, y: 142, apart: 70, from: 48, to: 292,
    read: () => [read().query_at, read().key_at],
    onMove: ([queryAt, keyAt]) => change({ query_at: queryAt, key_at: keyAt }),
  });

  const both = (more) => {
    const pair = ROLES.map((role) => drawnArrow(`attn-${role}-arrow${more}`));
    const set = (turned) => pair.forEach((arrow, i) => arrow.set(MIDDLE, around(MIDDLE, turned[i], 92 / longest)));
    return { nodes: pair.map(({ group }) => group), set };
  };
  const ghost = both(" attn-ghost"), now = both("");
  const wedge = drawing("path", { class: "attn-wedge" }), angle = lettering(MIDDLE[0], 232, "attn-plane-label");
  const bar = drawing("rect", { y: BAR.y - 8, height: 16, class: "attn-amount" });
  const score = lettering(MIDDLE[0], 280, "attn-plane-label");
  const was = drawing("line", { y1: BAR.y - 12, y2: BAR.y + 12, class: "attn-was" });
  const compared = movingScene(VIEW, `Both laid over each other, and their ${called[2]}`,
    drawing("circle", { cx: MIDDLE[0], cy: MIDDLE[1], r: ROUND, class: "attn-dial" }), wedge,
    ...ghost.nodes, ...now.nodes, angle,
    drawing("path", { d: `M${MIDDLE[0] - BAR.half},${BAR.y}h${2 * BAR.half}m${-BAR.half},-12v24`, class: "attn-axis" }),
    bar, was, score);
  const turn = slider({
    label: "angle per position", min: 0, max: 1, step: 0.05, show: degrees,
    onInput: (number) => change({ turn: number }),
  });

  draw(
    box("attn-panes",
      box("attn-beside", caption("Move one along the line, or both by the ring between them."),
        movingScene(VIEW, "Two arrows on a line of positions", ...words.nodes)),
      box("attn-beside", caption(`Both turned pairs, the angle between them, and their ${called[2]}.`), compared)),
    box("attn-knobs", turn.row), line, reset);

  const across = (number) => (BAR.half * number) / (Math.hypot(...query) * Math.hypot(...key) || 1);
  let places;
  const glide = gliding(([queryAt, keyAt, turning]) => {
    const { turned, score: found } = compare({ query, key, turn: turning, query_at: queryAt, key_at: keyAt });
    const opened = angleBetween(...turned);
    words.set([queryAt, keyAt], places);
    arrows.forEach((arrow, i) => arrow.set([0, 0], around([0, 0], turned[i], 38 / longest)));
    names.forEach((name, i) => (name.textContent = `${called[i]} at ${places[i]}`));
    now.set(turned);
    put(wedge, { d: slice(MIDDLE, 60, ...turned.map(([x, y]) => Math.atan2(y, x))) });
    angle.textContent = `angle ${degrees(Math.abs(opened))}`;
    const end = across(found);
    put(bar, { x: MIDDLE[0] + Math.min(0, end), width: Math.abs(end) });
    score.textContent = `${called[2]} ${format(found)}`;
  });

  return (state, before) => {
    const { query_at: queryAt, key_at: keyAt } = state, old = before ?? state;
    const { score: found } = compare(state), { turned: turnedBefore, score: foundBefore } = compare(old);
    places = [queryAt, keyAt];
    ghost.set(turnedBefore);
    put(was, { x1: MIDDLE[0] + across(foundBefore), x2: MIDDLE[0] + across(foundBefore) });
    turn.set(state.turn);
    glide([queryAt, keyAt, state.turn], words.held());
    const apart = Math.abs(queryAt - keyAt), by = queryAt - old.query_at;
    tell(`They stand ${apart} apart; the angle between them has changed by ${degrees(apart * state.turn)}. `
      + `Their ${called[2]} is ${format(found)}.`
      + (by && by === keyAt - old.key_at ? ` Both moved by ${format(by, 0)}: both arrows turned by `
        + `${degrees(by * state.turn)}, and angle and ${called[2]} are the same.` : ""));
  };
}

const render = figure({
  label: "Rotary explorer", build,
  fixed: ({ query, key, names }) => [query, key, names],
});

export default { render, compare, angleBetween };
