/**
 * @file What the functions of this folder share: which float type a call is about, checks of lengths and counts, and
 * kernels that are made per float type when they are first needed.
 */
import { type Declaration, f32, f64 } from "../../kernel/declare.ts";
import { allocate, type Kernel, type KernelOn } from "../../kernel/kernel.ts";
import type { TargetChoice } from "../../runtime/targets.ts";
import { DataError } from "../errors.ts";

export type FloatArray = Float32Array | Float64Array;
export type FloatType = typeof f32 | typeof f64;

/** Where a call runs. */
export interface RunChoice {
  /** The best there is unless given. */
  readonly target?: TargetChoice | undefined;
  /** Upper limit of threads, the calling one included. */
  readonly threads?: number | undefined;
}

type Run<D extends Declaration> = (choice: RunChoice) => KernelOn<D>;

/** A kernel on the target of a choice; found again without making a key, because small calls are short. */
function onTargets<D extends Declaration>(kernel: Kernel<D>): Run<D> {
  const found = new Map<TargetChoice, Map<number, KernelOn<D>>>();
  return ({ target = "auto", threads = 0 }) => {
    let byThreads = found.get(target);
    if (byThreads === undefined) {
      byThreads = new Map();
      found.set(target, byThreads);
    }
    let on = byThreads.get(threads);
    if (on === undefined) {
      on = kernel.on(target, threads === 0 ? {} : { threads });
      byThreads.set(threads, on);
    }
    return on;
  };
}

/** One kernel text for both float types, each made when an array of that type first comes. */
export function perFloat<D extends Declaration>(
  make: (type: FloatType) => Kernel<D>,
): (like: FloatArray, choice: RunChoice) => KernelOn<D> {
  let single: Run<D> | undefined;
  let double: Run<D> | undefined;
  return (like, choice) => {
    if (like instanceof Float32Array) {
      single ??= onTargets(make(f32));
      return single(choice);
    }
    double ??= onTargets(make(f64));
    return double(choice);
  };
}

const describe = (value: unknown): string =>
  ArrayBuffer.isView(value) || Array.isArray(value) ? value.constructor.name : String(value);

/** The array that decides a call's float type. */
export function checkFloats(what: string, array: unknown): asserts array is FloatArray {
  if (array instanceof Float32Array || array instanceof Float64Array) return;
  throw new DataError(`${what} is ${describe(array)}: hand over a Float32Array or a Float64Array`);
}

/** A further array: of the same type and with `length` elements. */
export function checkLike(what: string, array: FloatArray, like: FloatArray, length: number): void {
  if (!(array instanceof Float32Array === like instanceof Float32Array && ArrayBuffer.isView(array)))
    throw new DataError(`${what} is ${describe(array)}: all arrays of a call are ${like.constructor.name} here`);
  checkLength(what, array, length);
}

export function checkLength(what: string, array: ArrayLike<unknown>, length: number): void {
  if (array.length !== length)
    throw new DataError(`${what} has ${array.length} elements: it must have ${length}, as the other arrays imply`);
}

/** A whole number from `least` on. */
export function checkCount(what: string, value: number, least: number): void {
  if (!Number.isInteger(value) || value < least)
    throw new DataError(`${what} is ${value}: it must be a whole number of at least ${least}`);
}

/** A finite number that is not negative. */
export function checkAmount(what: string, value: number): void {
  if (!(value >= 0 && value < Number.POSITIVE_INFINITY))
    throw new DataError(`${what} is ${value}: it must be a finite number of at least 0`);
}

/** How many parts of `size` an array has; an error when the last one would not be whole. */
export function countParts(what: string, array: ArrayLike<unknown>, sizeName: string, size: number): number {
  checkCount(sizeName, size, 1);
  if (array.length % size !== 0)
    throw new DataError(
      `${what} has ${array.length} elements, which ${sizeName} ${size} does not divide: pad or cut it to whole parts`,
    );
  return array.length / size;
}

/** A new array of the same float type in lockstep's memory. */
export const floatsLike = <F extends FloatArray>(like: F, length: number): F =>
  allocate(like instanceof Float32Array ? f32 : f64, length) as F;

/** The caller's output array, checked, or a new one. */
export function outputLike<F extends FloatArray>(what: string, given: F | undefined, like: F, length: number): F {
  if (given === undefined) return floatsLike(like, length);
  checkLike(what, given, like, length);
  return given;
}
