/**
 * @file The elementary functions to any precision, in BigInt fixed point: the reference for f64.
 *
 * A number is a BigInt that counts units of 2^-bits. Series and Newton iterations are the plainest that converge; each
 * result is off by some thousand units at most, which `bits` is chosen to make negligible.
 */

const abs = (x: bigint): bigint => (x < 0n ? -x : x);
const mul = (a: bigint, b: bigint, bits: number): bigint => (a * b) >> BigInt(bits);
const div = (a: bigint, b: bigint, bits: number): bigint => (a << BigInt(bits)) / b;
const one = (bits: number): bigint => 1n << BigInt(bits);
const shift = (x: bigint, by: number): bigint => (by >= 0 ? x << BigInt(by) : x >> BigInt(-by));

const floats = new Float64Array(1);
const words = new BigUint64Array(floats.buffer);

/** x = mantissa 2^exponent, with an integer mantissa. */
export function exactly(x: number): { mantissa: bigint; exponent: number } {
  floats[0] = Math.abs(x);
  const raw = words[0] as bigint;
  const field = Number(raw >> 52n);
  const fraction = raw & 0xfffffffffffffn;
  const mantissa = field === 0 ? fraction : fraction | 0x10000000000000n;
  return { mantissa: x < 0 ? -mantissa : mantissa, exponent: Math.max(field, 1) - 1075 };
}

/** A finite number in fixed point. */
export function fixed(x: number, bits: number): bigint {
  const { mantissa, exponent } = exactly(x);
  return shift(mantissa, exponent + bits);
}

/** The largest integer whose square is at most x. */
function root(x: bigint): bigint {
  if (x < 2n) return x;
  let guess = 1n << BigInt((x.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (guess + x / guess) >> 1n;
    if (next >= guess) return guess;
    guess = next;
  }
}
const sqrt = (x: bigint, bits: number): bigint => root(x << BigInt(bits));

function byBits(compute: (bits: number) => bigint): (bits: number) => bigint {
  const known = new Map<number, bigint>();
  return (bits) => {
    const value = known.get(bits) ?? compute(bits);
    known.set(bits, value);
    return value;
  };
}

/** x + s x^3/3 + x^5/5 + s x^7/7 ...: atanh for s = 1, atan for s = -1; |x| well below 1. */
function arcSeries(x: bigint, s: bigint, bits: number): bigint {
  const square = mul(x, x, bits) * s;
  let power = x;
  let sum = x;
  for (let k = 3n; power !== 0n; k += 2n) {
    power = mul(power, square, bits);
    if (abs(power) < 2n) break;
    sum += power / k;
  }
  return sum;
}
const ln2 = byBits((bits) => 2n * arcSeries(one(bits) / 3n, 1n, bits));
const pi = byBits((bits) => 16n * arcSeries(one(bits) / 5n, -1n, bits) - 4n * arcSeries(one(bits) / 239n, -1n, bits));

/** e^x, in fixed point too: for large x the result has many digits before the point. */
function exp(x: bigint, bits: number): bigint {
  const extra = 24;
  const fine = bits + extra;
  const n = Number((x + (ln2(bits) >> 1n)) / ln2(bits)) - (x < 0n ? 1 : 0);
  // For a power 2^n with n > 0 the remainder needs n more bits.
  const deep = fine + Math.max(n, 0);
  const r = shift(x, deep - bits) - BigInt(n) * ln2(deep);
  const small = r >> 8n;
  let sum = one(deep);
  let term = one(deep);
  for (let k = 1n; term !== 0n; k++) {
    term = mul(term, small, deep) / k;
    if (abs(term) < 2n) break;
    sum += term;
  }
  for (let k = 0; k < 8; k++) sum = mul(sum, sum, deep);
  return shift(sum, n + bits - deep);
}

/** log of mantissa 2^exponent > 0. */
function logOf(mantissa: bigint, exponent: number, bits: number): bigint {
  const length = mantissa.toString(2).length;
  let m = shift(mantissa, bits - length);
  let e = exponent + length;
  if (m < (one(bits) * 3n) / 4n) {
    m <<= 1n;
    e--;
  }
  return 2n * arcSeries(div(m - one(bits), m + one(bits), bits), 1n, bits) + BigInt(e) * ln2(bits);
}

function sinCos(x: number, bits: number): [bigint, bigint] {
  const { exponent } = exactly(x);
  const fine = bits + Math.max(exponent + 60, 0) + 8;
  const quarter = pi(fine) >> 1n;
  const value = fixed(x, fine);
  let n = value / quarter;
  let r = value - n * quarter;
  if (2n * abs(r) > quarter) {
    n += r < 0n ? -1n : 1n;
    r = value - n * quarter;
  }
  r = shift(r, bits - fine);
  const square = -mul(r, r, bits);
  const series = (start: bigint, k: bigint): bigint => {
    let sum = start;
    for (let term = start; abs(term) > 1n; k += 2n) {
      term = mul(term, square, bits) / (k * (k + 1n));
      sum += term;
    }
    return sum;
  };
  const [s, c] = [series(r, 2n), series(one(bits), 1n)];
  const quadrant = Number(((n % 4n) + 4n) % 4n);
  const turned: [bigint, bigint][] = [
    [s, c],
    [c, -s],
    [-s, -c],
    [-c, s],
  ];
  return turned[quadrant] as [bigint, bigint];
}

function atan(x: bigint, bits: number): bigint {
  if (abs(x) > one(bits)) {
    const inverse = div(one(bits), x, bits);
    return (x < 0n ? -(pi(bits) >> 1n) : pi(bits) >> 1n) - atan(inverse, bits);
  }
  let y = x;
  for (let k = 0; k < 3; k++) y = div(y, one(bits) + sqrt(one(bits) + mul(y, y, bits), bits), bits);
  return arcSeries(y, -1n, bits) << 3n;
}

function cbrt(x: bigint, bits: number): bigint {
  const target = abs(x) << BigInt(2 * bits);
  if (target === 0n) return 0n;
  let guess = 1n << BigInt(Math.ceil(target.toString(2).length / 3) + 1);
  for (;;) {
    const next = (2n * guess + target / (guess * guess)) / 3n;
    if (next >= guess) return x < 0n ? -guess : guess;
    guess = next;
  }
}

function atan2(y: number, x: number, bits: number): bigint {
  const [sine, cosine] = [exactly(y), exactly(x)];
  if (cosine.mantissa === 0n) return y < 0 ? -(pi(bits) >> 1n) : pi(bits) >> 1n;
  const quotient = shift(sine.mantissa << BigInt(bits + 60), sine.exponent - cosine.exponent) / cosine.mantissa;
  const angle = atan(quotient >> 60n, bits);
  if (x > 0) return angle;
  return y < 0 ? angle - pi(bits) : angle + pi(bits);
}

/** Beyond this, e^x and e^-x differ from their limits (or from each other) by nothing that could be seen. */
const FAR = 250;
const near = (x: number): number => Math.min(Math.max(x, -FAR), FAR);

function hyperbolic(x: number, bits: number): { plus: bigint; minus: bigint } {
  const value = fixed(x, bits);
  return { plus: exp(value, bits), minus: exp(-value, bits) };
}

type Reference = (bits: number, x: number, y: number) => bigint;
const log = (x: number, bits: number): bigint => {
  const { mantissa, exponent } = exactly(x);
  return logOf(mantissa, exponent, bits);
};

/** Exact values of finite arguments where the result is finite, in units of 2^-bits. */
export const REFERENCES = {
  sin: (bits, x) => sinCos(x, bits)[0],
  cos: (bits, x) => sinCos(x, bits)[1],
  tan: (bits, x) => {
    const [s, c] = sinCos(x, bits + 80);
    return div(s, c, bits);
  },
  asin: (bits, x) => {
    const v = fixed(x, bits);
    return 2n * atan(div(v, one(bits) + sqrt(one(2 * bits) - v * v, 0), bits), bits);
  },
  acos: (bits, x) => {
    const v = fixed(x, bits);
    if (v === -one(bits)) return pi(bits);
    return 2n * atan(sqrt(div(one(bits) - v, one(bits) + v, bits), bits), bits);
  },
  atan: (bits, x) => atan(fixed(x, bits), bits),
  atan2: (bits, y, x) => atan2(y, x, bits),
  exp: (bits, x) => exp(fixed(x, bits), bits),
  exp2: (bits, x) => exp(mul(fixed(x, bits), ln2(bits), bits), bits),
  expm1: (bits, x) => exp(fixed(Math.max(x, -FAR), bits), bits) - one(bits),
  log: (bits, x) => log(x, bits),
  log1p: (bits, x) => logOf(fixed(x, bits) + one(bits), -bits, bits),
  log2: (bits, x) => div(log(x, bits), ln2(bits), bits),
  log10: (bits, x) => div(log(x, bits), logOf(10n, 0, bits), bits),
  pow: (bits, x, y) => {
    const fine = bits + 80 + Math.max(0, Math.ceil(Math.log2(Math.abs(y) + 1)));
    const { mantissa, exponent } = exactly(y);
    const power = exp(shift(log(Math.abs(x), fine) * mantissa, exponent + bits + 60 - fine), bits + 60) >> 60n;
    return x < 0 && Math.abs(y % 2) === 1 ? -power : power;
  },
  tanh: (bits, x) => {
    const { plus, minus } = hyperbolic(near(x), bits);
    return div(plus - minus, plus + minus, bits);
  },
  sinh: (bits, x) => {
    const { plus, minus } = hyperbolic(x, bits);
    return (plus - minus) >> 1n;
  },
  cosh: (bits, x) => {
    const { plus, minus } = hyperbolic(x, bits);
    return (plus + minus) >> 1n;
  },
  sigmoid: (bits, x) => div(one(bits), one(bits) + exp(-fixed(Math.min(x, FAR), bits), bits), bits),
  rsqrt: (bits, x) => root(div(one(3 * bits), fixed(x, 2 * bits), 2 * bits) >> BigInt(bits)),
  cbrt: (bits, x) => cbrt(fixed(x, bits), bits),
  hypot: (bits, x, y) => {
    const [a, b] = [fixed(x, bits), fixed(y, bits)];
    return root(a * a + b * b);
  },
} as const satisfies { readonly [name: string]: Reference };

/** How far `got` is from the exact value, in units of the f64 whose size `near` has. */
export function errorInUlps(reference: Reference, got: number, near: number, x: number, y: number): number {
  const size = Math.max(Math.floor(Math.log2(Math.abs(near))), -1022);
  const bits = 160 + Math.max(0, -size) + inputBits(x) + inputBits(y);
  const exact = reference(bits, x, y);
  const difference = abs(fixed(got, bits) - exact);
  return Number(shift(difference, 60 - (bits + size - 52))) / 2 ** 60;
}

/** Bits after the point that an argument needs to be held exactly. */
function inputBits(x: number): number {
  return Math.max(0, -exactly(x).exponent - 100);
}
