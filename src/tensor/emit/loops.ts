/**
 * @file Loop nests over the elements of a shape: which axis becomes vectors, which threads, and in which order.
 */
import { type Builder, i32 } from "../../ir/build.ts";
import type { Expr } from "../../ir/nodes.ts";
import { elementsOf, type Shape } from "../shape.ts";
import { combinations, plus, times } from "./elements.ts";

/** A last axis from this size on is worth vectors of neighbouring elements. */
export const WIDE = 8;
/** Elements beside the vector axis up to which a loop's body is written out for each. */
const WRITTEN_OUT = 16;

/** The rows that are computed: so many from the first on. Windows have numbers. */
export interface Window {
  readonly number: Expr;
  readonly first: Expr;
  readonly count: number;
}
/** A shape of so many rows as a window has. */
export const windowed = (shape: Shape, window: Window | undefined): Shape =>
  window ? [window.count, ...shape.slice(1)] : shape;

/** Runs `body` for a window, or for every part of all rows. */
export function eachPart(
  b: Builder,
  parts: number,
  rows: number,
  window: Window | undefined,
  body: (window: Window) => void,
): void {
  if (window) return body(window);
  const count = rows / parts;
  b.for("part", { begin: i32(0), end: i32(parts), axis: "parallel" }, (number) => {
    body({ number, first: b.let("first", times(number, count)), count });
  });
}

/** The axis whose elements become lanes: the last one when it is wide, the longest one otherwise. */
export function vectorAxis(shape: Shape, allowed: readonly number[]): number {
  const last = allowed.at(-1) as number;
  if (last === shape.length - 1 && (shape[last] as number) >= WIDE) return last;
  return allowed.reduce((best, axis) => ((shape[axis] as number) > (shape[best] as number) ? axis : best), last);
}

/** Runs `body` for all elements of a shape, any order; subscripts of axes of size 1 are 0. */
export function eachElement(
  b: Builder,
  shape: Shape,
  body: (subscripts: readonly Expr[]) => void,
  window?: Window,
): void {
  nest(
    b,
    shape,
    shape.map((_, axis) => axis),
    body,
    window,
  );
}

/** Runs `body` for all subscripts along some axes; the others stand at 0 and are for the body to fill in. */
export function nest(
  b: Builder,
  whole: Shape,
  axes: readonly number[],
  body: (subscripts: Expr[]) => void,
  window?: Window,
): void {
  const shape = windowed(whole, window);
  const moving = axes.filter((axis) => (shape[axis] as number) > 1);
  const subscripts: Expr[] = shape.map(() => i32(0));
  if (elementsOf(axes.map((axis) => shape[axis] as number)) === 0) return;
  if (moving.length === 0) return body([...subscripts]);
  const vector = vectorAxis(shape, moving);
  const outer = moving.filter((axis) => axis < vector);
  const inner = moving.filter((axis) => axis > vector);
  const loop = (axis: number, kind: "parallel" | "serial", write: () => void): void => {
    b.for(`i${axis}`, { begin: i32(0), end: i32(shape[axis] as number), axis: kind }, (index) => {
      subscripts[axis] = window && axis === 0 ? b.let("row", plus(window.first, index)) : index;
      write();
      subscripts[axis] = i32(0);
    });
  };
  const lanes = (): void => loop(vector, "parallel", () => within(b, shape, inner, subscripts, body));
  outer.reduceRight<() => void>((write, axis, k) => () => loop(axis, k === 0 ? "parallel" : "serial", write), lanes)();
}

/** The axes inside of the vector axis: written out when they are few. */
function within(
  b: Builder,
  shape: Shape,
  axes: readonly number[],
  subscripts: Expr[],
  body: (subscripts: Expr[]) => void,
): void {
  const sizes = axes.map((axis) => shape[axis] as number);
  if (elementsOf(sizes) <= WRITTEN_OUT) {
    for (const values of combinations(sizes)) {
      axes.forEach((axis, k) => {
        subscripts[axis] = i32(values[k] as number);
      });
      body([...subscripts]);
    }
    for (const axis of axes) subscripts[axis] = i32(0);
    return;
  }
  serialLoops(b, shape, axes, subscripts, () => body([...subscripts]));
}

/** Loops one inside the other over some axes, in order. */
export function serialLoops(
  b: Builder,
  shape: Shape,
  axes: readonly number[],
  subscripts: Expr[],
  body: () => void,
): void {
  const [axis, ...rest] = axes;
  if (axis === undefined) return body();
  b.for(`i${axis}`, { begin: i32(0), end: i32(shape[axis] as number) }, (index) => {
    subscripts[axis] = index;
    serialLoops(b, shape, rest, subscripts, body);
    subscripts[axis] = i32(0);
  });
}
