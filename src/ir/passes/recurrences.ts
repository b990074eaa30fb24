/**
 * @file The recurrences of scans as vectors: the runs of one block, or of four blocks at once, side by side.
 *
 * A lane is a run: iterations of a vector are sorted such that its maps are composed without any lane meeting another,
 * and sorted back. One block fills registers of two numbers; four blocks fill those of eight, and shuffles, of which
 * there are two for each vector and direction, are all that it costs.
 */
import { add, type Builder, get, lane, local, mul, shuffle, splat } from "../build.ts";
import type { Expr, Local } from "../nodes.ts";
import { SCAN_BLOCK, SCAN_RUN } from "../types.ts";

/** x becomes b + a * x. */
export interface LinearMap {
  readonly a: Expr;
  readonly b: Expr;
}
export const after = ({ a, b }: LinearMap, x: Expr): Expr => add(b, mul(a, x));
/** The map that is `first` and then `second`. */
export const both = (b: Builder, second: LinearMap, first: LinearMap): LinearMap => ({
  a: b.let("factor", mul(second.a, first.a)),
  b: b.let("term", after(second, first.b)),
});
/** From the begin of a run to the end of each of its iterations. */
export function prefixes(b: Builder, [m0, m1, m2, m3]: FourOf<LinearMap>): FourOf<LinearMap> {
  const two = both(b, m1, m0);
  return [m0, two, both(b, m2, two), both(b, both(b, m3, m2), two)];
}

/** Lanes run with the iterations, or against them where subscripts count down. */
export type Stride = 1 | -1;

/** How the iterations of some blocks lie in vectors of eight, and how in vectors with a lane for each run. */
export interface Sorting {
  readonly vectors: number;
  /** The lane of a run. */
  readonly laneOf: (run: number) => number;
  /** One vector for each iteration of the runs, out of vectors of neighbours. */
  readonly sort: (b: Builder, vectors: readonly Expr[]) => Expr[];
  readonly sortBack: (b: Builder, sorted: readonly Expr[]) => Expr[];
}

export type FourOf<T> = [T, T, T, T];
const RUNS = SCAN_BLOCK / SCAN_RUN;
const range = (n: number, from = 0): number[] => Array.from({ length: n }, (_, k) => from + k);
const ordered = (n: number, pairs: Iterable<readonly [to: number, from: number]>): number[] => {
  const order = new Array<number>(n);
  for (const [to, from] of pairs) order[to] = from;
  return order;
};

/** Where number k of n lies, with the iterations or against them. */
const along = (stride: Stride, n: number, k: number): number => (stride === 1 ? k : n - 1 - k);

/** A block: runs are the lanes of vectors of two. */
function blockSorting(stride: Stride): Sorting {
  const place = (i: number): number => along(stride, SCAN_BLOCK, i);
  const back = ordered(
    SCAN_BLOCK,
    range(SCAN_BLOCK).map((i) => [place(i), (i % SCAN_RUN) * RUNS + Math.floor(i / SCAN_RUN)]),
  );
  return {
    vectors: 1,
    laneOf: (run) => run,
    sort: (b, [block]) =>
      range(SCAN_RUN).map((k) => b.let("sorted", shuffle([place(k), place(SCAN_RUN + k)], block as Expr))),
    sortBack: (b, sorted) => {
      const [k0, k1, k2, k3] = sorted as FourOf<Expr>;
      return [b.let("block", shuffle(back, shuffle(range(4), k0, k1), shuffle(range(4), k2, k3)))];
    },
  };
}

/**
 * Four blocks: runs are the lanes of vectors of eight. Two vectors of neighbours hold four runs. A first shuffle sorts
 * two iterations of those into the halves of a vector, a second one puts halves of both pairs of vectors together.
 */
function wideSorting(stride: Stride): Sorting {
  const laneOf = (i: number): number => along(stride, SCAN_BLOCK, i);
  /** Of a run among the four of a half. */
  const place = (run: number): number => along(stride, SCAN_RUN, run);
  const halves = (b: Builder, which: number, x: Expr, y: Expr): Expr => {
    const half = range(SCAN_RUN, which * SCAN_RUN);
    return b.let("halves", shuffle([...half, ...half.map((l) => l + SCAN_BLOCK)], x, y));
  };
  /** Where a first shuffle puts iterations 2 pair and 2 pair + 1 of four runs: each into a half of its own. */
  const positions = (pair: number): [sorted: number, neighbours: number][] =>
    range(SCAN_BLOCK).map((n) => {
      const [k, run] = [Math.floor(n / SCAN_RUN), n % SCAN_RUN];
      const i = run * SCAN_RUN + pair * 2 + k;
      return [k * SCAN_RUN + place(run), laneOf(i % SCAN_BLOCK) + (i < SCAN_BLOCK ? 0 : SCAN_BLOCK)];
    });
  const pick = (b: Builder, pair: number, x: Expr, y: Expr): Expr =>
    b.let("picked", shuffle(ordered(SCAN_BLOCK, positions(pair)), x, y));
  return {
    vectors: 4,
    laneOf,
    sort: (b, vectors) => {
      const [v0, v1, v2, v3] = vectors as FourOf<Expr>;
      return [0, 1].flatMap((pair) => {
        const early = pick(b, pair, v0, v1);
        const late = pick(b, pair, v2, v3);
        const [x, y] = stride === 1 ? [early, late] : [late, early];
        return [halves(b, 0, x, y), halves(b, 1, x, y)];
      });
    },
    sortBack: (b, sorted) => {
      const [k0, k1, k2, k3] = sorted as FourOf<Expr>;
      const places = [0, 1].flatMap((pair) =>
        positions(pair).map(([from, to]): [number, number] => [to, from + pair * SCAN_BLOCK]),
      );
      const order = ordered(2 * SCAN_BLOCK, places);
      return [0, 1].flatMap((half) => {
        const which = along(stride, 2, half);
        const [x, y] = [halves(b, which, k0, k1), halves(b, which, k2, k3)];
        return [0, 1].map((v) => b.let("neighbours", shuffle(order.slice(v * SCAN_BLOCK, (v + 1) * SCAN_BLOCK), x, y)));
      });
    },
  };
}

export const SORTINGS: { readonly [S in Stride]: { readonly block: Sorting; readonly wide: Sorting } } = {
  1: { block: blockSorting(1), wide: wideSorting(1) },
  [-1]: { block: blockSorting(-1), wide: wideSorting(-1) },
};

/** Numbers as one vector. */
function pack(list: readonly Expr[]): Expr {
  const [first, second] = list as [Expr, Expr];
  if (list.length === 1) return first;
  if (list.length === 2) return shuffle([0, 2], splat(first, 2), splat(second, 2));
  const half = list.length / 2;
  return shuffle(range(list.length), pack(list.slice(0, half)), pack(list.slice(half)));
}
const laneOr = (at: number, x: Expr): Expr => (x.lanes === 1 ? x : lane(at, x));
const some = (lanes: readonly number[], x: Expr): Expr =>
  lanes.length === 1 ? lane(lanes[0] as number, x) : shuffle(lanes, x);

/** The maps of some blocks: what is ready before the number is known that they begin with. */
export interface Prepared {
  /** From the begins of runs to their iterations but the last. */
  readonly inner: readonly LinearMap[];
  /** The first run of each block. */
  readonly first: LinearMap;
  /** Each block. */
  readonly whole: LinearMap;
}

export function prepare(b: Builder, { sort, laneOf, vectors }: Sorting, maps: readonly LinearMap[]): Prepared {
  const sortedOf = (part: keyof LinearMap): Expr[] => {
    const vectors = maps.map((map) => map[part]);
    return sort(b, vectors);
  };
  const [factors, terms] = [sortedOf("a"), sortedOf("b")];
  const runs = prefixes(b, factors.map((a, k) => ({ a, b: terms[k] as Expr })) as FourOf<LinearMap>);
  const last = runs.at(-1) as LinearMap;
  const half = (which: number): LinearMap => {
    const lanes = range(vectors).map((block) => laneOf(block * RUNS + which));
    return { a: b.let("factor", some(lanes, last.a)), b: b.let("term", some(lanes, last.b)) };
  };
  const first = half(0);
  return { inner: runs.slice(0, -1), first, whole: both(b, half(1), first) };
}

/** The values of the blocks in vectors of neighbours; `carried` goes on. */
export function solve(b: Builder, sorting: Sorting, { inner, first, whole }: Prepared, carried: Local): Expr[] {
  const { vectors, laneOf, sortBack } = sorting;
  const blocks = range(vectors);
  const ends = [b.let("before", get(carried))];
  for (const k of blocks) {
    const map: LinearMap = { a: laneOr(k, whole.a), b: laneOr(k, whole.b) };
    ends.push(b.let("behind", after(map, ends[k] as Expr)));
  }
  b.assign(carried, ends[vectors] as Expr);
  const begins = b.let("begins", pack(ends.slice(0, -1)));
  const middles = b.let("middles", after(first, begins));
  /** Two numbers of each block as the lanes of its runs. */
  const byRun = (one: Expr, two: Expr): Expr => {
    if (vectors === 1) return pack([one, two]);
    const places = blocks.flatMap((k): [number, number][] => [
      [laneOf(k * RUNS), k],
      [laneOf(k * RUNS + 1), vectors + k],
    ]);
    return shuffle(ordered(vectors * RUNS, places), one, two);
  };
  const starts = b.let("starts", byRun(begins, middles));
  const values = inner.map((map) => b.let("values", after(map, starts)));
  return sortBack(b, [...values, b.let("last", byRun(middles, pack(ends.slice(1))))]);
}

/** What is prepared, in variables from one iteration to the next. */
export class PreparedLocals {
  readonly #b: Builder;
  readonly #maps: readonly { readonly a: Local; readonly b: Local }[];

  constructor(b: Builder, like: Prepared) {
    this.#b = b;
    this.#maps = this.#list(like).map((map) => ({
      a: local("nextFactor", map.a.dtype, map.a.lanes),
      b: local("nextTerm", map.b.dtype, map.b.lanes),
    }));
  }
  #list({ inner, first, whole }: Prepared): LinearMap[] {
    return [...inner, first, whole];
  }
  set(to: Prepared): void {
    this.#list(to).forEach((map, k) => {
      const into = this.#maps[k] as { a: Local; b: Local };
      this.#b.assign(into.a, map.a);
      this.#b.assign(into.b, map.b);
    });
  }
  get(): Prepared {
    const maps = this.#maps.map(
      (m): LinearMap => ({ a: this.#b.let("was", get(m.a)), b: this.#b.let("was", get(m.b)) }),
    );
    const [first, whole] = maps.slice(-2) as [LinearMap, LinearMap];
    return { inner: maps.slice(0, -2), first, whole };
  }
}
