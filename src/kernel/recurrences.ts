/**
 * @file What the iterations of a `scan` loop hand on: outside variables that one statement at the top of the body sets
 * to `b + a * x`. Every other assignment of an outside variable is refused.
 */
import { refuse } from "./refusals.ts";
import {
  eachStep,
  isWithin,
  type Region,
  readsVariable,
  type Step,
  stepBodies,
  stepTerms,
  type Term,
  type Variable,
} from "./terms.ts";

/** The factor and the term of `term + factor * variable`, in any order. */
function linear(variable: Variable, value: Term): { factor: Term; term: Term } | undefined {
  if (value.kind !== "binary" || value.op !== "+") return undefined;
  const { a, b } = value;
  const factor = factorOf(variable, b) ?? factorOf(variable, a);
  const term = factorOf(variable, b) ? a : b;
  return factor && !readsVariable(factor, variable) && !readsVariable(term, variable) ? { factor, term } : undefined;
}
function factorOf(variable: Variable, product: Term): Term | undefined {
  if (product.kind !== "binary" || product.op !== "*") return undefined;
  const isRead = (t: Term): boolean => t.kind === "read" && t.variable === variable;
  return isRead(product.b) ? product.a : isRead(product.a) ? product.b : undefined;
}

const assignsOutside = (step: Step, region: Region): step is Step & { kind: "assign" } =>
  step.kind === "assign" && !isWithin(step.variable.region, region);

/** The body with its recurrences made plain. `outer` is the region around the loop, to which their variables belong. */
export function findRecurrences(body: readonly Step[], region: Region, outer: Region | undefined): Step[] {
  const done = new Set<Variable>();
  const rewritten = body.map((step): Step => {
    if (!assignsOutside(step, region)) {
      for (const inner of stepBodies(step))
        eachStep(inner, (s) => assignsOutside(s, region) && refuse("scanAssignment", s.span, s.variable.name));
      return step;
    }
    const { variable, value, span } = step;
    const parts = variable.region === outer && !done.has(variable) ? linear(variable, value) : undefined;
    if (!parts) return refuse("scanAssignment", span, variable.name);
    done.add(variable);
    return { kind: "recur", variable, value, ...parts, span };
  });
  rewritten.forEach((step, k) => {
    if (step.kind === "recur") for (const before of rewritten.slice(0, k)) checkReads(before, step.variable);
  });
  return rewritten;
}

/** Before the recurrence there is no value of this iteration yet. */
function checkReads(step: Step, variable: Variable): void {
  const reader = stepTerms(step).find((t) => readsVariable(t, variable));
  if (reader) refuse("scanRead", reader.span, variable.name);
  for (const inner of stepBodies(step)) for (const s of inner) checkReads(s, variable);
}
