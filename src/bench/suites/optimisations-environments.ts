/**
 * @file Items of the suite `optimisations` that are about steps of environments: what is handed over, and how.
 *
 * Both forms step the same vector of CartPoles with the same actions; they differ in what they make of the results.
 */
import { environment } from "../../envs/registry.ts";
import { VecEnv } from "../../envs/vector/vecEnv.ts";
import { EXACT, gate } from "../gate.ts";
import type { Forms, Item } from "./optimisations-items.ts";

const ENVIRONMENTS = 256;
const SIZE = 4;

interface Both {
  readonly before: (vec: VecEnv) => unknown;
  readonly after: (vec: VecEnv) => unknown;
  /** The observations as each form has handed them over. */
  readonly seen: () => { readonly before: ArrayLike<number>; readonly after: ArrayLike<number> };
}

/** Two vectors that play the same, one for each form. */
function forms({ before, after, seen }: Both): Forms {
  const made = (): VecEnv => {
    const vec: VecEnv = new VecEnv(environment("CartPole-v1"), ENVIRONMENTS, { seed: 7, threads: 1 });
    vec.reset();
    return vec;
  };
  const [first, second] = [made(), made()];
  return {
    before: () => before(first),
    after: () => after(second),
    gate: () => {
      const found = seen();
      gate("observations", found.before, found.after, EXACT);
    },
    dispose: () => {
      first.dispose();
      second.dispose();
    },
  };
}

/** P2: an array of its own for each environment's observation, made in every step; or one flat array that stays. */
function flatObservations(): Forms {
  let objects: Float32Array[] = [];
  let flat: ArrayLike<number> = [];
  return forms({
    before: (vec) => {
      const { obs } = vec.step(vec.actions);
      objects = Array.from({ length: ENVIRONMENTS }, (_, i) =>
        Float32Array.from(obs.subarray(i * SIZE, (i + 1) * SIZE)),
      );
      return objects;
    },
    after: (vec) => {
      flat = vec.step(vec.actions).obs;
      return flat;
    },
    seen: () => ({ before: objects.flatMap((x) => [...x]), after: flat }),
  });
}

/** P10: an object with further information for each environment, made in every step; or arrays that are there anyway. */
function noInfo(): Forms {
  let infos: { readonly finalObs?: ArrayLike<number>; readonly length?: number }[] = [];
  let flat: ArrayLike<number> = [];
  let seen: ArrayLike<number> = [];
  return forms({
    before: (vec) => {
      const { obs, terminated, truncated, finalObs } = vec.step(vec.actions);
      seen = obs;
      infos = Array.from({ length: ENVIRONMENTS }, (_, i) =>
        terminated[i] || truncated[i]
          ? { finalObs: finalObs.slice(i * SIZE, (i + 1) * SIZE), length: vec.episodeLength[i] as number }
          : {},
      );
      return infos;
    },
    after: (vec) => {
      flat = vec.step(vec.actions).obs;
      return flat;
    },
    seen: () => ({ before: seen, after: flat }),
  });
}

const params = { environments: ENVIRONMENTS, observation: SIZE };
export const ENVIRONMENT_ITEMS: readonly Item[] = [
  { id: "P2", what: "flat observation storage", params, items: ENVIRONMENTS, make: flatObservations },
  { id: "P10", what: "no info object per step", params, items: ENVIRONMENTS, make: noInfo },
];
