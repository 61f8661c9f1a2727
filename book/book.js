// What the theme leaves undone.

document.documentElement.classList.add("attn-scripted");

// It asks for light or dark only once its programs have come; until then a page would have neither's colours and borders.
const { dataset } = document.documentElement;
if (dataset.mode === "auto") dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

// It reports every page load on the console. A quiet console lets a real problem be seen.
const log = console.log;
console.log = (...words) => /^\[(PST|togglebutton)\]/.test(words[0]) || log(...words);

// Its buttons die where a browser keeps nothing. There, what they keep lasts as long as the page is open.
try {
  localStorage.getItem("mode");
} catch {
  const notes = new Map();
  const value = {
    getItem: (key) => notes.get(key) ?? null,
    setItem: (key, text) => notes.set(key, text),
    removeItem: (key) => notes.delete(key),
  };
  Object.defineProperty(window, "localStorage", { value });
}

// Its search has a name that does not say what stands on it, and its logo is no landmark.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelector(".search-button-field")?.removeAttribute("aria-label");
  const logo = document.querySelector(".sidebar-primary-item:has(> .navbar-brand)");
  logo?.setAttribute("role", "navigation");
  logo?.setAttribute("aria-label", "Title page");
});

// What stands after a guess is not shown until the guess is there to be made; if it never comes, all is shown.
if (localStorage.getItem("attention-worked-out: show all") !== "yes") {
  document.documentElement.classList.add("attn-asks");
  addEventListener("load", () => document.documentElement.classList.remove("attn-asks"));
}

// Paper is white: printing borrows the light theme.
for (const [event, from, to] of [["beforeprint", "theme", "themeOnScreen"], ["afterprint", "themeOnScreen", "theme"]]) {
  addEventListener(event, () => {
    dataset[to] = dataset[from];
    if (event === "beforeprint") dataset.theme = "light";
  });
}

// Who copies a formula gets its LaTeX.
document.addEventListener("copy", (event) => {
  const selection = getSelection();
  if (!selection.rangeCount || event.target.closest?.("input, textarea")) return; // a field has a selection of its own
  const copied = selection.getRangeAt(0).cloneContents();
  const formulas = copied.querySelectorAll("[data-latex]");
  formulas.forEach((formula) => {
    const mark = formula.tagName === "DIV" ? "$$" : "$";
    formula.replaceWith(mark + formula.dataset.latex + mark);
  });
  if (!formulas.length) return;
  event.clipboardData.setData("text/plain", copied.textContent);
  event.preventDefault();
});
