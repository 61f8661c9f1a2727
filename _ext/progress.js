// What the reader has read and solved, kept in this browser and nowhere else.

const KEY = "attention-worked-out";
const CHAPTER = /(\d\d_\w+)\.html/;
const chapter = location.pathname.match(CHAPTER)?.[1];

function load() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {}; // no storage in this browser, or not ours
  }
}

function keep(name, done) {
  const record = { ...load(), [name]: done };
  try {
    localStorage.setItem(KEY, JSON.stringify(record));
  } catch {
    return; // the marks of this page stay until it is left
  }
  markContents();
}

function checkbox(text, name) {
  const box = Object.assign(document.createElement("input"), {
    type: "checkbox", autocomplete: "off", checked: load()[name] === true, // after Back, too, what is kept
  });
  const label = document.createElement("label");
  label.className = "attn-done";
  label.append(box, ` ${text}`);
  box.addEventListener("change", () => keep(name, box.checked));
  return { box, label };
}

function nameOf(link) {
  return link.href.match(CHAPTER)?.[1];
}

function chapterLinks() {
  return [...document.querySelectorAll(".bd-sidebar-primary a.internal")].filter(nameOf);
}

function markContents() {
  const record = load();
  for (const link of chapterLinks()) {
    link.querySelector(".attn-read")?.remove();
    if (record[nameOf(link)] !== true) continue;
    const tick = Object.assign(document.createElement("span"), { className: "attn-read", textContent: " ✓" });
    tick.append(Object.assign(document.createElement("span"), { className: "visually-hidden", textContent: " read" }));
    link.append(tick);
  }
}

// On the title page: how far the reader has come, where to go on, and a way to forget it.
function tellProgress(place) {
  const record = load();
  const done = Object.keys(record).filter((name) => record[name] === true);
  place.hidden = done.length === 0;
  if (place.hidden) return place.replaceChildren();
  const links = chapterLinks();
  const read = links.filter((link) => record[nameOf(link)] === true).length;
  const solved = done.filter((name) => name.includes("#")).length;
  place.replaceChildren(`You have read ${read} of ${links.length} chapters and solved ${solved} ${solved === 1 ? "exercise" : "exercises"}. `);
  const next = links.find((link) => record[nameOf(link)] !== true);
  if (next) {
    const link = Object.assign(document.createElement("a"), { href: next.href, textContent: next.textContent.trim() });
    place.append("Go on with ", link, ". ");
  }
  const forget = Object.assign(document.createElement("button"), { type: "button", textContent: "Forget this" });
  forget.addEventListener("click", () => {
    localStorage.removeItem(KEY);
    markContents();
    tellProgress(place);
  });
  place.append(forget);
}

for (const exercise of document.querySelectorAll("section#exercises > section")) {
  exercise.append(checkbox("Solved", `${chapter}#${exercise.id}`).label);
}

const summary = document.querySelector("section#summary");
if (chapter && summary) {
  const { box, label } = checkbox("I have read this chapter", chapter);
  summary.append(label);
  if (load()[chapter] === undefined) { // once; who takes the mark away is not asked again
    const seen = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return;
      seen.disconnect();
      box.checked = true;
      keep(chapter, true);
    });
    seen.observe(label);
  }
}

markContents();
const place = document.querySelector(".attn-progress");
if (place) tellProgress(place);
