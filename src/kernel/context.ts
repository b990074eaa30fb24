/**
 * @file What elaboration carries along: the steps written so far, the function being inlined, and how a pure term is
 * kept apart from effects that come after it.
 */
import type { AnyNode } from "acorn";
import type { ScalarName } from "./declare.ts";
import { type Span, textOf } from "./errors.ts";
import { known } from "./fold.ts";
import { refuse } from "./refusals.ts";
import type { FunctionNode, Unit } from "./source.ts";
import {
  type ArrayBase,
  assignedIn,
  isTerm,
  type Mark,
  operandsOf,
  type Read,
  type Region,
  type Step,
  someTerm,
  storedIn,
  type Term,
  type Variable,
  type View,
} from "./terms.ts";
import { type Cell, describe, type FunctionValue, type Names, type Value } from "./values.ts";

export const newMark = (): Mark => ({ kind: "mark", used: false });

/** Where `break` and `continue` go. */
export interface Jumps {
  readonly labels: readonly string[];
  readonly breaks: Mark;
  /** Undefined in a `switch` or a labelled block. */
  readonly continues: Mark | undefined;
  /** Reached by its label only. */
  readonly isBlock: boolean;
}
/** One inlined call of a function. */
export interface Frame {
  readonly unit: Unit;
  readonly name: string;
  readonly names: Names;
  readonly returns: Mark;
  /** The compiled function itself, which has no caller to return to. */
  readonly isKernel: boolean;
  /** Whether the value of `return` is asked for. */
  readonly wantsValue: boolean;
  result: Value | undefined;
  /** Whether the one `return` stands at the very end, so that its value needs no variable. */
  readonly plainReturn: boolean;
  readonly jumps: Jumps[];
}

/** Inlines a call; set by elaborate.ts, because a call's body holds statements again. */
export type Inliner = (fn: FunctionValue, args: readonly Value[], span: Span, wantsValue: boolean) => Value;

export class Context {
  steps: Step[] = [];
  region: Region | undefined;
  /** How many loops stand around; local arrays inside one start from zero each time. */
  loops = 0;
  /** The functions being inlined, outermost first. */
  readonly calls: FunctionNode[] = [];
  readonly inline: Inliner;
  constructor(inline: (context: Context) => Inliner) {
    this.inline = inline(this);
  }

  emit(step: Step): void {
    this.steps.push(step);
  }
  /** The steps that `write` emits, kept apart. */
  body(write: () => void): Step[] {
    const outer = this.steps;
    this.steps = [];
    try {
      write();
      return this.steps;
    } finally {
      this.steps = outer;
    }
  }
  loop(write: () => void): Step[] {
    this.loops++;
    const steps = this.body(write);
    this.loops--;
    return steps;
  }

  variable(name: string, span: Span, stable: boolean, declared?: ScalarName): Variable {
    const { region } = this;
    return { kind: "variable", name, span, region, declared, stable, assignments: [], counts: undefined };
  }
  assign(variable: Variable, value: Term, span: Span): void {
    variable.assignments.push(value);
    this.emit({ kind: "assign", variable, value, span });
  }
  store(view: View, index: Term, value: Term, span: Span): void {
    if (view.base.space === "table") refuse("constantStore", span, view.base.name);
    if (view.base.space === "local" && view.base.region !== this.region) refuse("outerArray", span, view.base.name);
    view.base.contents.push(value);
    this.emit({ kind: "store", view, index, value, span });
  }
  /** Computes a term now and names the result. */
  keep(name: string, value: Term): Read {
    const variable = this.variable(name, value.span, true);
    this.assign(variable, value, value.span);
    return { kind: "read", variable, span: value.span };
  }
  /** A term that may be used several times and after later effects. */
  fixed(name: string, value: Term): Term {
    return isFixed(value) && sizeOf(value) <= 5 ? value : this.keep(name, value);
  }

  /**
   * Evaluates from left to right. What an earlier one read and a later one changes is kept first.
   */
  inOrder(evaluations: readonly (() => Value)[]): Value[] {
    const values: Value[] = [];
    for (const evaluate of evaluations) {
      const mark = this.steps.length;
      const value = evaluate();
      if (this.steps.length > mark) this.#keepAll(values, mark);
      values.push(value);
    }
    return values;
  }
  #keepAll(values: Value[], mark: number): void {
    const later = this.steps.splice(mark);
    const changes = changesOf(later);
    values.forEach((value, k) => {
      if (isTerm(value) && someTerm(value, changes)) values[k] = this.keep("kept", value);
    });
    this.steps.push(...later);
  }

  array(name: string, span: Span, element: ScalarName | undefined, length: number): ArrayBase {
    const { region } = this;
    const base = { kind: "base", name, span, space: "local", region, element, length } as const;
    return { ...base, data: undefined, group: undefined, contents: [] };
  }
}

/** Whether steps change what a term reads by itself: a variable that they assign, an array that they store to. */
function changesOf(steps: readonly Step[]): (t: Term) => boolean {
  const assigned = assignedIn(steps);
  const stored = storedIn(steps);
  return (t) => (t.kind === "read" && assigned.has(t.variable)) || (t.kind === "element" && stored.has(t.view.base));
}
/** A term that no effect can change. */
const isFixed = (term: Term): boolean =>
  !someTerm(term, (t) => t.kind === "element" || (t.kind === "read" && !t.variable.stable));
/** A term that a name may stand for instead of a variable of its own. */
export function isCheap(term: Term): boolean {
  return known(term) !== undefined || term.kind === "length" || (term.kind === "read" && term.variable.stable);
}
export const sizeOf = (term: Term): number => operandsOf(term).reduce((sum, t) => sum + sizeOf(t), 1);

/** The value that a name or a field stands for. */
export function valueFor(bound: Value | Cell, span: Span): Value {
  switch (bound.kind) {
    case "variableCell":
      return { kind: "read", variable: bound.variable, span };
    case "elementCell":
      return { kind: "element", view: bound.view, index: bound.index, span };
    default:
      return isTerm(bound) ? { ...bound, span } : bound;
  }
}

/** The number that a value is; anything else is refused. */
export function numberOf(value: Value, span: Span): Term {
  if (isTerm(value)) return value;
  const text = textOf(span).slice(0, 60);
  switch (value.kind) {
    case "function":
    case "intrinsic":
    case "kernel":
      return refuse("functionValue", span, text);
    case "text":
      return refuse("string", span, JSON.stringify(value.value.slice(0, 40)));
    case "nothing":
      return refuse("noValue", span, text);
    default:
      return refuse("notANumber", span, text, describe(value));
  }
}

/** The place of a node in a frame's source. */
export const spanOf = (frame: Frame, node: AnyNode): Span => frame.unit.span(node);
/** Refuses to write to what a node stands for. */
export function refuseUpdate(frame: Frame, node: AnyNode): never {
  const span = spanOf(frame, node);
  return refuse("update", span, textOf(span));
}
