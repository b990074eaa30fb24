/**
 * @file The generator on the host: plain numbers, the same bits as the IR in this folder.
 *
 * For seeds, tests and set-up code that draws a few numbers. f32 arithmetic is spelled out with Math.fround in the
 * order of the IR. Draws allocate nothing; a new stream is a few numbers.
 */
import { mulHigh } from "../ir/scalar.ts";
import { FACTOR1, FACTOR2, LEAST_BITS, ROUND_STEP, ROUNDS } from "./permutation.ts";
import { GROUPS, PARITY, PLACE_BITS, SPLIT_DOMAIN } from "./threefry.ts";
import { LN2_HIGH, LN2_LOW, LOG, SINE, SQRT_HALF_BITS } from "./transforms.ts";

const fround = Math.fround;
const LN2_LOW_32 = fround(LN2_LOW);
const single = new Float32Array(1);
const pattern = new Int32Array(single.buffer);
/** The words of the draw that is being made: read before the next, so that all streams share them. */
const words = new Uint32Array(2);

/**
 * Threefry-2x32-20: the two output words go to out[0] and out[1]. Signed words and written-out rounds are what engines
 * keep in registers.
 */
export function threefry(k0: number, k1: number, c0: number, c1: number, out: Uint32Array): void {
  let key0 = k0 | 0;
  let key1 = k1 | 0;
  let key2 = key0 ^ key1 ^ PARITY;
  let x0 = ((c0 | 0) + key0) | 0;
  let x1 = ((c1 | 0) + key1) | 0;
  for (let group = 0; group < GROUPS; group++) {
    if ((group & 1) === 0) {
      x0 = (x0 + x1) | 0;
      x1 = ((x1 << 13) | (x1 >>> 19)) ^ x0;
      x0 = (x0 + x1) | 0;
      x1 = ((x1 << 15) | (x1 >>> 17)) ^ x0;
      x0 = (x0 + x1) | 0;
      x1 = ((x1 << 26) | (x1 >>> 6)) ^ x0;
      x0 = (x0 + x1) | 0;
      x1 = ((x1 << 6) | (x1 >>> 26)) ^ x0;
    } else {
      x0 = (x0 + x1) | 0;
      x1 = ((x1 << 17) | (x1 >>> 15)) ^ x0;
      x0 = (x0 + x1) | 0;
      x1 = ((x1 << 29) | (x1 >>> 3)) ^ x0;
      x0 = (x0 + x1) | 0;
      x1 = ((x1 << 16) | (x1 >>> 16)) ^ x0;
      x0 = (x0 + x1) | 0;
      x1 = ((x1 << 24) | (x1 >>> 8)) ^ x0;
    }
    x0 = (x0 + key1) | 0;
    x1 = (x1 + key2 + group + 1) | 0;
    const first = key0;
    key0 = key1;
    key1 = key2;
    key2 = first;
  }
  out[0] = x0;
  out[1] = x1;
}

function polynomial(x: number, coefficients: readonly number[]): number {
  let sum = coefficients[coefficients.length - 1] as number;
  for (let k = coefficients.length - 2; k >= 0; k--) sum = fround(fround(sum * x) + (coefficients[k] as number));
  return sum;
}

function floatOf(bits: number): number {
  pattern[0] = bits;
  return single[0] as number;
}

const unitInterval = (word: number): number => floatOf((word >>> 9) | 0x3f800000) - 1;

function between(word: number, low: number, high: number): number {
  const from = fround(low);
  return fround(fround(unitInterval(word) * fround(fround(high) - from)) + from);
}

function negativeLog(word: number): number {
  single[0] = fround(word) + 0.5;
  const bits = pattern[0] as number;
  const exponent = (bits - SQRT_HALF_BITS) >> 23;
  const f = fround(floatOf(bits - (exponent << 23)) - 1);
  const down = 32 - exponent;
  const tail = fround(fround(down * LN2_LOW_32) - fround(fround(f * f) * polynomial(f, LOG)));
  return fround(fround(down * LN2_HIGH) + fround(tail - f));
}

function normalFrom(word0: number, word1: number): number {
  const radius = fround(Math.sqrt(fround(2 * negativeLog(word0))));
  const t = fround(fround(word1 | 0) * 2 ** -31);
  return fround(radius * fround(t * polynomial(fround(t * t), SINE)));
}

/** Weights that are not above 0 count as 0; as f32. */
function weightAt(weights: ArrayLike<number>, k: number): number {
  const w = fround(weights[k] as number);
  return w > 0 ? w : 0;
}

/** `Stream` of stream.ts on the host: see there for what each method draws. */
export class HostStream {
  /** Words are kept signed: engines make no objects for them. */
  #key0: number;
  #key1: number;
  /** The number of the next draw; may be set to go back or ahead. */
  drawn = 0;
  /** The first counter word of draws: 0, or that of `at`. */
  readonly #place: number;

  constructor(key0: number, key1: number, place = 0) {
    this.#key0 = key0 | 0;
    this.#key1 = key1 | 0;
    this.#place = place;
  }

  get key0(): number {
    return this.#key0 >>> 0;
  }
  get key1(): number {
    return this.#key1 >>> 0;
  }

  /** Becomes a new stream of another key: for code that needs one in every call, and makes no objects. */
  restart(key0: number, key1: number): void {
    this.#key0 = key0 | 0;
    this.#key1 = key1 | 0;
    this.drawn = 0;
  }

  /** Both words for a counter, and their xor, signed. */
  #encrypt(c0: number, c1: number): number {
    threefry(this.#key0, this.#key1, c0, c1, words);
    return (words[0] as number) ^ (words[1] as number);
  }
  #next(): number {
    const draw = this.drawn;
    this.drawn = (draw + 1) >>> 0;
    return draw;
  }
  #stream(c0: number, c1: number): HostStream {
    this.#encrypt(c0, c1);
    return new HostStream(words[0] as number, words[1] as number);
  }

  bits(): number {
    return this.#encrypt(this.#place, this.#next()) >>> 0;
  }
  uniform(low = 0, high = 1): number {
    return between(this.bits(), low, high);
  }
  pair(low = 0, high = 1): { readonly first: number; readonly second: number } {
    this.#encrypt(this.#place, this.#next());
    return {
      first: between(words[0] as number, low, high),
      second: between(words[1] as number, low, high),
    };
  }
  /** A number in 0..n-1 for n up to 2^32 - 1. */
  below(n: number): number {
    const count = n >>> 0;
    const draw = this.#next();
    let word = this.#encrypt(this.#place, draw);
    if (Math.imul(word, count) >>> 0 < count) {
      const limit = (-count >>> 0) % count;
      for (let attempt = 1; Math.imul(word, count) >>> 0 < limit; attempt++) {
        word = this.#encrypt(this.#place + attempt, draw);
      }
    }
    return mulHigh(word, count);
  }
  int(n: number): number {
    return this.below(Math.max(n | 0, 0));
  }
  normal(): number {
    this.#encrypt(this.#place, this.#next());
    return normalFrom(words[0] as number, words[1] as number);
  }
  exponential(): number {
    return negativeLog(this.bits());
  }
  bernoulli(probability: number): boolean {
    return unitInterval(this.bits()) < fround(probability);
  }
  categorical(weights: ArrayLike<number>, n = weights.length): number {
    const u = unitInterval(this.bits());
    let sum = 0;
    for (let k = 0; k < n; k++) sum = fround(sum + weightAt(weights, k));
    const target = fround(u * sum);
    let chosen = 0;
    sum = 0;
    for (let k = 0; k < n; k++) {
      const w = weightAt(weights, k);
      if (w > 0 && sum <= target) chosen = k;
      sum = fround(sum + w);
    }
    return chosen;
  }
  fold(data: number): HostStream {
    return this.#stream(this.#place, data);
  }
  at(data: number): HostStream {
    return new HostStream(this.#key0, this.#key1, (data << PLACE_BITS) >>> 0);
  }
  split(): HostStream {
    return this.#stream(SPLIT_DOMAIN - this.#place, this.#next());
  }
  /** The elements of a permutation of 0..n-1 by index; takes one draw. */
  permutation(n: number): HostPermutation {
    this.#encrypt(this.#place, this.#next());
    return new HostPermutation(words[0] as number, words[1] as number, n);
  }
  /** Puts elements 0..n-1 in random order, every order equally likely. */
  shuffle(array: { [index: number]: number; readonly length: number }, n = array.length): void {
    for (let i = n - 1; i > 0; i--) {
      const j = this.int(i + 1);
      const kept = array[i] as number;
      array[i] = array[j] as number;
      array[j] = kept;
    }
  }
}

/** `Permutation` of permutation.ts on the host. */
export class HostPermutation {
  readonly #key0: number;
  readonly #key1: number;
  readonly #n: number;
  readonly #lowBits: number;
  readonly #highBits: number;

  constructor(key0: number, key1: number, n: number) {
    this.#key0 = key0;
    this.#key1 = key1;
    this.#n = Math.max(n | 0, 1);
    const bits = Math.max(32 - Math.clz32(this.#n - 1), LEAST_BITS);
    this.#lowBits = bits >> 1;
    this.#highBits = bits - this.#lowBits;
  }

  at(i: number): number {
    let x = i >>> 0 < this.#n ? i >>> 0 : 0;
    do x = this.#step(x);
    while (x >= this.#n);
    return x;
  }

  #step(x: number): number {
    const lowMask = (1 << this.#lowBits) - 1;
    const highMask = (1 << this.#highBits) - 1;
    let low = x & lowMask;
    let high = x >>> this.#lowBits;
    for (let round = 0; round < ROUNDS; round++) {
      const step = Math.imul(round, ROUND_STEP);
      high = (high + (mixed(low, this.#key0 + step) >>> (32 - this.#highBits))) & highMask;
      low = (low + (mixed(high, this.#key1 + step) >>> (32 - this.#lowBits))) & lowMask;
    }
    return (high << this.#lowBits) | low;
  }
}

function mixed(x: number, key: number): number {
  const product = Math.imul(x ^ key, FACTOR1);
  return Math.imul(product ^ (product >>> 16), FACTOR2);
}
