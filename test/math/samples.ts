/**
 * @file Arguments to try: edge values, and random ones that cover bit patterns as well as the ranges people use.
 */

/** Repeatable numbers in [0, 1). */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 4294967296;
  };
}

const BOTH_SIGNS = [
  ...[
    0,
    0.25,
    0.5,
    1,
    1.5,
    2,
    3,
    10,
    100,
    1000,
    0.1,
    1 / 3,
    Math.E,
    Math.LN2,
    Math.SQRT2,
    Math.SQRT1_2,
    2 ** 24,
    2 ** 53,
  ],
  ...[
    Math.PI / 4,
    Math.PI / 2,
    Math.PI,
    1.5 * Math.PI,
    2 * Math.PI,
    199,
    200,
    1.6e6,
    1e10,
    1e22,
    1e30,
    9.01,
    19.06,
    22,
  ],
  ...[
    88.7, 88.73, 87.3, 103.9, 104, 709.7, 709.8, 745.1, 745.2, 127, 128, 149, 150, 1023, 1024, 1074, 1075, 0.4142,
    2.4142,
  ],
  ...[Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 31 - 0.5, 4503599627370495.5, 0.49999999999999994],
];
const SMALL = {
  f32: [
    2 ** -149,
    3 * 2 ** -149,
    2 ** -126,
    2 ** -126 - 2 ** -149,
    3.4028234663852886e38,
    1 + 2 ** -23,
    1 - 2 ** -24,
    1e-10,
  ],
  f64: [5e-324, 1.5e-323, 2 ** -1022, 2 ** -1022 - 2 ** -1074, Number.MAX_VALUE, 1 + 2 ** -52, 1 - 2 ** -53, 1e-30],
};

export type Float = "f32" | "f64";
const round = (dtype: Float, x: number): number => (dtype === "f32" ? Math.fround(x) : x);

export function edges(dtype: Float): number[] {
  const positive = [...BOTH_SIGNS, ...SMALL[dtype]].map((x) => round(dtype, x));
  return [...new Set([...positive, ...positive.map((x) => -x)]), -0, Number.NaN];
}

const words = new Uint32Array(2);
const asF32 = new Float32Array(words.buffer);
const asF64 = new Float64Array(words.buffer);

/** A random bit pattern: every exponent alike. */
function pattern(dtype: Float, random: () => number): number {
  words[0] = random() * 4294967296;
  words[1] = random() * 4294967296;
  return (dtype === "f32" ? asF32 : asF64)[0] as number;
}

/** One random argument: a bit pattern, or one from a common range. */
export function randomArgument(dtype: Float, random: () => number): number {
  const spread = 2 * random() - 1;
  const kinds: readonly (() => number)[] = [
    () => pattern(dtype, random),
    () => spread,
    () => 10 * spread,
    () => 100 * spread,
    () => 1 + 0.4 * spread,
    () => Math.exp(40 * spread) * (random() < 0.5 ? -1 : 1),
    () => Math.round(1000 * random()) * (Math.PI / 2) * (1 + spread * 1e-7),
    () => Math.round(20 * spread),
  ];
  const kind = kinds[Math.floor(random() * kinds.length)] as () => number;
  return round(dtype, kind());
}

/** The same arguments for every run: all edges, then random ones. */
export function argumentsFor(dtype: Float, count: number, seed: number): Float32Array | Float64Array {
  const all = dtype === "f32" ? new Float32Array(count) : new Float64Array(count);
  const random = generator(seed);
  const known = edges(dtype);
  for (let i = 0; i < count; i++) all[i] = known[i] ?? randomArgument(dtype, random);
  return all;
}

/** Pairs of arguments: every edge with every edge first. */
export function pairsFor(
  dtype: Float,
  count: number,
  seed: number,
): [Float32Array | Float64Array, Float32Array | Float64Array] {
  const make = (): Float32Array | Float64Array => (dtype === "f32" ? new Float32Array(count) : new Float64Array(count));
  const [xs, ys] = [make(), make()];
  const random = generator(seed);
  const known = edges(dtype);
  for (let i = 0; i < count; i++) {
    const [a, b] = [known[i % known.length] as number, known[Math.floor(i / known.length)]];
    xs[i] = b === undefined ? randomArgument(dtype, random) : a;
    ys[i] = b === undefined ? randomArgument(dtype, random) : b;
  }
  return [xs, ys];
}
