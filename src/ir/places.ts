/**
 * @file Where in the user's source a load or store came from: a side table, so that nodes stay plain data.
 */
import type { Load, Store } from "./nodes.ts";

const places = new WeakMap<Load | Store, string>();

/** Remembers the place of a node ("line:column  text of the line"); passes that rebuild nodes ask the original. */
export function setPlace<N extends Load | Store>(node: N, place: string): N {
  places.set(node, place);
  return node;
}

export function placeOf(node: Load | Store): string | undefined {
  return places.get(node);
}
