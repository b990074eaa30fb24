/**
 * @file Statistics against recorded results of other packages (numpy, scipy, rliable, rlox), and what must hold for any
 * samples.
 */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  aggregate,
  aggregateIntervals,
  BASELINES,
  bootstrap,
  bootstrapBand,
  geometricMean,
  improvementInterval,
  interpolate,
  interquartileMean,
  mean,
  median,
  normaliseScore,
  performanceProfile,
  probabilityOfImprovement,
  quantile,
  type Scores,
  StatisticsError,
  sortedCopy,
  spaced,
  std,
  summarise,
} from "../../src/stats/index.ts";

interface Numbers {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}
type Given = { readonly [key: string]: unknown };
interface Case {
  readonly name: string;
  readonly op: string;
  readonly inputs: Given;
  readonly expected: Given;
  readonly tolerance: { readonly [name: string]: { readonly rtol?: number; readonly atol: number } };
}

const { cases } = JSON.parse(readFileSync(new URL("../fixtures/numeric/stats.json", import.meta.url), "utf8")) as {
  cases: readonly Case[];
};
const casesOf = (op: string): readonly Case[] => {
  const found = cases.filter((one) => one.op === op);
  if (found.length === 0) throw new Error(`no cases of ${op}`);
  return found;
};

const numbers = (value: unknown): readonly number[] =>
  Array.isArray(value) ? (value as readonly number[]) : (value as Numbers).data;
const matrixByTask = (value: unknown): number[][] => {
  const { shape, data } = value as Numbers;
  const [runs = 0, tasks = 0] = shape;
  return Array.from({ length: tasks }, (_, t) => Array.from({ length: runs }, (_, r) => data[r * tasks + t] as number));
};

function expectNear(actual: number, expected: unknown, tolerance = { rtol: 1e-10, atol: 1e-12 }): void {
  const wanted = Number(expected);
  expect(Math.abs(actual - wanted)).toBeLessThanOrEqual(tolerance.atol + tolerance.rtol * Math.abs(wanted));
}

const samples = (options: { readonly minLength?: number } = {}) =>
  fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: options.minLength ?? 1, maxLength: 40 });

describe("recorded results", () => {
  test.each(casesOf("percentile"))("$name", ({ inputs, expected }) => {
    const sorted = sortedCopy(numbers(inputs.x));
    (inputs.q as readonly number[]).forEach((q, k) => {
      expectNear(quantile(sorted, q / 100), numbers(expected.linear)[k]);
    });
  });

  test.each(casesOf("summary"))("$name", ({ inputs, expected }) => {
    const x = numbers(inputs.x);
    expectNear(mean(x), expected.mean);
    expectNear(std(x), expected.std0);
    expectNear(std(x, 1), expected.std1);
    expectNear(median(x), expected.median);
    expectNear(geometricMean(x), expected.gmean);
  });

  test.each(casesOf("geometric_mean"))("$name", ({ inputs, expected }) => {
    expectNear(geometricMean(numbers(inputs.x)), expected.gmean);
  });

  test.each(casesOf("iqm"))("$name", ({ inputs, expected }) => {
    (inputs.samples as readonly Numbers[]).forEach(({ data }, k) => {
      expectNear(interquartileMean(data), numbers(expected.rliable)[k]);
      expectNear(interquartileMean(data, "rlox"), numbers(expected.rlox)[k]);
    });
  });

  test.each(casesOf("evaluation_metrics"))("$name", ({ inputs, expected }) => {
    const [scores, others] = [matrixByTask(inputs.scores), matrixByTask(inputs.other_scores)];
    const taus = inputs.taus as readonly number[];
    const [ours, theirs] = [aggregate(scores), aggregate(scores, "rlox")];
    expectNear(ours.iqm, expected.iqm_rliable);
    expectNear(ours.mean, expected.mean);
    expectNear(ours.median, expected.median_of_task_means);
    expectNear(ours.optimality_gap, expected.optimality_gap_rliable);
    expectNear(theirs.iqm, expected.iqm_rlox);
    expectNear(theirs.median, expected.median);
    expectNear(theirs.optimality_gap, expected.optimality_gap_rlox);
    expectNear(probabilityOfImprovement(scores, others), expected.probability_of_improvement);
    const means: Scores = scores.map((task) => [mean(task)]);
    const profiles = [
      [performanceProfile(scores, taus), expected.profile_above],
      [performanceProfile(scores, taus, "rlox"), expected.profile_at_least],
      [performanceProfile(means, taus), expected.profile_of_task_means],
    ] as const;
    for (const [profile, wanted] of profiles) profile.forEach((share, k) => void expectNear(share, numbers(wanted)[k]));
  });

  test.each(casesOf("normalised_score"))("$name", ({ inputs, expected }) => {
    (inputs.envs as readonly [number, number][]).forEach(([random, expert], k) => {
      const score = (inputs.scores as readonly number[])[k] as number;
      expectNear(normaliseScore(score, "any", { random, expert }), numbers(expected.values)[k]);
    });
  });
});

const middleOf = (drawn: readonly Float64Array[], side: number): number => median(drawn[side] as Float64Array);
const BOOTSTRAPS: { readonly [op: string]: (inputs: Given) => [readonly (readonly number[])[], typeof firstMedian] } = {
  bootstrap_ratio_of_medians: ({ a, b }) => [
    [numbers(a), numbers(b)],
    (drawn) => middleOf(drawn, 0) / middleOf(drawn, 1),
  ],
  bootstrap_iqm: ({ x }) => [[numbers(x)], ([drawn]) => interquartileMean(drawn as Float64Array, "rlox")],
  bootstrap_median: ({ x }) => [[numbers(x)], firstMedian],
};
function firstMedian(drawn: readonly Float64Array[]): number {
  return middleOf(drawn, 0);
}

describe("bootstrap", () => {
  test.each(Object.keys(BOOTSTRAPS).flatMap(casesOf))("$name", ({ op, inputs, expected, tolerance }) => {
    const [strata, statistic] = (BOOTSTRAPS[op] as (typeof BOOTSTRAPS)[string])(inputs);
    const options = { resamples: inputs.resamples as number, level: inputs.level as number };
    const [low, high] = bootstrap(strata, statistic, options);
    expectNear(statistic(strata.map((stratum) => Float64Array.from(stratum))), expected.point);
    expectNear(low, expected.low, { rtol: 0, atol: tolerance.low?.atol ?? 0 });
    expectNear(high, expected.high, { rtol: 0, atol: tolerance.high?.atol ?? 0 });
  });

  test("is the same every time; another seed gives another interval", () => {
    const x = spaced(0, 1, 30).map((v) => v * v);
    expect(bootstrap([x], firstMedian)).toEqual(bootstrap([x], firstMedian));
    expect(bootstrap([x], firstMedian, { seed: 1 })).not.toEqual(bootstrap([x], firstMedian, { seed: 2 }));
  });

  test("lies within the samples and holds a statistic without spread", () => {
    fc.assert(
      fc.property(samples(), (x) => {
        const [low, high] = bootstrap([x], firstMedian, { resamples: 50 });
        expect(low).toBeLessThanOrEqual(high);
        expect(low).toBeGreaterThanOrEqual(Math.min(...x));
        expect(high).toBeLessThanOrEqual(Math.max(...x));
      }),
    );
    expect(bootstrap([[3, 3, 3]], firstMedian)).toEqual([3, 3]);
  });

  test("keeps strata apart", () => {
    const sums = bootstrap(
      [
        [1, 1],
        [10, 10, 10],
      ],
      ([a, b]) => (a?.length ?? 0) * 100 + mean(a ?? []) + mean(b ?? []),
    );
    expect(sums).toEqual([211, 211]);
  });

  test("refuses what has no meaning", () => {
    expect(() => bootstrap([[]], firstMedian)).toThrow(StatisticsError);
    expect(() => bootstrap([[1]], firstMedian, { resamples: 0 })).toThrow(/resamples is 0/);
    expect(() => bootstrap([[1]], firstMedian, { level: 95 })).toThrow(/level is 95/);
    expect(() => bootstrapBand([[]])).toThrow(StatisticsError);
  });
});

describe("bands", () => {
  test("have the mean of the curves, and no width where they agree", () => {
    const curves = [
      [0, 1, 5],
      [0, 3, 5],
      [0, 8, 5],
    ];
    const { mean: middle, low, high } = bootstrapBand([curves]);
    expect(middle).toEqual([0, 4, 5]);
    expect([low[0], high[0], low[2], high[2]]).toEqual([0, 0, 5, 5]);
    expect(low[1]).toBeLessThan(4);
    expect(high[1]).toBeGreaterThan(4);
  });

  test("draw whole curves again: curves that differ by a constant have one width", () => {
    const curve = [3, 1, 4, 1, 5];
    const { low, high } = bootstrapBand([[0, 2, 7].map((up) => curve.map((y) => y + up))]);
    const widths = curve.map((_, p) => (high[p] as number) - (low[p] as number));
    for (const width of widths) expect(width).toBeCloseTo(widths[0] as number, 12);
  });

  test("give strata the same weight, whatever their sizes", () => {
    const { mean: middle, low, high } = bootstrapBand([[[0], [0], [0]], [[6]]]);
    expect([middle, low, high]).toEqual([[3], [3], [3]]);
    expect(() => bootstrapBand([[[1]], []])).toThrow(StatisticsError);
  });
});

describe("quantiles", () => {
  test("interpolate between neighbours", () => {
    expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5);
    expect(quantile([10, 20, 30, 40, 50], 0.25)).toBe(20);
    expect(quantile([0, 100], 0.99)).toBe(99);
    expect(quantile([7], 0.3)).toBe(7);
    expect(() => quantile([], 0.5)).toThrow(StatisticsError);
  });

  test("a standard deviation of one sample has no sample form", () => {
    expect(std([4])).toBe(0);
    expect(() => std([4], 1)).toThrow(/at least 2 samples, got 1/);
  });
});

describe("aggregates", () => {
  const scores = [
    [0.1, 0.9, 0.4, 0.7],
    [1.2, 0.8, 1.1, 1.3],
  ];

  test("lie within their intervals", () => {
    const [point, intervals] = [aggregate(scores), aggregateIntervals(scores)];
    for (const name of ["iqm", "median", "mean", "optimality_gap"] as const) {
      const [low, high] = intervals[name];
      expect(low).toBeLessThan(point[name]);
      expect(high).toBeGreaterThan(point[name]);
    }
  });

  test("profiles fall from 1 to 0", () => {
    fc.assert(
      fc.property(fc.array(samples(), { minLength: 1, maxLength: 4 }), (tasks) => {
        const profile = performanceProfile(tasks, spaced(-1e6 - 1, 1e6, 30));
        expect(profile[0]).toBeCloseTo(1, 12);
        expect(profile.at(-1)).toBe(0);
        for (let k = 1; k < profile.length; k++) expect(profile[k]).toBeLessThanOrEqual(profile[k - 1] as number);
      }),
    );
  });

  test("improvements of x on y and of y on x are 1 together", () => {
    fc.assert(
      fc.property(samples(), samples(), (x, y) => {
        expect(probabilityOfImprovement([x], [y]) + probabilityOfImprovement([y], [x])).toBeCloseTo(1, 12);
      }),
    );
    expect(probabilityOfImprovement([[1]], [[1]])).toBe(0.5);
    expect(improvementInterval([[5, 6]], [[1, 2]])).toEqual([1, 1]);
    expect(() => probabilityOfImprovement([[1]], [])).toThrow(StatisticsError);
  });

  test("an interquartile mean does not follow outliers", () => {
    fc.assert(
      fc.property(samples({ minLength: 4 }), fc.double({ min: 1e6, max: 1e12, noNaN: true }), (x, outlier) => {
        const sorted = [...sortedCopy(x)];
        expect(interquartileMean([...sorted.slice(0, -1), outlier])).toBeCloseTo(interquartileMean(x), 5);
      }),
    );
  });
});

describe("scores", () => {
  test("are 0 for random actions and 1 for experts", () => {
    expect(BASELINES.size).toBe(14);
    for (const [env, { random, expert }] of BASELINES) {
      expect(normaliseScore(random, env)).toBe(0);
      expect(normaliseScore(expert, env)).toBe(1);
    }
    expect(normaliseScore(250, "CartPole-v1")).toBeCloseTo(0.4769874476987448, 12);
  });

  test("need a baseline", () => {
    expect(() => normaliseScore(1, "CartPole-v2")).toThrow(/no baseline for "CartPole-v2". Did you mean "CartPole-v1"/);
    expect(() => normaliseScore(1, "x", { random: 2, expert: 2 })).toThrow(/2 to 2/);
  });
});

describe("summaries of evaluations", () => {
  test("hold every number", () => {
    const summary = summarise([1, 2, 3, 4, 100], [10, 20, 30, 40, 50]);
    expect(summary).toMatchObject({ episodes: 5, mean: 22, min: 1, max: 100, iqm: 3, mean_length: 30 });
    expect(summary.std).toBeCloseTo(39.0128, 4);
    expect(summary.ci[0]).toBeLessThan(3);
    expect(summary.ci[1]).toBeGreaterThan(3);
    expect(summarise([1, 2, 3, 4, 100], [10, 20, 30, 40, 50])).toEqual(summary);
  });

  test("of one episode have no width", () => {
    expect(summarise([7], [3])).toEqual({
      episodes: 1,
      mean: 7,
      std: 0,
      min: 7,
      max: 7,
      iqm: 7,
      ci: [7, 7],
      mean_length: 3,
    });
  });

  test("need episodes, and a length for each", () => {
    expect(() => summarise([], [])).toThrow(StatisticsError);
    expect(() => summarise([1, 2], [1])).toThrow(/2 returns and 1 lengths/);
  });
});

describe("curves", () => {
  test("are read between their places and nowhere else", () => {
    const curve = { x: [10, 20, 40], y: [1, 3, 7] };
    expect(interpolate(curve, [10, 15, 20, 30, 40])).toEqual([1, 2, 3, 5, 7]);
    expect(interpolate(curve, [9, 41])).toEqual([Number.NaN, Number.NaN]);
    expect(interpolate({ x: [5], y: [2] }, [4, 5, 6])).toEqual([Number.NaN, 2, Number.NaN]);
    expect(() => interpolate({ x: [1], y: [] }, [1])).toThrow(StatisticsError);
  });

  test("places are evenly spaced and end where they should", () => {
    expect(spaced(0, 1, 5)).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(spaced(2, 8, 1)).toEqual([8]);
    expect(spaced(0.1, 0.3, 200).at(-1)).toBe(0.3);
  });
});
