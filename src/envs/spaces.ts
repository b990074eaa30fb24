/**
 * @file Spaces: what observations and actions look like. A space is plain data; sampling, membership and flattening
 * are functions over the six kinds, each kind in one place of one table.
 *
 * TypeScript's type of a value follows from its space (`ValueOf`).
 */
import { LockstepError } from "../platform/errors.ts";
import type { HostStream } from "../random/index.ts";

/** A space that cannot be, or a value that does not fit one. */
export class SpaceError extends LockstepError {
  override readonly name = "SpaceError";
}

interface BoxArrays {
  f32: Float32Array;
  u8: Uint8Array;
  i32: Int32Array;
}
export type BoxType = keyof BoxArrays;
const ARRAYS: { readonly [T in BoxType]: new (length: number) => BoxArrays[T] } = {
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
export interface Discrete {
  readonly kind: "discrete";
  readonly n: number;
  readonly start: number;
}
/** Several choices at once: element k is in 0..counts[k] - 1. */
export interface MultiDiscrete {
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
              ? number extends E["length"]
                ? readonly unknown[]
                : { readonly [K in keyof E]: ValueOf<E[K]> }
              : never;

/** Which values of a discrete space (or of each part of a multi-discrete one) may be sampled: not 0 for those. */
export type MaskOf<S> = S extends Discrete | MultiBinary
  ? ArrayLike<number>
  : S extends MultiDiscrete
    ? readonly ArrayLike<number>[]
    : S extends Dict<infer F>
      ? { readonly [K in keyof F]?: MaskOf<F[K]> }
      : S extends Tuple<infer E>
        ? number extends E["length"]
          ? readonly unknown[]
          : { readonly [K in keyof E]?: MaskOf<E[K]> }
        : undefined;

function needCount(what: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new SpaceError(`${what} must be a whole number from 1 on, it is ${value}`);
}

const product = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

export function box<T extends BoxType = "f32">(
  shape: readonly number[],
  options: {
    readonly low?: number | readonly number[];
    readonly high?: number | readonly number[];
    readonly dtype?: T;
  } = {},
): Box<T> {
  for (const n of shape) needCount("a side of a box", n);
  const dtype = options.dtype ?? ("f32" as T);
  const { low = dtype === "u8" ? 0 : -Infinity, high = dtype === "u8" ? 255 : Infinity } = options;
  for (const [name, limit] of [["low", low] as const, ["high", high] as const])
    if (typeof limit !== "number" && limit.length !== product(shape))
      throw new SpaceError(`box: "${name}" has ${limit.length} elements, the shape asks for ${product(shape)}`);
  const made: Box<T> = { kind: "box", shape, dtype, low, high };
  for (let k = 0; k < product(shape); k++)
    if (!(limitAt(low, k) <= limitAt(high, k)))
      throw new SpaceError(`box: low ${limitAt(low, k)} is above high ${limitAt(high, k)} at element ${k}`);
  return made;
}
export const discrete = (n: number, start = 0): Discrete => ({
  kind: "discrete",
  n: needCount("discrete: n", n),
  start,
});
export function multiDiscrete(counts: readonly number[]): MultiDiscrete {
  needCount("multiDiscrete: the number of choices", counts.length);
  for (const n of counts) needCount("multiDiscrete: a count", n);
  return { kind: "multiDiscrete", counts };
}
export const multiBinary = (n: number): MultiBinary => ({ kind: "multiBinary", n: needCount("multiBinary: n", n) });
export const dict = <const F extends { readonly [name: string]: Space }>(fields: F): Dict<F> => ({
  kind: "dict",
  fields,
});
export const tuple = <const E extends readonly Space[]>(...elements: E): Tuple<E> => ({ kind: "tuple", elements });

const limitAt = (limit: number | readonly number[], k: number): number =>
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

/** A box's element: between its limits, or spread as far as there are none. */
function sampleElement(space: Box, k: number, stream: HostStream): number {
  const [low, high] = [limitAt(space.low, k), limitAt(space.high, k)];
  if (space.dtype !== "f32") {
    const [from, to] = [Math.max(low, -(2 ** 31)), Math.min(high, 2 ** 31 - 1)];
    return from + stream.below(to - from + 1);
  }
  if (Number.isFinite(low) && Number.isFinite(high)) return stream.uniform(low, high);
  if (Number.isFinite(low)) return low + stream.exponential();
  return Number.isFinite(high) ? high - stream.exponential() : stream.normal();
}

/** One of n values with equal chances among those that the mask lets through. */
function sampleIndex(n: number, mask: ArrayLike<number> | undefined, stream: HostStream): number {
  if (mask === undefined) return stream.below(n);
  if (mask.length !== n) throw new SpaceError(`a mask has ${mask.length} elements for ${n} values`);
  let allowed = 0;
  for (let k = 0; k < n; k++) if (mask[k]) allowed++;
  if (allowed === 0) throw new SpaceError("a mask must let at least one value through");
  let left = stream.below(allowed);
  for (let k = 0; k < n; k++) if (mask[k] && left-- === 0) return k;
  return 0;
}

/** A random value; with a mask, one of those it allows. */
export function sample<S extends Space>(space: S, stream: HostStream, mask?: MaskOf<S>): ValueOf<S> {
  return sampleAny(space, stream, mask) as ValueOf<S>;
}
function sampleAny(space: Space, stream: HostStream, mask: unknown): unknown {
  switch (space.kind) {
    case "box": {
      const value = new ARRAYS[space.dtype](flatSize(space));
      for (let k = 0; k < value.length; k++) value[k] = sampleElement(space, k, stream);
      return value;
    }
    case "discrete":
      return space.start + sampleIndex(space.n, mask as ArrayLike<number> | undefined, stream);
    case "multiDiscrete": {
      const masks = mask as readonly ArrayLike<number>[] | undefined;
      return Int32Array.from(space.counts, (n, k) => sampleIndex(n, masks?.[k], stream));
    }
    case "multiBinary": {
      const allowed = mask as ArrayLike<number> | undefined;
      return Uint8Array.from({ length: space.n }, (_, k) => (stream.below(2) && (allowed?.[k] ?? 1) ? 1 : 0));
    }
    case "dict": {
      const masks = (mask ?? {}) as { readonly [name: string]: unknown };
      return Object.fromEntries(
        Object.entries(space.fields).map(([name, inner]) => [name, sampleAny(inner, stream, masks[name])]),
      );
    }
    case "tuple":
      return space.elements.map((inner, k) => sampleAny(inner, stream, (mask as readonly unknown[] | undefined)?.[k]));
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

/** Whether a value belongs to a space. */
export function contains<S extends Space>(space: S, value: unknown): value is ValueOf<S> {
  return containsAny(space, value);
}
function containsAny(space: Space, value: unknown): boolean {
  switch (space.kind) {
    case "box": {
      if (!isListOf(value, flatSize(space))) return false;
      for (let k = 0; k < value.length; k++) {
        const x = value[k];
        if (typeof x !== "number" || !(x >= limitAt(space.low, k) && x <= limitAt(space.high, k))) return false;
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
      return names.every((name) => containsAny(space.fields[name] as Space, given[name]));
    }
    case "tuple":
      return isListOf(value, space.elements.length) && space.elements.every((inner, k) => containsAny(inner, value[k]));
    default:
      return space satisfies never;
  }
}

/** Writes a value as numbers from `out[at]` on; the place behind the last. Fields of a dict go in their order. */
export function flattenInto<S extends Space>(space: S, value: ValueOf<S>, out: Float32Array, at = 0): number {
  return flattenAny(space, value, out, at);
}
function flattenAny(space: Space, value: unknown, out: Float32Array, at: number): number {
  const size = flatSize(space);
  switch (space.kind) {
    case "box":
    case "multiBinary":
      out.set(value as ArrayLike<number>, at);
      return at + size;
    case "discrete":
      out.fill(0, at, at + size);
      out[at + (value as number) - space.start] = 1;
      return at + size;
    case "multiDiscrete": {
      out.fill(0, at, at + size);
      let begin = at;
      space.counts.forEach((n, k) => {
        out[begin + ((value as ArrayLike<number>)[k] as number)] = 1;
        begin += n;
      });
      return begin;
    }
    case "dict": {
      let end = at;
      for (const [name, inner] of Object.entries(space.fields))
        end = flattenAny(inner, (value as { readonly [name: string]: unknown })[name], out, end);
      return end;
    }
    case "tuple":
      return space.elements.reduce(
        (end, inner, k) => flattenAny(inner, (value as readonly unknown[])[k], out, end),
        at,
      );
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
