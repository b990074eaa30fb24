/**
 * @file The contract pass: under "fused" numerics an f32 product that is only added becomes part of one `fma`.
 *
 * The choice is made here, by rule, and never by a target's compiler: every target computes exactly the `fma`s that
 * the IR shows, so fused programs agree wherever they run. A product is fused with the sum that uses it when that is
 * its only use; of two products in a sum the left one is fused.
 */
import { type Builder, fma, func, unary } from "../build.ts";
import type { Binary, Expr, Func, Local, Module, Stmt } from "../nodes.ts";
import { assignmentCounts, eachExprIn, eachStmt, mapExpr, mapStmts, withExprs } from "../walk.ts";
import { rewriteFunctions } from "./rewrite.ts";

const isProduct = (e: Expr): e is Binary => e.kind === "binary" && e.op === "mul" && e.dtype === "f32";
const negated = (e: Expr): Expr => unary("neg", e);

/** Sums of products, by operation. */
const FUSED: { readonly [op: string]: ((a: Expr, b: Expr) => Expr | undefined) | undefined } = {
  add: (a, b) => (isProduct(a) ? fma(a.a, a.b, b) : isProduct(b) ? fma(b.a, b.b, a) : undefined),
  sub: (a, b) => (isProduct(a) ? fma(a.a, a.b, negated(b)) : isProduct(b) ? fma(negated(b.a), b.b, a) : undefined),
};

function contracted(e: Expr): Expr {
  if (e.kind !== "binary" || e.dtype !== "f32") return e;
  return FUSED[e.op]?.(e.a, e.b) ?? e;
}

/** Products with a name that is assigned once, read once, and made of values that do not change in between. */
function namedProducts(f: Func): Map<Local, Expr> {
  const assigns = assignmentCounts(f);
  const reads = new Map<Local, number>();
  eachExprIn(f.body, (e) => e.kind === "get" && reads.set(e.local, (reads.get(e.local) ?? 0) + 1));
  const fixed = (e: Expr): boolean => e.kind === "const" || (e.kind === "get" && assigns.get(e.local) === 1);
  const found = new Map<Local, Expr>();
  eachStmt(f.body, (s) => {
    if (s.kind !== "assign" || !isProduct(s.value)) return;
    const single = reads.get(s.local) === 1 && assigns.get(s.local) === 1;
    if (single && fixed(s.value.a) && fixed(s.value.b)) found.set(s.local, s.value);
  });
  return found;
}

function contractedBody(f: Func): readonly Stmt[] {
  const products = namedProducts(f);
  const inlined = (e: Expr): Expr => (e.kind === "get" ? (products.get(e.local) ?? e) : e);
  return mapStmts(f.body, (s) => {
    if (s.kind === "assign" && products.has(s.local)) return [];
    return withExprs(s, (e) => mapExpr(e, (x) => contracted(inlined(x))));
  });
}

export const contract = (module: Module): Module =>
  rewriteFunctions(module, (f) => ({ ...f, body: contractedBody(f) }));

/** What `write` gives, contracted within itself: the same whatever stands around it. */
export function contractWithin(b: Builder, write: () => Expr): Expr {
  let result: Expr | undefined;
  const body = b.body(() => {
    result = b.let("result", write());
  });
  for (const s of contractedBody(func("within", [], [], body))) b.emit(s);
  return result as Expr;
}
