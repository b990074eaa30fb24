/**
 * @file Counting operations: roughly, to decide what is worth a thread, an unrolled loop or a skipped branch; and as
 * floating-point operations, to report speeds.
 */
import type { Expr, For, Local, Stmt } from "../nodes.ts";
import { MIN_SHARD } from "../types.ts";
import { eachExpr, eachStmtExpr, stmtBodies } from "../walk.ts";

/** Iterations assumed of a loop whose count is not known. */
const ASSUMED_TRIPS = 16;
/** The same of a shard: there is more than one only when the loop is long. */
const ASSUMED_SHARD = MIN_SHARD / 2;

/** How an expression node counts by itself. */
type Weight = (e: Expr) => number;

/** Divisions and roots take a few times as long as other operations. */
const effort: Weight = (e) => {
  switch (e.kind) {
    case "const":
    case "get":
    case "length":
    case "splat":
    case "iota":
    case "lane":
      return 0;
    case "binary":
      return e.op === "div" || e.op === "rem" ? 8 : 1;
    case "unary":
      return e.op === "sqrt" ? 8 : 1;
    default:
      return 1;
  }
};

/** Arithmetic on floats; a fused multiply-add is two. */
const floatOperations: Weight = (e) => {
  const float = e.dtype === "f32" || e.dtype === "f64";
  if (e.kind === "fma") return 2;
  return float && (e.kind === "binary" || (e.kind === "unary" && e.op !== "neg" && e.op !== "abs")) ? 1 : 0;
};

function weigh(s: Stmt, weight: Weight): number {
  let sum = 0;
  const add = (e: Expr): void => {
    sum += weight(e);
  };
  eachStmtExpr(s, (e) => eachExpr(e, add));
  return sum;
}

/** A value known before the loop runs, as a number. */
export type Known = (e: Expr) => number | undefined;
const constants: Known = (e) => (e.kind === "const" ? e.value : undefined);

/**
 * Locals that hold the lesser of a constant and something else: what they are at most, and mostly are. One that is set
 * again keeps its limit, as estimates may.
 */
type Limits = Map<Local, number>;
function noteLimit(s: Stmt, limits: Limits): void {
  if (s.kind !== "assign" || s.value.kind !== "binary" || s.value.op !== "min") return;
  const { a, b } = s.value;
  const limit = a.kind === "const" ? a : b;
  if (limit.kind === "const") limits.set(s.local, limit.value);
}

function tripsOf(s: For, known: Known, limits: Limits): number {
  const begin = known(s.begin);
  const end = known(s.end) ?? (s.end.kind === "get" ? limits.get(s.end.local) : undefined);
  if (begin === undefined || end === undefined) return s.axis === "partial" ? ASSUMED_SHARD : ASSUMED_TRIPS;
  return Math.max(0, Math.ceil((end - begin) / s.step));
}

function total(
  body: readonly Stmt[],
  weight: Weight,
  ofStatement: (s: Stmt) => number,
  known: Known,
  limits: Limits = new Map(),
): number {
  let sum = 0;
  for (const s of body) {
    noteLimit(s, limits);
    sum += ofStatement(s) + weigh(s, weight);
    const nested = stmtBodies(s).reduce((inner, list) => inner + total(list, weight, ofStatement, known, limits), 0);
    sum += nested * (s.kind === "for" ? tripsOf(s, known, limits) : s.kind === "loop" ? ASSUMED_TRIPS : 1);
    if (s.kind === "call" || s.kind === "launch") sum += total(s.func.body, weight, ofStatement, known);
  }
  return sum;
}

/** Operations of running the statements once, statements themselves included. */
export const costOf = (body: readonly Stmt[]): number => total(body, effort, () => 1, constants);

/** Floating-point operations of running the statements once, both arms of branches counted. */
export const floatOperationsOf = (body: readonly Stmt[], known: Known): number =>
  total(body, floatOperations, recurrence, known);
/** The product and the sum that a recurrence is; the product is none where the factor is 1. */
const recurrence = (s: Stmt): number =>
  s.kind !== "recur" ? 0 : s.factor.kind === "const" && s.factor.value === 1 ? 1 : 2;
