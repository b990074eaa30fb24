/**
 * @file Calls of what is built in: functions of numbers, arrays and their methods, `parallel`, `blocks`, `scan`,
 * `assert`, `rng`; calls of helpers and kernels are handed on to be inlined.
 */
import { subarray, wholeView } from "./access.ts";
import { type Context, numberOf } from "./context.ts";
import type { ScalarName } from "./declare.ts";
import { kernelArguments, kernelFunction } from "./declared.ts";
import type { Span } from "./errors.ts";
import { apply, known, literal } from "./fold.ts";
import { ARRAY_CONSTRUCTORS, GLOBAL_FUNCTIONS } from "./globals.ts";
import { findRecurrences } from "./recurrences.ts";
import { findReductions } from "./reductions.ts";
import { refuse } from "./refusals.ts";
import {
  type ArrayBase,
  type DrawMethod,
  FUNCTION_ARGUMENTS,
  type FunctionName,
  isTerm,
  type Region,
  type Step,
  type Stream,
  type StreamOrigin,
  type Term,
  UNNAMED,
  type Variable,
  type View,
} from "./terms.ts";
import type { FunctionValue, IntrinsicName, Rows, Structs, Value } from "./values.ts";

export interface CallArguments {
  readonly args: readonly Value[];
  readonly spans: readonly Span[];
  readonly span: Span;
  readonly wantsValue: boolean;
}

const NOTHING: Value = { kind: "nothing" };

/** Argument `k` as a number. */
function number({ args, spans, span }: CallArguments, k: number): Term {
  const value = args[k];
  return value ? numberOf(value, spans[k] ?? span) : refuse("argumentCount", span, textOf(span));
}
const textOf = (span: Span): string => span.source.text.slice(span.start, span.end).split("\n")[0]?.slice(0, 60) ?? "";

export function call(cx: Context, callee: Value, given: CallArguments): Value {
  switch (callee.kind) {
    case "function":
      return cx.inline(callee, given.args, given.span, given.wantsValue);
    case "intrinsic":
      return intrinsic(cx, callee.name, given);
    case "kernel": {
      const fn = kernelFunction(callee.spec);
      return cx.inline(fn, kernelArguments(cx, callee.spec, given.args[0], given.span), given.span, false);
    }
    case "global": {
      const name = GLOBAL_FUNCTIONS.get(callee.name);
      if (name) return applyFunction(name, given);
      return callee.name === "Array" ? newArray(cx, "Array", given.args, given.span) : refuseCall(given.span);
    }
    default:
      return refuseCall(given.span);
  }
}
const refuseCall = (span: Span): never => refuse("notACallable", span, textOf(span));

function intrinsic(cx: Context, name: IntrinsicName, given: CallArguments): Value {
  switch (name) {
    case "parallel":
      return parallel(cx, given);
    case "blocks":
      return blocks(cx, given);
    case "scan":
      return scan(cx, given);
    case "assert":
      return assertion(cx, given);
    case "rng":
      return newStream(cx, { kind: "key", words: [number(given, 0), number(given, 1)] }, given.span);
    default:
      return applyFunction(name, given);
  }
}

/** Functions that take any number of arguments from two on, two by two. */
const FOLDED: ReadonlySet<FunctionName> = new Set<FunctionName>(["min", "max", "hypot"]);

function applyFunction(name: FunctionName, given: CallArguments): Term {
  const { span } = given;
  const args = given.args.map((_, k) => number(given, k));
  const count = FUNCTION_ARGUMENTS[name];
  if (FOLDED.has(name) && args.length > 0) {
    if (args.length === 1) return name === "hypot" ? apply("abs", args, span) : (args[0] as Term);
    return args.slice(1).reduce((a, b) => apply(name, [a, b], span), args[0] as Term);
  }
  if (args.length !== count) refuse("argumentCount", span, textOf(span));
  return apply(name, args, span);
}

function assertion(cx: Context, given: CallArguments): Value {
  const [, message] = given.args;
  if (message && message.kind !== "text") refuse("argumentCount", given.span, textOf(given.span));
  const condition = number(given, 0);
  const text = message?.value ?? textOf(given.spans[0] ?? given.span);
  cx.emit({ kind: "assert", condition, message: text, span: given.span });
  return NOTHING;
}

/** The outermost `parallel`, or that of a block, becomes a parallel loop; those inside plain ones. */
function parallel(cx: Context, given: CallArguments): Value {
  const [, body] = given.args;
  if (body?.kind !== "function") return refuse("parallelBody", given.span);
  return independent(cx, body, given, "parallel");
}

/** A parallel loop around others; a plain one inside of any. */
function blocks(cx: Context, given: CallArguments): Value {
  const [, body] = given.args;
  if (body?.kind !== "function") return refuse("blocksBody", given.span);
  return independent(cx, body, given, "blocks");
}

/** A loop of independent iterations; a plain one in a loop whose iterations may be lanes. */
function independent(cx: Context, body: FunctionValue, given: CallArguments, kind: "parallel" | "blocks"): Value {
  const { span } = given;
  const count = number(given, 0);
  const around = cx.region;
  if (around && !(kind === "parallel" && around.kind === "blocks")) {
    const { index, steps } = iterations(cx, body, count, span, around);
    cx.emit({ kind: "count", index, mark: { kind: "mark", used: false }, body: steps });
    return NOTHING;
  }
  const region: Region = { kind, outer: around };
  const { index, steps } = iterations(cx, body, count, span, region);
  const { body: checked, reductions } = findReductions(steps, region);
  cx.emit({ kind: "parallel", axis: "parallel", index, count, body: checked, reductions, span });
  return NOTHING;
}

/** A loop of its own wherever it stands, but not in another one like it. */
function scan(cx: Context, given: CallArguments): Value {
  const { span } = given;
  const [, body] = given.args;
  if (body?.kind !== "function") return refuse("scanBody", span);
  const outer = cx.region;
  if (outer?.kind === "scan") return refuse("scanInside", span);
  const count = number(given, 0);
  const region: Region = { kind: "scan", outer };
  const { index, steps } = iterations(cx, body, count, span, region);
  const checked = findRecurrences(steps, region, outer);
  cx.emit({ kind: "parallel", axis: "scan", index, count, body: checked, reductions: new Map(), span });
  return NOTHING;
}

/** The index and the steps of a body that runs for 0..count-1 in a region. */
function iterations(
  cx: Context,
  body: FunctionValue,
  count: Term,
  span: Span,
  region: Region,
): { index: Variable; steps: Step[] } {
  const outer = cx.region;
  cx.region = region;
  const index = cx.variable(body.node.params[0]?.type === "Identifier" ? body.node.params[0].name : "i", span, true);
  index.counts = { begin: literal(0, span), compare: "<", bound: count, step: 1 };
  const steps = cx.loop(() => cx.inline(body, [{ kind: "read", variable: index, span }], span, false));
  cx.region = outer;
  return { index, steps };
}

function newStream(cx: Context, from: StreamOrigin, span: Span): Stream {
  const stream: Stream = { kind: "stream", name: "stream", span, region: cx.region };
  cx.emit({ kind: "stream", stream, from });
  return stream;
}

type Owner = View | Rows | Structs | Stream;
export const isMethodOwner = (value: Value): value is Owner =>
  value.kind === "view" || value.kind === "rows" || value.kind === "structs" || value.kind === "stream";

export function callMethod(cx: Context, owner: Owner, name: string, given: CallArguments): Value {
  if (owner.kind === "stream") return streamMethod(cx, owner, name, given);
  if (owner.kind !== "view") return refuse("arrayMethod", given.span, name);
  const end = given.args.length > 1 ? number(given, 1) : undefined;
  switch (name) {
    case "subarray":
      return subarray(cx, owner, number(given, 0), end, given.span);
    case "fill": {
      const last = given.args.length > 2 ? number(given, 2) : owner.length;
      fill(cx, owner, number(given, 0), end ?? literal(0, given.span), last, given.span);
      return owner;
    }
    default:
      return refuse("arrayMethod", given.span, name);
  }
}

function fill(cx: Context, view: View, value: Term, begin: Term, bound: Term, span: Span): void {
  const kept = cx.fixed("value", value);
  const index = cx.variable("k", span, true);
  index.counts = { begin, compare: "<", bound, step: 1 };
  const body = cx.loop(() => cx.store(view, { kind: "read", variable: index, span }, kept, span));
  cx.emit({ kind: "count", index, mark: { kind: "mark", used: false }, body });
}

/** The least and greatest number of arguments of each draw, and what it yields. */
const DRAWS: { readonly [M in DrawMethod]: readonly [least: number, most: number, yields: ScalarName] } = {
  bits: [0, 0, "u32"],
  uniform: [0, 2, "f32"],
  pair: [0, 2, "f32"],
  int: [1, 1, "i32"],
  normal: [0, 0, "f32"],
  exponential: [0, 0, "f32"],
  bernoulli: [1, 1, "bool"],
  categorical: [1, 2, "i32"],
};

function streamMethod(cx: Context, stream: Stream, name: string, given: CallArguments): Value {
  const { span } = given;
  if (name === "fold" || name === "at")
    return newStream(cx, { kind: name, parent: stream, index: number(given, 0) }, span);
  if (stream.region !== cx.region) refuse("outerStream", span, textOf(span));
  if (name === "split") return newStream(cx, { kind: "split", parent: stream }, span);
  if (!(name in DRAWS)) refuse("field", span, name);
  const method = name as DrawMethod;
  const [least, most, yields] = DRAWS[method];
  const count = given.args.length;
  if (count < least || count > most || (least === 0 && count === 1)) refuse("argumentCount", span, textOf(span));
  const weights = method === "categorical" ? given.args[0] : undefined;
  if (weights && weights.kind !== "view") refuse("notANumber", span, textOf(span), "not an array");
  const args = given.args.flatMap((_, k) => (weights && k === 0 ? [] : [number(given, k)]));
  const into = cx.variable(method, span, true, yields);
  const second = method === "pair" ? cx.variable(method, span, true, yields) : undefined;
  cx.emit({ kind: "draw", into, second, stream, method, args, weights, span });
  const first: Term = { kind: "read", variable: into, span };
  if (!second) return first;
  return {
    kind: "record",
    fields: new Map([
      ["first", first],
      ["second", { kind: "read", variable: second, span }],
    ]),
  };
}

/** A local array: `new Float32Array(8)`, `new Array(4)`, `new Float32Array([1, 2])` or `[1, 2]` (no constructor). */
export function newArray(cx: Context, constructorName: string | undefined, args: readonly Value[], span: Span): View {
  const [first] = args;
  if (constructorName === undefined) return listArray(cx, undefined, args, span);
  if (!ARRAY_CONSTRUCTORS.has(constructorName)) return refuse("new", span, constructorName);
  const element = ARRAY_CONSTRUCTORS.get(constructorName);
  if (first?.kind === "view") return copiedArray(cx, element, first, span);
  const length = first && isTerm(first) ? known(first) : undefined;
  if (typeof length !== "number" || !Number.isInteger(length) || length < 1 || args.length !== 1)
    return refuse("arrayLength", span, textOf(span));
  const base = cx.array(UNNAMED, span, element, length);
  cx.emit({ kind: "array", base, zero: cx.loops > 0, initial: [] });
  return wholeView(base, span);
}

function listArray(cx: Context, element: ArrayBase["element"], values: readonly Value[], span: Span): View {
  if (values.length === 0) refuse("arrayLength", span, textOf(span));
  const initial = values.map((v) => (isTerm(v) ? v : refuse("arrayShape", span)));
  const base = cx.array(UNNAMED, span, element, initial.length);
  base.contents.push(...initial);
  cx.emit({ kind: "array", base, zero: false, initial });
  return wholeView(base, span);
}

/** `new Float32Array(view)`: a copy of an array whose length is known. */
function copiedArray(cx: Context, element: ArrayBase["element"], from: View, span: Span): View {
  const length = known(from.length);
  if (typeof length !== "number") return refuse("arrayLength", span, textOf(span));
  const values = Array.from({ length }, (_, k): Term => {
    return { kind: "element", view: from, index: literal(k, span), span };
  });
  return listArray(cx, element, values, span);
}
