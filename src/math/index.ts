/**
 * @file The mathematical functions by name, dispatching on the type of the operand.
 */
import { constant, div, IrError, unary } from "../ir/build.ts";
import type { Macro } from "./common.ts";
import { cosh32, exp2_32, exp32, expm1_32, sigmoid32, sinh32, tanh32 } from "./exponential32.ts";
import { acos32, asin32, atan2_32, atan32 } from "./inverse32.ts";
import { log1p_32, log2_32, log10_32, log32 } from "./logarithm32.ts";
import { cbrt32, hypot32, pow32 } from "./power32.ts";
import { round, sign } from "./rounding.ts";
import { cos32, sin32, tan32 } from "./trigonometric32.ts";

const only32 =
  (name: string, macro: Macro): Macro =>
  (b, ...xs) => {
    if (xs[0]?.dtype !== "f32") throw new IrError(`${name} of f64`);
    return macro(b, ...xs);
  };
const wrap = (name: string, macro: (...args: never[]) => unknown): Macro => only32(name, macro as Macro);

export const MATH = {
  sin: wrap("sin", sin32),
  cos: wrap("cos", cos32),
  tan: wrap("tan", tan32),
  asin: wrap("asin", asin32),
  acos: wrap("acos", acos32),
  atan: wrap("atan", atan32),
  atan2: wrap("atan2", atan2_32),
  exp: wrap("exp", exp32),
  exp2: wrap("exp2", exp2_32),
  expm1: wrap("expm1", expm1_32),
  log: wrap("log", log32),
  log1p: wrap("log1p", log1p_32),
  log2: wrap("log2", log2_32),
  log10: wrap("log10", log10_32),
  pow: wrap("pow", pow32),
  cbrt: wrap("cbrt", cbrt32),
  hypot: wrap("hypot", hypot32),
  tanh: wrap("tanh", tanh32),
  sinh: wrap("sinh", sinh32),
  cosh: wrap("cosh", cosh32),
  sigmoid: wrap("sigmoid", sigmoid32),
  rsqrt: ((_b, ...xs) => {
    const x = xs[0] as import("../ir/nodes.ts").Expr;
    return div(constant(x.dtype, 1), unary("sqrt", x));
  }) as Macro,
  round: round as unknown as Macro,
  sign: sign as unknown as Macro,
} as const satisfies { readonly [name: string]: Macro };
export type MathName = keyof typeof MATH;
