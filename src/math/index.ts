/**
 * @file The elementary functions as macros: each expands into IR primitives, once for f32 and once for f64.
 *
 * Promised: the error bounds of bounds.ts over the whole range; NaN, infinities, signs of zeros and denormals as
 * JavaScript's Math has them (sigmoid, exp2 and rsqrt as their limits); the same bits on every target, because only
 * operations that round the same everywhere are used, in one order. Code is branch-free but for one `if` in sin, cos
 * and tan, which large arguments take.
 */

import type { Builder } from "../ir/build.ts";
import { assertIr, constant, div, unary } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import type { Macro, Macro1, Macro2, MathName } from "./common.ts";
import { cosh32, exp2_32, exp32, expm1_32, sigmoid32, sinh32, tanh32 } from "./exponential32.ts";
import { cosh64, exp2_64, exp64, expm1_64, sigmoid64, sinh64, tanh64 } from "./exponential64.ts";
import { acos32, asin32, atan2_32, atan32 } from "./inverse32.ts";
import { acos64, asin64, atan2_64, atan64 } from "./inverse64.ts";
import { log1p_32, log2_32, log10_32, log32 } from "./logarithm32.ts";
import { log1p_64, log2_64, log10_64, log64 } from "./logarithm64.ts";
import { simplePowers } from "./power.ts";
import { cbrt32, hypot32, pow32 } from "./power32.ts";
import { cbrt64, hypot64, pow64 } from "./power64.ts";
import { round, sign } from "./rounding.ts";
import { cos32, sin32, tan32 } from "./trigonometric32.ts";
import { cos64, sin64, tan64 } from "./trigonometric64.ts";

export { BOUNDS, type Bound } from "./bounds.ts";
export { toInt32, toUint32 } from "./rounding.ts";
export type { Macro, MathName };

/** Operands are evaluated once, before, and the result at once, whatever becomes of the variables they read. */
function macro1(name: string, f32: Macro1, f64: Macro1): Macro {
  return (b, ...xs) => {
    const [x] = operands(b, name, xs, 1);
    return b.let(name, (x.dtype === "f32" ? f32 : f64)(b, x));
  };
}

function macro2(name: string, f32: Macro2, f64: Macro2): Macro {
  return (b, ...xs) => {
    const [x, y] = operands(b, name, xs, 2);
    return b.let(name, (x.dtype === "f32" ? f32 : f64)(b, x, y as Expr));
  };
}

function operands(b: Builder, name: string, xs: readonly Expr[], count: number): [Expr, ...Expr[]] {
  const first = xs[0];
  assertIr(xs.length === count && first !== undefined, () => `${name} takes ${count} operands, not ${xs.length}`);
  assertIr(first.dtype === "f32" || first.dtype === "f64", () => `${name} does not take ${first.dtype}`);
  for (const x of xs) assertIr(x.dtype === first.dtype, () => `${name} of ${first.dtype} and ${x.dtype}`);
  const named = xs.map((x) => (x.kind === "get" ? x : b.let("x", x)));
  return [named[0] ?? first, ...named.slice(1)];
}

function rsqrt(_b: Builder, x: Expr): Expr {
  return div(constant(x.dtype, 1), unary("sqrt", x));
}

/** Any number of operands, as in JavaScript; none at all is the front end's business. */
const hypot: Macro = (b, ...xs) => {
  const named = operands(b, "hypot", xs, Math.max(xs.length, 1));
  return b.let("hypot", (named[0].dtype === "f32" ? hypot32 : hypot64)(b, ...named));
};

export const MATH: { readonly [N in MathName]: Macro } = {
  sin: macro1("sin", sin32, sin64),
  cos: macro1("cos", cos32, cos64),
  tan: macro1("tan", tan32, tan64),
  asin: macro1("asin", asin32, asin64),
  acos: macro1("acos", acos32, acos64),
  atan: macro1("atan", atan32, atan64),
  atan2: macro2("atan2", atan2_32, atan2_64),
  exp: macro1("exp", exp32, exp64),
  exp2: macro1("exp2", exp2_32, exp2_64),
  expm1: macro1("expm1", expm1_32, expm1_64),
  log: macro1("log", log32, log64),
  log1p: macro1("log1p", log1p_32, log1p_64),
  log2: macro1("log2", log2_32, log2_64),
  log10: macro1("log10", log10_32, log10_64),
  pow: macro2("pow", simplePowers(pow32), simplePowers(pow64)),
  tanh: macro1("tanh", tanh32, tanh64),
  sinh: macro1("sinh", sinh32, sinh64),
  cosh: macro1("cosh", cosh32, cosh64),
  sigmoid: macro1("sigmoid", sigmoid32, sigmoid64),
  rsqrt: macro1("rsqrt", rsqrt, rsqrt),
  cbrt: macro1("cbrt", cbrt32, cbrt64),
  hypot,
  round: macro1("round", round, round),
  sign: macro1("sign", sign, sign),
};
