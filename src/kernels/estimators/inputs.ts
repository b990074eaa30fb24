/**
 * @file What the estimators share: the inputs of a rollout, checked before anything is written, and kernels that are
 * compiled per element type and variant when they are first needed.
 */
import type { TypedArray } from "../../ir/arrays.ts";
import { type Declaration, f32, f64, type Inline, inline, type Scalar, u8 } from "../../kernel/declare.ts";
import { allocate, type Kernel, type RunOptions } from "../../kernel/kernel.ts";
import type { TargetChoice } from "../../runtime/targets.ts";
import { DataError } from "../errors.ts";

export type Floats = Float32Array | Float64Array;
export type FloatScalar = Scalar<"f32"> | Scalar<"f64">;

/** Where a computation runs; the best target and as many threads as pay unless given. */
export interface RunChoice {
  readonly target?: TargetChoice;
  readonly threads?: number;
}
/** "step-major": element t * environments + e; "env-major": element e * steps + t. */
export type Layout = "step-major" | "env-major";
export interface LayoutChoice extends RunChoice {
  /** How batched arrays lie in memory; "step-major" unless given. */
  readonly layout?: Layout;
}

/** How episodes end: two columns, or one as an explicit compatibility form. */
export type Ends<A extends Floats> =
  | {
      /** Not 0 where the episode ended for good with the action of this step: nothing is worth anything after it. */
      readonly terminated: Uint8Array;
      /** Not 0 where the episode was cut off with this step; `terminated` wins where both are set. */
      readonly truncated?: Uint8Array;
      /** The value of the final observation where the episode was truncated; other elements are not used. */
      readonly finalValues?: A;
      readonly dones?: undefined;
    }
  | {
      /** Compatibility form for data that does not tell the two apart: every end counts as termination. */
      readonly dones: Uint8Array;
      readonly terminated?: undefined;
      readonly truncated?: undefined;
      readonly finalValues?: undefined;
    };

/** A rollout of one environment, or of several side by side. */
export type Rollout<A extends Floats> = Ends<A> & {
  readonly rewards: A;
  /** The value of the observation before each step. */
  readonly values: A;
  /** The value of the observation after the last step: a number for one trajectory, one per environment for several. */
  readonly lastValues: number | A;
};

const typeNames = (a: TypedArray): string => a.constructor.name;

/** Whether two arrays hold the same type; tests of class are what engines do fastest. */
function sameType(value: unknown, like: TypedArray): boolean {
  if (like instanceof Float64Array) return value instanceof Float64Array;
  if (like instanceof Float32Array) return value instanceof Float32Array;
  return value instanceof Uint8Array;
}

/** Checks that an array is there and of the wanted kind: floats of either size, or bytes. */
export function needArray<A extends TypedArray>(who: string, name: string, value: A | undefined, like: TypedArray): A {
  if (sameType(value, like)) return value as A;
  const found = ArrayBuffer.isView(value) ? `a ${typeNames(value)}` : value === undefined ? "missing" : typeof value;
  const mixed = like instanceof Uint8Array ? "" : "; all numbers of a call have one type, that of the first array";
  throw new DataError(`${who}: "${name}" must be a ${typeNames(like)}, it is ${found}${mixed}`);
}

/** Checks an array's length; `what` says where the wanted length comes from. */
export function needLength(who: string, name: string, array: TypedArray, length: number, what: string): void {
  if (array.length === length) return;
  throw new DataError(
    `${who}: "${name}" has ${array.length} elements, ${what} asks for ${length}; hand over equal lengths`,
  );
}

/** The element type of the array that decides it. */
export function floatType(who: string, name: string, array: unknown): FloatScalar {
  if (array instanceof Float32Array) return f32;
  if (array instanceof Float64Array) return f64;
  const found = ArrayBuffer.isView(array)
    ? `a ${array.constructor.name}`
    : array === undefined
      ? "missing"
      : typeof array;
  throw new DataError(`${who}: "${name}" must be a Float32Array or a Float64Array, it is ${found}`);
}

/** Checks a number against a condition put in words. */
export function needNumber(who: string, name: string, value: number, fine: boolean, wanted: string): void {
  if (typeof value !== "number" || !fine) throw new DataError(`${who}: "${name}" must be ${wanted}, it is ${value}`);
}

/** Checks a whole number of at least `least`. */
export function needCount(who: string, name: string, value: number, least: number): void {
  needNumber(who, name, value, Number.isSafeInteger(value) && value >= least, `a whole number from ${least} on`);
}

/** Checks a discount or another share. */
export function needShare(who: string, name: string, value: number): void {
  needNumber(who, name, value, value >= 0 && value <= 1, "a number from 0 to 1");
}

/** An output: the caller's own after a check, or a fresh one. */
export function output<A extends TypedArray>(who: string, name: string, given: A | undefined, like: A): A {
  if (given === undefined) return allocate(scalarOf(like), like.length) as unknown as A;
  const checked = needArray(who, name, given, like);
  needLength(who, name, checked, like.length, "the input");
  return checked;
}

/** A zeroed array in lockstep's memory with the element type of `like`. */
export function freshFloats<A extends Floats>(like: A, length: number): A {
  return allocate(scalarOf(like), length) as unknown as A;
}

function scalarOf(like: TypedArray): Scalar<"f32" | "f64" | "u8"> {
  if (like instanceof Float32Array) return f32;
  return like instanceof Float64Array ? f64 : u8;
}

/** Whether two arrays share memory. */
export const sharesMemory = (a: TypedArray, b: TypedArray): boolean =>
  a.buffer === b.buffer && a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength;

const NO_FLAGS: Uint8Array = new Uint8Array(0);
let noFlags: Uint8Array | undefined;
const noValues = new Map<FloatScalar, Floats>();
function emptyFloats(type: FloatScalar): Floats {
  let found = noValues.get(type);
  if (!found) {
    found = allocate(type as Scalar<"f32">, 0);
    noValues.set(type, found);
  }
  return found;
}

/** The ends of a rollout as kernels take them. */
export interface CheckedEnds {
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  readonly finalValues: Floats;
  /** Whether there is a column of truncations. */
  readonly truncating: boolean;
}

/** Checks the columns of ends against the array that has one element per step. */
export function checkEnds<A extends Floats>(who: string, ends: Ends<A>, type: FloatScalar, like: A): CheckedEnds {
  if (ends.dones !== undefined && (ends.terminated !== undefined || ends.truncated !== undefined))
    throw new DataError(`${who}: give either "dones" or "terminated" and "truncated", not both`);
  const name = ends.dones === undefined ? "terminated" : "dones";
  const terminated = needArray(who, name, ends.dones ?? ends.terminated, NO_FLAGS);
  needLength(who, name, terminated, like.length, "the rollout");
  noFlags ??= allocate(u8, 0);
  if (ends.truncated === undefined)
    return { terminated, truncated: noFlags, finalValues: emptyFloats(type), truncating: false };
  const truncated = needArray(who, "truncated", ends.truncated, NO_FLAGS);
  needLength(who, "truncated", truncated, like.length, "the rollout");
  if (ends.finalValues === undefined)
    throw new DataError(
      `${who}: "truncated" needs "finalValues", the values of the final observations (other elements are not used)`,
    );
  const finalValues = needArray(who, "finalValues", ends.finalValues, like);
  needLength(who, "finalValues", finalValues, like.length, "the rollout");
  return { terminated, truncated, finalValues, truncating: true };
}

/** How many environments and steps there are. */
export interface Shape {
  readonly environments: number;
  readonly steps: number;
}

/** The shape that a column and the last values tell. */
export function shapeOf(who: string, length: number, lastValues: number | Floats, like: Floats): Shape {
  if (typeof lastValues === "number") return { environments: 1, steps: length };
  const environments = needArray(who, "lastValues", lastValues, like).length;
  const steps = environments === 0 ? 0 : length / environments;
  if (environments * steps === length && Number.isInteger(steps)) return { environments, steps };
  throw new DataError(
    `${who}: ${length} steps cannot be shared by ${environments} environments (one element of "lastValues" each); ` +
      "hand over environments x steps elements",
  );
}

const LAYOUTS: readonly string[] = ["step-major", "env-major"] satisfies Layout[];
export function needLayout(who: string, layout: Layout): void {
  if (!LAYOUTS.includes(layout))
    throw new DataError(`${who}: there is no layout "${layout}"; known are ${LAYOUTS.join(" and ")}`);
}

/** Last values as an array: a number goes into an array of one element that is kept for that. */
const single = new Map<FloatScalar, Floats>();
export function lastValuesArray(type: FloatScalar, lastValues: number | Floats): Floats {
  if (typeof lastValues !== "number") return lastValues;
  let one = single.get(type);
  if (!one) {
    one = allocate(type as Scalar<"f32">, 1);
    single.set(type, one);
  }
  one[0] = lastValues;
  return one;
}

/** Kernels made from one text for each element type and two choices, compiled when first used. */
export class Variants<D extends Declaration> {
  readonly #make: (type: FloatScalar, first: boolean, second: boolean) => Kernel<D>;
  readonly #options: RunOptions;
  readonly #kernels: (Kernel<D> | undefined)[] = new Array(8).fill(undefined);
  /** What runs them on the best target, and on others by target and threads: looked up without work in each call. */
  readonly #best: (((args: unknown) => void) | undefined)[] = new Array(8).fill(undefined);
  readonly #chosen = new Map<TargetChoice, Map<number, (args: unknown) => void>>();

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
    const at = index(type, first, second);
    const { target, threads } = choice;
    if (target === undefined && threads === undefined) {
      this.#best[at] ??= this.kernel(type, first, second).on("auto", this.#options).program.run;
      return this.#best[at];
    }
    const key = 8 * (threads ?? 0) + at;
    const found = this.#chosen.get(target ?? "auto")?.get(key);
    return found ?? this.#open(target ?? "auto", key, choice, this.kernel(type, first, second));
  }

  #open(target: TargetChoice, key: number, choice: RunChoice, of: Kernel<D>): (args: unknown) => void {
    const { run } = of.on(target, runOptions(choice, this.#options)).program;
    const runs = this.#chosen.get(target) ?? new Map<number, (args: unknown) => void>();
    this.#chosen.set(target, runs.set(key, run));
    return run;
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
