// In a notebook, what follows a guess is hidden until the guess was made, as in the book (book/guesses.js). The guess
// itself is a figure, attn_course/figures/guess.js. Only the look of cells is touched, never the notebook: the file stays as it
// was, and a cell that runs shows its result when the guess was made.

const KEY = "attention-worked-out"; // as in the book, what was said is kept by chapter, without its number, and id
const SHOW_ALL = "attention-worked-out: show all";
const ASKS = /^Guess\(\s*"([a-z0-9-]+)"/;
const RESTS_ON = ["one-model", "trained"]; // tags of a result, marked in guesses.css as in book.css

function isMade(name) {
  try {
    return Object.keys(JSON.parse(localStorage.getItem(KEY)) ?? {}).some((kept) => kept.replace(/^\d\d_/, "") === name);
  } catch {
    return false; // not ours
  }
}

const isShownAll = () => localStorage.getItem(SHOW_ALL) === "yes";

// The one switch, above the first guess.
function showAllSwitch(onChange) {
  const input = Object.assign(document.createElement("input"), { type: "checkbox", autocomplete: "off" });
  input.addEventListener("change", () => {
    localStorage.setItem(SHOW_ALL, input.checked ? "yes" : "no");
    onChange();
  });
  const label = Object.assign(document.createElement("label"), { className: "attn-show-all" });
  label.append(input, " Show all results without asking me first");
  return label;
}

const isHeading = ({ type, sharedModel }) =>
  type === "markdown" && /^#{1,6} /m.test(sharedModel.getSource().replace(/^```.*?^```/gms, ""));

// JupyterLab opens no notebook before this is done: what hides the results must be there first.
function loadStyle() {
  return new Promise((done) => {
    const href = new URL("guesses.css", import.meta.url);
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href, onload: done, onerror: done }));
  });
}

// Hide what follows an open guess up to the next heading.
function arrange({ content, context }, arrangeAll) {
  const chapter = context.path.split(/[/:]/).pop().replace(/^\d\d_|\.ipynb$/g, "");
  content.node.dataset.attnChapter = chapter;
  let isHeld = false;
  let isFirst = true;
  for (const cell of content.widgets) {
    const id = cell.model.type === "code" && cell.model.sharedModel.getSource().match(ASKS)?.[1];
    if (isHeading(cell.model)) isHeld = false;
    cell.toggleClass("attn-held", isHeld);
    for (const kind of RESTS_ON) cell.toggleClass(`tag_${kind}`, Boolean(cell.model.getMetadata("tags")?.includes(kind)));
    const above = cell.node.querySelector(":scope > .attn-show-all");
    if (!(id && isFirst)) above?.remove();
    else if (!above) cell.node.prepend(showAllSwitch(arrangeAll));
    if (!id) continue;
    if (isFirst) cell.node.querySelector(".attn-show-all input").checked = isShownAll();
    isFirst = false;
    isHeld ||= !isShownAll() && !isMade(`${chapter}?${id}`);
  }
}

async function activate(app, notebooks) {
  await loadStyle();
  // A plain key belongs to the figure that has the focus: Notebook 7 sees it first, and would delete the cell at "d d".
  window.addEventListener("keydown", ({ target, ctrlKey, metaKey, altKey, shiftKey }) => {
    const isPlain = !(ctrlKey || metaKey || altKey || shiftKey);
    if (target.closest?.(".attn-explorable")) target.toggleAttribute("data-lm-suppress-shortcuts", isPlain);
  }, true);
  const arrangeAll = () => notebooks.forEach((panel) => arrange(panel, arrangeAll));
  document.addEventListener("attn-guessed", arrangeAll);
  notebooks.widgetAdded.connect((_, panel) => {
    let isDue = false;
    const arrangeSoon = () => { // once for many changes, and before anything is painted
      if (!isDue) queueMicrotask(() => {
        isDue = false;
        if (!panel.isDisposed) arrange(panel, arrangeAll);
      });
      isDue = true;
    };
    panel.content.modelContentChanged.connect(arrangeSoon);
    panel.context.pathChanged.connect(arrangeSoon);
    panel.context.ready.then(arrangeSoon, () => {}); // what cannot be opened is told by JupyterLab
  });
}

export { activate };
