/**
 * @file The bounds pass: after it every subscript is in range.
 *
 * A subscript that is proved in range stays as it is. For the others a loop gets a guard, computed once before it
 * starts: if all subscripts whose interval is known then stay inside their buffers, the loop runs as written;
 * otherwise, where that makes it certain that one of them would leave its buffer, only the fault is raised and the loop
 * does not run; and where it does not (subscripts under a condition), a second copy runs in which each of them is
 * checked: out of range raises a fault, a load reads element 0 and a store is left out. What no guard can cover
 * (subscripts that come from memory) is checked in both. The call turns a fault into an error.
 */
import { and, assign, binary, constant, convert, get, i32, lengthOf, load, local, not, select } from "../build.ts";
import type { Assign, Buffer, Expr, For, Func, If, Label, Load, Local, Module, Site, Stmt, Store } from "../nodes.ts";
import { placeOf } from "../places.ts";
import { printExpr } from "../print.ts";
import {
  assignedLocals,
  assignmentCounts,
  eachExpr,
  eachStmt,
  eachStmtExpr,
  structuralKey,
  withBodies,
  withExprs,
  withOperands,
} from "../walk.ts";
import { mayLeave } from "./exposed.ts";
import { allOf, type Interval, Intervals, type Knowledge } from "./intervals.ts";
import { renameLocals } from "./reductions.ts";
import { rewriteFunctions } from "./rewrite.ts";

type Access = Load | Store;

/** An access, and the loops around it from the outermost in; no loops are given for what may not be reached. */
type Reached = readonly [access: Access, loops: readonly For[] | undefined];

/** Loads and stores of a list of statements, nested ones included, added to a list. */
function accessesIn(body: readonly Stmt[], loops: readonly For[] | undefined, found: Reached[] = []): Reached[] {
  const note = (x: Expr): void => {
    if (x.kind === "load") found.push([x, loops]);
  };
  const noteAll = (e: Expr): void => eachExpr(e, note);
  for (const s of body) {
    eachStmtExpr(s, noteAll);
    if (s.kind === "store") found.push([s, loops]);
    if (s.kind === "if") accessesInArms(s, loops, found);
    else if (s.kind === "for" || s.kind === "loop" || s.kind === "block") {
      // A loop with a way out may end before it comes to its last iterations.
      const around = loops && s.kind === "for" && !s.body.some(mayLeave) ? [...loops, s] : undefined;
      accessesIn(s.body, around, found);
    }
  }
  return found;
}

/** What stands under a condition is reached perhaps; an element that both arms touch is reached in any case. */
function accessesInArms(s: If, loops: readonly For[] | undefined, found: Reached[]): void {
  const arms = [accessesIn(s.then, loops), accessesIn(s.else, loops)] as const;
  const both = loops && arms[0].length > 0 && arms[1].length > 0;
  const keys = both ? arms.map((arm) => new Set(arm.filter(([, l]) => l).map(([a]) => elementKey(a)))) : [];
  for (const [k, arm] of arms.entries())
    for (const [a, inner] of arm) found.push([a, inner && keys[1 - k]?.has(elementKey(a)) ? inner : undefined]);
}
const elementKey = (a: Access): string => structuralKey(a.kind === "load" ? a : load(a.buffer, a.index));

/** How each local of a function comes by its value: what the interval analysis may look through. */
class Definitions {
  readonly #count: ReadonlyMap<Local, number>;
  readonly #value = new Map<Local, Expr>();
  readonly #loops = new Map<Local, For>();
  constructor(f: Func) {
    this.#count = assignmentCounts(f);
    eachStmt(f.body, (s) => {
      if (s.kind === "assign") this.#value.set(s.local, s.value);
      if (s.kind === "for") this.#loops.set(s.index, s);
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
  /** The endless loop around, which a subscript out of range ends: nothing else might. */
  #endless: Label | undefined;
  /** Named in messages, where it is not the module's own. */
  readonly #function: string | undefined;
  constructor(f: Func, name: string | undefined, sites: Site[], siteOf: Map<Access, number>) {
    this.#function = name;
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
    const outer = this.#endless;
    if (s.kind === "loop") this.#endless = s.label;
    else if (s.kind === "for" && (s.axis === "parallel" || s.axis === "scan")) this.#endless = undefined;
    const result = withBodies(rewritten, (inner) => this.body(inner, safe, guards));
    this.#endless = outer;
    return [...before, result];
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
    if (this.#endless)
      before.push({ kind: "if", condition: not(get(fine)), then: [{ kind: "exit", label: this.#endless }], else: [] });
    return select(get(fine), get(subscript), i32(0));
  }

  #site(a: Access): number {
    let site = this.#siteOf.get(a);
    if (site === undefined) {
      const where = this.#function === undefined ? "" : `${this.#function}: `;
      const message = `${where}${a.buffer.name}[${printExpr(a.index)}] is out of range`;
      this.#sites.push({ reason: "bounds", message, place: placeOf(a) });
      site = this.#sites.length;
      this.#siteOf.set(a, site);
    }
    return site;
  }

  #loop(s: For, safe: ReadonlySet<Access>): Stmt[] {
    const intervals = new Intervals(this.#definitions.before(s));
    const always = new Set(safe);
    const guarded = new Map<Access, Guard>();
    const tests = new Map<string, Assign>();
    for (const [a, loops] of accessesIn(s.body, s.body.some(mayLeave) ? undefined : [s])) {
      if (safe.has(a)) continue;
      const interval = intervals.of(a.index);
      if (!interval) continue;
      const fits = inside(a, interval);
      if (isTrue(fits)) always.add(a);
      else if (fits.kind !== "const") {
        const key = structuralKey(fits);
        const test = tests.get(key) ?? assign(local("fits", "bool"), fits);
        tests.set(key, test);
        guarded.set(a, { fits: test.local, runs: certainly(interval, loops, intervals) });
      }
    }
    if (guarded.size === 0) return this.#stmt(s, always, true);
    const condition = allOf([...tests.values()].map((t) => get(t.local)));
    const then = this.#stmt(s, new Set([...always, ...guarded.keys()]), true);
    return [...tests.values(), { kind: "if", condition, then, else: this.#otherwise(s, always, guarded) }];
  }

  /** When a guard fails: faults alone, where it is certain that one would happen; otherwise the loop with checks. */
  #otherwise(s: For, always: ReadonlySet<Access>, guarded: ReadonlyMap<Access, Guard>): Stmt[] {
    // Of accesses with the same test the first one names the place.
    const faults = new Map<Local, Stmt>();
    for (const [a, { fits, runs }] of guarded) {
      if (!runs) return withOwnLocals(s, this.#stmt(s, always, false));
      if (faults.has(fits)) continue;
      faults.set(fits, { kind: "fault", condition: and(runs, not(get(fits))), site: this.#site(a) });
    }
    return [...faults.values()];
  }
}

/** A second copy of a parallel loop, whose iterations' locals are not those of the first: each has one assignment. */
function withOwnLocals(s: For, copy: Stmt[]): Stmt[] {
  if (s.axis !== "parallel") return copy;
  const reduced = new Set(s.reductions.map((r) => r.local));
  const own = [s.index, ...assignedLocals(s.body)].filter((l) => !reduced.has(l));
  return [...renameLocals(copy, new Map(own.map((l) => [l, local(l.name, l.dtype)])))];
}

/** What is tested of an access before a loop: that it fits its buffer, and whether the loop is sure to make it. */
interface Guard {
  readonly fits: Local;
  readonly runs: Expr | undefined;
}

/** That an access is made at both ends of its interval, given the loops around it; undefined when not known. */
function certainly(interval: Interval, loops: readonly For[] | undefined, intervals: Intervals): Expr | undefined {
  if (!interval.over || !loops) return undefined;
  const runs = loops.map((loop) => intervals.runs(loop));
  return runs.includes(undefined) ? undefined : allOf(runs as Expr[]);
}

const isTrue = (e: Expr): boolean => e.kind === "const" && e.value !== 0;

function unconditional(f: Func): Set<Access> {
  const found = new Set<Access>();
  for (const [access, loops] of accessesIn(f.body, [])) if (loops) found.add(access);
  return found;
}

/** That an interval lies inside an access's buffer. */
function inside(a: Access, interval: { low: Expr; high: Expr; conditions: readonly Expr[] }): Expr {
  const length = convert("f64", lengthOf(a.buffer));
  const low = binary("ge", interval.low, constant("f64", 0));
  if (isBelowLength(interval.high, a.buffer)) return allOf([...interval.conditions, low]);
  return allOf([...interval.conditions, low, binary("lt", interval.high, length)]);
}

/** Whether a bound is the buffer's length less something: where loops over a buffer end. */
function isBelowLength(bound: Expr, buffer: Buffer): boolean {
  if (bound.kind !== "binary" || bound.op !== "sub" || bound.b.kind !== "const" || bound.b.value < 1) return false;
  return bound.a.kind === "convert" && bound.a.x.kind === "length" && bound.a.x.buffer === buffer;
}

/** Rebuilds the loads of an expression, innermost first, handing over the original node too. */
function mapLoads(e: Expr, f: (x: Load, original: Load) => Load): Expr {
  const inner = withOperands(e, (x) => mapLoads(x, f));
  return e.kind === "load" ? f(inner as Load, e) : inner;
}

/**
 * Makes every subscript of a module safe; the module's sites say what each fault number means. With `unchecked` only
 * those under a condition are: vector code reads for lanes that are off, too.
 */
export function checkBounds(module: Module, unchecked: boolean): Module {
  const sites = [...module.sites];
  const siteOf = new Map<Access, number>();
  const checked = rewriteFunctions(module, (f) => {
    const name = f.name === module.entry.name ? undefined : f.name;
    const pass = new BoundsPass(f, name, sites, siteOf);
    return { ...f, body: pass.body(f.body, unchecked ? unconditional(f) : new Set(), true) };
  });
  return { ...checked, sites };
}
