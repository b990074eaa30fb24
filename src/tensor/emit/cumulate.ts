/**
 * @file Cumulative sums: a scan along the last axis; along another one, in order, with lanes of neighbours.
 */
import { add, type Builder, constant, get, i32, recur, sub } from "../../ir/build.ts";
import type { Expr, Local } from "../../ir/nodes.ts";
import type { CumulateNode } from "../nodes.ts";
import type { Placed } from "../plan.ts";
import { bySubscripts, type ElementContext, Elements, flatOf, plus } from "./elements.ts";
import { nest, serialLoops } from "./loops.ts";

export function emitCumulate(b: Builder, { node, into }: Placed<CumulateNode>, context: ElementContext): void {
  const { shape, axis, fromEnd, dtype } = node;
  const size = shape[axis] as number;
  const isLast = axis === shape.length - 1;
  // Whole numbers have no scans: their sums are exact in any order.
  const scanned = isLast && (dtype === "f32" || dtype === "f64");
  const others = shape.flatMap((_, k) => (k === axis ? [] : [k]));
  const along = (subscripts: Expr[]): void => {
    const sum: Local = b.local("sum", dtype);
    b.assign(sum, constant(dtype, 0));
    b.for("t", { begin: i32(0), end: i32(size), axis: scanned ? "scan" : "serial" }, (t) => {
      const here = [...subscripts];
      here[axis] = fromEnd ? sub(i32(size - 1), t) : t;
      const index = bySubscripts(here);
      const value = new Elements(b, context).at(node.input, index);
      if (scanned) b.emit(recur(sum, value, constant(dtype, 1)));
      else b.assign(sum, add(get(sum), value));
      b.store(into.buffer, plus(flatOf(index, shape), i32(into.offset)), get(sum));
    });
  };
  if (!isLast) return nest(b, shape, others, along);
  const subscripts: Expr[] = shape.map(() => i32(0));
  serialLoops(b, shape, others, subscripts, () => along(subscripts));
}
