/**
 * @file Fuses neighbouring loops: elementwise ones over the same shape, and reductions of values of the same shape.
 */
import type { Node } from "./nodes.ts";
import type { Location, Lookup, Placed, Step } from "./plan.ts";
import { eachRead } from "./reach.ts";
import { elementsOf, sameShape } from "./shape.ts";

type MapStep = Extract<Step, { kind: "map" }>;
type ReduceStep = Extract<Step, { kind: "reduce" }>;

/** The elements that a store writes. */
const overlap = (a: Location, aSize: number, b: Location, bSize: number): boolean =>
  a.buffer === b.buffer && a.offset < b.offset + bSize && b.offset < a.offset + aSize;

/** Whether computing `reader` looks at what `writer` stores, at the same place only or elsewhere too. */
function relation(
  reader: { readonly node: Node; readonly into?: Location },
  writer: Placed,
  locations: Lookup,
): "none" | "same" | "elsewhere" {
  let found: "none" | "same" | "elsewhere" = "none";
  const written = elementsOf(writer.node.shape);
  const see = (node: Node, at: Location, same: boolean): void => {
    if (!overlap(at, elementsOf(node.shape), writer.into, written)) return;
    const aligned = same && at.offset === writer.into.offset;
    found = aligned && found !== "elsewhere" ? "same" : "elsewhere";
  };
  eachRead(reader.node, locations, see, reader.into);
  return found;
}

const firstOf = (step: MapStep): Placed => (step.stores[0] as readonly Placed[])[0] as Placed;
const allOf = (step: MapStep): readonly Placed[] => step.stores.flat();

function mayJoin(a: MapStep, b: MapStep, locations: Lookup): boolean {
  if (!sameShape(firstOf(a).node.shape, firstOf(b).node.shape)) return false;
  for (const x of allOf(a)) {
    for (const y of allOf(b)) {
      if (relation(y, x, locations) === "elsewhere") return false;
      if (relation(x, y, locations) === "elsewhere") return false;
    }
  }
  return true;
}

function mayReduceTogether(a: ReduceStep, b: ReduceStep, locations: Lookup): boolean {
  const [x, y] = [a.results[0]?.node, b.results[0]?.node];
  if (!x || !y || !sameShape(x.input.shape, y.input.shape) || !sameShape(x.axes, y.axes)) return false;
  return b.results.every(({ node }) => a.results.every((r) => relation({ node: node.input }, r, locations) === "none"));
}

/** Whether what a step reads lies where the next one would find it. */
function staysPut(
  nodes: readonly { readonly node: Node; readonly into?: Location }[],
  before: Lookup,
  after: Lookup,
): boolean {
  let same = true;
  for (const { node, into } of nodes)
    eachRead(
      node,
      before,
      (x, at) => {
        const then = after.get(x);
        same &&= then?.buffer === at.buffer && then.offset === at.offset;
      },
      into,
    );
  return same;
}

/** Two steps as one, which sees what the second one does. */
function joined(a: Step, b: Step): Step | undefined {
  const { where } = b;
  if (a.kind === "map" && b.kind === "map" && mayJoin(a, b, where) && staysPut(allOf(a), a.where, where))
    return { kind: "map", stores: [...a.stores, ...b.stores], where };
  if (a.kind !== "reduce" || b.kind !== "reduce" || !mayReduceTogether(a, b, where)) return undefined;
  const inputs = a.results.map(({ node }) => ({ node: node.input }));
  return staysPut(inputs, a.where, where)
    ? { kind: "reduce", results: [...a.results, ...b.results], where }
    : undefined;
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
