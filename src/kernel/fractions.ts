/**
 * @file Which numbers made of literals alone are held as f32.
 *
 * A variable such as `let force = 0.5; if (left) force = -0.5` has no float type of its own: each use rounds it to the
 * type it meets. Where every use is f32 and the variable only ever holds literals (or a choice of them), rounding the
 * literals gives the same numbers, and the variable is held as f32; otherwise it is held as f64.
 */
import type { Types } from "./infer.ts";
import { type ArrayBase, eachStep, operandsOf, type Step, stepTerms, type Term, type Variable } from "./terms.ts";
import type { Type } from "./types.ts";

type Holder = Variable | ArrayBase;
type Float = "f32" | "f64";

const isFraction = (types: Types, term: Term): boolean => types.of(term).kind === "fraction";

/** Terms that pick a number and compute none: rounding may be done before or after. */
function isChoice(term: Term): boolean {
  switch (term.kind) {
    case "literal":
    case "read":
    case "element":
      return true;
    case "conditional":
    case "logical":
      return isChoice(term.a) && isChoice(term.b);
    case "unary":
      return term.op === "-" && isChoice(term.x);
    default:
      return false;
  }
}

class Demands {
  readonly wanted = new Map<Holder, Set<Float>>();
  readonly #types: Types;
  constructor(types: Types) {
    this.#types = types;
  }

  /** Notes that a term is used as a float of the given type. */
  use(term: Term, as: Float): void {
    if (!isFraction(this.#types, term)) return;
    switch (term.kind) {
      case "read":
        return this.#hold(term.variable, as, term.variable.assignments);
      case "element":
        return this.#hold(term.view.base, as, term.view.base.contents);
      case "conditional":
      case "logical":
        this.use(term.a, as);
        return this.use(term.b, as);
      case "unary":
        return this.use(term.x, as);
      default:
        return;
    }
  }
  #hold(holder: Holder, as: Float, terms: readonly Term[]): void {
    const before = this.wanted.get(holder) ?? new Set<Float>();
    if (before.has(as)) return;
    this.wanted.set(holder, before.add(as));
    for (const t of terms) this.use(t, as);
  }

  /** Notes the uses inside a term. */
  visit(term: Term): void {
    for (const t of operandsOf(term)) this.visit(t);
    switch (term.kind) {
      case "binary":
        return this.#all([term.a, term.b], this.#types.operation(term).operands);
      case "apply":
        return this.#all(term.args, this.#types.application(term).operands);
      case "conditional":
        return this.#all([term.a, term.b], this.#types.of(term));
      default:
        return;
    }
  }
  #all(terms: readonly Term[], type: Type): void {
    if (type.kind === "fraction") return;
    for (const t of terms) this.use(t, type.kind === "f32" ? "f32" : "f64");
  }

  visitStep(step: Step): void {
    for (const t of stepTerms(step)) this.visit(t);
    if (step.kind === "assign" || step.kind === "recur")
      this.#all([step.value], this.#types.typeOfVariable(step.variable));
    if (step.kind === "store") this.#all([step.value], this.#types.typeOfVariable(step.view.base));
    if (step.kind === "array") this.#all(step.initial, this.#types.typeOfVariable(step.base));
    if (step.kind === "draw") for (const t of step.args) this.use(t, "f32");
  }
}

/** The variables and arrays of open type to hold as f32; the other open ones are f64. */
export function heldAsF32(types: Types, steps: readonly Step[]): ReadonlySet<Holder> {
  const demands = new Demands(types);
  eachStep(steps, (s) => demands.visitStep(s));
  const narrow = [...demands.wanted].filter(([holder, wanted]) => {
    const terms = holder.kind === "variable" ? holder.assignments : holder.contents;
    return !wanted.has("f64") && terms.every(isChoice);
  });
  return new Set(narrow.map(([holder]) => holder));
}
