/**
 * @file Rare ways of a loop, to be set apart as functions of their own.
 *
 * "Does any lane need this" guards ways that are hardly ever taken, such as the reduction of huge angles. Inside a loop
 * they would take registers from the usual way; a function apart is handed what it shares with the loop in memory.
 */
import type { If, Label, Local, Stmt } from "../../ir/nodes.ts";
import { eachExprIn, eachStmt } from "../../ir/walk.ts";
import type { Facts } from "./facts.ts";

export interface RareWay {
  /** The locals whose values it takes from the function around it. */
  readonly shared: readonly Local[];
  /** Those of them that it gives other values. */
  readonly changed: readonly Local[];
}

/** What the way behind a condition shares; nothing when the condition is no rare one or the way is bound to its place. */
export function rareWay(s: If, facts: Facts, isCounter: (l: Local) => boolean): RareWay | undefined {
  if (s.condition.kind !== "any" || s.else.length > 0 || !isPure(s.then)) return undefined;
  const uses = new Map<Local, number>();
  const assigned = new Set<Local>();
  let movable = true;
  const note = (l: Local): void => void uses.set(l, (uses.get(l) ?? 0) + 1);
  eachExprIn(s.then, (e) => {
    if (e.kind === "get") {
      note(e.local);
      if (isCounter(e.local)) movable = false;
    } else if ((e.kind === "load" || e.kind === "length") && e.buffer.space !== "table") movable = false;
  });
  eachStmt(s.then, (inner) => {
    const local = inner.kind === "assign" ? inner.local : inner.kind === "for" ? inner.index : undefined;
    if (local === undefined) return;
    note(local);
    assigned.add(local);
  });
  if (!movable) return undefined;
  const isOwn = (l: Local): boolean => assigned.has(l) && (facts.isConfined(l) || uses.get(l) === facts.uses(l));
  const shared = [...uses.keys()].filter((l) => !isOwn(l));
  return { shared, changed: shared.filter((l) => assigned.has(l)) };
}

/** Whether statements do nothing but give locals values, and stay among themselves. */
function isPure(body: readonly Stmt[]): boolean {
  const labels = new Set<Label>();
  let pure = true;
  eachStmt(body, (s) => {
    if (s.kind === "for" || s.kind === "loop" || s.kind === "block") labels.add(s.label);
    else if (s.kind === "exit") pure &&= labels.has(s.label);
    else if (s.kind !== "assign" && s.kind !== "if") pure = false;
  });
  return pure;
}
