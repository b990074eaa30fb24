/**
 * @file Callbacks: what they are told, how they end a run, what they remember; and the signs that a run goes wrong.
 */
import { describe, expect, test } from "vitest";
import type { Callback, IterationContext, Metrics } from "../../src/train/index.ts";
import {
  diagnostics,
  earlyStopping,
  resume,
  rewardThreshold,
  type TrainOptions,
  timing,
  train,
} from "../../src/train/index.ts";
import { Listener, newPath, SMALL } from "./support.ts";

const run = (options: Partial<TrainOptions>) => train({ ...SMALL, ...options } as TrainOptions);

describe("in a run", () => {
  test("are told everything in order, and may wait", async () => {
    const told: string[] = [];
    const tell = (what: string) => async (): Promise<undefined> => {
      await Promise.resolve();
      told.push(what);
    };
    const callback: Callback = {
      onStart: tell("start"),
      onIteration: tell("iteration"),
      onEvaluation: tell("evaluation"),
      onCheckpoint: tell("checkpoint"),
      onEnd: tell("end"),
    };
    await run({ steps: 80, folder: newPath(), callbacks: [callback], evalEvery: 80 });
    expect(told).toEqual(["start", "iteration", "iteration", "evaluation", "checkpoint", "end"]);
  });
  test("end it, with an evaluation and a checkpoint", async () => {
    const folder = newPath();
    const listener = new Listener();
    const stop: Callback = { name: "enough", onIteration: ({ iteration }) => (iteration === 3 ? "stop" : undefined) };
    const summary = await run({ folder, callbacks: [stop], loggers: [listener] });
    expect(summary).toMatchObject({ ended: "stopped", iterations: 3, evaluation: { episodes: 2 } });
    expect(listener.notices).toEqual(["the run is ended: enough asked for it"]);
    expect(await resume(folder, { report: false })).toMatchObject({ ended: "finished", iterations: 10 });
  });
  test("ask for checkpoints, and act with the policy", async () => {
    const seen: number[] = [];
    const callback: Callback = {
      onIteration({ iteration, policy, checkpoint }) {
        seen.push(policy.act([0, 0, 0, 0]) as number);
        if (iteration === 1) checkpoint();
      },
      onCheckpoint({ steps, path }) {
        expect(path).toMatch(/\.safetensors$/);
        seen.push(steps);
      },
    };
    await run({ steps: 80, folder: newPath(), callbacks: [callback], evalEpisodes: 0 });
    expect(seen.map((x) => (x > 1 ? x : "action"))).toEqual(["action", 40, "action", 80]);
  });
  test("of one name may remember only once", async () => {
    await expect(run({ callbacks: [diagnostics(), diagnostics()] })).rejects.toThrow(
      'two callbacks are called "diagnostics"',
    );
  });
});

describe("ready ones", () => {
  test("a threshold ends a run", async () => {
    const summary = await run({ callbacks: [rewardThreshold(1)], evalEvery: 40 });
    expect(summary).toMatchObject({ ended: "stopped", iterations: 1 });
  });
  test("early stopping counts on after a resume", async () => {
    const folder = newPath();
    // No evaluation can be this much better than the one before.
    const options = { evalEvery: 40, callbacks: [earlyStopping({ patience: 4, minDelta: 1e6 })] };
    const wanted = await run(options);
    expect(wanted).toMatchObject({ ended: "stopped", iterations: 5 });
    const controller = new AbortController();
    const abort: Callback = {
      onIteration({ iteration }) {
        if (iteration === 3) controller.abort();
      },
    };
    const first = earlyStopping({ patience: 4, minDelta: 1e6 });
    await run({ ...options, folder, signal: controller.signal, callbacks: [first, abort] });
    const again = earlyStopping({ patience: 4, minDelta: 1e6 });
    expect(await resume(folder, { callbacks: [again], report: false })).toMatchObject({
      ended: "stopped",
      iterations: 5,
    });
  });
  test("timing sums the phases up", async () => {
    const clock = timing();
    const listener = new Listener();
    const summary = await run({ split: true, steps: 80, evalEpisodes: 0, callbacks: [clock], loggers: [listener] });
    const total = Object.values(clock.seconds).reduce((sum, x) => sum + x, 0);
    expect(total).toBeGreaterThan(0);
    expect(total).toBeLessThanOrEqual(summary.train_s);
    expect(listener.notices[0]).toMatch(/^time in policy .* %, environment .* %, gae .* %, update .* %, other .* %$/);
  });
});

describe("diagnostics", () => {
  const fine: Metrics = { entropy: 0.7, approx_kl: 0.01, grad_norm: 1, explained_variance: 0.5 };
  /** What is said about some iterations. */
  function saidOf(metrics: readonly Metrics[], callback = diagnostics()): string[] {
    const notices: string[] = [];
    metrics.forEach((one, k) => {
      const record = {
        kind: "iteration",
        iteration: k + 1,
        steps: 10 * (k + 1),
        wall_s: 1,
        metrics: { ...fine, ...one },
      };
      const info = { config: { hyperparameters: { targetKl: null, maxGradNorm: 0.5 } } };
      const context = { info, record, notice: (text: string) => notices.push(text) };
      callback.onIteration?.(context as unknown as IterationContext);
    });
    return notices;
  }
  const SIGNS: { readonly [name: string]: [Metrics, RegExp] } = {
    "an entropy that collapses": [{ entropy: 0.06 }, /^step 20: the entropy fell from 0\.7 to 0\.06.*raise entCoef/],
    "a policy that jumps": [{ approx_kl: 0.3 }, /divergence 0\.3, wanted about 0\.02.*lower learningRate/],
    "a gradient that explodes": [{ grad_norm: 51 }, /norm is 51, clipped to 0\.5/],
    "values that explain nothing": [{ explained_variance: -1.5 }, /worse than a constant would \(-1\.5\)/],
  };
  test.each(Object.entries(SIGNS))("tell of %s, once", (_, [metrics, text]) => {
    const said = saidOf([{}, metrics, metrics]);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(text);
  });
  test("say nothing about what is fine or not there", () => {
    expect(saidOf([{}, { explained_variance: Number.NaN, approx_kl: Number.NaN }])).toEqual([]);
    // Continuous actions: entropies may be negative.
    expect(saidOf([{ entropy: -1 }, { entropy: -3 }])).toEqual([]);
  });
  test("remember what they said", () => {
    const first = diagnostics();
    saidOf([{}, { grad_norm: 100 }], first);
    const second = diagnostics();
    second.load?.(first.save?.());
    expect(saidOf([{ entropy: 0.01, grad_norm: 100 }], second)).toEqual([
      expect.stringContaining("the entropy fell from 0.7"),
    ]);
    for (const strange of [null, 1, "x", { firstEntropy: "x", told: 5 }]) second.load?.(strange);
  });
});
