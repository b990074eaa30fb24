/**
 * @file Where values lie, in the course of a program: a value may be computed in place by one step, get memory in a later
 * one, and lie elsewhere when a state was copied away. Each step sees what held when it was scheduled.
 */
import type { FoldNode, Node, ReshapeNode, ViewNode } from "./nodes.ts";
import type { Location, Lookup } from "./plan.ts";
import { isAlias } from "./reach.ts";
import { elementsOf } from "./shape.ts";

/** Where in its input a value begins that is whole neighbouring rows of it; undefined when it is not. */
export function rowsFrom(node: ReshapeNode | ViewNode | FoldNode): number | undefined {
  if (node.kind !== "view") return 0;
  const { axes, input, shape } = node;
  if (shape.length !== input.shape.length) return undefined;
  for (const [axis, { start, terms }] of axes.entries()) {
    const along = terms.length === 1 && terms[0]?.axis === axis && terms[0].step === 1;
    if (!along || (axis > 0 && (start !== 0 || shape[axis] !== input.shape[axis]))) return undefined;
  }
  return (axes[0]?.start ?? 0) * elementsOf(input.shape.slice(1));
}

export class Locations implements Lookup {
  /** All places of each value, and from which step on they hold. */
  readonly #known = new Map<Node, { readonly since: number; readonly at: Location }[]>();
  #time = 0;

  /** From the next step on, a value lies there. */
  set(node: Node, at: Location): void {
    const places = this.#known.get(node) ?? [];
    places.push({ since: this.#time, at });
    this.#known.set(node, places);
  }

  get(node: Node): Location | undefined {
    return this.#at(node, this.#time);
  }
  has(node: Node): boolean {
    return this.get(node) !== undefined;
  }

  /** What the step sees that is scheduled now. */
  next(): Lookup {
    const time = this.#time++;
    return { get: (node) => this.#at(node, time), has: (node) => this.#at(node, time) !== undefined };
  }

  /** Whole rows of a value that has memory lie in it, whatever their shape. */
  #at(node: Node, time: number): Location | undefined {
    const own = this.#known.get(node)?.findLast(({ since }) => since <= time)?.at;
    if (own || !isAlias(node)) return own;
    const from = rowsFrom(node);
    const at = from === undefined ? undefined : this.#at(node.input, time);
    return at && from ? { ...at, offset: at.offset + from } : at;
  }
}
