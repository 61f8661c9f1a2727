// In a notebook, what follows a guess is hidden until the guess was made, as in the book. Only the look of cells is touched,
// never the notebook: the file stays as it was, and a cell that runs shows its result when the guess was made.

import { chapterIn, hiddenBy, isShownAll, nameOfGuess, remembered, showAllSwitch } from "./kept.js";

const ASKS = /^Guess\(\s*"([a-z0-9-]+)"/;
const RESTS_ON = ["one-model", "trained"]; // tags of a result, marked in guesses.css as in book.css

const idOf = ({ model: { type, sharedModel } }) => (type === "code" ? sharedModel.getSource().match(ASKS)?.[1] : undefined);

const isHeading = ({ model: { type, sharedModel } }) =>
  type === "markdown" && /^#{1,6} /m.test(sharedModel.getSource().replace(/^```.*?^```/gms, ""));

// JupyterLab opens no notebook before this is done: what hides the results must be there first.
function loadStyle() {
  return new Promise((done) => {
    const href = new URL("guesses.css", import.meta.url);
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href, onload: done, onerror: done }));
  });
}

// Hide what follows each open guess.
function arrange({ content, context }, arrangeAll) {
  content.node.dataset.attnChapter = chapterIn(context.path);
  const cells = content.widgets, guesses = cells.filter(idOf), said = remembered();
  const open = guesses.filter((cell) => !isShownAll() && !(nameOfGuess(content.node, idOf(cell)) in said));
  const held = new Set(open.flatMap((cell) => hiddenBy(cell, cells, isHeading)));
  for (const cell of cells) {
    cell.toggleClass("attn-held", held.has(cell));
    for (const kind of RESTS_ON) cell.toggleClass(`tag_${kind}`, Boolean(cell.model.getMetadata("tags")?.includes(kind)));
    const above = cell.node.querySelector(":scope > .attn-show-all");
    if (cell !== guesses[0]) above?.remove();
    else if (above) above.querySelector("input").checked = isShownAll();
    else cell.node.prepend(showAllSwitch(arrangeAll));
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
