/**
 * @file Values of spaces: drawn at random, masked too, and as rows of numbers and back.
 */
import type { HostStream } from "../random/index.ts";
import {
  ARRAYS,
  type Box,
  contains,
  describeSpace,
  flatSize,
  limitAt,
  type MaskOf,
  type Space,
  SpaceError,
  type ValueOf,
} from "./spaceKinds.ts";

/** A box's element: between its limits, or spread as far as there are none. */
function sampleElement(space: Box, k: number, stream: HostStream): number {
  const [low, high] = [limitAt(space.low, k), limitAt(space.high, k)];
  if (space.dtype !== "f32") {
    const count = high - low + 1;
    return low + (count < 2 ** 32 ? stream.below(count) : stream.bits());
  }
  // In double precision: the distance of two f32 may be too large for one.
  if (Number.isFinite(low) && Number.isFinite(high)) return low + (high - low) * stream.uniform();
  if (Number.isFinite(low)) return low + stream.exponential();
  return Number.isFinite(high) ? high - stream.exponential() : stream.normal();
}

function needMasks(mask: { readonly length: number } | undefined, length: number): void {
  if (mask !== undefined && mask.length !== length)
    throw new SpaceError(`a mask has ${mask.length} elements for ${length} values`);
}

/** One of n values with equal chances among those that the mask lets through. */
function sampleIndex(n: number, mask: ArrayLike<number> | undefined, stream: HostStream): number {
  if (mask === undefined) return stream.below(n);
  needMasks(mask, n);
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
      needMasks(masks, space.counts.length);
      return Int32Array.from(space.counts, (n, k) => sampleIndex(n, masks?.[k], stream));
    }
    case "multiBinary": {
      const allowed = mask as ArrayLike<number> | undefined;
      needMasks(allowed, space.n);
      return Uint8Array.from({ length: space.n }, (_, k) => (stream.below(2) && (allowed?.[k] ?? 1) ? 1 : 0));
    }
    case "dict": {
      const masks = (mask ?? {}) as { readonly [name: string]: unknown };
      for (const name of Object.keys(masks))
        if (!Object.hasOwn(space.fields, name)) throw new SpaceError(`a mask names "${name}", which the space has not`);
      return Object.fromEntries(
        Object.entries(space.fields).map(([name, inner]) => [name, sampleAny(inner, stream, masks[name])]),
      );
    }
    case "tuple": {
      const masks = mask as readonly unknown[] | undefined;
      needMasks(masks, space.elements.length);
      return space.elements.map((inner, k) => sampleAny(inner, stream, masks?.[k]));
    }
    default:
      return space satisfies never;
  }
}

/** Numbers of a flat value. Whole numbers beyond 2^24 need double precision. */
export type FlatNumbers = Float32Array | Float64Array;

/** Writes a value as numbers from `out[at]` on; the place behind the last. Fields of a dict go in their order. */
export function flattenInto<S extends Space>(space: S, value: ValueOf<S>, out: FlatNumbers, at = 0): number {
  const room = out.length - at;
  if (!Number.isInteger(at) || at < 0 || room < flatSize(space))
    throw new SpaceError(`${flatSize(space)} numbers do not fit from ${at} on into an array of ${out.length}`);
  if (!contains(space, value)) throw new SpaceError(`a value to flatten is not in ${describeSpace(space)}`);
  return flattenAny(space, value, out, at);
}
/** A value as numbers in a row. */
export function flattenValue<S extends Space>(space: S, value: ValueOf<S>): FlatNumbers {
  const out = isNarrow(space) ? new Float32Array(flatSize(space)) : new Float64Array(flatSize(space));
  flattenInto(space, value, out);
  return out;
}
/** Whether all values can be written as f32 without loss. */
function isNarrow(space: Space): boolean {
  switch (space.kind) {
    case "box": {
      const far = (limit: number | readonly number[]): boolean => [limit].flat().some((x) => Math.abs(x) > 2 ** 24);
      return space.dtype !== "i32" || !(far(space.low) || far(space.high));
    }
    case "dict":
      return Object.values(space.fields).every(isNarrow);
    case "tuple":
      return space.elements.every(isNarrow);
    case "discrete":
    case "multiDiscrete":
    case "multiBinary":
      return true;
    default:
      return space satisfies never;
  }
}
function flattenAny(space: Space, value: unknown, out: FlatNumbers, at: number): number {
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

/** The value that numbers in a row stand for: what `flattenValue` was given. */
export function unflatten<S extends Space>(space: S, numbers: ArrayLike<number>): ValueOf<S> {
  if (numbers.length !== flatSize(space))
    throw new SpaceError(
      `${numbers.length} numbers are not a value of ${describeSpace(space)}: it has ${flatSize(space)}`,
    );
  const reader: Reader = { numbers, at: 0 };
  const value = unflattenAny(space, reader);
  if (!contains(space, value)) throw new SpaceError(`the numbers are not a value of ${describeSpace(space)}`);
  return value as ValueOf<S>;
}
interface Reader {
  readonly numbers: ArrayLike<number>;
  at: number;
}
/** The place of the only 1 among n numbers that are 0 otherwise. */
function oneHotIndex(reader: Reader, n: number): number {
  let found = -1;
  for (let k = 0; k < n; k++) {
    const x = reader.numbers[reader.at + k];
    if (x !== 0 && (x !== 1 || found >= 0))
      throw new SpaceError(
        `the numbers from ${reader.at} on must be one 1 and otherwise 0; ${x} is at ${reader.at + k}`,
      );
    if (x === 1) found = k;
  }
  if (found < 0) throw new SpaceError(`the ${n} numbers from ${reader.at} on are all 0; one of them must be 1`);
  reader.at += n;
  return found;
}
/** Numbers as they are; those that the type does not hold are refused instead of wrapped. */
function readInto<N extends { readonly length: number; [index: number]: number }>(reader: Reader, out: N): N {
  for (let k = 0; k < out.length; k++, reader.at++) {
    const x = reader.numbers[reader.at] as number;
    out[k] = x;
    if (!(out instanceof Float32Array) && out[k] !== x)
      throw new SpaceError(`the number at ${reader.at} is ${x}, which a ${out.constructor.name} does not hold`);
  }
  return out;
}
function unflattenAny(space: Space, reader: Reader): unknown {
  switch (space.kind) {
    case "box":
      return readInto(reader, new ARRAYS[space.dtype](flatSize(space)));
    case "multiBinary":
      return readInto(reader, new Uint8Array(space.n));
    case "discrete":
      return space.start + oneHotIndex(reader, space.n);
    case "multiDiscrete":
      return Int32Array.from(space.counts, (n) => oneHotIndex(reader, n));
    case "dict":
      return Object.fromEntries(
        Object.entries(space.fields).map(([name, inner]) => [name, unflattenAny(inner, reader)]),
      );
    case "tuple":
      return space.elements.map((inner) => unflattenAny(inner, reader));
    default:
      return space satisfies never;
  }
}
