/**
 * @file What the estimators over rollouts share: how episodes end, layouts, and their checks.
 */
import { type Scalar, u8 } from "../../kernel/declare.ts";
import { allocate } from "../../kernel/kernel.ts";
import { needLength } from "../checks.ts";
import { DataError } from "../errors.ts";
import { BYTES, type FloatScalar, type Floats, needArray, type RunChoice } from "../inputs.ts";

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

/** What stands for columns that are not there, by the type of the others. */
interface Absent {
  readonly truncated: Uint8Array;
  readonly finalValues: Floats;
}
const absent: { f32?: Absent; f64?: Absent } = {};
const newAbsent = (type: FloatScalar): Absent => ({
  truncated: allocate(u8, 0),
  finalValues: allocate(type as Scalar<"f32">, 0),
});

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
  const terminated = needArray(who, name, ends.dones ?? ends.terminated, BYTES);
  needLength(who, name, terminated, like.length, "the rollout");
  if (ends.truncated === undefined) {
    absent[type.dtype] ??= newAbsent(type);
    const { truncated, finalValues } = absent[type.dtype] as Absent;
    return { terminated, truncated, finalValues, truncating: false };
  }
  const truncated = needArray(who, "truncated", ends.truncated, BYTES);
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

export function needLayout(who: string, layout: Layout): void {
  if (layout !== "step-major" && layout !== "env-major")
    throw new DataError(`${who}: there is no layout "${String(layout)}"; known are step-major and env-major`);
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
