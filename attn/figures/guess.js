// A guess: the reader is asked before a result, and told how near it was once the chapter has computed it.

const NEAR = { share: 0.05, factor: 1.25, curve: 0.08 }; // so close counts as right: on a scale, on a log scale, along a curve

// A choice as a reader's browser keeps it, and as it is shown: what stands between two asterisks is stressed.
const plain = (text) => text.replaceAll("*", "");
const stressed = (text) => text.split("*").flatMap((part, i) => (i % 2 ? element("em", {}, ...typeset(part)) : typeset(part)));

// A number on a scale as a share of its length, and back.
function scaleOf([start, stop]) {
  const [to, from] = start > 0 ? [Math.log, Math.exp] : [(x) => x, (x) => x];
  const length = to(stop) - to(start);
  return { share: (x) => (to(x) - to(start)) / length, at: (share) => from(to(start) + share * length) };
}

const inWords = (digits, unit = "") => (number) => `${number.toLocaleString("en-US", { maximumFractionDigits: digits })}${unit}`;

function committing(commit) {
  const press = button("attn-button", "That is my guess", commit);
  press.disabled = true; // until something was moved
  return press;
}

// Each kind of guess: the nodes that ask (`commit` is told what was said), what they show once it was said, and once the
// answer is known; how a guess or the answer is told, whether a guess is right, why somebody may have said so, and where
// both lie on a line.
function choiceGuess({ choices }, commit) {
  const names = choices.map(plain);
  const buttons = choices.map((text, i) => {
    const press = button("attn-answer", "", () => commit(names[i]));
    press.append(...stressed(text));
    return press;
  });
  const spot = (said) => names.indexOf(said) / (names.length - 1);
  return {
    asks: [box("attn-answers", ...buttons)],
    close: (said) => buttons.forEach((press, i) => {
      press.setAttribute("aria-disabled", "true");
      press.setAttribute("aria-pressed", String(names[i] === said));
    }),
    settle: (said, right) => buttons.forEach((press, i) => press.classList.toggle("attn-right", names[i] === right)),
    fits: (said) => names.includes(said),
    told: (said) => ["“", ...stressed(choices[names.indexOf(said)]), "”"],
    isRight: (said, right) => said === right,
    reason: (said) => said,
    spot,
    ticks: names.map(spot),
  };
}

function scaleGuess({ scale, unit, digits }, commit) {
  const { share, at } = scaleOf(scale);
  const told = scale[0] > 0 ? inWords(digits, unit) : (number) => `${format(number, digits)}${unit}`;
  const rounded = (number) => Number(scale[0] > 0 ? number.toPrecision(2) : number.toFixed(digits));
  const step = scale[0] > 0 ? 0.005 : Math.max(0.005, 10 ** -digits / (scale[1] - scale[0]));
  let now = rounded(at(0.5));
  const press = committing(() => commit(now));
  const { row, set } = slider({
    label: "Your guess", min: 0, max: 1, step, show: (place) => told(rounded(at(place))),
    onInput: (place) => {
      now = rounded(at(place));
      set(place);
      press.disabled = false;
    },
  });
  set(0.5);
  const [low, high] = scale.map((end) => element("span", { className: "attn-end" }, end.toLocaleString("en-US", { notation: "compact" }).replace("-", "−")));
  row.firstChild.after(low);
  row.lastChild.before(high);
  const kind = {
    asks: [box("attn-knobs", row), press],
    close(said) {
      row.querySelector("input").disabled = true;
      if (said !== undefined) set(share(said));
      press.classList.add("attn-gone"); // it keeps its place
    },
    settle(said, right, isNow) {
      row.querySelector("input").replaceWith(missOf(kind, said, right)); // on the track where the thumb was
      tween(share((isNow ? said : right) ?? right), share(right), (place) => {
        row.lastChild.textContent = `it is ${told(place === share(right) ? right : rounded(at(place)))}`;
      });
    },
    fits: (said) => typeof said === "number" && scale[0] <= said && said <= scale[1],
    told: (said) => [told(said)],
    isRight: (said, right) => (scale[0] > 0 ? Math.abs(Math.log(said / right)) <= Math.log(NEAR.factor)
      : digits === 0 ? said === right : Math.abs(share(said) - share(right)) <= NEAR.share),
    reason: (said, right) => (said > right ? "high" : "low"),
    spot: share,
    ticks: [0, 1],
  };
  return kind;
}

// The axes of a curve that is drawn: where a point and a number lie, and the drawing without its curves.
function axesOf({ at, across, along, scale, digits }) {
  const { share } = scaleOf(scale);
  const [width, height, left, foot] = [Math.min(480, sceneWidth()), 240, 36, 34];
  const x = (i) => left + 14 + ((width - left - 52) * i) / (at.length - 1); // beside the last, the names of the curves
  const y = (number) => (height - foot) * (1 - share(number)) + 8 * (2 * share(number) - 1) + 4;
  const told = inWords(digits);
  const label = (text, where) => drawing("text", { class: "attn-tick", ...where }, text);
  const plot = drawing("svg", { viewBox: `0 0 ${width} ${height}`, class: "attn-axes", role: "group", "aria-label": `Your curve: ${along}` },
    drawing("path", { class: "attn-axis", d: `M${left} 4V${height - foot + 4}H${width - 4}` }),
    ...scale.map((end) => label(told(end), { x: left - 6, y: y(end) + 4, "text-anchor": "end" })),
    ...at.map((one, i) => label(told(one), { x: x(i), y: height - 19, "text-anchor": "middle" })),
    label(across, { x: width - 4, y: height - 4, "text-anchor": "end" }), label(along, { x: left + 8, y: 14 }));
  // Where a pointer is: by points, and as a share of the scale.
  const under = ({ clientX, clientY }) => {
    const box = plot.getBoundingClientRect();
    const [px, py] = [clientX - box.left, clientY - box.top].map((length) => (length * width) / box.width);
    return [((px - x(0)) / (x(at.length - 1) - x(0))) * (at.length - 1), (height - foot - 4 - py) / (height - foot - 16)];
  };
  const path = (numbers) => numbers.map((number, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(number).toFixed(1)}`).join("");
  const name = (text, number, lower = 0) => plot.append(label(text, { x: x(at.length - 1) + 10, y: y(number) + 4 + lower }));
  return { plot, x, y, under, path, name };
}

// A sweep of a pointer over the axes. Between two moves of a quick finger lie points; they are swept as well.
function sweeping({ plot, under }, nPoints, set) {
  let last = null;
  const sweep = (event) => {
    const now = under(event);
    const [from, to] = [last ?? now, now];
    for (let i = 0; i < nPoints; i++) {
      if (i < Math.min(from[0], to[0]) - 0.5 || i > Math.max(from[0], to[0]) + 0.5) continue;
      const part = to[0] === from[0] ? 1 : Math.min(1, Math.max(0, (i - from[0]) / (to[0] - from[0])));
      set(i, Math.min(1, Math.max(0, from[1] + part * (to[1] - from[1]))));
    }
    last = now;
  };
  plot.addEventListener("pointerdown", (event) => {
    plot.setPointerCapture(event.pointerId);
    last = null;
    sweep(event);
  });
  plot.addEventListener("pointermove", (event) => plot.hasPointerCapture(event.pointerId) && sweep(event));
}

// A curve is drawn: a sweep of the pointer over the axes, or a point at a time by its keys.
function curveGuess(asked, commit) {
  const { at, across, along, scale, digits } = asked;
  const { share, at: numberAt } = scaleOf(scale);
  const axes = axesOf(asked);
  const told = inWords(digits);
  const rounded = (number) => Number(number.toFixed(digits));
  let now = at.map(() => rounded(numberAt(0.5)));
  let isClosed = false;
  const line = drawing("path", { class: "attn-mine-curve" });
  const points = at.map((one, i) => drawing("circle", {
    cx: axes.x(i), r: 7, class: "attn-mine-point", tabindex: 0, role: "slider",
    "aria-label": `${along}, ${across} ${told(one)}`, "aria-valuemin": scale[0], "aria-valuemax": scale[1],
  }));
  const grips = at.map((_, i) => drawing("circle", { cx: axes.x(i), r: 28, class: "attn-reach" })); // for a finger
  axes.plot.append(line, ...points, ...grips);
  const press = committing(() => commit(now));
  const show = () => {
    line.setAttribute("d", axes.path(now));
    points.forEach((point, i) => {
      for (const circle of [point, grips[i]]) circle.setAttribute("cy", axes.y(now[i]));
      point.setAttribute("aria-valuenow", now[i]);
      point.setAttribute("aria-valuetext", told(now[i]));
    });
  };
  const set = (i, place) => {
    if (isClosed) return;
    now[i] = rounded(Math.min(scale[1], Math.max(scale[0], numberAt(place))));
    press.disabled = false;
    show();
  };
  points.forEach((point, i) => point.addEventListener("keydown", (event) => {
    const step = { ArrowUp: 0.02, ArrowRight: 0.02, ArrowDown: -0.02, ArrowLeft: -0.02, PageUp: 0.1, PageDown: -0.1, Home: -1, End: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    set(i, share(now[i]) + step);
  }));
  sweeping(axes, at.length, set);
  show();
  const misses = (said, right) => said.map((number, i) => share(number) - share(right[i]));
  return {
    asks: [axes.plot, press],
    close(said) {
      isClosed = true;
      now = said ?? now;
      show();
      press.classList.add("attn-gone");
      points.forEach((point) => point.setAttribute("tabindex", -1));
      (said ? grips : [line, ...points, ...grips]).forEach((node) => node.remove());
    },
    settle(said, right) {
      axes.plot.append(drawing("path", { class: "attn-its-curve", d: axes.path(right), pathLength: 1 }),
        ...right.map((number, i) => drawing("circle", { cx: axes.x(i), cy: axes.y(number), r: 4, class: "attn-its-point" })));
      axes.name("it is", right.at(-1));
      if (!said) return;
      const lower = axes.y(said.at(-1)) - axes.y(right.at(-1));
      axes.name("you", said.at(-1), Math.abs(lower) < 14 ? (lower > 0 ? 14 : -14) - lower : 0);
    },
    fits: (said) => Array.isArray(said) && said.length === at.length && said.every((number) => scale[0] <= number && number <= scale[1]),
    told: (said) => [said.length > 3 ? `from ${told(said[0])} to ${told(said.at(-1))}` : said.map(told).join(", ")],
    isRight: (said, right) => sum(misses(said, right).map(Math.abs)) / at.length <= NEAR.curve,
    reason: (said, right) => (sum(misses(said, right)) > 0 ? "high" : "low"),
    spot: (said) => sum(said.map(share)) / at.length,
    ticks: [0, 1],
  };
}

function placeGuess({ rows, columns }, commit) {
  const named = (i, j) => (rows.length > 1 ? `${rows[i]} → ${columns[j]}` : columns[j]);
  const cells = grid(rows.length, columns.length, (i, j) => {
    const press = button("attn-cell", "", () => commit(named(i, j)));
    press.setAttribute("aria-label", named(i, j));
    return press;
  });
  const names = cells.flat().map((press) => press.getAttribute("aria-label"));
  const title = rows.length > 1 ? "Point at a cell. A row asks, a column is asked." : "Point at one.";
  const { table } = tableOf({ title, columns: columns.map(heading("col")), rows: rows.map(heading("row")), cells });
  const mark = (name, className, text) => {
    const cell = cells.flat()[names.indexOf(name)];
    cell.classList.add(className);
    cell.textContent = text;
  };
  return {
    asks: [box("attn-scroll", table)],
    close: (said) => {
      cells.flat().forEach((press) => press.setAttribute("aria-disabled", "true"));
      if (said !== undefined) mark(said, "attn-said", "✗");
    },
    settle: (said, right) => mark(right, "attn-right", "✓"),
    fits: (said) => names.includes(said),
    told: (said) => [`“${said}”`],
    isRight: (said, right) => said === right,
    reason: () => "",
    spot: (said) => names.indexOf(said) / (names.length - 1),
    ticks: [],
  };
}

function kindOf(asked, commit) {
  const kind = asked.rows.length ? placeGuess : asked.at.length ? curveGuess : asked.scale.length ? scaleGuess : choiceGuess;
  return kind(asked, commit);
}

// A guess and the answer on one line, with what lies between them.
function missOf(kind, said, right) {
  const spot = (className, at, style = "") => element("span", { className, style: `--attn-at: ${at}; ${style}` });
  const its = kind.spot(right), mine = said === undefined ? its : kind.spot(said);
  const guessed = said === undefined ? [] : [
    spot("attn-gap", Math.min(mine, its), `--attn-wide: ${Math.abs(mine - its)}; --attn-from: ${mine < its ? 0 : 100}%`),
    spot("attn-mine", mine),
  ];
  return element("span", { className: "attn-miss", "aria-hidden": "true" }, spot("attn-track", 0),
    ...kind.ticks.map((share) => spot("attn-tick-mark", share)), ...guessed, spot("attn-its", its, `--attn-start: ${mine}`));
}

// What is told of a guess: `said` is null where the reader passed; `answer` holds `right` and `why`, or is null until it is
// known.
function verdictOf(kind, said, answer) {
  if (!answer) return said === null ? ["Run the cells below to see what it is."] : ["You said ", ...kind.told(said), ". Run the cells below to see what it is."];
  const { right, why } = answer;
  const its = kind.told(right);
  if (said === null) return ["It is ", ...its, "."];
  const text = (parts) => parts.map((part) => part.textContent ?? part).join("");
  const mine = kind.told(said);
  if (!kind.isRight(said, right)) return ["You said ", ...mine, "; it is ", ...its, ". ", ...typeset(why[kind.reason(said, right)] ?? "")];
  return ["You said ", ...mine, ", and so it is", ...(text(mine) === text(its) ? [] : [", nearly: ", ...its]), "."];
}

// In a page of the book the answer stands further down, in the output of the cell that computes it; in JupyterLab another
// chapter may be open beside this one.
function answerInPage(root, id) {
  const place = (root.closest("[data-attn-chapter]") ?? document).querySelector(`[data-answer="${id}"] script`);
  return place && JSON.parse(place.textContent);
}

function render({ model, el }) {
  const root = figureRoot(el, "Your guess");
  const id = model.get("id");
  const asked = Object.fromEntries(["choices", "scale", "unit", "digits", "at", "across", "along", "rows", "columns"].map((name) => [name, model.get(name)]));
  const answer = () => model.get("answer") ?? answerInPage(root, id);
  const said = () => model.get("said")[0]; // null where the reader passed, undefined until one of the two has happened
  const name = () => chapterOf(root) && `${chapterOf(root)}?${id}`;
  const kind = kindOf(asked, commit);
  const pass = button("attn-link", "Just show me", () => commit(null));
  const verdict = element("p", { className: "attn-why", role: "status", tabIndex: -1 });
  let isNow = false, isClosed = false, isSettled = false;

  function say(what) {
    model.set("said", [what]);
    model.save_changes();
  }

  // Keep what was said for a later visit, and tell the page.
  function note() {
    if (name()) remember({ [name()]: said() });
    root.dispatchEvent(new Event("attn-guessed", { bubbles: true }));
  }

  function commit(what) {
    if (said() !== undefined) return;
    isNow = true;
    say(what);
    show();
    if (!document.activeElement?.matches("[aria-disabled]")) verdict.focus({ preventScroll: true }); // its button has gone
    note();
  }

  // Bring back what was said on an earlier visit. What no longer fits is forgotten, as the book has changed, and what a
  // saved notebook brings is kept.
  function recall() {
    const kept = remembered()[name()];
    if (said() === undefined && (kept === null || kind.fits(kept))) {
      say(kept);
      show();
    } else if (name() && said() !== kept) note();
  }

  function show() {
    const mine = said() ?? undefined, found = answer();
    if (said() !== undefined && !isClosed) {
      isClosed = true;
      kind.close(mine);
      pass.classList.add("attn-gone"); // and keeps its place
    }
    if (!isClosed) return;
    if (found && !isSettled) {
      isSettled = true;
      root.classList.toggle("attn-now", isNow);
      root.classList.toggle("attn-hit", mine !== undefined && kind.isRight(mine, found.right));
      kind.settle(mine, found.right, isNow);
    }
    verdict.replaceChildren(...verdictOf(kind, said(), found));
  }

  root.classList.add("attn-guess");
  root.append(...kind.asks, pass, verdict);
  const drawn = () => missOf(kind, said() ?? undefined, answer().right);
  el.guess = { id, kind, said, answer, name, recall, drawn }; // for the page in which it asks
  if (el.isConnected) recall();
  else { // a notebook shows it a moment later
    const seen = new ResizeObserver(() => {
      seen.disconnect();
      recall();
    });
    seen.observe(root);
  }
  return follow(model, ["said", "answer"], show);
}

export default { render };
