// Questions with answers to choose from. Every choice is explained at once, and another one may follow.

import { box, button, caption, element, figure, typeset } from "./common.js";

function build({ read, change, draw }) {
  const { questions } = read();
  const tally = caption("");

  const asked = questions.map(({ ask, answers, right }, i) => {
    const why = element("p", { className: "attn-why", role: "status" });
    const buttons = answers.map(({ text }, j) => {
      const press = button("attn-answer", "", () => change({ chosen: read().chosen.with(i, j) }));
      press.append(...typeset(text));
      return press;
    });
    let said = "";
    const set = (chosen) => {
      buttons.forEach((node, j) => {
        node.setAttribute("aria-pressed", String(j === chosen));
        node.classList.toggle("attn-right", j === chosen && j === right);
      });
      const text = chosen < 0 ? "" : `${chosen === right ? "Right." : "Not that one."} ${answers[chosen].why}`;
      if (said !== text) why.replaceChildren(...typeset((said = text)));
    };
    const legend = element("legend", {}, ...typeset(`${i + 1}. ${ask}`));
    const block = element("fieldset", { className: "attn-question" }, legend, box("attn-answers", ...buttons), why);
    return { block, set };
  });

  draw(...asked.map(({ block }) => block), tally);

  return ({ chosen }) => {
    asked.forEach(({ set }, i) => set(chosen[i]));
    const right = questions.filter((question, i) => chosen[i] === question.right).length;
    tally.textContent = `${right} of ${questions.length} right`;
  };
}

export default { render: figure({ label: "Questions", build }) };
