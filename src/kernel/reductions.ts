/**
 * @file Which outside variables the iterations of a `parallel` loop combine: `sum += x`, `most = Math.max(most, x)`,
 * `any = any || c`. Every other assignment of an outside variable is refused.
 */
import { apply, unary } from "./fold.ts";
import { refuse } from "./refusals.ts";
import {
  isWithin,
  type ReductionOperator,
  type Region,
  readsVariable,
  type Step,
  stepBodies,
  stepTerms,
  type Term,
  type Variable,
} from "./terms.ts";

type Assign = Step & { kind: "assign" };
/** `variable = variable op value` */
interface Combination {
  readonly op: ReductionOperator;
  readonly value: Term;
}

const BINARY: ReadonlyMap<string, ReductionOperator> = new Map<string, ReductionOperator>([
  ["+", "add"],
  ["*", "mul"],
  ["&", "and"],
  ["|", "or"],
  ["^", "xor"],
]);

const isRead = (term: Term, variable: Variable): boolean => term.kind === "read" && term.variable === variable;

/** Reads an assignment as a combination, if it is one. */
function combination({ variable, value }: Assign): Combination | undefined {
  const parts = (a: Term, b: Term): Term | undefined => (isRead(a, variable) ? b : isRead(b, variable) ? a : undefined);
  const made = (op: ReductionOperator | undefined, other: Term | undefined): Combination | undefined =>
    op && other && !readsVariable(other, variable) ? { op, value: other } : undefined;
  switch (value.kind) {
    case "binary":
      // acc - x is acc + (-x), exactly.
      if (value.op === "-" && isRead(value.a, variable)) return made("add", unary("-", value.b, value.span));
      return made(BINARY.get(value.op), parts(value.a, value.b));
    case "logical":
      if (!isRead(value.a, variable)) return undefined;
      return made(value.op === "&&" ? "and" : "or", apply("truth", [value.b], value.b.span));
    case "apply": {
      if (value.name !== "min" && value.name !== "max") return undefined;
      const args = flattenApply(value.name, value);
      const others = args.filter((t) => !isRead(t, variable));
      const [first, ...rest] = others;
      if (!first || others.length === args.length) return undefined;
      const { name, span } = value;
      return made(
        name,
        rest.reduce<Term>((a, b) => ({ kind: "apply", name, args: [a, b], span }), first),
      );
    }
    default:
      return undefined;
  }
}
/** Math.max(a, b, c) is max(max(a, b), c). */
function flattenApply(name: "min" | "max", term: Term): Term[] {
  return term.kind === "apply" && term.name === name ? term.args.flatMap((t) => flattenApply(name, t)) : [term];
}

const combined = (variable: Variable, { op, value }: Combination, span: Term["span"]): Term => {
  const read: Term = { kind: "read", variable, span };
  switch (op) {
    case "add":
      return { kind: "binary", op: "+", a: read, b: value, span };
    case "mul":
      return { kind: "binary", op: "*", a: read, b: value, span };
    case "min":
    case "max":
      return { kind: "apply", name: op, args: [read, value], span };
    case "and":
      return { kind: "binary", op: "&", a: read, b: value, span };
    case "or":
      return { kind: "binary", op: "|", a: read, b: value, span };
    case "xor":
      return { kind: "binary", op: "^", a: read, b: value, span };
    default:
      return op satisfies never;
  }
};

/** The body with its combinations in one form, and the operator of each combined variable. */
export function findReductions(
  body: readonly Step[],
  region: Region,
): { body: Step[]; reductions: ReadonlyMap<Variable, ReductionOperator> } {
  const reductions = new Map<Variable, ReductionOperator>();
  const rewrite = (steps: readonly Step[]): Step[] => steps.map((step) => withBodies(rewriteStep(step), rewrite));
  const rewriteStep = (given: Step): Step => {
    const step = withoutTest(given, region);
    if (step.kind !== "assign" || isWithin(step.variable.region, region)) return step;
    const found = combination(step) ?? refuse("outerAssignment", step.span, step.variable.name);
    const before = reductions.get(step.variable);
    if (before && before !== found.op) refuse("outerAssignment", step.span, step.variable.name);
    reductions.set(step.variable, found.op);
    const value = combined(step.variable, found, step.span);
    step.variable.assignments.splice(step.variable.assignments.indexOf(step.value), 1, value);
    return { ...step, value };
  };
  const rewritten = rewrite(body);
  checkReads(rewritten, reductions);
  return { body: rewritten, reductions };
}

/** `any ||= c`, which arrives as `if (any) {} else any = c`, is `any = any || c`; likewise `&&=`. */
function withoutTest(step: Step, region: Region): Step {
  if (step.kind !== "if" || step.test.kind !== "read" || isWithin(step.test.variable.region, region)) return step;
  const { variable } = step.test;
  const op = step.then.length === 0 ? "||" : "&&";
  const [only, ...more] = op === "||" ? step.else : step.then;
  const other = op === "||" ? step.then : step.else;
  if (only?.kind !== "assign" || only.variable !== variable || more.length + other.length > 0) return step;
  const value: Term = { kind: "logical", op, a: step.test, b: only.value, span: only.span };
  variable.assignments.splice(variable.assignments.indexOf(only.value), 1, value);
  return { ...only, value };
}

function withBodies(step: Step, f: (steps: readonly Step[]) => Step[]): Step {
  switch (step.kind) {
    case "if":
      return { ...step, then: f(step.then), else: f(step.else) };
    case "count":
    case "loop":
    case "block":
    case "parallel":
      return { ...step, body: f(step.body) };
    default:
      return step;
  }
}

/** What is being combined has no value until the loop is over. */
function checkReads(steps: readonly Step[], reductions: ReadonlyMap<Variable, ReductionOperator>): void {
  for (const step of steps) {
    const own = step.kind === "assign" ? step.variable : undefined;
    for (const variable of reductions.keys()) {
      if (variable === own) continue;
      const reader = stepTerms(step).find((t) => readsVariable(t, variable));
      if (reader) refuse("outerAssignment", reader.span, variable.name);
    }
    for (const body of stepBodies(step)) checkReads(body, reductions);
  }
}
