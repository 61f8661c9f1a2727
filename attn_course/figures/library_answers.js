// What attention functions of many libraries answer to the same questions. The reader says from which to which he goes,
// and sees what changes; or he puts one question to all.

import { box, caption, chooser, element, figure, folded } from "./common.js";

const isAnswer = (told) => !told.startsWith("not offered") && !told.startsWith("refused");

// The questions, by what becomes of the first function's answer in the second one.
function compare(questions, come, go) {
  const found = { silent: [], refused: [], missing: [], alike: [] };
  for (const name of Object.keys(questions).filter((name) => isAnswer(come[name]))) {
    const kind = go[name] === come[name] ? "alike" : isAnswer(go[name]) ? "silent" : go[name].startsWith("refused") ? "refused" : "missing";
    found[kind].push(name);
  }
  return found;
}

// The functions that give each answer, those first that are given most.
function byAnswer(functions, name) {
  const groups = {};
  for (const one of functions) {
    const told = one.answers[name];
    (groups[told.startsWith("refused") ? "refused" : told] ??= []).push(one);
  }
  return Object.entries(groups).sort(([a, some], [b, others]) => isAnswer(b) - isAnswer(a) || others.length - some.length);
}

function build({ read, change, draw, line, tell, reset }) {
  const { functions, questions } = read();
  const names = functions.map(({ name }) => name), asked = Object.keys(questions);
  const come = chooser("You come from", names, (i) => change({ come: i }));
  const go = chooser("You go to", names, (i) => change({ go: i }));
  const all = chooser("One question to all", asked, (i) => change({ question: asked[i] }));
  const parts = { silent: "Another answer, without a word", refused: "Refused there", missing: "Not offered there", alike: "The same" };
  const lists = Object.keys(parts).map((kind) => [kind, element("dl", { className: "attn-answers-list" })]);
  const nodes = lists.map(([kind, list]) => kind === "silent" ? list : folded("", list));
  const whole = caption(""), groups = element("dl", { className: "attn-answers-list" }), versions = caption("");
  draw(box("attn-controls", come.row, go.row), line, versions, ...nodes,
    folded("One question, put to all", all.row, whole, groups), reset);

  const entry = (name, answer, mend) => [
    element("dt", {}, questions[name][0]),
    element("dd", {}, answer, ...(mend ? [caption(questions[name][1])] : [])),
  ];
  return (state) => {
    const [from, to] = [functions[state.come], functions[state.go]], found = compare(questions, from.answers, to.answers);
    come.set(state.come);
    go.set(state.go);
    all.set(asked.indexOf(state.question));
    lists.forEach(([kind, list], i) => {
      list.replaceChildren(...found[kind].flatMap((name) => entry(name,
        kind === "alike" ? from.answers[name] : `${from.answers[name]} → ${to.answers[name]}`, kind !== "alike")));
      if (kind === "silent") return;
      nodes[i].hidden = found[kind].length === 0;
      nodes[i].querySelector("summary").textContent = `${parts[kind]}: ${found[kind].length}`;
    });
    versions.textContent = [from, to].map(({ pins, asked }) => `${pins.join(", ")}, asked on ${asked}`).join("; ");
    whole.textContent = questions[state.question][0];
    groups.replaceChildren(...byAnswer(functions, state.question).flatMap(([answer, some]) =>
      [element("dt", {}, `${answer}: ${some.length}`), element("dd", {}, some.map(({ name }) => name).join(" · "))]));
    const n = asked.filter((name) => isAnswer(from.answers[name])).length;
    tell(`Of the ${n} questions that ${from.name} answers, ${to.name} answers ${found.alike.length} alike, `
      + `${found.silent.length} otherwise without a word, refuses ${found.refused.length}, and does not offer ${found.missing.length}.`);
  };
}

export default { render: figure({ label: "Answers of libraries", build }), compare, byAnswer };
