/**
 * @file What the emitter must know of a function before it writes a line, gathered in one walk.
 *
 * Positions are counted in program order. A local is `confined` when every read lies below one assignment (or inside
 * one loop whose index it is) and no two such regions overlap: it can then be declared there as a C constant, which
 * reads better than a variable of the whole function and leaves the compiler less to find out.
 */
import type { Assign, Buffer, Expr, Func, Local, Stmt } from "../../ir/nodes.ts";
import { assignedBy, eachExpr, eachStmtExpr, stmtBodies } from "../../ir/walk.ts";

/** Where a value assigned at `begin` is visible: its block, up to `end`. */
interface Region {
  readonly begin: number;
  readonly end: number;
}

export class Facts {
  /** Buffers that the function's own statements touch. */
  readonly buffers = new Set<Buffer>();
  readonly callees: Func[] = [];
  readonly launched: Func[] = [];
  /** Assignments of bool vectors, whose mask width is to be settled. */
  readonly masks: Assign[] = [];
  /** Numbers of lanes that some f64 value has, except behind "does any lane need this". */
  readonly wide = new Set<number>();
  loops = false;
  /** Lanes of the widest vector, 1 for scalar code. */
  lanes = 1;

  readonly #regions = new Map<Local, Region[]>();
  readonly #reads = new Map<Local, number[]>();
  readonly #confined = new Map<Local, boolean>();
  #position = 0;
  #at = 0;
  #usual = true;

  constructor(f: Func) {
    this.#body(f.body, true);
    for (const p of f.params) this.#confined.set(p, false);
  }

  /** Whether a local may be declared where it is assigned. */
  isConfined(l: Local): boolean {
    let known = this.#confined.get(l);
    if (known === undefined) {
      known = confined(this.#regions.get(l) ?? [], this.#reads.get(l) ?? []);
      this.#confined.set(l, known);
    }
    return known;
  }

  /** In how many places a local is read or assigned. */
  uses(l: Local): number {
    return (this.#reads.get(l)?.length ?? 0) + (this.#regions.get(l)?.length ?? 0);
  }

  #body(body: readonly Stmt[], usual: boolean): void {
    const pending: { local: Local; begin: number }[] = [];
    for (const s of body) {
      const at = this.#position++;
      this.#at = at;
      this.#usual = usual;
      eachStmtExpr(s, (e) => eachExpr(e, this.#note));
      this.#stmt(s, usual);
      const often = usual && !(s.kind === "if" && s.condition.kind === "any");
      for (const inner of stmtBodies(s)) this.#body(inner, often);
      if (s.kind === "for") this.#region(s.index, at, this.#position - 1);
      const assigned = s.kind === "for" ? undefined : assignedBy(s);
      if (assigned) pending.push({ local: assigned, begin: at });
    }
    for (const { local, begin } of pending) this.#region(local, begin, this.#position - 1);
  }

  #region(l: Local, begin: number, end: number): void {
    const list = this.#regions.get(l);
    if (list) list.push({ begin, end });
    else this.#regions.set(l, [{ begin, end }]);
  }

  #stmt(s: Stmt, usual: boolean): void {
    switch (s.kind) {
      case "assign":
        if (s.local.lanes > 1 && s.local.dtype === "bool") this.masks.push(s);
        if (usual && s.local.dtype === "f64") this.wide.add(s.local.lanes);
        return;
      case "store":
      case "pack":
        this.buffers.add(s.buffer);
        return;
      case "for":
      case "loop":
        this.loops = true;
        return;
      case "call":
        for (const b of s.buffers) this.buffers.add(b);
        this.callees.push(s.func);
        return;
      case "launch":
        this.callees.push(s.func);
        this.launched.push(s.func);
        return;
      case "if":
      case "block":
      case "exit":
      case "fault":
      case "recur":
        return;
      default:
        s satisfies never;
    }
  }

  /** Notes one expression node of the statement at #at. */
  readonly #note = (e: Expr): void => {
    if (e.lanes > this.lanes) this.lanes = e.lanes;
    if (e.dtype === "f64" && this.#usual) this.wide.add(e.lanes);
    if (e.kind === "get") {
      const list = this.#reads.get(e.local);
      if (list) list.push(this.#at);
      else this.#reads.set(e.local, [this.#at]);
    } else if (e.kind === "load" || e.kind === "length") {
      this.buffers.add(e.buffer);
    }
  };
}

/** Every read lies in exactly one region, and regions do not overlap. */
function confined(regions: readonly Region[], reads: readonly number[]): boolean {
  const inside = (r: Region, at: number): boolean => at > r.begin && at <= r.end;
  const [only] = regions;
  if (only === undefined) return reads.length === 0;
  if (regions.length === 1) return reads.every((at) => inside(only, at));
  const sorted = [...regions].sort((a, b) => a.begin - b.begin);
  const apart = sorted.every((r, k) => k === 0 || r.begin > (sorted[k - 1] as Region).end);
  return apart && reads.every((at) => sorted.some((r) => inside(r, at)));
}

const known = new WeakMap<Func, Facts>();

export function factsOf(f: Func): Facts {
  let facts = known.get(f);
  if (!facts) {
    facts = new Facts(f);
    known.set(f, facts);
  }
  return facts;
}
