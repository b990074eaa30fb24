import { describe, expect, test } from "vitest";
import { interquartileMean, mean, normaliseScore, StatisticsError } from "../../src/stats/index.ts";
import { compareRuns as compareAll } from "../../src/train/compare.ts";
import { comparisonFiles, comparisonTable } from "../../src/train/comparePage.ts";
import type { RunData } from "../../src/train/runFiles.ts";
import { textFaults, xmlFault } from "../charts/support.ts";
import { madeUp, STEPS } from "./runs.ts";

const SEEDS = [1, 2, 3, 4, 5];
/** Seeds of one method, whose returns differ by their seeds. */
const seedsOf = (algo: string, env: string, slope: number, offset = 0) =>
  SEEDS.map((seed) => madeUp({ algo, env, seed, returns: (k) => offset + slope * (k + seed) }));

const two = [...seedsOf("ppo", "CartPole-v1", 18), ...seedsOf("a2c", "CartPole-v1", 10)];
/** With few resamples: for what does not depend on them. */
const compareRuns = (runs: readonly RunData[]) => compareAll(runs, { resamples: 50 });
const comparisonOfTwo = compareAll(two);
const groupsOf = (comparison: ReturnType<typeof compareRuns>) =>
  comparison.environments.flatMap(({ groups }) => groups);

describe("comparing runs", () => {
  test("takes those of one algorithm, environment and label together", () => {
    const labelled = madeUp({ label: "wide" });
    const comparison = compareRuns([...two, labelled, madeUp({ env: "Pendulum-v1", returns: (k) => k - 500 })]);
    expect(groupsOf(comparison).map(({ method, env, seeds }) => [method, env, seeds.length])).toEqual([
      ["ppo", "CartPole-v1", 5],
      ["a2c", "CartPole-v1", 5],
      ["ppo wide", "CartPole-v1", 1],
      ["ppo", "Pendulum-v1", 1],
    ]);
    expect(comparison.methods).toEqual(["ppo", "a2c", "ppo wide"]);
    expect(comparison.runs).toBe(12);
  });

  test("gives final returns as interquartile means with intervals", () => {
    const [ppo] = groupsOf(comparisonOfTwo);
    const finals = SEEDS.map((seed) => 18 * (20 + seed));
    expect(ppo?.finals).toEqual(finals);
    expect(ppo?.final?.value).toBe(interquartileMean(finals));
    const [low, high] = ppo?.final?.ci ?? [0, 0];
    expect(low).toBeGreaterThanOrEqual(Math.min(...finals));
    expect(low).toBeLessThan(ppo?.final?.value ?? 0);
    expect(high).toBeGreaterThan(ppo?.final?.value ?? 0);
    expect(ppo?.stepsPerSecond?.value).toBe(mean(SEEDS.map((seed) => 250_000 + seed)));
  });

  test("brings curves to 200 common points", () => {
    const [ppo] = groupsOf(comparisonOfTwo);
    const { steps = [], mean: middle = [], low = [], high = [] } = ppo?.curve ?? {};
    expect([steps.length, steps[0], steps.at(-1)]).toEqual([200, STEPS, 20 * STEPS]);
    steps.forEach((at, k) => {
      expect(middle[k]).toBeCloseTo(18 * (at / STEPS + mean(SEEDS)), 8);
      expect(low[k]).toBeLessThan(middle[k] as number);
      expect(high[k]).toBeGreaterThan(middle[k] as number);
    });
  });

  test("puts methods on one scale, and tells how likely one is better", () => {
    const { overall, improvements, notes } = comparisonOfTwo;
    expect(overall?.envs).toEqual(["CartPole-v1"]);
    expect(overall?.taus.length).toBe(200);
    const scores = SEEDS.map((seed) => normaliseScore(18 * (20 + seed), "CartPole-v1"));
    const [ppo, a2c] = overall?.profiles ?? [];
    expect(ppo?.mean[0]).toBe(1);
    expect(ppo?.mean.at(-1)).toBe(0);
    expect(overall?.aggregates[0]?.point.iqm).toBeCloseTo(interquartileMean(scores), 12);
    const better = (ppo?.mean ?? []).every((share, k) => share >= (a2c?.mean[k] ?? 2));
    expect(better).toBe(true);
    expect(improvements).toEqual([{ method: "ppo", over: "a2c", envs: ["CartPole-v1"], probability: 1, ci: [1, 1] }]);
    expect(notes).toEqual([]);
  });

  test("is the same every time", () => {
    expect(compareAll(two)).toEqual(comparisonOfTwo);
    expect(comparisonFiles(compareRuns(two))).toEqual(comparisonFiles(compareRuns(two)));
  });

  test("needs runs", () => {
    expect(() => compareRuns([])).toThrow(StatisticsError);
  });
});

describe("what could mislead is said", () => {
  const notesOf = (...runs: ReturnType<typeof madeUp>[]): string => compareRuns(runs).notes.join("\n");

  test("one run", () => {
    const comparison = compareRuns([madeUp()]);
    expect(groupsOf(comparison)[0]?.final).toEqual({ value: 400, ci: null });
    expect(comparison.improvements).toEqual([]);
    expect(comparison.notes.join()).toMatch(/ppo on CartPole-v1: one run only/);
    const files = comparisonFiles(comparison);
    expect(files.get("curves-CartPole-v1.svg")).not.toContain("fill-opacity");
    expect(files.has("improvement.svg")).toBe(false);
  });

  test("runs of different length: curves end with the shortest", () => {
    const runs = [madeUp({ seed: 1 }), madeUp({ seed: 2, iterations: 8, finished: false })];
    expect(groupsOf(compareRuns(runs))[0]?.curve?.steps.at(-1)).toBe(8 * STEPS);
    expect(notesOf(...runs)).toMatch(/from 8000 to 20000 steps/);
    expect(notesOf(...runs)).toMatch(/final returns are of the final evaluation and the last evaluations/);
  });

  test("the same seed twice, and settings that differ", () => {
    expect(notesOf(madeUp(), madeUp())).toMatch(/same seed/);
    const differing = [
      madeUp({ config: { hyperparameters: { gamma: 0.9 }, target: "js" } }),
      madeUp({ seed: 2, config: { hyperparameters: { gamma: 0.99 }, target: "wasm" } }),
    ];
    expect(notesOf(...differing)).toMatch(/runs differ in gamma and are taken as one/);
  });

  test("runs without evaluations: episodes of training take their place", () => {
    const runs = SEEDS.map((seed) => madeUp({ seed, evaluated: false }));
    const [environment] = compareRuns(runs).environments;
    expect(environment?.measure).toBe("training");
    expect(environment?.groups[0]?.finals[0]).toBe(mean([19 * 20, 20 * 20]));
    expect(notesOf(...runs)).toMatch(/final returns are of the last episodes/);
  });

  test("runs without any return", () => {
    const bare = madeUp({ iterations: 0, evaluated: false, finished: false });
    const comparison = compareRuns([bare, madeUp({ algo: "a2c" })]);
    expect(groupsOf(comparison)[0]).toMatchObject({ final: null, curve: null, stepsPerSecond: null });
    expect(comparison.overall).toBeNull();
    expect(comparison.notes.join()).toMatch(/ppo on CartPole-v1: no run has a return yet/);
    expect(comparisonFiles(comparison).get("final-CartPole-v1.svg")).toBeDefined();
  });

  test("environments without a baseline, and such that not all have run", () => {
    const mine = [madeUp({ env: "MyGame" }), madeUp({ env: "MyGame", algo: "a2c" })];
    expect(compareRuns(mine)).toMatchObject({ overall: null, improvements: [{ probability: 0.5, envs: ["MyGame"] }] });
    expect(notesOf(...mine)).toMatch(/no performance profile/);
    const partly = [...two, ...seedsOf("ppo", "Pendulum-v1", 1, -400)];
    expect(compareRuns(partly).overall?.envs).toEqual(["CartPole-v1"]);
    expect(notesOf(...partly)).toMatch(/left out of the performance profile: Pendulum-v1/);
    const apart = [madeUp(), madeUp({ algo: "a2c", env: "Pendulum-v1", returns: (k) => -1000 + k })];
    expect(compareRuns(apart)).toMatchObject({ overall: null, improvements: [] });
  });
});

describe("the files of a comparison", () => {
  const several = [...two, ...seedsOf("ppo", "Pendulum-v1", 10, -500), ...seedsOf("a2c", "Pendulum-v1", 5, -600)];

  test("are charts, a page and a table", () => {
    const files = comparisonFiles(compareRuns(several));
    expect([...files.keys()]).toEqual([
      "curves-CartPole-v1.svg",
      "final-CartPole-v1.svg",
      "curves-Pendulum-v1.svg",
      "final-Pendulum-v1.svg",
      "profile.svg",
      "improvement.svg",
      "speed.svg",
      "comparison.html",
      "comparison.txt",
    ]);
    for (const [name, content] of files) {
      if (!name.endsWith(".svg")) continue;
      expect([name, xmlFault(content), textFaults(content)]).toEqual([name, "", []]);
    }
    const html = files.get("comparison.html") ?? "";
    expect(html.match(/<svg/g)).toHaveLength(7);
    expect(html.replaceAll('xmlns="http://www.w3.org/2000/svg"', "")).not.toMatch(/https?:|<script|<link|url\(/);
  });

  test("have names that are safe and their own", () => {
    const envs = ["../../etc/passwd", "a b", "a/b", "..", '"><script>', "x".repeat(20)];
    const files = comparisonFiles(compareRuns(envs.map((env) => madeUp({ env }))));
    for (const name of files.keys()) expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9.-]*\.(svg|html|txt)$/);
    expect(files.size).toBe(2 * envs.length + 1 + 2);
    expect(files.get("comparison.html")).not.toContain("<script");
  });

  test("the table fits 80 columns", () => {
    const long = "a label that is much too long to stand in a table of eighty columns";
    const runs = [...several, madeUp({ label: long, env: `games/${long}.ts`, returns: (k) => -123_456.789 * k })];
    const text = comparisonTable(compareRuns(runs));
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    expect(text).toMatch(/^environment +method +runs +steps +final return +steps\/s$/m);
    expect(text).toMatch(/^CartPole-v1 +ppo +5 +20k +414 \[\S+ \S+\] +250k$/m);
    expect(text).toContain("…");
    expect(comparisonTable(compareRuns([madeUp({ env: "a\u001b[2J\nb" })]))).toMatch(/^a \[2J b +ppo/m);
  });
});
