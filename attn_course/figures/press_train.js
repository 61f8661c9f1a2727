// Press Train: a small transformer learns in the page, on the seed's own rows. The reader holds heads to a rule,
// switches them off, forbids looks, and sees patterns, loss and share right change. What trains is trainer.js.

import {
  box, button, choice, control, drawing, element, figure, folded, format, grouped, smallMap, sum,
} from "./common.js";

const NUMBERS = { // a field each: what it is called, and its bounds
  layers: ["layers", 1, 3], heads: ["heads per layer", 1, 8], rate: ["learning rate", 0, 1],
  steps: ["steps", 10, 5000], seed: ["seed", 0, 2 ** 32 - 1],
};
const TOLD_EVERY = 4000; // milliseconds between two lines that are spoken
const WATCHED = 4000; // milliseconds that a run takes at least, unless it is to be fast
const ASKED = {
  fortunes: "A model learns how sentences such as “Anna found gold and she smiled.” go on.",
  copying: "A model learns to go on with a row of letters that repeats itself.",
};
const PLOT = { width: 470, height: 138, left: 16, right: 410, top: 12, bottom: 116, nats: 4 };

function headNames({ layers, heads }) {
  return Array.from({ length: layers }, (_, l) => Array.from({ length: heads }, (_, h) => `L${l + 1}H${h + 1}`));
}

// Why a setting cannot be trained, in one sentence; "" if it can.
function refusal(setting, tasks) {
  if (!Object.hasOwn(tasks, setting.task)) return `There is no task “${setting.task}”.`;
  const task = tasks[setting.task];
  for (const [name, [called, least, most]] of Object.entries(NUMBERS)) {
    const number = setting[name];
    const isRate = name === "rate";
    if (!(number >= least && number <= most && (isRate ? number > 0 : Number.isInteger(number)))) {
      const wanted = isRate ? "a number above 0 and at most 1" : `a whole number from ${least} to ${grouped(most)}`;
      return `${called} must be ${wanted}, but ${Number.isNaN(number) ? "that is no number" : `is ${number}`}.`;
    }
  }
  const { heads, forbidden, held } = setting, names = headNames(setting).flat(), rules = [...task.rules, "off"];
  if (task.sizes.d % heads) return `The heads share the width ${task.sizes.d}, and ${heads} does not divide it.`;
  if (!["", ...task.edges].includes(forbidden)) return `“${forbidden}” cannot be forbidden.`;
  const unknown = Object.keys(held).find((head) => !names.includes(head));
  if (unknown !== undefined) return `There is no head ${unknown}.`;
  const odd = Object.values(held).find((rule) => !rules.includes(rule));
  return odd === undefined ? "" : `A head cannot be held to “${odd}”.`;
}

// A setting in one line.
function summary({ layers, heads, rate, steps, seed, forbidden }) {
  const [rows, each] = [[layers, "layer"], [heads, "head"]].map(([n, what]) => `${n} ${what}${n > 1 ? "s" : ""}`);
  const never = forbidden && `, no look at ${forbidden}`;
  return `Settings: ${rows} of ${each}, rate ${rate}, ${grouped(steps)} steps, seed ${seed}${never}`;
}

// A setting as the part of an address behind #, and back.
function toHash({ task, forbidden, held, ...rest }) {
  const numbers = Object.keys(NUMBERS).map((name) => [name, rest[name]]);
  const edge = forbidden ? [["forbidden", forbidden]] : [];
  return `#${new URLSearchParams([["train", task], ...numbers, ...edge, ...Object.entries(held)])}`;
}

function fromHash(hash) {
  const { train: task, forbidden = "", ...rest } = Object.fromEntries(new URLSearchParams(hash.slice(1)));
  const numbers = Object.keys(NUMBERS).map((name) => [name, rest[name] ? Number(rest[name]) : NaN]);
  const held = Object.entries(rest).filter(([name]) => !Object.hasOwn(NUMBERS, name));
  return { task, forbidden, ...Object.fromEntries(numbers), held: Object.fromEntries(held) };
}

// Means of so many losses each, so that a long run has no more points than the plot can show.
function meansOf(losses, every) {
  return Array.from({ length: Math.ceil(losses.length / every) }, (_, i) => {
    const some = losses.slice(i * every, (i + 1) * every);
    return sum(some) / some.length;
  });
}

function pathOf(points) {
  const places = points.map((point) => point.map((number) => number.toFixed(1)).join(","));
  return places.length ? `M${places.join(" L")}` : "";
}

// The curves of a run: its loss and its share right.
function curvesOf({ losses, points }, steps) {
  const { left, right, top, bottom, nats } = PLOT;
  const x = (step) => left + ((right - left) * step) / steps, y = (share) => bottom - (bottom - top) * share;
  const every = Math.ceil(steps / 200), middle = (i) => Math.min((i + 0.5) * every, losses.length);
  return [
    pathOf(meansOf(losses, every).map((loss, i) => [x(middle(i)), y(Math.min(loss / nats, 1.1))])),
    pathOf(points.map((point) => [x(point.step), y(point.right)])),
  ];
}

// Where the names of two curves stand that end at these heights: above the curve, and below it where there is no room.
function namesAt(loss, share) {
  const { top, bottom, nats } = PLOT;
  const ends = [Math.min(loss / nats, 1), share].map((height) => bottom - (bottom - top) * height);
  return ends.map((end, i) => {
    const above = ends[1 - i] < end ? ends[1 - i] : top - 8;
    return end - above > 24 ? end - 7 : end + 15;
  });
}

// What trains, in a worker, or in slices on the page where a worker is refused; `report` hears of it.
function openEngine(report) {
  const asked = [];
  let answer = null, worker = null, heard = false, ended = false;
  const hear = (what) => {
    heard = true;
    if (!ended) report(what);
  };
  const inThePage = () => {
    worker = null;
    answer = attnTrainer().serve(hear, 20);
    asked.splice(0).forEach((one) => answer(one));
  };
  const text = `const answer = (${attnTrainer})().serve((report) => postMessage(report), 100);
    onmessage = ({ data }) => answer(data);`;
  try {
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    worker = new Worker(address);
    worker.onmessage = ({ data }) => hear(data);
    worker.onerror = () => !heard && !ended && inThePage(); // forbidden by the site that shows the figure
  } catch {
    inThePage();
  }
  return {
    ask: (what) => {
      if (!heard) asked.push(what); // it may be needed once more
      worker ? worker.postMessage(what) : answer(what);
    },
    end: () => {
      ended = true;
      worker ? worker.terminate() : answer({ go: false });
    },
  };
}

const drawn = new WeakMap(); // what stays when a figure is drawn anew, by the function that draws it

function build({ read, change, reset, line, tell, draw, load }) {
  const { task: name, tasks } = read();
  const task = tasks[name], labels = Object.keys(tasks);
  let engine = null, run = null, ghost = null, key = "", shape = "", toldAt = 0, drawnAt = 0, asked = "";
  const former = drawn.get(draw);
  former?.end();

  const settle = (values) => { // a change of the setting, unless it is refused
    const setting = { ...read(), ...values };
    if (values.layers || values.heads) { // heads that are gone cannot be held
      const left = headNames(setting).flat().filter((head) => head in setting.held);
      setting.held = Object.fromEntries(left.map((head) => [head, setting.held[head]]));
    }
    problem.textContent = refusal(setting, tasks);
    if (!problem.textContent) change({ ...values, held: setting.held });
  };
  const chosen = choice({
    legend: "Learn to", labels: labels.map((one) => tasks[one].label),
    onChoose: (i) => change({ task: labels[i], ...tasks[labels[i]].usual, forbidden: "", held: {} }),
  });
  const fast = control("checkbox", {
    checked: former?.fast.checked ?? matchMedia("(prefers-reduced-motion: reduce)").matches, onchange: () => steer(read()),
  });
  const fields = Object.entries(NUMBERS).map(([name, [called, min, max]]) => {
    const input = control("number", { min, max, step: name === "rate" ? "any" : 1 });
    input.addEventListener("input", () => settle({ [name]: input.value === "" ? NaN : Number(input.value) }));
    return { name, input, row: element("label", { className: "attn-field" }, element("span", {}, called), input) };
  });
  const option = (value, text = value) => element("option", { value }, text);
  const selectOf = (label, options, onChoose) => {
    const select = element("select", { autocomplete: "off", "aria-label": label }, ...options);
    select.addEventListener("change", () => onChoose(select.value));
    return select;
  };
  const edges = [option("", "(nothing is forbidden)"), ...task.edges.map((edge) => option(edge))];
  const forbidden = selectOf("No head may look at", edges, (edge) => settle({ forbidden: edge }));
  const problem = element("p", { className: "attn-problem", role: "status" });
  const press = button("attn-button attn-train", "", () => go());
  const link = button("attn-button", "Put it into the address", () => {
    history.replaceState(null, "", toHash(read()));
    tell("The address of this page now holds the setting: whoever opens it finds the figure so.");
  });

  const curves = ["attn-ghost attn-loss", "attn-ghost attn-hits", "attn-loss", "attn-hits"]
    .map((kind) => drawing("path", { class: kind }));
  const { width, height, left, right, top, bottom, nats } = PLOT;
  const names = [["loss", "attn-loss"], ["share right", "attn-hits"]].map(([text, kind]) =>
    drawing("text", { x: right - 8, class: kind, "text-anchor": "end" }, text));
  const label = (x, y, text, kind, anchor = "start") =>
    drawing("text", { x, y, class: kind, "text-anchor": anchor }, text);
  const lastStep = label(right, bottom + 18, "", "attn-tick", "end");
  const plot = drawing("svg", { viewBox: `0 0 ${width} ${height}`, class: "attn-scene attn-plot", role: "img",
    "aria-label": "Loss and share right over the steps; the last numbers stand above." },
    drawing("path", { d: `M${left},${top} V${bottom} H${right} V${top}`, class: "attn-frame" }),
    ...curves, label(left - 5, top + 5, "1", "attn-hits", "end"), label(left - 5, bottom, "0", "attn-hits", "end"),
    label(right + 5, top + 5, `${nats} nats`, "attn-loss"), label(right + 5, bottom, "0", "attn-loss"),
    label(left, bottom + 18, "step 0", "attn-tick"), lastStep, ...names);

  const outcome = element("p", { className: "attn-outcome" });
  const settings = folded("",
    chosen.row, box("attn-fields", ...fields.map((one) => one.row)), box("attn-controls",
      element("label", { className: "attn-wanted" }, element("span", {}, "No head may look at"), forbidden),
      ...(load ? [link] : [])));
  const aim = element("p", { className: "attn-task", role: "status" });
  const rowShown = element("p", { className: "attn-head" });
  const legend = element("p", { className: "attn-head" },
    `Under each pattern: the weight that the head gives on new rows, solid ${task.scores[0]}, `
    + `dashed ${task.scores[1]}; and whether it learns freely, is off, or is held to a rule.`);
  const place = box("attn-learners");
  let cells = [];
  draw(
    element("p", {}, ASKED[name]), box("attn-controls", press,
      box("attn-choice", element("label", {}, fast, element("span", {}, "fast"))), reset),
    settings, problem, outcome, plot, ...(task.aim ? [aim] : []), line, rowShown, legend, place);
  drawn.set(draw, { end: () => engine?.end(), fast });

  const makeCells = (state) => {
    cells = headNames(state).map((names) => names.map((head) => {
      const map = smallMap(12), told = element("span", { className: "attn-value" }, " ");
      const scores = ["attn-curve", "attn-curve attn-second"].map((kind) => drawing("path", { class: kind }));
      const spark = drawing("svg", {
        viewBox: "0 0 100 24", preserveAspectRatio: "none", class: "attn-spark", "aria-hidden": "true",
      }, ...scores);
      const held = element("optgroup", { label: "held to" }, ...task.rules.map((rule) => option(rule)));
      const select = selectOf(`Head ${head}`, [option("", "free"), option("off"), held], (rule) => {
        const { [head]: _, ...others } = read().held;
        settle({ held: rule ? { ...others, [head]: rule } : others });
      });
      const cell = box("attn-learner", element("span", {}, head), map.picture, spark, told, select);
      return { head, map, scores, told, select, cell };
    }));
    place.replaceChildren(...cells.map((row, l) => element("fieldset", { className: "attn-layer" },
      element("legend", {}, `layer ${l + 1}`), ...row.map((one) => one.cell))));
  };

  const settingOf = (state) => ({
    ...Object.fromEntries(["task", ...Object.keys(NUMBERS)].map((one) => [one, state[one]])),
    sizes: task.sizes, warmUp: task.warmUp,
  });
  const controlOf = ({ held, forbidden: edge, steps }) =>
    ({ held, forbidden: edge, pace: fast.checked ? 0 : WATCHED / steps });
  const steer = (state) => {
    const wanted = JSON.stringify(controlOf(state));
    if (run && wanted !== asked) engine.ask({ control: controlOf(state) });
    asked = wanted;
  };

  const handOver = (params) => { // to Python, as bytes
    const views = Object.entries(params).map(([path, numbers]) => [path, new DataView(numbers.buffer)]);
    change({ trained: Object.fromEntries(views) });
  };
  const hear = (report) => {
    if (!plot.isConnected) return engine.end();
    const points = [...run.points, ...report.points], losses = [...run.losses, ...report.losses];
    run = { ...run, ...report, points, losses };
    if (report.params) handOver(report.params);
    const slow = matchMedia("(prefers-reduced-motion: reduce)").matches && run.going && Date.now() - drawnAt < 1000;
    return slow ? null : show(read());
  };
  const go = async () => {
    if (run && !run.over) return engine.ask({ go: !run.going });
    if (load && !window.attnTrainer) {
      try {
        await load("trainer.js");
      } catch {
        return tell("What trains did not come. Beside the book's pages, the folder _static should hold trainer.js.");
      }
      if (!plot.isConnected || (run && !run.over)) return null; // another press was first
    }
    const state = read();
    if (run) ghost = run;
    engine?.end();
    engine = openEngine(hear);
    run = { points: [], losses: [], step: 0, going: true, over: false, words: null, looks: null };
    asked = JSON.stringify(controlOf(state));
    toldAt = 0;
    engine.ask({ start: settingOf(state), control: controlOf(state), go: true });
    return show(state);
  };
  const hidden = () => {
    if (!plot.isConnected) document.removeEventListener("visibilitychange", hidden);
    else if (document.hidden && run?.going) engine.ask({ go: false });
  };
  document.addEventListener("visibilitychange", hidden);

  const best = (one) => { // the head that gives most by a score, and how much
    const found = run.points.at(-1).scores[one].flatMap((row, l) => row.map((weight, h) => [weight, `L${l + 1}H${h + 1}`]));
    return found.reduce((a, b) => (b[0] > a[0] ? b : a));
  };
  const inWords = (state) => {
    if (!run) return "Nothing is learned yet: press Train. All of it runs here, in this page.";
    if (!run.points.length) return "It begins.";
    if (run.diverged) return `At step ${run.step + 1} the loss was no number: try a lower rate than ${state.rate}.`;
    const heads = task.scores.map((score, one) => {
      const [weight, head] = best(one);
      return `${score[0].toUpperCase()}${score.slice(1)}: head ${head} gives most, ${format(weight)}.`;
    }).join(" ");
    if (run.going) return `Step ${run.step} of ${state.steps}: ${format(run.points.at(-1).right)} right. ${heads}`;
    const { right: share, count } = run.tested;
    const where = run.over ? `${share >= 0.9 ? "✓ " : ""}All ${state.steps} steps` : `It waits at step ${run.step}`;
    return `${where}: ${format(share)} right on ${count} new rows. ${heads}`;
  };

  const show = (state) => {
    drawnAt = Date.now();
    const last = run?.points.at(-1);
    if (run && Object.keys(state.held).length) run.helped = true;
    if (task.aim) {
      const [share, most] = task.aim, over = run?.points.find((point) => point.right > share);
      const solved = over !== undefined && over.step <= most && !run.helped;
      aim.textContent = solved ? `✓ Over ${share} right after ${over.step} steps, and no head was held.`
        : `Puzzle: over ${share} right after at most ${most} steps, with no head held. `
          + (over ? `This run came there after ${over.step}${run.helped ? ", with help" : ""}.` : "What can you change?");
      aim.classList.toggle("attn-solved", solved);
    }
    press.textContent = !run || run.over ? "▶ Train" : run.going ? "■ Stop" : "▶ Go on";
    const loss = run?.losses.length ? meansOf(run.losses.slice(-10), 10)[0] : NaN;
    names.forEach((text, i) => {
      text.setAttribute("visibility", loss >= 0 ? "visible" : "hidden");
      if (loss >= 0) text.setAttribute("y", namesAt(loss, last.right)[i]);
    });
    const inNats = loss >= 0 ? `, loss ${format(loss)} nats` : "";
    const share = `right ${format(last?.right ?? 0)} on a sample of new rows`;
    outcome.textContent = last ? `Step ${run.step} of ${state.steps}${inNats}, ${share}` : " ";
    lastStep.textContent = `step ${state.steps}`;
    const runs = [ghost, run].flatMap((one) => (one ? curvesOf(one, state.steps) : ["", ""]));
    curves.forEach((path, i) => path.setAttribute("d", runs[i]));
    rowShown.textContent = run?.words ? `One row, who looks at whom: ${run.words.join(" ")}` : "";
    cells.flat().forEach(({ head, map, scores, told, select, cell }) => {
      const [l, h] = head.slice(1).split("H").map((number) => number - 1);
      map.show(run?.looks?.[l][h] ?? []);
      scores.forEach((path, one) => path.setAttribute("d", pathOf((run?.points ?? []).map((point) =>
        [(100 * point.step) / state.steps, 23 - 22 * point.scores[one][l][h]]))));
      told.textContent = last ? last.scores.map((table) => format(table[l][h])).join(" · ") : " ";
      select.value = state.held[head] ?? "";
      cell.classList.toggle("attn-held", head in state.held);
    });
    if (!run?.going || Date.now() - toldAt > TOLD_EVERY) {
      toldAt = Date.now();
      tell(inWords(state));
    }
  };

  if (load && !former && location.hash.startsWith("#train=")) {
    const found = fromHash(location.hash), told = refusal(found, tasks);
    if (told) problem.textContent = `The setting in the address does not fit. ${told}`;
    else queueMicrotask(() => [change(found), place.closest(".attn-explorable").scrollIntoView()]);
  }

  return (state) => {
    chosen.set(labels.indexOf(state.task));
    fields.forEach(({ name: one, input }) => {
      if (input !== document.activeElement && input.value !== String(state[one])) input.value = state[one];
    });
    forbidden.value = state.forbidden;
    settings.firstChild.textContent = summary(state);
    const setting = JSON.stringify(settingOf(state));
    if (setting !== key && run) {
      engine.end();
      [ghost, run] = [run, null];
      change({ trained: {} });
    }
    key = setting;
    steer(state);
    if (shape !== `${state.layers} ${state.heads}`) makeCells(state);
    shape = `${state.layers} ${state.heads}`;
    show(state);
  };
}

const render = figure({ label: "Press Train", build, fixed: ({ task }) => [task] });

export default { render, refusal };
