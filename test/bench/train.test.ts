/**
 * @file The suite `train`: its bars, what its sides count, processes under the clock, and when a run was solved. Nothing
 * is timed for its own sake, and no peers are needed.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ppoSchema } from "../../src/algorithms/ppo.ts";
import { CommandError, ownClock, runCommand } from "../../src/bench/commands.ts";
import { GateError } from "../../src/bench/gate.ts";
import { peakOf } from "../../src/bench/peak.ts";
import { Recorder } from "../../src/bench/suite.ts";
import { checkTargets, trainingArm, updateArm } from "../../src/bench/suites/train.ts";
import { stateBars } from "../../src/bench/suites/train-bars.ts";
import {
  countsOf,
  disposeTraining,
  expectedCounts,
  MEDIUM,
  makeTraining,
  SMALL,
  TRAINING,
  type TrainCase,
  updateOperations,
} from "../../src/bench/suites/train-cases.ts";
import { measureCommands, measureStarts, solvedAfter } from "../../src/bench/suites/train-commands.ts";
import { LINEN_START, linenSettings } from "../../src/bench/suites/train-linen.ts";
import { SB3_COMMAND, sb3Task, WANTED } from "../../src/bench/suites/train-peers.ts";
import { TrainRun } from "../../src/bench/suites/train-run.ts";
import { BenchTargets } from "../../src/bench/targets.ts";
import { measureTurns } from "../../src/bench/timing.ts";
import type { EvaluationRecord, RunSummary } from "../../src/train/records.ts";

const folder = mkdtempSync(join(tmpdir(), "lockstep-train-bench-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const makeRun = (): TrainRun => {
  const recorder = new Recorder({ quick: true, peers: false, say: () => {} });
  return new TrainRun(recorder, new BenchTargets(recorder, []));
};
const barsOf = (run: TrainRun) => {
  stateBars(run);
  return run.recorder.report("train").bars;
};

describe("bars", () => {
  test("are all there, in order, with what they need", () => {
    const bars = barsOf(makeRun());
    expect(bars.map(({ id, required }) => [id, required])).toEqual([
      ["native/training-vs-sb3", ">= 20x"],
      ["native/training-vs-rlox", ">= 15x"],
      ["wasm/training-vs-sb3", ">= 8x"],
      ["wasm/training-vs-rlox", ">= 6x"],
      ["native/command-vs-sb3", ">= 10x"],
      ["wasm/command-vs-sb3", ">= 5x"],
      ["native/iteration-vs-linen", ">= 3x"],
      ["wasm/iteration-vs-linen", ">= 1.5x"],
      ["native/start-warm-vs-linen", ">= 10x"],
      ["native/start-empty-vs-linen", ">= 1.5x"],
      ["wasm/start-vs-linen", ">= 8x"],
      ["native/peak-small", ">= 65 %"],
      ["native/peak-medium", ">= 80 %"],
      ["wasm/peak-small", "a figure in %"],
      ["wasm/peak-medium", "a figure in %"],
      ["native/solved", "<= 3 s"],
    ]);
    expect(bars.slice(0, 11).every((bar) => bar.reason === "needs --peers")).toBe(true);
    expect(bars.slice(11).every((bar) => bar.measured === null && !bar.met && bar.reason)).toBe(true);
  });

  test("have the figures of their run, and the reasons of sections that failed", async () => {
    const run = makeRun();
    run.figure("native/training-vs-sb3", 21);
    run.figure("wasm/peak-small", 50);
    run.lacks("native/solved", "never solved");
    await run.section("iteration", () => Promise.reject(new CommandError("it broke")));
    await run.section("start", () => Promise.reject(new GateError("not the same work")));
    const bars = new Map(barsOf(run).map((bar) => [bar.id, bar]));
    expect(bars.get("native/training-vs-sb3")).toMatchObject({ measured: 21, met: true });
    expect(bars.get("wasm/peak-small")).toMatchObject({ measured: 50, met: true });
    expect(bars.get("native/solved")?.reason).toBe("never solved");
    expect(bars.get("wasm/iteration-vs-linen")?.reason).toBe("it broke");
    expect(bars.get("wasm/start-vs-linen")?.reason).toBe("not the same work");
    expect(run.recorder.failures).toBe(1);
    await expect(run.section("peak", () => Promise.reject(new TypeError("a fault of ours")))).rejects.toThrow(
      TypeError,
    );
  });

  test("processes are not timed from sources", async () => {
    const recorder = new Recorder({ quick: true, peers: false, say: () => {} });
    const run = new TrainRun(recorder, new BenchTargets(recorder, ["js"]));
    await run.section("command", measureCommands);
    await run.section("start", measureStarts);
    expect(run.reasonOf("any", "command")).toContain("npm run build");
    expect(run.reasonOf("any", "start")).toContain("npm run build");
  });
});

/** A few rows: 2 environments, 8 steps, 2 epochs of 2 minibatches. */
const TINY: TrainCase = {
  name: "tiny",
  config: ppoSchema.parse({ nEnvs: 2, nSteps: 8, batchSize: 8, nEpochs: 2, netArch: [8] }),
  totalSteps: 40,
};

describe("our side", () => {
  test("counts what it should have done", () => {
    const algorithm = makeTraining(TINY, { target: "wasm", threads: 1 });
    for (let k = 0; k < 3; k++) algorithm.iterate();
    expect(countsOf(algorithm, 3)).toEqual({ parameters: 107, steps: 48, updates: 12 });
    expect(expectedCounts(TINY, 3)).toEqual(countsOf(algorithm, 3));
    disposeTraining(algorithm);
  });

  test("has the settings that were asked for", () => {
    expect(WANTED).toEqual({ parameters: 9155, steps: 50_176, updates: 784 });
    expect(TRAINING.config).toMatchObject({ nEnvs: 8, nSteps: 128, nEpochs: 4, batchSize: 256, netArch: [64, 64] });
    expect(expectedCounts(SMALL, 100)).toEqual({ parameters: 9155, steps: 819_200, updates: 8000 });
    expect(SMALL.config).toMatchObject({ nEnvs: 32, nSteps: 256, nEpochs: 10, batchSize: 1024, bootstrap: "never" });
    expect(linenSettings(SMALL)).toMatchObject({ rate: 2.5e-4, updates: 8000, cores: 2, environment: "CartPole-v1" });
    expect(JSON.parse(sb3Task(1))).toMatchObject({
      steps: 50_176,
      episodes: 10,
      threads: 1,
      settings: { rate: 2.5e-4 },
    });
  });

  test("learns the same on targets that round alike", () => {
    checkTargets(TINY, ["js", "wasm"], 2);
  });

  test("trains anew with every call", async () => {
    const arm = trainingArm(TINY, "js", "js", 1);
    const samples = await measureTurns([arm], 2);
    expect(samples.get("js")?.every((ns) => ns > 0)).toBe(true);
  });

  test("updates are a part of iterations that is told apart", async () => {
    const algorithm = makeTraining(TINY, { target: "wasm", threads: 1, split: true });
    const begin = performance.now();
    const ns = await updateArm("wasm", algorithm).time(3);
    expect(ns).toBeGreaterThan(0);
    expect(ns).toBeLessThan((performance.now() - begin) * 1e6);
    expect(countsOf(algorithm, 3).updates).toBe(12);
    disposeTraining(algorithm);
  });

  test("operations of updates are those of the products", () => {
    // One row through 4-8-2 and 4-8-1: forward and both gradients, without that of the observations.
    const row = 2 * (2 * 2 * 4 * 8 + 3 * 8 * 2 + 3 * 8 * 1);
    expect(updateOperations(TINY)).toBe(row * 16 * 2);
    expect(updateOperations(SMALL)).toBe(4_288_675_840);
    expect(updateOperations(MEDIUM) / updateOperations(SMALL)).toBeGreaterThan(30);
  });

  test("the peak on two threads is that of more chains", () => {
    const [one, two] = [peakOf("wasm"), peakOf("wasm", 2)];
    one?.run();
    two?.run();
    expect(two?.operations).toBe(16 * (one?.operations ?? 0));
    one?.dispose();
    two?.dispose();
  });
});

describe("processes", () => {
  const node = (script: string) => ({ program: process.execPath, args: ["-e", script], folder });

  test("are timed up to what they print", async () => {
    const begin = performance.now();
    const { ns, document } = await runCommand("test", node(`console.log(JSON.stringify({ a: 1 }, null, 2))`));
    expect(document).toEqual({ a: 1 });
    expect(ns).toBeGreaterThan(0);
    expect(ns).toBeLessThan((performance.now() - begin) * 1e6);
  });

  test("do not see what would change them, but what they are given", async () => {
    process.env.LOCKSTEP_TARGET = "js";
    const script = `console.log(JSON.stringify([process.env.LOCKSTEP_TARGET ?? null, process.env.GIVEN, process.cwd()]))`;
    const { document } = await runCommand("test", { ...node(script), env: { GIVEN: "x" } });
    delete process.env.LOCKSTEP_TARGET;
    expect(document).toEqual([null, "x", expect.stringContaining("lockstep-train-bench-")]);
  });

  test("that fail say why", async () => {
    const fails = (script: string) => expect(runCommand("test", node(script), 2000)).rejects;
    await fails(`console.error("no such thing"); process.exit(3)`).toThrow("test: it ended with code 3: no such thing");
    await fails(`console.log("hello")`).toThrow("it printed no JSON but: hello");
    await fails("").toThrow("it printed no JSON but: nothing");
    await fails("setTimeout(() => {}, 60000)").toThrow("it was ended by SIGKILL (limit 2 s)");
    const missing = { program: join(folder, "no-such-program"), args: [], folder };
    await expect(runCommand("test", missing)).rejects.toThrow(CommandError);
    await expect(runCommand("test", missing)).rejects.toThrow("it cannot be started");
  });

  test("an arm with a clock of its own sums it up", async () => {
    let count = 0;
    const arm = ownClock("a", () => ++count);
    expect(await arm.time(3)).toBe(6);
    expect(await arm.timeEach(2)).toEqual([4, 5]);
  });

  const python = spawnSync("python3", ["--version"]).status === 0;
  test.skipIf(!python)("scripts for Python are Python", () => {
    for (const script of [LINEN_START, SB3_COMMAND]) {
      const { status, stderr } = spawnSync("python3", ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], {
        input: script,
        encoding: "utf8",
      });
      expect([status, stderr]).toEqual([0, ""]);
    }
  });
});

describe("solved", () => {
  const result = (mean: number): EvaluationRecord["evaluation"] => ({
    ...{ episodes: 10, mean, std: 0, min: mean, max: mean, iqm: mean, ci: [mean, mean], mean_length: mean },
  });
  const summary = (mean: number, run: string | null): RunSummary => ({
    ...{ algo: "ppo", env: "CartPole-v1", seed: 1, target: "native", threads: 2, numerics: "fused", steps: 100 },
    ...{ iterations: 4, ended: "finished", wall_s: 5, train_s: 4, steps_per_s: 25, crossings: 4 },
    ...{ evaluation: result(mean), parameters_sha256: "", run },
  });
  function written(means: readonly number[]): string {
    const run = mkdtempSync(join(folder, "run-"));
    const records = means.map(
      (mean, k): EvaluationRecord => ({
        ...{ kind: "evaluation", iteration: k + 1, steps: 25 * (k + 1), wall_s: k + 1, evaluation: result(mean) },
      }),
    );
    writeFileSync(join(run, "config.json"), JSON.stringify({ algo: "ppo", env: "CartPole-v1", seed: 1 }));
    writeFileSync(join(run, "metrics.jsonl"), records.map((record) => `${JSON.stringify(record)}\n`).join(""));
    return run;
  }

  test("is when the first evaluation reached the goal", () => {
    const document = summary(500, written([20, 480, 100, 500]));
    // The process took 7 s, 5 of them by the run's own clock, which stood at 2 then.
    expect(solvedAfter({ ns: 7e9, document }, folder)).toBe(4e9);
  });
  test("is the end where only that is known, and never where no evaluation reached it", () => {
    expect(solvedAfter({ ns: 7e9, document: summary(480, null) }, folder)).toBe(7e9);
    expect(solvedAfter({ ns: 7e9, document: summary(400, written([20, 400])) }, folder)).toBe(Number.POSITIVE_INFINITY);
  });
  test("needs a summary", () => {
    expect(() => solvedAfter({ ns: 1, document: { steps: 1 } }, folder)).toThrow(CommandError);
  });
});
