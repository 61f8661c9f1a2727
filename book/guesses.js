// Guesses: the reader is asked before a result (attn_course/figures/guess.js), which is hidden from the eye until something has
// been said. Search and print find it all the same, and without JavaScript nothing is hidden.

import { box, button, element, heading, scrolling, } from "../attn_course/figures/common.js";
import {
  hiddenBy, isShownAll, keep, KEY, nameOfGuess, remembered, showAllSwitch,
} from "../lab/share/jupyter/labextensions/attention-worked-out/static/kept.js";
import { chapter, counted, forgetThese, summary } from "./progress.js";

// The content of a paragraph, formulas and all, without links and without the bold words that ask.
function contentOf(node) {
  const copy = node.cloneNode(true);
  copy.querySelectorAll("a").forEach((link) => link.replaceWith(...link.childNodes));
  copy.querySelector("strong:first-child")?.remove();
  return [...copy.childNodes];
}

// What a guess hides, in a box of its own.
function resultAfter(cell) {
  const result = box("attn-result");
  const parts = hiddenBy(cell, [...cell.parentElement.children], ({ tagName }) => tagName === "SECTION");
  cell.after(result);
  result.append(...pictureFirst(parts));
  return result;
}

// Cells that follow each other without a word between them: their first picture, with its caption, answers the guess.
function pictureFirst(parts) {
  const prose = parts.findIndex((part) => !part.matches(".cell, .attn-claims"));
  const drawn = parts.findIndex((part) => part.matches(".cell") && part.querySelector(".attn-figure, .attn-explorable"));
  if (drawn < 1 || (prose >= 0 && prose < drawn)) return parts;
  const after = parts.findIndex((part, i) => i > drawn && !part.matches(".attn-claims, .attn-figure-caption"));
  const end = after < 0 ? parts.length : after;
  return [...parts.slice(drawn, end), ...parts.slice(0, drawn), ...parts.slice(end)];
}

// A formula, a table or a diagram wider than the page scrolls; the keyboard must reach it. What is hidden has no width yet, and
// a formula another one once its letters have come.
function reach(places) {
  places.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).forEach((place) => (place.tabIndex = 0));
}
const wide = [...document.querySelectorAll("mjx-container[display], div:has(> :is(.attn-numbers, .attn-diagram))")];
const sizes = new ResizeObserver((changes) => reach(changes.map(({ target }) => target)));
wide.forEach((place) => sizes.observe(place));
document.fonts.addEventListener("loadingdone", () => reach(wide));

// A guess was once kept under the words of its question; under its id it outlives a mended comma.
function moveKept(from, to) {
  const { [from]: said, ...others } = remembered();
  if (said !== undefined) keep(KEY, JSON.stringify({ [to]: said, ...others }));
}

// Hide what follows a guess until it was made.
function holdBack(place) {
  const { guess } = place, name = nameOfGuess(place, guess.id);
  const cell = place.closest(".cell");
  const sentence = cell.previousElementSibling;
  sentence.id ||= `guess-${guess.id}`;
  place.firstElementChild.setAttribute("aria-labelledby", sentence.id);
  moveKept(`${chapter}?${sentence.textContent}`, name);
  guess.ask();
  const result = resultAfter(cell);
  const isOpen = () => guess.said() === undefined;
  const set = (isShown = isShownAll()) => {
    if (isOpen() && !isShown) result.setAttribute("hidden", "until-found");
    else result.hidden = false;
  };
  result.addEventListener("beforematch", () => (result.hidden = false));
  set();
  return { ...guess, name, sentence, set, isOpen };
}

// At the end of a chapter: where intuition failed. Guesses that were not made are not in it.
function drawGuesses(root, guesses) {
  const made = guesses.filter(({ said }) => said() != null);
  const isHit = ({ kind, said, answer }) => kind.isRight(said(), answer().right);
  root.hidden = made.length === 0;
  const rows = made.map((guess) => {
    const { kind, sentence } = guess;
    const said = guess.said(), { right } = guess.answer();
    const cell = (className, ...children) => element("td", { className }, ...children);
    return element("tr", { className: isHit(guess) ? "attn-hit" : "attn-missed" },
      element("th", { scope: "row" }, element("a", { href: `#${sentence.id}` }, ...contentOf(sentence))),
      cell("attn-drawn", guess.drawn()), cell("", ...kind.told(said)), cell("attn-it-is", ...kind.told(right)));
  });
  const names = ["You were asked", "○ your guess, ● the result", "You said", "It is"];
  const table = element("table", { className: "attn-table attn-all-guesses" },
    element("caption", {}, `${made.filter(isHit).length} of your ${counted(made.length, "guess")} came out as you said`),
    element("thead", {}, element("tr", {}, ...names.map(heading("col")))), element("tbody", {}, ...rows));
  const forget = button("attn-button", "Forget these guesses", () => {
    forgetThese(guesses.map(({ name }) => name));
    location.reload();
  });
  root.replaceChildren(scrolling("Your guesses", table), forget);
}

// Below the first guess of a chapter, and on another page where it has room for it.
const switchFor = (guesses) => showAllSwitch((isShown) => guesses.filter(({ isOpen }) => isOpen()).forEach(({ set }) => set(isShown)));

const asked = [...document.querySelectorAll('[data-explorable="guess"]')];
const guesses = [...asked].reverse().map(holdBack).reverse(); // a result may hold the next guess
if (guesses.length) {
  const drawn = element("div", { className: "attn-explorable attn-guesses", role: "group", "aria-label": "Your guesses and the results" });
  summary?.querySelector(".attn-done").before(drawn);
  drawGuesses(drawn, guesses);
  document.addEventListener("attn-guessed", () => {
    guesses.filter(({ isOpen }) => !isOpen()).forEach(({ set }) => set());
    drawGuesses(drawn, guesses);
  });
  asked[0].closest(".cell").append(box("attn-switch", switchFor(guesses)));
}
document.documentElement.classList.remove("attn-asks"); // book.js has hidden what stands after a guess until now
document.querySelectorAll(".attn-switch:empty").forEach((place) => place.append(switchFor([])));

// A link may lead to what is hidden, or to a side path that is folded.
function showTarget() {
  const target = document.getElementById(location.hash.slice(1));
  target?.querySelectorAll(":scope > details.attn-side").forEach((side) => (side.open = true));
  for (let node = target; node; node = node.parentElement) {
    if (node.matches(".attn-result")) node.hidden = false;
    if (node.matches("details")) node.open = true;
  }
  if (target?.closest(".attn-result, details")) target.scrollIntoView();
}
addEventListener("hashchange", showTarget);
showTarget();

// Back may bring a page as it was left, and the switch may have been moved since.
addEventListener("pageshow", (event) => event.persisted && location.reload());
