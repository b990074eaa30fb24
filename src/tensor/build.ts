/**
 * @file Makes nodes: shapes checked, operands repeated to fit, views put together, and what is trivial left out.
 */
import type { CallEffect, InputNode, Node, ReduceKind, TensorType, ViewAxis } from "./nodes.ts";
import { accepts, type MapOp, operation } from "./operations.ts";
import { withPlace } from "./place.ts";
import { numberOf, recording } from "./recorder.ts";
import { axisOf, broadcastShapes, describeShape, elementsOf, type Shape, sameShape, TensorError } from "./shape.ts";

/** The operation that the user has called, while it is made of others. */
let outermost: string | undefined;

/** Records an operation that is made of others: mistakes in those are told of it. */
export function named<T>(operationName: string, write: () => T): T {
  if (outermost !== undefined) return write();
  outermost = operationName;
  try {
    return write();
  } finally {
    outermost = undefined;
  }
}

/** Refuses an operation: what it is, why, and where the user wrote it. */
export function refuse(operationName: string, reason: string): never {
  throw new TensorError(withPlace(`${outermost ?? operationName}: ${reason}`));
}

/** An axis counted from the front, which the operation needs. */
export function axisIn(operationName: string, shape: Shape, axis: number): number {
  return axisOf(shape, axis) ?? refuse(operationName, `${describeShape(shape)} has no axis ${axis}`);
}

/** Operations that users know by another name. */
const PUBLIC_NAMES: { readonly [op in MapOp]?: string } = {
  select: "where",
  min: "minimum",
  max: "maximum",
  convert: "to",
  detach: "stopGradient",
  bits: "randomBits",
  permuted: "permutation",
};
export const publicName = (op: MapOp): string => PUBLIC_NAMES[op] ?? op;

const TYPES: readonly TensorType[] = ["f32", "f64", "i32", "u32", "bool"];

/** Refuses what is not a type of elements, or not a shape: types alone do not keep such values out. */
export function checkType(operationName: string, dtype: TensorType): void {
  if (!TYPES.includes(dtype)) refuse(operationName, `${dtype} is not one of ${TYPES.join(", ")}`);
}
export function checkShape(operationName: string, shape: Shape): void {
  if (!Array.isArray(shape) || !shape.every((size) => Number.isInteger(size) && size >= 0))
    refuse(operationName, `${describeGiven(shape)} is not a shape: sizes are whole numbers`);
}
export function checkCount(operationName: string, count: number, least: number): void {
  if (!Number.isInteger(count) || count < least)
    refuse(operationName, `${count} is not a whole number from ${least} on`);
}
const describeGiven = (shape: unknown): string => (Array.isArray(shape) ? describeShape(shape) : `${shape}`);

/** What something is that is not a tensor, in words. */
export function kindOf(x: unknown): string {
  if (x === null || x === undefined) return `${x}`;
  if (typeof x !== "object") return `a ${typeof x}`;
  const { name } = x.constructor ?? {};
  return name === "State" ? "a State: take its value" : `of type ${name ?? "object"}`;
}

const ROUNDED: { readonly [D in TensorType]: (value: number) => number } = {
  f32: Math.fround,
  f64: (value) => value,
  i32: (value) => value | 0,
  u32: (value) => value >>> 0,
  bool: (value) => (value ? 1 : 0),
};

export function constantOf(value: number, dtype: TensorType, shape: Shape = []): Node {
  if (typeof value !== "number") refuse("constant", `${value} is not a number`);
  const rounded = ROUNDED[dtype](value);
  return recording().node({ kind: "constant", dtype, shape, value: rounded }, keyOf(rounded));
}
const keyOf = (value: number): string => (Object.is(value, -0) ? "-0" : `${value}`);

export function tableOf(data: readonly number[], dtype: TensorType, shape: Shape): Node {
  return recording().node({ kind: "table", dtype, shape, data: data.map(ROUNDED[dtype]) }, data.map(keyOf).join());
}

export function inputOf(name: string, dtype: TensorType, shape: Shape): Node {
  checkType("input", dtype);
  checkShape("input", shape);
  const { inputs } = recording();
  const made = recording().node({ kind: "input", name, dtype, shape }, name) as InputNode;
  const before = inputs.get(name) ?? made;
  if (before !== made)
    refuse(
      "input",
      `"${name}" is ${before.dtype} ${describeShape(before.shape)} already, not ${dtype} ${describeShape(shape)}`,
    );
  inputs.set(name, made);
  return made;
}

export function iotaOf(shape: Shape, axis: number): Node {
  return recording().node({ kind: "iota", dtype: "i32", shape, axis }, `${axis}`);
}

// Elementwise

/** What constants make of each other, where that is exact or rounded as IR rounds. */
const FOLDED: { readonly [op in MapOp]?: (x: number, y: number) => number } = {
  add: (x, y) => x + y,
  sub: (x, y) => x - y,
  mul: (x, y) => x * y,
  div: (x, y) => x / y,
};

/** An operand that leaves the other as it is. */
function isNeutral(op: MapOp, node: Node): boolean {
  return node.kind === "constant" && node.value === 1 && (op === "mul" || op === "div");
}

function simplified(op: MapOp, inputs: readonly Node[], dtype: TensorType): Node | undefined {
  const [x, y] = inputs;
  if (!x) return undefined;
  if (op === "copy") return x;
  if (op === "convert" && x.dtype === dtype) return x;
  if (!y) return undefined;
  if (isNeutral(op, y)) return x;
  if (op === "mul" && isNeutral(op, x)) return y;
  const fold = FOLDED[op];
  if (fold && x.kind === "constant" && y.kind === "constant" && (dtype === "f32" || dtype === "f64"))
    return constantOf(fold(x.value, y.value), dtype, x.shape);
  return undefined;
}

/** An elementwise operation; operands are repeated to the shape that all of them fit. */
export function mapOf(op: MapOp, operands: readonly Node[], to?: TensorType): Node {
  const rule = operation(op);
  const name = publicName(op);
  const typed = op === "select" ? operands.slice(1) : operands;
  const first = typed[0] as Node;
  for (const node of typed) {
    if (node.dtype !== first.dtype) refuse(name, `${first.dtype} and ${node.dtype} do not mix; convert one with to()`);
    if (!accepts(rule.accepts, node.dtype)) refuse(name, `it does not take ${node.dtype}`);
  }
  if (op === "select" && operands[0]?.dtype !== "bool") refuse(name, "its condition must be of type bool");
  let shape: Shape = (operands[0] as Node).shape;
  for (const node of operands.slice(1)) {
    shape =
      broadcastShapes(shape, node.shape) ??
      refuse(name, `shapes ${operands.map((x) => describeShape(x.shape)).join(" and ")} do not fit each other`);
  }
  const inputs = operands.map((node) => expandOf(node, shape));
  const dtype = to ?? rule.result ?? first.dtype;
  checkType(name, dtype);
  return simplified(op, inputs, dtype) ?? recording().node({ kind: "map", op, dtype, shape, inputs }, op);
}

// Views

const whole = (axis: number): ViewAxis => ({ start: 0, terms: [{ axis, step: 1 }] });
const isWhole = ({ start, terms }: ViewAxis, axis: number): boolean =>
  start === 0 && terms.length === 1 && terms[0]?.axis === axis && terms[0].step === 1;
const keyOfAxes = (axes: readonly ViewAxis[]): string =>
  axes.map(({ start, terms }) => `${start}${terms.map((t) => `+${t.step}x${t.axis}`).join("")}`).join();

/** A view of any node. Views of views stay what they are: a gradient may be asked for with respect to any of them. */
export function viewOf(input: Node, axes: readonly ViewAxis[], shape: Shape): Node {
  if (input.kind === "constant") return constantOf(input.value, input.dtype, shape);
  if (sameShape(shape, input.shape) && axes.every(isWhole)) return input;
  return recording().node({ kind: "view", dtype: input.dtype, shape, input, axes }, keyOfAxes(axes));
}

/** Repeats axes of size 1, and missing ones in front. */
export function expandOf(node: Node, shape: Shape): Node {
  checkShape("expand", shape);
  if (sameShape(node.shape, shape)) return node;
  const offset = shape.length - node.shape.length;
  const axes = node.shape.map((size, axis): ViewAxis => {
    if (size === shape[axis + offset]) return whole(axis + offset);
    if (size !== 1) refuse("expand", `${describeShape(node.shape)} does not fit ${describeShape(shape)}`);
    return { start: 0, terms: [] };
  });
  if (offset < 0) refuse("expand", `${describeShape(node.shape)} does not fit ${describeShape(shape)}`);
  return viewOf(node, axes, shape);
}

/** Axes in another order: axis k of the result is axis order[k] of the input. */
export function transposeOf(node: Node, order: readonly number[]): Node {
  const wanted = [...order].sort((a, b) => a - b);
  if (order.length !== node.shape.length || wanted.some((axis, k) => axis !== k))
    refuse("transpose", `[${order.join(", ")}] is not an order of the axes of ${describeShape(node.shape)}`);
  const axes = node.shape.map((_, axis) => whole(order.indexOf(axis)));
  return viewOf(
    node,
    axes,
    order.map((axis) => node.shape[axis] as number),
  );
}

/** Elements begin .. end-1 along an axis, every `step`-th of them. */
export function sliceOf(node: Node, axis: number, begin: number, end: number, step = 1): Node {
  const at = axisIn("slice", node.shape, axis);
  const size = node.shape[at] as number;
  const fits = [begin, end, step].every(Number.isInteger) && begin >= 0 && begin <= end && end <= size && step >= 1;
  if (!fits)
    refuse("slice", `${begin} to ${end} by ${step} does not lie in axis ${at} of ${describeShape(node.shape)}`);
  const axes = node.shape.map((_, k) => (k === at ? { start: begin, terms: [{ axis: k, step }] } : whole(k)));
  const shape = node.shape.map((s, k) => (k === at ? Math.ceil((end - begin) / step) : s));
  return viewOf(node, axes, shape);
}

/** Axes from their ends to their beginnings. */
export function flipOf(node: Node, turned: readonly number[]): Node {
  const axes = node.shape.map((size, axis) =>
    turned.includes(axis) ? { start: size - 1, terms: [{ axis, step: -1 }] } : whole(axis),
  );
  return viewOf(node, axes, node.shape);
}

/** The gradient of a view. */
export function unviewOf(node: Node, axes: readonly ViewAxis[], shape: Shape): Node {
  return recording().node({ kind: "unview", dtype: node.dtype, shape, input: node, axes }, keyOfAxes(axes));
}

export function checkPick(shape: Shape, index: Node): void {
  if (index.dtype !== "i32") refuse("pick", `the index is ${index.dtype}, it must be i32`);
  if (shape.length === 0 || !sameShape(index.shape, shape.slice(0, -1)))
    refuse(
      "pick",
      `an index ${describeShape(index.shape)} does not fit ${describeShape(shape)}: it is one for each row`,
    );
}
/** A value that an index has picked, or the index itself: the run faults where it is not one of so many. */
export function pickedOf(picked: Node, index: Node, count: number): Node {
  const { dtype, shape } = picked;
  const inputs = [picked, index, constantOf(count, "i32", shape)];
  return recording().node({ kind: "map", op: "picked", dtype, shape, inputs, asked: outermost }, "picked");
}

/** A value that is computed already, as the result of an operation whose gradient is known by itself. */
export function knownOf(op: "erf" | "softplus", x: Node, value: Node): Node {
  const { dtype, shape } = x;
  return recording().node({ kind: "map", op, dtype, shape, inputs: [x, value] }, op);
}

/** One size may be -1: what is left. */
export function inferredShape(from: Shape, shape: Shape): Shape {
  const unknown = Array.isArray(shape) ? shape.indexOf(-1) : -1;
  if (unknown < 0) return shape;
  const known = shape.filter((_, k) => k !== unknown);
  const left = elementsOf(from) / elementsOf(known);
  if (!known.every((size) => Number.isInteger(size) && size > 0) || !Number.isInteger(left))
    refuse("reshape", `${describeShape(from)} cannot become ${describeShape(shape)}: one size may be -1, what is left`);
  return shape.map((size, k) => (k === unknown ? left : size));
}

/** The same elements under another shape. Those of others stay what they are, as views do. */
export function reshapeOf(node: Node, shape: Shape): Node {
  checkShape("reshape", shape);
  if (elementsOf(shape) !== elementsOf(node.shape))
    refuse("reshape", `${describeShape(node.shape)} has not as many elements as ${describeShape(shape)}`);
  if (sameShape(node.shape, shape)) return node;
  if (node.kind === "constant") return constantOf(node.value, node.dtype, shape);
  const ones = withoutOnes(node.shape);
  if (sameShape(ones.shape, withoutOnes(shape).shape)) {
    const places = withoutOnes(shape).axes;
    const axes = node.shape.map((size, axis): ViewAxis => {
      if (size === 1) return { start: 0, terms: [] };
      return whole(places[ones.axes.indexOf(axis)] as number);
    });
    return viewOf(node, axes, shape);
  }
  return recording().node({ kind: "reshape", dtype: node.dtype, shape, input: node }, "");
}
function withoutOnes(shape: Shape): { shape: number[]; axes: number[] } {
  const axes = shape.flatMap((size, axis) => (size === 1 ? [] : [axis]));
  return { axes, shape: axes.map((axis) => shape[axis] as number) };
}

/** One element along an axis, which is gone. */
export function atOf(node: Node, axis: number, index: number): Node {
  const size = node.shape[axis] as number;
  if (!Number.isInteger(index) || index < 0 || index >= size)
    refuse("at", `${index} is not in 0 to ${size - 1}, along axis ${axis} of ${describeShape(node.shape)}`);
  const rest = node.shape.filter((_, k) => k !== axis);
  return reshapeOf(sliceOf(node, axis, index, index + 1), rest);
}
/** An axis of size 1 more. */
export function unsqueezeOf(node: Node, axis: number): Node {
  const { shape } = node;
  const at = axis < 0 ? shape.length + 1 + axis : axis;
  if (!Number.isInteger(axis) || at < 0 || at > shape.length)
    refuse("unsqueeze", `${describeShape(shape)} has no room for an axis ${axis}`);
  return reshapeOf(node, [...shape.slice(0, at), 1, ...shape.slice(at)]);
}

// What combines elements

/** Combines along axes, which are gone afterwards. */
export function reduceOf(op: ReduceKind, node: Node, axes: readonly number[]): Node {
  const name = { add: "sum", mul: "product", min: "min", max: "max" }[op];
  if (!accepts("number", node.dtype)) refuse(name, `it does not take ${node.dtype}`);
  const sorted = [...new Set(axes)].sort((a, b) => a - b);
  for (const axis of sorted)
    if (axisOf(node.shape, axis) !== axis) refuse(name, `${describeShape(node.shape)} has no axis ${axis}`);
  const shape = node.shape.filter((_, axis) => !sorted.includes(axis));
  if (sorted.every((axis) => node.shape[axis] === 1)) return reshapeOf(node, shape);
  if (elementsOf(node.shape) === 0) refuse(name, `${describeShape(node.shape)} has no elements`);
  return recording().node(
    { kind: "reduce", op, dtype: node.dtype, shape, input: node, axes: sorted },
    `${op} ${sorted}`,
  );
}

export function matmulOf(a: Node, b: Node): Node {
  const shapes = `${describeShape(a.shape)} and ${describeShape(b.shape)}`;
  if (a.shape.length !== 2 || b.shape.length !== 2 || a.shape[1] !== b.shape[0])
    refuse("matmul", `shapes ${shapes} do not fit: [m, k] times [k, n]`);
  if (a.shape[1] === 0) refuse("matmul", `shapes ${shapes}: there is nothing to add up along an axis of size 0`);
  if (a.dtype !== b.dtype || !accepts("float", a.dtype)) refuse("matmul", `${a.dtype} times ${b.dtype}`);
  const shape = [a.shape[0] as number, b.shape[1] as number];
  return recording().node({ kind: "matmul", dtype: a.dtype, shape, a, b }, "");
}

export function gatherOf(input: Node, index: Node): Node {
  if (index.dtype !== "i32") refuse("gather", `the index is ${index.dtype}, it must be i32`);
  if (input.shape.length === 0) refuse("gather", "a single number has no rows");
  const shape = [...index.shape, ...input.shape.slice(1)];
  return recording().node({ kind: "gather", dtype: input.dtype, shape, input, index }, "");
}

export function scatterOf(input: Node, index: Node, rows: number): Node {
  if (index.dtype !== "i32") refuse("scatterAdd", `the index is ${index.dtype}, it must be i32`);
  checkCount("scatterAdd", rows, 1);
  const rank = index.shape.length;
  if (!sameShape(input.shape.slice(0, rank), index.shape))
    refuse("scatterAdd", `${describeShape(input.shape)} has not one row for each of ${describeShape(index.shape)}`);
  const shape = [rows, ...input.shape.slice(rank)];
  return recording().node({ kind: "scatter", dtype: input.dtype, shape, input, index }, `${rows}`);
}

export function cumulateOf(input: Node, axis: number, fromEnd: boolean): Node {
  const at = axisIn("cumsum", input.shape, axis);
  if (!accepts("number", input.dtype)) refuse("cumsum", `it does not take ${input.dtype}`);
  const { dtype, shape } = input;
  return recording().node({ kind: "cumulate", dtype, shape, input, axis: at, fromEnd }, `${at} ${fromEnd}`);
}

export function concatOf(inputs: readonly Node[], axis: number): Node {
  const [first] = inputs;
  if (!first) refuse("concat", "it needs at least one tensor");
  const at = axisIn("concat", first.shape, axis);
  for (const node of inputs) {
    const fits =
      node.shape.length === first.shape.length && node.shape.every((s, k) => k === at || s === first.shape[k]);
    if (!fits || node.dtype !== first.dtype)
      refuse(
        "concat",
        `${first.dtype} ${describeShape(first.shape)} and ${node.dtype} ${describeShape(node.shape)} do not fit along axis ${at}`,
      );
  }
  if (inputs.length === 1) return first;
  const total = inputs.reduce((sum, node) => sum + (node.shape[at] as number), 0);
  const shape = first.shape.map((size, k) => (k === at ? total : size));
  return recording().node({ kind: "concat", dtype: first.dtype, shape, inputs, axis: at }, `${at}`);
}

const isCount = (n: number): boolean => Number.isInteger(n) && n >= 0;
export function padOf(input: Node, before: readonly number[], after: readonly number[], value: number): Node {
  const rank = input.shape.length;
  const fits = before.length === rank && after.length === rank && [...before, ...after].every(isCount);
  if (!fits) refuse("pad", `[${before}] and [${after}] are not paddings of ${describeShape(input.shape)}`);
  if ([...before, ...after].every((n) => n === 0)) return input;
  const shape = input.shape.map((size, axis) => size + (before[axis] as number) + (after[axis] as number));
  return recording().node({ kind: "pad", dtype: input.dtype, shape, input, before, value }, `${before} ${value}`);
}

export function outcomeOf(call: CallEffect, name: string, dtype: TensorType, shape: Shape): Node {
  return recording().node({ kind: "outcome", dtype, shape, call, name }, `${numberOf(call)} ${name}`);
}
