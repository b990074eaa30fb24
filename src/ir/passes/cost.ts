/**
 * @file A rough count of operations, to decide what is worth a thread, an unrolled loop or a skipped branch.
 */
import type { Expr, Stmt } from "../nodes.ts";
import { operands, stmtBodies, stmtExprs } from "../walk.ts";

/** Iterations assumed of a loop whose count is not a constant. */
const ASSUMED_TRIPS = 16;

export function exprCost(e: Expr): number {
  const inner = operands(e).reduce((sum, x) => sum + exprCost(x), 0);
  switch (e.kind) {
    case "const":
    case "get":
    case "length":
    case "splat":
    case "iota":
      return inner;
    case "binary":
      return inner + (e.op === "div" || e.op === "rem" ? 8 : 1);
    case "unary":
      return inner + (e.op === "sqrt" ? 8 : 1);
    default:
      return inner + 1;
  }
}

export function costOf(body: readonly Stmt[]): number {
  let total = 0;
  for (const s of body) {
    total += stmtExprs(s).reduce((sum, e) => sum + exprCost(e), 1);
    const nested = stmtBodies(s).reduce((sum, inner) => sum + costOf(inner), 0);
    total += nested * (s.kind === "for" ? tripsOf(s) : s.kind === "loop" ? ASSUMED_TRIPS : 1);
    if (s.kind === "call" || s.kind === "launch") total += costOf(s.func.body);
  }
  return total;
}

function tripsOf(s: { begin: Expr; end: Expr; step: number }): number {
  if (s.begin.kind !== "const" || s.end.kind !== "const") return ASSUMED_TRIPS;
  return Math.max(0, Math.ceil((s.end.value - s.begin.value) / s.step));
}
