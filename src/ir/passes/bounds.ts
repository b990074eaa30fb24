/**
 * @file The bounds pass: after it every subscript is in range.
 *
 * A subscript that is proved in range stays as it is. For the others a loop gets a guard, computed once before it
 * starts: if all subscripts whose interval is known then stay inside their buffers, the loop runs as written;
 * otherwise a second copy runs, where each of them is checked: out of range raises a fault, a load
 * reads element 0 and a store is left out. What
 * no guard can cover (subscripts that come from memory) is checked in both. The call turns a fault into an error.
 */
import { assign, binary, constant, convert, get, i32, lengthOf, local, not, select } from "../build.ts";
import type { Expr, For, Func, Load, Local, Module, Site, Stmt, Store } from "../nodes.ts";
import { placeOf } from "../places.ts";
import { printExpr } from "../print.ts";
import {
  assignedLocals,
  eachExpr,
  eachStmt,
  stmtBodies,
  stmtExprs,
  withBodies,
  withExprs,
  withOperands,
} from "../walk.ts";
import { allOf, Intervals, type Knowledge } from "./intervals.ts";
import { rewriteFunctions } from "./rewrite.ts";

type Access = Load | Store;

/** Loads and stores of a list of statements, nested ones included; `always` is false under a condition. */
function* accessesIn(body: readonly Stmt[], always = true): Generator<{ access: Access; always: boolean }> {
  for (const s of body) {
    const loads: Load[] = [];
    for (const e of stmtExprs(s)) eachExpr(e, (x) => x.kind === "load" && loads.push(x));
    for (const access of loads) yield { access, always };
    if (s.kind === "store") yield { access: s, always };
    const unconditional = always && s.kind === "for";
    for (const inner of stmtBodies(s)) yield* accessesIn(inner, unconditional);
  }
}

/** How each local of a function comes by its value: what the interval analysis may look through. */
class Definitions {
  readonly #count = new Map<Local, number>();
  readonly #value = new Map<Local, Expr>();
  readonly #loops = new Map<Local, For>();
  constructor(f: Func) {
    for (const p of f.params) this.#count.set(p, 1);
    eachStmt(f.body, (s) => {
      if (s.kind === "assign") {
        this.#count.set(s.local, (this.#count.get(s.local) ?? 0) + 1);
        this.#value.set(s.local, s.value);
      }
      if (s.kind === "for") {
        this.#loops.set(s.index, s);
        for (const r of s.reductions) this.#count.set(r.local, 2);
      }
    });
  }

  /** Knowledge for a guard that stands before `loop`. */
  before(loop: For): (l: Local) => Knowledge {
    const inside = assignedLocals(loop.body);
    return (l) => {
      if (l === loop.index) return { kind: "index", loop };
      const nested = this.#loops.get(l);
      if (nested && inside.has(l)) return { kind: "index", loop: nested };
      if (!inside.has(l)) return { kind: "invariant" };
      const value = this.#count.get(l) === 1 ? this.#value.get(l) : undefined;
      return value ? { kind: "alias", value } : { kind: "unknown" };
    };
  }
}

class BoundsPass {
  readonly #definitions: Definitions;
  readonly #sites: Site[];
  readonly #siteOf: Map<Access, number>;
  constructor(f: Func, sites: Site[], siteOf: Map<Access, number>) {
    this.#definitions = new Definitions(f);
    this.#sites = sites;
    this.#siteOf = siteOf;
  }

  /** Rewrites statements; `safe` are the accesses known to be in range here. */
  body(body: readonly Stmt[], safe: ReadonlySet<Access>, guards: boolean): Stmt[] {
    return body.flatMap((s) => (s.kind === "for" && guards ? this.#loop(s, safe) : this.#stmt(s, safe, guards)));
  }

  #stmt(s: Stmt, safe: ReadonlySet<Access>, guards: boolean): Stmt[] {
    const before: Stmt[] = [];
    const rewritten = withExprs(s, (e) => mapLoads(e, (x, original) => this.#load(x, original, safe, before)));
    if (s.kind === "store" && rewritten.kind === "store" && !this.#proved(s, safe))
      return [...before, ...this.#store(s, rewritten)];
    return [...before, withBodies(rewritten, (inner) => this.body(inner, safe, guards))];
  }

  /** A store out of range is left out. */
  #store(original: Store, s: Store): Stmt[] {
    const before: Stmt[] = [];
    const index = this.#checked(original, s.index, before);
    if (index.kind !== "select") return [...before, { ...s, index }];
    return [...before, { kind: "if", condition: index.condition, then: [{ ...s, index }], else: [] }];
  }

  #load(x: Load, original: Load, safe: ReadonlySet<Access>, before: Stmt[]): Load {
    return this.#proved(original, safe) ? x : { ...x, index: this.#checked(original, x.index, before) };
  }

  /** Whether a subscript is in range whatever happens. */
  #proved(a: Access, safe: ReadonlySet<Access>): boolean {
    if (safe.has(a)) return true;
    const interval = new Intervals(() => ({ kind: "unknown" })).of(a.index);
    return interval !== undefined && isTrue(inside(a, interval));
  }

  #checked(a: Access, index: Expr, before: Stmt[]): Expr {
    const subscript = local("at", "i32");
    const fine = local("inRange", "bool");
    const length = convert("u32", lengthOf(a.buffer));
    before.push(assign(subscript, index), assign(fine, binary("lt", convert("u32", get(subscript)), length)), {
      kind: "fault",
      condition: not(get(fine)),
      site: this.#site(a),
    });
    return select(get(fine), get(subscript), i32(0));
  }

  #site(a: Access): number {
    let site = this.#siteOf.get(a);
    if (site === undefined) {
      const message = `${a.buffer.name}[${printExpr(a.index)}] is out of range`;
      this.#sites.push({ reason: "bounds", message, place: placeOf(a) });
      site = this.#sites.length;
      this.#siteOf.set(a, site);
    }
    return site;
  }

  #loop(s: For, safe: ReadonlySet<Access>): Stmt[] {
    const intervals = new Intervals(this.#definitions.before(s));
    const always = new Set(safe);
    const guarded = new Set<Access>();
    const conditions: Expr[] = [];
    let certain = true;
    for (const { access: a, always: unconditional } of accessesIn(s.body)) {
      if (safe.has(a)) continue;
      const interval = intervals.of(a.index);
      if (!interval) continue;
      const condition = inside(a, interval);
      if (isTrue(condition)) always.add(a);
      else if (condition.kind !== "const") {
        guarded.add(a);
        conditions.push(condition);
        certain &&= unconditional;
      }
    }
    if (guarded.size === 0) return this.#stmt(s, always, true);
    const guard = local("guard", "bool");
    return [
      assign(guard, allOf(conditions.flatMap(conjuncts))),
      {
        kind: "if",
        condition: get(guard),
        then: this.#stmt(s, new Set([...always, ...guarded]), true),
        else: this.#stmt(certain ? inOrder(s) : s, always, false),
      },
    ];
  }
}

/** The copy that runs only to report a certain fault need not be fast: it is kept small. */
const inOrder = (s: For): For => (s.axis === "parallel" && s.reductions.length === 0 ? { ...s, axis: "serial" } : s);

const isTrue = (e: Expr): boolean => e.kind === "const" && e.value !== 0;

/** The terms of a conjunction. */
function conjuncts(e: Expr): Expr[] {
  return e.kind === "binary" && e.op === "and" && e.dtype === "bool" ? [...conjuncts(e.a), ...conjuncts(e.b)] : [e];
}

/** That an interval lies inside an access's buffer. */
function inside(a: Access, interval: { low: Expr; high: Expr; conditions: readonly Expr[] }): Expr {
  const length = convert("f64", lengthOf(a.buffer));
  const low = binary("ge", interval.low, constant("f64", 0));
  const high = binary("lt", interval.high, length);
  return allOf([...interval.conditions, low, high]);
}

/** Rebuilds the loads of an expression, innermost first, handing over the original node too. */
function mapLoads(e: Expr, f: (x: Load, original: Load) => Load): Expr {
  const inner = withOperands(e, (x) => mapLoads(x, f));
  return e.kind === "load" ? f(inner as Load, e) : inner;
}

/** Makes every subscript of a module safe; the module's sites say what each fault number means. */
export function checkBounds(module: Module): Module {
  const sites = [...module.sites];
  const siteOf = new Map<Access, number>();
  const checked = rewriteFunctions(module, (f) => ({
    ...f,
    body: new BoundsPass(f, sites, siteOf).body(f.body, new Set(), true),
  }));
  return { ...checked, sites };
}
