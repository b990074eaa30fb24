/**
 * @file The second factor of a matrix product in panels as wide as a tile: packed once, and each then stays near for the
 * rows of a chunk.
 */
import { i32, load } from "../../ir/build.ts";
import type { Expr } from "../../ir/nodes.ts";
import { isTurned } from "../costs.ts";
import { bySubscripts, Elements, plus, times } from "./elements.ts";
import {
  type Block,
  type Columns,
  chunkTiles,
  depthFor,
  eachBlock,
  evenly,
  type Job,
  LINE_ELEMENTS,
  type Rows,
  type RowsOf,
  rowAt,
  type Scratch,
  scratch,
  tile,
  tilesIn,
} from "./tiles.ts";

/** Elements of a second factor up to which it stays in the nearest cache, however it lies. */
const NEAR_ELEMENTS = 6144;
/** The same for the second cache, which is near enough where the columns of a tile are several whole lines. */
const SECOND_ELEMENTS = 65_536;
const SEVERAL_LINES = 4 * LINE_ELEMENTS;
/** Tiles of rows from which on packing pays; where the columns of a tile are whole lines of a cache it pays later. */
const PACKED_TILES = 4;
const PACKED_TILES_OF_LINES = 8;

/** The same for a part, of which few columns are taken at a time. */
const NEAR_IN_PART = 16_384;

/** Lanes from which on eight columns are turned at a time. */
const WIDE_LANES = 8;

/** Whether a second factor of so many columns is better packed. */
export function isFar({ machine: { lanes, vectors, rows }, m, inner, parts }: Job, columns: number): boolean {
  const width = lanes * vectors;
  const tiles = width < LINE_ELEMENTS ? PACKED_TILES : PACKED_TILES_OF_LINES;
  const near = parts > 1 ? NEAR_IN_PART : NEAR_ELEMENTS;
  return columns * inner > (width < SEVERAL_LINES ? near : SECOND_ELEMENTS) && m >= tiles * rows;
}

/** Columns in panels: all that are as wide as a tile, then what is left of whole vectors. */
export function packed(job: Job, whole: number): RowsOf[] {
  const width = job.machine.lanes * job.machine.vectors;
  const panels = Math.floor(whole / width);
  const all = panels > 0 ? [throughPanels(job, { first: 0, panels, width })] : [];
  const rest = whole - panels * width;
  return rest > 0 ? [...all, throughPanels(job, { first: panels * width, panels: 1, width: rest })] : all;
}

interface Panels {
  /** Of all columns. */
  readonly first: number;
  readonly panels: number;
  readonly width: number;
}

/** Packs; then a few tiles of rows at a time go through all panels. */
function throughPanels(job: Job, panels: Panels): RowsOf {
  const copy = scratch(job, `panels${panels.first}_`, panels.panels * job.inner * panels.width);
  pack(job, panels, copy);
  return (own) => chunksOfRows(own, panels, copy);
}

function pack({ b, node, context, inner, from, machine }: Job, panels: Panels, copy: Scratch): void {
  const { first, panels: count, width } = panels;
  const write = (p: Expr, k: Expr, j: Expr, beside = 0): void => {
    const column = plus(plus(times(p, width), j), i32(first + beside));
    const value = new Elements(b, context).at(node.b, bySubscripts([plus(from, k), column]));
    const row = plus(plus(copy.base, times(p, inner * width)), times(k, width));
    b.store(copy.buffer, plus(plus(row, j), i32(beside)), value);
  };
  const asItLies = (p: Expr): void => {
    b.for("k", { begin: i32(0), end: i32(inner) }, (k) => {
      b.for("j", { begin: i32(0), end: i32(width), axis: "parallel" }, (j) => write(p, k, j));
    });
  };
  // Neighbours in memory are rows of the copy: a few columns at a time are turned in registers.
  const strip = machine.lanes >= WIDE_LANES ? 8 : 4;
  const turned = (p: Expr): void => {
    b.for("strip", { begin: i32(0), end: i32(width / strip) }, (at) => {
      const j = b.let("column", times(at, strip));
      b.for("k", { begin: i32(0), end: i32(inner), axis: "parallel" }, (k) => {
        for (let c = 0; c < strip; c++) write(p, k, j, c);
      });
    });
  };
  const panel = isTurned(node.b) && width % strip === 0 ? turned : asItLies;
  b.for("p", { begin: i32(0), end: i32(count), axis: "parallel" }, panel);
}

/** What is done for each panel. */
function eachPanel(
  { b, into, n, inner, base }: Job,
  panels: Panels,
  copy: Scratch,
  body: (columns: Columns) => void,
): void {
  const { first, panels: count, width } = panels;
  // What stays the same inside of a loop is computed before it: short bodies let more vectors go side by side.
  const columnsOf = (p: Expr): Columns => {
    const [panel, column] = [
      b.let("panel", plus(copy.base, times(p, inner * width))),
      b.let("column", times(p, width)),
    ];
    return {
      count: width,
      number: (j) => plus(plus(column, j), i32(first)),
      factor: (_, k, j) => load(copy.buffer, plus(plus(panel, times(k, width)), j)),
      result: (row, j) => ({ into, at: plus(plus(plus(times(row, n), column), j), plus(base, i32(first))) }),
    };
  };
  if (count === 1) return body(columnsOf(i32(0)));
  b.for("p", { begin: i32(0), end: i32(count), axis: "parallel" }, (p) => body(columnsOf(p)));
}

function chunksOfRows(job: Job, panels: Panels, copy: Scratch): void {
  const { b, node, m, first, inner, machine } = job;
  const { rows } = machine;
  const tiles = Math.floor(m / rows);
  const together = evenly(tiles, chunkTiles(machine));
  const chunks = Math.ceil(tiles / together);
  const far = isTurned(node.a) && m * inner > NEAR_ELEMENTS && panels.panels >= PACKED_TILES;
  const copies = far ? copiedRows(job, panels.first, together) : undefined;
  const depth = tiles > 1 ? depthFor(job, panels.width) : undefined;
  if (tiles > 0)
    b.for("chunk", { begin: i32(0), end: i32(chunks), axis: "parallel" }, (chunk) => {
      const end = tilesIn(job, chunk, tiles, together);
      const own = copies ? { ...job, rows: copies.rows } : job;
      const throughAll = (block?: Block): void =>
        eachPanel(job, panels, copy, (columns) => {
          b.for("t", { begin: i32(0), end }, (t) => {
            const number = b.let("row", plus(plus(first, times(chunk, together * rows)), times(t, rows)));
            const within = copies ? b.let("within", plus(times(chunk, copies.length), times(t, rows))) : number;
            tile(own, columns, { number, within }, rows, block);
          });
        });
      if (depth) eachBlock(job, depth, throughAll);
      else throughAll();
    });
  const behind = m - tiles * rows;
  if (behind > 0)
    eachPanel(job, panels, copy, (columns) => {
      tile(job, columns, rowAt(b.let("row", plus(first, i32(tiles * rows)))), behind);
    });
}

/**
 * A first factor that lies column after column, copied so that the rows of a chunk are side by side: as it lies, every
 * step along the inner axis would be to a place far away. What stands behind the last row does not matter.
 */
function copiedRows(job: Job, first: number, together: number): CopiedRows {
  const { b, node, context, machine, m, inner, from } = job;
  const width = together * machine.rows;
  const chunks = Math.ceil(Math.floor(m / machine.rows) / together);
  const { buffer: copy, base } = scratch(job, `rows${first}_`, chunks * inner * width);
  const whole = Math.floor(m / width);
  const copied = (chunk: Expr, count: number): void => {
    b.for("k", { begin: i32(0), end: i32(inner), axis: "parallel" }, (k) => {
      b.for("i", { begin: i32(0), end: i32(count), axis: "parallel" }, (i) => {
        const value = new Elements(b, context).at(node.a, bySubscripts([plus(times(chunk, width), i), plus(from, k)]));
        b.store(copy, plus(plus(plus(base, times(chunk, inner * width)), times(k, width)), i), value);
      });
    });
  };
  if (whole > 0) b.for("chunk", { begin: i32(0), end: i32(whole), axis: "parallel" }, (chunk) => copied(chunk, width));
  if (whole < chunks) copied(i32(whole), m - whole * width);
  return { length: inner * width, rows: (_, { within }, k) => load(copy, plus(plus(base, times(k, width)), within)) };
}
interface CopiedRows {
  readonly rows: Rows;
  /** Elements of a chunk. */
  readonly length: number;
}
