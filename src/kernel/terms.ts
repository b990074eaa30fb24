/**
 * @file What a kernel is between its syntax tree and the IR: names resolved, helpers inlined, types still open.
 *
 * Terms are pure; all effects are steps, in the order JavaScript runs them. A variable or array whose type is not
 * declared collects what is assigned to it, from which inference finds its type.
 */

import type { ScalarName } from "./declare.ts";
import type { Span } from "./errors.ts";

/** The body of a loop that `parallel`, `blocks` or `scan` made: what is declared inside belongs to one iteration. */
export interface Region {
  readonly kind: "parallel" | "blocks" | "scan";
  readonly outer: Region | undefined;
}
/** Whether `inner` is a region or lies in it. */
export const isWithin = (inner: Region | undefined, region: Region): boolean =>
  inner !== undefined && (inner === region || isWithin(inner.outer, region));

export interface Variable {
  readonly kind: "variable";
  readonly name: string;
  readonly span: Span;
  readonly region: Region | undefined;
  /** The type of a parameter. */
  readonly declared: ScalarName | undefined;
  /** Never assigned again where it can be read, so that a read may stand in for its value. */
  readonly stable: boolean;
  /** Everything that is assigned to it. */
  readonly assignments: Term[];
  /** The range of a counting loop's index, when it is one. */
  counts: Counting | undefined;
}
/** `for (i = begin; i compare bound; i += step)` */
export interface Counting {
  readonly begin: Term;
  readonly compare: "<" | "<=" | ">" | ">=";
  readonly bound: Term;
  readonly step: number;
}

/** The name of a local array that is not bound to one. */
export const UNNAMED = "array";

/** Memory: a declared array, a local one, or a table of constants. */
export interface ArrayBase {
  readonly kind: "base";
  /** For messages and listings; a local array takes the name it is first bound to. */
  name: string;
  readonly span: Span | undefined;
  readonly space: "param" | "local" | "table";
  readonly region: Region | undefined;
  /** Undefined where it follows from what is stored. */
  readonly element: ScalarName | undefined;
  readonly length: number | undefined;
  readonly data: readonly number[] | undefined;
  /** Arrays of one group have the same length: the fields of an array of structs. */
  readonly group: string | undefined;
  /** Everything that is stored in it. */
  readonly contents: Term[];
}
/** Elements offset, offset + stride, ... of an array. */
export interface View {
  readonly kind: "view";
  readonly base: ArrayBase;
  /** Undefined: from the first element on. */
  readonly offset: Term | undefined;
  /** Undefined: 1. */
  readonly stride: Term | undefined;
  readonly length: Term;
}

/** A stream of random numbers. */
export interface Stream {
  readonly kind: "stream";
  readonly name: string;
  readonly span: Span;
  readonly region: Region | undefined;
}

export type UnaryOperator = "-" | "+" | "!" | "~";
export type ArithmeticOperator = "+" | "-" | "*" | "/" | "%" | "**";
export type BitOperator = "&" | "|" | "^" | "<<" | ">>" | ">>>";
export type CompareOperator = "<" | "<=" | ">" | ">=" | "==" | "!=";
export type BinaryOperator = ArithmeticOperator | BitOperator | CompareOperator;

/** Functions of one term each: JavaScript's `Math` and `Number`, conversions, and what the second parameter carries. */
export const FUNCTION_ARGUMENTS = {
  abs: 1,
  floor: 1,
  ceil: 1,
  trunc: 1,
  round: 1,
  sign: 1,
  sqrt: 1,
  sin: 1,
  cos: 1,
  tan: 1,
  asin: 1,
  acos: 1,
  atan: 1,
  atan2: 2,
  exp: 1,
  exp2: 1,
  expm1: 1,
  log: 1,
  log1p: 1,
  log2: 1,
  log10: 1,
  pow: 2,
  tanh: 1,
  sinh: 1,
  cosh: 1,
  cbrt: 1,
  hypot: 2,
  sigmoid: 1,
  rsqrt: 1,
  min: 2,
  max: 2,
  imul: 2,
  clz32: 1,
  fround: 1,
  toF64: 1,
  toInt32: 1,
  toUint32: 1,
  truth: 1,
  isNaN: 1,
  isFinite: 1,
  isInteger: 1,
  fma: 3,
  mulAdd: 3,
  bits: 1,
  fromBits: 1,
  mulHigh: 2,
  permuted: 4,
  own: 1,
} as const;
export type FunctionName = keyof typeof FUNCTION_ARGUMENTS;

export type DrawMethod = "bits" | "uniform" | "pair" | "int" | "normal" | "exponential" | "bernoulli" | "categorical";

interface TermBase {
  readonly span: Span;
}
/** A number written in the source or known when compiling; takes the type of what it meets. */
export interface Literal extends TermBase {
  readonly kind: "literal";
  readonly value: number;
}
export interface Truth extends TermBase {
  readonly kind: "truth";
  readonly value: boolean;
}
export interface Read extends TermBase {
  readonly kind: "read";
  readonly variable: Variable;
}
export interface Element extends TermBase {
  readonly kind: "element";
  readonly view: View;
  readonly index: Term;
}
export interface Length extends TermBase {
  readonly kind: "length";
  readonly base: ArrayBase;
}
export interface UnaryTerm extends TermBase {
  readonly kind: "unary";
  readonly op: UnaryOperator;
  readonly x: Term;
}
export interface BinaryTerm extends TermBase {
  readonly kind: "binary";
  readonly op: BinaryOperator;
  readonly a: Term;
  readonly b: Term;
}
/** JavaScript's `&&` and `||`: the value of one of the two, the second evaluated only if needed. */
export interface Logical extends TermBase {
  readonly kind: "logical";
  readonly op: "&&" | "||";
  readonly a: Term;
  readonly b: Term;
}
export interface Conditional extends TermBase {
  readonly kind: "conditional";
  readonly test: Term;
  readonly a: Term;
  readonly b: Term;
}
export interface Apply extends TermBase {
  readonly kind: "apply";
  readonly name: FunctionName;
  readonly args: readonly Term[];
}
export type Term = Literal | Truth | Read | Element | Length | UnaryTerm | BinaryTerm | Logical | Conditional | Apply;

/** What `break`, `continue` and `return` leave; compared by identity. */
export interface Mark {
  readonly kind: "mark";
  /** Whether an exit needs it. */
  used: boolean;
}

export type Step =
  | { readonly kind: "assign"; readonly variable: Variable; readonly value: Term; readonly span: Span }
  /** A variable without a first value: zero, so that no path reads garbage. */
  | { readonly kind: "clear"; readonly variable: Variable }
  | { readonly kind: "store"; readonly view: View; readonly index: Term; readonly value: Term; readonly span: Span }
  /** A local array begins its life; `zero` when it may hold values of an earlier one. */
  | { readonly kind: "array"; readonly base: ArrayBase; readonly zero: boolean; readonly initial: readonly Term[] }
  | { readonly kind: "if"; readonly test: Term; readonly then: readonly Step[]; readonly else: readonly Step[] }
  | { readonly kind: "count"; readonly index: Variable; readonly mark: Mark; readonly body: readonly Step[] }
  | { readonly kind: "loop"; readonly mark: Mark; readonly body: readonly Step[] }
  | { readonly kind: "block"; readonly mark: Mark; readonly body: readonly Step[] }
  | { readonly kind: "exit"; readonly mark: Mark }
  | ParallelStep
  | RecurStep
  | { readonly kind: "assert"; readonly condition: Term; readonly message: string; readonly span: Span }
  | { readonly kind: "stream"; readonly stream: Stream; readonly from: StreamOrigin }
  | DrawStep;
export interface ParallelStep {
  readonly kind: "parallel";
  readonly axis: "parallel" | "scan";
  readonly index: Variable;
  readonly count: Term;
  readonly body: readonly Step[];
  readonly reductions: ReadonlyMap<Variable, ReductionOperator>;
  readonly span: Span;
}
/** `variable = term + factor * variable` in a scan; `value` is the right side as it was written. */
export interface RecurStep {
  readonly kind: "recur";
  readonly variable: Variable;
  readonly value: Term;
  readonly factor: Term;
  readonly term: Term;
  readonly span: Span;
}
export interface DrawStep {
  readonly kind: "draw";
  readonly into: Variable;
  /** Where the second number of a `pair` goes. */
  readonly second?: Variable | undefined;
  readonly stream: Stream;
  readonly method: DrawMethod;
  readonly args: readonly Term[];
  readonly weights: View | undefined;
  readonly span: Span;
}
export const drawnInto = ({ into, second }: DrawStep): readonly Variable[] => (second ? [into, second] : [into]);
export type StreamOrigin =
  | { readonly kind: "key"; readonly words: readonly [Term, Term] }
  | { readonly kind: "fold" | "at"; readonly parent: Stream; readonly index: Term }
  | { readonly kind: "split"; readonly parent: Stream };
export type ReductionOperator = "add" | "mul" | "min" | "max" | "and" | "or" | "xor";

export const isTerm = (x: { readonly kind: string }): x is Term => TERM_KINDS.has(x.kind);
const TERM_KINDS: ReadonlySet<string> = new Set<Term["kind"]>([
  "literal",
  "truth",
  "read",
  "element",
  "length",
  "unary",
  "binary",
  "logical",
  "conditional",
  "apply",
]);

/** The direct operands of a term. */
export function operandsOf(term: Term): readonly Term[] {
  switch (term.kind) {
    case "literal":
    case "truth":
    case "read":
    case "length":
      return [];
    case "element":
      return [...viewTerms(term.view), term.index];
    case "unary":
      return [term.x];
    case "binary":
    case "logical":
      return [term.a, term.b];
    case "conditional":
      return [term.test, term.a, term.b];
    case "apply":
      return term.args;
    default:
      return term satisfies never;
  }
}
/** The terms that say which elements a view shows. */
function viewTerms(view: View): readonly Term[] {
  return [view.offset, view.stride].filter((t) => t !== undefined);
}

export function someTerm(term: Term, test: (t: Term) => boolean): boolean {
  return test(term) || operandsOf(term).some((t) => someTerm(t, test));
}
export const readsVariable = (term: Term, variable: Variable): boolean =>
  someTerm(term, (t) => t.kind === "read" && t.variable === variable);

/** The terms and the nested lists of a step. */
export function stepTerms(step: Step): readonly Term[] {
  switch (step.kind) {
    case "assign":
    case "recur":
      return [step.value];
    case "store":
      return [...viewTerms(step.view), step.index, step.value];
    case "if":
      return [step.test];
    case "count":
      return step.index.counts ? [step.index.counts.begin, step.index.counts.bound] : [];
    case "parallel":
      return [step.count];
    case "assert":
      return [step.condition];
    case "stream":
      return step.from.kind === "key" ? step.from.words : "index" in step.from ? [step.from.index] : [];
    case "draw":
      return [...(step.weights ? viewTerms(step.weights) : []), ...step.args];
    case "array":
      return step.initial;
    case "clear":
    case "loop":
    case "block":
    case "exit":
      return [];
    default:
      return step satisfies never;
  }
}
export function stepBodies(step: Step): readonly (readonly Step[])[] {
  switch (step.kind) {
    case "if":
      return [step.then, step.else];
    case "count":
    case "loop":
    case "block":
    case "parallel":
      return [step.body];
    default:
      return [];
  }
}
export function eachStep(steps: readonly Step[], visit: (step: Step) => void): void {
  for (const step of steps) {
    visit(step);
    for (const body of stepBodies(step)) eachStep(body, visit);
  }
}
/** The variables that steps assign. */
export function assignedIn(steps: readonly Step[]): Set<Variable> {
  const found = new Set<Variable>();
  eachStep(steps, (s) => {
    if (s.kind === "assign" || s.kind === "clear" || s.kind === "recur") found.add(s.variable);
    if (s.kind === "count" || s.kind === "parallel") found.add(s.index);
    if (s.kind === "draw") for (const v of drawnInto(s)) found.add(v);
  });
  return found;
}
/** The arrays that steps store to. */
export function storedIn(steps: readonly Step[]): Set<ArrayBase> {
  const found = new Set<ArrayBase>();
  eachStep(steps, (s) => {
    if (s.kind === "store") found.add(s.view.base);
    if (s.kind === "array") found.add(s.base);
  });
  return found;
}
