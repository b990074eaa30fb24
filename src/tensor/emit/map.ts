/**
 * @file Elementwise steps: one loop nest that computes and stores elements of several values.
 */
import { type Builder, binary, i32, or } from "../../ir/build.ts";
import type { Expr } from "../../ir/nodes.ts";
import type { Node } from "../nodes.ts";
import type { Lookup, Placed } from "../plan.ts";
import { isFlat } from "../reach.ts";
import { elementsOf } from "../shape.ts";
import {
  byNumber,
  bySubscripts,
  type ElementContext,
  Elements,
  flatOf,
  type Index,
  plus,
  seenBy,
  stored,
  times,
} from "./elements.ts";
import { eachElement, type Window, windowed } from "./loops.ts";

export function emitMap(
  b: Builder,
  stores: readonly (readonly Placed[])[],
  context: ElementContext,
  window?: Window,
): void {
  const all = stores.flat();
  const shape = (all[0] as Placed).node.shape;
  const rows = new Map<Node, Expr>();
  for (const placed of all) if (placed.row) rows.set(placed.row, rowNumber(b, placed.row, placed, context));
  const body = (index: Index): void => {
    const elements = new Elements(b, context);
    for (const list of stores) storeList(b, list, elements, index, { ...context, rows });
  };
  if (all.every((x) => isFlat(x.node, shape, withoutOwn(x, seenBy(x, context))))) {
    const count = elementsOf(windowed(shape, window));
    if (count === 1) return body(byNumber(i32(0)));
    const first = window ? b.let("first", times(window.first, elementsOf(shape.slice(1)))) : i32(0);
    b.for("i", { begin: i32(0), end: i32(count), axis: "parallel" }, (i) => body(byNumber(plus(first, i))));
    return;
  }
  eachElement(b, shape, (subscripts) => body(bySubscripts(subscripts)), window);
}

/** Which row of a state is meant. One that it does not have is told by name before its elements are out of range. */
function rowNumber(b: Builder, row: Node, { node, into }: Placed, context: ElementContext): Expr {
  const number = new Elements(b, context).at(row, bySubscripts([]));
  const rows = (into.buffer.length as number) / elementsOf(node.shape);
  if (row.kind === "constant") return number;
  const outside = or(binary("lt", number, i32(0)), binary("ge", number, i32(rows)));
  const site = context.site(`assignRow: a row is not in 0 to ${rows - 1}`);
  b.emit({ kind: "fault", condition: outside, site });
  return number;
}

/** Whether a value gets its memory here, rather than being copied from where it lies. */
const isOwn = ({ node, into }: Placed, locations: Lookup): boolean => locations.get(node) === into;

/** Where values lie while one is computed that will have memory only then. */
function withoutOwn(placed: Placed, locations: Lookup): Lookup {
  if (!isOwn(placed, locations)) return locations;
  const get = (node: Node) => (node === placed.node ? undefined : locations.get(node));
  return { get, has: (node) => get(node) !== undefined };
}

/** Computes all values, then stores them. */
function storeList(
  b: Builder,
  list: readonly Placed[],
  elements: Elements,
  index: Index,
  context: ElementContext & { readonly rows: ReadonlyMap<Node, Expr> },
): void {
  const values = list.map((placed): Expr => {
    const locations = seenBy(placed, context);
    elements.see(locations);
    return isOwn(placed, locations) ? elements.compute(placed.node, index) : elements.at(placed.node, index);
  });
  list.forEach(({ node, into, row }, k) => {
    const first = row ? times(context.rows.get(row) as Expr, elementsOf(node.shape)) : i32(0);
    const at = plus(plus(flatOf(index, node.shape), first), i32(into.offset));
    b.store(into.buffer, at, stored(values[k] as Expr));
  });
}
