/**
 * @file `lockstep profile`: shares that are whole, rules that follow the figures, kernels read from their table, the
 * report in its formats, and the measuring itself on small runs.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CompiledWorld } from "../../src/algorithms/compiledWorld.ts";
import { Ppo, ppoSchema } from "../../src/algorithms/ppo.ts";
import { profileHtml, profileJson, profileMarkdown } from "../../src/cli/profileReport.ts";
import { measureProfile } from "../../src/cli/profileRun.ts";
import { profileReport } from "../../src/cli/profileSections.ts";
import { environment } from "../../src/envs/registry.ts";
import { bottlenecksOf, callCounts, factsOf, layersOf, type Measured, percentages } from "../../src/train/profile.ts";
import { recommendationsFor } from "../../src/train/profileAdvice.ts";
import { KernelTextError, kernelTimes } from "../../src/train/profileKernels.ts";
import { SMALL, WALK } from "../train/support.ts";
import { builtFirst, expectPlain, lockstep, ownFolder } from "./command.ts";

builtFirst();
const folder = ownFolder();
const FAST = { samples: 3, sampleNs: 1e4, warmUpNs: 1e4 };

const run = { wall_s: 3, init_s: 0.5, train_s: 2.4, other_s: 0.1, steps_per_s: 20_000 };
const MEASURED: Measured = {
  algo: "ppo",
  env: "CartPole-v1",
  target: "native",
  best_target: "native",
  threads: 2,
  numerics: "fused",
  seed: 1,
  steps: 51_200,
  iterations: 50,
  settings: { n_envs: 8, n_steps: 128, updates: 16, batch_size: 256, epochs: 4, normalised: false },
  machine: { cpu: "A processor", cores: 2, os: "Linux x64", versions: { node: "20.19.0" } },
  date: "2026-01-01T00:00:00.000Z",
  whole: { ...run, iteration_ms: 4, first_iteration_ms: 9, crossings_per_iteration: 1 },
  split: { ...run, iteration_ms: 4.5, first_iteration_ms: 9, crossings_per_iteration: 387 },
  phases: { environment: 0.48, policy: 0.48, gae: 0.12, update: 1.2, other: 0.12 },
  benchmarks: [{ name: "gae, 8 x 128", median_us: 3, p25_us: 2.5, p75_us: 3.5 }],
  kernels: [
    { place: 1, what: "tanh add", shape: "[8, 64]", runs: 128, us: 900, gflops_per_s: 1 },
    { place: 2, what: "matmul [256, 64] x [64, 64]", shape: "[256, 64]", runs: 16, us: 95, gflops_per_s: 40 },
    { place: 3, what: "copy", shape: "", runs: 16, us: 5, gflops_per_s: 0 },
  ],
};
/** The same with some share of one phase; the others have the rest in equal parts. */
const withShare = (phase: keyof Measured["phases"], share: number): Measured["phases"] => {
  const rest = (1 - share) / 4;
  return { environment: rest, policy: rest, gae: rest, update: rest, other: rest, [phase]: share };
};
const advised = (changes: Partial<Measured>) => recommendationsFor(factsOf({ ...MEASURED, ...changes }));

describe("shares", () => {
  test("are 100 % together, and each within a tenth of what it is", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 1e-6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 8 }),
        (values) => {
          const total = values.reduce((sum, value) => sum + value, 0);
          const found = percentages(values);
          expect(Math.round(found.reduce((sum, value) => sum + value, 0) * 10)).toBe(1000);
          found.forEach((percent, k) => {
            expect(Math.abs(percent - (100 * (values[k] as number)) / total)).toBeLessThanOrEqual(0.1 + 1e-9);
          });
        },
      ),
    );
  });
  test("of nothing are nothing", () => {
    expect(percentages([0, 0])).toEqual([0, 0]);
  });
  test("of layers stand in the order of an iteration", () => {
    expect(layersOf(MEASURED.phases).map(({ layer, percent }) => [layer, percent])).toEqual([
      ["environment", 20],
      ["policy", 20],
      ["gae", 5],
      ["update", 50],
      ["other", 5],
    ]);
  });
});

describe("calls", () => {
  test("of a design with one per operation are those of 128 steps", () => {
    const { per_operation, per_kernel, whole, split } = callCounts(MEASURED);
    expect(per_operation).toEqual({
      environment_steps: 128,
      actions: 128,
      values: 129,
      gae: 1,
      updates: 16,
      total: 402,
    });
    expect([whole, split, per_kernel]).toEqual([1, 387, 160]);
  });
});

describe("bottlenecks", () => {
  test("are named with their figures, the largest layer first", () => {
    expect(bottlenecksOf(factsOf(MEASURED))).toEqual([
      "update: 50.0 % of the time of iterations",
      "one kernel, tanh add: 90.0 % of the time of all kernels",
    ]);
  });
  test("may be the start, small kernels and calls in between", () => {
    const changes = {
      phases: withShare("policy", 0.2),
      whole: { ...run, init_s: 2, iteration_ms: 2, first_iteration_ms: 9, crossings_per_iteration: 1 },
      kernels: [{ place: 1, what: "copy", shape: "", runs: 100, us: 100, gflops_per_s: 0 }],
    };
    expect(bottlenecksOf(factsOf({ ...MEASURED, ...changes }))).toEqual([
      "one kernel, copy: 100.0 % of the time of all kernels",
      "kernels of less than 2 us a run: 100.0 % of the time of all kernels",
      "making and compiling: 66.7 % of the run from start to end",
      "calls in between, when phases are programs of their own: an iteration takes 2.25 times as long",
    ]);
  });
});

describe("recommendations", () => {
  const CASES: readonly (readonly [string, Partial<Measured>, string, RegExp])[] = [
    ["the environment", { phases: withShare("environment", 0.6) }, "High", /60\.0 %.*8 environments/],
    [
      "the environment, somewhat",
      { phases: withShare("environment", 0.3) },
      "Medium",
      /environment step takes 30\.0 %/,
    ],
    ["the policy", { phases: withShare("policy", 0.55) }, "High", /policy forward takes 55\.0 %/],
    ["small minibatches", { phases: withShare("update", 0.7) }, "High", /70\.0 %.*minibatches of 256 rows/],
    ["free cores", { phases: withShare("update", 0.7), threads: 1 }, "Medium", /on 1 of 2 cores/],
    [
      "many epochs",
      { phases: withShare("update", 0.7), settings: { ...MEASURED.settings, epochs: 10 } },
      "Medium",
      /in 10 epochs/,
    ],
    [
      "what is not a layer",
      { phases: withShare("other", 0.2) },
      "Medium",
      /other takes 20\.0 %.*4\.5 ms in phases, 4 ms/,
    ],
    ["GAE", { phases: withShare("gae", 0.2) }, "Low", /GAE takes 20\.0 %/],
    ["another target", { target: "js" }, "High", /ran on js; native works here/],
    ["no native code", { target: "wasm", best_target: "wasm" }, "Medium", /native code does not work here/],
    ["JavaScript objects", { whole: null, phases: withShare("environment", 0.6) }, "High", /387 calls.*60\.0 %/],
    [
      "the start",
      { whole: { ...run, init_s: 5, iteration_ms: 4, first_iteration_ms: 9, crossings_per_iteration: 1 } },
      "Medium",
      /compiling took 5 s, training 2\.4 s/,
    ],
    [
      "small kernels",
      { kernels: [{ place: 1, what: "copy", shape: "", runs: 100, us: 100, gflops_per_s: 0 }] },
      "Medium",
      /less than 2 us a run take 100\.0 %/,
    ],
  ];
  test.each(CASES)("about %s name what was measured", (_, changes, priority, finding) => {
    expect(advised(changes)).toContainEqual({
      priority,
      finding: expect.stringMatching(finding),
      advice: expect.any(String),
    });
  });
  test("begin with what matters most", () => {
    const priorities = advised({ phases: withShare("update", 0.7), threads: 1, target: "js" }).map(
      (one) => one.priority,
    );
    expect(priorities).toEqual(["High", "High", "Medium"]);
  });
  test("say so when nothing stands out", () => {
    expect(advised({})).toEqual([
      { priority: "Low", finding: expect.stringContaining("update, takes 50.0 %"), advice: expect.any(String) },
    ]);
  });
});

describe("kernels", () => {
  test("are read from the table of a program, with how often they run", () => {
    const config = ppoSchema.parse({ nEnvs: 2, nSteps: 4, batchSize: 4, nEpochs: 3, netArch: [4] });
    const world = new CompiledWorld(environment("CartPole-v1"), { n: 2, steps: 4, seed: 1 });
    const algorithm = new Ppo(world, config, { totalSteps: 8, target: "js", threads: 1 });
    const text = algorithm.explain({ time: true });
    const kernels = kernelTimes(text);
    expect(text).toContain(`: ${kernels.length} kernels`);
    expect(kernels.map(({ place }) => place)).toEqual(kernels.map((_, k) => k + 1));
    expect(kernels.find(({ what }) => what === "call step CartPole-v1")).toMatchObject({ runs: 4, shape: "" });
    // Three epochs of two minibatches.
    expect(kernels.find(({ what }) => what === "matmul [4, 4] x [4, 2]")).toMatchObject({ runs: 6, shape: "[4, 2]" });
    expect(kernels.every(({ us }) => us >= 0)).toBe(true);
    algorithm.dispose();
  });
  test("are not found where there are no times", () => {
    expect(() => kernelTimes("ppo iteration on js: 2 kernels\n  1 copy   [8]   0.00   0.3")).toThrow(KernelTextError);
  });
});

describe("the report", () => {
  const report = profileReport(MEASURED);
  const titles = [
    "1. End-to-end timing",
    "2. Micro-benchmarks",
    "3. Crossings into compiled code",
    "4. Time per layer",
    "5. Bottlenecks",
    "6. Recommendations",
    "7. Summary",
  ];
  test("as Markdown has seven sections within 80 columns", () => {
    const text = profileMarkdown(report);
    expectPlain(text);
    expect(text.match(/^## .*$/gm)).toEqual(titles.map((title) => `## ${title}`));
    expect(text).toMatch(/^\| update +\| +24 \| +1,500 \| +50\.0 % \|$/m);
    expect(text).toMatch(/^\| one program \(counted\) +\| +1 \|$/m);
    expect(text).toContain("A processor, 2 cores");
    expect(text).toMatch(/GAE\n?.*\(129\)/);
  });
  test("has tables whose rows have as many cells as their heads", () => {
    const rows = profileMarkdown(report)
      .split("\n\n")
      .filter((part) => part.startsWith("|"))
      .map((part) => part.split("\n").map((line) => line.split("|").length));
    expect(rows.length).toBeGreaterThanOrEqual(6);
    for (const lengths of rows) expect(new Set(lengths).size, String(lengths)).toBe(1);
  });
  test("as a page has the same sections and a chart", () => {
    const page = profileHtml(report);
    for (const title of titles) expect(page).toContain(`<h2>${title}</h2>`);
    expect(page).toContain("<svg");
  });
  test("as plain data has the figures and what follows from them", () => {
    expect(profileJson(report)).toMatchObject({
      algo: "ppo",
      layers: [{ layer: "environment" }, {}, {}, {}, {}],
      calls: { whole: 1, split: 387 },
      recommendations: [{ priority: "Low" }],
    });
  });
  test("works without a whole program and without kernels", () => {
    const text = profileMarkdown(profileReport({ ...MEASURED, whole: null, kernels: null }));
    expect(text).not.toContain("one program");
    expect(text).not.toMatch(/NaN|undefined/);
  });
});

describe("measuring", () => {
  const small = { ...SMALL, envName: "CartPole-v1" };
  test("sees one crossing of a whole iteration, one per phase and step of a split one, and all the time", async () => {
    const measured = await measureProfile(small, { kernels: true, timing: FAST }, () => {});
    const { whole, split, phases, benchmarks, kernels } = measured;
    expect(whole?.crossings_per_iteration).toBe(1);
    expect(split.crossings_per_iteration).toBe(3 + 3 * 5);
    const tracked = Object.values(phases).reduce((sum, seconds) => sum + seconds, 0);
    expect(tracked).toBeCloseTo(split.train_s, 6);
    for (const one of [whole, split]) {
      expect((one?.init_s ?? 0) + (one?.train_s ?? 0) + (one?.other_s ?? 0)).toBeCloseTo(one?.wall_s ?? 0, 6);
    }
    expect(benchmarks.map(({ name }) => name.replace(/,.*/, ""))).toEqual([
      "VecEnv.step",
      "ReplayBuffer.push",
      "ReplayBuffer.pushBatch",
      "ReplayBuffer.sample",
      "gae",
      "tokenKl (k3)",
    ]);
    expect(benchmarks.every(({ median_us }) => median_us > 0)).toBe(true);
    expect(kernels?.length).toBeGreaterThan(10);
    expect(measured.settings).toMatchObject({ n_envs: 8, n_steps: 5, updates: 1, batch_size: 40, epochs: 1 });
  });
  test("of JavaScript objects has no whole program, and a file's name without its folder", async () => {
    const game = { ...SMALL, env: WALK, envName: "/somewhere/else/walk.ts" };
    const measured = await measureProfile(game, { kernels: false, timing: FAST }, () => {});
    expect(measured.whole).toBeNull();
    expect(measured.kernels).toBeNull();
    expect(measured.env).toBe("walk.ts");
    expect(profileMarkdown(profileReport(measured))).not.toContain("/somewhere");
  });
});

test("as a command writes the report and prints one document", async () => {
  const settings = ["nEnvs=4", "nSteps=5", "netArch=[8]"].flatMap((text) => ["--set", text]);
  const flags = ["--no-tuned", "--no-kernels", "--target", "js", "--steps", "200", "--out", "p", "--json"];
  const { code, out, err } = await lockstep(folder, "profile", "a2c", "CartPole-v1", ...settings, ...flags);
  expect(err).toContain(join("p", "profile.html"));
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ algo: "a2c", steps: 200, target: "js", calls: { whole: 1, split: 18 } });
  expect(readFileSync(join(folder, "p", "profile.md"), "utf8")).toContain("## 7. Summary");
  expect(existsSync(join(folder, "p", "profile.json"))).toBe(true);
  expect((await lockstep(folder, "profile", "a2c")).code).toBe(2);
});
