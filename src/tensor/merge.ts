/**
 * @file Fuses neighbouring loops: elementwise ones over the same shape, and reductions of values of the same shape.
 */
import type { Node } from "./nodes.ts";
import type { Location, Lookup, Placed, Step } from "./plan.ts";
import { eachRead } from "./reach.ts";
import { elementsOf, type Shape, sameShape } from "./shape.ts";

type MapStep = Extract<Step, { kind: "map" }>;
type ReduceStep = Extract<Step, { kind: "reduce" }>;

/** The elements that a store writes. */
const overlap = (a: Location, aSize: number, b: Location, bSize: number): boolean =>
  a.buffer === b.buffer && a.offset < b.offset + bSize && b.offset < a.offset + aSize;

/** A value that is computed, where that goes, and what is seen meanwhile. */
interface Reader {
  readonly node: Node;
  readonly into?: Location;
  readonly where: Lookup;
}

/** Whether computing `reader` looks at what `writer` stores, at the same place only or elsewhere too. */
function relation(reader: Reader, writer: Placed): "none" | "same" | "elsewhere" {
  let found: "none" | "same" | "elsewhere" = "none";
  const written = elementsOf(writer.node.shape);
  const see = (node: Node, at: Location, same: boolean): void => {
    if (!overlap(at, elementsOf(node.shape), writer.into, written)) return;
    const aligned = same && at.offset === writer.into.offset;
    found = aligned && found !== "elsewhere" ? "same" : "elsewhere";
  };
  eachRead(reader.node, reader.where, see, reader.into);
  return found;
}

/** A value that goes on seeing what its own step did. */
const seeing = <N extends Node>(placed: Placed<N>, step: Step): Placed<N> & { readonly where: Lookup } => ({
  ...placed,
  where: placed.where ?? step.where,
});

function joinedMaps(a: MapStep, b: MapStep): Step | undefined {
  const [before, after] = [a, b].map((step) => step.stores.map((list) => list.map((p) => seeing(p, step)))) as Lists;
  const [xs, ys] = [before.flat(), after.flat()];
  if ([...xs, ...ys].some(({ row }) => row)) return undefined;
  if (!sameShape(xs[0]?.node.shape as Shape, ys[0]?.node.shape as Shape)) return undefined;
  for (const x of xs)
    for (const y of ys) if (relation(y, x) === "elsewhere" || relation(x, y) === "elsewhere") return undefined;
  return { kind: "map", stores: [...before, ...after], where: b.where };
}
type List = ReturnType<typeof seeing<Node>>[][];
type Lists = [List, List];

function joinedReductions(a: ReduceStep, b: ReduceStep): Step | undefined {
  const [x, y] = [a.results[0]?.node, b.results[0]?.node];
  if (!x || !y || !sameShape(x.input.shape, y.input.shape) || !sameShape(x.axes, y.axes)) return undefined;
  if (x.parts !== y.parts) return undefined;
  const before = a.results.map((p) => seeing(p, a));
  const after = b.results.map((p) => seeing(p, b));
  const apart = after.every(({ node, where }) =>
    before.every((r) => relation({ node: node.input, where }, r) === "none"),
  );
  return apart ? { kind: "reduce", results: [...before, ...after], where: b.where } : undefined;
}

/** Two steps as one, if that changes nothing. */
function joined(a: Step, b: Step): Step | undefined {
  if (a.kind === "map" && b.kind === "map") return joinedMaps(a, b);
  return a.kind === "reduce" && b.kind === "reduce" ? joinedReductions(a, b) : undefined;
}

/** The same steps with neighbours fused where that changes nothing. */
export function merged(steps: readonly Step[]): Step[] {
  const result: Step[] = [];
  for (const step of steps) {
    const last = result.at(-1);
    const both = last && joined(last, step);
    if (both) result[result.length - 1] = both;
    else result.push(step);
  }
  return result;
}
