/**
 * @file A single row times many columns: a policy that is asked for one action.
 *
 * In a tile each sum waits for itself, and narrow vectors leave most of the machine idle: too few of them fit into
 * registers. Here a few steps along the inner axis go through all columns, whose sums wait in memory: neighbours have
 * nothing to do with each other, and rows of the second factor are read from end to end. Products are added in the order
 * of the inner axis, as everywhere.
 */
import { constant, i32, load } from "../../ir/build.ts";
import type { Expr } from "../../ir/nodes.ts";
import { Elements, isZero, plus, productAdded } from "./elements.ts";
import { type Block, type Columns, eachBlock, type Job, LINE_ELEMENTS, rowAt, temporary } from "./tiles.ts";

/** Steps that go together; their elements of the row stay in registers. */
const STEPS = 4;
/** Vectors of columns from which on this pays. */
const MANY_VECTORS = 16;

/** Whether it pays: tiles are as good where a vector is a whole line of a cache. Of parts each would need its own sums. */
export const isSingleRow = ({ node, parts, inner, machine: { lanes } }: Job, columns: number): boolean =>
  node.a.shape[0] === 1 &&
  parts === 1 &&
  inner >= STEPS &&
  lanes > 1 &&
  lanes < LINE_ELEMENTS &&
  columns >= MANY_VECTORS * lanes;

export function singleRow(job: Job, columns: Columns): void {
  const { b, node, first: row, finish } = job;
  const sums = temporary("sums", node, columns.count).buffer;
  const eachColumn = (body: (j: Expr) => void): void => {
    b.for("j", { begin: i32(0), end: i32(columns.count), axis: "parallel" }, body);
  };
  eachBlock(job, STEPS, (block) => {
    const withProducts = steps(job, columns, block);
    eachColumn((j) => {
      const sum = isZero(block.begin) ? constant(node.dtype, 0) : b.let("sum", load(sums, j));
      b.store(sums, j, withProducts(sum, j));
    });
  });
  eachColumn((j) => {
    const { into, at } = columns.result(row, j);
    const sum = b.let("sum", load(sums, j));
    b.store(into.buffer, at, finish ? finish(row, columns.number(j), sum) : sum);
  });
}

/** What adds the products of a block to a column's sum. */
function steps(job: Job, columns: Columns, { begin, count }: Block): (sum: Expr, j: Expr) => Expr {
  const { b, context, first, rows } = job;
  const elements = new Elements(b, context);
  const row = Array.from({ length: count }, (_, s) => {
    const k = plus(begin, i32(s));
    return { k, x: b.let("x", rows(elements, rowAt(first), k)) };
  });
  return (sum, j) => {
    const own = new Elements(b, context);
    return row.reduce<Expr>((total, { k, x }) => productAdded(total, x, columns.factor(own, k, j), context.fused), sum);
  };
}
