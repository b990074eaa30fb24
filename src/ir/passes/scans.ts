/**
 * @file The scans pass: loops that carry x = b + a * x become blocks of iterations, as SCAN_BLOCK defines them.
 *
 * As scalar code a block's iterations are written one after the other. As vector code the even and the odd iterations
 * are sorted into vectors of their own, so that each operation of the definition is done for both halves of the block at
 * once, and sorted back. Lanes run against the iterations where subscripts count down, so that loads and stores are
 * contiguous in both directions.
 */
import { add, assign, Builder, binary, buffer, get, i32, lane, local, mul, shuffle, splat, sub } from "../build.ts";
import type { Assign, Buffer, Expr, For, Local, Module, Recur, Stmt } from "../nodes.ts";
import { SCAN_BLOCK } from "../types.ts";
import { assignedLocals, eachExpr, eachStmt, filledLocals, mapExprsIn, mapStmts } from "../walk.ts";
import { costOf } from "./cost.ts";
import { mayThread, readsArraysAround, sharedAccesses } from "./dependence.ts";
import { exposedReads } from "./exposed.ts";
import { LaneCode, LaneFacts, NotVectorisable } from "./lanes.ts";
import { renameLocals } from "./reductions.ts";
import { rewriteFunctions } from "./rewrite.ts";
import { wholeSteps } from "./vectorise.ts";

/** Operations of a body up to which its vector code is written twice, to begin the next block before this one ends. */
const PIPELINE_COST = 100;

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

/** x becomes b + a * x. */
interface LinearMap {
  readonly a: Expr;
  readonly b: Expr;
}
const after = ({ a, b }: LinearMap, x: Expr): Expr => add(b, mul(a, x));
/** The map that is `first` and then `second`. */
const both = (b: Builder, second: LinearMap, first: LinearMap): LinearMap => ({
  a: b.let("factor", mul(second.a, first.a)),
  b: b.let("term", after(second, first.b)),
});

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
    scalarRecurrence(b, recur.local, into as EightOf<Local>, maps as EightOf<LinearMap>);
  });
}

type FourOf<T> = [T, T, T, T];
type EightOf<T> = [...FourOf<T>, ...FourOf<T>];
function scalarRecurrence(b: Builder, carried: Local, into: EightOf<Local>, maps: EightOf<LinearMap>): void {
  const half = ([m0, m1, m2, m3]: FourOf<LinearMap>, [x0, x1, x2]: FourOf<Local>) => {
    const first = both(b, m1, m0);
    const all = both(b, both(b, m3, m2), first);
    const solve = (x: Expr): void => {
      b.assign(x0, after(m0, x));
      b.assign(x1, after(first, x));
      b.assign(x2, after(m2, get(x1)));
    };
    return { all, solve };
  };
  const [m0, m1, m2, m3, m4, m5, m6, m7] = maps;
  const [x0, x1, x2, x3, x4, x5, x6, x7] = into;
  const one = half([m0, m1, m2, m3], [x0, x1, x2, x3]);
  const two = half([m4, m5, m6, m7], [x4, x5, x6, x7]);
  const whole = both(b, two.all, one.all);
  one.solve(get(carried));
  b.assign(x3, after(one.all, get(carried)));
  two.solve(get(x3));
  b.assign(x7, after(whole, get(carried)));
  b.assign(carried, get(x7));
}

// Vector code

type Stride = 1 | -1;

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

/**
 * Where iterations lie once a block is sorted: `even` and `odd` ones in a vector each, iterations 0 and 1 of both halves
 * of the block in one half of them (`first`), 2 and 3 in the other (`second`), the first half's before the second's.
 */
interface Layout {
  readonly even: readonly number[];
  readonly odd: readonly number[];
  readonly first: readonly number[];
  readonly second: readonly number[];
  /** Both halves as one vector again, from (first, second). */
  readonly whole: readonly number[];
  /** All iterations as they were, out of (even, odd). */
  readonly all: readonly number[];
}
const LAYOUT: { readonly [S in Stride]: Layout } = {
  1: {
    even: [0, 4, 2, 6],
    odd: [1, 5, 3, 7],
    first: [0, 1],
    second: [2, 3],
    whole: [0, 1, 2, 3],
    all: [0, 4, 2, 6, 1, 5, 3, 7],
  },
  // Against the iterations: lane 7 is iteration 0, so that all is the other way round.
  [-1]: {
    even: [5, 1, 7, 3],
    odd: [4, 0, 6, 2],
    first: [2, 3],
    second: [0, 1],
    whole: [2, 3, 0, 1],
    all: [5, 1, 7, 3, 4, 0, 6, 2],
  },
};

/** The maps of a block, sorted and composed. */
interface Sorted {
  readonly even: LinearMap;
  /** Iterations 0 and 1 of each half together. */
  readonly first: LinearMap;
  /** Both halves of the block, side by side. */
  readonly halves: LinearMap;
}

function sorted(b: Builder, maps: LinearMap, layout: Layout): Sorted {
  const mapOf = (f: (part: "a" | "b") => Expr): LinearMap => ({ a: b.let("factor", f("a")), b: b.let("term", f("b")) });
  const even = mapOf((part) => shuffle(layout.even, maps[part]));
  const odd = mapOf((part) => shuffle(layout.odd, maps[part]));
  const pairs = both(b, odd, even);
  const first = mapOf((part) => shuffle(layout.first, pairs[part]));
  const second = mapOf((part) => shuffle(layout.second, pairs[part]));
  return { even, first, halves: both(b, second, first) };
}

/** Two scalars as one vector. */
const pack = (x: Expr, y: Expr): Expr => shuffle([0, 2], splat(x, 2), splat(y, 2));

/** The values of a block; `carried` goes on. */
function solved(b: Builder, carried: Local, { even, first, halves }: Sorted, layout: Layout): Expr {
  const half = (n: 0 | 1): LinearMap => ({ a: lane(n, halves.a), b: lane(n, halves.b) });
  const x0 = b.let("before", get(carried));
  const x1 = b.let("between", after(half(0), x0));
  const x2 = b.let("behind", after(both(b, half(1), half(0)), x0));
  b.assign(carried, x2);
  const into = b.let("into", pack(x0, x1));
  const middle = b.let("middle", after(first, into));
  const evens = b.let("even", after(even, shuffle(layout.whole, into, middle)));
  const odds = b.let("odd", shuffle(layout.whole, middle, pack(x1, x2)));
  return shuffle(layout.all, evens, odds);
}

/** The iterations first .. first + 7. */
function vectorBlock(b: Builder, s: For, first: Expr, stride: Stride): void {
  const code = new BlockCode(b, s, first, stride);
  segmentsOf(s.body).forEach(({ recur }, n) => {
    code.run(n);
    if (recur) code.give(n, solved(b, recur.local, sorted(b, code.map(n), LAYOUT[stride]), LAYOUT[stride]));
  });
}

// Blocks that begin before the one before has ended

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

/** A sorted state in variables. */
function stateLocals(b: Builder, state: Sorted): { keep: (next: Sorted) => void; held: () => Sorted } {
  const names = ["even", "first", "halves"] as const;
  const variables = names.map((name) => ({
    a: b.local(`${name}Factor`, state[name].a.dtype, state[name].a.lanes),
    b: b.local(`${name}Term`, state[name].b.dtype, state[name].b.lanes),
  }));
  const keep = (next: Sorted): void => {
    names.forEach((name, k) => {
      b.assign((variables[k] as { a: Local }).a, next[name].a);
      b.assign((variables[k] as { b: Local }).b, next[name].b);
    });
  };
  const held = (): Sorted => {
    const [even, first, halves] = variables.map(
      (v): LinearMap => ({ a: b.let("was", get(v.a)), b: b.let("was", get(v.b)) }),
    );
    return { even, first, halves } as Sorted;
  };
  return { keep, held };
}

/** Blocks in which the maps of the next one are made while this one waits for the one before. */
function overlapped(b: Builder, s: For, { recur, front, back }: Halves, range: Range, stride: Stride): void {
  const prepare = (first: Expr): Sorted => {
    const code = new BlockCode(b, front, first, stride);
    code.run(0);
    return sorted(b, code.map(0), LAYOUT[stride]);
  };
  const finish = (first: Expr, state: Sorted): void => {
    const code = new BlockCode(b, back, first, stride);
    code.run(0);
    code.give(0, solved(b, recur.local, state, LAYOUT[stride]));
    code.run(1);
  };
  b.if(binary("lt", range.begin, range.end), () => {
    const start = prepare(range.begin);
    const state = stateLocals(b, start);
    state.keep(start);
    const last = b.let("last", sub(range.end, i32(SCAN_BLOCK)));
    const body = b.body(() => {
      const now = state.held();
      state.keep(prepare(add(get(s.index), i32(SCAN_BLOCK))));
      finish(get(s.index), now);
    });
    b.emit({ ...s, axis: "vector", begin: range.begin, end: last, step: SCAN_BLOCK, body });
    finish(last, state.held());
  });
}

interface Range {
  readonly begin: Expr;
  readonly end: Expr;
}

function vectorBlocks(b: Builder, s: For, range: Range, machine: ScanMachine): void {
  if (!mayThread(s)) throw new NotVectorisable("it stores through computed subscripts");
  if (readsArraysAround(s)) throw new NotVectorisable("it reads an array of the iteration around it");
  const stride = strideOf(s);
  const halves = machine.vectorBytes >= 32 ? halvesOf(s) : undefined;
  if (halves) return overlapped(b, s, halves, range, stride);
  const body = b.body(() => vectorBlock(b, s, get(s.index), stride));
  b.emit({ ...s, axis: "vector", begin: range.begin, end: range.end, step: SCAN_BLOCK, body });
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
  const index = local(s.index.name, "i32");
  b.emit({ ...s, axis: "serial", index, begin: blocks, end, body: renameLocals(one, new Map([[s.index, index]])) });
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
