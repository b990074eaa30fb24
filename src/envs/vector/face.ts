/**
 * @file What all vectors of environments have in common, whatever steps them: compiled code, JavaScript objects, worker
 * threads. Code that trains or evaluates asks for this and nothing more.
 */
import type { ActionSpace, ObservationSpace } from "../define.ts";
import type { Autoreset } from "./kernel.ts";
import type { StepArrays } from "./vecEnv.ts";

export type { Autoreset, StepArrays };

export interface VectorEnv {
  readonly env: {
    readonly id: string;
    readonly observation: ObservationSpace;
    readonly action: ActionSpace;
    readonly maxSteps: number | undefined;
  };
  /** Environments side by side. */
  readonly n: number;
  readonly autoreset: Autoreset;
  /** The arrays of the last step or reset; the same memory every time. */
  readonly out: StepArrays;
  /** Return and length of the episode that each environment finished last. */
  readonly episodeReturn: Float32Array;
  readonly episodeLength: Int32Array;
  /** Begins episode 0 of every environment; or, with a mask, the next episode of those where it is not 0. */
  reset(which?: ArrayLike<number | boolean>): StepArrays;
  /** Steps every environment once. */
  step(actions: ArrayLike<number>): StepArrays;
  /** Gives everything back; the arrays must not be used any more. */
  dispose(): void;
}
