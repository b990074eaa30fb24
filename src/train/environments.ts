/**
 * @file What can be trained in: the id of an environment, a compiled one, games of JavaScript, or a function that makes
 * a vector of whatever steps; and vectors of them.
 */
import type { Playground } from "../algorithms/registry.ts";
import { type Environment, EnvironmentError } from "../envs/define.ts";
import { fromObject } from "../envs/objects/fromObject.ts";
import type { GameKind } from "../envs/objects/game.ts";
import { environment } from "../envs/registry.ts";
import type { VectorEnv } from "../envs/vector/face.ts";
import { VecEnv } from "../envs/vector/vecEnv.ts";
import type { TargetChoice } from "../runtime/targets.ts";

export type TrainingEnvironment = string | Environment | GameKind | ((n: number, seed: number) => VectorEnv);

export interface VectorOptions {
  readonly seed: number;
  readonly target?: TargetChoice;
  readonly threads?: number;
  /** Steps after which episodes are cut off where the environment has no limit of its own. */
  readonly mostSteps?: number;
}

/** An environment, ready to be made in numbers. */
export interface ResolvedEnvironment {
  /** What algorithms are made with. */
  readonly playground: Playground;
  vector(n: number, options: VectorOptions): VectorEnv;
}

const isKind = (given: Environment | GameKind): given is GameKind =>
  "make" in given && typeof given.make === "function";

function ofGames(make: (n: number, seed: number) => VectorEnv): ResolvedEnvironment {
  return { playground: make, vector: (n, { seed }) => make(n, seed) };
}

export function resolveEnvironment(given: TrainingEnvironment): ResolvedEnvironment {
  if (typeof given === "function") return ofGames(given);
  const found = typeof given === "string" ? environment(given) : given;
  if (typeof found !== "object" || found === null)
    throw new EnvironmentError(
      `${String(found)} is not an environment; give an id, what defineEnv returns, or { make, observation, action }`,
    );
  if (isKind(found)) return ofGames((n, seed) => fromObject(found, n, { seed }));
  return {
    playground: found,
    vector: (n, { seed, target, threads, mostSteps }) =>
      new VecEnv(found, n, {
        seed,
        ...(target === undefined ? {} : { target }),
        ...(threads === undefined ? {} : { threads }),
        ...(found.maxSteps === undefined && mostSteps !== undefined ? { maxSteps: mostSteps } : {}),
      }),
  };
}

/** A vector that tells where its environments stand, and takes it back. */
interface RestorableVector extends VectorEnv {
  getState(i: number): unknown;
  setState(i: number, state: unknown): void;
}

export function isRestorable(vector: VectorEnv): vector is RestorableVector {
  const { getState, setState, restorable } = vector as Partial<RestorableVector> & { readonly restorable?: boolean };
  return typeof getState === "function" && typeof setState === "function" && restorable !== false;
}
