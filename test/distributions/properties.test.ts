/**
 * @file What holds for distributions of any parameters: probabilities add up, distances are not negative, entropies are
 * those of samples, and samples have the frequencies they should have.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bernoulli, beta, categorical, gaussian, multiDiscrete, tanhGaussian } from "../../src/distributions/index.ts";
import { input, iota, program, type Tensor, table } from "../../src/tensor/index.ts";
import { keyOf } from "../../src/tensor/random.ts";
import { chiSquareDeviation, kolmogorovSmirnov, moments, normalCdf } from "../random/statistics.ts";
import { TARGETS } from "../tensor/support.ts";

const COUNT = 5;
const finite = (size: number) => fc.double({ min: -size, max: size, noNaN: true });
const many = (size: number) => fc.array(finite(size), { minLength: COUNT, maxLength: COUNT });

describe("categorical", () => {
  const made = program(
    "categorical",
    () => {
      const mask = input("mask", "bool", [COUNT]);
      const it = categorical(input("a", "f64", [COUNT]), { mask });
      const other = categorical(input("b", "f64", [COUNT]), { mask });
      const each = categorical(input("a", "f64", [COUNT]).unsqueeze(0).expand([COUNT, COUNT]), {
        mask: mask.unsqueeze(0).expand([COUNT, COUNT]),
      });
      return {
        probs: it.probs,
        sum: it.probs.sum(),
        logProbs: each.logProb(iota(COUNT)),
        kl: it.kl(other),
        own: it.kl(it),
        entropy: it.entropy(),
        mode: it.mode(),
      };
    },
    { target: "js" },
  );
  const masks = fc.array(fc.boolean(), { minLength: COUNT, maxLength: COUNT }).filter((mask) => mask.some(Boolean));
  test("probabilities add up to 1, forbidden ones are 0, distances are not negative", () => {
    fc.assert(
      fc.property(many(30), many(30), masks, (a, b, mask) => {
        const found = made.run({ a, b, mask: mask.map(Number) });
        expect(found.sum[0]).toBeCloseTo(1, 12);
        expect(found.kl[0]).toBeGreaterThanOrEqual(-1e-12);
        expect(found.own[0]).toBe(0);
        const allowed = mask.filter(Boolean).length;
        expect(found.entropy[0]).toBeGreaterThanOrEqual(-1e-12);
        expect(found.entropy[0]).toBeLessThanOrEqual(Math.log(allowed) + 1e-12);
        for (const [k, isAllowed] of mask.entries()) {
          if (!isAllowed) expect([found.probs[k], found.logProbs[k]]).toEqual([0, Number.NEGATIVE_INFINITY]);
          else expect(Math.exp(found.logProbs[k] as number)).toBeCloseTo(found.probs[k] as number, 12);
        }
        expect(mask[found.mode[0] as number]).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

describe("distances are not negative, and 0 from oneself", () => {
  const made = program(
    "distances",
    () => {
      const [a, b] = ["a", "b"].map((name) => input(name, "f64", [2 * COUNT])) as [Tensor, Tensor];
      const parts = (x: Tensor): [Tensor, Tensor] => [x.slice(0, 0, COUNT), x.slice(0, COUNT, 2 * COUNT)];
      const kinds = {
        gaussian: [gaussian(...parts(a)).kl(gaussian(...parts(b))), gaussian(...parts(a)).kl(gaussian(...parts(a)))],
        bernoulli: [bernoulli(a).kl(bernoulli(b)), bernoulli(a).kl(bernoulli(a))],
        multi: [
          multiDiscrete(a, [3, 7]).kl(multiDiscrete(b, [3, 7])),
          multiDiscrete(a, [3, 7]).kl(multiDiscrete(a, [3, 7])),
        ],
        tanh: [
          tanhGaussian(...parts(a)).kl(tanhGaussian(...parts(b))),
          tanhGaussian(...parts(a)).kl(tanhGaussian(...parts(a))),
        ],
      };
      return Object.fromEntries(
        Object.entries(kinds).flatMap(([name, [x, own]]) => [
          [name, x as Tensor],
          [`${name}Own`, own as Tensor],
        ]),
      );
    },
    { target: "js" },
  );
  test("for all kinds", () => {
    const values = fc.array(finite(4), { minLength: 2 * COUNT, maxLength: 2 * COUNT });
    fc.assert(
      fc.property(values, values, (a, b) => {
        const found = made.run({ a, b }) as { readonly [name: string]: Float64Array };
        for (const [name, [value]] of Object.entries(found)) {
          if (name.endsWith("Own")) expect(Math.abs(value as number)).toBeLessThan(1e-12);
          else expect(value).toBeGreaterThan(-1e-10);
        }
      }),
      { numRuns: 200 },
    );
  });
});

/** The integral of exp(logDensity), by the middles of many cells. */
function integral(density: (x: Tensor) => Tensor, from: number, to: number, cells = 4000): number {
  const width = (to - from) / cells;
  const made = program(
    "integral",
    () => {
      const x = iota(cells).to("f64").add(0.5).mul(width).add(from);
      return { sum: density(x.unsqueeze(-1)).exp().sum().mul(width) };
    },
    { target: "js" },
  );
  return made.run().sum[0] as number;
}
const number = (value: number, like: Tensor): Tensor => like.mul(0).add(value);

describe("densities integrate to 1", () => {
  test("Gaussian", () => {
    const found = integral((x) => gaussian(number(0.7, x), number(-0.4, x)).logProb(x), -8, 9);
    expect(found).toBeCloseTo(1, 9);
  });
  test.each(["stable", 1e-6] as const)("tanh of a Gaussian (%s)", (correction) => {
    const density = (x: Tensor) => tanhGaussian(number(0.3, x), number(-0.5, x), { correction }).logProb(x);
    expect(integral(density, -1, 1)).toBeCloseTo(1, 4);
  });
  test("tanh of a Gaussian between bounds", () => {
    const density = (x: Tensor) => tanhGaussian(number(0.3, x), number(-0.5, x), { low: -3, high: 5 }).logProb(x);
    expect(integral(density, -3, 5)).toBeCloseTo(1, 6);
  });
});

const DRAWS = 20_000;
/** All samples of a program, as plain numbers. */
function drawn(target: (typeof TARGETS)[number], build: () => { readonly [name: string]: Tensor }) {
  const made = program("samples", build, { target });
  const found = made.run() as { readonly [name: string]: ArrayLike<number> };
  const copies = Object.entries(found).map(([name, values]) => [name, Float64Array.from(values)]);
  made.dispose();
  return Object.fromEntries(copies) as { readonly [name: string]: Float64Array };
}
const countsOf = (values: Float64Array, kinds: number): number[] =>
  Array.from({ length: kinds }, (_, k) => values.filter((x) => x === k).length);

describe("samples have the frequencies they should have", () => {
  for (const target of TARGETS) {
    test(`choices: ${target}`, () => {
      const weights = [0.5, 0, 0.125, 0.25, 0.125];
      const logits = (like: Tensor): Tensor => like.to("f32").unsqueeze(-1).mul(0).add(logTable());
      const logTable = (): Tensor => weightTable(weights);
      const found = drawn(target, () => {
        const rows = iota(DRAWS);
        const mask = weightTable([1, 0, 1, 1, 1].map((x) => Math.exp(x)))
          .gt(0.5)
          .expand([DRAWS, 5]);
        const masked = categorical(logits(rows).mul(0), { mask });
        const several = multiDiscrete(logits(rows).slice(-1, 2, 5), [2, 1]);
        return {
          plain: categorical(logits(rows)).sample(keyOf(1)),
          masked: masked.sample(keyOf(2)),
          several: several.sample(keyOf(3)),
          coin: bernoulli(rows.to("f32").mul(0).add(Math.log(3)).unsqueeze(-1)).sample(keyOf(4)),
        };
      });
      const fits = (values: Float64Array, shares: readonly number[]): void => {
        const freedom = shares.filter((share) => share > 0).length - 1;
        const counts = countsOf(values, shares.length);
        expect(counts.reduce((a, b) => a + b)).toBe(DRAWS);
        expect(Math.abs(chiSquareDeviation(counts, (k) => (shares[k] as number) * DRAWS, freedom))).toBeLessThan(3.5);
      };
      fits(found.plain as Float64Array, weights);
      fits(found.masked as Float64Array, [0.25, 0, 0.25, 0.25, 0.25]);
      fits(
        (found.several as Float64Array).filter((_, k) => k % 2 === 0),
        [1 / 3, 2 / 3],
      );
      expect((found.several as Float64Array).filter((_, k) => k % 2 === 1).every((x) => x === 0)).toBe(true);
      fits(found.coin as Float64Array, [0.25, 0.75]);
    });

    test(`numbers: ${target}`, () => {
      const found = drawn(target, () => {
        const mean = iota(DRAWS).to("f32").mul(0).add(0.5).unsqueeze(-1);
        const logStd = mean.mul(0).add(Math.log(0.8));
        const squashed = tanhGaussian(mean, logStd);
        const { latent, value, logProb } = squashed.draw(keyOf(6));
        const plain = gaussian(mean, logStd);
        return {
          plain: plain.sample(keyOf(5)),
          latent,
          value,
          minusLog: logProb.neg(),
          byValue: squashed.logProb(value).neg(),
          gaussianLog: plain.logProb(plain.sample(keyOf(7))).neg(),
          gaussianEntropy: plain.entropy(),
        };
      });
      const cdf = (x: number): number => normalCdf((x - 0.5) / 0.8);
      expect(kolmogorovSmirnov(found.plain as Float64Array, cdf)).toBeLessThan(1.95);
      expect(kolmogorovSmirnov(found.value as Float64Array, (x) => cdf(Math.atanh(x)))).toBeLessThan(1.95);
      const [byLatent, byValue] = [moments(found.minusLog as Float64Array), moments(found.byValue as Float64Array)];
      expect(byValue.mean).toBeCloseTo(byLatent.mean, 3);
      // Entropy: that of the Gaussian plus the mean of log(1 - tanh(u)^2), which samples tell to about 0.01.
      const { mean, variance } = moments(found.gaussianLog as Float64Array);
      expect(Math.abs(mean - (found.gaussianEntropy?.[0] as number))).toBeLessThan(4 * Math.sqrt(variance / DRAWS));
      const slopes = (found.latent as Float64Array).map((u) => Math.log(1 - Math.tanh(u) ** 2));
      const squeezed = (found.gaussianEntropy?.[0] as number) + moments(slopes).mean;
      expect(byLatent.mean).toBeCloseTo(squeezed, 1);
    });
  }
});

describe("beta", () => {
  // One sample in a hundred of the last lies closer to 1 than single precision can tell.
  const CASES: readonly ["f32" | "f64", number, number, (x: number) => number][] = [
    ["f32", 2, 3, (x) => 6 * x ** 2 - 8 * x ** 3 + 3 * x ** 4],
    ["f32", 0.25, 1, (x) => x ** 0.25],
    ["f64", 1, 0.25, (x) => 1 - (1 - x) ** 0.25],
  ];
  for (const [dtype, a, b, cdf] of CASES) {
    for (const target of TARGETS)
      test(`samples of ${a} and ${b}: ${target}`, () => {
        const { x } = drawn(target, () => {
          const rows = iota(DRAWS).to(dtype).mul(0).unsqueeze(-1);
          return { x: beta(rows.add(a), rows.add(b)).sample(keyOf(8)) };
        });
        expect(kolmogorovSmirnov(x as Float64Array, cdf)).toBeLessThan(1.95);
      });
  }
  test("its density integrates to 1, and its mode is where it is largest", () => {
    expect(integral((x) => beta(number(2.5, x), number(4, x)).logProb(x), 0, 1)).toBeCloseTo(1, 6);
    const made = program("mode", () => {
      const x = input("x", "f64", [3, 1]);
      const it = beta(number(2.5, x), number(4, x));
      return { mode: it.mode(), density: it.logProb(it.mode().add(x)) };
    });
    const { mode, density } = made.run({ x: [-0.01, 0, 0.01] });
    expect(mode[0]).toBeCloseTo(1 / 3, 12);
    expect(density[1]).toBeGreaterThan(Math.max(density[0] as number, density[2] as number));
  });
});

/** Logarithms of weights, part of the program. */
function weightTable(weights: readonly number[]): Tensor {
  return table(weights.map(Math.log));
}
