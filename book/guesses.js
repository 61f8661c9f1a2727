// Guesses: the reader is asked before a result, which is hidden from the eye until something has been said. Search and
// print find it all the same, and without JavaScript nothing is hidden. book/guesses.py says what a guess holds.

const SHOW_ALL = "attention-worked-out: show all"; // a wish, not a record: who forgets the guesses keeps it
const NEAR = { share: 0.05, factor: 1.25 }; // a guess this close to a number counts as right, on a scale, on a log scale

function isShownAll() {
  return localStorage.getItem(SHOW_ALL) === "yes"; // book.js sees to it that there is one
}

// A number on a scale as a share of its length, and back.
function scaleOf([start, stop]) {
  const [to, from] = start > 0 ? [Math.log, Math.exp] : [(x) => x, (x) => x];
  const length = to(stop) - to(start);
  return { share: (x) => (to(x) - to(start)) / length, at: (share) => from(to(start) + share * length) };
}

// The content of a paragraph or a choice, formulas and all, without links and without the bold words that ask.
function contentOf(node) {
  const copy = (node.querySelector("p") ?? node).cloneNode(true);
  copy.querySelectorAll("a").forEach((link) => link.replaceWith(...link.childNodes));
  copy.querySelector("strong:first-child")?.remove();
  return [...copy.childNodes];
}

// Each kind of guess: what asks, how a guess or, without one, the result is told and drawn, and whether it is right.
function choiceGuess({ right, why }, list) {
  list.classList.add("attn-choices"); // on paper it stays a list
  const items = [...list.children];
  const names = items.map((item) => item.textContent.trim());
  const place = (said) => names.indexOf(said);
  const buttons = [];
  return {
    ask(commit) {
      buttons.push(...items.map((item, i) => {
        const press = button("attn-answer", "", () => commit(names[i]));
        press.append(...contentOf(item));
        return press;
      }));
      return [box("attn-answers", ...buttons)];
    },
    settle(said) {
      buttons.forEach((press, i) => {
        press.setAttribute("aria-disabled", "true");
        press.setAttribute("aria-pressed", String(i === place(said)));
        press.classList.toggle("attn-right", i === right);
      });
    },
    fits: (said) => place(said) >= 0,
    told: (said) => ["“", ...contentOf(items[said === undefined ? right : place(said)]), "”"],
    isRight: (said) => place(said) === right,
    why: (said) => why[place(said)],
    spots: (said) => [place(said), right].map((i) => (names.length > 1 ? i / (names.length - 1) : 0)),
    ticks: names.map((_, i) => i / (names.length - 1)),
  };
}

function scaleGuess({ right, scale, unit, digits, why }) {
  const { share, at } = scaleOf(scale);
  const shown = (number) => `${number.toLocaleString("en-US", { maximumFractionDigits: digits })}${unit}`;
  const rounded = (number) => Number(scale[0] > 0 ? number.toPrecision(2) : number.toFixed(digits));
  const step = scale[0] > 0 ? 0.005 : Math.max(0.005, 10 ** -digits / (scale[1] - scale[0]));
  let said = rounded(at(0.5));
  const { row, set } = slider({
    label: "Your guess", min: 0, max: 1, step, show: (place) => shown(rounded(at(place))),
    onInput: (place) => {
      said = rounded(at(place));
      set(place);
      press.disabled = false;
    },
  });
  set(0.5);
  const press = button("attn-button", "That is my guess", () => commit(said));
  press.disabled = true; // until the slider was moved
  let commit;
  return {
    ask(onCommit) {
      commit = onCommit;
      return [box("attn-knobs", row), press];
    },
    settle(now) {
      row.querySelector("input").disabled = true;
      if (typeof now === "number") set(share(now));
      press.remove();
    },
    fits: (said) => typeof said === "number" && scale[0] <= said && said <= scale[1],
    told: (said = right) => [shown(said)],
    isRight: (said) => (scale[0] > 0 ? Math.abs(Math.log(said / right)) <= Math.log(NEAR.factor)
      : digits === 0 ? said === right : Math.abs(share(said) - share(right)) <= NEAR.share),
    why: (said) => why[Number(said > right)],
    spots: (said) => [share(said), share(right)],
    ticks: [0, 1],
  };
}

function placeGuess({ right, rows, columns }) {
  const named = ([i, j]) => (rows.length > 1 ? `${rows[i]} → ${columns[j]}` : columns[j]);
  const places = rows.flatMap((_, i) => columns.map((_, j) => [i, j]));
  const place = (said) => places.find((one) => named(one) === said);
  let cells;
  return {
    ask(commit) {
      const cell = (i, j) => {
        const press = button("attn-cell", "", () => commit(named([i, j])));
        press.setAttribute("aria-label", named([i, j]));
        return press;
      };
      cells = grid(rows.length, columns.length, cell);
      const title = rows.length > 1 ? "Point at a cell. A row asks, a column is asked." : "Point at one.";
      const { table } = tableOf({ title, columns: columns.map(heading("col")), rows: rows.map(heading("row")), cells });
      return [box("attn-scroll", table)];
    },
    settle(said) {
      cells.flat().forEach((press) => press.setAttribute("aria-disabled", "true"));
      const mark = ([i, j], className, text) => {
        const cell = cells[i][j];
        cell.classList.add(className);
        cell.textContent = text;
      };
      if (said !== undefined) mark(place(said), "attn-said", "✗");
      mark(right, "attn-right", "✓");
    },
    fits: (said) => place(said) !== undefined,
    told: (said = named(right)) => [`“${said}”`],
    isRight: (said) => said === named(right),
    why: () => "",
    spots: (said) => [place(said), right].map(([i, j]) => (i * columns.length + j) / (places.length - 1)),
    ticks: [],
  };
}

// Everything after a node up to the next heading, in a box of its own.
function resultAfter(node) {
  const result = box("attn-result");
  const parts = [];
  for (let next = node.nextElementSibling; next && next.tagName !== "SECTION"; next = next.nextElementSibling) parts.push(next);
  node.after(result);
  result.append(...parts);
  return result;
}

// A formula wider than the page scrolls; the keyboard must reach it. What is hidden has no width yet.
function showScrolling() {
  document.querySelectorAll("mjx-container[display]").forEach((formula) => {
    if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
  });
}
addEventListener("load", showScrolling);

function showResult(result) {
  result.hidden = false;
  showScrolling();
}

// A guess was once kept under the words of its question; under its id it outlives a mended comma.
function moveKept(from, to) {
  const { [from]: said, ...others } = remembered();
  if (said !== undefined) keep(KEY, JSON.stringify({ [to]: said, ...others }));
}

// Bring a guess to life, where `place` stands. It is remembered by its chapter and its id.
function guessAt(place, onChange) {
  const about = JSON.parse(place.dataset.guess);
  const list = place.previousElementSibling?.matches("ul") ? place.previousElementSibling : null;
  const sentence = (list ?? place).previousElementSibling;
  sentence.id ||= `guess-${about.id}`;
  const name = `${chapter}?${about.id}`;
  moveKept(`${chapter}?${sentence.textContent}`, name);
  const kind = about.rows ? placeGuess(about) : about.scale ? scaleGuess(about) : choiceGuess(about, list);

  const result = resultAfter(place);
  const verdict = element("p", { className: "attn-why", role: "status", tabIndex: -1 });
  const pass = button("attn-link", "Just show me", () => commit(null));
  const root = element("div", { className: "attn-explorable attn-guess", role: "group", "aria-labelledby": sentence.id });
  let said = remembered()[name]; // null where the reader passed

  function settle() {
    kind.settle(said ?? undefined);
    pass.remove();
    const its = kind.told();
    const mine = said === null ? [] : kind.told(said);
    const isSame = mine.map((part) => part.textContent ?? part).join() === its.map((part) => part.textContent ?? part).join();
    verdict.replaceChildren(...(said === null ? ["It is ", ...its, "."]
      : kind.isRight(said) ? ["You said ", ...mine, ", and so it is", ...(isSame ? [] : [", nearly: ", ...its]), "."]
      : ["You said ", ...mine, "; it is ", ...its, ". ", kind.why(said) ?? ""]));
    showResult(result);
  }

  function commit(guess) {
    if (said !== undefined) return;
    said = guess;
    settle();
    remember({ [name]: said });
    if (!root.contains(document.activeElement)) verdict.focus({ preventScroll: true }); // its button has gone
    onChange();
  }

  root.append(...kind.ask(commit), pass, verdict);
  place.replaceWith(root);
  result.setAttribute("hidden", "until-found");
  result.addEventListener("beforematch", () => showResult(result));
  if (said !== undefined && said !== null && !kind.fits(said)) said = undefined; // the book has changed
  if (said !== undefined) settle();
  else if (isShownAll()) showResult(result);
  return { name, kind, result, sentence, said: () => said };
}

// Your guess and the result on one line, with what lies between them.
function missDrawing({ kind }, said) {
  const [mine, its] = kind.spots(said).map((share) => 8 + 144 * share);
  const line = (from, to, className) => drawing("line", { x1: from, x2: to, y1: 10, y2: 10, class: className });
  return drawing("svg", { viewBox: "0 0 160 20", class: "attn-miss", "aria-hidden": "true" },
    line(8, 152, "attn-track"),
    ...kind.ticks.map((share) => drawing("circle", { cx: 8 + 144 * share, cy: 10, r: 2, class: "attn-tick-mark" })),
    line(mine, its, "attn-gap"),
    drawing("circle", { cx: its, cy: 10, r: 5, class: "attn-its" }),
    drawing("circle", { cx: mine, cy: 10, r: 6, class: "attn-mine" }));
}

// At the end of a chapter: where intuition failed. Guesses that were not made are not in it.
function drawGuesses(root, guesses) {
  const made = guesses.filter(({ said }) => said() != null);
  const hits = made.filter(({ kind, said }) => kind.isRight(said())).length;
  root.hidden = made.length === 0;
  const rows = made.map((guess) => {
    const { kind, sentence } = guess;
    const said = guess.said();
    const cell = (className, ...children) => element("td", { className }, ...children);
    return element("tr", { className: kind.isRight(said) ? "attn-hit" : "attn-missed" },
      element("th", { scope: "row" }, element("a", { href: `#${sentence.id}` }, ...contentOf(sentence))),
      cell("attn-drawn", missDrawing(guess, said)), cell("", ...kind.told(said)), cell("attn-it-is", ...kind.told()));
  });
  const names = ["You were asked", "○ your guess, ● the result", "You said", "It is"];
  const table = element("table", { className: "attn-table attn-all-guesses" },
    element("caption", {}, `${hits} of your ${counted(made.length, "guess")} came out as you said`),
    element("thead", {}, element("tr", {}, ...names.map(heading("col")))), element("tbody", {}, ...rows));
  const forget = button("attn-button", "Forget these guesses", () => {
    forgetThese(guesses.map(({ name }) => name));
    location.reload();
  });
  root.replaceChildren(scrolling("Your guesses", table), forget);
}

// The one switch, wherever a page has room for it.
function showAllSwitch(guesses) {
  const input = control("checkbox", { checked: isShownAll() });
  input.addEventListener("change", () => {
    keep(SHOW_ALL, input.checked ? "yes" : "no");
    guesses.filter(({ said }) => said() === undefined).forEach(({ result }) => {
      if (input.checked) showResult(result);
      else result.setAttribute("hidden", "until-found");
    });
  });
  return element("label", { className: "attn-done attn-show-all" }, input, " Show all results without asking me first");
}

const asked = chapter ? [...document.querySelectorAll("[data-guess]")] : []; // the book as one page asks nothing
const drawn = element("div", { className: "attn-explorable attn-guesses", role: "group", "aria-label": "Your guesses and the results" });
const guesses = [];
asked.reverse().forEach((place) => guesses.unshift(guessAt(place, () => drawGuesses(drawn, guesses)))); // a result may hold the next guess
if (guesses.length) {
  summary?.querySelector(".attn-done").before(drawn);
  drawGuesses(drawn, guesses);
}
document.documentElement.classList.remove("attn-asks"); // book.js has hidden what stands after a guess until now
document.querySelector(".attn-switch")?.append(showAllSwitch(guesses));

// A link may lead to what is hidden.
function showTarget() {
  const target = document.getElementById(location.hash.slice(1));
  for (let node = target; node; node = node.parentElement) if (node.matches(".attn-result")) showResult(node);
  if (target?.closest(".attn-result")) target.scrollIntoView();
}
addEventListener("hashchange", showTarget);
showTarget();

// Back may bring a page as it was left, and the switch may have been moved since.
addEventListener("pageshow", (event) => event.persisted && location.reload());
