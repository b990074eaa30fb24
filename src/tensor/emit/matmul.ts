/**
 * @file Matrix products: tiles of rows, vectors of columns, and the inner axis in order.
 *
 * A tile keeps its sums in registers: some rows times as many vectors of columns as the machine's registers allow.
 * Products are added in the order of the inner axis whatever the tile, so that the machine changes no bit; with fused
 * numerics each is one `fma`. A second factor that is too large for the nearest cache, or does not lie row after row, is
 * first packed into panels as wide as a tile, each of which then stays near for some rows. Columns that do not fill a
 * vector are padded, in memory of their own.
 */
import { type Builder, binary, buffer, constant, get, i32, load, store } from "../../ir/build.ts";
import type { Buffer, Expr, Local } from "../../ir/nodes.ts";
import { isTurned } from "../costs.ts";
import type { MatmulNode, Node } from "../nodes.ts";
import type { Location, Placed } from "../plan.ts";
import { bySubscripts, type ElementContext, Elements, plus, productAdded, times } from "./elements.ts";
import type { Window } from "./loops.ts";

/** What a product needs to know of the machine. */
export interface TileMachine {
  /** f32 lanes of a vector; 1 without vectors. */
  readonly lanes: number;
  /** Rows of a tile, and vectors of columns. */
  readonly rows: number;
  readonly vectors: number;
  readonly fused: boolean;
}

/** Elements of a second factor up to which it stays in the nearest cache, however it lies. */
const NEAR_ELEMENTS = 6144;
/** The same for the second cache, which is near enough where the columns of a tile are several whole lines. */
const SECOND_ELEMENTS = 65_536;
const LINE_ELEMENTS = 16;
const SEVERAL_LINES = 4 * LINE_ELEMENTS;
/** Tiles of rows from which on packing pays; where the columns of a tile are whole lines of a cache it pays later. */
const PACKED_TILES = 4;
const PACKED_TILES_OF_LINES = 8;
/** Tiles that go through all panels together: few enough for their rows to stay in the second cache. */
const CHUNK_TILES = 8;
/** As many rows, or more, where a tile has few of them for the width of its vectors. */
const chunkTiles = ({ lanes }: TileMachine): number => Math.max(CHUNK_TILES, lanes);
/** Elements of both factors that a chunk of rows and a panel of columns work on together in a block of the inner axis. */
const BLOCK_ELEMENTS = 8192;

interface Job {
  readonly b: Builder;
  readonly node: MatmulNode;
  readonly into: Location;
  readonly context: ElementContext;
  readonly machine: TileMachine;
  readonly rows: Rows;
  /** The first row that is computed, and how many are. */
  readonly first: Expr;
  readonly m: number;
  readonly n: number;
  readonly inner: number;
}
/** Computes rows; the second factor lies as it has to. */
type RowsOf = (job: Job) => void;

/** A row of the first factor and of results: its number, and where a copy of it begins. */
interface Row {
  readonly number: Expr;
  readonly within: Expr;
}
const below = ({ number, within }: Row, r: number): Row => ({
  number: plus(number, i32(r)),
  within: plus(within, i32(r)),
});
const rowAt = (number: Expr): Row => ({ number, within: number });

/** How the first factor is read: by row and place along the inner axis. */
type Rows = (elements: Elements, row: Row, k: Expr) => Expr;

/** Columns next to each other: how the second factor is read there, and where results go. */
interface Columns {
  readonly count: number;
  readonly factor: (elements: Elements, k: Expr, j: Expr) => Expr;
  readonly result: (row: Expr, j: Expr) => { readonly into: Location; readonly at: Expr };
}

/**
 * Lays the second factor as it has to lie, and gives what computes rows then: all of them, or those of a window. Rows of
 * a window are neither few nor columns in memory.
 */
export function prepareMatmul(
  b: Builder,
  { node, into }: Placed<MatmulNode>,
  context: ElementContext,
  machine: TileMachine,
): (window?: Window) => void {
  const [m, n] = node.shape as [number, number];
  const inner = node.a.shape[1] as number;
  const job: Job = { b, node, into, context, machine, rows: rowsOf(node.a, context), first: i32(0), m, n, inner };
  const parts = m === 0 || n === 0 ? [] : partsOf(job);
  return (window) => {
    const own = window ? { ...job, first: window.first, m: window.count } : job;
    for (const part of parts) part(own);
  };
}
function partsOf(job: Job): RowsOf[] {
  const { node, context, machine, m, n } = job;
  const { lanes } = machine;
  if (isTurned(node.a) && n <= machine.rows && m >= lanes) return [turned];
  const whole = n - (n % lanes);
  const isNear = context.locations.has(node.b) && (depthFor(job, whole) !== undefined || !isFar(job, whole));
  const near: RowsOf[] = whole > 0 ? [(own) => rowsTimes(own, columnsFrom(job, 0, whole))] : [];
  return [...(isNear ? near : packed(job, whole)), ...(n > whole ? [odd(job, whole)] : [])];
}

/**
 * The first factor as it lies. Elements are loaded where they are used, without a name: there are machines that load
 * one number to all lanes at once.
 */
function rowsOf(a: Node, { locations }: ElementContext): Rows {
  const [m, inner] = a.shape as [number, number];
  const own = locations.get(a);
  if (own) return (_, { number }, k) => load(own.buffer, plus(plus(times(number, inner), k), i32(own.offset)));
  const under = a.kind === "view" && isTurned(a) ? locations.get(a.input) : undefined;
  const whole = a.kind === "view" && a.input.shape[0] === inner && a.input.shape[1] === m;
  if (under && whole)
    return (_, { number }, k) => load(under.buffer, plus(plus(times(k, m), number), i32(under.offset)));
  return (elements, { number }, k) => elements.at(a, bySubscripts([number, k]));
}

/** Whether a second factor of so many columns is better packed. */
function isFar({ machine: { lanes, vectors, rows }, m, inner }: Job, columns: number): boolean {
  const width = lanes * vectors;
  const tiles = width < LINE_ELEMENTS ? PACKED_TILES : PACKED_TILES_OF_LINES;
  return columns * inner > (width < SEVERAL_LINES ? NEAR_ELEMENTS : SECOND_ELEMENTS) && m >= tiles * rows;
}

/** Columns of the second factor as it lies. */
const columnsFrom = ({ node, into, n }: Job, first: number, count: number): Columns => ({
  count,
  factor: (elements, k, j) => elements.at(node.b, bySubscripts([k, plus(j, i32(first))])),
  result: (row, j) => ({ into, at: plus(plus(times(row, n), j), i32(into.offset + first)) }),
});

const temporary = (name: string, { dtype, id }: MatmulNode, length: number): Location => ({
  buffer: buffer(`${name}${id}`, dtype === "f64" ? "f64" : "f32", "temp", length),
  offset: 0,
});

// Rows

/** All rows times some columns: whole tiles, then what is left as a smaller one. */
function rowsTimes(job: Job, columns: Columns): void {
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
function alone({ b }: Job, body: () => void): void {
  b.for("alone", { begin: i32(0), end: i32(1), axis: "parallel" }, body);
}
/**
 * How long blocks of the inner axis are; none unless the first factor lies column after column, as in gradients of
 * weights, and is long: then each step along the inner axis is to new lines of both factors, and what fits into the
 * nearest cache has to serve a whole chunk of rows.
 */
function depthFor({ node, machine, inner }: Job, columns: number): number | undefined {
  const most = Math.floor(BLOCK_ELEMENTS / (columns + chunkTiles(machine) * machine.rows));
  if (!isTurned(node.a) || most < 2 * LINE_ELEMENTS || inner < 2 * most) return undefined;
  // Blocks of equal length where there are such.
  for (let depth = most; depth > most / 2; depth--) if (inner % depth === 0) return depth;
  return most;
}
/** What is done for each block of the inner axis, one after the other. */
function eachBlock({ b, inner }: Job, depth: number, body: (block: Block) => void): void {
  const blocks = Math.floor(inner / depth);
  b.for("block", { begin: i32(0), end: i32(blocks) }, (at) => {
    body({ begin: b.let("begin", times(at, depth)), count: depth });
  });
  if (inner > blocks * depth) body({ begin: i32(blocks * depth), count: inner - blocks * depth });
}
/** Tiles of a chunk, at most so many: as many in each as in any other, where that is not much less. */
function evenly(tiles: number, most: number): number {
  for (let together = Math.min(tiles, most); together > most / 2; together--)
    if (tiles % together === 0) return together;
  return most;
}
/** Tiles of a chunk: so many together, or what is left of all. */
function tilesIn({ b }: Job, chunk: Expr, all: number, together: number): Expr {
  if (all % together === 0) return i32(together);
  return b.let("end", binary("min", plus(i32(all), times(chunk, -together)), i32(together)));
}
/** Chunks of rows, each through the inner axis block by block. */
function blocksOfRows(job: Job, columns: Columns, depth: number): void {
  const { b, m, machine } = job;
  const rows = rowsFor(columns, machine);
  const whole = Math.floor(m / rows);
  zero(job, columns);
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
function zero({ b, node, m }: Job, columns: Columns): void {
  b.for("i", { begin: i32(0), end: i32(m), axis: "parallel" }, (i) => {
    b.for("j", { begin: i32(0), end: i32(columns.count), axis: "parallel" }, (j) => {
      const { into, at } = columns.result(i, j);
      b.store(into.buffer, at, constant(node.dtype, 0));
    });
  });
}
/** A single vector of columns leaves registers for more rows, where the compiler knows how to use them. */
const rowsFor = ({ count }: Columns, { lanes, rows, vectors }: TileMachine): number =>
  count <= lanes && lanes >= 8 ? rows * vectors : rows;

/** A part of the inner axis; sums go on from what results hold already. */
interface Block {
  readonly begin: Expr;
  readonly count: number;
}

/** Some rows times some columns: all of the inner axis, or a block of it. */
function tile(job: Job, columns: Columns, first: Row, count: number, block?: Block): void {
  const { b, node, context, rows, inner } = job;
  const { dtype } = node;
  b.for("j", { begin: i32(0), end: i32(columns.count), axis: "parallel" }, (j) => {
    const sums = Array.from({ length: count }, (_, r): Local => {
      const sum = b.local(`sum${r}`, dtype);
      const { into, at } = columns.result(below(first, r).number, j);
      b.assign(sum, block ? load(into.buffer, at) : constant(dtype, 0));
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
      const { into, at } = columns.result(below(first, r).number, j);
      b.emit(store(into.buffer, at, get(sum)));
    });
  });
}
/**
 * A first factor that lies column after column, and few columns of results: vectors of rows instead, each column of
 * results a row of the tile.
 */
function turned(job: Job): void {
  // Few vectors of rows keep a core busy only all together.
  if (job.m < TURNED_ROWS) alone(job, () => turnedRows(job));
  else turnedRows(job);
}
const TURNED_ROWS = 512;

function turnedRows({ b, node, into, context, m, n, inner }: Job): void {
  const { dtype } = node;
  const at = context.locations.get(node.b);
  b.for("i", { begin: i32(0), end: i32(m), axis: "parallel" }, (i) => {
    const sums = Array.from({ length: n }, (_, j): Local => {
      const sum = b.local(`sum${j}`, dtype);
      b.assign(sum, constant(dtype, 0));
      return sum;
    });
    b.for("k", { begin: i32(0), end: i32(inner) }, (k) => {
      const elements = new Elements(b, context);
      const x = b.let("x", elements.at(node.a, bySubscripts([i, k])));
      sums.forEach((sum, j) => {
        const y = at
          ? load(at.buffer, plus(times(k, n), i32(at.offset + j)))
          : elements.at(node.b, bySubscripts([k, i32(j)]));
        b.assign(sum, productAdded(get(sum), x, y, context.fused));
      });
    });
    sums.forEach((sum, j) => {
      b.store(into.buffer, plus(times(i, n), i32(into.offset + j)), get(sum));
    });
  });
}

// Panels

/** Columns in panels: all that are as wide as a tile, then what is left of whole vectors. */
function packed(job: Job, whole: number): RowsOf[] {
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
  const { b, node, context, inner } = job;
  const { first, panels: count, width } = panels;
  const { buffer: copy } = temporary(`panels${first}_`, node, count * inner * width);
  b.for("p", { begin: i32(0), end: i32(count), axis: "parallel" }, (p) => {
    b.for("k", { begin: i32(0), end: i32(inner) }, (k) => {
      b.for("j", { begin: i32(0), end: i32(width), axis: "parallel" }, (j) => {
        const column = plus(plus(times(p, width), j), i32(first));
        const value = new Elements(b, context).at(node.b, bySubscripts([k, column]));
        b.store(copy, plus(plus(times(p, inner * width), times(k, width)), j), value);
      });
    });
  });
  return (own) => chunksOfRows(own, panels, copy);
}

/** What is done for each panel. */
function eachPanel({ b, into, n, inner }: Job, panels: Panels, copy: Buffer, body: (columns: Columns) => void): void {
  const { first, panels: count, width } = panels;
  // What stays the same inside of a loop is computed before it: short bodies let more vectors go side by side.
  const columnsOf = (p: Expr): Columns => {
    const [panel, column] = [b.let("panel", times(p, inner * width)), b.let("column", times(p, width))];
    return {
      count: width,
      factor: (_, k, j) => load(copy, plus(plus(panel, times(k, width)), j)),
      result: (row, j) => ({ into, at: plus(plus(plus(times(row, n), column), j), i32(into.offset + first)) }),
    };
  };
  if (count === 1) return body(columnsOf(i32(0)));
  b.for("p", { begin: i32(0), end: i32(count), axis: "parallel" }, (p) => body(columnsOf(p)));
}

function chunksOfRows(job: Job, panels: Panels, copy: Buffer): void {
  const { b, node, m, first, inner, machine } = job;
  const { rows } = machine;
  const tiles = Math.floor(m / rows);
  const together = evenly(tiles, chunkTiles(machine));
  const chunks = Math.ceil(tiles / together);
  const far = isTurned(node.a) && m * inner > NEAR_ELEMENTS && panels.panels >= PACKED_TILES;
  const copies = far ? copiedRows(job, panels.first, together) : undefined;
  const depth = tiles > 1 ? depthFor(job, panels.width) : undefined;
  if (depth) eachPanel(job, panels, copy, (columns) => zero(job, columns));
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
function copiedRows({ b, node, context, machine, m, inner }: Job, first: number, together: number): CopiedRows {
  const width = together * machine.rows;
  const chunks = Math.ceil(Math.floor(m / machine.rows) / together);
  const { buffer: copy } = temporary(`rows${first}_`, node, chunks * inner * width);
  const whole = Math.floor(m / width);
  const copied = (chunk: Expr, count: number): void => {
    b.for("k", { begin: i32(0), end: i32(inner), axis: "parallel" }, (k) => {
      b.for("i", { begin: i32(0), end: i32(count), axis: "parallel" }, (i) => {
        const value = new Elements(b, context).at(node.a, bySubscripts([plus(times(chunk, width), i), k]));
        b.store(copy, plus(plus(times(chunk, inner * width), times(k, width)), i), value);
      });
    });
  };
  if (whole > 0) b.for("chunk", { begin: i32(0), end: i32(whole), axis: "parallel" }, (chunk) => copied(chunk, width));
  if (whole < chunks) copied(i32(whole), m - whole * width);
  return { length: inner * width, rows: (_, { within }, k) => load(copy, plus(times(k, width), within)) };
}
interface CopiedRows {
  readonly rows: Rows;
  /** Elements of a chunk. */
  readonly length: number;
}

// Columns that do not fill a vector

/** The last columns, fewer than a vector has lanes: copied to rows of a whole vector; what stands behind does not matter. */
function odd(job: Job, from: number): RowsOf {
  const { b, node, context, machine, m, n, inner } = job;
  const { lanes } = machine;
  const count = n - from;
  const at = context.locations.get(node.b);
  if (m < machine.rows && inner > 1 && at) return (own) => fewRows(own, from, at);
  const { buffer: copy } = temporary("columns", node, inner * lanes);
  b.for("k", { begin: i32(0), end: i32(inner), axis: "parallel" }, (k) => {
    b.for("j", { begin: i32(0), end: i32(count), axis: "parallel" }, (j) => {
      const value = new Elements(b, context).at(node.b, bySubscripts([k, plus(j, i32(from))]));
      b.store(copy, plus(times(k, lanes), j), value);
    });
  });
  const results = temporary("padded", node, m * lanes);
  const columns: Columns = {
    count: lanes,
    factor: (_, k, j) => load(copy, plus(times(k, lanes), j)),
    result: (row, j) => ({ into: results, at: plus(times(row, lanes), j) }),
  };
  return (own) => {
    rowsTimes(own, columns);
    b.for("i", { begin: i32(0), end: i32(own.m), axis: "parallel" }, (i) => {
      const row = b.let("row", plus(own.first, i));
      b.for("j", { begin: i32(0), end: i32(count), axis: "parallel" }, (j) => {
        storeOdd(job, row, plus(j, i32(from)), load(results.buffer, plus(times(row, lanes), j)));
      });
    });
  };
}
function storeOdd({ b, into, n }: Job, row: Expr, column: Expr, value: Expr): void {
  b.store(into.buffer, plus(plus(times(row, n), column), i32(into.offset)), value);
}

/**
 * The same without a copy, where rows are few: vectors reach into the next row of the second factor, as far as there is
 * one; what is left of the inner axis then goes column by column.
 */
function fewRows(job: Job, first: number, at: Location): void {
  const { b, node, context, machine, m, n, inner } = job;
  const { lanes } = machine;
  const safe = Math.max(0, Math.floor((inner * n - first - lanes) / n) + 1);
  const results = temporary("sums", node, m * lanes);
  const columns: Columns = {
    count: lanes,
    factor: (_, k, j) => load(at.buffer, plus(plus(times(k, n), j), i32(at.offset + first))),
    result: (row, j) => ({ into: results, at: plus(times(row, lanes), j) }),
  };
  if (safe > 0) rowsTimes({ ...job, inner: safe }, columns);
  for (let i = 0; i < m; i++)
    for (let j = 0; j < n - first; j++) {
      const sum = b.local("sum", node.dtype);
      b.assign(sum, safe > 0 ? load(results.buffer, i32(i * lanes + j)) : constant(node.dtype, 0));
      b.for("k", { begin: i32(safe), end: i32(inner) }, (k) => {
        const elements = new Elements(b, context);
        const [x, y] = [
          elements.at(node.a, bySubscripts([i32(i), k])),
          elements.at(node.b, bySubscripts([k, i32(first + j)])),
        ];
        b.assign(sum, productAdded(get(sum), x, y, context.fused));
      });
      storeOdd(job, i32(i), i32(first + j), get(sum));
    }
}
