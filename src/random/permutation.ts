/**
 * @file Random orders of 0..n-1 as IR: one that any lane can ask for any element of, and one by exchanges.
 *
 * `Permutation` is a Feistel network over the next power of two (at least 16), walked until it falls below n: under
 * two steps on average from 9 elements on, and one when n is a power of two. It has 2^64 keys, so not every order of
 * more than 20 elements can come out; whole orders of few elements, and positions, neighbours and fixed points of
 * many, are as frequent as they should be. `shuffle` draws each exchange without bias, one after the other.
 */
import {
  add,
  and,
  type Builder,
  binary,
  constant,
  convert,
  get,
  i32,
  load,
  mul,
  or,
  select,
  sub,
  unary,
} from "../ir/build.ts";
import type { Buffer, Expr, Local } from "../ir/nodes.ts";
import { createStream, type Stream } from "./stream.ts";
import { u32 } from "./threefry.ts";

/** Both halves are changed once in each round; fewer rounds or smaller halves can be told from chance. */
export const ROUNDS = 5;
export const LEAST_BITS = 4;
export const ROUND_STEP = 0x9e3779b9;
export const FACTOR1 = 0x85ebca6b;
export const FACTOR2 = 0xc2b2ae35;

const shr = (x: Expr, count: Expr): Expr => binary("shr", x, count);
const shl = (x: Expr, count: Expr): Expr => binary("shl", x, count);
const xor = (a: Expr, b: Expr): Expr => binary("xor", a, b);

const isPowerOfTwo = (n: number): boolean => Math.clz32(n) !== Math.clz32(n - 1);

export class Permutation {
  readonly #b: Builder;
  readonly #key: readonly [Expr, Expr];
  readonly #n: Expr;
  readonly #lowBits: Expr;
  /** 32 less the bits of a half: what a product is shifted by. */
  readonly #toLow: Expr;
  readonly #toHigh: Expr;
  readonly #lowMask: Expr;
  readonly #highMask: Expr;

  /** Takes its key from one draw. What does not depend on the element is computed here, once. */
  constructor(b: Builder, stream: Stream, n: Expr) {
    const [key0, key1] = stream.words();
    this.#b = b;
    this.#key = [b.let("key0", key0), b.let("key1", key1)];
    this.#n = b.let("n", convert("u32", binary("max", n, i32(1))));
    const bits = b.let("bits", binary("max", sub(u32(32), unary("clz", sub(this.#n, u32(1)))), u32(LEAST_BITS)));
    this.#lowBits = b.let("lowBits", shr(bits, u32(1)));
    this.#toLow = b.let("toLow", sub(u32(32), this.#lowBits));
    this.#toHigh = b.let("toHigh", sub(add(u32(32), this.#lowBits), bits));
    this.#lowMask = b.let("lowMask", shr(u32(0xffffffff), this.#toLow));
    this.#highMask = b.let("highMask", shr(u32(0xffffffff), this.#toHigh));
  }

  /** The i-th element (i32), each of 0..n-1 for one i of 0..n-1; an i outside counts as 0. 0 when n <= 0. */
  at(i: Expr): Expr {
    const b = this.#b;
    const x = b.local("x", "u32");
    const start = b.let("start", convert("u32", i));
    b.assign(x, select(binary("lt", start, this.#n), start, u32(0)));
    const whole = this.#n.kind === "const" && isPowerOfTwo(this.#n.value) && this.#n.value >= 1 << LEAST_BITS;
    if (whole) this.#step(x);
    else
      b.loop((walk) => {
        this.#step(x);
        b.if(binary("lt", get(x), this.#n), () => b.exit(walk));
      });
    return b.let("permuted", convert("i32", get(x)));
  }

  /** x goes to a number below the power of two, no two to the same. */
  #step(x: Local): void {
    const b = this.#b;
    const low = b.local("low", "u32");
    const high = b.local("high", "u32");
    b.assign(low, and(get(x), this.#lowMask));
    b.assign(high, shr(get(x), this.#lowBits));
    for (let round = 0; round < ROUNDS; round++) {
      const step = u32(Math.imul(round, ROUND_STEP));
      const toHigh = shr(this.#mixed(get(low), add(this.#key[0], step)), this.#toHigh);
      b.assign(high, and(add(get(high), toHigh), this.#highMask));
      const toLow = shr(this.#mixed(get(high), add(this.#key[1], step)), this.#toLow);
      b.assign(low, and(add(get(low), toLow), this.#lowMask));
    }
    b.assign(x, or(shl(get(high), this.#lowBits), get(low)));
  }

  /** A word whose upper bits depend on all of x and the key. */
  #mixed(x: Expr, key: Expr): Expr {
    const product = this.#b.let("m", mul(xor(x, key), u32(FACTOR1)));
    return mul(xor(product, shr(product, u32(16))), u32(FACTOR2));
  }
}

/** The i-th element of a permutation of 0..n-1, a pure function of two key words (i32 or u32), i and n (i32). */
export function permutedIndex(b: Builder, key0: Expr, key1: Expr, i: Expr, n: Expr): Expr {
  return new Permutation(b, createStream(b, key0, key1), n).at(i);
}

/** Puts elements 0..n-1 of a buffer in random order, every order equally likely; n - 1 draws, one after the other. */
export function shuffle(b: Builder, stream: Stream, buffer: Buffer, n: Expr): void {
  b.for("i", { begin: sub(n, i32(1)), end: constant("i32", 0), step: -1 }, (i) => {
    const j = stream.int(add(i, i32(1)));
    const kept = b.let("kept", load(buffer, i));
    b.store(buffer, i, load(buffer, j));
    b.store(buffer, j, kept);
  });
}
