/**
 * @file Algebraic rewrites as tables: each rule holds for every value, bit for bit (NaNs being equal to each other).
 *
 * Rules look at one node whose operands are already rewritten. They never add rounding: `x + 0` stays (it turns -0
 * into +0), `x - 0` goes. JavaScript's min and max against a constant become a comparison and a select, which every
 * machine has, where their own treatment of NaN and zeros costs several instructions.
 */
import { binary, constant, convert, mul, select, unary } from "./build.ts";
import type { Binary, Convert, Expr, Select, Unary } from "./nodes.ts";
import { type BinaryOp, isFloat, isInteger, type UnaryOp } from "./types.ts";

export interface Rule<N> {
  readonly name: string;
  /** The simpler form, or undefined where the rule does not apply. */
  readonly apply: (e: N) => Expr | undefined;
}

const isConst = (e: Expr, value: number): boolean => e.kind === "const" && Object.is(e.value, value);
const constantOf = (e: Expr): number | undefined => (e.kind === "const" ? e.value : undefined);
/** Exactly 2^k or -2^k, with room for its inverse in every float type. */
const isPowerOfTwo = (x: number): boolean => {
  const exponent = Math.round(Math.log2(Math.abs(x)));
  return Math.abs(exponent) < 120 && 2 ** exponent === Math.abs(x);
};

/** A rule that fires when either operand is the constant, giving the other. */
const neutral = (name: string, value: number, when: (e: Binary) => boolean = () => true): Rule<Binary> => ({
  name,
  apply: (e) => {
    if (!when(e)) return undefined;
    if (isConst(e.b, value)) return e.a;
    return isConst(e.a, value) ? e.b : undefined;
  },
});
/** A rule that fires when either operand is the constant, giving the constant. */
const absorbing = (name: string, value: number, when: (e: Binary) => boolean): Rule<Binary> => ({
  name,
  apply: (e) =>
    when(e) && (isConst(e.a, value) || isConst(e.b, value)) ? constant(e.dtype, value, e.lanes) : undefined,
});
const integral = (e: Binary): boolean => isInteger(e.dtype);
const logical = (e: Binary): boolean => e.dtype === "bool";

/** min and max against a constant that is not NaN: the constant, and the other operand. */
export function constantLimit(e: Expr): { x: Expr; limit: Expr; value: number } | undefined {
  if (e.kind !== "binary" || (e.op !== "min" && e.op !== "max") || !isFloat(e.dtype)) return undefined;
  const [x, limit] = e.b.kind === "const" ? [e.a, e.b] : [e.b, e.a];
  const value = constantOf(limit);
  return value !== undefined && !Number.isNaN(value) ? { x, limit, value } : undefined;
}

/** The same where the other operand has a name: the select reads it twice. */
function namedLimit(e: Binary): ReturnType<typeof constantLimit> {
  const found = constantLimit(e);
  return found?.x.kind === "get" ? found : undefined;
}

export const BINARY_RULES: { readonly [O in BinaryOp]?: readonly Rule<Binary>[] } = {
  add: [neutral("n + 0", 0, integral), neutral("x + -0", -0, (e) => isFloat(e.dtype))],
  sub: [{ name: "x - 0", apply: (e) => (isConst(e.b, 0) ? e.a : undefined) }],
  mul: [neutral("x * 1", 1), absorbing("n * 0", 0, integral)],
  div: [
    { name: "x / 1", apply: (e) => (isConst(e.b, 1) ? e.a : undefined) },
    {
      name: "x / 2^k",
      apply: (e) => {
        const d = constantOf(e.b);
        const exact = isFloat(e.dtype) && d !== undefined && d !== 0 && Number.isFinite(d) && isPowerOfTwo(d);
        return exact ? mul(e.a, constant(e.dtype, 1 / d, e.lanes)) : undefined;
      },
    },
  ],
  rem: [
    {
      name: "u % 2^k",
      apply: (e) => {
        const d = constantOf(e.b);
        const mask = e.dtype === "u32" && d !== undefined && d > 0 && isPowerOfTwo(d);
        return mask ? binary("and", e.a, constant("u32", d - 1, e.lanes)) : undefined;
      },
    },
  ],
  min: [
    {
      name: "min(x, c)",
      apply: (e) => {
        const l = namedLimit(e);
        // With c = -0 a +0 must become -0, so equal values take the constant.
        return l && select(binary(Object.is(l.value, -0) ? "le" : "lt", l.limit, l.x), l.limit, l.x);
      },
    },
  ],
  max: [
    {
      name: "max(x, c)",
      apply: (e) => {
        const l = namedLimit(e);
        return l && select(binary(Object.is(l.value, 0) ? "ge" : "gt", l.limit, l.x), l.limit, l.x);
      },
    },
  ],
  and: [neutral("b & true", 1, logical), absorbing("b & false", 0, logical), absorbing("n & 0", 0, integral)],
  or: [neutral("b | false", 0, logical), absorbing("b | true", 1, logical), neutral("n | 0", 0, integral)],
  xor: [neutral("n ^ 0", 0)],
  shl: [{ name: "n << 0", apply: (e) => (isConst(e.b, 0) ? e.a : undefined) }],
  shr: [{ name: "n >> 0", apply: (e) => (isConst(e.b, 0) ? e.a : undefined) }],
  ne: [
    {
      name: "i32(b) != 0",
      apply: (e) => (e.a.kind === "convert" && e.a.x.dtype === "bool" && isConst(e.b, 0) ? e.a.x : undefined),
    },
  ],
};

/** Comparisons whose negation is another one, for all values. */
const OPPOSITE: { readonly [O in BinaryOp]?: BinaryOp } = {
  eq: "ne",
  ne: "eq",
  lt: "ge",
  ge: "lt",
  gt: "le",
  le: "gt",
};

export const UNARY_RULES: { readonly [O in UnaryOp]?: readonly Rule<Unary>[] } = {
  neg: [{ name: "-(-x)", apply: (e) => (e.x.kind === "unary" && e.x.op === "neg" ? e.x.x : undefined) }],
  abs: [
    {
      name: "abs(-x)",
      apply: (e) => (isFloat(e.dtype) && e.x.kind === "unary" && e.x.op === "neg" ? unary("abs", e.x.x) : undefined),
    },
  ],
  not: [
    { name: "!!x", apply: (e) => (e.x.kind === "unary" && e.x.op === "not" ? e.x.x : undefined) },
    {
      name: "!(a < b)",
      apply: (e) => {
        if (e.x.kind !== "binary") return undefined;
        const opposite = OPPOSITE[e.x.op];
        // NaN is neither less nor greater: only equality has an opposite among floats.
        const holds = !isFloat(e.x.a.dtype) || e.x.op === "eq" || e.x.op === "ne";
        return opposite && holds ? binary(opposite, e.x.a, e.x.b) : undefined;
      },
    },
  ],
};

const sameLeaf = (a: Expr, b: Expr): boolean =>
  (a.kind === "get" && b.kind === "get" && a.local === b.local) ||
  (a.kind === "const" && b.kind === "const" && Object.is(a.value, b.value));

export const SELECT_RULES: readonly Rule<Select>[] = [
  { name: "c ? x : x", apply: (e) => (sameLeaf(e.a, e.b) ? e.a : undefined) },
  {
    name: "!c ? a : b",
    apply: (e) =>
      e.condition.kind === "unary" && e.condition.op === "not" ? select(e.condition.x, e.b, e.a) : undefined,
  },
];

export const CONVERT_RULES: readonly Rule<Convert>[] = [
  {
    name: "there and back",
    apply: (e) => {
      if (e.x.kind !== "convert" || e.x.x.dtype !== e.dtype) return undefined;
      const exact = ["f32-f64", "i32-u32", "u32-i32", "i32-f64", "u32-f64"].includes(`${e.dtype}-${e.x.dtype}`);
      return exact ? e.x.x : undefined;
    },
  },
  {
    name: "u32(i32(b))",
    apply: (e) => (e.x.kind === "convert" && e.x.x.dtype === "bool" ? convert(e.dtype, e.x.x) : undefined),
  },
];

function firstOf<N extends Expr>(rules: readonly Rule<N>[] | undefined, e: N): Expr | undefined {
  for (const rule of rules ?? []) {
    const simpler = rule.apply(e);
    if (simpler) return simpler;
  }
  return undefined;
}

/** The simplest form of a node whose operands are simple already. */
export function simplifyNode(e: Expr): Expr {
  switch (e.kind) {
    case "unary":
      return firstOf(UNARY_RULES[e.op], e) ?? (e.x.kind === "const" ? unary(e.op, e.x) : e);
    case "binary": {
      const folded = e.a.kind === "const" && e.b.kind === "const";
      return firstOf(BINARY_RULES[e.op], e) ?? (folded ? binary(e.op, e.a, e.b) : e);
    }
    case "select":
      return firstOf(SELECT_RULES, e) ?? (e.condition.kind === "const" ? select(e.condition, e.a, e.b) : e);
    case "convert":
      return firstOf(CONVERT_RULES, e) ?? (e.x.kind === "const" ? convert(e.dtype, e.x) : e);
    default:
      return e;
  }
}
