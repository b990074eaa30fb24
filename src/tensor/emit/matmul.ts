/**
 * @file Matrix products: which way suits their shapes and how their factors lie.
 *
 * A second factor that is too large for the nearest cache, or does not lie row after row, is packed into panels
 * (panels.ts); otherwise tiles take it as it lies (tiles.ts). Columns that do not fill a vector are padded, in memory of
 * their own.
 */
import { type Builder, constant, get, i32, load } from "../../ir/build.ts";
import type { Expr, Local } from "../../ir/nodes.ts";
import { isTurned } from "../costs.ts";
import type { MatmulNode, Node } from "../nodes.ts";
import type { Location, Work } from "../plan.ts";
import { bySubscripts, type ElementContext, Elements, plus, productAdded, stored, times } from "./elements.ts";
import { eachPart, type Window } from "./loops.ts";
import { isFar, packed } from "./panels.ts";
import { isSingleRow, singleRow } from "./row.ts";
import { thin } from "./thin.ts";
import {
  alone,
  type Columns,
  depthFor,
  type Job,
  type Rows,
  type RowsOf,
  rowsTimes,
  type TileMachine,
  temporary,
} from "./tiles.ts";

/**
 * Lays the second factor as it has to lie, and gives what computes rows then: all of them, or those of a window. Rows of
 * a window are neither few nor columns in memory.
 */
export function prepareMatmul(
  b: Builder,
  { result: { node, into }, finish: value }: Extract<Work, { kind: "matmul" }>,
  context: ElementContext,
  machine: TileMachine,
): (window?: Window) => void {
  const [m, inner] = node.a.shape as [number, number];
  const n = node.b.shape[1] as number;
  const finish = value && finishing(b, node, value, context);
  const rows = rowsOf(node.a, context);
  const [first, from, base, number] = [i32(0), i32(0), i32(into.offset), i32(0)];
  const job: Job = {
    b,
    node,
    into,
    context,
    machine,
    rows,
    finish,
    first,
    m,
    n,
    inner,
    from,
    base,
    part: number,
    parts: 1,
  };
  const { parts } = node;
  if (parts) return (window) => eachPart(b, parts, inner, window, (own) => part(job, own));
  const ways = m === 0 || n === 0 ? [] : waysOf(job);
  return (window) => {
    const own = window ? { ...job, first: window.first, m: window.count } : job;
    for (const way of ways) way(own);
  };
}
function waysOf(job: Job): RowsOf[] {
  const { node, context, machine, m, n } = job;
  const { lanes } = machine;
  const asThin = thin(job);
  if (asThin) return [asThin];
  if (isTurned(node.a) && n <= machine.rows && m >= lanes) return [turned];
  const whole = n - (n % lanes);
  const isNear = context.locations.has(node.b) && (depthFor(job, whole) !== undefined || !isFar(job, whole));
  const near: RowsOf[] = whole > 0 ? [(own) => asItLies(own, whole)] : [];
  return [...(isNear ? near : packed(job, whole)), ...(n > whole ? [odd(job, whole)] : [])];
}

/** Computes a value of a product's element. */
function finishing(b: Builder, node: MatmulNode, value: Node, context: ElementContext): Job["finish"] {
  return (row, column, product) => {
    const elements = new Elements(b, context);
    const index = bySubscripts([row, column]);
    elements.know(node, index, product);
    return stored(elements.compute(value, index));
  };
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

/** The products of a part of the inner axis: results of their own. */
function part(job: Job, { number, first, count }: Window): void {
  const { b, into, m, n, rows } = job;
  const own: Job = {
    ...job,
    rows: (elements, row, k) => rows(elements, row, plus(first, k)),
    inner: count,
    from: first,
    base: b.let("base", plus(times(number, m * n), i32(into.offset))),
    part: number,
    parts: job.inner / count,
  };
  for (const way of waysOf(own)) way(own);
}

/** Rows times the second factor as it lies; of a part, the columns of a tile stay in the nearest cache for all rows. */
function asItLies(job: Job, columns: number): void {
  const { b, machine, parts } = job;
  if (isSingleRow(job, columns)) return alone(job, () => singleRow(job, columnsFrom(job, i32(0), columns)));
  const width = machine.lanes * machine.vectors;
  if (parts === 1 || columns % width > 0) return rowsTimes(job, columnsFrom(job, i32(0), columns));
  b.for("panel", { begin: i32(0), end: i32(columns / width) }, (panel) => {
    rowsTimes(job, columnsFrom(job, b.let("column", times(panel, width)), width));
  });
}
const columnsFrom = ({ node, into, n, from, base }: Job, first: Expr, count: number): Columns => ({
  count,
  number: (j) => plus(first, j),
  factor: (elements, k, j) => elements.at(node.b, bySubscripts([plus(from, k), plus(first, j)])),
  result: (row, j) => ({ into, at: plus(plus(times(row, n), plus(first, j)), base) }),
});

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

function turnedRows({ b, node, into, context, m, n, inner, from, base }: Job): void {
  const { dtype } = node;
  const at = context.locations.get(node.b);
  b.for("i", { begin: i32(0), end: i32(m), axis: "parallel" }, (i) => {
    const sums = Array.from({ length: n }, (_, j): Local => {
      const sum = b.local(`sum${j}`, dtype);
      b.assign(sum, constant(dtype, 0));
      return sum;
    });
    b.for("within", { begin: i32(0), end: i32(inner) }, (within) => {
      const k = plus(from, within);
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
      b.store(into.buffer, plus(plus(times(i, n), i32(j)), base), get(sum));
    });
  });
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
    number: (j) => plus(j, i32(from)),
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
    number: (j) => plus(j, i32(first)),
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
