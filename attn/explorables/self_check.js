// Questions with answers to choose from. Every choice is explained at once, and another one may follow.

function render({ model, el }) {
  const root = figureRoot(el, "Questions");
  const questions = model.get("questions");
  const tally = element("p", { className: "attn-caption" });

  const choose = (i, j) => change(model, { chosen: model.get("chosen").map((old, k) => (k === i ? j : old)) });

  const asked = questions.map(({ ask, answers, right }, i) => {
    const why = element("p", { className: "attn-why", role: "status" });
    const buttons = answers.map(({ text }, j) => {
      const button = element("button", { type: "button", className: "attn-answer", "aria-pressed": "false" }, text);
      button.addEventListener("click", () => choose(i, j));
      return button;
    });
    const block = element("fieldset", { className: "attn-question" },
      element("legend", {}, `${i + 1}. ${ask}`), element("div", { className: "attn-answers" }, ...buttons), why);
    const set = (chosen) => {
      buttons.forEach((button, j) => {
        button.setAttribute("aria-pressed", String(j === chosen));
        button.classList.toggle("attn-right", j === chosen && j === right);
      });
      const text = chosen < 0 ? "" : `${chosen === right ? "Right." : "Not that one."} ${answers[chosen].why}`;
      if (why.textContent !== text) why.textContent = text;
    };
    return { block, set };
  });
  root.replaceChildren(...asked.map(({ block }) => block), tally);

  return follow(model, ["chosen"], () => {
    const chosen = model.get("chosen");
    asked.forEach(({ set }, i) => set(chosen[i]));
    const right = questions.filter(({ right }, i) => chosen[i] === right).length;
    tally.textContent = `${right} of ${questions.length} right`;
  });
}

export default { render };
