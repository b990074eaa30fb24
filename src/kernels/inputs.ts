/**
 * @file What the kernels of the data plane share: arrays that are checked before anything is written, outputs that are
 * the caller's or fresh, and kernels that are compiled per element type and variant when they are first needed.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { type Declaration, f32, f64, type Inline, inline, type Scalar, u8 } from "../kernel/declare.ts";
import { allocate, free, type Kernel, type RunOptions } from "../kernel/kernel.ts";
import type { TargetChoice } from "../runtime/targets.ts";
import { kindOf, needLength } from "./checks.ts";
import { DataError } from "./errors.ts";

export type Floats = Float32Array | Float64Array;
export type FloatScalar = Scalar<"f32"> | Scalar<"f64">;

/** Where a computation runs. */
export interface RunChoice {
  /** The best there is unless given. */
  readonly target?: TargetChoice | undefined;
  /** Upper limit of threads, the calling one included; as many as pay unless given. */
  readonly threads?: number | undefined;
}

/** What stands for the type of flags and masks in `needArray`. */
export const BYTES: Uint8Array = new Uint8Array(0);

/** Whether two arrays hold the same type; tests of class are what engines do fastest. */
function sameType(value: unknown, like: TypedArray): boolean {
  if (like instanceof Float64Array) return value instanceof Float64Array;
  if (like instanceof Float32Array) return value instanceof Float32Array;
  return value instanceof Uint8Array;
}

/** Checks that an array is there and of the wanted kind: floats of either size, or bytes. */
export function needArray<A extends TypedArray>(who: string, name: string, value: A | undefined, like: TypedArray): A {
  if (sameType(value, like)) return value as A;
  const mixed = like instanceof Uint8Array ? "" : "; all numbers of a call have one type, that of the first array";
  throw new DataError(`${who}: "${name}" must be a ${like.constructor.name}, it is ${kindOf(value)}${mixed}`);
}

/** Checks a further array of a call: the type of `like`, and as many elements. */
export function needLike<A extends TypedArray>(
  who: string,
  name: string,
  value: A | undefined,
  like: TypedArray,
  length = like.length,
): A {
  const array = needArray(who, name, value, like);
  needLength(who, name, array, length, "the input");
  return array;
}

/** The element type of the array that decides it. */
export function floatType(who: string, name: string, array: unknown): FloatScalar {
  if (array instanceof Float32Array) return f32;
  if (array instanceof Float64Array) return f64;
  throw new DataError(`${who}: "${name}" must be a Float32Array or a Float64Array, it is ${kindOf(array)}`);
}

/** An output: the caller's own after a check, or a fresh one. */
export function output<A extends TypedArray>(
  who: string,
  name: string,
  given: A | undefined,
  like: A,
  length = like.length,
): A {
  return given === undefined ? fresh(like, length) : needLike(who, name, given, like, length);
}

/** A zeroed array in lockstep's memory with the element type of `like`. */
export function fresh<A extends TypedArray>(like: A, length: number): A {
  const type = like instanceof Float32Array ? f32 : like instanceof Float64Array ? f64 : u8;
  return allocate(type as Scalar<"f32">, length) as unknown as A;
}

/** Whether two arrays share memory. */
export const sharesMemory = (a: TypedArray, b: TypedArray): boolean =>
  a.buffer === b.buffer && a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength;

/** Floats that calls use for themselves: made when first needed, larger when more are, the same ones otherwise. */
export class Scratch {
  readonly #kept = new Map<FloatScalar, Floats>();

  /** At least `length` floats of a type; what they hold is what the last call left. */
  get(type: FloatScalar, length: number): Floats {
    const found = this.#kept.get(type);
    if (found !== undefined && found.length >= length) return found;
    if (found !== undefined) free(found);
    const made = allocate(type as Scalar<"f32">, length);
    this.#kept.set(type, made);
    return made;
  }
}

/** What runs a kernel, for one choice of where. */
interface Runner extends RunChoice {
  readonly run: (args: unknown) => void;
}

/** Kernels made from one text for each element type and two choices, compiled when first used. */
export class Variants<D extends Declaration> {
  readonly #make: (type: FloatScalar, first: boolean, second: boolean) => Kernel<D>;
  readonly #options: RunOptions;
  readonly #kernels: (Kernel<D> | undefined)[] = new Array(8).fill(undefined);
  /** The runners of each kernel, the one that was asked for last in front: found without work in each call. */
  readonly #runners: readonly Runner[][] = Array.from({ length: 8 }, () => []);

  constructor(make: (type: FloatScalar, first: boolean, second: boolean) => Kernel<D>, options: RunOptions = {}) {
    this.#make = make;
    this.#options = options;
  }

  /** The kernel for a type and the two choices. */
  kernel(type: FloatScalar, first = false, second = false): Kernel<D> {
    const at = index(type, first, second);
    this.#kernels[at] ??= this.#make(type, first, second);
    return this.#kernels[at];
  }

  /** What runs it for a choice. */
  runner(choice: RunChoice, type: FloatScalar, first = false, second = false): (args: unknown) => void {
    const { target, threads } = choice;
    const runners = this.#runners[index(type, first, second)] as Runner[];
    const [last] = runners;
    if (last !== undefined && last.target === target && last.threads === threads) return last.run;
    const known = runners.findIndex((r) => r.target === target && r.threads === threads);
    const [found] = known < 0 ? [this.#open(choice, this.kernel(type, first, second))] : runners.splice(known, 1);
    runners.unshift(found as Runner);
    return (found as Runner).run;
  }

  #open(choice: RunChoice, of: Kernel<D>): Runner {
    const { target, threads } = choice;
    return { target, threads, run: of.on(target ?? "auto", runOptions(choice, this.#options)).program.run };
  }
}

const index = (type: FloatScalar, first: boolean, second: boolean): number =>
  (type === f64 ? 4 : 0) + (first ? 2 : 0) + (second ? 1 : 0);

/** For kernels that compute in doubles: rounds to the type of an array. */
export const rounding = (type: FloatScalar): Inline<(x: number) => number> =>
  type === f32 ? inline((x: number) => Math.fround(x)) : inline((x: number) => x);

/** The options of `kernel.on` for a choice. */
export function runOptions(choice: RunChoice, more: RunOptions = {}): RunOptions {
  return choice.threads === undefined ? more : { ...more, threads: choice.threads };
}
