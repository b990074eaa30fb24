/**
 * @file The reductions pass: parallel loops that reduce become a parallel loop over shards.
 *
 * Each shard runs a `partial` loop and leaves its totals in a small temp buffer; a serial loop then combines the
 * shards from first to last. Shards depend on the iteration count alone, so threads may take them in any order. Inside of
 * another parallel loop shards run one after the other, and totals are the iteration's own.
 * `lowerPartials` turns what is left of `partial` loops into scalar code, for targets without vectors.
 */
import {
  add,
  assign,
  Builder,
  binary,
  buffer,
  constant,
  convert,
  get,
  i32,
  lengthOf,
  load,
  local,
  select,
  store,
  sub,
} from "../build.ts";
import type { Buffer, Expr, For, Label, Local, Module, Reduction, Stmt } from "../nodes.ts";
import { reduceIdentity, shardCountOf, shardLengthOf } from "../reduce.ts";
import { type DType, MAX_SHARDS, REDUCE_PARTIALS, STORED_TYPE } from "../types.ts";
import { mapExprsIn, mapStmts, stmtBodies } from "../walk.ts";
import { rewriteFunctions } from "./rewrite.ts";

/** A bool is an i32 in memory. */
export const toMemory = (value: Expr): Expr => (value.dtype === "bool" ? convert("i32", value) : value);
export const fromMemory = (dtype: DType, value: Expr): Expr =>
  dtype === "bool" ? binary("ne", value, constant("i32", 0, value.lanes)) : value;

export const identityOf = (r: Reduction, lanes = 1): Expr =>
  constant(r.local.dtype, reduceIdentity(r.op, r.local.dtype), lanes);

function shardLoop(s: For, isInner: boolean): Stmt[] {
  const b = new Builder();
  const n = b.let("n", binary("max", sub(s.end, s.begin), i32(0)));
  const count = b.let("shards", shardCountOf(n));
  const length = b.let("shardLength", shardLengthOf(n, count));
  const begin = b.let("begin", s.begin);
  const totals = s.reductions.map((r) =>
    buffer(`${r.local.name}.totals`, STORED_TYPE[r.local.dtype], isInner ? "local" : "temp", MAX_SHARDS),
  );
  b.for("shard", { begin: i32(0), end: count, axis: isInner ? "serial" : "parallel" }, (shard) => {
    const first = b.let("first", binary("mul", shard, length));
    const last = b.let("last", binary("min", n, add(first, length)));
    // Private copies of the reduced locals, so that the loop's body, as a function of its own, has its own.
    const own = s.reductions.map((r) => local(`${r.local.name}.shard`, r.local.dtype));
    b.emit({
      ...s,
      axis: "partial",
      begin: add(begin, first),
      end: add(begin, last),
      reductions: s.reductions.map((r, k) => ({ op: r.op, local: own[k] as Local })),
      body: renameLocals(s.body, new Map(s.reductions.map((r, k) => [r.local, own[k] as Local]))),
    });
    totals.forEach((t, k) => {
      b.store(t, shard, toMemory(get(own[k] as Local)));
    });
  });
  b.for("shard", { begin: i32(0), end: count }, (shard) => {
    s.reductions.forEach((r, k) => {
      const total = fromMemory(r.local.dtype, load(totals[k] as Buffer, shard));
      // Shards past the end are empty; combining their identity could still turn -0 into +0.
      const some = binary("lt", binary("mul", shard, length), n);
      b.assign(r.local, select(some, binary(r.op, get(r.local), total), get(r.local)));
    });
  });
  return b.statements;
}

/** Replaces locals by others of the same type, reads and writes alike. */
export function renameLocals(body: readonly Stmt[], to: ReadonlyMap<Local, Local>): readonly Stmt[] {
  const renamed = (l: Local): Local => to.get(l) ?? l;
  return mapStmts(
    mapExprsIn(body, (e) => (e.kind === "get" && to.has(e.local) ? get(renamed(e.local)) : e)),
    (s) => {
      if (s.kind === "assign") return to.has(s.local) ? assign(renamed(s.local), s.value) : s;
      if (s.kind === "recur") return to.has(s.local) ? { ...s, local: renamed(s.local) } : s;
      if (s.kind === "pack") return { ...s, found: renamed(s.found) };
      if (s.kind === "for")
        return {
          ...s,
          index: renamed(s.index),
          reductions: s.reductions.map((r) => ({ ...r, local: renamed(r.local) })),
        };
      return s;
    },
  );
}

/** The labels of loops that lie inside of parallel ones. */
function innerLoops(body: readonly Stmt[], inside = false, found = new Set<Label>()): Set<Label> {
  for (const s of body) {
    if (inside && s.kind === "for") found.add(s.label);
    const within = inside || (s.kind === "for" && s.axis === "parallel");
    for (const list of stmtBodies(s)) innerLoops(list, within, found);
  }
  return found;
}

export function shardReductions(module: Module): Module {
  return rewriteFunctions(module, (f) => {
    const inner = innerLoops(f.body);
    const body = mapStmts(f.body, (s) =>
      s.kind === "for" && s.axis === "parallel" && s.reductions.length ? shardLoop(s, inner.has(s.label)) : s,
    );
    return { ...f, body };
  });
}

/** The partials of a shard in memory: loaded, combined and stored around every iteration. */
export class PartialsInMemory {
  readonly #reductions: readonly Reduction[];
  readonly #buffers: readonly Buffer[];
  constructor(reductions: readonly Reduction[]) {
    this.#reductions = reductions;
    this.#buffers = reductions.map((r) =>
      buffer(`${r.local.name}.partials`, STORED_TYPE[r.local.dtype], "local", REDUCE_PARTIALS[r.local.dtype]),
    );
  }

  buffer(k: number): Buffer {
    return this.#buffers[k] as Buffer;
  }

  /** Sets all partials to the identity. */
  clear(b: Builder): void {
    this.#reductions.forEach((r, k) => {
      const p = this.buffer(k);
      b.for("lane", { begin: i32(0), end: lengthOf(p) }, (lane) => b.store(p, lane, toMemory(identityOf(r))));
    });
  }

  /** The scalar iterations begin..end, where iteration `first` is the first of its shard. */
  run(b: Builder, s: For, begin: Expr, end: Expr, first: Expr): void {
    const lane = (p: Buffer): Expr => binary("and", sub(get(s.index), first), i32((p.length as number) - 1));
    const fetch = this.#reductions.map((r, k) => {
      const p = this.buffer(k);
      return assign(r.local, fromMemory(r.local.dtype, load(p, lane(p))));
    });
    const keep = this.#reductions.map((r, k) => {
      const p = this.buffer(k);
      return store(p, lane(p), toMemory(get(r.local)));
    });
    b.emit({ ...s, axis: "serial", begin, end, reductions: [], body: [...fetch, ...s.body, ...keep] });
  }

  /** Combines by halving; the reduced locals end with the totals. */
  combine(b: Builder): void {
    this.#reductions.forEach((r, k) => {
      const p = this.buffer(k);
      const value = (index: Expr): Expr => fromMemory(r.local.dtype, load(p, index));
      for (let half = (p.length as number) / 2; half >= 1; half /= 2) {
        b.for("lane", { begin: i32(0), end: i32(half) }, (lane) => {
          b.store(p, lane, toMemory(binary(r.op, value(lane), value(add(lane, i32(half))))));
        });
      }
      b.assign(r.local, value(i32(0)));
    });
  }
}

function lowerPartial(s: For): Stmt[] {
  const b = new Builder();
  const first = b.let("first", s.begin);
  const partials = new PartialsInMemory(s.reductions);
  partials.clear(b);
  partials.run(b, s, first, s.end, first);
  partials.combine(b);
  return b.statements;
}

export function lowerPartials(module: Module): Module {
  return rewriteFunctions(module, (f) => ({
    ...f,
    body: mapStmts(f.body, (s) => (s.kind === "for" && s.axis === "partial" ? lowerPartial(s) : s)),
  }));
}
