/**
 * @file Sums into places that the data or overlapping windows decide: zeros first, then every element in order.
 *
 * Elements that may meet are added one after the other; along an axis where they cannot meet they are lanes.
 */
import { add, type Builder, constant, i32, load } from "../../ir/build.ts";
import type { Expr } from "../../ir/nodes.ts";
import type { ScatterNode, UnviewNode } from "../nodes.ts";
import type { Location, Placed } from "../plan.ts";
import { elementsOf } from "../shape.ts";
import { bySubscripts, type ElementContext, Elements, flatOf, plus, times } from "./elements.ts";
import { serialLoops } from "./loops.ts";

export function emitScatter(
  b: Builder,
  { node, into }: Placed<ScatterNode | UnviewNode>,
  context: ElementContext,
): void {
  b.for("i", { begin: i32(0), end: i32(elementsOf(node.shape)), axis: "parallel" }, (i) => {
    b.store(into.buffer, plus(i, i32(into.offset)), constant(node.dtype, 0));
  });
  if (node.kind === "scatter") scatterRows(b, node, into, context);
  else unview(b, node, into, context);
}

function addTo(b: Builder, { buffer, offset }: Location, flat: Expr, value: Expr): void {
  const at = b.let("at", plus(flat, i32(offset)));
  b.store(buffer, at, add(load(buffer, at), value));
}

/** One row after the other; the elements of a row along its last axis are lanes. */
function scatterRows(b: Builder, node: ScatterNode, into: Location, context: ElementContext): void {
  const rows = node.index.shape;
  const row = node.shape.slice(1);
  const last = row.length - 1;
  const lanes = last >= 0 ? (row[last] as number) : 1;
  const subscripts: Expr[] = rows.map(() => i32(0));
  serialLoops(b, rows, axesOf(rows), subscripts, () => {
    const elements = new Elements(b, context);
    const index = elements.at(node.index, bySubscripts([...subscripts]));
    const number = b.let("row", elements.row(node, index, into));
    const inner: Expr[] = row.map(() => i32(0));
    const element = (): void => {
      const value = new Elements(b, context).at(node.input, bySubscripts([...subscripts, ...inner]));
      addTo(b, into, flatOf(bySubscripts([number, ...inner]), node.shape), value);
    };
    serialLoops(b, row, axesOf(row).slice(0, -1), inner, () => {
      if (lanes === 1) return element();
      b.for("k", { begin: i32(0), end: i32(lanes), axis: "parallel" }, (k) => {
        inner[last] = k;
        element();
      });
    });
  });
}
const axesOf = (shape: readonly number[]): number[] => shape.map((_, axis) => axis);

/** Axes of the view along which no two elements come from the same place, whatever the other subscripts are. */
function freeAxes({ input, axes }: UnviewNode): number[] {
  const free = axes.flatMap(({ terms }) =>
    terms.length === 1 && terms[0]?.step !== 0 ? [terms[0]?.axis as number] : [],
  );
  return [...new Set(free)].filter((axis) => (input.shape[axis] as number) > 1).sort((a, b) => a - b);
}

/** The first free axis may be split over threads, the last one becomes lanes; the others go in order. */
function unview(b: Builder, node: UnviewNode, into: Location, context: ElementContext): void {
  const { shape } = node.input;
  const free = freeAxes(node);
  const lanes = free.at(-1);
  const split = free.length > 1 ? free[0] : undefined;
  const subscripts: Expr[] = shape.map(() => i32(0));
  const element = (): void => {
    const value = new Elements(b, context).at(node.input, bySubscripts([...subscripts]));
    const target = node.axes.map(({ start, terms }) =>
      terms.reduce<Expr>((e, { axis, step }) => plus(e, times(subscripts[axis] as Expr, step)), i32(start)),
    );
    addTo(b, into, flatOf(bySubscripts(target), node.shape), value);
  };
  const along = (axis: number | undefined, write: () => void): void => {
    if (axis === undefined) return write();
    b.for(`i${axis}`, { begin: i32(0), end: i32(shape[axis] as number), axis: "parallel" }, (i) => {
      subscripts[axis] = i;
      write();
      subscripts[axis] = i32(0);
    });
  };
  const others = axesOf(shape).filter((axis) => axis !== lanes && axis !== split && (shape[axis] as number) > 1);
  along(split, () => serialLoops(b, shape, others, subscripts, () => along(lanes, element)));
}
