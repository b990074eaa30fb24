/**
 * @file Fields and subscripts: what `a.b` and `a[i]` stand for.
 */
import type { Context } from "./context.ts";
import { numberOf } from "./context.ts";
import type { Span } from "./errors.ts";
import { binary, known, literal } from "./fold.ts";
import { isMathFunction, MATH_CONSTANTS, NUMBER_CONSTANTS, NUMBER_FUNCTIONS } from "./globals.ts";
import { difference } from "./linear.ts";
import { refuse } from "./refusals.ts";
import type { ArrayBase, Term, View } from "./terms.ts";
import { type Cell, type Column, describe, type RecordValue, type Rows, type Structs, type Value } from "./values.ts";

/** A member of `Math` or `Number`. */
function globalField(global: string, name: string, span: Span): Value {
  if (global === "Math" && name === "random") refuse("random", span);
  const constants = global === "Math" ? MATH_CONSTANTS : global === "Number" ? NUMBER_CONSTANTS : undefined;
  const value = constants?.get(name);
  if (value !== undefined) return literal(value, span);
  if (global === "Math" && isMathFunction(name)) return { kind: "intrinsic", name };
  const test = global === "Number" ? NUMBER_FUNCTIONS.get(name) : undefined;
  return test ? { kind: "intrinsic", name: test } : refuse("mathFunction", span, `${global}.${name}`);
}

/** What a field name stands for; methods of arrays and streams are looked up by their call. */
export function fieldOf(value: Value, name: string, span: Span): Value | Cell {
  switch (value.kind) {
    case "record":
      return value.fields.get(name) ?? refuse("field", span, name);
    case "view":
    case "rows":
    case "structs":
      return name === "length" ? { ...value.length, span } : refuse("arrayMethod", span, name);
    case "global":
      return globalField(value.name, name, span);
    default:
      return refuse("field", span, name);
  }
}

/** Refuses a subscript that is known to be out of range. */
function checkRange(index: Term, length: Term, span: Span): void {
  const [at, count] = [known(index), known(length)];
  if (at === undefined) return;
  const outside = typeof count === "number" && Number(at) >= count;
  if (Number(at) < 0 || outside || !Number.isInteger(Number(at))) refuse("subscript", span, String(at));
}

/** Rows `index` of an array of arrays. */
function rowOf(cx: Context, rows: Rows, index: Term, span: Span): Value {
  const at = cx.fixed("row", index);
  const [width = 1, ...inner] = rows.widths;
  const size = inner.reduce((product, w) => product * w, width);
  const start = binary("*", at, literal(size, span), span);
  const offset = rows.view.offset ? binary("+", rows.view.offset, start, span) : start;
  const count = literal(width, span);
  if (inner.length === 0) return { ...rows.view, offset, length: count };
  return { kind: "rows", view: { ...rows.view, offset }, widths: inner, length: count };
}

function columnAt(column: Column, at: Term, structs: Structs, span: Span): Value | Cell {
  if (column.kind === "columns") return recordAt(column.fields, at, structs, span);
  const { view, width } = column;
  if (width === undefined) return { kind: "elementCell", view, index: at };
  return { ...view, offset: at, stride: structs.length, length: literal(width, span) };
}
function recordAt(fields: ReadonlyMap<string, Column>, at: Term, structs: Structs, span: Span): RecordValue {
  return {
    kind: "record",
    fields: new Map([...fields].map(([name, column]) => [name, columnAt(column, at, structs, span)])),
  };
}

/** A number of a constant table, where the subscript is known. */
function tableEntry(view: View, index: Term, span: Span): Term | undefined {
  const value = view.offset === undefined ? view.base.data?.[Number(known(index))] : undefined;
  return value === undefined ? undefined : literal(value, span);
}

/** What a subscript stands for. */
export function elementOf(cx: Context, value: Value, index: Value, span: Span): Value | Cell {
  switch (value.kind) {
    case "view": {
      const at = numberOf(index, span);
      checkRange(at, value.length, span);
      return tableEntry(value, at, span) ?? { kind: "elementCell", view: value, index: at };
    }
    case "rows": {
      const at = numberOf(index, span);
      checkRange(at, value.length, span);
      return rowOf(cx, value, at, span);
    }
    case "structs": {
      const at = numberOf(index, span);
      checkRange(at, value.length, span);
      return recordAt(value.fields, cx.fixed("at", at), value, span);
    }
    case "record":
      return refuse("recordSubscript", span);
    default:
      return refuse("notSubscripted", span, describe(value));
  }
}

/** All elements of an array. */
export function wholeView(base: ArrayBase, span: Span): View {
  const length: Term = base.length === undefined ? { kind: "length", base, span } : literal(base.length, span);
  return { kind: "view", base, offset: undefined, stride: undefined, length };
}

/** Elements begin to end - 1 of an array, without a copy. */
export function subarray(cx: Context, view: View, begin: Term, end: Term | undefined, span: Span): View {
  const from = cx.fixed("begin", begin);
  const length = difference(end ? cx.fixed("end", end) : view.length, from, span);
  const step = view.stride ? binary("*", from, view.stride, span) : from;
  const offset = view.offset ? binary("+", view.offset, step, span) : step;
  return { ...view, offset, length };
}
