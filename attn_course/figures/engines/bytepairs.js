// What all models that read a text here share: how neighbours are joined, and how much of a long text is read.

// The parts of a piece after all joins: again and again the pair that `order` has first is joined, wherever it stands.
function joined(parts, order) {
  for (;;) {
    const numbers = parts.slice(1).map((part, i) => order(parts[i], part) ?? Infinity);
    const best = numbers.reduce((least, number) => Math.min(least, number), Infinity);
    if (best === Infinity) return parts;
    const place = numbers.indexOf(best), [first, second] = parts.slice(place, place + 2), all = [];
    for (let i = 0; i < parts.length; i++) {
      const together = parts[i] === first && parts[i + 1] === second;
      all.push(together ? first + second : parts[i]);
      i += Number(together);
    }
    parts = all;
  }
}

// The first token that is read of a text of n: of a long one the last tokens, and always from the same one on for a while,
// so that what was read need not be read again.
function firstRead(n, most) {
  const stride = most / 4;
  return Math.max(0, Math.ceil((n - most) / stride) * stride);
}

export { firstRead, joined };
