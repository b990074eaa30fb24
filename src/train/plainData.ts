/**
 * @file Plain data as JSON and back, with what JSON leaves out: NaN, infinities, -0 and typed arrays.
 *
 * Such a value stands as a record with the one key "$": {"$": "NaN"}, {"$": "f32", "values": [...]}. What was read from
 * a file is data alone: records have no inherited keys, and nothing in them is looked up anywhere.
 */
import { arrayName, newArray, storageIn, type TypedArray } from "../ir/arrays.ts";
import type { StorageType } from "../ir/types.ts";
import { LockstepError } from "../platform/errors.ts";

/** A value that cannot be written, or a text that does not stand for one. */
export class PlainDataError extends LockstepError {
  override readonly name = "PlainDataError";
}

const TAG = "$";
const VALUES = "values";
const DEEPEST = 64;
const STORAGES: ReadonlySet<unknown> = new Set<StorageType>(["f64", "f32", "i32", "u32", "u8"]);
const NUMBERS: ReadonlyMap<string, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
  ["-0", -0],
]);

function numberAsJson(value: number): unknown {
  if (Object.is(value, -0)) return { [TAG]: "-0" };
  return Number.isFinite(value) ? value : { [TAG]: String(value) };
}

/** A value in what JSON knows. */
function asJson(value: unknown, place: string, depth: number): unknown {
  const refuse = (what: string): never => {
    throw new PlainDataError(`${place} is ${what}; numbers, texts, booleans, null, lists, records and typed arrays do`);
  };
  if (depth > DEEPEST) return refuse(`nested more than ${DEEPEST} deep`);
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return numberAsJson(value);
  if (typeof value !== "object") return refuse(`a ${typeof value}`);
  if (Array.isArray(value)) return value.map((x, k) => asJson(x, `${place}[${k}]`, depth + 1));
  if (ArrayBuffer.isView(value)) {
    const storage = storageIn(value as TypedArray);
    if (storage === undefined) return refuse(`a ${value.constructor.name}`);
    return { [TAG]: storage, [VALUES]: Array.from(value as TypedArray, numberAsJson) };
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return refuse(`a ${value.constructor?.name ?? "record"}`);
  if (TAG in value) return refuse(`a record with the key "${TAG}"`);
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(entries.map(([key, inner]) => [key, asJson(inner, `${place}.${key}`, depth + 1)]));
}

/** The text of a value; `name` is what messages call it. */
export function writePlain(value: unknown, name: string, indent?: number): string {
  return JSON.stringify(asJson(value, name, 0), null, indent);
}

function tagged(record: { readonly [key: string]: unknown }): unknown {
  const tag = record[TAG];
  const number = typeof tag === "string" ? NUMBERS.get(tag) : undefined;
  if (number !== undefined) return number;
  const values = record[VALUES];
  if (!STORAGES.has(tag) || !Array.isArray(values))
    throw new PlainDataError(`{"${TAG}": ${JSON.stringify(tag)?.slice(0, 40)}} stands for nothing that is known`);
  const numbers = values.map((x) => fromJson(x, DEEPEST));
  if (numbers.some((x) => typeof x !== "number"))
    throw new PlainDataError(`the values of a ${arrayName(tag as StorageType)} are not all numbers`);
  const array = newArray(tag as StorageType, numbers.length);
  array.set(numbers as number[]);
  return array;
}

/** The value that was written, out of what JSON.parse gave. */
export function fromJson(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEEPEST) throw new PlainDataError(`it is nested more than ${DEEPEST} deep`);
  if (Array.isArray(value)) return value.map((x) => fromJson(x, depth + 1));
  const record = value as { readonly [key: string]: unknown };
  if (Object.hasOwn(record, TAG)) return tagged(record);
  return Object.fromEntries(Object.entries(record).map(([key, inner]) => [key, fromJson(inner, depth + 1)]));
}

/** The value of a text that `writePlain` wrote. */
export function readPlain(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PlainDataError(`it is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  return fromJson(value);
}
