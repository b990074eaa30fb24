/**
 * @file Training: the same bits wherever it runs, steps as single passes, schedules by the counted step, and learning.
 */
import { describe, expect, test } from "vitest";
import { categorical } from "../../src/distributions/index.ts";
import { crossEntropy, mlp, Parameters } from "../../src/nn/index.ts";
import { adam, cosineSchedule, linearSchedule, piecewiseSchedule, rmsprop, sgd } from "../../src/optim/index.ts";
import { constant, input, program, repeat, type TensorProgramOptions, table, where } from "../../src/tensor/index.ts";
import { permutation, randomKey, randomState, uniform } from "../../src/tensor/random.ts";
import { numbers, TARGETS } from "../tensor/support.ts";

/** Parameters and moments after 100 steps of Adam, two networks in one arena. */
function trained(options: TensorProgramOptions): number[] {
  const parameters = new Parameters({ seed: 7 });
  const shared = { inputs: 4, hidden: [32, 32], parameters };
  const actor = mlp({ ...shared, outputs: 3, name: "actor", headGain: 0.01 });
  const critic = mlp({ ...shared, outputs: 1, name: "critic" });
  const random = randomState(3);
  const made = program(
    "hundred",
    () => {
      const x = input("x", "f32", [48, 4]);
      repeat(100, () => {
        const rows = x.gather(permutation(randomKey(random), 48).slice(0, 0, 24));
        const policy = categorical(actor.apply(rows));
        const action = policy.sample(randomKey(random));
        const value = critic.apply(rows).reshape([24]);
        const reward = action.eq(1).to("f32").add(rows.at(1, 0));
        const advantage = reward.sub(value).stopGradient();
        const gain = policy.logProb(action).mul(advantage).add(policy.entropy().mul(0.01)).mean();
        const loss = value.sub(reward).square().mean().sub(gain);
        adam(parameters, parameters.gradients(loss), { learningRate: 0.01, epsilon: 1e-5, clip: 0.5 });
      });
      return { now: parameters.flat };
    },
    options,
  );
  made.run({ x: numbers(48 * 4, 5) });
  const moments = [...parameters.slots.values()].flatMap(({ array }) => Array.from(array));
  const found = [...made.outputs.now, ...moments];
  made.dispose();
  parameters.dispose();
  return found;
}

describe("100 steps of Adam give the same bits", () => {
  const wanted = trained({ target: "js", numerics: "unfused" });
  test("and all of them are numbers", () => expect(wanted.every(Number.isFinite)).toBe(true));
  const modes: TensorProgramOptions[] = TARGETS.flatMap((target) => [
    { target, numerics: "unfused" as const, threads: 1 },
    { target, numerics: "unfused" as const, threads: 2 },
  ]);
  modes.push({ target: "js", numerics: "unfused", eager: true });
  for (const mode of modes) test(JSON.stringify(mode), () => expect(trained(mode)).toEqual(wanted));
  test.skipIf(!TARGETS.includes("native"))("with fused numerics, native and wasm, whatever the threads", () => {
    const fused = trained({ target: "wasm", numerics: "fused", threads: 1 });
    expect(fused).not.toEqual(wanted);
    for (const threads of [1, 2]) {
      expect(trained({ target: "native", numerics: "fused", threads })).toEqual(fused);
      expect(trained({ target: "wasm", numerics: "fused", threads })).toEqual(fused);
    }
  });
});

test("an optimiser is one pass over the arena", () => {
  const net = mlp({ inputs: 3, hidden: [8], outputs: 2 });
  const made = program(
    "pass",
    () => {
      const loss = net
        .apply(input("x", "f32", [5, 3]))
        .square()
        .mean();
      adam(net.parameters, net.parameters.gradients(loss), { learningRate: 1e-3, clip: 0.5 });
      return { loss };
    },
    { target: "js" },
  );
  const stores = made.steps.flatMap((step) => (step.kind === "map" ? [step.stores.flat()] : []));
  const passes = stores.filter((all) => all.some(({ node }) => `${node.shape}` === `${net.parameters.size}`));
  expect(passes.map((all) => all.length)).toEqual([3]);
});

describe("the learning rate", () => {
  test("follows the counted steps, across programs", () => {
    const set = new Parameters({ dtype: "f64" });
    set.declare("w", [1], (values) => values.fill(0));
    const schedule = piecewiseSchedule([
      { since: 0, value: linearSchedule({ from: 1, to: 0.5, steps: 2 }) },
      { since: 3, value: cosineSchedule({ from: 0.5, steps: 4 }) },
    ]);
    const step = () =>
      program("step", () => {
        const { learningRate } = sgd(set, set.gradients(set.value("w").sum()), { learningRate: schedule });
        return { learningRate };
      });
    const [a, b] = [step(), step()];
    const rates = [a, b, a, b, b, a, b, a].map((made) => made.run().learningRate[0] as number);
    const wanted = [1, 0.75, 0.5, 0.5, 0.5 * 0.5 * (1 + Math.SQRT1_2), 0.25, 0.25 * (1 - Math.SQRT1_2), 0];
    for (const [k, rate] of rates.entries()) expect(rate).toBeCloseTo(wanted[k] as number, 12);
    expect(set.array("w")[0]).toBeCloseTo(-wanted.reduce((x, y) => x + y), 12);
  });
  test("may be an input", () => {
    const set = new Parameters();
    set.declare("w", [2], (values) => values.fill(1));
    const made = program("input", () => {
      rmsprop(set, set.gradients(set.value("w").sum()), { learningRate: input("rate", "f32", []) });
      return { w: set.flat };
    });
    expect(Array.from(made.run({ rate: 0 }).w)).toEqual([1, 1]);
    expect(made.run({ rate: 0.1 }).w[0]).toBeLessThan(1);
  });
});

test("a gradient of another shape is refused", () => {
  const net = mlp({ inputs: 2, hidden: [], outputs: 1 });
  const wrong = () =>
    program("wrong", () => {
      const { learningRate } = adam(net.parameters, constant(0, "f32", [2]), { learningRate: 1 });
      return { learningRate };
    });
  expect(wrong).toThrow("adam: the gradient is f32 [2], it must be f32 [3]");
});

describe("a small network learns two spirals", () => {
  for (const target of TARGETS.filter((name) => name !== "js"))
    test(target, () => {
      const net = mlp({ inputs: 2, hidden: [32, 32], outputs: 2, activation: "relu", seed: 2 });
      const random = randomState(1);
      const made = program(
        "spirals",
        () => {
          repeat(2000, () => {
            const t = uniform(randomKey(random), [64], 0.3, 2);
            const label = table(
              Array.from({ length: 64 }, (_, k) => k % 2),
              "i32",
            );
            const turn = t.mul(Math.PI).add(where(label.eq(1), constant(Math.PI), 0));
            const x = turn.cos().mul(t).unsqueeze(-1);
            const y = turn.sin().mul(t).unsqueeze(-1);
            const points = x
              .expand([64, 2])
              .mul(table([1, 0]))
              .add(y.expand([64, 2]).mul(table([0, 1])));
            const loss = crossEntropy(net.apply(points), label).mean();
            const learningRate = cosineSchedule({ from: 0.01, steps: 2000 });
            adam(net.parameters, net.parameters.gradients(loss), { learningRate });
          });
          return { logits: net.apply(input("points", "f32", [200, 2])) };
        },
        { target },
      );
      const at = (k: number) => 0.3 + (1.7 * (k >> 1)) / 100;
      const points = Array.from({ length: 200 }, (_, k) => {
        const turn = Math.PI * (at(k) + (k & 1));
        return [at(k) * Math.cos(turn), at(k) * Math.sin(turn)];
      }).flat();
      const { logits } = made.run({ points });
      let right = 0;
      for (let k = 0; k < 200; k++)
        if ((logits[2 * k + 1] as number) > (logits[2 * k] as number) === ((k & 1) === 1)) right++;
      made.dispose();
      expect(right).toBeGreaterThan(190);
    });
});
