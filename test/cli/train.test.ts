/**
 * @file The commands that train, as a user meets them: their output, their errors, Ctrl-C, and what can be done with runs.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RunSummary } from "../../src/train/records.ts";
import { builtFirst, lockstep as inFolder, ownFolder, started } from "./command.ts";

const folder = ownFolder();
builtFirst();

/** Small enough for JavaScript. */
const SMALL = ["--target", "js", "--envs", "2", "--set", "nSteps=16", "--set", "batchSize=16", "--set", "netArch=[8]"];

async function lockstep(...args: string[]) {
  const { code: status, out: stdout, err: stderr } = await inFolder(folder, ...args);
  return { status, stdout, stderr };
}
const trained = async (...args: string[]): Promise<RunSummary> => {
  const { stdout, stderr } = await lockstep("train", "ppo", "CartPole-v1", "--no-tuned", ...SMALL, "--json", ...args);
  expect(stdout, stderr).not.toBe("");
  return JSON.parse(stdout);
};

describe("train", () => {
  test("--json gives one document, and leaves a run folder", async () => {
    const summary = await trained("--steps", "128", "--name", "first", "--seed", "7");
    expect(summary).toMatchObject({
      algo: "ppo",
      env: "CartPole-v1",
      seed: 7,
      target: "js",
      steps: 128,
      ended: "finished",
    });
    expect(summary).toMatchObject({ crossings: 4, run: join("runs", "first"), evaluation: { episodes: 10 } });
    expect(summary.parameters_sha256).toMatch(/^[0-9a-f]{64}$/);
    const file = (name: string): string => readFileSync(join(folder, "runs/first", name), "utf8");
    expect(JSON.parse(file("summary.json"))).toEqual(summary);
    expect(file("metrics.jsonl").trim().split("\n")).toHaveLength(5);
    expect(file("report.html")).toContain("CartPole-v1");
    expect(JSON.parse(file("config.json"))).toMatchObject({
      algo: "ppo",
      hyperparameters: { nSteps: 16, netArch: [8] },
    });
  });
  test("says where values come from, what happens, and what to do next", async () => {
    const { status, stdout } = await lockstep(
      "train",
      "ppo",
      "CartPole-v1",
      ...SMALL,
      "--steps",
      "64",
      "--name",
      "second",
    );
    expect(status).toBe(0);
    expect(stdout).toMatch(/^tuned for ppo on CartPole-v1:/);
    expect(stdout).toContain("--set:\n");
    expect(stdout).toMatch(/evaluation/);
    expect(stdout).toContain("watch it: lockstep enjoy runs/second");
  });
  test("--quiet says nothing, --no-save writes nothing", async () => {
    const args = ["train", "a2c", "CartPole-v1", "--no-tuned", "--target", "js", "--steps", "80"];
    expect(await lockstep(...args, "--quiet", "--no-save")).toEqual({ status: 0, stdout: "", stderr: "" });
  });
  test("trains on an environment of one's own", async () => {
    writeFileSync(
      join(folder, "walk.ts"),
      `import { box, defineEnv, discrete, i32 } from "lockstep";
      export const walk = defineEnv({
        id: "walk", params: { goal: 3 }, state: { x: i32 }, observation: box([1]), action: discrete(2), maxSteps: 20,
        reset(s) { s.x = 0; },
        step(s, action, { params }) {
          s.x = s.x + (action === 1 ? 1 : -1);
          return { reward: -1, terminated: Math.abs(s.x) >= params.goal };
        },
        observe(s, obs) { obs[0] = Math.fround(s.x); },
      });`,
    );
    const { status, stdout, stderr } = await lockstep(
      "train",
      "ppo",
      "walk.ts",
      ...SMALL,
      "--steps",
      "64",
      "--json",
      "--no-save",
    );
    expect(status, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ env: "walk.ts", steps: 64 });
  });
});

describe("wrong usage ends with code 2 and a hint", () => {
  const cases: readonly (readonly [args: string[], words: RegExp])[] = [
    [["train", "pppo", "CartPole-v1"], /no algorithm "pppo"\. Did you mean "ppo"\?/],
    [["train", "ppo", "CartPol-v1"], /Did you mean "CartPole-v1"\?/],
    [["train", "ppo", "CartPole-v1", "--set", "learning_rte=1"], /learning_?rte.*Did you mean "learning_rate"\?/],
    [["train", "ppo", "CartPole-v1", "--set", "nSteps=many"], /nSteps.*many/s],
    [["train", "ppo", "CartPole-v1", "--steps", "0"], /--steps/],
    [["train"], /say which algorithm/],
    [["trian"], /Did you mean train\?/],
    [["resume"], /missing required argument 'run'/],
  ];
  test.each(cases)("%j", async (args, words) => {
    const { status, stdout, stderr } = await lockstep(...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(words);
  });
  test("and what is not a run, or is one already, is said to be so", async () => {
    expect(await lockstep("resume", "nowhere")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("nowhere"),
    });
    await trained("--steps", "32", "--name", "taken");
    const again = await lockstep("train", "ppo", "CartPole-v1", ...SMALL, "--steps", "32", "--name", "taken");
    expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining("is not empty; resume the run in it") });
  });
});

describe("a run", () => {
  test("that is interrupted goes on to where it would have been", async () => {
    const whole = await trained("--steps", "3200", "--name", "whole", "--eval-every", "0");
    const args = ["train", "ppo", "CartPole-v1", "--no-tuned", ...SMALL, "--steps", "3200", "--name", "cut"];
    const cut = started(folder, ...args, "--eval-every", "0");
    let said = "";
    cut.child.stdout?.on("data", (text: string) => {
      // The first line of progress: iterations are under way.
      if (!/%/.test(said) && /%/.test(said + text)) cut.child.kill("SIGINT");
      said += text;
    });
    const { code, out } = await cut.ended;
    expect(code).toBe(0);
    expect(out).toContain("go on: lockstep resume runs/cut");
    const resumed = await lockstep("resume", "runs/cut", "--json");
    expect(resumed.status, resumed.stderr).toBe(0);
    const { parameters_sha256, steps, ended } = JSON.parse(resumed.stdout) as RunSummary;
    expect({ parameters_sha256, steps, ended }).toEqual({
      parameters_sha256: whole.parameters_sha256,
      steps: whole.steps,
      ended: "finished",
    });
  }, 120_000);
  test("is evaluated, and watched", async () => {
    await trained("--steps", "32", "--name", "done");
    const { stdout, status } = await lockstep("eval", "runs/done", "--episodes", "7", "--json");
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ episodes: 7 });
    expect((await lockstep("eval", "runs/done")).stdout).toMatch(/^return .*\nIQM /);
    const shown = await lockstep("enjoy", "runs/done", "--steps", "3");
    expect(shown.stdout).toMatch(/CartPole-v1 {2}episode 0 {2}step 3/);
    expect(await lockstep("eval", "runs/done", "--env", "Acrobot-v1")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("a policy for CartPole-v1 cannot act in Acrobot-v1"),
    });
  });
});
