/**
 * @file Several modules in one: the places that can fault are numbered through.
 */
import type { Func, Module, Site, Stmt } from "./nodes.ts";
import { rewriteFunctions } from "./passes/rewrite.ts";
import { mapStmts } from "./walk.ts";

/**
 * A module's entry, to be called from another module: its faults are numbered behind `sites`, to which its own places are
 * added under the module's name.
 */
export function entryWithin(module: Module, sites: Site[]): Func {
  const first = sites.length;
  sites.push(...module.sites.map((site): Site => ({ ...site, message: `${module.name}: ${site.message}` })));
  if (first === 0) return module.entry;
  const shifted = (s: Stmt): Stmt => (s.kind === "fault" ? { ...s, site: s.site + first } : s);
  return rewriteFunctions(module, (f) => ({ ...f, body: mapStmts(f.body, shifted) })).entry;
}
