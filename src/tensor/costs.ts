/**
 * @file What it costs to compute one element of a value inside the loop that uses it.
 */
import type { MatmulNode, Node, ReduceNode, ViewNode } from "./nodes.ts";
import { operation } from "./operations.ts";
import { elementsOf } from "./shape.ts";

/** Elements up to which a reduction may be written out in the loop that uses it. */
const SMALL = 8;
/** Operations up to which it is. */
const SMALL_COST = 300;
/** Products that are added up, at most, where a matrix product is written out in the loop that uses it; and its columns, at least. */
const SMALL_PRODUCT = { inner: 3, columns: 8 } as const;
/** Columns of a product, at most, that are too few for sums in the order of its inner axis; and its sums instead. */
const THIN_COLUMNS = 7;
export const THIN_SUMS = 8;
/** Operations from which on a value whose elements a view repeats is kept in memory. */
const DEAR_REPEATED = 4;

const costs = new WeakMap<Node, number>();

/** Rough number of instructions for one element; a value with memory of its own costs a load. */
export function costOf(node: Node): number {
  let cost = costs.get(node);
  if (cost === undefined) {
    cost = computedCost(node);
    costs.set(node, cost);
  }
  return cost;
}
function computedCost(node: Node): number {
  switch (node.kind) {
    case "constant":
    case "iteration":
    case "iota":
      return 0;
    case "map":
      return node.inputs.reduce((sum, x) => sum + costOf(x), operation(node.op).cost);
    case "view":
      return isDearlyRepeated(node) ? 1 : costOf(node.input);
    case "pad":
      return costOf(node.input) + 2 * node.shape.length;
    case "gather":
      return 2 + costOf(node.index);
    case "matmul":
      return isSmallProduct(node) ? 2 * (node.a.shape[1] as number) : 1;
    case "reduce":
      return isSmallReduction(node) ? reducedCount(node) * (1 + costOf(node.input)) : 1;
    default:
      return 1;
  }
}

/** Elements that are combined into one. */
export const reducedCount = ({ input, axes }: ReduceNode): number =>
  axes.reduce((count, axis) => count * (input.shape[axis] as number), 1);

/** Whether a reduction has so few elements that it can be written out. */
export function isSmallReduction(node: ReduceNode): boolean {
  const count = reducedCount(node);
  return count <= SMALL && count * costOf(node.input) <= SMALL_COST && elementsOf(node.shape) > 1;
}

/** Whether a matrix product adds up so few products that it can be written out. */
export const isSmallProduct = ({ a, shape }: MatmulNode): boolean =>
  (a.shape[1] as number) <= SMALL_PRODUCT.inner && (shape[1] as number) >= SMALL_PRODUCT.columns;

/** Whether a matrix product has so few columns that each has several sums. */
export function isThin({ a, b }: MatmulNode): boolean {
  const inner = a.shape[1] as number;
  const long = inner >= 2 * THIN_SUMS && inner % THIN_SUMS === 0;
  return long && (b.shape[1] as number) <= THIN_COLUMNS && !isTurned(a);
}

/** Columns of a product that are whole vectors on every target. */
export const WHOLE_COLUMNS = 16;

/** Whether a view shows elements several times that are dear enough to be computed once and kept in memory. */
export const isDearlyRepeated = (view: ViewNode): boolean =>
  elementsOf(view.shape) > elementsOf(view.input.shape) && costOf(view.input) >= DEAR_REPEATED;

/** Whether a value is a matrix with its axes exchanged: neighbours along the first one are neighbours in memory. */
export const isTurned = (node: Node): boolean =>
  node.kind === "view" &&
  node.axes.length === 2 &&
  node.shape.length === 2 &&
  node.axes.every(({ terms }, axis) => terms.length === 1 && terms[0]?.axis === 1 - axis && terms[0].step === 1);
