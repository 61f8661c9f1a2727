// A guess: the reader is asked before a result, and told how near it was once the chapter has computed it.

import { box, button, element, figureRoot, follow, format, slider, tween, typeset } from "./common.js";

const NEAR = { share: 0.05, factor: 1.25 }; // so close counts as right: on a scale, on a log scale

// A choice as a reader's browser keeps it, and as it is shown: what stands between two asterisks is stressed.
const plain = (text) => text.replaceAll("*", "");
const stressed = (text) => text.split("*").flatMap((part, i) => (i % 2 ? element("em", {}, ...typeset(part)) : typeset(part)));

// A number on a scale as a share of its length, and back.
function scaleOf([start, stop]) {
  const [to, from] = start > 0 ? [Math.log, Math.exp] : [(x) => x, (x) => x];
  const length = to(stop) - to(start);
  return { share: (x) => (to(x) - to(start)) / length, at: (share) => from(to(start) + share * length) };
}

// Both kinds of guess: the nodes that ask (`commit` is told what was said), what they show once it was said, and once the
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
  const inWords = (number) => (scale[0] > 0 ? number.toLocaleString("en-US", { maximumFractionDigits: digits }) : format(number, digits));
  const told = (number) => `${inWords(number)}${unit}`;
  const rounded = (number) => Number(scale[0] > 0 ? number.toPrecision(2) : number.toFixed(digits));
  const step = scale[0] > 0 ? 0.005 : Math.max(0.005, 10 ** -digits / (scale[1] - scale[0]));
  let now = rounded(at(0.5));
  const press = button("attn-button", "That is my guess", () => commit(now));
  press.disabled = true; // until the slider was moved
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
  const asked = Object.fromEntries(["choices", "scale", "unit", "digits"].map((name) => [name, model.get(name)]));
  const answer = () => model.get("answer") ?? answerInPage(root, id);
  const said = () => model.get("said")[0]; // null where the reader passed, undefined until one of the two has happened
  const kind = (asked.choices.length ? choiceGuess : scaleGuess)(asked, commit);
  const pass = button("attn-link", "Just show me", () => commit(null));
  const verdict = element("p", { className: "attn-why", role: "status", tabIndex: -1 });
  let isNow = false, isClosed = false, isSettled = false;

  function say(what) {
    model.set("said", [what]);
    model.save_changes();
  }

  // What was said is kept for a later visit by kept.js of the extension of JupyterLab, which the book loads as well.
  const send = (name, detail) => root.dispatchEvent(new CustomEvent(name, { bubbles: true, detail: { id, ...detail } }));
  const tell = () => send("attn-guessed", { said: said() });
  const ask = () => send("attn-asks", { recall });

  function commit(what) {
    if (said() !== undefined) return;
    isNow = true;
    say(what);
    show();
    if (!document.activeElement?.matches("[aria-disabled]")) verdict.focus({ preventScroll: true }); // its button has gone
    tell();
  }

  // Bring back what was said on an earlier visit. What no longer fits is forgotten, as the book has changed, and what a
  // saved notebook brings is kept.
  function recall(kept) {
    if (said() === undefined && (kept === null || kind.fits(kept))) {
      say(kept);
      show();
    } else if (said() !== kept) tell();
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
  el.guess = { id, kind, said, answer, ask, drawn }; // for the page in which it asks
  if (el.isConnected) ask();
  else { // a notebook shows it a moment later
    const seen = new ResizeObserver(() => {
      seen.disconnect();
      ask();
    });
    seen.observe(root);
  }
  return follow(model, ["said", "answer"], show);
}

export default { render };
