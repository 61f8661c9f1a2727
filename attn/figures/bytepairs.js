// Text to tokens and back, as attn.bytepairs has it.

const PIECES = / ?[\p{L}\p{Nl}\p{No}]+| ?[0-9]+| ?[^ \n]|\n| /gu; // \p: what Python's \w has beside digits and _

function tokenizerOf({ characters, joins }) {
  const words = ["\ufffd", ...characters, ...joins.map(([first, second]) => first + second)];
  const tokens = new Map(words.map((word, token) => [word, token]).slice(1));
  const order = new Map(joins.map((pair, number) => [pair.join("\n"), number])); // no token but one holds a line's end
  const encodePiece = (piece) => {
    let parts = [...piece];
    for (;;) {
      const numbers = parts.slice(1).map((part, i) => order.get(`${parts[i]}\n${part}`) ?? Infinity);
      const best = Math.min(...numbers);
      if (best === Infinity) return parts.map((part) => tokens.get(part) ?? 0);
      const [first, second] = joins[best];
      const joined = [];
      for (let i = 0; i < parts.length; i++) {
        const together = parts[i] === first && parts[i + 1] === second;
        joined.push(together ? first + second : parts[i]);
        i += Number(together);
      }
      parts = joined;
    }
  };
  return {
    words,
    encode: (text) => (text.match(PIECES) ?? []).flatMap(encodePiece),
    decode: (given) => given.map((token) => words[token]).join(""),
  };
}
