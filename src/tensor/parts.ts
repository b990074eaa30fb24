/**
 * @file Sums over the rows of a batch, in parts: gradients of weights and of what was added to every row.
 *
 * Added up one after the other, such a sum needs all rows before it can begin, and threads share it only column by
 * column. In parts, each of a block of rows, it goes along with the other steps of those rows, while they are near, on
 * whatever thread has them. The parts are then added in order. Which sums have parts, and which, follows from the
 * graph alone (a transposed first factor is one that was written so), so that every target and every number of threads has the same bits.
 */
import { isTurned, WHOLE_COLUMNS } from "./costs.ts";
import type { MatmulNode, Node, ReduceNode } from "./nodes.ts";
import { elementsOf } from "./shape.ts";

/** Rows from which on blocks of them pay. */
export const LEAST_ROWS = 256;
/** Rows of a block: few enough to stay in near caches, enough for whole tiles of products. */
const MOST_IN_BLOCK = 128;
/** Blocks of a batch: enough to share out. */
const LEAST_BLOCKS = 4;
/** Elements of all parts of a sum, at most: they are written, and read once more. */
const MOST_IN_PARTS = 524_288;
/** Elements of a sum from which on its parts have to be of whole blocks, for there to be enough work to each. */
const LARGE_SUM = 8192;
/** Columns of a product that are so few that rows become lanes on every target. */
const FEW_COLUMNS = 4;

/** Rows that go together: a part of all of them without remainder, or none where there is no such part. */
export function blockOf(rows: number): number | undefined {
  if (rows < LEAST_ROWS) return undefined;
  for (let block = Math.min(MOST_IN_BLOCK, Math.floor(rows / LEAST_BLOCKS)); block >= MOST_IN_BLOCK / 4; block--)
    if (rows % block === 0) return block;
  return undefined;
}

/** Whether columns are taken in whole vectors, or rows are, whatever the width of vectors. */
const fitsVectors = (rows: number, columns: number): boolean =>
  columns % WHOLE_COLUMNS === 0 || (columns <= FEW_COLUMNS && rows >= WHOLE_COLUMNS);

function rowsOfSum(node: MatmulNode | ReduceNode): number | undefined {
  if (node.kind === "reduce")
    return node.op === "add" && node.axes.length === 1 && node.axes[0] === 0 ? node.input.shape[0] : undefined;
  const [m, n] = node.shape as [number, number];
  return isTurned(node.a) && fitsVectors(m, n) ? node.a.shape[1] : undefined;
}

/** A sum's parts, [parts, elements], and what adds them up; undefined where it is taken as a whole. */
export function inParts<N extends MatmulNode | ReduceNode>(
  node: N,
): { readonly parts: N; readonly total: ReduceNode } | undefined {
  const elements = elementsOf(node.shape);
  const rows = rowsOfSum(node) ?? 0;
  const inPart = blockOf(rows) ?? 0;
  const count = rows / inPart;
  if (node.parts || elements < 2 || !(count * elements <= MOST_IN_PARTS)) return undefined;
  if (elements >= LARGE_SUM && inPart < MOST_IN_BLOCK) return undefined;
  const parts: N = { ...node, shape: [count, elements], parts: count };
  const { id, dtype, block } = node;
  return {
    parts,
    total: { kind: "reduce", op: "add", input: parts as Node, axes: [0], shape: [elements], id, dtype, block },
  };
}
