/**
 * @file When a program's temporary buffers hold something, so that those that do not at the same time can share memory.
 *
 * Statements are numbered in the order in which they stand, loops' bodies inside of them. Once around a loop, a buffer
 * that is wholly written before anything of it is read holds nothing at the loop's beginning and end: it lives from
 * its first to its last statement inside. Every other buffer that a loop touches lives for all of the loop. Whether a
 * buffer is wholly written is seen in the module as the front end wrote it, where subscripts are sums of products;
 * what is not plain there counts as not written.
 */
import type { Buffer, Expr, For, Label, Local, Module, Stmt } from "../ir/nodes.ts";
import { assignmentCounts, eachExpr, eachStmtExpr, stmtBodies, usedBuffers } from "../ir/walk.ts";

/** First and last statement that touch a buffer, or the loops in which it lives. */
export interface Lifetime {
  readonly buffer: Buffer;
  readonly first: number;
  readonly last: number;
}

/** Elements of a buffer up to which it is looked at one by one. */
const MOST_ELEMENTS = 1 << 22;

// What is written before it is read

/** A subscript as a sum of products with loop indices. */
interface Affine {
  readonly start: number;
  readonly terms: ReadonlyMap<Local, number>;
}
const plain = (start: number): Affine => ({ start, terms: new Map() });
function sum(a: Affine, b: Affine, sign: number): Affine {
  const terms = new Map(a.terms);
  for (const [local, factor] of b.terms) terms.set(local, (terms.get(local) ?? 0) + sign * factor);
  return { start: a.start + sign * b.start, terms };
}
function scaled(a: Affine, factor: number): Affine {
  return { start: a.start * factor, terms: new Map([...a.terms].map(([l, k]) => [l, k * factor])) };
}

/** Reads subscripts; `values` are locals that are assigned once. */
class Subscripts {
  readonly #values: ReadonlyMap<Local, Expr>;
  readonly #known = new Map<Local, Affine | undefined>();

  constructor(values: ReadonlyMap<Local, Expr>) {
    this.#values = values;
  }
  read(e: Expr): Affine | undefined {
    switch (e.kind) {
      case "const":
        return plain(e.value);
      case "get":
        return this.#local(e.local);
      case "binary": {
        const a = this.read(e.a);
        const b = a && this.read(e.b);
        if (!a || !b) return undefined;
        if (e.op === "add") return sum(a, b, 1);
        if (e.op === "sub") return sum(a, b, -1);
        if (e.op !== "mul") return undefined;
        return b.terms.size === 0 ? scaled(a, b.start) : a.terms.size === 0 ? scaled(b, a.start) : undefined;
      }
      default:
        return undefined;
    }
  }
  #local(local: Local): Affine | undefined {
    const value = this.#values.get(local);
    if (!value) return { start: 0, terms: new Map([[local, 1]]) };
    if (!this.#known.has(local)) this.#known.set(local, this.read(value));
    return this.#known.get(local);
  }
}

interface Range {
  readonly begin: number;
  readonly end: number;
}
/** The elements of one buffer that have been written in this iteration. */
class Coverage {
  readonly #seen: Uint8Array;
  #left: number;

  constructor(length: number) {
    this.#seen = new Uint8Array(length);
    this.#left = length;
  }
  get isWhole(): boolean {
    return this.#left === 0;
  }
  add({ start, terms }: Affine, ranges: ReadonlyMap<Local, Range>): void {
    const moving = [...terms].filter(([, factor]) => factor !== 0);
    if (!moving.every(([local]) => ranges.has(local))) return;
    const visit = (k: number, at: number): void => {
      const term = moving[k];
      if (!term) {
        if (this.#seen[at] === 0) this.#left--;
        if (at >= 0 && at < this.#seen.length) this.#seen[at] = 1;
        return;
      }
      const { begin, end } = ranges.get(term[0]) as Range;
      for (let i = begin; i < end; i++) visit(k + 1, at + term[1] * i);
    };
    visit(0, start);
  }
}

/** The single values of locals that are assigned once. */
function singleValues(module: Module): ReadonlyMap<Local, Expr> {
  const counts = assignmentCounts(module.entry);
  const values = new Map<Local, Expr>();
  const visit = (body: readonly Stmt[]): void => {
    for (const s of body) {
      if (s.kind === "assign" && counts.get(s.local) === 1) values.set(s.local, s.value);
      for (const inner of stmtBodies(s)) visit(inner);
    }
  };
  visit(module.entry.body);
  return values;
}

/** Whether each iteration of a loop writes all of a buffer before it reads any of it. */
function writesFirst(loop: For, b: Buffer, subscripts: Subscripts): boolean {
  const length = b.length as number;
  if (length > MOST_ELEMENTS) return false;
  const coverage = new Coverage(length);
  const ranges = new Map<Local, Range>();
  let read = false;
  const visit = (body: readonly Stmt[]): void => {
    for (const s of body) {
      if (read || coverage.isWhole) return;
      eachStmtExpr(s, (e) => {
        eachExpr(e, (x) => {
          if (x.kind === "load" && x.buffer === b) read = true;
        });
      });
      if (s.kind === "store" && s.buffer === b && !read && !s.mask) {
        const at = subscripts.read(s.index);
        if (at) coverage.add(at, ranges);
      } else if (s.kind === "for") nested(s);
      else if (s.kind !== "assign" && s.kind !== "store" && usedBuffers([s]).has(b)) read = true;
    }
  };
  // A loop inside writes all of its stores before what comes behind it, and may read in its second iteration what it
  // wrote in the first: its loads count as reads, unless all was written before it.
  const nested = (s: For): void => {
    if (!usedBuffers([s]).has(b)) return;
    const [begin, end] = [subscripts.read(s.begin), subscripts.read(s.end)];
    const fixed = begin?.terms.size === 0 && end?.terms.size === 0 && s.step === 1;
    if (fixed) ranges.set(s.index, { begin: begin.start, end: end.start });
    if (fixed && loadsOf(s.body, b)) read = true;
    else if (fixed) visit(s.body);
    else read = true;
  };
  visit(loop.body);
  return coverage.isWhole && !read;
}
function loadsOf(body: readonly Stmt[], b: Buffer): boolean {
  let found = false;
  const visit = (list: readonly Stmt[]): void => {
    for (const s of list) {
      eachStmtExpr(s, (e) => {
        eachExpr(e, (x) => {
          if (x.kind === "load" && x.buffer === b) found = true;
        });
      });
      for (const inner of stmtBodies(s)) visit(inner);
    }
  };
  visit(body);
  return found;
}

/** The temps that iterations of a loop do not hand on, with the label of the innermost such loop. */
export function freshInLoops(module: Module): ReadonlyMap<Buffer, Label> {
  const fresh = new Map<Buffer, Label>();
  let subscripts: Subscripts | undefined;
  for (const [b, touches] of touchesOf(module)) {
    const [first, ...others] = touches.map(({ regions }) => regions);
    const common = (first ?? []).filter((r, depth) => others.every((regions) => regions[depth] === r));
    for (const { loop } of common.reverse()) {
      if (loop.axis !== "serial") continue;
      subscripts ??= new Subscripts(singleValues(module));
      if (!writesFirst(loop, b, subscripts)) continue;
      fresh.set(b, loop.label);
      break;
    }
  }
  return fresh;
}

// Lifetimes

interface Region {
  readonly loop: For;
  readonly first: number;
  last: number;
}
interface Touch {
  readonly at: number;
  /** The loops around it, from the outermost in. */
  readonly regions: readonly Region[];
}

/** Where each temp of a module is touched; loops are regions, anything else is one statement. */
function touchesOf(module: Module): ReadonlyMap<Buffer, Touch[]> {
  const touches = new Map<Buffer, Touch[]>();
  let at = 0;
  const visit = (body: readonly Stmt[], regions: readonly Region[]): void => {
    for (const s of body) {
      if (s.kind === "for") {
        const region: Region = { loop: s, first: at, last: at };
        for (const e of [s.begin, s.end]) note(usedInExpr(e), at, regions);
        visit(s.body, [...regions, region]);
        region.last = at++;
      } else note(usedBuffers([s]), at++, regions);
    }
  };
  const note = (buffers: Iterable<Buffer>, position: number, regions: readonly Region[]): void => {
    for (const b of buffers) {
      if (b.space !== "temp") continue;
      const list = touches.get(b) ?? [];
      list.push({ at: position, regions });
      touches.set(b, list);
    }
  };
  visit(module.entry.body, []);
  return touches;
}
function usedInExpr(e: Expr): Set<Buffer> {
  const found = new Set<Buffer>();
  eachExpr(e, (x) => {
    if (x.kind === "load") found.add(x.buffer);
  });
  return found;
}

/** When each temp of a lowered module is live; `fresh` are those that iterations of a loop do not hand on. */
export function lifetimes(module: Module, fresh: ReadonlyMap<Buffer, Label> = new Map()): Lifetime[] {
  return [...touchesOf(module)].map(([buffer, touches]) => {
    const label = fresh.get(buffer);
    // The loop must be around all touches; otherwise the buffer lives outside of loops.
    const depths = touches.map(({ regions }) => regions.findIndex(({ loop }) => loop.label === label));
    const level = depths.every((d) => d >= 0 && d === depths[0]) ? (depths[0] as number) + 1 : 0;
    const spans = touches.map(({ at, regions }) => regions[level] ?? { first: at, last: at });
    return {
      buffer,
      first: Math.min(...spans.map((s) => s.first)),
      last: Math.max(...spans.map((s) => s.last)),
    };
  });
}

/** Whether two buffers hold something at the same time. */
export const liveTogether = (a: Lifetime, b: Lifetime): boolean => a.first <= b.last && b.first <= a.last;
