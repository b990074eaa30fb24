/**
 * @file The six kinds of spaces: how they are made, which values belong to them, how they are written. A space is plain
 * data; what is done with it is a function with each kind in one place of one table.
 *
 * TypeScript's type of a value follows from its space (`ValueOf`).
 */
import { LockstepError } from "../platform/errors.ts";

/** A space that cannot be, or a value that does not fit one. */
export class SpaceError extends LockstepError {
  override readonly name = "SpaceError";
}

export interface BoxArrays {
  f32: Float32Array;
  u8: Uint8Array;
  i32: Int32Array;
}
export type BoxType = keyof BoxArrays;
export const ARRAYS: { readonly [T in BoxType]: new (length: number) => BoxArrays[T] } = {
  f32: Float32Array,
  u8: Uint8Array,
  i32: Int32Array,
};
/** Arrays of numbers between limits, which are one number for all elements or one for each. */
export interface Box<T extends BoxType = BoxType> {
  readonly kind: "box";
  readonly shape: readonly number[];
  readonly dtype: T;
  readonly low: number | readonly number[];
  readonly high: number | readonly number[];
}
/** One of `n` whole numbers from `start` on. */
export interface Discrete extends Maskable {
  readonly kind: "discrete";
  readonly n: number;
  readonly start: number;
}
/** Of actions: not all choices are allowed at all times. */
interface Maskable {
  /** Whether observations end with one number for each choice: 1 where it is allowed, 0 where not. */
  readonly masked?: boolean;
}
/** Several choices at once: element k is in 0..counts[k] - 1. */
export interface MultiDiscrete extends Maskable {
  readonly kind: "multiDiscrete";
  readonly counts: readonly number[];
}
/** Several bits. */
export interface MultiBinary {
  readonly kind: "multiBinary";
  readonly n: number;
}
export interface Dict<F extends { readonly [name: string]: Space } = { readonly [name: string]: Space }> {
  readonly kind: "dict";
  readonly fields: F;
}
export interface Tuple<E extends readonly Space[] = readonly Space[]> {
  readonly kind: "tuple";
  readonly elements: E;
}
export type Space = Box | Discrete | MultiDiscrete | MultiBinary | Dict | Tuple;

/** The type of a space's values. */
export type ValueOf<S> =
  S extends Box<infer T>
    ? BoxArrays[T]
    : S extends Discrete
      ? number
      : S extends MultiDiscrete
        ? Int32Array
        : S extends MultiBinary
          ? Uint8Array
          : S extends Dict<infer F>
            ? { readonly [K in keyof F]: ValueOf<F[K]> }
            : S extends Tuple<infer E>
              ? ValuesOf<E>
              : never;
/** Element by element; of a list whose length is not known, nothing is known. */
type ValuesOf<E extends readonly Space[]> = number extends E["length"]
  ? readonly unknown[]
  : { readonly [K in keyof E]: ValueOf<E[K]> };

/** Which values of a discrete space (or of each part of a multi-discrete one) may be sampled: not 0 for those. */
export type MaskOf<S> = S extends Discrete | MultiBinary
  ? ArrayLike<number>
  : S extends MultiDiscrete
    ? readonly ArrayLike<number>[]
    : S extends Dict<infer F>
      ? { readonly [K in keyof F]?: MaskOf<F[K]> }
      : S extends Tuple<infer E>
        ? MasksOf<E>
        : undefined;
type MasksOf<E extends readonly Space[]> = number extends E["length"]
  ? readonly unknown[]
  : { readonly [K in keyof E]: MaskOf<E[K]> | undefined };

function needCount(what: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new SpaceError(`${what} must be a whole number from 1 on, it is ${value}`);
}

const product = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/** What elements can be at all. */
const RANGES: { readonly [T in BoxType]: readonly [low: number, high: number] } = {
  f32: [-Infinity, Infinity],
  u8: [0, 255],
  i32: [-(2 ** 31), 2 ** 31 - 1],
};
/** Limits as numbers that elements can be: f32 ones are rounded to f32, so that a value at the limit is within. */
function checkedLimit(dtype: BoxType, name: "low" | "high", limit: number): number {
  const [least, most] = RANGES[dtype];
  if (dtype === "f32") return Math.fround(limit);
  const whole = limit === -Infinity ? least : limit === Infinity ? most : limit;
  if (Number.isInteger(whole) && whole >= least && whole <= most) return whole;
  throw new SpaceError(`box: "${name}" is ${limit}; elements of type ${dtype} are whole numbers in ${least}..${most}`);
}

export interface BoxLimits {
  readonly low?: number | readonly number[];
  readonly high?: number | readonly number[];
}
/** Arrays of numbers, f32 unless said otherwise. Limits are one for all elements or one for each; none unless given. */
export function box(shape: readonly number[], options?: BoxLimits & { readonly dtype?: undefined }): Box<"f32">;
export function box<T extends BoxType>(shape: readonly number[], options: BoxLimits & { readonly dtype: T }): Box<T>;
export function box(shape: readonly number[], options: BoxLimits & { readonly dtype?: BoxType | undefined } = {}): Box {
  for (const n of shape) needCount("a side of a box", n);
  const { dtype = "f32" } = options;
  if (!Object.hasOwn(RANGES, dtype))
    throw new SpaceError(`box: dtype is one of ${Object.keys(RANGES).join(", ")}, not ${dtype}`);
  const limits = (name: "low" | "high", given: number | readonly number[]): number | readonly number[] => {
    if (typeof given === "number") return checkedLimit(dtype, name, given);
    if (given.length !== product(shape))
      throw new SpaceError(`box: "${name}" has ${given.length} elements, the shape asks for ${product(shape)}`);
    return given.map((limit) => checkedLimit(dtype, name, limit));
  };
  const low = limits("low", options.low ?? -Infinity);
  const high = limits("high", options.high ?? Infinity);
  const single = typeof low === "number" && typeof high === "number";
  for (let k = 0; k < (single ? 1 : product(shape)); k++)
    if (!(limitAt(low, k) <= limitAt(high, k)))
      throw new SpaceError(`box: low ${limitAt(low, k)} is above high ${limitAt(high, k)} at element ${k}`);
  return { kind: "box", shape, dtype, low, high };
}
export function discrete(n: number, start = 0): Discrete {
  needCount("discrete: n", n);
  if (!Number.isSafeInteger(start)) throw new SpaceError(`discrete: start must be a whole number, it is ${start}`);
  return { kind: "discrete", n, start };
}
export function multiDiscrete(counts: readonly number[]): MultiDiscrete {
  needCount("multiDiscrete: the number of choices", counts.length);
  for (const n of counts) needCount("multiDiscrete: a count", n);
  return { kind: "multiDiscrete", counts };
}
/** Choices of which some may be forbidden: observations end with one number for each, 1 where it is allowed. */
export const masked = <A extends Discrete | MultiDiscrete>(action: A): A => ({ ...action, masked: true });
export const multiBinary = (n: number): MultiBinary => ({ kind: "multiBinary", n: needCount("multiBinary: n", n) });
export const dict = <const F extends { readonly [name: string]: Space }>(fields: F): Dict<F> => ({
  kind: "dict",
  fields,
});
export const tuple = <const E extends readonly Space[]>(...elements: E): Tuple<E> => ({ kind: "tuple", elements });

/** The limit of element k. */
export const limitAt = (limit: number | readonly number[], k: number): number =>
  typeof limit === "number" ? limit : (limit[k] as number);

/** Numbers of a value when it is flat: a discrete one is one-hot. */
export function flatSize(space: Space): number {
  switch (space.kind) {
    case "box":
      return product(space.shape);
    case "discrete":
    case "multiBinary":
      return space.n;
    case "multiDiscrete":
      return space.counts.reduce((a, b) => a + b, 0);
    case "dict":
      return Object.values(space.fields).reduce((sum, inner) => sum + flatSize(inner), 0);
    case "tuple":
      return space.elements.reduce((sum, inner) => sum + flatSize(inner), 0);
    default:
      return space satisfies never;
  }
}

const isWholeIn = (x: unknown, low: number, count: number): boolean =>
  Number.isInteger(x) && (x as number) >= low && (x as number) < low + count;

function isListOf(value: unknown, length: number): value is ArrayLike<unknown> {
  return (
    (Array.isArray(value) || ArrayBuffer.isView(value)) && (value as unknown as ArrayLike<unknown>).length === length
  );
}

/** Whether a value belongs to a space; lists of plain numbers count as the arrays that could be made of them. */
export function contains(space: Space, value: unknown): boolean {
  switch (space.kind) {
    case "box": {
      if (!isListOf(value, flatSize(space))) return false;
      for (let k = 0; k < value.length; k++) {
        const given = value[k];
        if (typeof given !== "number") return false;
        const x = space.dtype === "f32" ? Math.fround(given) : given;
        if (!(x >= limitAt(space.low, k) && x <= limitAt(space.high, k))) return false;
        if (space.dtype !== "f32" && !Number.isInteger(x)) return false;
      }
      return true;
    }
    case "discrete":
      return isWholeIn(value, space.start, space.n);
    case "multiDiscrete":
      return isListOf(value, space.counts.length) && space.counts.every((n, k) => isWholeIn(value[k], 0, n));
    case "multiBinary":
      return isListOf(value, space.n) && Array.from(value).every((x) => x === 0 || x === 1);
    case "dict": {
      if (typeof value !== "object" || value === null) return false;
      const given = value as { readonly [name: string]: unknown };
      const names = Object.keys(space.fields);
      if (Object.keys(given).some((name) => !names.includes(name))) return false;
      return names.every((name) => contains(space.fields[name] as Space, given[name]));
    }
    case "tuple":
      return isListOf(value, space.elements.length) && space.elements.every((inner, k) => contains(inner, value[k]));
    default:
      return space satisfies never;
  }
}

/** How a space is written in messages and listings. */
export function describeSpace(space: Space): string {
  switch (space.kind) {
    case "box":
      return `Box(${space.shape.join("x")}${space.dtype === "f32" ? "" : ` ${space.dtype}`})`;
    case "discrete":
      return `Discrete(${space.n}${space.start ? ` from ${space.start}` : ""})`;
    case "multiDiscrete":
      return `MultiDiscrete(${space.counts.join(", ")})`;
    case "multiBinary":
      return `MultiBinary(${space.n})`;
    case "dict":
      return `Dict(${Object.entries(space.fields)
        .map(([name, inner]) => `${name}: ${describeSpace(inner)}`)
        .join(", ")})`;
    case "tuple":
      return `Tuple(${space.elements.map(describeSpace).join(", ")})`;
    default:
      return space satisfies never;
  }
}
