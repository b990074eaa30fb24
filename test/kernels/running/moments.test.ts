/**
 * @file Running moments, moving means and detectors against fixtures, published values and direct computation.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DataError } from "../../../src/kernels/errors.ts";
import { CusumDetector, PageHinkleyDetector } from "../../../src/kernels/running/detectors.ts";
import { ExponentialMoments } from "../../../src/kernels/running/ema.ts";
import { RunningMoments, RunningVectorMoments } from "../../../src/kernels/running/moments.ts";
import {
  bitsOf,
  CHOICES,
  expectNear,
  type FixtureArray,
  fixtures,
  floats,
  numbers,
  TYPES,
} from "../estimators/support.ts";

const data = (value: unknown): readonly number[] => (value as FixtureArray).data;
const named = (op: string) => fixtures("running", op).map((one) => [one.name, one] as const);
const again = <T>(value: T): unknown => JSON.parse(JSON.stringify(value));

describe("RunningMoments", () => {
  test.each(named("welford"))("fixture %s", (_name, one) => {
    const moments = new RunningMoments();
    const x = data(one.inputs.x);
    const seen = x.map((v) => {
      moments.update(v);
      return [moments.mean, moments.variance, moments.deviation] as const;
    });
    ["mean", "var", "std"].forEach((name, k) => {
      expectNear(
        name,
        seen.map((s) => s[k] as number),
        data(one.expected[name]),
        one.tolerance.f64,
      );
    });
    expect(moments.count).toBe(one.expected.count);
    const last = moments.normalise(x.at(-1) as number);
    expectNear("normalised", [last], [one.expected.normalised_last as number], one.tolerance.f64);
  });

  test.each(TYPES)("batches of %s: the same bits on every target, and as one by one", (type) => {
    const next = numbers(8);
    const values = floats(
      type,
      Array.from({ length: 10_000 }, () => 100 + next()),
    );
    const alone = new RunningMoments();
    for (const x of values) alone.update(x);
    const results = CHOICES.map((choice) => {
      const moments = new RunningMoments();
      moments.updateBatch(values.subarray(0, 4000), choice);
      moments.updateBatch(values.subarray(4000), choice);
      expectNear("variance", [moments.mean, moments.variance], [alone.mean, alone.variance], { rtol: 1e-9, atol: 0 });
      return JSON.stringify(moments);
    });
    expect(new Set(results).size).toBe(1);
  });

  test("merging is seeing both", () => {
    const list = fc.array(fc.double({ min: -1e3, max: 1e3, noNaN: true }), { maxLength: 30 });
    fc.assert(
      fc.property(list, list, (a, b) => {
        const [left, right, both] = [new RunningMoments(), new RunningMoments(), new RunningMoments()];
        for (const x of a) left.update(x);
        for (const x of b) right.update(x);
        for (const x of [...a, ...b]) both.update(x);
        left.merge(right);
        expect(left.count).toBe(both.count);
        expectNear("merged", [left.mean, left.variance], [both.mean, both.variance], { rtol: 1e-9, atol: 1e-7 });
      }),
    );
  });

  test("stored and restored; reset", () => {
    const moments = new RunningMoments();
    for (const x of [1, 2, 4]) moments.update(x);
    const restored = RunningMoments.fromJSON(again(moments));
    expect(restored.toJSON()).toEqual(moments.toJSON());
    moments.reset();
    expect(moments.toJSON()).toEqual(new RunningMoments().toJSON());
  });
});

describe("RunningVectorMoments", () => {
  test.each(named("welford_vector"))("fixture %s", (_name, one) => {
    const x = one.inputs.x as FixtureArray;
    const dimension = x.shape[1] as number;
    const moments = new RunningVectorMoments(dimension);
    const rows = floats("f64", x.data);
    for (let r = 0; r < 3; r++) moments.update(rows.subarray(r * dimension, (r + 1) * dimension));
    moments.update(rows.subarray(3 * dimension));
    expectNear("mean", moments.mean, data(one.expected.mean), one.tolerance.f64);
    expectNear("variance", moments.variance, data(one.expected.var), one.tolerance.f64);
    const last = moments.normalise(rows.slice(-dimension));
    expectNear("normalised", last, data(one.expected.normalised_last), one.tolerance.f64);
  });

  test.each(named("parallel_merge"))("fixture %s", (_name, one) => {
    const batches = (one.inputs.batches as FixtureArray[]).map((b) => ({
      rows: floats("f64", b.data),
      shape: b.shape,
    }));
    const dimension = batches[0]?.shape[1] as number;
    const start = { initialCount: one.inputs.epsilon as number };
    const make = (): RunningVectorMoments => new RunningVectorMoments(dimension, start);
    const moments = make();
    const after = one.expected.after_batch as { mean: FixtureArray; var: FixtureArray; count: number }[];
    batches.forEach(({ rows }, k) => {
      moments.update(rows);
      expectNear("mean", moments.mean, after[k]?.mean.data as number[], one.tolerance.f64);
      expectNear("variance", moments.variance, after[k]?.var.data as number[], one.tolerance.f64);
      expect(moments.count).toBeCloseTo(after[k]?.count as number, 9);
    });
    const [first, rest] = [make(), make()];
    batches.forEach(({ rows }, k) => {
      (k === 0 ? first : rest).update(rows);
    });
    first.merge(rest);
    const combined = one.expected.combined as { mean: FixtureArray; var: FixtureArray; count: number };
    expectNear("combined mean", first.mean, combined.mean.data, one.tolerance.f64);
    expectNear("combined variance", first.variance, combined.var.data, one.tolerance.f64);
    expect(first.count).toBeCloseTo(combined.count, 9);
  });

  test.each(TYPES)("the same bits on every target (%s)", (type) => {
    const next = numbers(2);
    const rows = floats(type, Array.from({ length: 37 * 19 }, next));
    const results = CHOICES.map((choice) => {
      const moments = new RunningVectorMoments(19);
      moments.update(rows, choice);
      return `${bitsOf(moments.mean, moments.variance)} ${bitsOf(moments.normalise(rows, undefined, choice))}`;
    });
    expect(new Set(results).size).toBe(1);
  });

  test("columns are independent: as scalar moments of each", () => {
    const next = numbers(4);
    const rows = floats("f64", Array.from({ length: 50 * 5 }, next));
    const moments = new RunningVectorMoments(5);
    moments.update(rows);
    for (let d = 0; d < 5; d++) {
      const alone = new RunningMoments();
      for (let r = 0; r < 50; r++) alone.update(rows[r * 5 + d] as number);
      expect(moments.mean[d]).toBeCloseTo(alone.mean, 12);
      expect(moments.variance[d]).toBeCloseTo(alone.variance, 12);
    }
  });

  test("refuses parts of vectors and other dimensions; stored and restored", () => {
    const moments = new RunningVectorMoments(3);
    expect(() => moments.update(new Float64Array(4))).toThrow(/4 elements, which "dimension" 3 does not divide/);
    expect(() => moments.merge(new RunningVectorMoments(2))).toThrow(DataError);
    expect(() => new RunningVectorMoments(0)).toThrow(/"dimension"/);
    moments.update(floats("f64", [1, 2, 3, 4, 5, 7]));
    const restored = RunningVectorMoments.fromJSON(again(moments));
    expect(restored.toJSON()).toEqual(moments.toJSON());
  });
});

describe("ExponentialMoments", () => {
  test.each(named("ema_stats"))("fixture %s", (_name, one) => {
    const { alpha, window } = one.inputs as { alpha?: number; window?: number };
    const moments = new ExponentialMoments(window === undefined ? { alpha: alpha as number } : { window });
    expect(moments.alpha).toBeCloseTo(one.expected.alpha as number, 12);
    const seen = data(one.inputs.x).map((x) => {
      moments.update(x);
      return [moments.mean, moments.variance] as const;
    });
    expectNear(
      "mean",
      seen.map((s) => s[0]),
      data(one.expected.mean),
      one.tolerance.f64,
    );
    expectNear(
      "variance",
      seen.map((s) => s[1]),
      data(one.expected.var),
      one.tolerance.f64,
    );
    const restored = ExponentialMoments.fromJSON(again(moments));
    restored.update(1);
    moments.update(1);
    expect(restored.toJSON()).toEqual(moments.toJSON());
  });

  test("half-life: a number's weight halves", () => {
    const moments = new ExponentialMoments({ halfLife: 3 });
    moments.updateBatch([1, 0, 0, 0]);
    expect(moments.mean).toBeCloseTo(0.5, 12);
    moments.updateBatch([0, 0, 0]);
    expect(moments.mean).toBeCloseTo(0.25, 12);
  });

  test("refuses more than one way, and none", () => {
    expect(() => new ExponentialMoments({} as never)).toThrow(/exactly one/);
    expect(() => new ExponentialMoments({ alpha: 0.5, window: 3 } as never)).toThrow(/exactly one/);
    expect(() => new ExponentialMoments({ alpha: 0 })).toThrow(/"alpha"/);
    expect(() => new ExponentialMoments({ window: 0 })).toThrow(/"window"/);
    expect(() => new ExponentialMoments({ halfLife: 0 })).toThrow(/"halfLife"/);
    for (const never of [1e300, Number.POSITIVE_INFINITY])
      expect(() => new ExponentialMoments({ halfLife: never })).toThrow(/"halfLife"/);
    expect(() => new ExponentialMoments({ window: Number.POSITIVE_INFINITY })).toThrow(/"window"/);
  });
});

describe("CusumDetector", () => {
  test.each(named("cusum"))("fixture %s", (_name, one) => {
    const { mu, delta, h } = one.inputs as { mu: number; delta: number; h: number };
    const detector = new CusumDetector({ mean: mu, slack: delta, threshold: h });
    const seen = data(one.inputs.x).map((x) => {
      const alarm = detector.update(x) ? 1 : 0;
      return [detector.up, detector.down, alarm] as const;
    });
    ["s_pos", "s_neg", "alarm"].forEach((name, k) => {
      expectNear(
        name,
        seen.map((s) => s[k] as number),
        data(one.expected[name]),
        one.tolerance.f64,
      );
    });
  });

  test("published values: an alarm above the threshold, not at it", () => {
    const detector = new CusumDetector({ slack: 0.5, threshold: 5 });
    expect(detector.update(3)).toBe(false);
    expect(detector.up).toBe(2.5);
    expect(detector.update(3)).toBe(false);
    expect(detector.up).toBe(5);
    expect(detector.update(3)).toBe(true);
    expect(new CusumDetector({ slack: 0.5, threshold: 5 }).updateBatch([3, 3, 3, 3])).toBe(2);
    expect(new CusumDetector({ slack: 0.5, threshold: 5 }).updateBatch([0, 0, 0.5])).toBe(-1);
  });

  test("burn-in finds the mean and raises no alarm; setMean ends it", () => {
    const detector = new CusumDetector({ slack: 0, threshold: 1, burnIn: 4 });
    expect(detector.updateBatch([100, 102, 98, 100])).toBe(-1);
    expect(detector.mean).toBeCloseTo(100, 12);
    expect(detector.burningIn).toBe(false);
    expect(detector.update(102)).toBe(true);
    detector.reset();
    expect([detector.up, detector.down, detector.mean]).toEqual([0, 0, 100]);
    const told = new CusumDetector({ slack: 0, threshold: 1, burnIn: 4 });
    told.setMean(5);
    expect(told.update(7)).toBe(true);
  });

  test("refuses a negative slack and a threshold of 0; stored and restored", () => {
    expect(() => new CusumDetector({ slack: -1, threshold: 1 })).toThrow(/"slack"/);
    expect(() => new CusumDetector({ slack: 0, threshold: 0 })).toThrow(/"threshold"/);
    const detector = new CusumDetector({ slack: 0.25, threshold: 3, burnIn: 3 });
    detector.updateBatch([1, 2]);
    const restored = CusumDetector.fromJSON(again(detector));
    for (const x of [3, 4, 5, 1]) expect(restored.update(x)).toBe(detector.update(x));
    expect(restored.toJSON()).toEqual(detector.toJSON());
  });
});

test("detectors refuse numbers that are not finite, and go on as before", () => {
  for (const make of [
    () => new CusumDetector({ slack: 0.5, threshold: 5 }),
    () => new PageHinkleyDetector({ slack: 0.5, threshold: 5 }),
  ]) {
    const detector = make();
    for (const x of [Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => detector.update(x)).toThrow(/"x" must be a finite number/);
      expect(() => detector.updateBatch([100, x])).toThrow(/"values\[1\]" must be a finite number/);
    }
    expect(detector.toJSON()).toEqual(make().toJSON());
  }
  expect(() => new CusumDetector({ slack: 0, threshold: Number.POSITIVE_INFINITY })).toThrow(/"threshold"/);
});

test("PageHinkleyDetector: an alarm when the sum has risen above its lowest by more than the threshold", () => {
  const detector = new PageHinkleyDetector({ slack: 0.1, threshold: 2 });
  expect(detector.updateBatch([0, 0, 0, 0])).toBe(-1);
  // mean 0.6, sum -0.4 + 2.3; then mean 1, sum + 1.9.
  expect(detector.update(3)).toBe(true);
  expect(detector.rise).toBeCloseTo(2.3, 12);
  detector.reset();
  expect(detector.updateBatch([5, 5, 5, 4, 3, 2])).toBe(-1);
  const restored = PageHinkleyDetector.fromJSON(again(detector));
  expect(restored.update(30)).toBe(detector.update(30));
  expect(restored.toJSON()).toEqual(detector.toJSON());
  expect(() => new PageHinkleyDetector({ slack: 0, threshold: -1 })).toThrow(/"threshold"/);
});

describe("stored states are not trusted", () => {
  const cusum = new CusumDetector({ slack: 1, threshold: 1 }).toJSON();
  const vector = new RunningVectorMoments(2).toJSON();
  const broken: [string, () => unknown][] = [
    ["nothing", () => RunningMoments.fromJSON(null)],
    ["a list", () => RunningMoments.fromJSON([])],
    ["another kind", () => RunningMoments.fromJSON(cusum)],
    ["a missing number", () => RunningMoments.fromJSON({ kind: "RunningMoments", count: 1, mean: 0 })],
    ["a negative count", () => RunningMoments.fromJSON({ kind: "RunningMoments", count: -1, mean: 0, squares: 0 })],
    ["a text", () => RunningMoments.fromJSON({ kind: "RunningMoments", count: "1", mean: 0, squares: 0 })],
    ["no list of means", () => RunningVectorMoments.fromJSON({ ...vector, mean: { length: 2 } })],
    ["no means", () => RunningVectorMoments.fromJSON({ ...vector, mean: [] })],
    ["too few variances", () => RunningVectorMoments.fromJSON({ ...vector, variance: [1] })],
    ["a negative variance", () => RunningVectorMoments.fromJSON({ ...vector, variance: [1, -1] })],
    ["a mean that is no number", () => RunningVectorMoments.fromJSON({ ...vector, mean: [1, null] })],
    ["a burn-in with a fraction", () => CusumDetector.fromJSON({ ...cusum, burnIn: 0.5 })],
    ["more seen than asked for", () => CusumDetector.fromJSON({ ...cusum, seen: 2 })],
    ["an infinite sum", () => CusumDetector.fromJSON({ ...cusum, up: Number.POSITIVE_INFINITY })],
    [
      "an alpha of 2",
      () => ExponentialMoments.fromJSON({ ...new ExponentialMoments({ alpha: 1 }).toJSON(), alpha: 2 }),
    ],
  ];
  test.each(broken)("%s", (_name, load) => {
    expect(load).toThrow(DataError);
  });
});
