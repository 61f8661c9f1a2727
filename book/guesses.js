// Guesses: the reader is asked before a result, which is hidden from the eye until something has been said. Search and
// print find it all the same, and without JavaScript nothing is hidden. book/guesses.py says what a guess holds.

const SHOW_ALL = "attention-worked-out: show all"; // a wish, not a record: who forgets the guesses keeps it
const NEAR = { share: 0.05, factor: 1.25, curve: 0.08 }; // so close counts as right: on a scale, on a log scale, along a curve

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
// `settle` is told whether the guess was made just now, and not on an earlier visit.
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
  const short = (number) => number.toLocaleString("en-US", { notation: "compact" });
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
      const [low, high] = scale.map((end) => element("span", { className: "attn-end" }, short(end)));
      row.firstChild.after(low);
      row.lastChild.before(high);
      return [box("attn-knobs", row), press];
    },
    settle(guessed, isNow) {
      const from = guessed ?? right;
      row.querySelector("input").replaceWith(missOf(this, guessed)); // on the track where the thumb was
      press.classList.add("attn-gone"); // it keeps its place
      tween(isNow ? share(from) : share(right), share(right), (place) => {
        row.lastChild.textContent = `it is ${shown(place === share(right) ? right : rounded(at(place)))}`;
      });
    },
    fits: (said) => typeof said === "number" && scale[0] <= said && said <= scale[1],
    told: (said = right) => [shown(said)],
    isRight: (said) => (scale[0] > 0 ? Math.abs(Math.log(said / right)) <= Math.log(NEAR.factor)
      : digits === 0 ? said === right : Math.abs(share(said) - share(right)) <= NEAR.share),
    why: (said) => why[Number(said > right)],
    spots: (said = right) => [share(said), share(right)],
    ticks: [0, 1],
  };
}

// A curve is drawn: a sweep of the pointer over the axes, or a point at a time by its keys.
function curveGuess({ right, at, across, along, scale, digits, why }) {
  const { share, at: numberAt } = scaleOf(scale);
  const [width, height, left, foot] = [480, 240, 44, 34];
  const x = (i) => left + 14 + ((width - left - 28) * i) / (at.length - 1);
  const y = (number) => (height - foot) * (1 - share(number)) + 8 * (2 * share(number) - 1) + 4;
  const shown = (number) => number.toLocaleString("en-US", { maximumFractionDigits: digits });
  const rounded = (number) => Number(number.toFixed(digits));
  const label = (text, where) => drawing("text", { class: "attn-tick", ...where }, text);
  const path = (numbers) => numbers.map((number, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(number).toFixed(1)}`).join("");
  const said = at.map(() => rounded(numberAt(0.5)));
  const line = drawing("path", { class: "attn-mine-curve" });
  const points = at.map((one, i) => drawing("circle", {
    cx: x(i), r: 7, class: "attn-mine-point", tabindex: 0, role: "slider",
    "aria-label": `${along}, ${across} ${shown(one)}`, "aria-valuemin": scale[0], "aria-valuemax": scale[1],
  }));
  const grips = at.map((_, i) => drawing("circle", { cx: x(i), r: 28, class: "attn-reach" })); // for a finger
  const plot = drawing("svg", { viewBox: `0 0 ${width} ${height}`, class: "attn-axes", role: "group", "aria-label": `Your curve: ${along}` },
    drawing("path", { class: "attn-axis", d: `M${left} 4V${height - foot + 4}H${width - 4}` }),
    ...scale.map((end) => label(shown(end), { x: left - 6, y: y(end) + 4, "text-anchor": "end" })),
    ...at.map((one, i) => label(shown(one), i < at.length - 1 ? { x: x(i), y: height - 19, "text-anchor": "middle" }
      : { x: width, y: height - 19, "text-anchor": "end" })),
    label(across, { x: width - 4, y: height - 4, "text-anchor": "end" }), label(along, { x: left + 8, y: 14 }), line, ...points, ...grips);
  const press = button("attn-button", "That is my guess", () => commit(said));
  press.disabled = true; // until something was drawn
  let commit;
  let isSettled = false;

  function set(i, number) {
    if (isSettled) return;
    said[i] = rounded(Math.min(scale[1], Math.max(scale[0], number)));
    press.disabled = false;
    show();
  }
  function show() {
    line.setAttribute("d", path(said));
    points.forEach((point, i) => {
      for (const circle of [point, grips[i]]) circle.setAttribute("cy", y(said[i]));
      point.setAttribute("aria-valuenow", said[i]);
      point.setAttribute("aria-valuetext", shown(said[i]));
    });
  }
  points.forEach((point, i) => point.addEventListener("keydown", (event) => {
    const step = { ArrowUp: 0.02, ArrowRight: 0.02, ArrowDown: -0.02, ArrowLeft: -0.02, PageUp: 0.1, PageDown: -0.1 }[event.key];
    if (!step) return;
    event.preventDefault();
    set(i, numberAt(share(said[i]) + step));
  }));
  // Between two moves of a quick finger lie points; they are swept as well.
  let last = null;
  function sweep(event) {
    const { left: side, top, width: across } = plot.getBoundingClientRect();
    const [px, py] = [event.clientX - side, event.clientY - top].map((length) => (length * width) / across);
    const now = [((px - x(0)) / (x(at.length - 1) - x(0))) * (at.length - 1), (height - foot - 4 - py) / (height - foot - 16)];
    const [from, to] = [last ?? now, now];
    at.forEach((_, i) => {
      if (i < Math.min(from[0], to[0]) - 0.5 || i > Math.max(from[0], to[0]) + 0.5) return;
      const part = to[0] === from[0] ? 1 : Math.min(1, Math.max(0, (i - from[0]) / (to[0] - from[0])));
      set(i, numberAt(Math.min(1, Math.max(0, from[1] + part * (to[1] - from[1])))));
    });
    last = now;
  }
  plot.addEventListener("pointerdown", (event) => {
    plot.setPointerCapture(event.pointerId);
    last = null;
    sweep(event);
  });
  plot.addEventListener("pointermove", (event) => plot.hasPointerCapture(event.pointerId) && sweep(event));
  show();
  const misses = (numbers) => numbers.map((number, i) => share(number) - share(right[i]));
  return {
    ask(onCommit) {
      commit = onCommit;
      return [plot, press];
    },
    settle(guessed) {
      if (guessed) said.splice(0, said.length, ...guessed);
      show();
      isSettled = true;
      press.classList.add("attn-gone");
      points.forEach((point) => point.setAttribute("tabindex", -1));
      (guessed ? grips : [line, ...points, ...grips]).forEach((node) => node.remove());
      plot.append(drawing("path", { class: "attn-its-curve", d: path(right), pathLength: 1 }),
        ...right.map((number, i) => drawing("circle", { cx: x(i), cy: y(number), r: 4, class: "attn-its-point" })));
    },
    fits: (said) => Array.isArray(said) && said.length === at.length && said.every((number) => scale[0] <= number && number <= scale[1]),
    told: (said = right) => [said.map(shown).join(", ")],
    isRight: (said) => sum(misses(said).map(Math.abs)) / at.length <= NEAR.curve,
    why: (said) => why[Number(sum(misses(said)) > 0)],
    spots: (said = right) => [said, right].map((numbers) => sum(numbers.map(share)) / at.length),
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
function resultAfter(guess) {
  const result = box("attn-result");
  const parts = [];
  const node = guess.nextElementSibling?.matches(".attn-switch") ? guess.nextElementSibling : guess;
  for (let next = node.nextElementSibling; next && next.tagName !== "SECTION"; next = next.nextElementSibling) parts.push(next);
  node.after(result);
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

// A formula, a table or a diagram wider than the page scrolls; the keyboard must reach it. What is hidden has no width yet.
function showScrolling() {
  document.querySelectorAll("mjx-container[display], div:has(> :is(.attn-numbers, .attn-diagram))").forEach((wide) => {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
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
  const kind = about.rows ? placeGuess(about) : about.at ? curveGuess(about) : about.scale ? scaleGuess(about) : choiceGuess(about, list);

  const result = resultAfter(place);
  const verdict = element("p", { className: "attn-why", role: "status", tabIndex: -1 });
  const pass = button("attn-link", "Just show me", () => commit(null));
  const root = element("div", { className: "attn-explorable attn-guess", role: "group", "aria-labelledby": sentence.id });
  let said = remembered()[name]; // null where the reader passed

  function settle(isNow = false) {
    root.classList.toggle("attn-now", isNow);
    root.classList.toggle("attn-hit", said !== null && kind.isRight(said));
    kind.settle(said ?? undefined, isNow);
    pass.classList.add("attn-gone"); // and keeps its place
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
    settle(true);
    remember({ [name]: said });
    if (!document.activeElement?.matches("[aria-disabled]")) verdict.focus({ preventScroll: true }); // its button has gone
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
function missOf(kind, said) {
  const [mine, its] = kind.spots(said);
  const spot = (className, at, style = "") => element("span", { className, style: `--attn-at: ${at}; ${style}` });
  const guessed = said === undefined ? [] : [
    spot("attn-gap", Math.min(mine, its), `--attn-wide: ${Math.abs(mine - its)}; --attn-from: ${mine < its ? 0 : 100}%`),
    spot("attn-mine", mine),
  ];
  return element("span", { className: "attn-miss", "aria-hidden": "true" }, spot("attn-track", 0),
    ...kind.ticks.map((share) => spot("attn-tick-mark", share)), ...guessed, spot("attn-its", its, `--attn-start: ${mine}`));
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
      cell("attn-drawn", missOf(kind, said)), cell("", ...kind.told(said)), cell("attn-it-is", ...kind.told()));
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

// The one switch, on every page that has it.
function bringSwitch(input, guesses) {
  input.checked = isShownAll();
  input.addEventListener("change", () => {
    keep(SHOW_ALL, input.checked ? "yes" : "no");
    guesses.filter(({ said }) => said() === undefined).forEach(({ result }) => {
      if (input.checked) showResult(result);
      else result.setAttribute("hidden", "until-found");
    });
  });
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
document.querySelectorAll(".attn-switch input").forEach((input) => bringSwitch(input, guesses));

// A link may lead to what is hidden, or to a side path that is folded.
function showTarget() {
  const target = document.getElementById(location.hash.slice(1));
  target?.querySelectorAll(":scope > details.attn-side").forEach((side) => (side.open = true));
  for (let node = target; node; node = node.parentElement) {
    if (node.matches(".attn-result")) showResult(node);
    if (node.matches("details")) node.open = true;
  }
  if (target?.closest(".attn-result, details")) target.scrollIntoView();
}
addEventListener("hashchange", showTarget);
showTarget();

// Back may bring a page as it was left, and the switch may have been moved since.
addEventListener("pageshow", (event) => event.persisted && location.reload());
