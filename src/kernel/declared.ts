/**
 * @file What the names of a declaration stand for inside the function: parameters of the compiled function, constants,
 * helpers, and the arguments of a kernel that another kernel calls.
 */
import { wholeView } from "./access.ts";
import type { Context } from "./context.ts";
import { numberOf, valueFor } from "./context.ts";
import {
  type ArrayOf,
  type Constant,
  type ConstantValue,
  type Declaration,
  type Inline,
  KERNEL_SPEC,
  type KernelLike,
  type KernelSpec,
  type Scalar,
  type ScalarName,
  type Struct,
} from "./declare.ts";
import { Refusal, type Span } from "./errors.ts";
import { declaredKind, type Leaf, rowWidths } from "./flatten.ts";
import { apply, binary, literal, truth } from "./fold.ts";
import { INTRINSICS } from "./globals.ts";
import { refuse } from "./refusals.ts";
import { readFunction } from "./source.ts";
import type { ArrayBase, Term, Variable, View } from "./terms.ts";
import { type Cell, type Column, type FunctionValue, isTable, type RecordValue, type Value } from "./values.ts";

/** The compiled function's own parameters, by leaf name. */
export interface EntryParameters {
  readonly arrays: ReadonlyMap<string, ArrayBase>;
  readonly scalars: ReadonlyMap<string, Variable>;
}

export function entryParameters(cx: Context, leaves: readonly Leaf[], span: Span): EntryParameters {
  const arrays = new Map<string, ArrayBase>();
  const scalars = new Map<string, Variable>();
  for (const { kind, name, dtype, length, group, each } of leaves) {
    if (kind === "scalar") scalars.set(name, cx.variable(name, span, true, dtype));
    else {
      const base = { kind: "base", name, span, space: "param", region: undefined, data: undefined } as const;
      arrays.set(name, { ...base, element: dtype, length, group: each === 1 ? group : undefined, contents: [] });
    }
  }
  return { arrays, scalars };
}

function constantValue(value: ConstantValue, path: string, span: Span): Value {
  if (typeof value === "number") return literal(value, span);
  if (typeof value === "boolean") return truth(value, span);
  if (isTable(value)) return tableView(Array.from(value), path, span);
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : undefined;
  if (entries)
    return { kind: "record", fields: new Map(entries.map(([k, v]) => [k, constantValue(v, `${path}.${k}`, span)])) };
  throw new Refusal(
    {
      problem: `the constant \`${path}\` is ${String(value)}`,
      advice: "constants are numbers, booleans, arrays of numbers, and records of these",
    },
    undefined,
  );
}
function tableView(data: readonly number[], name: string, span: Span): View {
  const bad = data.findIndex((v) => typeof v !== "number");
  if (bad >= 0 || data.length === 0)
    throw new Refusal(
      {
        problem: `the constant table \`${name}\` ${data.length === 0 ? "is empty" : `holds ${String(data[bad])}`}`,
        advice: "give an array of numbers with at least one element",
      },
      undefined,
    );
  const base: ArrayBase = {
    kind: "base",
    name,
    span: undefined,
    space: "table",
    region: undefined,
    element: undefined,
    length: data.length,
    data,
    group: undefined,
    contents: [],
  };
  return { kind: "view", base, offset: undefined, stride: undefined, length: literal(data.length, span) };
}

function helperValue(helper: Inline, name: string, span: Span): FunctionValue {
  const unit = readFunction(helper.fn, helper.fn?.name || name, helper.site);
  const uses = helper.uses && recordOf(helper.uses, (declared, path) => sharedValue(declared, path, span), "");
  return { kind: "function", name, unit, node: unit.node, home: undefined, uses };
}
export function kernelFunction(spec: KernelSpec): FunctionValue {
  const unit = readFunction(spec.fn, spec.name, spec.site);
  return { kind: "function", name: spec.name, unit, node: unit.node, home: undefined, uses: undefined };
}

/** Constants, helpers and kernels mean the same wherever they are declared. */
function sharedValue(declared: unknown, path: string, span: Span): Value {
  switch (declaredKind(declared)) {
    case "constant":
      return constantValue((declared as Constant).value, path, span);
    case "inline":
      return helperValue(declared as Inline, path, span);
    case "kernel":
      return { kind: "kernel", spec: (declared as KernelLike)[KERNEL_SPEC] };
    default:
      throw new Refusal(
        {
          problem: `a helper uses \`${path}\`, which is no constant`,
          advice: "declare constant(), inline() or a kernel",
        },
        undefined,
      );
  }
}

function recordOf(
  record: { readonly [name: string]: unknown },
  make: (declared: unknown, path: string) => Value | Cell,
  prefix: string,
): RecordValue {
  const fields = Object.entries(record).map(([name, d]) => [name, make(d, prefix + name)] as const);
  return { kind: "record", fields: new Map(fields) };
}

/** The second parameter. */
export function intrinsicsRecord(): RecordValue {
  return { kind: "record", fields: new Map(INTRINSICS.map((name) => [name, { kind: "intrinsic", name }])) };
}

/** The first parameter of the compiled function. */
export function entryRecord(declaration: Declaration, parameters: EntryParameters, span: Span): RecordValue {
  const value = (declared: unknown, path: string): Value | Cell => {
    switch (declaredKind(declared)) {
      case "scalar":
        return { kind: "read", variable: parameters.scalars.get(path) as Variable, span };
      case "array":
        return arrayValue(declared as ArrayOf, path, parameters, span);
      case "struct":
        return recordOf((declared as Struct).fields, value, `${path}.`);
      case "record":
        return recordOf(declared as Declaration, value, `${path}.`);
      default:
        return sharedValue(declared, path, span);
    }
  };
  return recordOf(declaration, value, "");
}

/** How many groups of `each` elements a whole array has. */
function countOf(view: View, each: number, span: Span): Term {
  return each === 1 ? view.length : apply("floor", [binary("/", view.length, literal(each, span), span)], span);
}

function arrayValue(declared: ArrayOf, path: string, parameters: EntryParameters, span: Span): Value {
  const [widths, element] = rowWidths(path.split("."), declared.element);
  if (element.kind === "struct") {
    const fields = columnsOf(element.fields, path, parameters, span);
    return { kind: "structs", fields, length: structCount(fields, span) };
  }
  const view = wholeView(parameters.arrays.get(path) as ArrayBase, span);
  if (widths.length === 0) return view;
  const each = widths.reduce((product, w) => product * w, 1);
  return { kind: "rows", view, widths, length: countOf(view, each, span) };
}

function columnsOf(fields: object, path: string, parameters: EntryParameters, span: Span): Map<string, Column> {
  const column = (name: string, field: unknown): Column => {
    const at = `${path}.${name}`;
    const kind = declaredKind(field);
    if (kind === "struct")
      return { kind: "columns", fields: columnsOf((field as Struct).fields, at, parameters, span) };
    if (kind === "record") return { kind: "columns", fields: columnsOf(field as object, at, parameters, span) };
    const view = wholeView(parameters.arrays.get(at) as ArrayBase, span);
    return { kind: "column", view, width: kind === "array" ? (field as ArrayOf).length : undefined };
  };
  return new Map(Object.entries(fields).map(([name, field]: [string, unknown]) => [name, column(name, field)]));
}

/** The number of structs, from the first plain field (or the first array field). */
function structCount(fields: ReadonlyMap<string, Column>, span: Span): Term {
  const flat = (columns: ReadonlyMap<string, Column>): (Column & { kind: "column" })[] =>
    [...columns.values()].flatMap((c) => (c.kind === "column" ? [c] : flat(c.fields)));
  const columns = flat(fields);
  const first = columns.find((c) => c.width === undefined) ?? columns[0];
  return first ? countOf(first.view, first.width ?? 1, span) : literal(0, span);
}

/** The parameters of a kernel that another one calls, from the record it is given. */
export function kernelArguments(cx: Context, spec: KernelSpec, given: Value | undefined, span: Span): Value[] {
  const value = (declared: unknown, path: string, from: Value | undefined): Value | Cell => {
    switch (declaredKind(declared)) {
      case "scalar":
        return givenScalar(cx, (declared as Scalar).dtype, path, from, span);
      case "array":
        return givenArray(declared as ArrayOf, path, from, span);
      case "struct":
        return inner((declared as Struct).fields, path, from);
      case "record":
        return inner(declared as Declaration, path, from);
      default:
        return sharedValue(declared, path, span);
    }
  };
  const inner = (record: { readonly [name: string]: unknown }, path: string, from: Value | undefined): RecordValue => {
    if (from && from.kind !== "record") return refuse("kernelArgument", span, path || "(a record)");
    const field = (name: string): Value | undefined => {
      const bound = from?.fields.get(name);
      return bound && valueFor(bound, span);
    };
    return {
      kind: "record",
      fields: new Map(
        Object.entries(record).map(([name, d]) => [name, value(d, path ? `${path}.${name}` : name, field(name))]),
      ),
    };
  };
  return [inner(spec.declaration, "", given), intrinsicsRecord()];
}

function givenScalar(cx: Context, dtype: ScalarName, path: string, from: Value | undefined, span: Span): Value {
  const variable = cx.variable(path, span, true, dtype);
  cx.assign(variable, numberOf(from ?? refuse("kernelArgument", span, path), span), span);
  return { kind: "read", variable, span };
}

/** An array argument is the same memory; its elements must be of the declared type. */
function givenArray(declared: ArrayOf, path: string, from: Value | undefined, span: Span): Value {
  const [widths, element] = rowWidths(path.split("."), declared.element);
  const fits =
    element.kind === "struct"
      ? from?.kind === "structs" && Object.keys(element.fields).every((name) => from.fields.has(name))
      : widths.length > 0
        ? from?.kind === "rows" && from.widths.join() === widths.join() && from.view.base.element === element.dtype
        : from?.kind === "view" && from.base.element === element.dtype;
  return fits && from ? from : refuse("kernelArgument", span, path);
}
