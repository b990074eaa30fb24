/**
 * @file Terms made of terms: literals are folded as JavaScript folds them, everything else becomes a node.
 *
 * Only operations that every engine rounds alike are folded here; `Math.exp(2)` is left to the IR, whose polynomials
 * give the same bits everywhere.
 */
import type { Span } from "./errors.ts";
import type { BinaryOperator, FunctionName, Literal, Term, Truth, UnaryOperator } from "./terms.ts";

export const literal = (value: number, span: Span): Literal => ({ kind: "literal", value, span });
export const truth = (value: boolean, span: Span): Truth => ({ kind: "truth", value, span });

/** The value of a term that is known when compiling. */
export function known(term: Term): number | boolean | undefined {
  return term.kind === "literal" || term.kind === "truth" ? term.value : undefined;
}
function knownNumber(term: Term): number | undefined {
  const value = known(term);
  return value === undefined ? undefined : Number(value);
}
const made = (value: number | boolean, span: Span): Term =>
  typeof value === "number" ? literal(value, span) : truth(value, span);

const BINARY: { readonly [O in BinaryOperator]: (a: number, b: number) => number | boolean | undefined } = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "%": (a, b) => a % b,
  "**": wholePower,
  "&": (a, b) => a & b,
  "|": (a, b) => a | b,
  "^": (a, b) => a ^ b,
  "<<": (a, b) => a << b,
  ">>": (a, b) => a >> b,
  ">>>": (a, b) => a >>> b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
};

/** A power that is exact: a whole number to a small whole power. */
function wholePower(a: number, b: number): number | undefined {
  if (!Number.isInteger(a) || !Number.isInteger(b) || b < 0 || b > 64) return undefined;
  let result = 1;
  for (let k = 0; k < b; k++) result *= a;
  return Number.isSafeInteger(result) ? result : undefined;
}

export function binary(op: BinaryOperator, a: Term, b: Term, span: Span): Term {
  const [x, y] = [knownNumber(a), knownNumber(b)];
  const value = x === undefined || y === undefined ? undefined : BINARY[op](x, y);
  return value === undefined ? { kind: "binary", op, a, b, span } : made(value, span);
}

const UNARY: { readonly [O in UnaryOperator]: (x: number) => number | boolean } = {
  "-": (x) => -x,
  "+": (x) => x,
  "!": (x) => !x,
  "~": (x) => ~x,
};
export function unary(op: UnaryOperator, x: Term, span: Span): Term {
  const value = knownNumber(x);
  if (value !== undefined) return made(UNARY[op](value), span);
  if (op === "~" && x.kind === "unary" && x.op === "~") return apply("toInt32", [x.x], span);
  return { kind: "unary", op, x, span };
}

export function logical(op: "&&" | "||", a: Term, b: Term, span: Span): Term {
  const value = known(a);
  if (value !== undefined) return Boolean(value) === (op === "&&") ? b : a;
  return { kind: "logical", op, a, b, span };
}
export function conditional(test: Term, a: Term, b: Term, span: Span): Term {
  const value = known(test);
  if (value !== undefined) return value ? a : b;
  return { kind: "conditional", test, a, b, span };
}

/** Exact on every engine. */
const APPLY: { readonly [N in FunctionName]?: (...args: number[]) => number | boolean } = {
  abs: Math.abs,
  floor: Math.floor,
  ceil: Math.ceil,
  trunc: Math.trunc,
  round: Math.round,
  sign: Math.sign,
  sqrt: Math.sqrt,
  min: Math.min,
  max: Math.max,
  imul: (a = 0, b = 0) => Math.imul(a, b),
  clz32: Math.clz32,
  toInt32: (x = 0) => x | 0,
  toUint32: (x = 0) => x >>> 0,
  truth: Boolean,
  isNaN: Number.isNaN,
  isFinite: Number.isFinite,
  isInteger: Number.isInteger,
};
export function apply(name: FunctionName, args: readonly Term[], span: Span): Term {
  const values = args.map(knownNumber);
  const fold = APPLY[name];
  if (fold && values.every((v) => v !== undefined)) return made(fold(...values), span);
  return { kind: "apply", name, args, span };
}
