// What the reader has read, solved and guessed, kept in this browser and nowhere else.

import { button, control, element } from "../attn_course/figures/common.js";
import {
  chapterIn, keep, KEY, remember, remembered,
} from "../lab/share/jupyter/labextensions/attention-worked-out/static/kept.js";

const CHAPTER = /\d\d_(\w+)\.html/;
const chapter = chapterIn(location.pathname);

function note(values) {
  remember(values);
  markContents();
}

function forgetThese(names) {
  keep(KEY, JSON.stringify(Object.fromEntries(Object.entries(remembered()).filter(([name]) => !names.includes(name)))));
}

function checkbox(text, name) {
  const input = control("checkbox", { checked: remembered()[name] === true }); // after Back, too, what is kept
  input.addEventListener("change", () => note({ [name]: input.checked }));
  return { input, label: element("label", { className: "attn-done" }, input, ` ${text}`) };
}

function nameOf(link) {
  return link.href.match(CHAPTER)?.[1];
}

function chapterLinks() {
  return [...document.querySelectorAll(".bd-sidebar-primary a.internal")].filter(nameOf);
}

function markContents() {
  const record = remembered();
  for (const link of chapterLinks()) {
    link.querySelector(".attn-read")?.remove();
    if (record[nameOf(link)] !== true) continue;
    link.append(element("span", { className: "attn-read" }, " ✓", element("span", { className: "visually-hidden" }, " read")));
  }
}

function counted(number, one) {
  return `${number} ${one}${number === 1 ? "" : one.endsWith("ss") ? "es" : "s"}`;
}

// On the title page: how far the reader has come, where to go on, and a way to forget it.
function tellProgress(place) {
  const record = remembered();
  const links = chapterLinks();
  const isRead = (link) => record[nameOf(link)] === true;
  const solved = Object.keys(record).filter((name) => name.includes("#") && record[name] === true).length;
  const guessed = Object.keys(record).filter((name) => name.includes("?") && record[name] !== null).length;
  place.hidden = !links.some(isRead) && solved + guessed === 0;
  if (place.hidden) return place.replaceChildren();
  place.replaceChildren(`You have read ${links.filter(isRead).length} of ${links.length} chapters, solved ${counted(solved, "exercise")} and made ${counted(guessed, "guess")}. `);
  const next = links.find((link) => !isRead(link));
  if (next) place.append("Go on with ", element("a", { href: next.href }, next.textContent.trim()), ". ");
  place.append(button("", "Forget this", () => {
    localStorage.removeItem(KEY);
    markContents();
    tellProgress(place);
  }));
}

const solvedBoxes = {};
for (const exercise of document.querySelectorAll("section#exercises > section")) {
  const { input, label } = checkbox("Solved", `${chapter}#${exercise.id}`);
  solvedBoxes[exercise.id] = input;
  exercise.append(label);
}

const summary = document.querySelector("section#summary");
if (chapter && summary) summary.append(checkbox("I have read this chapter", chapter).label);

markContents();
const progress = document.querySelector(".attn-progress");
if (progress) tellProgress(progress);

export { chapter, counted, forgetThese, solvedBoxes, summary };
