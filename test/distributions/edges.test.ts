/**
 * @file Distributions at their edges: certain and impossible choices, masks that differ, masks that allow nothing; and what
 * each takes for its most likely value.
 */
import { describe, expect, test } from "vitest";
import { bernoulli, categorical, gaussian, multiDiscrete, tanhGaussian } from "../../src/distributions/index.ts";
import { gradients, keyOf, type Outputs, program, type Tensor, table } from "../../src/tensor/index.ts";
import { TARGETS } from "../tensor/support.ts";

const INFINITY = Number.POSITIVE_INFINITY;

/** What a program without inputs gives. */
function found(build: () => Outputs, target: (typeof TARGETS)[number] = "js"): { readonly [name: string]: number[] } {
  const made = program("edges", build, { target, threads: 1, numerics: "unfused" });
  const outputs = Object.entries(made.run()).map(([name, array]) => [name, Array.from(array)]);
  made.dispose();
  return Object.fromEntries(outputs);
}
const numbers = (...values: number[]): Tensor => table(values, "f64");
const mask = (...values: number[]): Tensor => table(values, "bool");
const sloped = (of: Tensor, by: Tensor): Tensor => gradients(of, [by])[0] as Tensor;

describe("choices that are never made", () => {
  test("by a mask: the distance is infinite only from what allows more", () => {
    const logits = [1, 2, 0.5] as const;
    const { there, back, same, apart, slope } = found(() => {
      const x = numbers(...logits);
      const less = categorical(x, { mask: mask(1, 1, 0) });
      const whole = categorical(x);
      return {
        there: less.kl(whole),
        back: whole.kl(less),
        same: less.kl(categorical(x.mul(2), { mask: mask(1, 1, 0) })),
        apart: categorical(x, { mask: mask(1, 0, 0) }).kl(categorical(x, { mask: mask(0, 1, 0) })),
        slope: sloped(less.kl(whole), x),
      };
    });
    const [a, b] = [Math.exp(1), Math.exp(2)];
    expect(there?.[0]).toBeCloseTo(Math.log((a + b + Math.exp(0.5)) / (a + b)), 12);
    expect(back).toEqual([INFINITY]);
    expect(apart).toEqual([INFINITY]);
    expect(same?.[0]).toBeGreaterThan(0);
    expect(same?.[0]).toBeLessThan(1);
    expect(slope?.every(Number.isFinite)).toBe(true);
  });

  test("by a logit of minus infinity: entropies, distances and gradients are numbers", () => {
    const result = found(() => {
      const x = numbers(0, -INFINITY, Math.log(3));
      const it = categorical(x);
      const other = categorical(numbers(0, 0, 0));
      return {
        entropy: it.entropy(),
        kl: it.kl(other),
        own: it.kl(it),
        back: other.kl(it),
        byEntropy: sloped(it.entropy(), x),
        byKl: sloped(it.kl(other), x),
        mode: it.mode(),
      };
    });
    const entropy = -(0.25 * Math.log(0.25) + 0.75 * Math.log(0.75));
    expect(result.entropy?.[0]).toBeCloseTo(entropy, 12);
    expect(result.kl?.[0]).toBeCloseTo(Math.log(3) - entropy, 12);
    expect([result.own, result.back, result.mode]).toEqual([[0], [INFINITY], [2]]);
    expect([...(result.byEntropy ?? []), ...(result.byKl ?? [])].every(Number.isFinite)).toBe(true);
    expect(result.byEntropy?.[1]).toBe(0);
  });

  test("of yes and no", () => {
    const result = found(() => {
      const certain = numbers(-INFINITY, INFINITY);
      const it = bernoulli(certain);
      const open = bernoulli(numbers(0, 1));
      const each = (logits: Tensor, choice: number): Tensor =>
        bernoulli(logits.reshape([2, 1])).logProb(mask(choice, choice).reshape([2, 1]));
      return {
        entropy: it.entropy(),
        slope: sloped(it.entropy(), certain),
        own: it.kl(it),
        kl: it.kl(open),
        back: open.kl(it),
        no: each(certain, 0),
        yes: each(certain, 1),
      };
    });
    expect([result.entropy, result.own, result.back]).toEqual([[0], [0], [INFINITY]]);
    expect(result.slope).toEqual([0, 0]);
    expect(result.kl?.[0]).toBeCloseTo(Math.log(2) + Math.log(1 + Math.exp(-1)), 12);
    expect(result.no?.map((x) => x + 0)).toEqual([0, -INFINITY]);
    expect(result.yes?.map((x) => x + 0)).toEqual([-INFINITY, 0]);
  });

  test.each(TARGETS)("where nothing is allowed, the first one is taken: %s", (target) => {
    const result = found(() => {
      const none = categorical(table([3, 9, 1], "f32"), { mask: mask(0, 0, 0) });
      const impossible = categorical(table([-INFINITY, -INFINITY], "f32"));
      return {
        ...Object.fromEntries([1, 2, 3, 4].map((seed) => [`sample${seed}`, none.sample(keyOf(seed))])),
        mode: none.mode(),
        sampleOfImpossible: impossible.sample(keyOf(5)),
        modeOfImpossible: impossible.mode(),
      };
    }, target);
    expect(
      Object.values(result)
        .flat()
        .every((choice) => choice === 0),
    ).toBe(true);
  });
});

test("modes: what is most likely, or in the middle", () => {
  const result = found(() => {
    const [mean, logStd] = [numbers(0.5, -2), numbers(0, 1)];
    const [low, high] = [numbers(-1, 0), numbers(1, 10)];
    return {
      gaussian: gaussian(mean, logStd).mode(),
      tanh: tanhGaussian(mean, logStd).mode(),
      bounded: tanhGaussian(mean, logStd, { low, high }).mode(),
      bernoulli: bernoulli(numbers(-0.1, 0, 2)).mode(),
      multi: multiDiscrete(numbers(0, 1, 7, 5, 7), [2, 3]).mode(),
      masked: multiDiscrete(numbers(0, 1, 7, 5, 7), [2, 3], { mask: mask(1, 0, 0, 1, 0) }).mode(),
    };
  });
  expect(result.gaussian).toEqual([0.5, -2]);
  expect(result.tanh).toEqual([0.5, -2].map((x) => expect.closeTo(Math.tanh(x), 12)));
  expect(result.bounded).toEqual([expect.closeTo(Math.tanh(0.5), 12), expect.closeTo(5 * (1 + Math.tanh(-2)), 12)]);
  expect(result.bernoulli).toEqual([0, 0, 1]);
  expect(result.multi).toEqual([1, 0]);
  expect(result.masked).toEqual([0, 1]);
});

test("the entropy of a squashed Gaussian is told by samples: their mean is it", () => {
  const DRAWS = 4000;
  const { told, drawn } = found(() => {
    const mean = table(new Array<number>(DRAWS).fill(0.3), "f64").reshape([DRAWS, 1]);
    const it = tanhGaussian(mean, mean.mul(0).add(-0.5));
    return { told: it.entropy(keyOf(3)), drawn: it.draw(keyOf(3)).logProb.neg() };
  });
  expect(told).toEqual(drawn);
  // The integral of -p log p over -1 to 1, in the number before tanh.
  let entropy = 0;
  const deviation = Math.exp(-0.5);
  for (let u = -6; u < 7; u += 1e-3) {
    const density = Math.exp(-0.5 * ((u - 0.3) / deviation) ** 2) / (deviation * Math.sqrt(2 * Math.PI));
    entropy -= 1e-3 * density * (Math.log(density) - Math.log(1 - Math.tanh(u) ** 2));
  }
  const mean = (told as number[]).reduce((sum, x) => sum + x, 0) / DRAWS;
  expect(Math.abs(mean - entropy)).toBeLessThan(0.05);
});
