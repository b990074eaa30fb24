/**
 * @file Threefry-2x32 with 20 rounds as IR: a keyed bijection of 64-bit counters, the source of all random bits.
 *
 * Additions, rotations and xors of 32-bit words only, so it vectorises anywhere and gives the same bits everywhere.
 * The state is two locals that are assigned round by round: few names for long straight code.
 *
 * Equal to jax: the function itself (`threefry_2x32`), `foldKey` (`fold_in`, and row i of `split` in its
 * partitionable mode), and one word per counter (`bits` in that mode).
 */
import { add, type Builder, binary, constant, convert, get, or } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";

/** Left rotations of the rounds, four of each group in turn. */
const ROTATIONS: readonly (readonly number[])[] = [
  [13, 15, 26, 6],
  [17, 29, 16, 24],
];
/** Groups of four rounds, each followed by an addition of key words. */
export const GROUPS = 5;
/** The third key word is the xor of the other two and this. */
export const PARITY = 0x1bd11bda;

/** The first counter word of keys made by `split`; draws and their rare repetitions count up from 0. */
export const SPLIT_DOMAIN = 0xffffffff;
/** Streams that `at` makes of one key have first counter words this many bits apart: room for repetitions. */
export const PLACE_BITS = 8;

/** Two key words and the one that follows from them, all u32. */
export interface Key {
  readonly words: readonly [Expr, Expr, Expr];
}

export const u32 = (value: number): Expr => constant("u32", value);
const xor = (a: Expr, b: Expr): Expr => binary("xor", a, b);
const isZero = (x: Expr): boolean => x.kind === "const" && x.value === 0;
const plus = (a: Expr, b: Expr): Expr => (isZero(a) ? b : isZero(b) ? a : add(a, b));

/** x is used twice: it must be a name or a constant. */
function rotateLeft(x: Expr, count: number): Expr {
  return or(binary("shl", x, u32(count)), binary("shr", x, u32(32 - count)));
}

/** A key from two words, i32 or u32, read now. */
export function createKey(b: Builder, word0: Expr, word1: Expr): Key {
  const k0 = b.let("key0", convert("u32", word0));
  const k1 = b.let("key1", convert("u32", word1));
  return { words: [k0, k1, b.let("key2", xor(xor(k0, k1), u32(PARITY)))] };
}

/** Both output words for the counter (c0, c1). */
export function encrypt(b: Builder, key: Key, c0: Expr, c1: Expr): [Expr, Expr] {
  const x0 = b.local("x0", "u32");
  const x1 = b.local("x1", "u32");
  const word = (at: number): Expr => key.words[at % 3] as Expr;
  b.assign(x0, plus(c0, word(0)));
  b.assign(x1, plus(c1, word(1)));
  for (let group = 0; group < GROUPS; group++) {
    for (const count of ROTATIONS[group % 2] as readonly number[]) {
      b.assign(x0, add(get(x0), get(x1)));
      b.assign(x1, xor(rotateLeft(get(x1), count), get(x0)));
    }
    b.assign(x0, add(get(x0), word(group + 1)));
    b.assign(x1, add(get(x1), add(word(group + 2), u32(group + 1))));
  }
  return [get(x0), get(x1)];
}

/** Threefry-2x32-20 of u32 (or i32) words. */
export function threefry2x32(b: Builder, k0: Expr, k1: Expr, c0: Expr, c1: Expr): [Expr, Expr] {
  return encrypt(b, createKey(b, k0, k1), convert("u32", c0), convert("u32", c1));
}

/** The key for a number (i32 or u32): both words of the counter (place, data). */
export function foldKey(b: Builder, key: Key, data: Expr, place: Expr = u32(0)): Key {
  const [word0, word1] = encrypt(b, key, place, convert("u32", data));
  return createKey(b, word0, word1);
}
