// Text to tokens and back, as attn.bytepairs has it, and how much of a long text is read.

const PIECES = / ?[\p{L}\p{Nl}\p{No}]+| ?[0-9]+| ?[^ \n]|\n| /gu; // \p: what Python's \w has beside digits and _

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

function tokenizerOf({ characters, joins }) {
  const words = ["\ufffd", ...characters, ...joins.map(([first, second]) => first + second)];
  const tokens = new Map(words.map((word, token) => [word, token]).slice(1));
  const order = new Map(joins.map((pair, number) => [pair.join("\n"), number])); // no token but one holds a line's end
  const encodePiece = (piece) =>
    joined([...piece], (first, second) => order.get(`${first}\n${second}`)).map((part) => tokens.get(part) ?? 0);
  return {
    words,
    encode: (text) => (text.match(PIECES) ?? []).flatMap(encodePiece),
    decode: (given) => given.map((token) => words[token]).join(""),
  };
}
