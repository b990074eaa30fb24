/**
 * @file The world that an algorithm plays in: environments side by side, whose steps go into the rows of a rollout.
 *
 * A compiled world steps inside of programs (compiledWorld.ts); one of JavaScript objects steps between them (below),
 * into the same rows, so that everything that follows is the same code and gives the same numbers.
 */
import { actionSize, EnvironmentError, type ObservationSpace, observationSize } from "../envs/define.ts";
import type { VectorEnv } from "../envs/vector/face.ts";
import type { TensorType } from "../tensor/nodes.ts";
import { State, state } from "../tensor/state.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** What a rollout of some steps holds: one row of all environments per step, and an observation more. */
export interface RolloutStates {
  readonly obs: State;
  readonly reward: State;
  readonly terminated: State;
  readonly truncated: State;
  /** The last observation of an episode that ended in this step; of others, anything. */
  readonly finalObs: State;
}

interface WorldParts {
  readonly env: Pick<VectorEnv["env"], "id" | "observation" | "action">;
  readonly n: number;
  readonly rollout: RolloutStates;
  /** Return and length of the episode that each environment finished last. */
  readonly episodeReturn: State;
  readonly episodeLength: State;
  /** Whether episodes can be cut off by a limit of steps. */
  readonly truncates: boolean;
  /** Everything that playing on depends on, by name. */
  readonly states: ReadonlyMap<string, State>;
}
export interface CompiledWorldParts extends WorldParts {
  readonly kind: "compiled";
  /** Inside a program: one step of all environments, into row t. */
  step(actions: Tensor, t: Tensor): void;
}
export interface HostWorldParts extends WorldParts {
  readonly kind: "host";
  /** One step of all environments, into row t. */
  step(actions: ArrayLike<number>, t: number): void;
}
export type World = CompiledWorldParts | HostWorldParts;

/** States for a rollout of n environments with observations of some size. */
export function rolloutStates(steps: number, n: number, space: ObservationSpace): RolloutStates {
  const size = observationSize(space);
  const seen = observationType(space);
  const rows = (name: string, dtype: TensorType, count: number, ...row: number[]): State =>
    state(dtype, [count, n, ...row], { name });
  return {
    obs: rows("obs", seen, steps + 1, size),
    reward: rows("reward", "f32", steps),
    terminated: rows("terminated", "bool", steps),
    truncated: rows("truncated", "bool", steps),
    finalObs: rows("finalObs", seen, steps, size),
  };
}
/** What observations are in programs. */
function observationType(space: ObservationSpace): TensorType {
  if (space.kind === "discrete") return "i32";
  if (space.dtype === "f32") return "f32";
  throw new EnvironmentError(`observations of ${space.dtype} cannot be trained on; let observe() write f32 numbers`);
}

/** The last row of a state, from which the next rollout goes on, as a state of its own over the same memory. */
export function lastRow({ name, dtype, shape, array }: State): State {
  const [rows = 1, ...row] = shape;
  return new State(name, dtype, row, array.subarray(-array.length / rows));
}

/** JavaScript objects, or anything else that steps as a vector of environments. */
export class HostWorld implements HostWorldParts {
  readonly kind = "host";
  readonly rollout: RolloutStates;
  readonly episodeReturn: State;
  readonly episodeLength: State;
  readonly truncates = true;
  readonly vector: VectorEnv;

  constructor(vector: VectorEnv, { steps }: { readonly steps: number }) {
    if (vector.autoreset !== "same-step")
      throw new EnvironmentError(
        `${vector.env.id}: training needs autoreset "same-step", this vector has "${vector.autoreset}"`,
      );
    this.vector = vector;
    this.rollout = rolloutStates(steps, vector.n, vector.env.observation);
    this.episodeReturn = state("f32", [vector.n], { name: "episodeReturn" });
    this.episodeLength = state("i32", [vector.n], { name: "episodeLength" });
    this.#row("obs", steps).set(vector.reset().obs);
  }
  get env(): VectorEnv["env"] {
    return this.vector.env;
  }
  get n(): number {
    return this.vector.n;
  }
  /** Where objects stand in their episodes is not known here: only what was seen last. */
  get states(): ReadonlyMap<string, State> {
    return new Map([["obs", lastRow(this.rollout.obs)]]);
  }

  #row(column: keyof RolloutStates, t: number) {
    const { array, shape } = this.rollout[column];
    const size = array.length / (shape[0] as number);
    return array.subarray(t * size, (t + 1) * size);
  }
  step(actions: ArrayLike<number>, t: number): void {
    const { obs, reward, terminated, truncated, finalObs } = this.vector.step(actions);
    this.#row("obs", t + 1).set(obs);
    this.#row("reward", t).set(reward);
    this.#row("terminated", t).set(terminated);
    this.#row("truncated", t).set(truncated);
    this.#row("finalObs", t).set(finalObs);
    this.episodeReturn.array.set(this.vector.episodeReturn);
    this.episodeLength.array.set(this.vector.episodeLength);
  }
}

/** The shape of an action of one environment: none for a single number. */
export function actionShape(action: VectorEnv["env"]["action"]): readonly number[] {
  return action.kind === "discrete" ? [] : [actionSize(action)];
}
