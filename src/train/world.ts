/**
 * @file The environments of a run that are JavaScript objects: where they stand goes into checkpoints where they tell,
 * and where they do not, episodes begin anew when a run is resumed.
 */
import type { Playground } from "../algorithms/registry.ts";
import type { VectorEnv } from "../envs/vector/face.ts";
import { CheckpointError } from "./checkpoints.ts";
import { isRestorable } from "./environments.ts";
import { STATE_PREFIX } from "./snapshot.ts";

/** What is to be said when a run with such environments goes on. */
export const FORGETTING =
  "the environments cannot tell where they stand (getState, setState): their episodes begin anew, and the run is not " +
  "the one that it would have been without a break";

/** Seeds of episodes that begin anew: beyond all those of runs and evaluations. */
const FRESH_SEEDS = 2 ** 32;

/** States of an algorithm that belong to episodes under way, not to what was learnt. */
const OF_EPISODES = /^state\/(world\..*|seen|returns\.running)$/;

export class HostWorldKeeper {
  /** What the algorithm is made with. */
  readonly playground: Playground;
  #vector: VectorEnv | undefined;

  /** `resumedAt`: the steps that a resumed run has made already; undefined for a new one. */
  constructor(playground: Playground, resumedAt: number | undefined) {
    this.playground =
      typeof playground === "function" ? (n, seed) => this.#make(playground, n, seed, resumedAt) : playground;
  }
  #make(
    make: (n: number, seed: number) => VectorEnv,
    n: number,
    seed: number,
    resumedAt: number | undefined,
  ): VectorEnv {
    let made = make(n, seed);
    if (resumedAt !== undefined && !isRestorable(made)) {
      // The same seed would play the first episodes of the run again.
      made.dispose();
      made = make(n, seed + FRESH_SEEDS + resumedAt);
    }
    this.#vector = made;
    return made;
  }

  /** Whether going on begins episodes anew. */
  get forgets(): boolean {
    return this.#vector !== undefined && !isRestorable(this.#vector);
  }
  /** Whether a tensor of a checkpoint is about episodes that are not to be had any more. */
  leavesOut(name: string): boolean {
    return this.forgets && name.startsWith(STATE_PREFIX) && OF_EPISODES.test(name);
  }

  /** Where all environments stand; null where they do not tell, or are compiled and so among the states. */
  save(): unknown[] | null {
    const vector = this.#vector;
    if (vector === undefined || !isRestorable(vector)) return null;
    return Array.from({ length: vector.n }, (_, i) => vector.getState(i));
  }
  restore(states: readonly unknown[] | null): void {
    const vector = this.#vector;
    if (vector === undefined || !isRestorable(vector)) return;
    if (states?.length !== vector.n)
      throw new CheckpointError(
        `the checkpoint tells where ${states?.length ?? 0} environments stand, the run has ${vector.n} ${vector.env.id}`,
      );
    states.forEach((state, i) => {
      vector.setState(i, state);
    });
  }

  dispose(): void {
    this.#vector?.dispose();
  }
}
