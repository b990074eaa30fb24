/**
 * @file Walking and rebuilding IR: the only places that know which children each node has.
 *
 * Passes are written with `mapExpr`/`mapStmts` (rebuild) and `eachExpr`/`eachStmt` (look); a new node kind is added
 * here and in the tables that targets keep, and nowhere else.
 */
import type { Buffer, Const, Expr, For, Func, Get, Local, Module, Stmt } from "./nodes.ts";
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
    case "lane":
      return [e.x];
    case "binary":
    case "shuffle":
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

/**
 * Rebuilds an expression with its operands (and the number of its lanes) replaced; the same object when nothing
 * changed. Leaves stay as they are. Fields are written out in the constructors' order, not spread: engines copy objects
 * of one known shape several times as fast.
 */
export function withOperands(e: Expr, f: (x: Expr) => Expr, lanes: number = e.lanes): Expr {
  switch (e.kind) {
    case "const":
    case "get":
    case "length":
    case "iota":
      return e;
    case "unary": {
      const x = f(e.x);
      return x === e.x && lanes === e.lanes ? e : { kind: "unary", dtype: e.dtype, lanes, op: e.op, x };
    }
    case "convert": {
      const x = f(e.x);
      return x === e.x && lanes === e.lanes ? e : { kind: "convert", dtype: e.dtype, lanes, x };
    }
    case "splat": {
      const x = f(e.x);
      return x === e.x && lanes === e.lanes ? e : { kind: "splat", dtype: e.dtype, lanes, x };
    }
    case "any": {
      const x = f(e.x);
      return x === e.x && lanes === e.lanes ? e : { kind: "any", dtype: e.dtype, lanes, x };
    }
    case "lane": {
      const x = f(e.x);
      return x === e.x ? e : { kind: "lane", dtype: e.dtype, lanes: 1, x, at: e.at };
    }
    case "shuffle": {
      const a = f(e.a);
      const b = f(e.b);
      return a === e.a && b === e.b ? e : { ...e, a, b };
    }
    case "binary": {
      const a = f(e.a);
      const b = f(e.b);
      return a === e.a && b === e.b && lanes === e.lanes
        ? e
        : { kind: "binary", dtype: e.dtype, lanes, op: e.op, a, b };
    }
    case "select": {
      const condition = f(e.condition);
      const a = f(e.a);
      const b = f(e.b);
      const same = condition === e.condition && a === e.a && b === e.b && lanes === e.lanes;
      return same ? e : { kind: "select", dtype: e.dtype, lanes, condition, a, b };
    }
    case "fma": {
      const a = f(e.a);
      const b = f(e.b);
      const c = f(e.c);
      const same = a === e.a && b === e.b && c === e.c && lanes === e.lanes;
      return same ? e : { kind: "fma", dtype: e.dtype, lanes, a, b, c };
    }
    case "load": {
      const index = f(e.index);
      const stride = e.stride && f(e.stride);
      if (index === e.index && stride === e.stride && lanes === e.lanes) return e;
      return inheritPlace(e, { kind: "load", dtype: e.dtype, lanes, buffer: e.buffer, index, stride });
    }
    default:
      return e satisfies never;
  }
}

/** Rebuilds an expression from the leaves up: `f` sees each node after its operands. */
export function mapExpr(e: Expr, f: (x: Expr) => Expr): Expr {
  const visit = (x: Expr): Expr => f(withOperands(x, visit));
  return visit(e);
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
    case "lane":
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
    case "shuffle":
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

/** The expressions a statement holds itself (not those of nested statements); a list of them would be garbage. */
export function eachStmtExpr(s: Stmt, f: (e: Expr) => void): void {
  switch (s.kind) {
    case "assign":
      return f(s.value);
    case "recur":
      f(s.term);
      return f(s.factor);
    case "store":
      f(s.index);
      f(s.value);
      if (s.stride) f(s.stride);
      if (s.mask) f(s.mask);
      return;
    case "pack":
      f(s.index);
      f(s.value);
      return f(s.mask);
    case "if":
    case "fault":
      return f(s.condition);
    case "for":
      f(s.begin);
      return f(s.end);
    case "loop":
    case "block":
    case "exit":
      return;
    case "call":
      return s.args.forEach(f);
    case "launch":
      s.args.forEach(f);
      return f(s.count);
    default:
      s satisfies never;
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
    case "recur":
    case "store":
    case "pack":
    case "exit":
    case "fault":
    case "call":
    case "launch":
      return [];
    default:
      return s satisfies never;
  }
}

/** The list with `f` of each element; the same list when none changed. */
function mapped<T>(list: readonly T[], f: (x: T) => T): readonly T[] {
  let changed: T[] | undefined;
  for (let k = 0; k < list.length; k++) {
    const x = list[k] as T;
    const y = f(x);
    if (y !== x) changed ??= list.slice(0, k);
    changed?.push(y);
  }
  return changed ?? list;
}

/** Rebuilds a statement with its own expressions replaced; the same object when none changed. */
export function withExprs(s: Stmt, f: (e: Expr) => Expr): Stmt {
  switch (s.kind) {
    case "assign": {
      const value = f(s.value);
      return value === s.value ? s : { kind: "assign", local: s.local, value };
    }
    case "recur": {
      const term = f(s.term);
      const factor = f(s.factor);
      return term === s.term && factor === s.factor ? s : { kind: "recur", local: s.local, factor, term };
    }
    case "store": {
      const index = f(s.index);
      const value = f(s.value);
      const stride = s.stride && f(s.stride);
      const mask = s.mask && f(s.mask);
      if (index === s.index && value === s.value && stride === s.stride && mask === s.mask) return s;
      return inheritPlace(s, { kind: "store", buffer: s.buffer, index, value, stride, mask });
    }
    case "pack": {
      const [index, value, mask] = [f(s.index), f(s.value), f(s.mask)];
      return index === s.index && value === s.value && mask === s.mask ? s : { ...s, index, value, mask };
    }
    case "if": {
      const condition = f(s.condition);
      return condition === s.condition ? s : { kind: "if", condition, then: s.then, else: s.else };
    }
    case "fault": {
      const condition = f(s.condition);
      return condition === s.condition ? s : { kind: "fault", condition, site: s.site };
    }
    case "for": {
      const begin = f(s.begin);
      const end = f(s.end);
      return begin === s.begin && end === s.end ? s : { ...s, begin, end };
    }
    case "loop":
    case "block":
    case "exit":
      return s;
    case "call": {
      const args = mapped(s.args, f);
      return args === s.args ? s : { ...s, args };
    }
    case "launch": {
      const args = mapped(s.args, f);
      const count = f(s.count);
      return args === s.args && count === s.count ? s : { ...s, args, count };
    }
    default:
      return s satisfies never;
  }
}

/** Rebuilds a statement with its nested lists replaced; the same object when none changed. */
export function withBodies(s: Stmt, f: (body: readonly Stmt[]) => readonly Stmt[]): Stmt {
  switch (s.kind) {
    case "if": {
      const then = f(s.then);
      const otherwise = f(s.else);
      if (then === s.then && otherwise === s.else) return s;
      return { kind: "if", condition: s.condition, then, else: otherwise };
    }
    case "for":
    case "loop":
    case "block": {
      const body = f(s.body);
      return body === s.body ? s : { ...s, body };
    }
    default:
      return s;
  }
}

/** Rebuilds statements from the innermost out: `f` may return several for one. The same list when none changed. */
export function mapStmts(body: readonly Stmt[], f: (s: Stmt) => Stmt | readonly Stmt[]): readonly Stmt[] {
  let changed: Stmt[] | undefined;
  const within = (inner: readonly Stmt[]): readonly Stmt[] => mapStmts(inner, f);
  for (let k = 0; k < body.length; k++) {
    const s = body[k] as Stmt;
    const made = f(withBodies(s, within));
    if (made !== s) changed ??= body.slice(0, k);
    if (!changed) continue;
    if ("kind" in made) changed.push(made);
    else changed.push(...made);
  }
  return changed ?? body;
}

/** Rebuilds every expression node of a list of statements, nested ones included. */
export function mapExprsIn(body: readonly Stmt[], f: (e: Expr) => Expr): readonly Stmt[] {
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
  const each = (e: Expr): void => eachExpr(e, f);
  eachStmt(body, (s) => eachStmtExpr(s, each));
}

/** The local that a statement by itself gives a value. */
export function assignedBy(s: Stmt): Local | undefined {
  if (s.kind === "assign" || s.kind === "recur") return s.local;
  if (s.kind === "for") return s.index;
  return s.kind === "pack" ? s.found : undefined;
}

/** The locals that statements assign, loop indices included. */
export function assignedLocals(body: readonly Stmt[]): Set<Local> {
  const found = new Set<Local>();
  eachStmt(body, (s) => {
    const by = assignedBy(s);
    if (by) found.add(by);
  });
  return found;
}

/** The locals that a loop's body hands from one iteration to the next, or combines over all of them. */
export function carriedLocals(loop: For): Local[] {
  const found = loop.reductions.map((r) => r.local);
  for (const s of loop.body) if (s.kind === "recur") found.push(s.local);
  return found;
}

/** In how many places a function gives each local a value: parameters, loop indices and reductions included. */
export function assignmentCounts(f: Func): Map<Local, number> {
  const count = new Map<Local, number>();
  const note = (l: Local): void => void count.set(l, (count.get(l) ?? 0) + 1);
  f.params.forEach(note);
  eachStmt(f.body, (s) => {
    const by = assignedBy(s);
    if (by) note(by);
    if (s.kind === "for") for (const r of s.reductions) note(r.local);
  });
  return count;
}

/** The buffers of functions that were asked for before: every caller asks again. */
const buffersOf = new WeakMap<Func, ReadonlySet<Buffer>>();
function buffersIn(f: Func): ReadonlySet<Buffer> {
  let found = buffersOf.get(f);
  if (!found) {
    found = usedBuffers(f.body);
    buffersOf.set(f, found);
  }
  return found;
}

/** The buffers that statements touch, in order of first use; what called functions have of their own included. */
export function usedBuffers(body: readonly Stmt[]): Set<Buffer> {
  const found = new Set<Buffer>();
  const note = (x: Expr): void => {
    if (x.kind === "load" || x.kind === "length") found.add(x.buffer);
  };
  eachStmt(body, (s) => {
    eachStmtExpr(s, (e) => eachExpr(e, note));
    if (s.kind === "store" || s.kind === "pack") found.add(s.buffer);
    if (s.kind === "call") for (const b of s.buffers) found.add(b);
    // Launched functions see the caller's buffers under the same identities.
    if (s.kind === "launch" || s.kind === "call")
      for (const b of buffersIn(s.func)) if (s.kind === "launch" || b.space !== "param") found.add(b);
  });
  return found;
}

/** Local buffers that statements store to. */
export function filledLocals(body: readonly Stmt[]): Set<Buffer> {
  const found = new Set<Buffer>();
  eachStmt(body, (s) => {
    if ((s.kind === "store" || s.kind === "pack") && s.buffer.space === "local") found.add(s.buffer);
  });
  return found;
}

/** The functions of a module, callees before callers, the entry last; with whether each runs others. */
export function callersOf(module: Module): Map<Func, boolean> {
  const found = new Map<Func, boolean>();
  const visit = (f: Func): void => {
    if (found.has(f)) return;
    let calls = false;
    eachStmt(f.body, (s) => {
      if (s.kind !== "call" && s.kind !== "launch") return;
      calls = true;
      visit(s.func);
    });
    found.set(f, calls);
  };
  visit(module.entry);
  return found;
}
export const functionsOf = (module: Module): Func[] => [...callersOf(module).keys()];

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
export function structuralKey(e: Expr, version?: (l: Local) => number): string {
  if (e.kind === "const") return `${e.dtype}:${Object.is(e.value, -0) ? "-0" : e.value}`;
  if (e.kind === "get") return `$${identityOf(e.local)}.${version?.(e.local) ?? 0}`;
  // Put together piece by piece: keys are made by the thousand, and lists of their parts would cost more than they do.
  let key = `${e.kind} ${ownKey(e)} ${e.lanes}(`;
  for (const x of operands(e)) key += `${structuralKey(x, version)},`;
  return `${key})`;
}

/** What tells an expression from others with the same operands. */
function ownKey(e: Exclude<Expr, Const | Get>): string | number {
  if (e.kind === "length" || e.kind === "load") return identityOf(e.buffer);
  if (e.kind === "shuffle") return e.order.join(".");
  if (e.kind === "lane") return e.at;
  return "op" in e ? e.op : e.dtype;
}
