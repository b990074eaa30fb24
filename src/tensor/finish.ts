/**
 * @file Products that are finished in registers: an elementwise value with one matrix product in it that nothing else
 * needs is computed of each element of the product before that goes to memory, so that it does not.
 *
 * Only cheap values: a tile's sums fill the registers, and its loops are written out for each row.
 */
import { costOf, isTurned, WHOLE_COLUMNS } from "./costs.ts";
import type { MatmulNode, Node } from "./nodes.ts";
import { operation } from "./operations.ts";
import { sameShape } from "./shape.ts";

/** Operations of a value, at most. */
const CHEAP = 10;

/** What is known of nodes while a program is scheduled. */
export interface Known {
  /** How many nodes and effects use a node. */
  readonly uses: ReadonlyMap<Node, number>;
  readonly hasMemory: (node: Node) => boolean;
  /** Whether a kernel computes it, rather than the loops that use it. */
  readonly isComputed: (node: Node) => boolean;
}

/** The product of which a value is computed in registers, if there is one. */
export function productWithin(value: Node, { uses, hasMemory, isComputed }: Known): MatmulNode | undefined {
  const products: MatmulNode[] = [];
  let cost = 0;
  const usedHere = new Map<Node, number>();
  const waiting = new Set<Node>([value]);
  for (let node = newest(waiting); node; node = newest(waiting)) {
    waiting.delete(node);
    if (hasMemory(node)) continue;
    const isOwn = node === value || usedHere.get(node) === uses.get(node);
    if (node.kind === "matmul" && isOwn && isComputed(node)) products.push(node);
    if (node.kind !== "map" || (node !== value && isComputed(node))) continue;
    cost += isOwn ? operation(node.op).cost : costOf(node);
    if (!isOwn) continue;
    for (const x of new Set(node.inputs)) {
      usedHere.set(x, (usedHere.get(x) ?? 0) + 1);
      waiting.add(x);
    }
  }
  const [product] = products;
  return product && products.length === 1 && cost <= CHEAP && isShaped(product, value) ? product : undefined;
}

/** Nodes are numbered in the order of their recording: users come after what they use. */
const newest = (nodes: ReadonlySet<Node>): Node | undefined =>
  [...nodes].reduce<Node | undefined>((best, node) => (best && best.id > node.id ? best : node), undefined);

/** Whether tiles compute all of a product, in the order of its inner axis. */
const isShaped = ({ a, shape }: MatmulNode, value: Node): boolean =>
  (shape[1] as number) % WHOLE_COLUMNS === 0 && !isTurned(a) && sameShape(value.shape, shape);
