// The clocks: the vector of a place as the hands of clocks, each with a speed of its own. The reader moves two places, or
// both, and sees that the dot product of their vectors follows the distance alone.

// How far each hand turns at each place.
function speeds(entries) {
  return Array.from({ length: entries / 2 }, (_, m) => 10000 ** ((-2 * m) / entries));
}

// The vector of a place: for each hand, how far its tip is to the right and how far up.
function vectorOf(place, entries) {
  return speeds(entries).flatMap((speed) => [Math.sin(speed * place), Math.cos(speed * place)]);
}

const NAMES = ["one", "other"];
const VIEW = "0 0 340 190", HIGH = 50, BAR = { y: 146, half: 155 };

function clock(x, radius, speed) {
  const hands = NAMES.map((name) => drawing("line", { class: `attn-hand attn-hand-${name}` }));
  const wedge = drawing("path", { class: "attn-wedge" }), share = lettering(x, HIGH + 72, "attn-plane-label");
  const angle = Number(((speed * 180) / Math.PI).toPrecision(2));
  const set = (places) => {
    const angles = places.map((place) => Math.PI / 2 - speed * place);
    hands.forEach((hand, i) => put(hand, {
      x1: x, y1: HIGH, x2: x + 0.9 * radius * Math.cos(angles[i]), y2: HIGH - 0.9 * radius * Math.sin(angles[i]),
    }));
    put(wedge, { d: slice([x, HIGH], 0.6 * radius, ...angles) });
    share.textContent = format(Math.cos(angles[0] - angles[1]));
  };
  const face = drawing("circle", { cx: x, cy: HIGH, r: radius, class: "attn-dial" });
  return { nodes: [face, wedge, ...hands, lettering(x, HIGH + 52, "attn-tick", `${angle}°`), share], set };
}

function build({ read, change, reset, line, tell, draw }) {
  const { last, entries } = read(), pairs = entries / 2;
  const clocks = speeds(entries).map((speed, m) =>
    clock((340 * (m + 0.5)) / pairs, Math.min(36, 170 / pairs - 4), speed));
  const names = NAMES.map((_, i) => lettering(0, i ? 28 : -17, "attn-plane-label"));
  const words = twoPlaces({
    labels: NAMES.map((name) => `${name} place`), last, y: 96, apart: 46, from: 40, to: 300,
    marks: NAMES.map((name, i) => [
      drawing("line", { y1: 0, y2: i ? -46 : 46, class: "attn-axis" }),
      drawing("circle", { r: 10, class: `attn-hand-${name}` }), names[i]]),
    read: () => [read().one, read().other], onMove: ([one, other]) => change({ one, other }),
  });
  const bar = drawing("rect", { y: BAR.y - 8, height: 16, class: "attn-amount" });
  const was = drawing("line", { y1: BAR.y - 12, y2: BAR.y + 12, class: "attn-was" });
  const total = lettering(170, 182, "attn-plane-label");

  draw(
    box("attn-panes",
      box("attn-beside", caption("Move a place along the line, or both by the ring between them."),
        movingScene(VIEW, "Two places on a line", ...words.nodes)),
      box("attn-beside", caption("A clock for each two entries: how far its hand turns at each place, and its share of "
        + "the dot product."),
        movingScene(VIEW, `${pairs} clocks`, ...clocks.flatMap(({ nodes }) => nodes),
          drawing("path", { d: `M15,${BAR.y}h${2 * BAR.half}m${-BAR.half},-12v24`, class: "attn-axis" }), bar, was, total))),
    line, reset);

  const product = (one, other) => dot(vectorOf(one, entries), vectorOf(other, entries));
  const across = (number) => (BAR.half * number) / pairs;
  let places;
  const glide = gliding((shown) => {
    const found = product(...shown), end = across(found);
    words.set(shown, places);
    names.forEach((name, i) => (name.textContent = String(places[i])));
    clocks.forEach(({ set }) => set(shown));
    put(bar, { x: 170 + Math.min(0, end), width: Math.abs(end) });
    total.textContent = `dot product ${format(found)}`;
  });

  return ({ one, other }, before) => {
    places = [one, other];
    const old = before ?? { one, other }, by = one - old.one, end = 170 + across(product(old.one, old.other));
    put(was, { x1: end, x2: end });
    glide(places, words.held());
    const apart = Math.abs(one - other);
    tell(`The places are ${apart} apart; the dot product of their vectors is ${format(product(one, other))}, at most `
      + `${pairs}.` + (by && by === other - old.other
      ? ` Both moved by ${format(by, 0)}: the hands turned, and the dot product is the same.` : ""));
  };
}

const render = figure({ label: "Clocks", names: STATE, build, fixed: ({ last, entries }) => [last, entries] });

export default { render, vectorOf };
