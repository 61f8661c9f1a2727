// The ledger: each verdict is a button that shows its claims alone.
function offerVerdicts(glance) {
  const claims = [...document.querySelectorAll(".attn-claim")];
  const marks = [...glance.querySelectorAll(".attn-claim-mark")];
  const count = glance.querySelector(":scope > p");
  const all = count.textContent;
  count.setAttribute("role", "status");

  const buttons = [...glance.querySelectorAll(".attn-verdict")].map((words) => {
    const node = button(words.className, words.textContent, () => show(node.ariaPressed === "true" ? null : node));
    node.setAttribute("aria-pressed", "false");
    words.replaceWith(node);
    return node;
  });

  function show(chosen) {
    const isOther = (node) => chosen !== null && !node.classList.contains(chosen.classList[1]);
    buttons.forEach((node) => node.setAttribute("aria-pressed", node === chosen));
    marks.forEach((mark) => mark.classList.toggle("attn-faded", isOther(mark)));
    claims.forEach((claim) => { claim.hidden = isOther(claim); });
    count.textContent = chosen ? `${claims.filter((claim) => !claim.hidden).length} of ${claims.length} claims` : all;
  }

  // A link may lead to what is hidden.
  document.addEventListener("click", ({ target }) => {
    const link = target.closest("a[href^='#']");
    const aim = link && document.getElementById(link.hash.slice(1));
    if (aim?.getClientRects().length === 0) show(null);
  });
}

document.querySelectorAll(".attn-glance").forEach(offerVerdicts);
