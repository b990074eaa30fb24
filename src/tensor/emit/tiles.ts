/**
 * @file Tiles of matrix products: some rows times as many vectors of columns as the machine's registers allow.
 *
 * A tile keeps its sums in registers. Products are added in the order of the inner axis whatever the tile, so that the
 * machine changes no bit; with fused numerics each is one `fma`. Where each step along the inner axis is to new lines of
 * both factors, a chunk of rows goes through it block by block, and sums wait in memory.
 */
import { type Builder, binary, buffer, constant, get, i32, load, store } from "../../ir/build.ts";
import type { Buffer, Expr, Local } from "../../ir/nodes.ts";
import { isTurned } from "../costs.ts";
import type { MatmulNode } from "../nodes.ts";
import type { Location } from "../plan.ts";
import { type ElementContext, Elements, isZero, plus, productAdded, times } from "./elements.ts";

/** What a product needs to know of the machine. */
export interface TileMachine {
  /** f32 lanes of a vector; 1 without vectors. */
  readonly lanes: number;
  /** Rows of a tile, and vectors of columns. */
  readonly rows: number;
  readonly vectors: number;
  readonly fused: boolean;
  /** Threads that share work out: it changes where values lie, and no bit of them. */
  readonly threads: number;
}

export const LINE_ELEMENTS = 16;
/** Tiles that go through all panels together: few enough for their rows to stay in the second cache. */
const CHUNK_TILES = 8;
/** As many rows, or more, where a tile has few of them for the width of its vectors. */
export const chunkTiles = ({ lanes }: TileMachine): number => Math.max(CHUNK_TILES, lanes);
/** Elements of both factors that a chunk of rows and a panel of columns work on together in a block of the inner axis. */
const BLOCK_ELEMENTS = 8192;

export interface Job {
  readonly b: Builder;
  readonly node: MatmulNode;
  readonly into: Location;
  readonly context: ElementContext;
  readonly machine: TileMachine;
  readonly rows: Rows;
  /** What becomes of an element, where that is not the product itself. */
  readonly finish?: ((row: Expr, column: Expr, product: Expr) => Expr) | undefined;
  /** The first row that is computed, and how many are. */
  readonly first: Expr;
  readonly m: number;
  readonly n: number;
  /** How long the inner axis is, and where it begins: all of it, or a part. */
  readonly inner: number;
  readonly from: Expr;
  /** Where results begin. */
  readonly base: Expr;
  /** Which part it is, of how many: parts have copies of their own. */
  readonly part: Expr;
  readonly parts: number;
}
/** Memory of a product's own, and where in it this part's begins. */
export function scratch({ b, node, part, parts }: Job, name: string, length: number): Scratch {
  const { buffer } = temporary(name, node, parts * length);
  return { buffer, base: parts > 1 ? b.let("scratch", times(part, length)) : i32(0) };
}
export interface Scratch {
  readonly buffer: Buffer;
  readonly base: Expr;
}
/** Computes rows; the second factor lies as it has to. */
export type RowsOf = (job: Job) => void;

/** A row of the first factor and of results: its number, and where a copy of it begins. */
export interface Row {
  readonly number: Expr;
  readonly within: Expr;
}
const below = ({ number, within }: Row, r: number): Row => ({
  number: plus(number, i32(r)),
  within: plus(within, i32(r)),
});
export const rowAt = (number: Expr): Row => ({ number, within: number });

/** How the first factor is read: by row and place along the inner axis. */
export type Rows = (elements: Elements, row: Row, k: Expr) => Expr;

/** Columns next to each other: how the second factor is read there, and where results go. */
export interface Columns {
  readonly count: number;
  /** The number of a column among all. */
  readonly number: (j: Expr) => Expr;
  readonly factor: (elements: Elements, k: Expr, j: Expr) => Expr;
  readonly result: (row: Expr, j: Expr) => { readonly into: Location; readonly at: Expr };
}

export const temporary = (name: string, { dtype, id }: MatmulNode, length: number): Location => ({
  buffer: buffer(`${name}${id}`, dtype === "f64" ? "f64" : "f32", "temp", length),
  offset: 0,
});

/** All rows times some columns: whole tiles, then what is left as a smaller one. */
export function rowsTimes(job: Job, columns: Columns): void {
  const { b, m, first, machine } = job;
  const rows = rowsFor(columns, machine);
  const whole = Math.floor(m / rows);
  const depth = depthFor(job, columns.count);
  if (whole > 1 && depth) return blocksOfRows(job, columns, depth);
  if (whole > 0)
    b.for("block", { begin: i32(0), end: i32(whole), axis: "parallel" }, (at) => {
      tile(job, columns, rowAt(b.let("row", plus(first, times(at, rows)))), rows);
    });
  const behind = (): Row => rowAt(b.let("row", plus(first, i32(whole * rows))));
  if (m > whole * rows) alone(job, () => tile(job, columns, behind(), m - whole * rows));
}
/** What is not worth a second thread: columns of a single tile would be torn apart. */
export function alone({ b }: Job, body: () => void): void {
  b.for("alone", { begin: i32(0), end: i32(1), axis: "parallel" }, body);
}
/**
 * How long blocks of the inner axis are; none unless the first factor lies column after column, as in gradients of
 * weights, and is long: then each step along the inner axis is to new lines of both factors, and what fits into the
 * nearest cache has to serve a whole chunk of rows.
 */
export function depthFor({ node, machine, inner }: Job, columns: number): number | undefined {
  const most = Math.floor(BLOCK_ELEMENTS / (columns + chunkTiles(machine) * machine.rows));
  if (!isTurned(node.a) || most < 2 * LINE_ELEMENTS || inner < 2 * most) return undefined;
  // Blocks of equal length where there are such.
  for (let depth = most; depth > most / 2; depth--) if (inner % depth === 0) return depth;
  return most;
}
/** What is done for each block of the inner axis, one after the other; with the first one, sums begin. */
export function eachBlock({ b, inner }: Job, depth: number, body: (block: Block) => void): void {
  const blocks = Math.floor(inner / depth);
  body({ begin: i32(0), count: depth });
  if (blocks > 1)
    b.for("block", { begin: i32(1), end: i32(blocks) }, (at) => {
      body({ begin: b.let("begin", times(at, depth)), count: depth });
    });
  if (inner > blocks * depth) body({ begin: i32(blocks * depth), count: inner - blocks * depth });
}
/** Tiles of a chunk, at most so many: as many in each as in any other, where that is not much less. */
export function evenly(tiles: number, most: number): number {
  for (let together = Math.min(tiles, most); together > most / 2; together--)
    if (tiles % together === 0) return together;
  return most;
}
/** Tiles of a chunk: so many together, or what is left of all. */
export function tilesIn({ b }: Job, chunk: Expr, all: number, together: number): Expr {
  if (all % together === 0) return i32(together);
  return b.let("end", binary("min", plus(i32(all), times(chunk, -together)), i32(together)));
}
/** Chunks of rows, each through the inner axis block by block. */
function blocksOfRows(job: Job, columns: Columns, depth: number): void {
  const { b, m, machine } = job;
  const rows = rowsFor(columns, machine);
  const whole = Math.floor(m / rows);
  const together = evenly(whole, chunkTiles(machine));
  const chunks = Math.ceil(whole / together);
  const rest = m - whole * rows;
  const restOf = (row: Expr): void => eachBlock(job, depth, (block) => tile(job, columns, rowAt(row), rest, block));
  // What is left of the rows is a chunk of its own, where it begins as one: threads share that work, too.
  const joins = rest > 0 && whole % together === 0;
  b.for("chunk", { begin: i32(0), end: i32(joins ? chunks + 1 : chunks), axis: "parallel" }, (chunk) => {
    const first = b.let("first", times(chunk, together * rows));
    const end = tilesIn(job, chunk, whole, together);
    const tiles = (): void =>
      eachBlock(job, depth, (block) => {
        b.for("t", { begin: i32(0), end }, (t) => {
          tile(job, columns, rowAt(b.let("row", plus(first, times(t, rows)))), rows, block);
        });
      });
    if (joins) b.if(binary("lt", chunk, i32(chunks)), tiles, () => restOf(first));
    else tiles();
  });
  if (rest > 0 && !joins) alone(job, () => restOf(i32(whole * rows)));
}
/** A single vector of columns leaves registers for more rows, where the compiler knows how to use them. */
const rowsFor = ({ count }: Columns, { lanes, rows, vectors }: TileMachine): number =>
  count <= lanes && lanes >= 8 ? rows * vectors : rows;

/** A part of the inner axis; after the first one, sums go on from what results hold already. */
export interface Block {
  readonly begin: Expr;
  readonly count: number;
}

/** Some rows times some columns: all of the inner axis, or a block of it. */
export function tile(job: Job, columns: Columns, first: Row, count: number, block?: Block): void {
  const { b, node, context, rows, finish, inner } = job;
  const { dtype } = node;
  const goesOn = block !== undefined && !isZero(block.begin);
  b.for("j", { begin: i32(0), end: i32(columns.count), axis: "parallel" }, (j) => {
    const sums = Array.from({ length: count }, (_, r): Local => {
      const sum = b.local(`sum${r}`, dtype);
      const { into, at } = columns.result(below(first, r).number, j);
      b.assign(sum, goesOn ? load(into.buffer, at) : constant(dtype, 0));
      return sum;
    });
    const { begin, count: depth } = block ?? { begin: i32(0), count: inner };
    b.for("within", { begin: i32(0), end: i32(depth) }, (at) => {
      const k = block ? b.let("k", plus(begin, at)) : at;
      const elements = new Elements(b, context);
      const y = b.let("y", columns.factor(elements, k, j));
      sums.forEach((sum, r) => {
        b.assign(sum, productAdded(get(sum), rows(elements, below(first, r), k), y, context.fused));
      });
    });
    sums.forEach((sum, r) => {
      const row = below(first, r).number;
      const { into, at } = columns.result(row, j);
      b.emit(store(into.buffer, at, finish ? finish(row, columns.number(j), get(sum)) : get(sum)));
    });
  });
}
