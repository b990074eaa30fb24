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

/** Gives a rebuilt node the place of the one it was made from. */
export function inheritPlace<N extends Load | Store>(from: Load | Store, to: N): N {
  const place = places.get(from);
  if (place !== undefined) places.set(to, place);
  return to;
}
