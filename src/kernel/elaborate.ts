/**
 * @file The second stage: from a kernel's syntax tree to steps over terms, with every helper inlined.
 */
import type { Expression } from "acorn";
import { declarePattern } from "./bind.ts";
import { Context, type Frame, newMark, spanOf } from "./context.ts";
import type { KernelSpec } from "./declare.ts";
import { entryParameters, entryRecord, intrinsicsRecord, kernelFunction } from "./declared.ts";
import type { Span } from "./errors.ts";
import { expression } from "./expressions.ts";
import { flatten, type Leaf } from "./flatten.ts";
import { refuse } from "./refusals.ts";
import { alwaysReturns, discard, hasPlainReturn, returnsOf } from "./returns.ts";
import type { FunctionNode, Unit } from "./source.ts";
import { marked, statements } from "./statements.ts";
import type { ArrayBase, Step, Variable } from "./terms.ts";
import { type FunctionValue, Names, type Value } from "./values.ts";

export interface Elaborated {
  readonly unit: Unit;
  readonly leaves: readonly Leaf[];
  /** The arrays and scalars of the compiled function, in the order of the leaves. */
  readonly arrays: readonly ArrayBase[];
  readonly scalars: readonly Variable[];
  readonly steps: readonly Step[];
}

export function elaborate(spec: KernelSpec): Elaborated {
  const leaves = flatten(spec.declaration);
  const fn = kernelFunction(spec);
  const cx = new Context((context) => (f, args, span, wants) => inline(context, f, args, span, wants, false));
  const span = fn.unit.span(fn.node);
  const parameters = entryParameters(cx, leaves, span);
  const record = entryRecord(spec.declaration, parameters, span);
  inline(cx, fn, [record, intrinsicsRecord()], span, false, true);
  const arrays = [...parameters.arrays.values()];
  return { unit: fn.unit, leaves, arrays, scalars: [...parameters.scalars.values()], steps: cx.steps };
}

/** Runs a function's body in place of a call. */
function inline(
  cx: Context,
  fn: FunctionValue,
  given: readonly Value[],
  span: Span,
  wantsValue: boolean,
  isKernel: boolean,
): Value {
  if (cx.calls.includes(fn.node)) refuse("recursion", span, fn.name);
  const { node, unit, name } = fn;
  const plainReturn = node.body.type !== "BlockStatement" || hasPlainReturn(node.body.body);
  const frame: Frame = {
    unit,
    name,
    names: new Names(fn.home),
    returns: newMark(),
    wantsValue,
    isKernel,
    plainReturn,
    result: undefined,
    jumps: [],
  };
  cx.calls.push(node);
  bindParameters(cx, frame, node, fn.uses ? [fn.uses, ...given] : given, span);
  const steps = cx.body(() => run(cx, frame, node));
  cx.calls.pop();
  marked(cx, frame.returns, steps);
  return frame.result ?? { kind: "nothing" };
}

function run(cx: Context, frame: Frame, node: FunctionNode): void {
  const { body } = node;
  if (body.type !== "BlockStatement") {
    if (frame.wantsValue) frame.result = expression(cx, frame, body);
    else discard(cx, frame, body);
    return;
  }
  const givesValue = body.body.flatMap((s) => returnsOf(s)).some((r) => r.argument);
  if (frame.wantsValue && givesValue && !alwaysReturns(body.body))
    refuse("returnMissing", spanOf(frame, node), frame.name);
  statements(cx, frame, body.body, new Set([frame.returns]));
}

function bindParameters(cx: Context, frame: Frame, node: FunctionNode, given: readonly Value[], span: Span): void {
  node.params.forEach((pattern, k) => {
    const value = given[k];
    if (!value && pattern.type !== "AssignmentPattern") refuse("argumentCount", span, frame.name);
    declarePattern(cx, frame, pattern, value, (e: Expression) => {
      if (frame.isKernel) refuse("defaultArgument", spanOf(frame, e));
      return expression(cx, frame, e);
    });
  });
}
