/**
 * @file The scans pass: loops that carry x = b + a * x become blocks of iterations, as SCAN_BLOCK defines them.
 *
 * As scalar code a block's iterations are written one after the other. As vector code eight neighbours are a vector, and
 * the runs of a block, or of four, are solved side by side (recurrences.ts). Lanes run against the iterations where
 * subscripts count down, so that loads and stores are contiguous in both directions.
 */
import { add, assign, Builder, binary, buffer, get, i32, local, sub } from "../build.ts";
import type { Assign, Buffer, Expr, For, Local, Module, Recur, Stmt } from "../nodes.ts";
import { SCAN_BLOCK, SCAN_RUN } from "../types.ts";
import { assignedLocals, eachExpr, eachStmt, filledLocals, mapExprsIn, mapStmts } from "../walk.ts";
import { costOf } from "./cost.ts";
import { mayThread, readsArraysAround, sharedAccesses } from "./dependence.ts";
import { exposedReads } from "./exposed.ts";
import { LaneCode, LaneFacts, NotVectorisable } from "./lanes.ts";
import {
  after,
  both,
  type FourOf,
  type LinearMap,
  type Prepared,
  PreparedLocals,
  prefixes,
  prepare,
  SORTINGS,
  type Sorting,
  type Stride,
  solve,
} from "./recurrences.ts";
import { renameLocals } from "./reductions.ts";
import { rewriteFunctions } from "./rewrite.ts";
import { wholeSteps } from "./vectorise.ts";

/** Operations of a body up to which its vector code is written twice, to begin the next blocks before these end. */
const PIPELINE_COST = 100;
/** Vectors from which on four blocks are taken at a time. */
const WIDE_BYTES = 32;

/** A stretch of a body, and the recurrence behind it. */
interface Segment {
  readonly statements: readonly Stmt[];
  readonly recur: Recur | undefined;
}
function segmentsOf(body: readonly Stmt[]): Segment[] {
  const found: Segment[] = [];
  let begin = 0;
  body.forEach((s, k) => {
    if (s.kind !== "recur") return;
    found.push({ statements: body.slice(begin, k), recur: s });
    begin = k + 1;
  });
  return [...found, { statements: body.slice(begin), recur: undefined }];
}

// Scalar code

function renameBuffers(body: readonly Stmt[], to: ReadonlyMap<Buffer, Buffer>): readonly Stmt[] {
  if (to.size === 0) return body;
  const place = (b: Buffer): Buffer => to.get(b) ?? b;
  return mapStmts(
    mapExprsIn(body, (e) => (e.kind === "load" ? { ...e, buffer: place(e.buffer) } : e)),
    (s) => (s.kind === "store" ? { ...s, buffer: place(s.buffer) } : s),
  );
}

/** The body of one iteration of several that are written side by side: with an index and locals of its own. */
function copyOf(b: Builder, s: For, index: Expr): { body: readonly Stmt[]; index: Local } {
  const own = new Map<Local, Local>();
  for (const l of [s.index, ...assignedLocals(s.body)]) own.set(l, b.local(l.name, l.dtype));
  const at = own.get(s.index) as Local;
  b.assign(at, index);
  return { body: renameLocals(s.body, own), index: at };
}

/** The iterations index .. index + 7, in the order of the definition. */
function scalarBlock(b: Builder, s: For): void {
  const copies = Array.from({ length: SCAN_BLOCK }, (_, k) => {
    const { body } = copyOf(b, s, add(get(s.index), i32(k)));
    const buffers = [...filledLocals(body)].map((x): [Buffer, Buffer] => [
      x,
      buffer(x.name, x.storage, "local", x.length),
    ]);
    return segmentsOf(renameBuffers(body, new Map(buffers)));
  });
  segmentsOf(s.body).forEach(({ recur }, n) => {
    const here = copies.map((segments) => segments[n] as Segment);
    for (const { statements } of here) for (const x of statements) b.emit(x);
    if (!recur) return;
    const own = here.map((segment) => segment.recur as Recur);
    const maps = own.map((r): LinearMap => ({ a: b.let("factor", r.factor), b: b.let("term", r.term) }));
    const into = own.map((r) => r.local);
    scalarRecurrence(b, recur.local, into, maps);
  });
}

/** One block as SCAN_BLOCK defines it, with a local of its own for each iteration. */
function scalarRecurrence(b: Builder, carried: Local, into: readonly Local[], maps: readonly LinearMap[]): void {
  const run = (from: number) => prefixes(b, maps.slice(from, from + SCAN_RUN) as FourOf<LinearMap>);
  const [one, two] = [run(0), run(SCAN_RUN)];
  const whole = both(b, two.at(-1) as LinearMap, one.at(-1) as LinearMap);
  const solve = (run: readonly LinearMap[], from: number, x: Expr): void => {
    run.forEach((map, k) => {
      b.assign(into[from + k] as Local, after(map, x));
    });
  };
  solve(one, 0, get(carried));
  solve(two.slice(0, -1), SCAN_RUN, get(into[SCAN_RUN - 1] as Local));
  b.assign(into[SCAN_BLOCK - 1] as Local, after(whole, get(carried)));
  b.assign(carried, get(into[SCAN_BLOCK - 1] as Local));
}

// Vector code

/** Whether more subscripts count down than up. */
function strideOf(s: For): Stride {
  let sum = 0;
  for (const list of sharedAccesses(s).values())
    for (const { form } of list) if (Math.abs(form?.stride ?? 0) === 1) sum += form?.stride ?? 0;
  return sum < 0 ? -1 : 1;
}

/** The iterations of a block as vectors: lane l is its iteration l, or 7 - l where lanes run against the iterations. */
class BlockCode {
  readonly #segments: readonly Segment[];
  readonly #code: LaneCode;
  readonly #b: Builder;

  constructor(b: Builder, s: For, first: Expr, stride: Stride) {
    this.#b = b;
    const { body, index } = copyOf(b, s, stride === 1 ? first : add(first, i32(SCAN_BLOCK - 1)));
    const loop: For = { ...s, index, body };
    this.#segments = segmentsOf(body);
    this.#code = new LaneCode(b, new LaneFacts(loop, stride), SCAN_BLOCK);
    this.#code.start(body);
  }

  run(n: number): void {
    this.#code.part((this.#segments[n] as Segment).statements);
  }
  map(n: number): LinearMap {
    const { factor, term } = (this.#segments[n] as Segment).recur as Recur;
    return { a: this.#b.let("factor", this.#code.value(factor)), b: this.#b.let("term", this.#code.value(term)) };
  }
  give(n: number, value: Expr): void {
    const { local: of } = (this.#segments[n] as Segment).recur as Recur;
    this.#b.assign(this.#code.vector(of), value);
  }
}

/** The iterations from `first` on, as many as the sorting takes. */
class BlocksCode {
  readonly #b: Builder;
  readonly #sorting: Sorting;
  readonly #vectors: readonly BlockCode[];

  constructor(b: Builder, s: For, first: Expr, stride: Stride, sorting: Sorting) {
    this.#b = b;
    this.#sorting = sorting;
    this.#vectors = Array.from(
      { length: sorting.vectors },
      (_, k) => new BlockCode(b, s, add(first, i32(k * SCAN_BLOCK)), stride),
    );
  }
  run(n: number): void {
    for (const code of this.#vectors) code.run(n);
  }
  prepare(n: number): Prepared {
    const maps = this.#vectors.map((code) => code.map(n));
    return prepare(this.#b, this.#sorting, maps);
  }
  solve(n: number, prepared: Prepared, carried: Local): void {
    const values = solve(this.#b, this.#sorting, prepared, carried);
    this.#vectors.forEach((code, k) => {
      code.give(n, values[k] as Expr);
    });
  }
}

/** A loop over blocks. */
function blockLoop(b: Builder, s: For, { begin, end }: Range, stride: Stride, sorting: Sorting): void {
  const body = b.body(() => {
    const code = new BlocksCode(b, s, get(s.index), stride, sorting);
    segmentsOf(s.body).forEach(({ recur }, n) => {
      code.run(n);
      if (recur) code.solve(n, code.prepare(n), recur.local);
    });
  });
  b.emit({ ...s, axis: "vector", begin, end, step: sorting.vectors * SCAN_BLOCK, body });
}

// Blocks that begin before the ones before have ended

/** A scan cut at its recurrence, when what follows it needs nothing of what comes before but cheap subscripts. */
interface Halves {
  readonly recur: Recur;
  readonly front: For;
  readonly back: For;
}

function halvesOf(s: For): Halves | undefined {
  const [before, behind, ...more] = segmentsOf(s.body);
  if (!before?.recur || !behind || more.length || costOf(s.body) > PIPELINE_COST) return undefined;
  let faults = false;
  eachStmt(s.body, (x) => {
    faults ||= x.kind === "fault";
  });
  const again = repeatable(s, before.statements, exposedReads(behind.statements, [s.index, before.recur.local]));
  // Each half would have local arrays of its own; and faults would be seen in another order.
  if (faults || !again || filledLocals(s.body).size > 0) return undefined;
  return {
    recur: before.recur,
    front: { ...s, body: [...before.statements, before.recur] },
    back: { ...s, body: [...again, before.recur, ...behind.statements] },
  };
}

/** The assignments among `statements` that give `wanted` their values; undefined when that would be work. */
function repeatable(s: For, statements: readonly Stmt[], wanted: ReadonlySet<Local>): readonly Assign[] | undefined {
  const inside = assignedLocals(s.body);
  const count = new Map<Local, number>();
  eachStmt(statements, (x) => {
    if (x.kind === "assign") count.set(x.local, (count.get(x.local) ?? 0) + 1);
  });
  const simple = new Set<Local>();
  const found: Assign[] = [];
  for (const x of statements) {
    if (x.kind !== "assign" || x.local.dtype !== "i32" || count.get(x.local) !== 1) continue;
    let cheap = true;
    eachExpr(x.value, (e) => {
      if (e.kind === "load" || (e.kind === "get" && e.local !== s.index && inside.has(e.local)))
        cheap &&= e.kind === "get" && simple.has(e.local);
    });
    if (!cheap) continue;
    simple.add(x.local);
    found.push(x);
  }
  return [...wanted].every((l) => !inside.has(l) || simple.has(l)) ? found : undefined;
}

/** A loop in which the maps of the next blocks are made while these wait for the ones before. */
function overlapped(b: Builder, s: For, halves: Halves, { begin, end }: Range, stride: Stride, sorting: Sorting): void {
  const { recur, front, back } = halves;
  const step = sorting.vectors * SCAN_BLOCK;
  const begun = (first: Expr): Prepared => {
    const code = new BlocksCode(b, front, first, stride, sorting);
    code.run(0);
    return code.prepare(0);
  };
  const finish = (first: Expr, prepared: Prepared): void => {
    const code = new BlocksCode(b, back, first, stride, sorting);
    code.run(0);
    code.solve(0, prepared, recur.local);
    code.run(1);
  };
  b.if(binary("lt", begin, end), () => {
    const start = begun(begin);
    const next = new PreparedLocals(b, start);
    next.set(start);
    const last = b.let("last", sub(end, i32(step)));
    const body = b.body(() => {
      const now = next.get();
      next.set(begun(add(get(s.index), i32(step))));
      finish(get(s.index), now);
    });
    b.emit({ ...s, axis: "vector", begin, end: last, step, body });
    finish(last, next.get());
  });
}

interface Range {
  readonly begin: Expr;
  readonly end: Expr;
}

/** The loop once more, with an index of its own. */
function again(s: For): For {
  const index = local(s.index.name, "i32");
  return { ...s, index, body: renameLocals(s.body, new Map([[s.index, index]])) };
}

/** Four blocks at a time where vectors are wide, the others one by one. */
function vectorBlocks(b: Builder, s: For, range: Range, machine: ScanMachine): void {
  if (!mayThread(s)) throw new NotVectorisable("it stores through computed subscripts");
  if (readsArraysAround(s)) throw new NotVectorisable("it reads an array of the iteration around it");
  const stride = strideOf(s);
  const { block, wide } = SORTINGS[stride];
  if (machine.vectorBytes < WIDE_BYTES) return blockLoop(b, s, range, stride, block);
  const middle = b.let("middle", wholeSteps(range.begin, range.end, wide.vectors * SCAN_BLOCK));
  const most: Range = { begin: range.begin, end: middle };
  const halves = halvesOf(s);
  if (halves) overlapped(b, s, halves, most, stride, wide);
  else blockLoop(b, s, most, stride, wide);
  blockLoop(b, again(s), { begin: middle, end: range.end }, stride, block);
}

// The pass

/** The blocks as vector code where there is any for them, as scalar code otherwise. */
function blocksOf(b: Builder, s: For, range: Range, machine: ScanMachine): readonly Stmt[] {
  try {
    if (machine.vectorBytes > 0) return b.body(() => vectorBlocks(b, s, range, machine));
  } catch (error) {
    if (!(error instanceof NotVectorisable)) throw error;
  }
  return [{ ...s, axis: "serial", ...range, step: SCAN_BLOCK, body: b.body(() => scalarBlock(b, s)) }];
}

function lowered(s: For, machine: ScanMachine): Stmt[] {
  const b = new Builder();
  const end = b.let("to", s.end);
  const begin = b.let("from", s.begin);
  const blocks = b.let("blocks", wholeSteps(begin, end, SCAN_BLOCK));
  for (const x of blocksOf(b, s, { begin, end: blocks }, machine)) b.emit(x);
  const one = s.body.map((x) =>
    x.kind === "recur" ? assign(x.local, after({ a: x.factor, b: x.term }, get(x.local))) : x,
  );
  b.emit({ ...again({ ...s, body: one }), axis: "serial", begin: blocks, end });
  return b.statements;
}

/** What the pass needs to know of a machine. */
export interface ScanMachine {
  readonly vectorBytes: number;
}

export function lowerScans(module: Module, machine: ScanMachine): Module {
  return rewriteFunctions(module, (f) => ({
    ...f,
    body: mapStmts(f.body, (s) => (s.kind === "for" && s.axis === "scan" ? lowered(s, machine) : s)),
  }));
}
