/**
 * @file Matrix products with few columns: the heads of networks.
 *
 * A single vector holds all columns, so that sums in the order of the inner axis would be one long chain, and most of the
 * vector padding. Such products have eight sums instead, of every eighth product each, which are then added by halves;
 * that depends on the graph alone. Few rows have their columns in vectors, and eight chains; many rows have the eight sums in
 * vectors, with a copy of the second factor that lies column after column.
 */
import { add, constant, get, i32, load } from "../../ir/build.ts";
import type { Expr, Local } from "../../ir/nodes.ts";
import { isThin, THIN_SUMS } from "../costs.ts";
import type { Location } from "../plan.ts";
import { bySubscripts, Elements, plus, productAdded, times } from "./elements.ts";
import { type Job, type RowsOf, rowAt, temporary } from "./tiles.ts";

/** Rows from which on a copy of the second factor pays. */
const MANY_ROWS = 8;
/** Sums that are kept in registers side by side. */
const ABREAST = 12;
const MOST_ROWS = 4;
/** Chains that go on together where columns are in vectors: engines load all factors before they multiply any. */
const CHAINS = 4;
/** Lanes that hold so few columns: longer vectors would reach far into the next rows. */
const padded = (columns: number): number => (columns <= 4 ? 4 : 8);

/** What computes the rows of a product with few columns; undefined where it has more. */
export function thin(job: Job): RowsOf | undefined {
  if (!isThin(job.node)) return undefined;
  return job.m >= MANY_ROWS && job.machine.lanes > 1 ? manyRows(job) : fewRows(job);
}

/** The eight sums of one result, added by halves. */
function halved(sums: readonly Expr[]): Expr {
  const half = sums.length / 2;
  if (half < 1) return sums[0] as Expr;
  return halved(sums.slice(0, half).map((x, k) => add(x, sums[k + half] as Expr)));
}
function zeros({ b, node: { dtype } }: Job, count: number): Local[] {
  return Array.from({ length: count }, (_, k) => {
    const sum = b.local(`sum${k}`, dtype);
    b.assign(sum, constant(dtype, 0));
    return sum;
  });
}

// Few rows

/** Columns are lanes. Vectors reach into the next rows of the second factor; the last ones, behind which nothing may lie, are copied. */
function fewRows(job: Job): RowsOf {
  const { b, node, context, machine, m, n, inner } = job;
  const { lanes } = machine;
  const width = lanes > 1 ? padded(n) : n;
  const at = context.locations.get(node.b);
  const chunks = inner / THIN_SUMS;
  const reach = at ? Math.floor(((at.buffer.length as number) - at.offset - width) / n) + 1 : 0;
  const direct = width === n ? chunks : Math.max(0, Math.min(chunks, Math.floor(reach / THIN_SUMS)));
  const first = direct * THIN_SUMS;
  const behind = temporary("behind", node, (inner - first) * width);
  b.for("k", { begin: i32(0), end: i32(inner - first), axis: "parallel" }, (k) => {
    b.for("j", { begin: i32(0), end: i32(n), axis: "parallel" }, (j) => {
      const value = new Elements(b, context).at(node.b, bySubscripts([plus(k, i32(first)), j]));
      b.store(behind.buffer, plus(times(k, width), j), value);
    });
  });
  const results = temporary("sums", node, m * width);
  const column = (elements: Elements, k: Expr, j: Expr): Expr =>
    at ? load(at.buffer, plus(plus(times(k, n), j), i32(at.offset))) : elements.at(node.b, bySubscripts([k, j]));
  return (own) => {
    b.for("i", { begin: i32(0), end: i32(own.m), axis: "parallel" }, (i) => {
      const row = b.let("row", plus(own.first, i));
      b.for("j", { begin: i32(0), end: i32(width), axis: "parallel" }, (j) => {
        const sums = zeros(own, THIN_SUMS);
        chains(own, row, sums, { begin: 0, end: direct }, (elements, k) => column(elements, k, j));
        chains(own, row, sums, { begin: direct, end: chunks }, (_, k) =>
          load(behind.buffer, plus(times(plus(k, i32(-first)), width), j)),
        );
        b.store(results.buffer, plus(times(row, width), j), halved(sums.map(get)));
      });
      for (let j = 0; j < n; j++) storeResult(own, row, i32(j), load(results.buffer, plus(times(row, width), i32(j))));
    });
  };
}
/** Goes on with eight chains, some of them at a time; each takes every eighth step along the inner axis. */
function chains(
  { b, context, rows }: Job,
  row: Expr,
  sums: readonly Local[],
  { begin, end }: { readonly begin: number; readonly end: number },
  factor: (elements: Elements, k: Expr) => Expr,
): void {
  if (begin === end) return;
  for (let from = 0; from < THIN_SUMS; from += CHAINS)
    b.for("chunk", { begin: i32(begin), end: i32(end) }, (chunk) => {
      const elements = new Elements(b, context);
      const first = b.let("k", plus(times(chunk, THIN_SUMS), i32(from)));
      sums.slice(from, from + CHAINS).forEach((sum, r) => {
        const k = plus(first, i32(r));
        b.assign(sum, productAdded(get(sum), rows(elements, rowAt(row), k), factor(elements, k), context.fused));
      });
    });
}

// Many rows

/** The eight sums are lanes. */
function manyRows(job: Job): RowsOf {
  const { b, node, context, m, n, inner } = job;
  const copy = temporary("columns", node, n * inner);
  b.for("j", { begin: i32(0), end: i32(n), axis: "parallel" }, (j) => {
    b.for("k", { begin: i32(0), end: i32(inner), axis: "parallel" }, (k) => {
      b.store(copy.buffer, plus(times(j, inner), k), new Elements(b, context).at(node.b, bySubscripts([k, j])));
    });
  });
  const sums = temporary("sums", node, m * n * THIN_SUMS);
  const count = Math.max(1, Math.min(MOST_ROWS, Math.floor(ABREAST / n)));
  return (own) => {
    const whole = Math.floor(own.m / count);
    const tile = (first: Expr, rows: number): void => {
      tileOfSums(own, copy, sums, first, rows);
      for (let r = 0; r < rows; r++) {
        const row = plus(first, i32(r));
        for (let j = 0; j < n; j++) {
          const at = times(plus(times(row, n), i32(j)), THIN_SUMS);
          const parts = Array.from({ length: THIN_SUMS }, (_, k) => load(sums.buffer, plus(at, i32(k))));
          storeResult(own, row, i32(j), halved(parts));
        }
      }
    };
    b.for("block", { begin: i32(0), end: i32(whole), axis: "parallel" }, (block) => {
      tile(b.let("row", plus(own.first, times(block, count))), count);
    });
    const rest = own.m - whole * count;
    if (rest > 0) tile(b.let("row", plus(own.first, i32(whole * count))), rest);
  };
}
/** The sums of some rows and all columns, to memory. */
function tileOfSums(job: Job, copy: Location, into: Location, first: Expr, count: number): void {
  const { b, context, rows, n, inner } = job;
  b.for("lane", { begin: i32(0), end: i32(THIN_SUMS), axis: "parallel" }, (lane) => {
    const sums = zeros(job, count * n);
    b.for("chunk", { begin: i32(0), end: i32(inner / THIN_SUMS) }, (chunk) => {
      const elements = new Elements(b, context);
      const k = b.let("k", plus(times(chunk, THIN_SUMS), lane));
      const ys = Array.from({ length: n }, (_, j) => b.let("y", load(copy.buffer, plus(k, i32(j * inner)))));
      for (let r = 0; r < count; r++) {
        const x = b.let("x", rows(elements, rowAt(plus(first, i32(r))), k));
        ys.forEach((y, j) => {
          const sum = sums[r * n + j] as Local;
          b.assign(sum, productAdded(get(sum), x, y, context.fused));
        });
      }
    });
    sums.forEach((sum, e) => {
      b.store(into.buffer, plus(plus(times(first, n * THIN_SUMS), i32(e * THIN_SUMS)), lane), get(sum));
    });
  });
}

function storeResult({ b, into, n }: Job, row: Expr, column: Expr, value: Expr): void {
  b.store(into.buffer, plus(plus(times(row, n), column), i32(into.offset)), value);
}
