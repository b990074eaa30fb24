/**
 * @file Faults: full disks, damaged checkpoints, rewards that are no numbers, wrong shapes, errors of others. Nothing that
 * was kept is lost, and words say what happened.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { box, defineEnv, discrete, type Game, type GameKind } from "../../src/envs/index.ts";
import { f32 } from "../../src/kernel/declare.ts";
import {
  CheckpointError,
  Checkpoints,
  NonFiniteError,
  resume,
  Trainer,
  type TrainOptions,
  train,
} from "../../src/train/index.ts";
import { failingFiles, Listener, newPath, SMALL, WALK } from "./support.ts";

const QUICK = { ...SMALL, evalEpisodes: 0 } as const;
const run = (options: Partial<TrainOptions>) => train({ ...QUICK, ...options } as TrainOptions);
/** The outcome of the run that nothing happened to. */
const undisturbed = async (): Promise<string> => {
  outcome ??= run({}).then(({ parameters_sha256 }) => parameters_sha256);
  return outcome;
};
let outcome: Promise<string> | undefined;
const checkpointsIn = (folder: string): number[] => new Checkpoints(`${folder}/checkpoints`).list();

describe("a full disk", () => {
  test("costs checkpoints while it lasts, not the run", async () => {
    const folder = newPath();
    const listener = new Listener();
    const files = failingFiles((path) => /000000000(120|160)/.test(path));
    const summary = await run({ folder, files, checkpointEvery: 40, loggers: [listener] });
    expect(summary.ended).toBe("finished");
    expect(listener.notices).toEqual([
      expect.stringMatching(
        /^no checkpoint at step 120: .*ENOSPC.*; the run goes on\. The checkpoint of step 80 is kept/,
      ),
      expect.stringMatching(/^no checkpoint at step 160: /),
    ]);
    expect(checkpointsIn(folder)).toEqual([320, 360, 400]);
  });
  test("at the end is an error, and what was kept before stays", async () => {
    const folder = newPath();
    const full = failingFiles((path) => path.includes("000000000400"));
    await expect(run({ folder, files: full, checkpointEvery: 160 })).rejects.toThrow("ENOSPC");
    expect(checkpointsIn(folder)).toEqual([160, 320]);
    expect(readdirSync(folder)).not.toContain("summary.json");
    expect((await resume(folder, { report: false })).parameters_sha256).toBe(await undisturbed());
  });
});

describe("checkpoints that are damaged", () => {
  async function interruptedRun(): Promise<string> {
    const folder = newPath();
    await run({
      folder,
      steps: 400,
      checkpointEvery: 80,
      keepCheckpoints: 9,
      callbacks: [{ onIteration: ({ iteration }) => (iteration === 7 ? "stop" : undefined) }],
    });
    return folder;
  }
  test("are passed over: the one before is used, and the run ends as it should", async () => {
    const folder = await interruptedRun();
    const path = `${folder}/checkpoints/000000000280.safetensors`;
    writeFileSync(path, readFileSync(path).fill(7, 300, 310));
    const listener = new Listener();
    const summary = await resume(folder, { report: false, loggers: [listener], callbacks: [] });
    expect(listener.info?.resumed).toEqual({ iteration: 6, steps: 240 });
    expect(listener.notices).toEqual([
      expect.stringContaining("its bytes are not those that were written; the one before is used"),
    ]);
    expect(summary.parameters_sha256).toBe(await undisturbed());
  });
  test("all of them: there is nothing to go on from", async () => {
    const folder = await interruptedRun();
    for (const steps of checkpointsIn(folder))
      writeFileSync(`${folder}/checkpoints/${String(steps).padStart(12, "0")}.json`, "");
    await expect(resume(folder)).rejects.toThrow(/no checkpoint in .* can be used; train anew in another folder/);
    expect(checkpointsIn(folder)).toHaveLength(4);
  });
  test("of another configuration or shape are refused, not passed over", async () => {
    const folder = await interruptedRun();
    const path = `${folder}/config.json`;
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace(/"gamma": [\d.]+/, '"gamma": 0.5'));
    await expect(resume(folder)).rejects.toThrow("belongs to another configuration than the config.json beside it");
    writeFileSync(path, text.replace(/"netArch": \[\s*8\s*\]/, '"netArch": [4]'));
    await expect(resume(folder)).rejects.toThrow(CheckpointError);
    expect(checkpointsIn(folder)).toHaveLength(4);
    writeFileSync(path, text);
    expect((await resume(folder, { report: false })).ended).toBe("finished");
  });
});

/** An environment that goes wrong after so many steps of its episode. */
const spoiltAfter = (steps: number) =>
  defineEnv({
    id: "spoilt",
    params: { steps },
    state: { t: f32 },
    observation: box([1]),
    action: discrete(2),
    maxSteps: 1000,
    reset(s) {
      s.t = 0;
    },
    step(s, _action, { params }) {
      s.t += 1;
      return { reward: s.t > params.steps ? Number.NaN : 1, terminated: false };
    },
    observe(s, obs) {
      obs[0] = s.t * 0.001;
    },
  });

describe("numbers that are none", () => {
  test("end the run with the step and the term, and the last good checkpoint stays", async () => {
    const folder = newPath();
    const listener = new Listener();
    const failed = run({ env: spoiltAfter(12), folder, checkpointEvery: 40, loggers: [listener] });
    const error = await failed.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(NonFiniteError);
    expect(error).toMatchObject({ steps: 120, iteration: 3, term: "reward_per_step", value: Number.NaN });
    expect((error as Error).message).toMatch(
      /^reward_per_step is NaN after iteration 3 \(120 steps\).*check what step\(\) returns\. The checkpoint of step 80 is kept in /,
    );
    expect(checkpointsIn(folder)).toEqual([40, 80]);
    expect(listener.summary?.ended).toBe("interrupted");
    expect(listener.notices.at(-1)).toContain("the run ends: reward_per_step is NaN");
    // Nobody holds the folder any more.
    Trainer.resume(folder, { env: spoiltAfter(12) }).dispose();
  });
  test("of a game are refused with the game's words", async () => {
    class Bad implements Game {
      t = 0;
      reset = () => [0, 0];
      step() {
        return { observation: [0, 0], reward: this.t++ > 12 ? Number.NaN : 0, terminated: false };
      }
    }
    const env: GameKind = { ...WALK, id: "bad", make: () => new Bad() };
    const folder = newPath();
    const listener = new Listener();
    await expect(run({ env, folder, checkpointEvery: 40, loggers: [listener] })).rejects.toThrow(
      "bad: environment 0: step() gave the reward NaN, which is not a finite number",
    );
    expect(checkpointsIn(folder)).toEqual([40, 80]);
    expect(listener.notices.at(-1)).toMatch(/^The checkpoint of step 80 is kept in /);
  });
  test("games with wrong shapes too", async () => {
    const env: GameKind = {
      ...WALK,
      id: "bad",
      make: () => ({ reset: () => [0], step: () => ({ observation: [0], reward: 0, terminated: false }) }),
    };
    await expect(run({ env })).rejects.toThrow(
      "bad: environment 0: reset() gave an observation of 1 numbers instead of 2",
    );
  });
});

test("what others throw ends the run, with a checkpoint of the iteration", async () => {
  const folder = newPath();
  const listener = new Listener();
  const callbacks = [
    {
      onIteration({ iteration }: { readonly iteration: number }) {
        if (iteration === 5) throw new Error("a callback's own error");
        return undefined;
      },
    },
  ];
  await expect(run({ folder, callbacks, loggers: [listener] })).rejects.toThrow("a callback's own error");
  expect(checkpointsIn(folder)).toEqual([200]);
  expect(listener.notices).toEqual([
    "the run ends: a callback's own error",
    expect.stringContaining("The checkpoint of step 200 is kept in"),
  ]);
  expect((await resume(folder, { report: false })).parameters_sha256).toBe(await undisturbed());
});
