/**
 * @file Matrix products: tiles of rows, vectors of columns, and the inner axis in order.
 *
 * A tile keeps its sums in registers: some rows (by the machine's registers) times as many vectors as the vectoriser
 * takes side by side. Products are added in the order of the inner axis whatever the tile, so that the machine changes no
 * bit; with fused numerics each is one `fma`. Few columns are padded to a whole vector, in memory of their own.
 */
import { add, type Builder, buffer, constant, fma, get, i32, load, mul, store } from "../../ir/build.ts";
import type { Expr, Local } from "../../ir/nodes.ts";
import type { MatmulNode } from "../nodes.ts";
import type { Location, Placed } from "../plan.ts";
import { bySubscripts, type ElementContext, Elements, plus, times } from "./elements.ts";

/** What a product needs to know of the machine. */
export interface TileMachine {
  /** f32 lanes of a vector; 1 without vectors. */
  readonly lanes: number;
  /** Rows of a tile. */
  readonly rows: number;
  readonly fused: boolean;
}

/** Columns up to which padding to whole vectors pays, in vectors. */
const PADDED_VECTORS = 4;

/** The columns of the second factor, as they are read; and where results go. */
interface Columns {
  readonly count: number;
  readonly factor: (elements: Elements, k: Expr, j: Expr) => Expr;
  readonly into: Location;
  /** Elements from a row of results to the next. */
  readonly stride: number;
}

export function emitMatmul(
  b: Builder,
  { node, into }: Placed<MatmulNode>,
  context: ElementContext,
  machine: TileMachine,
): void {
  const [m, n] = node.shape as [number, number];
  const plain: Columns = {
    count: n,
    factor: (elements, k, j) => elements.at(node.b, bySubscripts([k, j])),
    into,
    stride: n,
  };
  const odd = n % machine.lanes !== 0 && n < PADDED_VECTORS * machine.lanes && m >= machine.rows;
  if (!odd) return product(b, node, plain, context, machine);
  const padded = paddedColumns(b, node, context, machine);
  product(b, node, padded, context, machine);
  unpad(b, node, padded, into);
}

/** A copy of the second factor whose rows are whole vectors; what stands behind the columns does not matter. */
function paddedColumns(b: Builder, node: MatmulNode, context: ElementContext, { lanes }: TileMachine): Columns {
  const [m, n] = node.shape as [number, number];
  const inner = node.a.shape[1] as number;
  const count = Math.ceil(n / lanes) * lanes;
  const { buffer: columns } = temporary(`columns${node.id}`, node, inner * count);
  b.for("k", { begin: i32(0), end: i32(inner), axis: "parallel" }, (k) => {
    const elements = new Elements(b, context);
    for (let j = 0; j < n; j++)
      b.store(columns, plus(times(k, count), i32(j)), elements.at(node.b, bySubscripts([k, i32(j)])));
  });
  return {
    count,
    factor: (_, k, j) => load(columns, plus(times(k, count), j)),
    into: temporary(`padded${node.id}`, node, m * count),
    stride: count,
  };
}
const temporary = (name: string, { dtype }: MatmulNode, length: number): Location => ({
  buffer: buffer(name, dtype === "f64" ? "f64" : "f32", "temp", length),
  offset: 0,
});

function unpad(b: Builder, node: MatmulNode, { into: from, stride }: Columns, into: Location): void {
  const [m, n] = node.shape as [number, number];
  b.for("i", { begin: i32(0), end: i32(m), axis: "parallel" }, (i) => {
    for (let j = 0; j < n; j++)
      b.store(into.buffer, plus(times(i, n), i32(into.offset + j)), load(from.buffer, plus(times(i, stride), i32(j))));
  });
}

/** All rows: whole tiles, then what is left as a smaller one. */
function product(
  b: Builder,
  node: MatmulNode,
  columns: Columns,
  context: ElementContext,
  { rows, fused }: TileMachine,
): void {
  const m = node.shape[0] as number;
  const whole = Math.floor(m / rows);
  const write = (first: Expr, count: number): void => tile(b, node, columns, context, { first, count, fused });
  if (whole === 1) write(i32(0), rows);
  else if (whole > 1)
    b.for("block", { begin: i32(0), end: i32(whole), axis: "parallel" }, (at) => {
      write(b.let("row", times(at, rows)), rows);
    });
  if (m > whole * rows) write(i32(whole * rows), m - whole * rows);
}

interface Tile {
  readonly first: Expr;
  readonly count: number;
  readonly fused: boolean;
}

/** Some rows times all columns. */
function tile(
  b: Builder,
  node: MatmulNode,
  columns: Columns,
  context: ElementContext,
  { first, count, fused }: Tile,
): void {
  const inner = node.a.shape[1] as number;
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
        b.assign(sum, fused && dtype === "f32" ? fma(x, y, get(sum)) : add(get(sum), mul(x, y)));
      });
    });
    sums.forEach((sum, r) => {
      b.emit(store(columns.into.buffer, at(columns, plus(first, i32(r)), j), get(sum)));
    });
  });
}
const at = ({ into, stride }: Columns, row: Expr, j: Expr): Expr => plus(plus(times(row, stride), j), i32(into.offset));
