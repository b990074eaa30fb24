/**
 * @file Matrix products: tiles of rows, vectors of columns, and the inner axis in order.
 *
 * A tile keeps its sums in registers: some rows times as many vectors of columns as the machine's registers allow.
 * Products are added in the order of the inner axis whatever the tile, so that the machine changes no bit; with fused
 * numerics each is one `fma`. A second factor that is too large for the nearest cache, or does not lie row after row, is
 * first packed into panels as wide as a tile, each of which then stays near for some rows. Columns that do not fill a
 * vector are padded, in memory of their own.
 */
import { add, type Builder, binary, buffer, constant, fma, get, i32, load, mul, store } from "../../ir/build.ts";
import type { Expr, Local } from "../../ir/nodes.ts";
import type { MatmulNode, Node } from "../nodes.ts";
import type { Location, Placed } from "../plan.ts";
import { bySubscripts, type ElementContext, Elements, plus, times } from "./elements.ts";

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
/** Tiles of rows from which on packing pays: it costs about as much as one of them. */
const PACKED_TILES = 4;
/** Tiles that go through all panels together: few enough for their rows to stay in the second cache. */
const CHUNK_TILES = 8;

interface Job {
  readonly b: Builder;
  readonly node: MatmulNode;
  readonly into: Location;
  readonly context: ElementContext;
  readonly machine: TileMachine;
  readonly m: number;
  readonly n: number;
  readonly inner: number;
}

/** Columns next to each other: how the second factor is read there, and where results go. */
interface Columns {
  readonly count: number;
  readonly factor: (elements: Elements, k: Expr, j: Expr) => Expr;
  readonly result: (row: Expr, j: Expr) => { readonly into: Location; readonly at: Expr };
}

export function emitMatmul(
  b: Builder,
  { node, into }: Placed<MatmulNode>,
  context: ElementContext,
  machine: TileMachine,
): void {
  const [m, n] = node.shape as [number, number];
  const job: Job = { b, node, into, context, machine, m, n, inner: node.a.shape[1] as number };
  if (m === 0 || n === 0) return;
  const { lanes } = machine;
  const scattered = !context.locations.has(node.b);
  const width = isTurned(node.a) && n <= machine.rows && m >= lanes ? 0 : n;
  if (width === 0) return turned(job);
  const whole = n - (n % lanes);
  if (scattered || (whole * job.inner > NEAR_ELEMENTS && m >= PACKED_TILES * machine.rows)) packed(job, whole);
  else if (whole > 0) rowsTimes(job, columnsFrom(job, 0, whole));
  if (n > whole) odd(job, whole);
}

/** Whether a value's neighbours along the first axis are neighbours in memory. */
const isTurned = (node: Node): boolean =>
  node.kind === "view" &&
  node.axes.length === 2 &&
  node.axes.every(({ terms }, axis) => terms.length === 1 && terms[0]?.axis === 1 - axis && terms[0].step === 1);

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
  const { b, m, machine } = job;
  const rows = machine.rows;
  const whole = Math.floor(m / rows);
  if (whole === 1) tile(job, columns, i32(0), rows);
  else if (whole > 1)
    b.for("block", { begin: i32(0), end: i32(whole), axis: "parallel" }, (at) => {
      tile(job, columns, b.let("row", times(at, rows)), rows);
    });
  if (m > whole * rows) tile(job, columns, i32(whole * rows), m - whole * rows);
}
/** Some rows times some columns. */
function tile({ b, node, context, machine, inner }: Job, columns: Columns, first: Expr, count: number): void {
  const { dtype } = node;
  b.for("j", { begin: i32(0), end: i32(columns.count), axis: "parallel" }, (j) => {
    const sums = Array.from({ length: count }, (_, r): Local => {
      const sum = b.local(`sum${r}`, dtype);
      b.assign(sum, constant(dtype, 0));
      return sum;
    });
    b.for("k", { begin: i32(0), end: i32(inner) }, (k) => {
      const elements = new Elements(b, context);
      const y = b.let("y", columns.factor(elements, k, j));
      sums.forEach((sum, r) => {
        const x = elements.at(node.a, bySubscripts([plus(first, i32(r)), k]));
        b.assign(sum, added(sum, x, y, machine));
      });
    });
    sums.forEach((sum, r) => {
      const { into, at } = columns.result(plus(first, i32(r)), j);
      b.emit(store(into.buffer, at, get(sum)));
    });
  });
}
const added = (sum: Local, x: Expr, y: Expr, { fused }: TileMachine): Expr =>
  fused && sum.dtype === "f32" ? fma(x, y, get(sum)) : add(get(sum), mul(x, y));

/**
 * A first factor that lies column after column, and few columns of results: vectors of rows instead, each column of
 * results a row of the tile.
 */
function turned({ b, node, into, context, machine, m, n, inner }: Job): void {
  const { dtype } = node;
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
        b.assign(sum, added(sum, x, elements.at(node.b, bySubscripts([k, i32(j)])), machine));
      });
    });
    sums.forEach((sum, j) => {
      b.store(into.buffer, plus(times(i, n), i32(into.offset + j)), get(sum));
    });
  });
}

// Panels

/** Columns in panels: all that are as wide as a tile, then what is left of whole vectors. */
function packed(job: Job, whole: number): void {
  const width = job.machine.lanes * job.machine.vectors;
  const panels = Math.floor(whole / width);
  if (panels > 0) throughPanels(job, { first: 0, panels, width });
  if (whole > panels * width) throughPanels(job, { first: panels * width, panels: 1, width: whole - panels * width });
}

interface Panels {
  /** Of all columns. */
  readonly first: number;
  readonly panels: number;
  readonly width: number;
}

/** Packs, then takes a few tiles of rows at a time through all panels. */
function throughPanels(job: Job, { first, panels, width }: Panels): void {
  const { b, node, into, context, m, n, inner, machine } = job;
  const { buffer: copy } = temporary(`panels${first}_`, node, panels * inner * width);
  const place = (p: Expr, k: Expr, j: Expr): Expr => plus(plus(times(p, inner * width), times(k, width)), j);
  b.for("p", { begin: i32(0), end: i32(panels), axis: "parallel" }, (p) => {
    b.for("k", { begin: i32(0), end: i32(inner) }, (k) => {
      b.for("j", { begin: i32(0), end: i32(width), axis: "parallel" }, (j) => {
        const column = plus(plus(times(p, width), j), i32(first));
        b.store(copy, place(p, k, j), new Elements(b, context).at(node.b, bySubscripts([k, column])));
      });
    });
  });
  const columnsOf = (p: Expr): Columns => ({
    count: width,
    factor: (_, k, j) => load(copy, place(p, k, j)),
    result: (row, j) => ({ into, at: plus(plus(plus(times(row, n), times(p, width)), j), i32(into.offset + first)) }),
  });
  const eachPanel = (body: (columns: Columns) => void): void => {
    if (panels === 1) return body(columnsOf(i32(0)));
    b.for("p", { begin: i32(0), end: i32(panels) }, (p) => body(columnsOf(p)));
  };
  const rows = machine.rows;
  const tiles = Math.floor(m / rows);
  if (tiles > 0)
    b.for("chunk", { begin: i32(0), end: i32(Math.ceil(tiles / CHUNK_TILES)), axis: "parallel" }, (chunk) => {
      const begin = b.let("begin", times(chunk, CHUNK_TILES));
      const end = b.let("end", binary("min", plus(begin, i32(CHUNK_TILES)), i32(tiles)));
      eachPanel((columns) => {
        b.for("t", { begin, end }, (t) => tile(job, columns, b.let("row", times(t, rows)), rows));
      });
    });
  if (m > tiles * rows) eachPanel((columns) => tile(job, columns, i32(tiles * rows), m - tiles * rows));
}

// Columns that do not fill a vector

/** The last columns, fewer than a vector has lanes: copied to rows of a whole vector; what stands behind does not matter. */
function odd(job: Job, first: number): void {
  const { b, node, context, machine, m, n, inner } = job;
  const { lanes } = machine;
  const count = n - first;
  if (m < machine.rows && inner > 1) return fewRows(job, first);
  const { buffer: copy } = temporary("columns", node, inner * lanes);
  b.for("k", { begin: i32(0), end: i32(inner), axis: "parallel" }, (k) => {
    const elements = new Elements(b, context);
    for (let j = 0; j < count; j++)
      b.store(copy, plus(times(k, lanes), i32(j)), elements.at(node.b, bySubscripts([k, i32(first + j)])));
  });
  const results = temporary("padded", node, m * lanes);
  rowsTimes(job, {
    count: lanes,
    factor: (_, k, j) => load(copy, plus(times(k, lanes), j)),
    result: (row, j) => ({ into: results, at: plus(times(row, lanes), j) }),
  });
  b.for("i", { begin: i32(0), end: i32(m), axis: "parallel" }, (i) => {
    for (let j = 0; j < count; j++) storeOdd(job, i, first + j, load(results.buffer, plus(times(i, lanes), i32(j))));
  });
}
function storeOdd({ b, into, n }: Job, row: Expr, column: number, value: Expr): void {
  b.store(into.buffer, plus(times(row, n), i32(into.offset + column)), value);
}

/**
 * The same without a copy, where rows are few: vectors reach into the next row of the second factor, as far as there is
 * one; what is left of the inner axis then goes column by column.
 */
function fewRows(job: Job, first: number): void {
  const { b, node, context, machine, m, n, inner } = job;
  const { lanes } = machine;
  const safe = Math.max(0, Math.floor((inner * n - first - lanes) / n) + 1);
  const at = context.locations.get(node.b) as Location;
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
        b.assign(sum, added(sum, x, y, machine));
      });
      storeOdd(job, i32(i), first + j, get(sum));
    }
}
