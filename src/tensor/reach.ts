/**
 * @file What depends on what: uses of nodes, effects that may be done together, and reads that cross elements.
 */
import type { AssignEffect, Block, Effect, FoldNode, Node, ReadNode, ReshapeNode, Stored, ViewNode } from "./nodes.ts";
import { inputsOf } from "./nodes.ts";
import type { Location, Lookup } from "./plan.ts";
import { elementsOf, type Shape, sameShape } from "./shape.ts";

/** The values that an effect needs, those of a loop's effects too. */
export function rootsOf(effect: Effect): Node[] {
  switch (effect.kind) {
    case "assign":
      return effect.row ? [effect.value, effect.row] : [effect.value];
    case "output":
      return [effect.value];
    case "call":
      return [...effect.given.values(), ...effect.scalars.values()];
    case "repeat":
      return effect.body.effects.flatMap(rootsOf);
    default:
      return effect satisfies never;
  }
}

/** How many nodes and effects use each node. */
export function countUses(root: Block): Map<Node, number> {
  const uses = new Map<Node, number>();
  const use = (node: Node): void => {
    const before = uses.get(node) ?? 0;
    uses.set(node, before + 1);
    if (before === 0) for (const x of new Set(inputsOf(node))) use(x);
  };
  for (const effect of root.effects) for (const node of rootsOf(effect)) use(node);
  return uses;
}

/** The nodes from outside of a loop that its effects need, directly or inside of others. */
export function outsideNodes(body: Block): Set<Node> {
  const found = new Set<Node>();
  const seen = new Set<Node>();
  const visit = (node: Node): void => {
    if (seen.has(node)) return;
    seen.add(node);
    if (node.block.depth < body.depth) found.add(node);
    else for (const x of inputsOf(node)) visit(x);
  };
  for (const effect of body.effects) for (const node of rootsOf(effect)) visit(node);
  return found;
}

/** The views from outside of a loop that operations in it need in memory: they are laid there once, before the loop. */
export function outsideOperands(body: Block): Set<Node> {
  const found = new Set<Node>();
  const seen = new Set<Node>();
  const visit = (node: Node): void => {
    if (seen.has(node) || node.block.depth < body.depth) return;
    seen.add(node);
    const { kind } = node;
    const needed = kind === "matmul" ? node.b : kind === "gather" || kind === "reshape" ? node.input : undefined;
    if (needed?.kind === "view" && needed.block.depth < body.depth) found.add(needed);
    for (const x of inputsOf(node)) visit(x);
  };
  for (const effect of body.effects) for (const node of rootsOf(effect)) visit(node);
  return found;
}

/** Whether a value depends on some read of a state. */
export function dependsOnRead(value: Node, matches: (read: ReadNode) => boolean): boolean {
  const seen = new Set<Node>();
  const visit = (node: Node): boolean => {
    if (seen.has(node)) return false;
    seen.add(node);
    return node.kind === "read" ? matches(node) : inputsOf(node).some(visit);
  };
  return visit(value);
}

/** Whether a value depends on what an assignment leaves in its state. */
const readsResult = (value: Node, { state, version }: AssignEffect): boolean =>
  dependsOnRead(value, (read) => read.state === state && read.version === version);

/** Neighbouring assignments of one shape that do not read each other's results, together; other effects alone. */
export function groupsOf(effects: readonly Effect[]): Effect[][] {
  const groups: Effect[][] = [];
  for (const effect of effects) {
    const last = groups.at(-1);
    const first = last?.[0];
    const joins =
      effect.kind === "assign" &&
      first?.kind === "assign" &&
      !first.row &&
      !effect.row &&
      sameShape(first.value.shape, effect.value.shape) &&
      !(last as AssignEffect[]).some((e) => e.state === effect.state || readsResult(effect.value, e));
    if (joins) last?.push(effect);
    else groups.push([effect]);
  }
  return groups;
}

/** Whether an element of a value is computed of the element at the same place of its operand alone. */
const inPlace = ({ kind }: Node): boolean => kind === "map" || kind === "reshape" || kind === "fold";

/**
 * Calls `see` for every value with memory that computing an element of `node` reads; `same`: at the same place only, or
 * in whatever way `keeps` says. With `into`, the value is computed into that place, and is not there yet.
 */
export function eachRead(
  node: Node,
  locations: Lookup,
  see: (node: Node, at: Location, same: boolean) => void,
  into?: Location,
  keeps: (node: Node, operand: Node) => boolean = inPlace,
): void {
  const seen = { same: new Set<Node>(), other: new Set<Node>() };
  const visit = (x: Node, same: boolean): void => {
    const known = same ? seen.same : seen.other;
    if (known.has(x)) return;
    known.add(x);
    const at = locations.get(x);
    if (at && !(x === node && at === into)) return see(x, at, same);
    for (const y of inputsOf(x)) visit(y, same && keeps(x, y));
  };
  visit(node, true);
}

/** Whether a value has no memory of its own, even where it lies in its input's. */
export const isAlias = (node: Node): node is ViewNode | ReshapeNode | FoldNode =>
  node.kind === "view" || node.kind === "reshape" || node.kind === "fold";

/** What a view or another shape is of. */
const baseOf = (node: Node): Node => (isAlias(node) ? baseOf(node.input) : node);

/** Whether computing an element of a value reads other elements of some states than that at the same place. */
export function readsElsewhere(value: Node, states: ReadonlySet<Stored>, locations: Lookup): boolean {
  let found = false;
  eachRead(value, locations, (node, _, same) => {
    const base = baseOf(node);
    if (base.kind === "read" && states.has(base.state) && !(same && base === node)) found = true;
  });
  return found;
}

/** Whether elements can be counted instead of found by their subscripts: all values are read at the same place. */
export function isFlat(node: Node, shape: Shape, locations: Lookup): boolean {
  const whole = elementsOf(node.shape) === elementsOf(shape);
  if (locations.has(node)) return whole;
  switch (node.kind) {
    case "constant":
    case "iteration":
      return true;
    case "map":
      return node.inputs.every((x) => isFlat(x, shape, locations));
    case "view":
      // One element for all: it is read by constant subscripts.
      return node.axes.every(({ terms }) => terms.length === 0) && isUniform(node.input, locations);
    case "iota":
      return node.shape.length === 1 && whole;
    case "reshape":
    case "fold":
      return whole && isFlat(node.input, shape, locations);
    default:
      return false;
  }
}
function isUniform(node: Node, locations: Lookup): boolean {
  if (locations.has(node)) return true;
  return (
    node.kind === "constant" ||
    node.kind === "iteration" ||
    (node.kind === "map" && node.inputs.every((x) => isUniform(x, locations)))
  );
}
