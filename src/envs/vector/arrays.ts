/**
 * @file The arrays of a VecEnv: its state, one array per field, as a whole and as records of single environments; and
 * the results of steps, its own or the caller's.
 */
import type { TypedArray } from "../../ir/arrays.ts";
import { bool, type Fields, f32, type Scalar } from "../../kernel/declare.ts";
import { allocate, storageOf } from "../../kernel/kernel.ts";
import { heap } from "../../runtime/heap.ts";
import { type Environment, EnvironmentError, observationSize } from "../define.ts";
import { observationType } from "./spaces.ts";

/** What a step gives: flat arrays, one row per environment. */
export interface StepArrays {
  /** What to act on next: after an end, with "same-step", the beginning of the next episode. */
  readonly obs: Float32Array | Uint8Array | Int32Array;
  readonly reward: Float32Array;
  readonly terminated: Uint8Array;
  readonly truncated: Uint8Array;
  /** The last observation of an episode, in the rows where one ended with this step; the others mean nothing. */
  readonly finalObs: Float32Array | Uint8Array | Int32Array;
}
/** The caller's arrays, made by `allocate`, and the step (n rows) in each at which to begin writing. */
export interface StepTarget extends Partial<StepArrays> {
  /** Where to begin in all but the observations; 0 unless given. */
  readonly row?: number;
  /** The same for `obs`, and for `finalObs`; `row` unless given. A rollout's observations are a row ahead. */
  readonly obsRow?: number;
  readonly finalRow?: number;
}
export const RESULTS = ["obs", "reward", "terminated", "truncated", "finalObs"] as const;
export type ResultName = (typeof RESULTS)[number];

/** The type of each result, and how many numbers a row has. */
export function resultColumn(env: Environment, name: ResultName): { readonly type: Scalar; readonly size: number } {
  switch (name) {
    case "obs":
    case "finalObs":
      return { type: observationType(env), size: observationSize(env.observation) };
    case "reward":
      return { type: f32, size: 1 };
    case "terminated":
    case "truncated":
      return { type: bool, size: 1 };
    default:
      return name satisfies never;
  }
}
/** New arrays of so many rows, but for those that are there already. */
export function resultArrays(env: Environment, rows: number, given: Partial<StepArrays> = {}): StepArrays {
  const arrays = RESULTS.map((name) => {
    const { type, size } = resultColumn(env, name);
    return [name, given[name] ?? allocate(type, rows * size)];
  });
  return Object.fromEntries(arrays) as StepArrays;
}

/** Refuses arrays of another type, from elsewhere than `allocate`, or with too little room. */
export function checkResult(env: Environment, name: ResultName, array: TypedArray, rows: number): void {
  const { type, size } = resultColumn(env, name);
  const wanted = heap().array(storageOf(type.dtype), 0).constructor;
  const refuse = (why: string): never => {
    throw new EnvironmentError(`${env.id}: the array for ${name} ${why}; nothing was changed`);
  };
  if (array.constructor !== wanted) refuse(`is a ${array.constructor.name}, not a ${wanted.name}`);
  if (!heap().owns(array.buffer)) refuse("is not in lockstep's memory: make it with allocate(type, length)");
  if (array.length < rows * size) refuse(`holds ${array.length} numbers, and ${rows * size} are written`);
}

export type StateArrays = { readonly [field: string]: TypedArray | StateArrays };
/** The state of one environment: numbers, booleans, lists, and records of these. */
export type StateValues = { readonly [field: string]: number | boolean | readonly number[] | StateValues };

/** One array per field of a state, for n environments. */
export function allocateState(fields: Fields, n: number): StateArrays {
  return mapFields(fields, (type, length) => allocate(type, n * length));
}
function mapFields(fields: Fields, make: (type: Scalar, length: number) => TypedArray): StateArrays {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]): [string, TypedArray | StateArrays] => {
      switch (field.kind) {
        case "scalar":
          return [name, make(field as Scalar, 1)];
        case "array":
          return [name, make(field.element as Scalar, (field.length as number) ?? 1)];
        case "struct":
          return [name, mapFields(field.fields as Fields, make)];
        default:
          return [name, mapFields(field as Fields, make)];
      }
    }),
  );
}
export function* arraysIn(state: StateArrays): Generator<TypedArray> {
  for (const value of Object.values(state)) {
    if (ArrayBuffer.isView(value)) yield value as TypedArray;
    else yield* arraysIn(value as StateArrays);
  }
}

/** One field of a state's declaration: a scalar or an array of scalars, with its array; or a record of fields. */
type Leaf = { readonly type: Scalar; readonly array: TypedArray; readonly isList: boolean };
function leaf(fields: Fields, arrays: StateArrays, name: string): Leaf | { fields: Fields; arrays: StateArrays } {
  const field = fields[name] as Fields[string];
  const inner = arrays[name];
  switch (field.kind) {
    case "scalar":
      return { type: field as Scalar, array: inner as TypedArray, isList: false };
    case "array":
      return { type: field.element as Scalar, array: inner as TypedArray, isList: true };
    case "struct":
      return { fields: field.fields as Fields, arrays: inner as StateArrays };
    default:
      return { fields: field as Fields, arrays: inner as StateArrays };
  }
}

/** Environment i's part of the arrays. Element k of an array field stands at k * n + i. */
export function readState(fields: Fields, arrays: StateArrays, n: number, i: number): StateValues {
  return Object.fromEntries(
    Object.keys(fields).map((name): [string, StateValues[string]] => {
      const found = leaf(fields, arrays, name);
      if (!("array" in found)) return [name, readState(found.fields, found.arrays, n, i)];
      const { type, array, isList } = found;
      if (isList) return [name, Array.from({ length: array.length / n }, (_, k) => array[k * n + i] as number)];
      const value = array[i] as number;
      return [name, type.dtype === "bool" ? value !== 0 : value];
    }),
  );
}

/** Refuses values that are missing, too many, or of another kind than the field. */
export function checkState(id: string, fields: Fields, arrays: StateArrays, n: number, values: StateValues): void {
  const refuse = (why: string): never => {
    throw new EnvironmentError(`${id}: ${why}; nothing was changed`);
  };
  for (const name of Object.keys(values))
    if (!(name in fields)) refuse(`the state has no field "${name}"; there are ${Object.keys(fields).join(", ")}`);
  for (const name of Object.keys(fields)) {
    const value = values[name];
    const found = leaf(fields, arrays, name);
    if (value === undefined) refuse(`the state lacks the field "${name}"`);
    if (!("array" in found)) {
      if (typeof value !== "object" || Array.isArray(value)) refuse(`the field "${name}" must be a record`);
      checkState(id, found.fields, found.arrays, n, value as StateValues);
      continue;
    }
    const length = found.isList ? found.array.length / n : 1;
    const list = found.isList ? (value as readonly number[]) : [Number(value)];
    if (found.isList && !(Array.isArray(value) && value.length === length))
      refuse(`the field "${name}" must be a list of ${length} numbers`);
    const whole = found.type.dtype !== "f32" && found.type.dtype !== "f64";
    const wrong = list.find((x) => typeof x !== "number" || (whole && !Number.isInteger(x)));
    if (wrong !== undefined || (!found.isList && typeof value === "object"))
      refuse(`the field "${name}" holds ${found.type.dtype} values, and was given ${String(wrong ?? value)}`);
  }
}
/** Puts checked values in environment i's place. */
export function writeState(fields: Fields, arrays: StateArrays, n: number, i: number, values: StateValues): void {
  for (const name of Object.keys(fields)) {
    const found = leaf(fields, arrays, name);
    const value = values[name];
    if (!("array" in found)) writeState(found.fields, found.arrays, n, i, value as StateValues);
    else if (found.isList) for (const [k, x] of (value as readonly number[]).entries()) found.array[k * n + i] = x;
    else found.array[i] = Number(value);
  }
}
