// The page of the search finds sections, and shows of each what was asked for. Pages and the glossary are found by their
// titles and by the index, as Sphinx does it; in place of its search for words in pages stands one for words in sections,
// ranked by BM25 (Robertson and Zaragoza 2009): a rare word counts for more, and a long section for less.

const [SATURATION, LENGTH, BEST, MOST] = [1.2, 0.75, 10, 20]; // Sphinx gives a title 15

const ASKING = ["what", "how", "why", "which", "who", "when", "do", "doe", "can"]; // words that no section is about

const stemmer = new Stemmer(), stems = new Map();

function stemsOf(text) {
  return (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).map((word) => {
    if (!stems.has(word)) stems.set(word, stemmer.stemWord(word));
    return stems.get(word);
  });
}

const counted = SECTIONS.map(([, , title, prose, beside]) => {
  const counts = new Map(), words = [...stemsOf(title), ...stemsOf(title), ...stemsOf(title), ...stemsOf(prose), ...stemsOf(beside)];
  words.forEach((word) => counts.set(word, (counts.get(word) ?? 0) + 1));
  return { counts, length: words.length };
});
const middle = counted.reduce((sum, { length }) => sum + length, 0) / counted.length;

function scoresOf(terms) {
  const found = terms.reduce((scores, term) => {
    const n = counted.filter(({ counts }) => counts.has(term)).length;
    const rarity = Math.log(1 + (counted.length - n + 0.5) / (n + 0.5));
    return scores.map((score, i) => {
      const { counts, length } = counted[i], count = counts.get(term) ?? 0;
      return score + (rarity * count * (SATURATION + 1)) / (count + SATURATION * (1 - LENGTH + (LENGTH * length) / middle));
    });
  }, counted.map(() => 0));
  return found.map((score, i) => {
    const [page, , title] = SECTIONS[i], named = stemsOf(title);
    if (page.endsWith("glossary") && named.join() === terms.join()) return 2 * Math.max(...found);
    return page.endsWith("references") ? score / 2 : score; // titles of others' papers
  });
}

// What a section says about the words, around the first of them.
function excerptOf([, , , prose], terms) {
  const words = prose.split(" "), first = Math.max(0, words.findIndex((word) => stemsOf(word).some((stem) => terms.includes(stem))));
  const from = Math.max(0, first - 8), part = words.slice(from, from + 32).join(" ");
  const text = document.createElement("p");
  text.className = "context";
  text.textContent = `${from ? "… " : ""}${part}${from + 32 < words.length ? " …" : ""}`;
  return prose ? text.outerHTML : "";
}

const pageOf = ([page]) => SECTIONS.find(([other]) => other === page)[2];
let asked = [];

Search.performTermsSearch = (searchTerms, excludedTerms) => {
  asked = [...searchTerms].filter((term, _, all) => all.length === 1 || !ASKING.includes(term));
  const excluded = [...excludedTerms], scores = scoresOf(asked), best = Math.max(...scores);
  const places = scores.map((_, i) => i).filter((i) => scores[i] > 0 && !excluded.some((term) => counted[i].counts.has(term)));
  return places.sort((a, b) => scores[b] - scores[a]).slice(0, MOST)
    .map((i) => [SECTIONS[i][0], "", SECTIONS[i][1], null, (BEST * scores[i]) / best, `${SECTIONS[i][0]}.md`]);
};

// All that is found is called by its page and its section, with an excerpt.
Scorer.score = (result) => {
  const section = SECTIONS.find(([page, anchor]) => page === result[0] && anchor === result[2])
    ?? SECTIONS.find(([page]) => page === result[0]);
  result[1] = section[1] ? `${pageOf(section)} > ${section[2]}` : section[2];
  result[3] = excerptOf(section, asked);
  result[5] = "";
  return result[4];
};
DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
