/**
 * @file Reductions. The order in which elements are combined follows from the shapes alone.
 *
 * - To one element: the fixed partial sums and tree of a parallel reduction over all elements in their order.
 * - Along axes before the last one, when that is wide: lanes are results, each combined in order.
 * - Along the last axis, of few elements: lanes are results too, further apart.
 * - Along a long last axis: a parallel reduction for each result.
 * - Over the rows of a batch, in parts: lanes are results, each combined in order.
 */
import { assign, type Builder, get, i32 } from "../../ir/build.ts";
import type { Expr, Local } from "../../ir/nodes.ts";
import { reducedCount } from "../costs.ts";
import type { ReduceNode } from "../nodes.ts";
import type { Placed } from "../plan.ts";
import { elementsOf } from "../shape.ts";
import {
  byNumber,
  bySubscripts,
  COMBINED,
  type ElementContext,
  Elements,
  flatOf,
  type Index,
  neutral,
  plus,
  seenBy,
  times,
} from "./elements.ts";
import { eachPart, nest, serialLoops, WIDE, type Window, windowed } from "./loops.ts";

/** Elements from which on a parallel reduction pays. */
const LONG = 32;

export function emitReduce(
  b: Builder,
  results: readonly Placed<ReduceNode>[],
  context: ElementContext,
  window?: Window,
): void {
  const first = (results[0] as Placed<ReduceNode>).node;
  const { shape } = first.input;
  const last = shape.length - 1;
  const kept = shape.flatMap((_, axis) => (first.axes.includes(axis) ? [] : [axis]));
  const job: Job = { b, results, context, kept, window };
  if (first.parts) return eachPart(b, first.parts, shape[0] as number, window, (own) => part({ ...job, window: own }));
  const alongLast = first.axes.includes(last) || (shape[last] as number) < WIDE;
  if (elementsOf(first.shape) === 1) return toOne(job);
  if (alongLast && first.axes.includes(last) && reducedCount(first) >= LONG) return rowByRow(job);
  const body = (subscripts: Expr[]): void => {
    const sums = accumulators(job);
    serialLoops(b, shape, first.axes, subscripts, () => accumulate(job, sums, subscripts));
    storeResults(job, sums, subscripts);
  };
  nest(b, shape, kept, body, window);
}

interface Job {
  readonly b: Builder;
  readonly results: readonly Placed<ReduceNode>[];
  readonly context: ElementContext;
  readonly kept: readonly number[];
  readonly window: Window | undefined;
}

function accumulators({ b, results }: Job): Local[] {
  return results.map(({ node }) => {
    const sum = b.local("sum", node.dtype);
    b.assign(sum, neutral(node.op, node.dtype));
    return sum;
  });
}

function accumulate({ b, results, context }: Job, sums: readonly Local[], subscripts: readonly Expr[]): void {
  combine(b, results, sums, context, bySubscripts([...subscripts]));
}
function combine(
  b: Builder,
  results: readonly Placed<ReduceNode>[],
  sums: readonly Local[],
  context: ElementContext,
  index: Index,
): void {
  const elements = new Elements(b, context);
  const values = results.map((result) => {
    elements.see(seenBy(result, context));
    return elements.at(result.node.input, index);
  });
  results.forEach(({ node }, k) => {
    const sum = sums[k] as Local;
    b.emit(assign(sum, COMBINED[node.op](get(sum), values[k] as Expr)));
  });
}

function storeResults({ b, results, kept }: Job, sums: readonly Local[], subscripts: readonly Expr[]): void {
  const index = bySubscripts(kept.map((axis) => subscripts[axis] as Expr));
  results.forEach(({ node, into }, k) => {
    b.store(into.buffer, plus(flatOf(index, node.shape), i32(into.offset)), get(sums[k] as Local));
  });
}

const reductionsOf = (results: readonly Placed<ReduceNode>[], sums: readonly Local[]) =>
  results.map(({ node }, k) => ({ local: sums[k] as Local, op: node.op }));

/** Sums of the rows of a window, to a row of the results. */
function part({ b, results, context, kept, window }: Job): void {
  const { first, count, number } = window as Window;
  const { shape } = (results[0] as Placed<ReduceNode>).node.input;
  nest(b, shape, kept, (subscripts) => {
    const sums = accumulators({ b, results, context, kept, window });
    b.for("i", { begin: i32(0), end: i32(count) }, (i) => {
      const row = b.let("row", plus(first, i));
      combine(b, results, sums, context, bySubscripts([row, ...subscripts.slice(1)]));
    });
    const inRow = flatOf(bySubscripts(subscripts.slice(1)), shape.slice(1));
    results.forEach(({ node, into }, k) => {
      const at = plus(times(number, node.shape[1] as number), inRow);
      b.store(into.buffer, plus(at, i32(into.offset)), get(sums[k] as Local));
    });
  });
}

/** All elements to one; the scheduler has seen to it that they can be counted. */
function toOne(job: Job): void {
  const { b, results, context } = job;
  const { input } = (results[0] as Placed<ReduceNode>).node;
  const sums = accumulators(job);
  const reductions = reductionsOf(results, sums);
  b.for("i", { begin: i32(0), end: i32(elementsOf(input.shape)), axis: "parallel", reductions }, (i) => {
    combine(b, results, sums, context, byNumber(i));
  });
  storeResults(
    job,
    sums,
    input.shape.map(() => i32(0)),
  );
}

function alongAxis(job: Job, sums: readonly Local[], axis: number, subscripts: Expr[]): void {
  const { b, results } = job;
  const { shape } = (results[0] as Placed<ReduceNode>).node.input;
  const reductions = reductionsOf(results, sums);
  b.for(`i${axis}`, { begin: i32(0), end: i32(shape[axis] as number), axis: "parallel", reductions }, (i) => {
    subscripts[axis] = i;
    accumulate(job, sums, subscripts);
    subscripts[axis] = i32(0);
  });
}

/** A parallel reduction along the last axis for each result; further axes in order. */
function rowByRow(job: Job): void {
  const { b, results, kept, window } = job;
  const { input, axes } = (results[0] as Placed<ReduceNode>).node;
  const last = input.shape.length - 1;
  const subscripts: Expr[] = input.shape.map(() => i32(0));
  const moving = kept.filter((axis) => (input.shape[axis] as number) > 1);
  const row = (): void => {
    const sums = accumulators(job);
    const others = axes.filter((axis) => axis !== last && (input.shape[axis] as number) > 1);
    serialLoops(b, input.shape, others, subscripts, () => alongAxis(job, sums, last, subscripts));
    storeResults(job, sums, subscripts);
  };
  const [first, ...rest] = moving as [number, ...number[]];
  const count = windowed(input.shape, window)[first] as number;
  b.for(`i${first}`, { begin: i32(0), end: i32(count), axis: "parallel" }, (i) => {
    subscripts[first] = window ? b.let("row", plus(window.first, i)) : i;
    serialLoops(b, input.shape, rest, subscripts, row);
  });
}
