/**
 * @file What kernels do with the spaces of an environment: the types of rows, which actions can be taken, and how
 * actions are drawn.
 */
import type { TypedArray } from "../../ir/arrays.ts";
import { storageIn } from "../../ir/arrays.ts";
import {
  constant,
  f32,
  f64,
  type Inline,
  i32,
  inline,
  type KernelArray,
  type RandomStream,
  type Scalar,
  u8,
  u32,
} from "../../kernel/declare.ts";
import { type ActionSpace, actionSize, EnvironmentError, type ObservationSpace } from "../define.ts";
import { type Box, contains, limitAt } from "../spaces.ts";

/** Rows of numbers; a row of one is a number itself where the space says so. */
export const actionType = (space: ActionSpace): Scalar<"f32"> | Scalar<"i32"> => (space.kind === "box" ? f32 : i32);
export function observationType({
  observation,
}: {
  readonly observation: ObservationSpace;
}): Scalar<"f32"> | Scalar<"u8"> | Scalar<"i32"> {
  if (observation.kind === "discrete") return i32;
  return observation.dtype === "u8" ? u8 : f32;
}

const TABLES = { f32, f64, i32, u32, u8 } as const;
export function tableType(table: TypedArray): Scalar {
  const storage = storageIn(table);
  if (storage === undefined) throw new EnvironmentError(`a table cannot be a ${table.constructor.name}`);
  return TABLES[storage];
}

/** Whether infinite numbers belong to a space of actions: there are no limits then. */
const isUnlimited = ({ low, high }: Box): boolean => ![low, high].flat().some(Number.isFinite);

/**
 * Whether an action can be taken: whole numbers in range; and of other numbers no NaN, and none that is infinite where
 * the space has limits. Beyond these they may be: policies draw from normal distributions, and environments clip.
 */
export function validity(space: ActionSpace): Inline {
  switch (space.kind) {
    case "discrete":
      return inline(
        { start: constant(space.start), n: constant(space.n) },
        ({ start, n }, action: number) => action >= start && action < start + n,
      );
    case "multiDiscrete":
      return inline({ counts: constant([...space.counts]) }, ({ counts }, action: KernelArray) => {
        let fine = true;
        for (let k = 0; k < counts.length; k++) fine = fine && action[k]! >= 0 && action[k]! < counts[k]!;
        return fine;
      });
    case "box": {
      const uses = { size: constant(actionSize(space)), unlimited: constant(isUnlimited(space)) };
      return inline(uses, ({ size, unlimited }, action: KernelArray) => {
        let fine = true;
        for (let k = 0; k < size; k++)
          fine = fine && (unlimited ? !Number.isNaN(action[k]!) : Math.abs(action[k]!) < Infinity);
        return fine;
      });
    }
    default:
      return space satisfies never;
  }
}
/** The same of number k of an action, in JavaScript. */
export function isActionNumber(space: ActionSpace, x: number, k: number): boolean {
  switch (space.kind) {
    case "discrete":
      return contains(space, x);
    case "multiDiscrete":
      return Number.isInteger(x) && x >= 0 && x < (space.counts[k] as number);
    case "box":
      return typeof x === "number" && (isUnlimited(space) ? !Number.isNaN(x) : Math.abs(Math.fround(x)) < Infinity);
    default:
      return space satisfies never;
  }
}

/** Puts a random action in its place: all equally likely where the space is bounded, normal where it is not. */
export function drawing(space: ActionSpace): Inline {
  switch (space.kind) {
    case "discrete":
      return inline(
        { start: constant(space.start), n: constant(space.n) },
        ({ start, n }, actions: KernelArray, at: number, rng: RandomStream) => {
          actions[at] = start + rng.int(n);
        },
      );
    case "multiDiscrete":
      return inline(
        { counts: constant([...space.counts]) },
        ({ counts }, actions: KernelArray[], at: number, rng: RandomStream) => {
          for (let k = 0; k < counts.length; k++) actions[at]![k] = rng.int(counts[k]! | 0);
        },
      );
    case "box": {
      const limits = Array.from({ length: actionSize(space) }, (_, k) => [
        limitAt(space.low, k),
        limitAt(space.high, k),
      ]) as [number, number][];
      const bounded = limits.map(([low, high]) => Number.isFinite(low) && Number.isFinite(high));
      const uses = {
        size: constant(limits.length),
        bounded: constant(bounded.map(Number)),
        low: constant(limits.map(([low], k) => (bounded[k] ? low : 0))),
        range: constant(limits.map(([low, high], k) => (bounded[k] ? high - low : 0))),
      };
      return inline(uses, ({ size, bounded, low, range }, actions: KernelArray[], at: number, rng: RandomStream) => {
        for (let k = 0; k < size; k++) {
          const uniform = Math.fround(low[k]!) + rng.uniform() * Math.fround(range[k]!);
          const normal = rng.normal();
          actions[at]![k] = bounded[k]! > 0 ? uniform : normal;
        }
      });
    }
    default:
      return space satisfies never;
  }
}
