// What a guess (attn_course/figures/guess.js) hides, and where what was said is kept: the pages of the book and the extension of
// JupyterLab load this file.

// What the reader has read, solved and guessed is kept in this browser and nowhere else, by name: a chapter that was read
// and an exercise that was solved are true; a guess is what was said. An earlier book kept it with the number of the
// chapter.
const KEY = "attention-worked-out";
const SHOW_ALL = "attention-worked-out: show all"; // a wish, not a record: who forgets the guesses keeps it

function remembered() {
  try {
    const kept = Object.entries(JSON.parse(localStorage.getItem(KEY)) ?? {});
    return Object.fromEntries(kept.map(([name, said]) => [name.replace(/^\d\d_/, ""), said]));
  } catch {
    return {}; // no storage in this browser, or not ours
  }
}

// A store may be full; what is shown in this page stays until it is left.
function keep(key, text) {
  try {
    localStorage.setItem(key, text);
  } catch {
    // as it was
  }
}

function remember(values) {
  keep(KEY, JSON.stringify({ ...remembered(), ...values }));
}

// The name of a chapter or page by its path, without its number: a later book may give it another. The title page has none.
function chapterIn(path) {
  return path.match(/(?:^|[/:])(?:\d\d_)?(?!index\.)([^/:]+)\.(?:html|ipynb)$/)?.[1];
}

// The name of a guess: in a notebook the extension says of which chapter.
function nameOfGuess(node, id) {
  const chapter = node.closest("[data-attn-chapter]")?.dataset.attnChapter ?? chapterIn(location.pathname);
  return chapter && `${chapter}?${id}`;
}

document.addEventListener("attn-asks", ({ target, detail }) => detail.recall(remembered()[nameOfGuess(target, detail.id)]));
document.addEventListener("attn-guessed", ({ target, detail: { id, said } }) => {
  const name = nameOfGuess(target, id);
  if (name) remember({ [name]: said });
});

// What a guess hides until it was made: of the parts of its page, all that follow it up to the next heading.
function hiddenBy(guess, parts, isHeading) {
  const rest = parts.slice(parts.indexOf(guess) + 1);
  const end = rest.findIndex(isHeading);
  return end < 0 ? rest : rest.slice(0, end);
}

function isShownAll() {
  return localStorage.getItem(SHOW_ALL) === "yes";
}

// The one switch; a browser would fill in what it held before the reader left the page and came back.
function showAllSwitch(onChange) {
  const input = Object.assign(document.createElement("input"), { type: "checkbox", autocomplete: "off", checked: isShownAll() });
  input.addEventListener("change", () => {
    keep(SHOW_ALL, input.checked ? "yes" : "no");
    onChange(input.checked);
  });
  const label = Object.assign(document.createElement("label"), { className: "attn-done attn-show-all" });
  label.append(input, " Show all results without asking me first");
  return label;
}

export { KEY, chapterIn, hiddenBy, isShownAll, keep, nameOfGuess, remember, remembered, showAllSwitch };
