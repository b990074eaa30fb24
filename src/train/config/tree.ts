/**
 * @file What configuration texts are read to: trees of plain values that know their lines.
 */
export type ConfigFormat = "yaml" | "json";

export interface Tree {
  readonly value: unknown;
  /** Where its key stands, or else itself; from 1 on. */
  readonly line: number;
  /** Of a mapping. */
  readonly members?: ReadonlyMap<string, Tree>;
}

/** The line of a path, or of the nearest thing around it. */
export function lineAt(tree: Tree, path: readonly string[]): number {
  let at = tree;
  for (const name of path) {
    const next = at.members?.get(name);
    if (!next) break;
    at = next;
  }
  return at.line;
}
