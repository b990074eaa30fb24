/**
 * @file Walking and rebuilding IR: the only places that know which children each node has.
 *
 * Passes are written with `mapExpr`/`mapStmts` (rebuild) and `eachExpr`/`eachStmt` (look); a new node kind is added
 * here and in the tables that targets keep, and nowhere else.
 */
import type { Buffer, Expr, Func, Local, Module, Stmt } from "./nodes.ts";
import { inheritPlace } from "./places.ts";

/** The direct operands of an expression. */
export function operands(e: Expr): readonly Expr[] {
  switch (e.kind) {
    case "const":
    case "get":
    case "length":
    case "iota":
      return [];
    case "unary":
    case "convert":
    case "splat":
    case "any":
      return [e.x];
    case "binary":
      return [e.a, e.b];
    case "select":
      return [e.condition, e.a, e.b];
    case "fma":
      return [e.a, e.b, e.c];
    case "load":
      return e.stride === undefined ? [e.index] : [e.index, e.stride];
    default:
      return e satisfies never;
  }
}

/** Rebuilds an expression with its operands replaced; the same object when none changed. */
export function withOperands(e: Expr, f: (x: Expr) => Expr): Expr {
  switch (e.kind) {
    case "const":
    case "get":
    case "length":
    case "iota":
      return e;
    case "unary":
    case "convert":
    case "splat":
    case "any": {
      const x = f(e.x);
      return x === e.x ? e : { ...e, x };
    }
    case "binary": {
      const a = f(e.a);
      const b = f(e.b);
      return a === e.a && b === e.b ? e : { ...e, a, b };
    }
    case "select": {
      const condition = f(e.condition);
      const a = f(e.a);
      const b = f(e.b);
      return condition === e.condition && a === e.a && b === e.b ? e : { ...e, condition, a, b };
    }
    case "fma": {
      const a = f(e.a);
      const b = f(e.b);
      const c = f(e.c);
      return a === e.a && b === e.b && c === e.c ? e : { ...e, a, b, c };
    }
    case "load": {
      const index = f(e.index);
      const stride = e.stride && f(e.stride);
      return index === e.index && stride === e.stride ? e : inheritPlace(e, { ...e, index, stride });
    }
    default:
      return e satisfies never;
  }
}

/** Rebuilds an expression from the leaves up: `f` sees each node after its operands. */
export function mapExpr(e: Expr, f: (x: Expr) => Expr): Expr {
  return f(withOperands(e, (x) => mapExpr(x, f)));
}

/** Every node of an expression, operands first. */
export function eachExpr(e: Expr, f: (x: Expr) => void): void {
  // Written out instead of over `operands`: this is most of what passes do, and lists of operands are garbage.
  switch (e.kind) {
    case "const":
    case "get":
    case "length":
    case "iota":
      break;
    case "unary":
    case "convert":
    case "splat":
    case "any":
      eachExpr(e.x, f);
      break;
    case "fma":
      eachExpr(e.a, f);
      eachExpr(e.b, f);
      eachExpr(e.c, f);
      break;
    case "select":
      eachExpr(e.condition, f);
      eachExpr(e.a, f);
      eachExpr(e.b, f);
      break;
    case "binary":
      eachExpr(e.a, f);
      eachExpr(e.b, f);
      break;
    case "load":
      eachExpr(e.index, f);
      if (e.stride) eachExpr(e.stride, f);
      break;
    default:
      e satisfies never;
  }
  f(e);
}

/** The expressions a statement holds itself (not those of nested statements). */
export function stmtExprs(s: Stmt): readonly Expr[] {
  switch (s.kind) {
    case "assign":
      return [s.value];
    case "store":
      return [s.index, s.value, ...(s.stride ? [s.stride] : []), ...(s.mask ? [s.mask] : [])];
    case "if":
    case "fault":
      return [s.condition];
    case "for":
      return [s.begin, s.end];
    case "loop":
    case "block":
    case "exit":
      return [];
    case "call":
      return s.args;
    case "launch":
      return [...s.args, s.count];
    default:
      return s satisfies never;
  }
}

/** The nested statement lists of a statement. */
export function stmtBodies(s: Stmt): readonly (readonly Stmt[])[] {
  switch (s.kind) {
    case "if":
      return [s.then, s.else];
    case "for":
    case "loop":
    case "block":
      return [s.body];
    case "assign":
    case "store":
    case "exit":
    case "fault":
    case "call":
    case "launch":
      return [];
    default:
      return s satisfies never;
  }
}

/** Rebuilds a statement with its own expressions replaced. */
export function withExprs(s: Stmt, f: (e: Expr) => Expr): Stmt {
  switch (s.kind) {
    case "assign":
      return { ...s, value: f(s.value) };
    case "store":
      return inheritPlace(s, {
        ...s,
        index: f(s.index),
        value: f(s.value),
        stride: s.stride && f(s.stride),
        mask: s.mask && f(s.mask),
      });
    case "if":
    case "fault":
      return { ...s, condition: f(s.condition) };
    case "for":
      return { ...s, begin: f(s.begin), end: f(s.end) };
    case "loop":
    case "block":
    case "exit":
      return s;
    case "call":
      return { ...s, args: s.args.map(f) };
    case "launch":
      return { ...s, args: s.args.map(f), count: f(s.count) };
    default:
      return s satisfies never;
  }
}

/** Rebuilds a statement with its nested lists replaced. */
export function withBodies(s: Stmt, f: (body: readonly Stmt[]) => readonly Stmt[]): Stmt {
  switch (s.kind) {
    case "if":
      return { ...s, then: f(s.then), else: f(s.else) };
    case "for":
    case "loop":
    case "block":
      return { ...s, body: f(s.body) };
    default:
      return s;
  }
}

/** Rebuilds statements from the innermost out: `f` may return several for one. */
export function mapStmts(body: readonly Stmt[], f: (s: Stmt) => Stmt | readonly Stmt[]): Stmt[] {
  const result: Stmt[] = [];
  const within = (inner: readonly Stmt[]): Stmt[] => mapStmts(inner, f);
  for (const s of body) {
    const made = f(withBodies(s, within));
    if ("kind" in made) result.push(made);
    else result.push(...made);
  }
  return result;
}

/** Rebuilds every expression node of a list of statements, nested ones included. */
export function mapExprsIn(body: readonly Stmt[], f: (e: Expr) => Expr): Stmt[] {
  return mapStmts(body, (s) => withExprs(s, (e) => mapExpr(e, f)));
}

/** Every statement, outer ones first. */
export function eachStmt(body: readonly Stmt[], f: (s: Stmt) => void): void {
  for (const s of body) {
    f(s);
    if (s.kind === "if") {
      eachStmt(s.then, f);
      eachStmt(s.else, f);
    } else if (s.kind === "for" || s.kind === "loop" || s.kind === "block") eachStmt(s.body, f);
  }
}

/** Every expression node in a list of statements, nested ones included. */
export function eachExprIn(body: readonly Stmt[], f: (e: Expr) => void): void {
  eachStmt(body, (s) => {
    for (const e of stmtExprs(s)) eachExpr(e, f);
  });
}

/** The locals that statements assign, loop indices included. */
export function assignedLocals(body: readonly Stmt[]): Set<Local> {
  const found = new Set<Local>();
  eachStmt(body, (s) => {
    if (s.kind === "assign") found.add(s.local);
    if (s.kind === "for") found.add(s.index);
  });
  return found;
}

/** In how many places a function gives each local a value: parameters, loop indices and reductions included. */
export function assignmentCounts(f: Func): Map<Local, number> {
  const count = new Map<Local, number>();
  const note = (l: Local): void => void count.set(l, (count.get(l) ?? 0) + 1);
  f.params.forEach(note);
  eachStmt(f.body, (s) => {
    if (s.kind === "assign") note(s.local);
    if (s.kind === "for") {
      note(s.index);
      for (const r of s.reductions) note(r.local);
    }
  });
  return count;
}

/** The locals that statements read. */
export function readLocals(body: readonly Stmt[]): Set<Local> {
  const found = new Set<Local>();
  eachExprIn(body, (e) => {
    if (e.kind === "get") found.add(e.local);
  });
  return found;
}

/** The buffers that statements touch, in order of first use; what called functions have of their own included. */
export function usedBuffers(body: readonly Stmt[]): Set<Buffer> {
  const found = new Set<Buffer>();
  eachStmt(body, (s) => {
    for (const e of stmtExprs(s)) {
      eachExpr(e, (x) => {
        if (x.kind === "load" || x.kind === "length") found.add(x.buffer);
      });
    }
    if (s.kind === "store") found.add(s.buffer);
    if (s.kind === "call") for (const b of s.buffers) found.add(b);
    // Launched functions see the caller's buffers under the same identities.
    if (s.kind === "launch" || s.kind === "call")
      for (const b of usedBuffers(s.func.body)) if (s.kind === "launch" || b.space !== "param") found.add(b);
  });
  return found;
}

/** The functions of a module, callees before callers, the entry last. */
export function functionsOf(module: Module): Func[] {
  const seen = new Set<Func>();
  const visit = (f: Func): void => {
    if (seen.has(f)) return;
    eachStmt(f.body, (s) => {
      if (s.kind === "call" || s.kind === "launch") visit(s.func);
    });
    seen.add(f);
  };
  visit(module.entry);
  return [...seen];
}

const identities = new WeakMap<object, number>();
let identityCount = 0;
function identityOf(thing: object): number {
  let id = identities.get(thing);
  if (id === undefined) {
    id = ++identityCount;
    identities.set(thing, id);
  }
  return id;
}

/**
 * Equal for expressions that are the same tree over the same locals and buffers; `version` tells values of one local
 * at different times apart.
 */
export function structuralKey(e: Expr, version: (l: Local) => number = () => 0): string {
  switch (e.kind) {
    case "const":
      return `${e.dtype}:${Object.is(e.value, -0) ? "-0" : e.value}`;
    case "get":
      return `$${identityOf(e.local)}.${version(e.local)}`;
    default: {
      const own = e.kind === "length" || e.kind === "load" ? identityOf(e.buffer) : "op" in e ? e.op : e.dtype;
      return `${e.kind} ${own} ${e.lanes}(${operands(e)
        .map((x) => structuralKey(x, version))
        .join()})`;
    }
  }
}
