/**
 * @file The vectoriser: innermost parallel loops run `lanes` iterations at a time, with a scalar loop for the rest.
 *
 * Which iterations share a vector changes no bit: elementwise code has no order, and reductions follow their fixed
 * partials (a shard's partials are exactly the lanes of unrolled vectors). A loop that cannot be vectorised stays as
 * it is.
 */
import { add, and, Builder, binary, get, i32, loadLanes, store, sub } from "../build.ts";
import type { Buffer, Expr, For, Local, Module, Stmt } from "../nodes.ts";
import { REDUCE_PARTIALS, SHARD_ALIGN } from "../types.ts";
import { assignedLocals, eachExpr, eachStmt, eachStmtExpr, withBodies } from "../walk.ts";
import { costOf } from "./cost.ts";
import { AffineForms, mayVectorise, readsArraysAround } from "./dependence.ts";
import { exposedReads } from "./exposed.ts";
import { LaneCode, LaneFacts, NotVectorisable } from "./lanes.ts";
import { fromMemory, identityOf, PartialsInMemory, renameLocals, toMemory } from "./reductions.ts";
import { rewriteFunctions } from "./rewrite.ts";

/** Operations in an unrolled reduction body above which the partials stay in memory instead. */
const UNROLL_COST = 400;

const isParallel = (s: Stmt): s is For => s.kind === "for" && (s.axis === "parallel" || s.axis === "partial");

/** Loops with scans inside stay serial, too: those become vector code of their own. */
function containsParallel(body: readonly Stmt[]): boolean {
  let found = false;
  eachStmt(body, (s) => {
    found ||= s.kind === "for" && (s.axis === "scan" || isParallel(s));
  });
  return found;
}

/** begin + the largest multiple of `step` that fits; begin when there is none. */
export function wholeSteps(begin: Expr, end: Expr, step: number): Expr {
  const n = binary("max", sub(end, begin), i32(0));
  return add(begin, and(n, i32(-step)));
}

const serial = (s: For, begin: Expr, end: Expr): For => ({ ...s, axis: "serial", begin, end });

/** Whether a range is known to be empty. */
const isEmpty = (begin: Expr, end: Expr): boolean =>
  begin.kind === "const" && end.kind === "const" && begin.value >= end.value;

/** Iterations of a loop; no end of them where that is not known. */
const tripsOf = ({ begin, end }: For): number =>
  begin.kind === "const" && end.kind === "const" ? end.value - begin.value : Number.POSITIVE_INFINITY;

/** Vector loops of falling width, then the rest one by one; none where it is known that nothing is left. */
function vectorLoop(s: For, widths: readonly number[]): Stmt[] {
  const b = new Builder();
  let begin = b.let("from", s.begin);
  const end = b.let("to", s.end);
  const facts = new LaneFacts(s);
  for (const lanes of widths) {
    const middle = b.let("middle", wholeSteps(begin, end, lanes));
    if (isEmpty(begin, middle)) continue;
    const code = new LaneCode(b, facts, lanes);
    const body = b.body(() => code.body(s.body));
    b.emit({ ...s, axis: "vector", begin, end: middle, step: lanes, body });
    begin = middle;
  }
  if (!isEmpty(begin, end)) b.emit(serial(s, begin, end));
  return b.statements;
}

/** Operations of a serial loop's body up to which several vectors may run through it side by side. */
const INTERLEAVE_COST = 48;

/** Vectors side by side in a body without loops, by its operations: those of fewer wait for memory, not for results. */
const SIDE_BY_SIDE: readonly { readonly below: number; readonly vectors: number }[] = [
  { below: 16, vectors: 1 },
  { below: 192, vectors: 2 },
];

/**
 * How many vectors to take through the body at once. A chain of operations, an elementary function say, waits for its
 * own results longer than a processor looks ahead; others can do theirs meanwhile. So does a serial loop inside: a
 * recurrence over time keeps one vector for some ten cycles a step, which others can use as long as registers last.
 */
function interleave(s: For, machine: VectorMachine): number {
  const recurrences = s.body.filter((x): x is For => x.kind === "for");
  if (recurrences.length === 0) {
    // What is under a condition is skipped by most vectors, or short.
    const cost = costOf(s.body.filter((x) => x.kind !== "if"));
    return SIDE_BY_SIDE.find((step) => cost < step.below)?.vectors ?? 1;
  }
  const carried = new Set(
    recurrences.flatMap((r) => {
      const assigned = assignedLocals(r.body);
      return [...exposedReads(r.body, [r.index])].filter((l) => assigned.has(l));
    }),
  );
  if (carried.size === 0 || recurrences.some((r) => costOf(r.body) > INTERLEAVE_COST)) return 1;
  const vectors = carried.size + loadedVectors(s, recurrences);
  return vectorsAbreast(vectors, machine, tripsOf(s) / (machine.vectorBytes / 4));
}

/** How many vectors the bodies of loops load, at least the one that they are about. */
function loadedVectors(s: For, loops: readonly For[]): number {
  const { shapes } = new LaneFacts(s);
  let count = 0;
  for (const { body } of loops)
    eachStmt(body, (x) =>
      eachStmtExpr(x, (e) =>
        eachExpr(e, (part) => {
          if (part.kind === "load" && shapes.of(part).kind !== "uniform") count++;
        }),
      ),
    );
  return Math.max(1, count);
}

/** Vectors that go side by side through a serial loop, by the registers that each needs; not more than there are. */
export function vectorsAbreast(registers: number, { vectorRegisters }: VectorMachine, most = 4): number {
  return [4, 2].find((n) => n <= most && n * registers <= vectorRegisters) ?? 1;
}

/** The partials of a reduction may fill one accumulator, not less than one. */
const mostVectors = (s: For, lanes: number): number =>
  Math.max(1, Math.min(...s.reductions.map((r) => REDUCE_PARTIALS[r.local.dtype])) / lanes);

/** One shard of a reduction: vector accumulators in registers when the body is small, partials in memory otherwise. */
function partialLoop(s: For, lanes: number): Stmt[] {
  const b = new Builder();
  const begin = b.let("from", s.begin);
  const end = b.let("to", s.end);
  const middle = b.let("middle", wholeSteps(begin, end, SHARD_ALIGN));
  const partials = new PartialsInMemory(s.reductions);
  const copies = SHARD_ALIGN / lanes;
  if (costOf(s.body) * copies <= UNROLL_COST) unrolled(b, s, lanes, { begin, middle }, partials);
  else inMemory(b, s, lanes, { begin, middle }, partials);
  partials.run(b, s, middle, end, begin);
  partials.combine(b);
  return b.statements;
}

interface MainRange {
  readonly begin: Expr;
  readonly middle: Expr;
}

function unrolled(b: Builder, s: For, lanes: number, range: MainRange, partials: PartialsInMemory): void {
  const accumulators = s.reductions.map((r) => {
    const vectors = Math.max(1, REDUCE_PARTIALS[r.local.dtype] / lanes);
    return Array.from({ length: vectors }, () => b.local(r.local.name, r.local.dtype, lanes));
  });
  s.reductions.forEach((r, k) => {
    for (const a of accumulators[k] as Local[]) b.assign(a, identityOf(r, lanes));
  });
  const main = b.body(() => {
    for (let copy = 0; copy < SHARD_ALIGN / lanes; copy++) {
      const at = b.local(s.index.name, "i32");
      b.assign(at, add(get(s.index), i32(copy * lanes)));
      const shifted: For = { ...s, index: at, body: renameLocals(s.body, new Map([[s.index, at]])) };
      const code = new LaneCode(b, new LaneFacts(shifted), lanes);
      s.reductions.forEach((r, k) => {
        const list = accumulators[k] as Local[];
        code.accumulate(r.local, list[copy % list.length] as Local);
      });
      code.body(shifted.body);
    }
  });
  b.emit({
    ...s,
    axis: "vector",
    begin: range.begin,
    end: range.middle,
    step: SHARD_ALIGN,
    reductions: [],
    body: main,
  });
  s.reductions.forEach((r, k) => {
    const list = accumulators[k] as Local[];
    list.forEach((a, n) => {
      b.emit(store(partials.buffer(k), i32(n * lanes), toMemory(get(a)), i32(1)));
    });
    if (list.length * lanes !== REDUCE_PARTIALS[r.local.dtype]) throw new NotVectorisable("more lanes than partials");
  });
}

function inMemory(b: Builder, s: For, lanes: number, range: MainRange, partials: PartialsInMemory): void {
  partials.clear(b);
  const main = b.body(() => {
    const code = new LaneCode(b, new LaneFacts(s), lanes);
    const lane = (p: Buffer): Expr => and(sub(get(s.index), range.begin), i32((p.length as number) - 1));
    s.reductions.forEach((r, k) => {
      const p = partials.buffer(k);
      b.assign(code.vector(r.local), fromMemory(r.local.dtype, loadLanes(p, lane(p), i32(1), lanes)));
    });
    code.body(s.body);
    s.reductions.forEach((r, k) => {
      const p = partials.buffer(k);
      b.emit(store(p, lane(p), toMemory(get(code.vector(r.local))), i32(1)));
    });
  });
  b.emit({ ...s, axis: "vector", begin: range.begin, end: range.middle, step: lanes, reductions: [], body: main });
}

/** Vectors that a fill stores in one round. */
const FILL_VECTORS = 4;

/** Whether a serial loop does nothing but store one value to elements in a row. */
function isFill(s: Stmt): s is For {
  if (s.kind !== "for" || s.axis !== "serial" || s.step !== 1 || s.reductions.length > 0) return false;
  const [only, ...more] = s.body;
  if (only?.kind !== "store" || more.length > 0 || only.value.kind !== "const") return false;
  return new AffineForms(s).of(only.index)?.stride === 1;
}

/** A body that runs once for each iteration, with its fills as vector loops. */
function withFills(body: readonly Stmt[], lanes: number): Stmt[] {
  return body.flatMap((s) =>
    isFill(s)
      ? vectorLoop({ ...s, axis: "parallel" }, [lanes * FILL_VECTORS, lanes])
      : withBodies(s, (inner) => withFills(inner, lanes)),
  );
}

/** Lanes of the narrowest vectors. */
const FEW_LANES = 4;
/** Operations of a body for which a few iterations are worth narrow vectors, and up to which their code is. */
const NARROW_COST = { least: 192, most: 1024 } as const;

/** The lanes of a loop's vectors, most first; loops that are known to be shorter than a vector get half of one. */
function widths(s: For, lanes: number, vectors: number): number[] {
  if (tripsOf(s) < lanes) return lanes > 2 * FEW_LANES ? [lanes / 2, FEW_LANES] : [FEW_LANES];
  const widest = vectors > 1 ? [lanes * vectors, lanes] : [lanes];
  const cost = costOf(s.body);
  const isNarrow = cost >= NARROW_COST.least && cost <= NARROW_COST.most;
  return lanes > FEW_LANES && isNarrow ? [...widest, FEW_LANES] : widest;
}

function vectorised(s: For, machine: VectorMachine): Stmt[] {
  const lanes = machine.vectorBytes / 4;
  try {
    if (!mayVectorise(s)) throw new NotVectorisable("it stores through computed subscripts what it also reads");
    if (readsArraysAround(s)) throw new NotVectorisable("it reads an array of the iteration around it");
    const vectors = interleave(s, machine);
    if (s.axis === "partial") return partialLoop(s, lanes * Math.min(vectors, mostVectors(s, lanes)));
    return vectorLoop(s, widths(s, lanes, vectors));
  } catch (error) {
    if (!(error instanceof NotVectorisable)) throw error;
    if (s.axis === "partial") return [s];
    return [{ ...serial(s, s.begin, s.end), body: withFills(s.body, machine.vectorBytes / 4) }];
  }
}

/** What the vectoriser needs to know of a machine. */
export interface VectorMachine {
  readonly vectorBytes: number;
  readonly vectorRegisters: number;
}

/** Vectorises: as many lanes as f32 fit a register, or several registers side by side. */
export function vectorise(module: Module, machine: VectorMachine): Module {
  const visit = (body: readonly Stmt[]): Stmt[] =>
    body.flatMap((s) => {
      if (!isParallel(s)) return withBodies(s, visit);
      if (!containsParallel(s.body)) return vectorised(s, machine);
      if (s.axis === "partial") return { ...s, body: visit(s.body) };
      return { ...serial(s, s.begin, s.end), body: visit(s.body) };
    });
  return rewriteFunctions(module, (f) => ({ ...f, body: visit(f.body) }));
}
