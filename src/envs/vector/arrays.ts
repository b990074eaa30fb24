/**
 * @file The arrays of a VecEnv: its state, one array per field, as a whole and as records of single environments; and
 * the results of steps, its own or the caller's.
 */
import { arrayName, storageIn, type TypedArray } from "../../ir/arrays.ts";
import { bool, type Fields, f32, type Scalar } from "../../kernel/declare.ts";
import { allocate, storageOf } from "../../kernel/kernel.ts";
import { heap } from "../../runtime/heap.ts";
import { type Environment, EnvironmentError, MOST_COUNT, needCount, observationSize } from "../define.ts";
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
  /**
   * Whether `finalObs` has a row for every environment: what each step led to, before another episode began. That is
   * the next observation of a transition.
   */
  readonly everyFinal?: boolean;
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

/** Refuses arrays of another type, from elsewhere than `allocate`, or with too little room; or not just enough. */
export function checkResult(env: Environment, name: ResultName, array: TypedArray, rows: number, exact = false): void {
  const { type, size } = resultColumn(env, name);
  const storage = storageOf(type.dtype);
  const refuse = (why: string): never => {
    throw new EnvironmentError(`${env.id}: the array for ${name} ${why}; nothing was changed`);
  };
  if (storageIn(array) !== storage) refuse(`is a ${array.constructor.name}, not a ${arrayName(storage)}`);
  if (!heap().owns(array.buffer)) refuse("is not in lockstep's memory: make it with allocate(type, length)");
  if (array.length < rows * size || (exact && array.length > rows * size))
    refuse(`holds ${array.length} numbers, and ${rows * size} are written`);
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

/** Everything about one environment: what `setState` takes. */
export interface EnvState {
  readonly state: StateValues;
  readonly steps: number;
  readonly episode: number;
  /** The sum of rewards of this episode so far. */
  readonly return: number;
  readonly ended: boolean;
}
/** The number of the last episode that has random numbers of its own. */
export const MOST_EPISODES = 2 ** 32 - 1;

/** Refuses what is not a part of an `EnvState`; the state itself is left to `checkState`. */
export function checkGiven(id: string, given: Partial<EnvState>): void {
  const refuse = (why: string): never => {
    throw new EnvironmentError(`${id}: ${why}; nothing was changed`);
  };
  if (typeof given !== "object" || given === null) refuse(`a state is a record, as getState gives it, not ${given}`);
  const checks: { readonly [K in keyof EnvState]: (value: never) => void } = {
    state: () => {},
    steps: (value) => needCount(`${id}: steps`, value, 0, MOST_COUNT),
    episode: (value) => needCount(`${id}: episode`, value, 0, MOST_EPISODES),
    return: (value) => typeof value === "number" || refuse(`return must be a number, it is ${String(value)}`),
    ended: (value) => typeof value === "boolean" || refuse(`ended must be true or false, it is ${String(value)}`),
  };
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(checks, name))
      refuse(`there is no "${name}" to set; there are ${Object.keys(checks).join(", ")}`);
    if (value !== undefined) checks[name as keyof EnvState](value as never);
  }
}

/** Whether a field of a type can hold a value as it is. */
function holds({ dtype }: Scalar, value: unknown): boolean {
  switch (dtype) {
    case "f32":
    case "f64":
      return typeof value === "number";
    case "i32":
      return typeof value === "number" && (value | 0) === value;
    case "u32":
      return typeof value === "number" && value >>> 0 === value;
    case "u8":
      return typeof value === "number" && (value & 255) === value;
    case "bool":
      return typeof value === "boolean" || value === 0 || value === 1;
    default:
      return dtype satisfies never;
  }
}

/** Refuses values that are missing, too many, or of another kind than the field. */
export function checkState(id: string, fields: Fields, arrays: StateArrays, n: number, values: StateValues): void {
  const refuse = (why: string): never => {
    throw new EnvironmentError(`${id}: ${why}; nothing was changed`);
  };
  if (typeof values !== "object" || values === null || Array.isArray(values))
    refuse(`a state must be a record of ${Object.keys(fields).join(", ")}`);
  for (const name of Object.keys(values))
    if (!Object.hasOwn(fields, name))
      refuse(`the state has no field "${name}"; there are ${Object.keys(fields).join(", ")}`);
  for (const name of Object.keys(fields)) {
    const value = values[name];
    const found = leaf(fields, arrays, name);
    if (value === undefined) refuse(`the state lacks the field "${name}"`);
    if (!("array" in found)) {
      checkState(id, found.fields, found.arrays, n, value as StateValues);
      continue;
    }
    const length = found.array.length / n;
    if (found.isList && !(Array.isArray(value) && value.length === length))
      refuse(`the field "${name}" must be a list of ${length} numbers`);
    const list = found.isList ? (value as readonly unknown[]) : [value];
    const wrong = list.findIndex((x) => !holds(found.type, x));
    if (wrong >= 0)
      refuse(`the field "${name}" holds ${found.type.dtype} values, and was given ${String(list[wrong])}`);
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
