/**
 * @file Rebuilding the functions of a module: callees first, so that calls and launches point at the new ones.
 */
import type { Func, Module, Stmt } from "../nodes.ts";
import { callersOf, mapStmts } from "../walk.ts";

export function rewriteFunctions(module: Module, f: (func: Func) => Func): Module {
  const rebuilt = new Map<Func, Func>();
  const renewed = (func: Func): Func => rebuilt.get(func) ?? func;
  const follow = (s: Stmt): Stmt => (s.kind === "call" || s.kind === "launch" ? { ...s, func: renewed(s.func) } : s);
  for (const [func, calls] of callersOf(module))
    rebuilt.set(func, f(calls ? { ...func, body: mapStmts(func.body, follow) } : func));
  return { ...module, entry: renewed(module.entry) };
}
