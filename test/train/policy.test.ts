/**
 * @file Policies: of an algorithm and out of files, the same actions; and what they refuse. Evaluations of them.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { environment, VecEnv } from "../../src/envs/index.ts";
import {
  evaluate,
  loadPolicy,
  type Policy,
  PolicyError,
  policyOf,
  RunDocumentError,
  Trainer,
  type TrainOptions,
} from "../../src/train/index.ts";
import { newPath, SMALL, WALK } from "./support.ts";

async function trained(options: Partial<TrainOptions>): Promise<Trainer> {
  const trainer = Trainer.create({ ...SMALL, steps: 80, folder: newPath(), ...options } as TrainOptions);
  await trainer.run();
  return trainer;
}
const filesOf = (folder: string) => ({
  config: readFileSync(`${folder}/config.json`, "utf8"),
  tensors: readFileSync(`${folder}/checkpoints/000000000080.safetensors`),
});

/** Spaces of every kind, with the normaliser and without. */
const KINDS: { readonly [name: string]: Partial<TrainOptions> } = {
  "discrete actions": {},
  "continuous actions, normalised observations": {
    env: "Pendulum-v1",
    hyperparameters: { ...SMALL.hyperparameters, normalizeObs: true },
  },
  "discrete observations": { env: "FrozenLake-misc" },
};

describe("out of files, as trained", () => {
  test.each(Object.entries(KINDS))("%s", async (_, options) => {
    const trainer = await trained(options);
    const vector = new VecEnv(environment(trainer.algorithm.spaces.id), 5, { seed: 9, target: "js" });
    const obs = Array.from(vector.reset().obs);
    const folder = trainer.folder as string;
    const policies = [
      policyOf(trainer.algorithm, { target: "js", seed: 1 }),
      loadPolicy(folder, { target: "js", seed: 1 }),
      loadPolicy(filesOf(folder), { target: "js", seed: 1 }),
      loadPolicy(
        { ...filesOf(folder), config: JSON.parse(filesOf(folder).config) as object },
        { target: "js", seed: 1 },
      ),
    ];
    const acts = (policy: Policy) => [
      policy.act(obs),
      policy.act(obs, { deterministic: false }),
      policy.act(obs, { deterministic: false }),
    ];
    const first = acts(policies[0] as Policy);
    for (const policy of policies.slice(1)) expect(acts(policy)).toEqual(first);
    // What is done about one does not depend on the others.
    const size = obs.length / 5;
    const single = policies[1]?.act(obs.slice(size, 2 * size));
    expect([single].map((x) => (typeof x === "number" ? x : x?.[0]))).toEqual([(first[0] as Float32Array)[1]]);
    vector.step(first[1] as Float32Array);
    trainer.dispose();
  });
});

describe("refusals", () => {
  test("observations that do not fit", async () => {
    const policy = (await trained({ evalEpisodes: 0 })).policy;
    expect(() => policy.act([1, 2, 3])).toThrow(
      "CartPole-v1: an observation [4] is 4 numbers, several in a row a multiple; 3 were given",
    );
    expect(() => policy.act([])).toThrow(PolicyError);
    expect(() => policy.act([1, 2, Number.NaN, 3])).toThrow("the observation has NaN at 2");
    expect(() => evaluate(policy, "Pendulum-v1", { target: "js" })).toThrow(
      "a policy for CartPole-v1 cannot act in Pendulum-v1: its observation space is box [4], that of the environment box [3]",
    );
  });
  test("files that do not fit", async () => {
    const { folder = "" } = await trained({ evalEpisodes: 0 });
    const { config, tensors } = filesOf(folder);
    const document = JSON.parse(config) as { [key: string]: unknown };
    const wider = { ...document, hyperparameters: { nEnvs: 8, nSteps: 5, netArch: [1_000_000_000] } };
    expect(() => loadPolicy({ config: wider, tensors })).toThrow('"actor.w0" is F32 [4, 8] in the file');
    expect(() => loadPolicy({ config: "{}", tensors })).toThrow(RunDocumentError);
    expect(() => loadPolicy({ config: "{}", tensors }, { chekpoint: "best" } as never)).toThrow(
      'loadPolicy: there is no option "chekpoint". Did you mean "checkpoint"?',
    );
    expect(() => loadPolicy({ config: { ...document, algo: "pp" }, tensors })).toThrow('Did you mean "ppo"?');
    expect(() => loadPolicy({ config, tensors: tensors.subarray(0, 100) })).toThrow(/does not fit a file of 100/);
    expect(() => loadPolicy(folder, { checkpoint: 7 })).toThrow("no checkpoint of 7 steps; there are those of 80");
  });
});

test("many sizes at once: those in use stay", async () => {
  const { policy } = await trained({ evalEpisodes: 0 });
  const held = policy.batch(3);
  const obs = [0.1, 0.2, 0.3, 0.4, -0.1, -0.2, -0.3, -0.4, 0, 0, 0, 1];
  held.obs.set(obs);
  const first = Array.from(held.act());
  for (let n = 1; n < 20; n++) policy.act(new Float32Array(4 * n).fill(n));
  held.obs.set(obs);
  expect(Array.from(held.act())).toEqual(first);
  expect(Array.from(policy.act(obs) as Int32Array)).toEqual(first);
});

describe("evaluation", () => {
  test("plays the first episode of each environment, the same ones every time", async () => {
    const { policy } = await trained({ evalEpisodes: 0 });
    const options = { episodes: 6, seed: 4, target: "js" } as const;
    const result = evaluate(policy, "CartPole-v1", options);
    // The same by hand.
    const vector = new VecEnv(environment("CartPole-v1"), 6, { seed: 1004, target: "js" });
    const first = new Array<number>(6);
    let { obs } = vector.reset();
    for (let step = 0; step < 500; step++) {
      obs = vector.step(policy.act(obs) as Int32Array).obs;
      for (let i = 0; i < 6; i++)
        if (vector.out.terminated[i] || vector.out.truncated[i]) first[i] ??= vector.episodeReturn[i] as number;
    }
    expect(result.mean).toBeCloseTo(first.reduce((sum, x) => sum + x, 0) / 6, 10);
    expect(result).toMatchObject({ episodes: 6, min: Math.min(...first), max: Math.max(...first) });
    expect(evaluate(policy, "CartPole-v1", options)).toEqual(result);
    const drawn = evaluate(policy, "CartPole-v1", { ...options, deterministic: false });
    expect(evaluate(policy, "CartPole-v1", { ...options, deterministic: false })).toEqual(drawn);
  });
  test("more episodes than fit side by side are played in rounds", async () => {
    const trainer = await trained({ env: WALK, evalEpisodes: 0 });
    const result = trainer.evaluate({ episodes: 1500 });
    expect(result.episodes).toBe(1500);
    expect(result.mean_length).toBeGreaterThan(3);
  });
});
