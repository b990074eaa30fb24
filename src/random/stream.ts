/**
 * @file Streams of random numbers as IR: a key and a count of draws.
 *
 * Draw n of a stream is a pure function of (key, n), whatever was drawn before: the words of Threefry for the counter
 * (0, n). Every draw of any kind counts one, so that the count stays the same in all lanes of a vector. The count
 * wraps after 2^32 draws. Most kinds use the xor of the two words; `normal` uses both, for 64 bits.
 *
 * Equal to jax (partitionable mode) for the same key words and n counting elements: `bits`, `uniform`, `uniform(a, b)`
 * for a <= b up to contraction there, `bernoulli`, and `fold` = `fold_in` = a row of `split`. Not equal: `int` (jax's
 * randint is biased), `normal`, `exponential`, `categorical`, permutations, and `split`, which has counters of its own
 * so that it never meets a `fold`.
 */
import { add, and, type Builder, binary, constant, convert, get, i32, mul, select, sub, unary } from "../ir/build.ts";
import type { Expr, Local } from "../ir/nodes.ts";
import { createKey, encrypt, foldKey, type Key, PLACE_BITS, SPLIT_DOMAIN, u32 } from "./threefry.ts";
import { negativeLog, normalFrom, unitInterval } from "./transforms.ts";

/** Numbers from 0 to n - 1 come from the upper half of word * n; lower halves below this are drawn again. */
const rejectBelow = (n: Expr): Expr => binary("rem", unary("neg", n), n);

export class Stream {
  readonly #b: Builder;
  readonly #drawn: Local;
  readonly key: Key;
  /** The first counter word of draws: 0, or that of `at`. */
  readonly #place: Expr;

  constructor(b: Builder, key: Key, place: Expr = u32(0)) {
    this.#b = b;
    this.key = key;
    this.#place = place;
    this.#drawn = b.local("drawn", "u32");
    b.assign(this.#drawn, u32(0));
  }

  /** The number of the next draw; the count moves on. */
  #next(): Expr {
    const draw = this.#b.let("draw", get(this.#drawn));
    this.#b.assign(this.#drawn, add(draw, u32(1)));
    return draw;
  }

  /** One word for a draw; `attempt` counts its repetitions. */
  #word(draw: Expr, attempt?: Expr): Expr {
    const place = attempt ? add(this.#place, attempt) : this.#place;
    const [word0, word1] = encrypt(this.#b, this.key, place, draw);
    return this.#b.let("word", binary("xor", word0, word1));
  }

  /** Both words of the next draw. */
  words(): [Expr, Expr] {
    return encrypt(this.#b, this.key, this.#place, this.#next());
  }

  /** 32 random bits, a u32. */
  bits(): Expr {
    return this.#word(this.#next());
  }

  /** An f32 in [0, 1) in steps of 2^-23, or low + that times (high - low), which rounding may make equal to high. */
  uniform(low?: Expr, high?: Expr): Expr {
    return this.#between(unitInterval(this.bits()), low, high);
  }
  #between(u: Expr, low: Expr | undefined, high: Expr | undefined): Expr {
    if (low === undefined || high === undefined) return this.#b.let("uniform", u);
    const from = this.#b.let("low", low);
    return this.#b.let("uniform", add(mul(u, sub(high, from)), from));
  }

  /** Two numbers as `uniform` gives, one of each word of a draw. */
  pair(low?: Expr, high?: Expr): [Expr, Expr] {
    const [word0, word1] = this.words();
    return [this.#between(unitInterval(word0), low, high), this.#between(unitInterval(word1), low, high)];
  }

  /** A u32 in 0..n-1, all equally likely; 0 when n is 0. */
  below(n: Expr): Expr {
    const b = this.#b;
    const draw = this.#next();
    const count = b.let("n", n);
    const word = b.local("word", "u32");
    b.assign(word, this.#word(draw));
    const low = (): Expr => mul(get(word), count);
    const constantLimit = count.kind === "const" ? rejectBelow(count) : undefined;
    if (constantLimit?.kind !== "const" || constantLimit.value !== 0) {
      // Below n is a cheap first test that seldom holds: the remainder is taken only then.
      b.if(binary("lt", low(), constantLimit ?? count), () => {
        const limit = b.let("limit", constantLimit ?? rejectBelow(count));
        const attempt = b.local("attempt", "u32");
        b.assign(attempt, u32(0));
        b.loop((repeat) => {
          b.if(binary("ge", low(), limit), () => b.exit(repeat));
          b.assign(attempt, add(get(attempt), u32(1)));
          b.assign(word, this.#word(draw, get(attempt)));
        });
      });
    }
    return b.let("below", binary("mulHigh", get(word), count));
  }

  /** An i32 in 0..n-1, all equally likely; 0 when n <= 0. */
  int(n: Expr): Expr {
    return this.#b.let("int", convert("i32", this.below(convert("u32", binary("max", n, i32(0))))));
  }

  /** Mean 0, deviation 1, within 6.77 of 0: Box and Muller's transform of both words, to a relative error of 4e-7. */
  normal(): Expr {
    const [word0, word1] = this.words();
    return this.#b.let("normal", normalFrom(this.#b, word0, word1));
  }

  /** Mean 1; from 0 to 22.9. */
  exponential(): Expr {
    return this.#b.let("exponential", negativeLog(this.#b, this.bits()));
  }

  /** True with the given probability, an f32 (rounded up to a multiple of 2^-23; NaN counts as 0). */
  bernoulli(probability: Expr): Expr {
    return this.#b.let("bernoulli", binary("lt", unitInterval(this.bits()), probability));
  }

  /**
   * An i32 in 0..n-1 with a chance in proportion to its weight; weights that are not above 0 count as 0, and 0 is
   * drawn when none is. Weights (of any number type) are summed in f32, in order; `weight` is expanded twice.
   */
  categorical(weight: (k: Expr) => Expr, n: Expr): Expr {
    const b = this.#b;
    const u = unitInterval(this.bits());
    const count = b.let("n", n);
    const zero = constant("f32", 0);
    const sum = b.local("sum", "f32");
    /** Goes through the weights in order; `sum` is that of the earlier ones. */
    const each = (visit: (k: Expr, positive: Expr) => void): void => {
      b.assign(sum, zero);
      b.for("k", { begin: i32(0), end: count }, (k) => {
        const w = b.let("weight", convert("f32", weight(k)));
        const positive = b.let("positive", binary("gt", w, zero));
        visit(k, positive);
        b.assign(sum, select(positive, add(get(sum), w), get(sum)));
      });
    };
    each(() => {});
    const target = b.let("target", mul(u, get(sum)));
    const chosen = b.local("chosen", "i32");
    b.assign(chosen, i32(0));
    // The last one whose share begins at or before the target: no rounding can leave it without a choice.
    each((k, positive) => {
      b.assign(chosen, select(and(positive, binary("le", get(sum), target)), k, get(chosen)));
    });
    return get(chosen);
  }

  /** A stream of its own for each number (i32 or u32); this one is not advanced. */
  fold(data: Expr): Stream {
    return new Stream(this.#b, foldKey(this.#b, this.key, data, this.#place));
  }

  /**
   * A stream for each number (i32 or u32) below 2^24, of the same key: its draws have first counter words of their own,
   * 2^PLACE_BITS of them, so that repeated draws do not meet those of others.
   */
  at(data: Expr): Stream {
    const place = this.#b.let("place", binary("shl", convert("u32", data), u32(PLACE_BITS)));
    return new Stream(this.#b, this.key, place);
  }

  /** A new stream; this one is advanced by one draw. */
  split(): Stream {
    const domain = sub(u32(SPLIT_DOMAIN), this.#place);
    const [word0, word1] = encrypt(this.#b, this.key, domain, this.#next());
    return new Stream(this.#b, createKey(this.#b, word0, word1));
  }
}

/** A stream for a key of two words, i32 or u32. */
export function createStream(b: Builder, key0: Expr, key1: Expr): Stream {
  return new Stream(b, createKey(b, key0, key1));
}
