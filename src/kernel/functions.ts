/**
 * @file The types of functions of numbers: what their arguments are converted to, and what they yield.
 */
import type { FunctionName } from "./terms.ts";
import {
  arithmetic,
  asNumber,
  BOOL,
  common,
  F32,
  F64,
  FRACTION,
  heldType,
  I32,
  type IntegerType,
  integer,
  type Operation,
  type Type,
  U32,
} from "./types.ts";

type Rule = (args: readonly Type[]) => Operation | undefined;

const isWhole = (t: Type): boolean => t.kind === "integer" || t.kind === "i32" || t.kind === "u32" || t.kind === "bool";
const all = (args: readonly Type[]): Type | undefined =>
  args.slice(1).reduce<Type | undefined>((a, b) => a && common(a, b), args[0] && asNumber(args[0]));

/** Functions over the reals: f32 stays f32, integers become f64, literals stay open. */
const real: Rule = (args) => {
  const met = all(args);
  if (!met) return undefined;
  if (met.kind === "f32") return { operands: F32, result: F32 };
  const isOpen = met.kind === "fraction" || (met.kind === "integer" && met.literal);
  return { operands: F64, result: isOpen ? FRACTION : F64 };
};
/** Functions that yield the type they are given, and on integers one of a known range. */
const keeping =
  (range: (t: IntegerType) => Type, ofInteger: (t: Type) => Type): Rule =>
  ([x]) => {
    const type = asNumber(x as Type);
    if (type.kind === "integer") return { operands: heldType(type), result: range(type) };
    return { operands: heldType(type), result: isWhole(type) ? ofInteger(type) : type };
  };
const itself = keeping(
  (t) => t,
  (t) => t,
);
const meeting =
  (range: (a: IntegerType, b: IntegerType) => Type): Rule =>
  ([first, second]) => {
    const [a, b] = [asNumber(first as Type), asNumber(second as Type)];
    const met = common(a, b);
    if (!met) return undefined;
    const result = a.kind === "integer" && b.kind === "integer" ? range(a, b) : met;
    return { operands: heldType(met), result };
  };
const test: Rule = ([x]) => ({ operands: heldType(asNumber(x as Type)), result: BOOL });
const whole =
  (operands: Type, result: Type): Rule =>
  (args) =>
    args.every(isWhole) ? { operands, result } : undefined;
const single =
  (operands: Type, result: Type, accepts: (t: Type) => boolean): Rule =>
  (args) =>
    args.every(accepts) ? { operands, result } : undefined;
const isF32 = (t: Type): boolean => t.kind === "f32" || t.kind === "fraction" || t.kind === "integer";

const FUNCTIONS: { readonly [N in FunctionName]: Rule } = {
  abs: keeping(
    (t) => integer(t.low > 0 ? t.low : t.high < 0 ? -t.high : 0, Math.max(-t.low, t.high), t.literal),
    (t) => t,
  ),
  floor: itself,
  ceil: itself,
  trunc: itself,
  round: itself,
  sign: keeping(
    () => integer(-1, 1),
    () => integer(-1, 1),
  ),
  sqrt: real,
  sin: real,
  cos: real,
  tan: real,
  asin: real,
  acos: real,
  atan: real,
  atan2: real,
  exp: real,
  exp2: real,
  expm1: real,
  log: real,
  log1p: real,
  log2: real,
  log10: real,
  pow: real,
  tanh: real,
  sinh: real,
  cosh: real,
  cbrt: real,
  hypot: real,
  sigmoid: real,
  rsqrt: real,
  min: meeting((a, b) => integer(Math.min(a.low, b.low), Math.min(a.high, b.high), a.literal && b.literal)),
  max: meeting((a, b) => integer(Math.max(a.low, b.low), Math.max(a.high, b.high), a.literal && b.literal)),
  imul: whole(I32, I32),
  clz32: whole(I32, integer(0, 32)),
  fround: ([x]) => ({ operands: heldType(asNumber(x as Type)), result: F32 }),
  toF64: ([x]) => ({ operands: heldType(asNumber(x as Type)), result: F64 }),
  toInt32: ([x]) => {
    const type = asNumber(x as Type);
    return { operands: heldType(type), result: type.kind === "integer" && heldType(type).kind === "i32" ? type : I32 };
  },
  toUint32: ([x]) => ({ operands: heldType(asNumber(x as Type)), result: U32 }),
  truth: test,
  isNaN: test,
  isFinite: test,
  isInteger: test,
  fma: single(F32, F32, isF32),
  mulAdd: (args) => {
    const met = all(args);
    return met && (isWhole(met) ? undefined : { operands: met.kind === "fraction" ? F64 : met, result: met });
  },
  bits: single(F32, I32, isF32),
  fromBits: whole(I32, F32),
  mulHigh: single(U32, U32, (t) => t.kind === "u32" || (t.kind === "integer" && t.low >= 0)),
  permuted: whole(I32, I32),
  own: whole(I32, I32),
};

export function functionType(name: FunctionName, args: readonly Type[]): Operation | undefined {
  return FUNCTIONS[name](args);
}

/** The largest exponent for which a power of an integer is written as a product. */
const MOST_FACTORS = 31;

/** Powers that are products: x ** 2 of anything, and whole powers of integers. */
export function productType(base: Type, exponent: number): Operation | undefined {
  const isInteger = isWhole(base);
  if (!Number.isInteger(exponent) || exponent < 1 || exponent > MOST_FACTORS) return undefined;
  if (!isInteger && exponent !== 2) return undefined;
  let type = asNumber(base);
  for (let k = 1; k < exponent; k++) {
    const next = arithmetic("*", type, base);
    if (!next) return undefined;
    type = next.result;
  }
  return { operands: heldType(isInteger ? asNumber(base) : type), result: type };
}
