// A formula whose parts answer when they are pressed.

function build({ read, change, reset, draw, line, tell }) {
  const parts = read().parts.map(([symbol, role, told], i) => {
    if (!told) return element("span", { className: "attn-symbol" }, symbol);
    const press = button(`attn-symbol${role ? ` attn-role-${role}` : ""}`, symbol, () => change({ chosen: i }));
    press.setAttribute("aria-description", "What is this?");
    return press;
  });
  draw(element("p", { className: "attn-formula" }, ...parts), line, reset);
  return ({ parts: told, chosen }) => {
    parts.forEach((part, i) => told[i][2] && part.setAttribute("aria-pressed", i === chosen));
    tell(chosen < 0 ? "Press a part of the formula." : told[chosen][2]);
  };
}

const render = figure({ label: "Formula", names: STATE, build, fixed: ({ parts }) => [parts] });

export default { render };
