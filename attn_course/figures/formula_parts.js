// A formula whose parts answer when they are pressed.

import { button, drawing, element, figure } from "./common.js";

// A part as it is set: a letter alone in italics, raised and lowered ones in their places, and a root with its bar.
function setMath(text) {
  return text.split(/(√\S+|[ᵀₖ]|(?<!\p{L})\p{L}(?!\p{Ll}))/u).map((part, i) => {
    if (i % 2 === 0) return part;
    if (part === "ᵀ") return element("sup", {}, "T");
    if (part === "ₖ") return element("sub", {}, element("var", {}, "k"));
    if (part[0] !== "√") return element("var", {}, part);
    const sign = drawing("svg", { viewBox: "0 0 10 20", preserveAspectRatio: "none", role: "img", "aria-label": "√" },
      drawing("path", { d: "M0 12L3 10.5L6 19L10 0", "vector-effect": "non-scaling-stroke" }));
    return element("span", { className: "attn-root" }, sign, ...setMath(part.slice(1)));
  });
}

function build({ read, change, reset, draw, line, tell }) {
  const parts = read().parts.map(([symbol, role, told], i) => {
    if (!told) return element("span", { className: "attn-symbol" }, ...setMath(symbol));
    const press = button(`attn-symbol${role ? ` attn-role-${role}` : ""}`, "", () => change({ chosen: i }));
    press.append(...setMath(symbol));
    press.setAttribute("aria-description", "What is this?");
    return press;
  });
  draw(element("p", { className: "attn-formula" }, ...parts), line, reset);
  return ({ parts: told, chosen }) => {
    parts.forEach((part, i) => told[i][2] && part.setAttribute("aria-pressed", i === chosen));
    tell(chosen < 0 ? "Press a part of the formula." : told[chosen][2]);
  };
}

const render = figure({ label: "Formula", build, fixed: ({ parts }) => [parts] });

export default { render };
