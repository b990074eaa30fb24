/**
 * @file The last stage: steps over typed terms as IR.
 */
import * as ir from "../ir/build.ts";
import type { Buffer, Expr, Label, Load, Local, Reduction, Site, Stmt, Store } from "../ir/nodes.ts";
import { findConflict } from "../ir/passes/dependence.ts";
import { setPlace } from "../ir/places.ts";
import { type AxisKind, type DType, isFloat, isInteger, type StorageType } from "../ir/types.ts";
import { eachStmt } from "../ir/walk.ts";
import { negate, once } from "./conversions.ts";
import type { ScalarName } from "./declare.ts";
import type { Elaborated } from "./elaborate.ts";
import { placeOfSpan, Refusal, type Span, textOf } from "./errors.ts";
import { heldAsF32 } from "./fractions.ts";
import { Types } from "./infer.ts";
import { TermLowering } from "./lowerTerms.ts";
import { refuse } from "./refusals.ts";
import { draw, type IrStream, openStream } from "./streams.ts";
import {
  type ArrayBase,
  drawnInto,
  eachStep,
  type Mark,
  type ParallelStep,
  type RecurStep,
  type Step,
  type Stream,
  type Term,
  type Variable,
} from "./terms.ts";
import { heldAs, printType, type Type } from "./types.ts";

const STORAGE: { readonly [D in ScalarName]: StorageType } = {
  f32: "f32",
  f64: "f64",
  i32: "i32",
  u32: "u32",
  u8: "u8",
  bool: "u8",
};
/** How arrays of inferred type are kept. */
const INFERRED: { readonly [D in DType]: ScalarName } = {
  f32: "f32",
  f64: "f64",
  i32: "i32",
  u32: "u32",
  bool: "bool",
};
/** Loops whose iterations must not meet in memory. */
const INDEPENDENT: ReadonlySet<AxisKind> = new Set<AxisKind>(["parallel", "scan"]);
/** Arrays up to this length are cleared by single stores. */
const FEW = 16;

export class Lowering {
  readonly #b = new ir.Builder();
  readonly #types: Types;
  readonly #narrow: ReadonlySet<Variable | ArrayBase>;
  readonly #terms: TermLowering;
  readonly #locals = new Map<Variable, Local>();
  readonly #buffers = new Map<ArrayBase, Buffer>();
  readonly #labels = new Map<Mark, Label>();
  readonly #streams = new Map<Stream, IrStream>();
  readonly #spans = new WeakMap<Load | Store, Span>();
  readonly #stored = new Set<ArrayBase>();
  readonly #elaborated: Elaborated;
  readonly sites: Site[] = [];

  constructor(elaborated: Elaborated, fused: boolean) {
    this.#elaborated = elaborated;
    this.#types = new Types(elaborated.steps);
    this.#narrow = heldAsF32(this.#types, elaborated.steps);
    eachStep(elaborated.steps, (s) => s.kind === "store" && this.#stored.add(s.view.base));
    this.#terms = new TermLowering({
      types: this.#types,
      b: this.#b,
      fused,
      local: (v) => this.#local(v),
      buffer: (base) => this.#buffer(base),
      sites: this.sites,
      spans: this.#spans,
    });
  }

  /** The entry function: its buffers and parameters in the order of the declaration. */
  entry(name: string): ReturnType<typeof ir.func> {
    const buffers = this.#elaborated.arrays.map((base) => this.#buffer(base));
    const params = this.#elaborated.scalars.map((v) => this.#local(v));
    const body = this.#b.body(() => this.#steps(this.#elaborated.steps));
    this.#checkIterations(body);
    return ir.func(name, buffers, params, body);
  }

  /** The IR type that a variable or array is held in. */
  #held(typed: Variable | ArrayBase): DType {
    const type = this.#types.typeOfVariable(typed);
    return type.kind === "fraction" && this.#narrow.has(typed) ? "f32" : heldAs(type);
  }
  #local(variable: Variable): Local {
    let found = this.#locals.get(variable);
    if (!found) {
      found = this.#b.local(
        variable.name,
        variable.declared ? heldAs(this.#declaredType(variable)) : this.#held(variable),
      );
      this.#locals.set(variable, found);
    }
    return found;
  }
  #declaredType(variable: Variable): Type {
    return variable.declared === "u8" ? { kind: "i32" } : { kind: variable.declared as Exclude<ScalarName, "u8"> };
  }
  #elementOf(base: ArrayBase): ScalarName {
    return base.element ?? INFERRED[this.#held(base)];
  }
  #buffer(base: ArrayBase): Buffer {
    let found = this.#buffers.get(base);
    if (!found) {
      found = this.#newBuffer(base);
      this.#buffers.set(base, found);
    }
    return found;
  }
  #newBuffer(base: ArrayBase): Buffer {
    const storage = STORAGE[this.#elementOf(base)];
    if (base.space !== "table") return ir.buffer(base.name, storage, base.space, base.length);
    return ir.buffer(base.name, storage, "table", base.length, { data: base.data ?? [] });
  }

  #steps(steps: readonly Step[]): void {
    for (const step of steps) this.#step(step);
  }
  #body(steps: readonly Step[]): Stmt[] {
    return this.#b.body(() => this.#steps(steps));
  }

  #step(step: Step): void {
    const b = this.#b;
    switch (step.kind) {
      case "assign":
        return this.#assign(step.variable, step.value, step.span);
      case "clear":
        if (step.variable.assignments.length === 0) return;
        return b.assign(this.#local(step.variable), ir.constant(this.#local(step.variable).dtype, 0));
      case "store":
        return this.#store(step);
      case "array":
        return this.#array(step);
      case "if": {
        const condition = this.#terms.condition(step.test);
        if (condition.kind === "const") return this.#steps(condition.value ? step.then : step.else);
        const [then, otherwise] = [this.#body(step.then), this.#body(step.else)];
        if (then.length === 0) return b.emit({ kind: "if", condition: negate(condition), then: otherwise, else: [] });
        return b.emit({ kind: "if", condition, then, else: otherwise });
      }
      case "count":
        return this.#count(step);
      case "loop":
        return b.loop((label) => this.#marked(step.mark, label, step.body));
      case "block":
        return b.block((label) => this.#marked(step.mark, label, step.body));
      case "exit":
        return b.exit(this.#labels.get(step.mark) as Label);
      case "parallel":
        return this.#parallel(step);
      case "recur":
        return this.#recur(step);
      case "assert": {
        this.sites.push({ reason: "assert", message: step.message, place: placeOfSpan(step.span) });
        const site = this.sites.length;
        return b.fault(negate(this.#terms.condition(step.condition)), site);
      }
      case "stream": {
        const parent = step.from.kind === "key" ? undefined : this.#streams.get(step.from.parent);
        this.#streams.set(step.stream, openStream(b, this.#terms, step.from, parent));
        return;
      }
      case "draw": {
        const values = draw(this.#terms, this.#streams.get(step.stream) as IrStream, step);
        drawnInto(step).forEach((v, k) => {
          b.assign(this.#local(v), values[k] as Expr);
        });
        return;
      }
      default:
        return step satisfies never;
    }
  }
  #marked(mark: Mark, label: Label, body: readonly Step[]): void {
    this.#labels.set(mark, label);
    this.#steps(body);
  }

  #assign(variable: Variable, value: Term, span: Span): void {
    if (variable.declared) this.#terms.checkHolds(value, variable.declared, variable.name, span);
    const to = this.#local(variable);
    this.#b.assign(to, to.dtype === "bool" ? this.#terms.condition(value) : this.#terms.value(value, to.dtype));
  }
  #store(step: Step & { kind: "store" }): void {
    const element = this.#elementOf(step.view.base);
    this.#terms.checkHolds(step.value, element, step.view.base.name, step.span);
    const index = this.#terms.index(step.view, step.index, step.span);
    const value = this.#storedValue(step.value, element);
    const store = ir.store(this.#buffer(step.view.base), index, value);
    this.#spans.set(store, step.span);
    this.#b.emit(setPlace(store, placeOfSpan(step.span)));
  }
  /** A value as a load of the element type would give it. */
  #storedValue(value: Term, element: ScalarName): ReturnType<TermLowering["value"]> {
    if (element === "bool") return ir.convert("i32", this.#terms.condition(value));
    return this.#terms.value(value, element === "u8" ? "i32" : element);
  }

  /** A local array: its first contents, or a table when nothing else is ever stored in it. */
  #array({ base, zero, initial }: Step & { kind: "array" }): void {
    const isTable = initial.length > 0 && !this.#stored.has(base) && initial.every((t) => t.kind === "literal");
    const element = this.#elementOf(base);
    if (isTable) {
      const data = initial.map((t) => (t.kind === "literal" ? t.value : 0));
      this.#buffers.set(base, ir.buffer(base.name, STORAGE[element], "table", base.length, { data }));
      return;
    }
    const buffer = this.#buffer(base);
    initial.forEach((t, k) => {
      this.#terms.checkHolds(t, element, base.name, t.span);
      this.#b.store(buffer, ir.i32(k), this.#storedValue(t, element));
    });
    if (zero) this.#clear(buffer, element);
  }
  #clear(buffer: Buffer, element: ScalarName): void {
    const length = buffer.length ?? 0;
    const nothing = ir.constant(element === "u8" || element === "bool" ? "i32" : element, 0);
    if (length <= FEW) for (let k = 0; k < length; k++) this.#b.store(buffer, ir.i32(k), nothing);
    else this.#b.for("k", { begin: ir.i32(0), end: ir.i32(length) }, (k) => this.#b.store(buffer, k, nothing));
  }

  /** The end of a loop whose bound is counted too; there is none beyond the last i32, which becomes a fault. */
  #oneBeyond(bound: Expr, past: number, index: Variable): Expr {
    const last = past > 0 ? 2147483647 : -2147483648;
    const limit = once(this.#b, "bound", bound);
    if (limit.kind !== "const" || limit.value === last) {
      const message = `a loop over \`${index.name}\` cannot count beyond ${last}: write < or >`;
      this.sites.push({ reason: "assert", message, place: index.span && placeOfSpan(index.span) });
      this.#b.fault(ir.binary("eq", limit, ir.i32(last)), this.sites.length);
    }
    return ir.add(limit, ir.i32(past));
  }
  #count(step: Step & { kind: "count" }): void {
    const { index, mark, body } = step;
    const counts = index.counts as NonNullable<Variable["counts"]>;
    const types = [this.#types.typeOfVariable(index), this.#types.of(counts.begin), this.#types.of(counts.bound)];
    if (!types.every((t) => heldAs(t) === "i32" || t.kind === "bool")) return this.#countSlowly(step, counts);
    const begin = this.#terms.value(counts.begin, "i32");
    const bound = this.#terms.value(counts.bound, "i32");
    const past = counts.compare === "<=" ? 1 : counts.compare === ">=" ? -1 : 0;
    const end = past === 0 ? bound : this.#oneBeyond(bound, past, index);
    const variable = this.#local(index);
    const label = ir.label(index.name);
    this.#labels.set(mark, label);
    this.#b.emit({
      kind: "for",
      label,
      axis: "serial",
      index: variable,
      begin,
      end,
      step: counts.step,
      body: this.#body(body),
      reductions: [],
    });
  }
  /** Counting in another type than i32, or up to a bound of another type. */
  #countSlowly({ index, mark, body }: Step & { kind: "count" }, counts: NonNullable<Variable["counts"]>): void {
    const { span } = index;
    const read: Term = { kind: "read", variable: index, span };
    const within: Term = { kind: "binary", op: counts.compare, a: read, b: counts.bound, span };
    const one: Term = { kind: "literal", value: counts.step, span };
    this.#b.assign(this.#local(index), this.#terms.value(counts.begin, this.#local(index).dtype));
    this.#b.loop((label) => {
      this.#b.if(negate(this.#terms.condition(within)), () => this.#b.exit(label));
      this.#marked(mark, label, body);
      this.#assign(index, { kind: "binary", op: "+", a: read, b: one, span }, span);
    });
  }

  #parallel(step: ParallelStep): void {
    const type = this.#types.of(step.count);
    if (heldAs(type) !== "i32" && type.kind !== "u32") {
      const text = textOf(step.count.span);
      const problem = `the count of ${step.axis}, \`${text}\`, is ${printType(type)}`;
      throw new Refusal({ problem, advice: `make it an i32: \`${step.axis}(${text} | 0, ...)\`` }, step.count.span);
    }
    const end = this.#terms.value(step.count, "i32");
    const reductions = [...step.reductions].map(([variable, op]): Reduction => {
      const local = this.#local(variable);
      this.#checkReduction(local, op, variable, step.span);
      return { local, op };
    });
    const label = ir.label(step.index.name);
    const index = this.#local(step.index);
    const body = this.#body(step.body);
    this.#b.emit({ kind: "for", label, axis: step.axis, index, begin: ir.i32(0), end, step: 1, body, reductions });
  }
  #recur({ variable, value, factor, term, span }: RecurStep): void {
    if (variable.declared) this.#terms.checkHolds(value, variable.declared, variable.name, span);
    const of = this.#local(variable);
    this.#types.of(value);
    if (!isFloat(of.dtype)) refuse("scanAssignment", span, variable.name);
    this.#b.emit(ir.recur(of, this.#terms.value(term, of.dtype), this.#terms.value(factor, of.dtype)));
  }
  #checkReduction(local: Local, op: Reduction["op"], variable: Variable, span: Span): void {
    const isBits = op === "and" || op === "or" || op === "xor";
    const fits = isBits
      ? local.dtype === "bool" || isInteger(local.dtype)
      : isInteger(local.dtype) || isFloat(local.dtype);
    if (!fits) refuse("outerAssignment", span, variable.name);
  }

  /** Refuses parallel loops in which two iterations certainly meet. */
  #checkIterations(body: readonly Stmt[]): void {
    eachStmt(body, (loop) => {
      const conflict = loop.kind === "for" && INDEPENDENT.has(loop.axis) ? findConflict(loop) : undefined;
      const span = conflict && (this.#spans.get(conflict.store) ?? this.#spans.get(conflict.other));
      if (conflict && span) refuse("sharedElement", span, conflict.buffer.name);
    });
  }
}
