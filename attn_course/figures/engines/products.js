// Products of matrices.
//
// All numbers lie in one memory, `M`, and a matrix is where it starts in it. A product adds A B to C: C is m by n and
// starts at c, its rows ldc apart; B is k by n; rows and columns of A lie as far apart as is said, so that A may be a
// transpose.

function plainProduct(M) {
  return (c, ldc, a, row, column, b, ldb, m, n, k) => {
    for (let i = 0; i < m; i++, a += row, c += ldc) {
      let p = 0;
      for (; p + 4 <= k; p += 4) { // four terms at a time, as reading and writing C takes longest
        const at = a + p * column, b0 = b + p * ldb, b1 = b0 + ldb, b2 = b1 + ldb, b3 = b2 + ldb;
        const x0 = M[at], x1 = M[at + column], x2 = M[at + 2 * column], x3 = M[at + 3 * column];
        for (let j = 0; j < n; j++) {
          M[c + j] += x0 * M[b0 + j] + x1 * M[b1 + j] + x2 * M[b2 + j] + x3 * M[b3 + j];
        }
      }
      for (; p < k; p++) for (let j = 0; j < n; j++) M[c + j] += M[a + p * column] * M[b + p * ldb + j];
    }
  };
}

// The same as WebAssembly, whose bytes are made here from words in the order in which a stack machine takes them: a
// name puts a local on the stack, =name takes it off, a number is a constant, ?1 leaves two blocks if the top is not
// zero, ^0 goes back to the loop around. A vector is two numbers; load and store are told how many bytes further.
const CODES = {
  "+": [0x6a], "-": [0x6b], "*": [0x6c], "<": [0x48], block: [0x02, 0x40], loop: [0x03, 0x40], end: [0x0b],
  load: [0xfd, 0, 3], splat: [0xfd, 10, 3, 0], store: [0xfd, 11, 3], fadd: [0xfd, 0xf0, 1], fmul: [0xfd, 0xf2, 1],
  fma: [0xfd, 0x87, 2],
};
const NAMES = "c ldc a row column b ldb m n k row2 row3 at p q left l cj aj".split(" "); // ten arguments, and locals
const VECTORS = ["x", "b0", "b1", ...[0, 1, 2, 3].flatMap((r) => [`s${r}0`, `s${r}1`])];
const EACH = (count, text) => Array.from({ length: count }, (_, i) => text(i)).join(" ");

// `rows` rows of C times as many vectors, summed in the processor's registers.
const tile = (rows, vectors, fused) => {
  const sums = (word) =>
    `cj =at ${EACH(rows, (r) => `${EACH(vectors, (v) => word(`s${r}${v}`, 16 * v))} at ldc + =at`)}`;
  return `${sums((sum, far) => `at load ${far} =${sum}`)} aj =p b =q k =l
    loop ${EACH(vectors, (v) => `q load ${16 * v} =b${v}`)}
      ${EACH(rows, (r) => `p ${["", "row +", "row2 +", "row3 +"][r]} splat =x
        ${EACH(vectors, (v) => `x b${v} ${fused ? `s${r}${v} fma` : `fmul s${r}${v} fadd`} =s${r}${v}`)}`)}
      p column + =p q ldb + =q l 1 - =l l ?0 end
    ${sums((sum, far) => `at ${sum} store ${far}`)}
    at =cj aj row ${rows} * + =aj left ${rows} - =left`;
};
// All rows of so many vectors of columns, while there are as many left: a strip of B stays in the processor's cache.
const strips = (vectors, fused) => `block loop n ${2 * vectors} < ?1 c =cj a =aj m =left
  ${[4, 3, 2, 1].map((rows) => `block loop left ${rows} < ?1 ${tile(rows, vectors, fused)} ^0 end end`).join(" ")}
  b ${16 * vectors} + =b c ${16 * vectors} + =c n ${2 * vectors} - =n ^0 end end`;

function moduleBytes(fused) {
  const long = (number) => (number < 128 ? [number] : [(number & 127) | 128, ...long(number >> 7)]);
  const constant = (number) => (number < 64 ? [number] : [(number & 127) | 128, ...constant(number >> 7)]); // signed
  const locals = [...NAMES, ...VECTORS];
  const code = `row 2 * =row2 row 3 * =row3 ${strips(2, fused)} ${strips(1, fused)}`.trim().split(/\s+/);
  const bytes = code.flatMap((word, i) => {
    if (["load", "store"].includes(code[i - 1])) return long(Number(word));
    if (CODES[word]) return CODES[word];
    if (/^\d/.test(word)) return [0x41, ...constant(Number(word))];
    const jump = { "?": 0x0d, "^": 0x0c }[word[0]];
    if (jump) return [jump, Number(word[1])];
    return word[0] === "=" ? [0x21, locals.indexOf(word.slice(1))] : [0x20, locals.indexOf(word)];
  });
  const section = (id, ...content) => [id, ...long(content.length), ...content];
  const body = [2, NAMES.length - 10, 0x7f, VECTORS.length, 0x7b, ...bytes, 0x0b];
  return Uint8Array.from([
    0, 97, 115, 109, 1, 0, 0, 0,
    ...section(1, 1, 0x60, 10, ...Array(10).fill(0x7f), 0), // one type: ten integers, and nothing comes back
    ...section(2, 1, 1, 101, 1, 109, 2, 0, 1), // the memory e.m
    ...section(3, 1, 0), ...section(7, 1, 1, 103, 0, 0), // one function, g
    ...section(10, 1, ...long(body.length), ...body),
  ]);
}

// A memory of so many numbers, and the product in it; plain JavaScript where WebAssembly is absent or forbidden.
function memoryOf(count) {
  try {
    const memory = new WebAssembly.Memory({ initial: Math.ceil(count / 8192) });
    const bytes = [true, false].map(moduleBytes).find((one) => WebAssembly.validate(one)); // not all know fma
    const { g } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { e: { m: memory } }).exports;
    const M = new Float64Array(memory.buffer), plain = plainProduct(M);
    const product = (c, ldc, a, row, column, b, ldb, m, n, k) =>
      n % 2 ? plain(c, ldc, a, row, column, b, ldb, m, n, k)
        : g(8 * c, 8 * ldc, 8 * a, 8 * row, 8 * column, 8 * b, 8 * ldb, m, n, k);
    return { M, product };
  } catch {
    const M = new Float64Array(count);
    return { M, product: plainProduct(M) };
  }
}

export { memoryOf };
