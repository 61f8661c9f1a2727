// Exercises that are answered in the page, and judged as `check` of attn_course/exercises.py judges them.

import { box, button, choice, control, element, grid, tableOf } from "./figures/common.js";
import { solvedBoxes } from "../book/progress.js";

const GROUPED = /^-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/; // 1,500, but not 0,25
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

// A number as a reader writes it: 0.25, -3, 1/3, 2e-4, 1,500; NaN for anything else.
function numberIn(text) {
  const parts = text.replaceAll("−", "-").split("/").map((part) => {
    const plain = GROUPED.test(part.trim()) ? part.trim().replaceAll(",", "") : part.trim();
    return DECIMAL.test(plain) ? Number(plain) : NaN;
  });
  const number = parts.length > 2 ? NaN : parts.reduce((over, under) => over / under);
  return Number.isFinite(number) ? number : NaN;
}

// Whether what was given, flat, is right by the rule of an exercise.
function isSolved({ kind, right, room }, given) {
  if (kind === "text") return given[0].trim() === right;
  const wanted = [right].flat(Infinity).map(Number);
  return wanted.length === given.length && wanted.every((number, i) =>
    Math.abs(Number(given[i]) - number) <= room + 1e-9 * Math.abs(number));
}

// What the reader fills in: a field for text or a number, a table of fields, or a table of marks; `read` gives what is in it.
function fieldsFor({ kind, shape = [] }) {
  const [rows, columns] = shape.length === 2 ? shape : [1, shape[0] ?? 1];
  const named = (i, j) => (shape.length === 2 ? `Row ${i + 1}, column ${j + 1}` : shape.length ? `Number ${j + 1}` : "Your answer");
  if (kind === "truth" && shape.length) {
    const cells = grid(rows, columns, (i, j) => {
      const press = button("attn-cell attn-mark", "", () => {
        const marked = press.getAttribute("aria-pressed") === "false";
        press.setAttribute("aria-pressed", String(marked));
        press.textContent = marked ? "True" : "";
      });
      press.setAttribute("aria-label", named(i, j));
      press.setAttribute("aria-pressed", "false");
      return press;
    });
    const { table } = tableOf({ title: "Press the cells that are True.", cells });
    return { node: box("attn-scroll", table), read: () => cells.flat().map((press) => press.getAttribute("aria-pressed") === "true") };
  }
  if (kind === "truth") {
    let chosen = -1;
    const { row } = choice({ legend: "Your answer", labels: ["True", "False"], onChoose: (i) => (chosen = i) });
    return { node: row, read: () => (chosen < 0 ? [""] : [chosen === 0]) };
  }
  const cells = grid(rows, columns, (i, j) =>
    control("text", { spellcheck: false, autocapitalize: "off", "aria-label": named(i, j) }));
  const node = shape.length ? box("attn-scroll", tableOf({ cells }).table) : element("label", {}, "Your answer ", cells[0][0]);
  return { node, read: () => cells.flat().map((input) => input.value) };
}

function bringExercise(place) {
  const rule = JSON.parse(place.dataset.exercise);
  const section = place.closest("section");
  const guide = document.querySelector('.bd-sidebar-primary a[href*="install_and_run"]')?.href;
  const way = guide ? element("a", { href: `${guide.split("#")[0]}#on-your-machine` }, "Run the chapter") : "Run the chapter";
  if (!rule) {
    place.replaceChildren(element("p", { className: "attn-explorable" }, "This one needs Python. ", way, ", put your answer in place of the dots, and run both cells."));
    return;
  }
  const needsCode = section.querySelector(":scope > p code"); // the task names something of the chapter's code
  const { node, read } = fieldsFor(rule);
  const said = element("p", { className: "attn-why", role: "status" });
  const form = element("form", { className: "attn-explorable attn-answer-form" },
    node, element("button", { type: "submit", className: "attn-button" }, "Check"), said);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const texts = read();
    const given = rule.kind === "numbers" ? texts.map(numberIn) : texts;
    const odd = rule.kind === "numbers" ? given.findIndex(Number.isNaN) : texts.indexOf("");
    const field = form.querySelectorAll("input")[odd];
    if (odd >= 0) {
      said.textContent = texts[odd] === "" ? (texts.length > 1 ? "Not all answered yet." : "Not answered yet.")
        : `“${texts[odd]}” is not a number; write 0.25 or 1/4.`;
      field.focus();
    } else if (isSolved(rule, given)) {
      said.textContent = "Right.";
      const solved = solvedBoxes[section.id];
      if (!solved.checked) solved.click();
    } else said.textContent = `Not yet. ${rule.hint}`;
  });
  place.replaceChildren(form);
  if (needsCode) form.prepend(element("p", {}, "You can work this out with Python and enter it here. ", way, "."));
  place.closest(".cell").previousElementSibling.classList.add("attn-in-page"); // the dots wait for Python
}

document.querySelectorAll("[data-exercise]").forEach(bringExercise);
