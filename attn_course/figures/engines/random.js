// numpy.random.default_rng: SeedSequence, PCG64, and what the course draws with it.

// The tables of the ziggurat: 256 layers of equal area under the bell, as in NumPy.
const LAYERS = 256, REACH = 3.6541528853610088, AREA = 0.004928673233974655;
const bell = (x) => Math.exp(-0.5 * x * x);
const sure = new Float64Array(LAYERS), widths = new Float64Array(LAYERS), heights = new Float64Array(LAYERS);
const fillTables = () => {
  const whole = 2 ** 52, bottom = AREA / bell(REACH);
  [sure[0], widths[0], heights[0]] = [Math.floor((REACH / bottom) * whole), bottom / whole, 1];
  [widths[LAYERS - 1], heights[LAYERS - 1]] = [REACH / whole, bell(REACH)];
  for (let i = LAYERS - 2, outer = REACH; i >= 0; i--) {
    const inner = i ? Math.sqrt(-2 * Math.log(AREA / outer + bell(outer))) : 0;
    sure[i + 1] = Math.floor((inner / outer) * whole);
    if (i) [widths[i], heights[i]] = [inner / whole, bell(inner)];
    outer = inner;
  }
};
fillTables();

function seedWords(seed) { // SeedSequence(seed).generate_state(4, uint64), for a seed below 2 ** 32
  const hasher = (start, factor) => {
    let hash = start;
    return (value) => {
      const mixed = value ^ hash;
      hash = Math.imul(hash, factor);
      const hashed = Math.imul(mixed, hash);
      return hashed ^ (hashed >>> 16);
    };
  };
  const first = hasher(0x43b0d7e5, 0x931e8875), second = hasher(0x8b51f9dd, 0x58f38ded);
  const pool = [seed, 0, 0, 0].map(first);
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) {
      if (from === to) continue;
      const mixed = Math.imul(pool[to], 0xca01f9dd) - Math.imul(first(pool[from]), 0x4973f715);
      pool[to] = mixed ^ (mixed >>> 16);
    }
  }
  const words = [...pool, ...pool].map((value) => BigInt(second(value) >>> 0));
  return [0, 2, 4, 6].map((i) => words[i] | (words[i + 1] << 32n));
}

function defaultRng(seed) {
  const low = (number, bits) => BigInt.asUintN(bits, number);
  const [a, b, c, d] = seedWords(seed);
  const increment = low((((c << 64n) | d) << 1n) | 1n, 128);
  const next = (state) => low(state * 0x2360ed051fc65da44385df649fccf645n + increment, 128);
  let state = next(increment + ((a << 64n) | b)), spare = null;
  const next64 = () => {
    state = next(state);
    const mixed = (state >> 64n) ^ low(state, 64), turn = state >> 122n;
    return low((mixed >> turn) | (mixed << (64n - turn)), 64);
  };
  const next32 = () => {
    if (spare !== null) {
      const kept = spare;
      spare = null;
      return kept;
    }
    const both = next64();
    spare = Number(both >> 32n);
    return Number(low(both, 32));
  };
  const random = () => Number(next64() >> 11n) / 2 ** 53;
  const below = (n) => { // integers(n): Lemire 2019
    for (;;) {
      const product = BigInt(next32()) * BigInt(n), rest = Number(low(product, 32));
      if (rest >= n || rest >= 2 ** 32 % n) return Number(product >> 32n);
    }
  };
  const normal = () => { // Marsaglia and Tsang 2000
    for (;;) {
      const bits = next64(), i = Number(low(bits, 8)), sign = bits & 256n ? -1 : 1;
      const size = Number(low(bits >> 9n, 52)), x = size * widths[i];
      if (size < sure[i]) return sign * x;
      if (i === 0) {
        for (;;) {
          const far = -Math.log1p(-random()) / REACH, height = -Math.log1p(-random());
          if (2 * height > far * far) return (size >> 8) & 1 ? -(REACH + far) : REACH + far;
        }
      }
      if ((heights[i - 1] - heights[i]) * random() + heights[i] < bell(x)) return sign * x;
    }
  };
  const shuffle = (list) => {
    for (let i = list.length - 1; i > 0; i--) {
      const mask = 2 ** (32 - Math.clz32(i)) - 1;
      let j = next32() & mask;
      while (j > i) j = next32() & mask;
      [list[i], list[j]] = [list[j], list[i]];
    }
    return list;
  };
  return { random, below, normal, shuffle };
}

export { defaultRng };
