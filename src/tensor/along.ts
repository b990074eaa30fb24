/**
 * @file Elements by an index along an axis: picked, written and added to; and axes turned round.
 *
 * An index is an i32 tensor of the shape of its elements: along the axis it may have another size, along the others it has
 * that of the tensor. A run faults where an index is none of the axis.
 */
import { axisIn, flipOf, named, pickedOf, refuse } from "./build.ts";
import { iota } from "./make.ts";
import { describeShape, elementsOf, sameShape } from "./shape.ts";
import { type Axes, Tensor, tensorOf, where } from "./tensor.ts";

/** An axis of a tensor, and an index along it. */
interface Along {
  readonly x: Tensor;
  readonly index: Tensor;
  readonly axis: number;
}

function check(name: string, { x, index, axis }: Along, source?: Tensor): number {
  const [{ shape }, { shape: indexed, dtype }] = [tensorOf(name, x), tensorOf(name, index)];
  const at = axisIn(name, shape, axis);
  if (dtype !== "i32") refuse(name, `the index is ${dtype}, it must be i32`);
  const others = (sizes: readonly number[]): readonly number[] => sizes.filter((_, k) => k !== at);
  if (indexed.length !== shape.length || !sameShape(others(indexed), others(shape)))
    refuse(name, `an index ${describeShape(indexed)} does not fit ${describeShape(shape)} along axis ${at}`);
  if (!source) return at;
  const { shape: given, dtype: type } = tensorOf(name, source);
  if (!sameShape(given, indexed) || type !== x.dtype)
    refuse(
      name,
      `elements ${type} ${describeShape(given)} do not fit the index ${describeShape(indexed)} of ${x.dtype} ones`,
    );
  return at;
}

/** The same with an axis as the last one; that is its own inverse. */
function swapped(x: Tensor, axis: number): Tensor {
  const last = x.shape.length - 1;
  return x.transpose(x.shape.map((_, k) => (k === axis ? last : k === last ? axis : k)));
}
/** The numbers of elements in a tensor of rows, by an index along the last axis: flat. */
function numbersOf(index: Tensor, columns: number): Tensor {
  const rows = elementsOf(index.shape.slice(0, -1));
  const places = index.reshape([rows, index.size(-1)]);
  return iota(rows)
    .mul(columns)
    .unsqueeze(-1)
    .add(places)
    .reshape([elementsOf(index.shape)]);
}
/** A tensor as rows along an axis, and the index along them, tested. */
function rowsOf({ x, index, axis }: Along): { readonly rows: Tensor; readonly places: Tensor } {
  const [rows, { node }] = [swapped(x, axis), swapped(index, axis)];
  return { rows, places: new Tensor(pickedOf(node, node, rows.size(-1))) };
}

/** result[i, j] = x[i, index[i, j]], for the last axis of two. */
export function takeAlong(x: Tensor, index: Tensor, axis: number): Tensor {
  const at = check("takeAlong", { x, index, axis });
  return named("takeAlong", () => {
    const { rows, places } = rowsOf({ x, index, axis: at });
    const found = rows.reshape([-1]).gather(numbersOf(places, rows.size(-1)));
    return swapped(found.reshape(places.shape), at);
  });
}

/** x with source[i, j] added to [i, index[i, j]], for the last axis of two; what falls on one place is added up. */
export function scatterAddAlong(x: Tensor, index: Tensor, source: Tensor, axis: number): Tensor {
  const at = check("scatterAddAlong", { x, index, axis }, source);
  if (elementsOf(index.shape) === 0) return x;
  return named("scatterAddAlong", () => {
    const { rows, places } = rowsOf({ x, index, axis: at });
    const sums = swapped(source, at)
      .reshape([-1])
      .scatterAdd(numbersOf(places, rows.size(-1)), elementsOf(rows.shape));
    return swapped(rows.add(sums.reshape(rows.shape)), at);
  });
}

/** x with source[i, j] in place of [i, index[i, j]], for the last axis of two; of several for one place the last counts. */
export function scatterAlong(x: Tensor, index: Tensor, source: Tensor, axis: number): Tensor {
  const at = check("scatterAlong", { x, index, axis }, source);
  if (elementsOf(index.shape) === 0) return x;
  return named("scatterAlong", () => {
    const { rows, places } = rowsOf({ x, index, axis: at });
    // For each place the last of the elements that go there, or -1.
    const isThere = places.unsqueeze(-1).eq(iota(rows.size(-1)));
    const last = where(isThere, iota(places.size(-1)).unsqueeze(-1), -1).max(-2);
    const written = takeAlong(swapped(source, at), last.maximum(0), -1);
    return swapped(where(last.ge(0), written, rows), at);
  });
}

/** Axes from their ends to their beginnings: all of them, or those that are given. */
export function flip(x: Tensor, axes?: Axes): Tensor {
  const node = tensorOf("flip", x);
  const given = typeof axes === "number" ? [axes] : axes;
  const turned = given?.map((axis) => axisIn("flip", node.shape, axis)) ?? node.shape.map((_, axis) => axis);
  if (new Set(turned).size < turned.length) refuse("flip", `[${given?.join(", ")}] names an axis twice`);
  return new Tensor(flipOf(node, turned));
}
