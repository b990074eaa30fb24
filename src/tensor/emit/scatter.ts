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

/** One row after the other; the elements of a row are lanes. */
function scatterRows(b: Builder, node: ScatterNode, into: Location, context: ElementContext): void {
  const rows = node.index.shape;
  const width = elementsOf(node.shape.slice(1));
  const subscripts: Expr[] = rows.map(() => i32(0));
  serialLoops(b, rows, axesOf(rows), subscripts, () => {
    const first = b.let("first", times(new Elements(b, context).at(node.index, bySubscripts([...subscripts])), width));
    const number = times(flatOf(bySubscripts([...subscripts]), rows), width);
    const element = (k: Expr): void => {
      const elements = new Elements(b, context);
      addTo(b, into, plus(first, k), elements.at(node.input, inputIndex(node, subscripts, plus(number, k), k)));
    };
    if (width === 1) element(i32(0));
    else b.for("k", { begin: i32(0), end: i32(width), axis: "parallel" }, element);
  });
}
/** An element of the input: by subscripts when a row is a single axis, by its number otherwise. */
function inputIndex(node: ScatterNode, subscripts: readonly Expr[], flat: Expr, k: Expr) {
  const inner = node.shape.length - 1;
  if (inner <= 1) return bySubscripts(inner === 0 ? [...subscripts] : [...subscripts, k]);
  return { subscripts: undefined, flat };
}
const axesOf = (shape: readonly number[]): number[] => shape.map((_, axis) => axis);

/** The axis of the view along which no two elements come from the same place: the longest of them. */
function freeAxis({ input, axes }: UnviewNode): number | undefined {
  const free = axes.flatMap(({ terms }) =>
    terms.length === 1 && terms[0]?.step !== 0 ? [terms[0]?.axis as number] : [],
  );
  const size = (axis: number): number => input.shape[axis] as number;
  return free.length ? free.reduce((best, axis) => (size(axis) > size(best) ? axis : best)) : undefined;
}

function unview(b: Builder, node: UnviewNode, into: Location, context: ElementContext): void {
  const { shape } = node.input;
  const free = freeAxis(node);
  const subscripts: Expr[] = shape.map(() => i32(0));
  const element = (): void => {
    const value = new Elements(b, context).at(node.input, bySubscripts([...subscripts]));
    const target = node.axes.map(({ start, terms }) =>
      terms.reduce<Expr>((e, { axis, step }) => plus(e, times(subscripts[axis] as Expr, step)), i32(start)),
    );
    addTo(b, into, flatOf(bySubscripts(target), node.shape), value);
  };
  const others = axesOf(shape).filter((axis) => axis !== free && (shape[axis] as number) > 1);
  serialLoops(b, shape, others, subscripts, () => {
    if (free === undefined || shape[free] === 1) return element();
    b.for(`i${free}`, { begin: i32(0), end: i32(shape[free] as number), axis: "parallel" }, (i) => {
      subscripts[free] = i;
      element();
      subscripts[free] = i32(0);
    });
  });
}
