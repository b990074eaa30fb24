/**
 * @file Runs: what they tell and keep, how they end, and that a resumed run is the one that was not interrupted.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { VecEnv } from "../../src/envs/index.ts";
import { environment } from "../../src/envs/registry.ts";
import { UsageError } from "../../src/platform/errors.ts";
import {
  Checkpoints,
  parseRecords,
  readRun,
  resume,
  Trainer,
  type TrainOptions,
  train,
} from "../../src/train/index.ts";
import { TARGETS } from "../tensor/support.ts";
import { FORGETFUL, Listener, newPath, SMALL, WALK } from "./support.ts";

const run = (options: Partial<TrainOptions>) => train({ ...SMALL, ...options } as TrainOptions);
/** Trains until some iteration, and is interrupted there. */
function interrupted(iteration: number, options: Partial<TrainOptions>) {
  const controller = new AbortController();
  const callback = {
    onIteration(context: { readonly iteration: number }) {
      if (context.iteration === iteration) controller.abort();
      return undefined;
    },
  };
  return run({ ...options, signal: controller.signal, callbacks: [callback] });
}
const recordsIn = (folder: string) => parseRecords(readFileSync(`${folder}/metrics.jsonl`, "utf8"));

describe("a run", () => {
  test("without a folder leaves nothing but a summary", async () => {
    const listener = new Listener();
    const summary = await run({ loggers: [listener] });
    expect(summary).toMatchObject({ algo: "a2c", env: "CartPole-v1", seed: 3, target: "js", numerics: "unfused" });
    expect(summary).toMatchObject({ steps: 400, iterations: 10, crossings: 10, ended: "finished", run: null });
    expect(summary.evaluation?.episodes).toBe(2);
    expect(summary.parameters_sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(listener.info).toMatchObject({ total_steps: 400, config: { hyperparameters: { nEnvs: 8 } } });
    expect(listener.records.map(({ kind }) => kind)).toEqual([...new Array(10).fill("iteration"), "evaluation"]);
    expect(listener.summary).toEqual(summary);
  });
  test("makes all steps, rounded up to whole iterations", async () => {
    expect(await run({ steps: 41, evalEpisodes: 0 })).toMatchObject({ steps: 80, iterations: 2, evaluation: null });
  });
  test("evaluates and keeps checkpoints when their time has come, and the best one", async () => {
    const folder = newPath();
    const listener = new Listener();
    await run({ folder, evalEvery: 100, checkpointEvery: 150, keepCheckpoints: 2, loggers: [listener] });
    const evaluations = listener.records.filter(({ kind }) => kind === "evaluation");
    expect(evaluations.map(({ steps }) => steps)).toEqual([120, 200, 320, 400]);
    const checkpoints = new Checkpoints(`${folder}/checkpoints`);
    const steps = checkpoints.list();
    const best = checkpoints.info(400).best;
    expect(steps).toContain(best?.steps);
    expect(steps.length).toBeLessThanOrEqual(3);
    const means = evaluations.map((record) => (record.kind === "evaluation" ? record.evaluation.mean : 0));
    expect(best?.evaluation.mean).toBe(Math.max(...means));
  });
  test("leaves a folder that can be read", async () => {
    const folder = newPath();
    const summary = await run({ folder, report: true });
    const { summary: read, iterations, evaluations, warnings } = readRun(folder);
    expect(read).toEqual(summary);
    expect([iterations.length, evaluations.length, warnings]).toEqual([10, 1, []]);
    expect(readFileSync(`${folder}/report.html`, "utf8")).toContain("<svg");
  });
  test("measures phases when told to", async () => {
    const listener = new Listener();
    await run({ split: true, steps: 80, loggers: [listener], evalEpisodes: 0 });
    for (const record of listener.records) {
      if (record.kind !== "iteration") continue;
      for (const phase of ["policy", "environment", "gae", "update", "other"])
        expect(record.metrics[`time_${phase}`]).toBeGreaterThan(0);
    }
  });
  test("says at once what is wrong with its options, and makes no folder", () => {
    const folder = newPath();
    const wrong = (options: Partial<TrainOptions>) => () =>
      Trainer.create({ ...SMALL, folder, ...options } as TrainOptions);
    expect(wrong({ algo: "ppoo" })).toThrow('there is no algorithm "ppoo". Did you mean "ppo"?');
    expect(wrong({ env: "CartPol-v1" })).toThrow('Did you mean "CartPole-v1"?');
    expect(wrong({ hyperparameters: { gama: 1 } })).toThrow(/gama.*Did you mean "gamma"\?/);
    expect(wrong({ hyperparameters: { nEnvs: -1 } })).toThrow(UsageError);
    expect(wrong({ algo: "ppo", hyperparameters: { batchSize: 77 } })).toThrow(/batchSize/);
    expect(Trainer.create({ ...SMALL, folder }).folder).toBe(folder);
  });
  test("runs once", async () => {
    const trainer = Trainer.create({ ...SMALL, steps: 40, evalEpisodes: 0 });
    await trainer.run();
    await expect(trainer.run()).rejects.toThrow("a trainer runs once");
  });
});

/** Runs of every kind of world and algorithm, in two parts and in one. */
const RESUMED: { readonly [name: string]: Partial<TrainOptions> } = {
  "a compiled environment": {},
  "all that is normalised, schedules": {
    algo: "ppo",
    env: "Pendulum-v1",
    hyperparameters: {
      nEnvs: 4,
      nSteps: 10,
      batchSize: 20,
      nEpochs: 2,
      netArch: [8],
      normalizeObs: true,
      normalizeReward: true,
      learningRate: "lin_0.001",
    },
  },
  "games that tell where they stand": { env: WALK },
  "a vector of one's own": {
    env: (n: number, seed: number) => new VecEnv(environment("FrozenLake-misc"), n, { seed, target: "js" }),
    hyperparameters: { ...SMALL.hyperparameters, normalizeReward: true },
  },
};

describe("a resumed run is the one that was not interrupted", () => {
  test.each(Object.entries(RESUMED))("%s", async (_, options) => {
    const [whole, parts] = [newPath(), newPath()];
    const every = { evalEvery: 80, checkpointEvery: 160 };
    const wanted = await run({ ...options, ...every, folder: whole });
    const first = await interrupted(5, { ...options, ...every, folder: parts });
    expect(first).toMatchObject({ ended: "interrupted", steps: 200, iterations: 5 });
    const env = options.env === undefined || typeof options.env === "string" ? {} : { env: options.env };
    const listener = new Listener();
    const second = await resume(parts, { ...env, report: false, callbacks: [], loggers: [listener] });
    expect(second).toMatchObject({ ended: "finished", parameters_sha256: wanted.parameters_sha256 });
    expect([second.crossings, second.steps, second.evaluation]).toEqual([
      wanted.crossings,
      wanted.steps,
      wanted.evaluation,
    ]);
    expect(second.wall_s).toBeGreaterThan(first.wall_s);
    expect(listener.info?.resumed).toEqual({ iteration: 5, steps: 200 });
    expect(listener.notices).toEqual([]);
    const stable = (folder: string) =>
      recordsIn(folder).map((record) => {
        if (record.kind === "evaluation") return [record.iteration, record.evaluation];
        const { steps_per_s: _, ...metrics } = record.metrics;
        return [record.iteration, Object.entries(metrics).filter(([name]) => !name.startsWith("time_"))];
      });
    expect(stable(parts)).toEqual(stable(whole));
  });
  const others = TARGETS.filter((target) => target !== "js");
  test.skipIf(others.length < 2)("across targets", async () => {
    const folder = newPath();
    const wanted = await run({ evalEpisodes: 0 });
    await interrupted(5, { evalEpisodes: 0, target: others[0] as "wasm", folder });
    const second = await resume(folder, { target: others[1] as "native", report: false });
    expect(second).toMatchObject({ target: others[1], parameters_sha256: wanted.parameters_sha256 });
  });
});

describe("resuming", () => {
  test("games that do not tell where they stand begin anew, and it is said", async () => {
    const folder = newPath();
    await interrupted(5, { env: FORGETFUL, folder });
    const listener = new Listener();
    const summary = await resume(folder, { env: FORGETFUL, report: false, loggers: [listener] });
    expect(summary).toMatchObject({ ended: "finished", steps: 400 });
    expect(listener.notices).toEqual([expect.stringContaining("their episodes begin anew")]);
  });
  test("a run that is over needs more steps", async () => {
    const folder = newPath();
    await run({ folder, steps: 80 });
    await expect(resume(folder)).rejects.toThrow("is over: all 80 steps are done; give more steps to go on");
    const listener = new Listener();
    const summary = await resume(folder, { steps: 160, report: false, loggers: [listener] });
    expect(summary).toMatchObject({ steps: 160, iterations: 4, ended: "finished" });
    expect(listener.notices[0]).toBe("the run is 160 steps long now, not 80; schedules follow");
    expect(readRun(folder).config.steps).toBe(160);
  });
  test("goes on from the checkpoint that is asked for", async () => {
    const folder = newPath();
    const wanted = await run({ folder, checkpointEvery: 40, keepCheckpoints: 10 });
    await expect(resume(folder, { checkpoint: 130 })).rejects.toThrow(
      "has no checkpoint of 130 steps; there are those of 40,",
    );
    const again = await resume(folder, { checkpoint: 120, report: false });
    expect(again.parameters_sha256).toBe(wanted.parameters_sha256);
    expect(recordsIn(folder).filter(({ kind }) => kind === "iteration")).toHaveLength(10);
  });
  test("before the first checkpoint begins anew, as the run that was meant", async () => {
    const folder = newPath();
    const wanted = await run({ env: FORGETFUL, folder });
    new Checkpoints(`${folder}/checkpoints`).remove(() => true);
    const again = await resume(folder, { env: FORGETFUL, report: false });
    expect(again.parameters_sha256).toBe(wanted.parameters_sha256);
    expect(recordsIn(folder).filter(({ kind }) => kind === "iteration")).toHaveLength(10);
  });
  test("refuses another environment", async () => {
    const folder = newPath();
    await interrupted(2, { folder });
    expect(() => Trainer.resume(folder, { env: "Pendulum-v1" })).toThrow(
      "the environment Pendulum-v1 is not the one that the run began with (CartPole-v1): its spaces are others",
    );
    const games = newPath();
    await interrupted(2, { env: WALK, folder: games, evalEpisodes: 0 });
    expect(() => Trainer.resume(games)).toThrow('the run was made in "walk", which has to be handed over to go on');
    // Nothing is locked by what was refused.
    Trainer.resume(folder).dispose();
  });
});
