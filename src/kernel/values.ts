/**
 * @file What an expression of a kernel may stand for while it is compiled.
 *
 * Numbers are terms. Arrays, rows, structs, records and functions exist only here, as names for memory and code: they
 * can be bound, passed and taken apart, and nothing of them is left in the compiled program.
 */
import type { ConstantValue, KernelSpec } from "./declare.ts";
import type { Span } from "./errors.ts";
import type { Binding } from "./scopes.ts";
import type { FunctionNode, Unit } from "./source.ts";
import { type FunctionName, isTerm, type Stream, type Term, type Variable, type View } from "./terms.ts";

/** Something that can be assigned. */
export type Cell =
  | { readonly kind: "variableCell"; readonly variable: Variable }
  | { readonly kind: "elementCell"; readonly view: View; readonly index: Term };

/** An array of arrays, one after the other: `widths[0]` entries in each, which are arrays again if there are more. */
export interface Rows {
  readonly kind: "rows";
  readonly view: View;
  readonly widths: readonly number[];
  readonly length: Term;
}
/** An array of structs: one column per field, a nested array field taking `width` columns. */
export interface Structs {
  readonly kind: "structs";
  readonly fields: ReadonlyMap<string, Column>;
  readonly length: Term;
}
export type Column =
  | { readonly kind: "column"; readonly view: View; readonly width: number | undefined }
  | { readonly kind: "columns"; readonly fields: ReadonlyMap<string, Column> };
export interface RecordValue {
  readonly kind: "record";
  readonly fields: ReadonlyMap<string, Value | Cell>;
}
/** A helper, or a function written inside the kernel. */
export interface FunctionValue {
  readonly kind: "function";
  readonly name: string;
  readonly unit: Unit;
  readonly node: FunctionNode;
  /** Where its outer names are looked up. */
  readonly home: Names | undefined;
  /** What it uses, bound to its first parameter. */
  readonly uses: RecordValue | undefined;
}
export type IntrinsicName = "parallel" | "blocks" | "scan" | "assert" | "rng" | FunctionName;
export type Value =
  | Term
  | View
  | Rows
  | Structs
  | RecordValue
  | FunctionValue
  | Stream
  | { readonly kind: "intrinsic"; readonly name: IntrinsicName }
  | { readonly kind: "global"; readonly name: string }
  | { readonly kind: "kernel"; readonly spec: KernelSpec }
  | { readonly kind: "text"; readonly value: string; readonly span: Span }
  | { readonly kind: "nothing" };

/** What the names of one inlined function stand for. */
export class Names {
  readonly #bound = new Map<Binding, Value | Cell>();
  readonly #outer: Names | undefined;
  constructor(outer: Names | undefined) {
    this.#outer = outer;
  }
  set(binding: Binding, to: Value | Cell): void {
    this.#bound.set(binding, to);
  }
  find(binding: Binding): Value | Cell | undefined {
    return this.#bound.get(binding) ?? this.#outer?.find(binding);
  }
}

const DESCRIPTIONS: { readonly [K in Exclude<Value["kind"], Term["kind"]>]: string } = {
  view: "an array",
  rows: "an array of arrays",
  structs: "an array of structs",
  record: "a record",
  function: "a function",
  stream: "a stream of random numbers",
  intrinsic: "a function",
  global: "a global of JavaScript",
  kernel: "a kernel",
  text: "a string",
  nothing: "nothing",
};
export function describe(value: Value): string {
  return isTerm(value) ? "a number" : DESCRIPTIONS[value.kind];
}

export const isTable = (value: ConstantValue): value is readonly number[] | Float32Array =>
  Array.isArray(value) || ArrayBuffer.isView(value);
