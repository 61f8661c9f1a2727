// A notebook asks for its guesses as the book does (book/guesses.js): what follows is hidden until something was said.
// Only the look of cells is touched, never the notebook: the file stays as it was, and a cell that runs shows its result
// when the guess was made. What is asked stands in the metadata of a cell of text, where book/execute.py has put it.

const KEY = "attention-worked-out"; // as in the book, what was said is kept by chapter, without its number, and id
const SHOW_ALL = "attention-worked-out: show all";
const NEAR = { share: 0.05, factor: 1.25, curve: 0.08 }; // so close counts as right: on a scale, on a log scale, along a curve
const ASKS = "**Before you read on:**";
const RESTS_ON = ["one-model", "trained"]; // tags of a result, marked in guesses.css as in book.css

function remembered() {
  try {
    const kept = Object.entries(JSON.parse(localStorage.getItem(KEY)) ?? {});
    return Object.fromEntries(kept.map(([name, said]) => [name.replace(/^\d\d_/, ""), said]));
  } catch {
    return {}; // not ours
  }
}

function isShownAll() {
  return localStorage.getItem(SHOW_ALL) === "yes";
}

// Keys that hold a dash, and `role`, become attributes; text is only ever set as text.
function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children);
  return node;
}

function button(className, onPress, ...children) {
  const node = element("button", { type: "button", className }, ...children);
  node.addEventListener("click", onPress);
  return node;
}

// The text of a choice, with what it stresses; its formulas are set once it stands in the page.
function contentOf(text) {
  return text.split(/\*(.+?)\*/).map((part, i) => (i % 2 ? element("em", {}, part) : part)).filter((part) => part !== "");
}

// Each kind of guess: what asks, how a guess or, without one, the result is told, and whether it is right.
function choiceGuess({ right, why }, choices) {
  const place = (said) => choices.indexOf(said);
  const buttons = [];
  return {
    ask(commit) {
      buttons.push(...choices.map((text) => button("attn-answer", () => commit(text), ...contentOf(text))));
      return [element("div", { className: "attn-answers" }, ...buttons)];
    },
    settle(said) {
      buttons.forEach((press, i) => {
        press.setAttribute("aria-disabled", "true");
        press.setAttribute("aria-pressed", String(i === place(said)));
        press.classList.toggle("attn-right", i === right);
      });
    },
    fits: (said) => place(said) >= 0,
    told: (said = choices[right]) => ["“", ...contentOf(said), "”"],
    isRight: (said) => place(said) === right,
    why: (said) => why[place(said)],
  };
}

// A number on a scale as a share of its length, and back.
function scaleOf([start, stop]) {
  const [to, from] = start > 0 ? [Math.log, Math.exp] : [(x) => x, (x) => x];
  const length = to(stop) - to(start);
  return { share: (x) => (to(x) - to(start)) / length, at: (share) => from(to(start) + share * length) };
}

function scaleGuess({ right, scale, unit, digits, why }) {
  const { share, at } = scaleOf(scale);
  const shown = (number) => `${number.toLocaleString("en-US", { maximumFractionDigits: digits })}${unit}`;
  const rounded = (number) => Number(scale[0] > 0 ? number.toPrecision(2) : number.toFixed(digits));
  const step = scale[0] > 0 ? 0.005 : Math.max(0.005, 10 ** -digits / (scale[1] - scale[0]));
  const input = element("input", { type: "range", min: 0, max: 1, step, autocomplete: "off", "aria-label": "Your guess" });
  const value = element("span", { className: "attn-value" });
  const its = element("span", { className: "attn-its", "aria-hidden": "true" });
  const set = (place, number) => {
    input.value = place;
    value.textContent = shown(number);
    input.setAttribute("aria-valuetext", shown(number));
  };
  const said = () => rounded(at(Number(input.value)));
  let press;
  return {
    ask(commit) {
      press = button("attn-commit", () => commit(said()), "That is my guess");
      press.disabled = true; // until the slider was moved
      input.addEventListener("input", () => {
        set(input.value, said());
        press.disabled = false;
      });
      set(0.5, rounded(at(0.5)));
      return [element("div", { className: "attn-knob" }, "Your guess", element("span", { className: "attn-track" }, input, its), value), press];
    },
    settle(now = right) {
      input.disabled = true;
      set(share(now), now);
      its.style.setProperty("--attn-share", share(right));
      its.textContent = "●";
      press.remove();
    },
    fits: (said) => typeof said === "number" && scale[0] <= said && said <= scale[1],
    told: (said = right) => [shown(said)],
    isRight: (said) => (scale[0] > 0 ? Math.abs(Math.log(said / right)) <= Math.log(NEAR.factor)
      : digits === 0 ? said === right : Math.abs(share(said) - share(right)) <= NEAR.share),
    why: (said) => why[Number(said > right)],
  };
}

// A curve: upright sliders side by side, one for each point.
function curveGuess({ right, at: points, across, along, scale, digits, why }) {
  const { share, at } = scaleOf(scale);
  const shown = (number) => number.toLocaleString("en-US", { maximumFractionDigits: digits });
  const said = points.map(() => Number(at(0.5).toFixed(digits)));
  const columns = points.map((point, i) => {
    const name = `${along}, ${across} ${shown(point)}`;
    const input = element("input", { type: "range", min: 0, max: 1, step: 0.01, autocomplete: "off", "aria-label": name });
    const value = element("span");
    const set = (number) => {
      said[i] = number;
      input.value = share(number);
      value.textContent = shown(number);
      input.setAttribute("aria-valuetext", shown(number));
    };
    return { input, value, set, node: element("label", {}, value, input, shown(point)) };
  });
  const mean = (numbers) => numbers.reduce((total, number) => total + number, 0) / numbers.length;
  const misses = (numbers) => numbers.map((number, i) => share(number) - share(right[i]));
  let press;
  return {
    ask(commit) {
      press = button("attn-commit", () => commit([...said]), "That is my guess");
      press.disabled = true; // until a slider was moved
      columns.forEach(({ input, set }, i) => {
        set(said[i]);
        input.addEventListener("input", () => {
          set(Number(at(Number(input.value)).toFixed(digits)));
          press.disabled = false;
        });
      });
      const caption = element("p", {}, `Up: ${along}. To the right: ${across}.`);
      return [element("div", { className: "attn-curve" }, caption, ...columns.map(({ node }) => node)), press];
    },
    settle(now = right) {
      columns.forEach(({ input, value, set }, i) => {
        set(now[i]);
        input.disabled = true;
        value.append(element("strong", {}, `● ${shown(right[i])}`));
      });
      press.remove();
    },
    fits: (said) => Array.isArray(said) && said.length === points.length && said.every((number) => scale[0] <= number && number <= scale[1]),
    told: (said = right) => [said.map(shown).join(", ")],
    isRight: (said) => mean(misses(said).map(Math.abs)) <= NEAR.curve,
    why: (said) => why[Number(mean(misses(said)) > 0)],
  };
}

function placeGuess({ right, rows, columns }) {
  const named = ([i, j]) => (rows.length > 1 ? `${rows[i]} → ${columns[j]}` : columns[j]);
  const places = rows.flatMap((_, i) => columns.map((_, j) => [i, j]));
  const place = (said) => places.find((one) => named(one) === said);
  let cells;
  const heading = (scope) => (name) => element("th", { scope }, name);
  return {
    ask(commit) {
      cells = rows.map((_, i) => columns.map((_, j) => {
        const press = button("attn-cell", () => commit(named([i, j])));
        press.setAttribute("aria-label", named([i, j]));
        return press;
      }));
      const lines = cells.map((row, i) => element("tr", {}, ...(rows.length > 1 ? [heading("row")(rows[i])] : []),
        ...row.map((press) => element("td", {}, press))));
      const corner = rows.length > 1 ? [element("td")] : [];
      const table = element("table", {},
        element("caption", {}, rows.length > 1 ? "Point at a cell. A row asks, a column is asked." : "Point at one."),
        element("thead", {}, element("tr", {}, ...corner, ...columns.map(heading("col")))),
        element("tbody", {}, ...lines));
      moveByArrows(table, cells);
      return [table];
    },
    settle(said) {
      cells.flat().forEach((press) => press.setAttribute("aria-disabled", "true"));
      const mark = ([i, j], className, text) => {
        cells[i][j].classList.add(className);
        cells[i][j].textContent = text;
      };
      if (said !== undefined) mark(place(said), "attn-said", "✗");
      mark(right, "attn-right", "✓");
    },
    fits: (said) => place(said) !== undefined,
    told: (said = named(right)) => [`“${said}”`],
    isRight: (said) => said === named(right),
    why: () => "",
  };
}

// Tab goes into a table and out of it again, arrows from cell to cell.
function moveByArrows(table, cells) {
  const reach = (cell) => cells.flat().forEach((one) => (one.tabIndex = one === cell ? 0 : -1));
  reach(cells[0][0]);
  table.addEventListener("focusin", ({ target }) => reach(target));
  table.addEventListener("keydown", (event) => {
    const y = cells.findIndex((row) => row.includes(event.target));
    const x = cells[y].indexOf(event.target);
    const goal = {
      ArrowUp: [y - 1, x], ArrowDown: [y + 1, x], ArrowLeft: [y, x - 1], ArrowRight: [y, x + 1],
      Home: [y, 0], End: [y, cells[y].length - 1],
    }[event.key];
    if (!goal) return;
    event.preventDefault();
    cells[goal[0]]?.[goal[1]]?.focus();
  });
}

// What a cell asks, or undefined: a reader may have changed it, and other notebooks have metadata of their own.
function guessIn({ type, sharedModel }) {
  const about = type === "markdown" ? sharedModel.getMetadata("guess") : undefined;
  const asked = sharedModel.getSource().split(ASKS).slice(1).at(-1)?.split("<!--")[0];
  if (typeof about?.id !== "string" || !Array.isArray(about.why) || !asked) return undefined;
  const { right, scale, rows, columns, at, why } = about;
  const choices = [...asked.matchAll(/^- (.+)$/gm)].map(([, text]) => text.trim());
  const question = asked.split("\n- ")[0].replace(/[*`$]/g, "").trim();
  const isWhole = rows ? rows[right?.[0]] && columns?.[right[1]]
    : at ? Array.isArray(right) && right.length === at.length && Array.isArray(scale)
    : scale ? scale[0] <= right && right <= scale[1]
    : choices[right] && choices.length === why.length;
  return isWhole ? { about, choices, question } : undefined;
}

// A question in the page. `said` is null where the reader passed, and undefined until one of the two has happened.
function boxOf({ about, choices, question }, typeset, onCommit) {
  const kind = about.rows ? placeGuess(about) : about.at ? curveGuess(about) : about.scale ? scaleGuess(about) : choiceGuess(about, choices);
  const verdict = element("p", { className: "attn-verdict", role: "status", tabIndex: -1 });
  const pass = button("attn-pass", () => commit(null), "Just show me");
  const root = element("div", { className: "attn-guess", role: "group", "aria-label": question });
  let isSettled = false;

  function settle(said) {
    isSettled = true;
    kind.settle(said ?? undefined);
    pass.remove();
    const its = kind.told();
    const mine = said === null ? [] : kind.told(said);
    const text = (parts) => parts.map((part) => part.textContent ?? part).join("");
    verdict.replaceChildren(...(said === null ? ["It is ", ...its, "."]
      : kind.isRight(said) ? ["You said ", ...mine, ", and so it is", ...(text(mine) === text(its) ? [] : [", nearly: ", ...its]), "."]
      : ["You said ", ...mine, "; it is ", ...its, ". ", kind.why(said) ?? ""]));
    typeset(verdict);
  }

  function commit(said) {
    if (isSettled) return;
    onCommit(said);
    if (!root.contains(document.activeElement)) verdict.focus({ preventScroll: true }); // its button has gone
  }

  root.append(...kind.ask(commit), pass, verdict);
  root.addEventListener("dblclick", (event) => event.stopPropagation()); // it would open the text of the cell
  typeset(root);
  return { root, settle, isSettled: () => isSettled, fits: kind.fits };
}

// The one switch, above the first guess.
function showAllSwitch(onChange) {
  const input = element("input", { type: "checkbox", autocomplete: "off" });
  input.addEventListener("change", () => {
    localStorage.setItem(SHOW_ALL, input.checked ? "yes" : "no");
    onChange();
  });
  return element("label", { className: "attn-show-all" }, input, " Show all results without asking me first");
}

const isHeading = ({ type, sharedModel }) =>
  type === "markdown" && /^#{1,6} /m.test(sharedModel.getSource().replace(/^```.*?^```/gms, ""));

// JupyterLab opens no notebook before this is done: what hides the results must be there first.
function loadStyle() {
  return new Promise((done) => {
    const href = new URL("guesses.css", import.meta.url);
    document.head.append(element("link", { rel: "stylesheet", href, onload: done, onerror: done }));
  });
}

async function activate(app, notebooks, typesetter) {
  await loadStyle();
  // A plain key belongs to the control that has the focus, and not to the notebook, which would delete the cell at "d d".
  window.addEventListener("keydown", ({ target, ctrlKey, metaKey, altKey, shiftKey }) => {
    const isPlain = !(ctrlKey || metaKey || altKey || shiftKey);
    if (target.closest?.(".attn-guess")) target.toggleAttribute("data-lm-suppress-shortcuts", isPlain);
  }, true);
  const boxes = new WeakMap(); // by the widget of a cell, so that both go together
  const typeset = (node) => node.textContent.includes("$") && typesetter.typeset(node);
  const arrangeAll = () => notebooks.forEach(arrange);

  // The box of a cell; a new one where the cell was changed.
  function boxAt(cell, guess, name, isFirst) {
    const key = JSON.stringify([guess, name, isFirst]);
    if (boxes.get(cell)?.key !== key) {
      const box = boxOf(guess, typeset, (said) => {
        localStorage.setItem(KEY, JSON.stringify({ ...remembered(), [name]: said }));
        arrangeAll();
      });
      if (isFirst) box.root.prepend(showAllSwitch(arrangeAll));
      boxes.get(cell)?.root.remove();
      boxes.set(cell, { ...box, key });
      cell.node.append(box.root);
    }
    return boxes.get(cell);
  }

  // Ask what there is to ask, and hide what follows an open guess up to the next heading.
  function arrange({ content, context }) {
    const chapter = context.path.split(/[/:]/).pop().replace(/^\d\d_|\.ipynb$/g, "");
    const record = remembered();
    let isHeld = false;
    let isFirst = true;
    for (const cell of content.widgets) {
      const guess = guessIn(cell.model);
      if (isHeading(cell.model)) isHeld = false;
      cell.toggleClass("attn-held", isHeld);
      for (const kind of RESTS_ON) cell.toggleClass(`tag_${kind}`, Boolean(cell.model.getMetadata("tags")?.includes(kind)));
      cell.toggleClass("attn-offers", Boolean(guess) && !guess.about.rows && !guess.about.scale);
      if (!guess) {
        boxes.get(cell)?.root.remove();
        boxes.delete(cell);
        continue;
      }
      const name = `${chapter}?${guess.about.id}`;
      const box = boxAt(cell, guess, name, isFirst);
      const said = record[name];
      const isMade = said === null || box.fits(said);
      if (isMade && !box.isSettled()) box.settle(said);
      if (isFirst) box.root.querySelector(".attn-show-all input").checked = isShownAll();
      isHeld ||= !isMade && !isShownAll();
      isFirst = false;
    }
  }

  notebooks.widgetAdded.connect((_, panel) => {
    let isDue = false;
    const arrangeSoon = () => { // once for many changes, and before anything is painted
      if (!isDue) queueMicrotask(() => {
        isDue = false;
        if (!panel.isDisposed) arrange(panel);
      });
      isDue = true;
    };
    panel.content.modelContentChanged.connect(arrangeSoon);
    panel.context.pathChanged.connect(arrangeSoon);
    panel.context.ready.then(arrangeSoon, () => {}); // what cannot be opened is told by JupyterLab
  });
}

export { activate };
