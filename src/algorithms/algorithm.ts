/**
 * @file What every algorithm is to those that train with it: iterations, and the states that all of it consists of.
 */
import type { Numerics } from "../ir/pipeline.ts";
import type { Parameters } from "../nn/index.ts";
import type { TargetName } from "../targets/target.ts";
import type { State } from "../tensor/index.ts";
import type { Spaces } from "./actorCritic.ts";
import type { PhaseSeconds } from "./iteration.ts";

export interface Algorithm {
  readonly name: string;
  readonly spaces: Spaces;
  /** Environment steps of an iteration, all environments together. */
  readonly stepsPerIteration: number;
  /** How many iterations the whole run has. */
  readonly iterations: number;
  readonly parameters: Parameters;
  /** All else that going on exactly depends on, by name. */
  readonly states: ReadonlyMap<string, State>;
  /** Compiles now instead of at the first iteration. */
  load(): this;
  /** One iteration; named numbers about it. */
  iterate(): { readonly [name: string]: number };
  /** How often JavaScript has crossed into compiled code to iterate. */
  readonly crossings: number;
  readonly target: TargetName;
  readonly numerics: Numerics;
  /** Seconds of all iterations by phase, where they are measured. */
  readonly phases: PhaseSeconds | undefined;
  dispose(): void;
}
