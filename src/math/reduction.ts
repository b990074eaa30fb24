/**
 * @file Reduction of large arguments of sin, cos and tan modulo pi / 2, exact enough for every finite f32 and f64.
 *
 * x * (2 / pi) is formed from 24-bit pieces of 2 / pi. Each product is exact; its multiples of 4 (whole turns) are
 * dropped at once, exactly too, so that only the fraction is summed, in two f64. All pieces are gone through whatever
 * x is: pieces that are too large to matter contribute 0. This is the rare path behind an `if`.
 */

import type { Builder } from "../ir/build.ts";
import { buffer, get, load, unary } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import { add, convert, f64, floor, int, mul, sub, upperBits } from "./common.ts";

const PIECE_BITS = 24;
/** Pieces needed for the largest f32 and the largest f64, with the bits that the closest multiples of pi / 2 use up. */
const F32_PIECES = 8;
const F64_PIECES = 48;
/** 2 / pi after the binary point, in hexadecimal. */
const TWO_OVER_PI =
  "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921cfe1deb1c" +
  "b129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f" +
  "6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d08";

const PIECES = buffer("twoOverPi", "f64", "table", F64_PIECES, {
  data: Array.from({ length: F64_PIECES }, (_, k) => Number.parseInt(TWO_OVER_PI.slice(6 * k, 6 * k + 6), 16)),
});

export interface Turn {
  /** The nearest multiple of pi / 2, modulo 4 in its last two bits. */
  readonly quadrant: Expr;
  /** What remains, in units of pi / 2, between -1/2 and 1/2: high + low. */
  readonly high: Expr;
  readonly low: Expr;
}

/** The quadrant and the fraction of x in units of pi / 2; NaN for infinities. */
export function reduceLarge(b: Builder, x: Expr): Turn {
  const wide = x.dtype === "f64";
  const parts = wide ? halves(b, x) : [convert("f64", x)];
  const scaled = parts.map((part) => {
    const at = b.local("part", "f64");
    b.assign(at, part);
    return at;
  });
  const high = b.local("high", "f64");
  const low = b.local("low", "f64");
  b.assign(high, f64(0));
  b.assign(low, f64(0));
  b.for("piece", { begin: int(0), end: int(wide ? F64_PIECES : F32_PIECES) }, (k) => {
    const piece = b.let("piece", load(PIECES, k));
    for (const part of scaled) {
      b.assign(part, mul(get(part), f64(2 ** -PIECE_BITS)));
      const product = b.let("product", mul(get(part), piece));
      const rest = b.let("rest", sub(product, mul(f64(4), floor(mul(product, f64(0.25))))));
      const sum = b.let("sum", add(get(high), rest));
      const back = b.let("back", sub(sum, get(high)));
      b.assign(low, add(get(low), add(sub(get(high), sub(sum, back)), sub(rest, back))));
      b.assign(high, sum);
    }
  });
  const whole = b.let("whole", unary("nearest", get(high)));
  return { quadrant: convert("i32", whole), high: sub(get(high), whole), low: get(low) };
}

/** x as a sum of two numbers of 26 and 27 bits. */
function halves(b: Builder, x: Expr): [Expr, Expr] {
  const upper = b.let("upper", upperBits(x));
  return [upper, sub(x, upper)];
}
