/**
 * @file Makes a failing random kernel small: greedy removal of statements and replacement of expressions.
 */
import type { ExprTree, KernelTree, StmtTree } from "./generate.ts";

function* smallerExprs(e: ExprTree): Generator<ExprTree> {
  const children = Object.values(e).filter((v): v is ExprTree => typeof v === "object" && v !== null && "dtype" in v);
  for (const c of children) if (c.dtype === e.dtype) yield c;
  if (e.kind !== "const" && e.kind !== "input") yield { kind: "input", dtype: e.dtype, at: undefined };
  for (const [key, value] of Object.entries(e)) {
    if (typeof value !== "object" || value === null) continue;
    for (const smaller of smallerExprs(value as ExprTree)) yield { ...e, [key]: smaller } as ExprTree;
  }
}

function* smallerStmts(s: StmtTree): Generator<StmtTree[]> {
  yield [];
  if ("body" in s) yield s.body;
  if (s.kind === "if") {
    yield s.then;
    yield s.else;
  }
  for (const [key, value] of Object.entries(s)) {
    if (Array.isArray(value))
      for (const body of smallerBodies(value as StmtTree[])) yield [{ ...s, [key]: body } as StmtTree];
    else if (typeof value === "object" && value !== null)
      for (const e of smallerExprs(value as ExprTree)) yield [{ ...s, [key]: e } as StmtTree];
  }
}

function* smallerBodies(body: readonly StmtTree[]): Generator<StmtTree[]> {
  for (const [k, s] of body.entries())
    for (const instead of smallerStmts(s)) yield [...body.slice(0, k), ...instead, ...body.slice(k + 1)];
}

function* smallerKernels(k: KernelTree): Generator<KernelTree> {
  if (k.reduce) {
    yield { ...k, reduce: undefined };
    if (k.reduce.when) yield { ...k, reduce: { ...k.reduce, when: undefined } };
    for (const value of smallerExprs(k.reduce.value)) yield { ...k, reduce: { ...k.reduce, value } };
  }
  if (k.scan) {
    for (const term of smallerExprs(k.scan.term)) yield { ...k, scan: { ...k.scan, term } };
    for (const factor of smallerExprs(k.scan.factor)) yield { ...k, scan: { ...k.scan, factor } };
    for (const behind of smallerBodies(k.scan.behind)) yield { ...k, scan: { ...k.scan, behind } };
    if (k.scan.rows) yield { ...k, scan: { ...k.scan, rows: 0 } };
  }
  for (const body of smallerBodies(k.body)) yield { ...k, body };
}

/** The smallest kernel found on which `fails` still holds, within a number of tries. */
export function shrink(kernel: KernelTree, fails: (k: KernelTree) => boolean, tries: number): KernelTree {
  let best = kernel;
  let left = tries;
  let improved = true;
  while (improved) {
    improved = false;
    for (const candidate of smallerKernels(best)) {
      if (left-- <= 0) return best;
      if (!fails(candidate)) continue;
      best = candidate;
      improved = true;
      break;
    }
  }
  return best;
}
