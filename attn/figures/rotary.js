// The rotary explorer: one pair of a query and of a key, turned by their positions. The reader moves either or both, and
// sees that the score follows the distance alone.

function turnPair([x, y], angle) {
  return [x * Math.cos(angle) - y * Math.sin(angle), x * Math.sin(angle) + y * Math.cos(angle)];
}

function compare({ query, key, turn, query_at: queryAt, key_at: keyAt }) {
  const turned = [turnPair(query, turn * queryAt), turnPair(key, turn * keyAt)];
  return { turned, score: dot(...turned) };
}

function build({ read, change, reset, line, tell, draw }) {
  const { last } = read();
  const place = (label, className, name) => slider({
    label, className, min: 0, max: last, step: 1, show: String, onInput: (at) => change({ [name]: at }),
  });
  const query = place("query stands at", "attn-query", "query_at");
  const key = place("key stands at", "attn-key", "key_at");
  const both = slider({
    label: "both, together", min: 0, max: last, step: 1, show: String,
    onInput: (first) => {
      const { query_at: queryAt, key_at: keyAt } = read();
      const by = first - Math.min(queryAt, keyAt);
      change({ query_at: queryAt + by, key_at: keyAt + by });
    },
  });
  const turn = slider({ label: "angle a position", min: 0, max: 1, step: 0.05, onInput: (angle) => change({ turn: angle }) });
  const plane = emptyPlane("A query and a key, each turned by its position; the numbers are below.");
  plane.classList.add("attn-still");
  const arrows = ["attn-query-arrow", "attn-key-arrow"].flatMap((name) => [`${name} attn-unturned`, name]).map(planeArrow);
  plane.append(...arrows.map(({ group }) => group));

  draw(box("attn-panes", plane, box("attn-knobs attn-beside", query.row, key.row, both.row, turn.row)), line, reset);

  return (state) => {
    const { turned: [turnedQuery, turnedKey], score } = compare(state);
    const { query_at: queryAt, key_at: keyAt } = state;
    query.set(queryAt);
    key.set(keyAt);
    both.row.querySelector("input").max = last - Math.abs(queryAt - keyAt);
    both.set(Math.min(queryAt, keyAt));
    turn.set(state.turn);
    [state.query, turnedQuery, state.key, turnedKey].forEach((vector, i) => arrows[i].set([0, 0], vector));
    const apart = Math.abs(queryAt - keyAt);
    tell(`Turned: query (${turnedQuery.map((x) => format(x)).join(", ")}), key (${turnedKey.map((x) => format(x)).join(", ")}). `
      + `They stand ${apart} apart; the angle between them has changed by ${format(apart * state.turn)}. Score ${format(score)}.`);
  };
}

const render = figure({
  label: "Rotary explorer", names: ["query", "key", "turn", "query_at", "key_at", "last"], build, fixed: ({ last }) => last,
});

export default { render, compare };
