/**
 * @file Advantages as a batch, shaping, weights, priorities and images.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { f32, f64, u8 } from "../../../src/kernel/declare.ts";
import { allocateFrom } from "../../../src/kernel/kernel.ts";
import { DataError } from "../../../src/kernels/errors.ts";
import { explainedVariance, normaliseAdvantages } from "../../../src/kernels/estimators/advantages.ts";
import { averageWeights, polyakUpdate, reptileStep } from "../../../src/kernels/estimators/arena.ts";
import { randomShift } from "../../../src/kernels/estimators/images.ts";
import { lapPriorities } from "../../../src/kernels/estimators/priorities.ts";
import { goalPotentials, shapeRewards } from "../../../src/kernels/estimators/shaping.ts";
import {
  bytes,
  CHOICES,
  expectNear,
  type FixtureArray,
  fixtures,
  floats,
  numbers,
  sameBits,
  TYPES,
} from "./support.ts";

const random = (length: number, seed: number): number[] => {
  const next = numbers(seed);
  return Array.from({ length }, () => next() * 4 - 2);
};

describe.each(TYPES)("%s", (type) => {
  const near = type === "f64" ? { rtol: 1e-12, atol: 1e-12 } : { rtol: 1e-5, atol: 1e-6 };

  test.each(fixtures("running", "explained_variance").map((one) => [one.name, one] as const))("%s", (_name, one) => {
    const column = (name: string) => floats(type, (one.inputs[name] as FixtureArray).data);
    const input = { predictions: column("predictions"), targets: column("targets") };
    const results = CHOICES.map((choice) => explainedVariance(input, choice));
    expect(new Set(results).size).toBe(1);
    expectNear("explained", [results[0] as number], [Number(one.expected.explained_variance)], one.tolerance[type]);
  });

  test("advantages get mean 0 and deviation 1, with ddof 1 and 0", () => {
    const data = random(1000, 1);
    const mean = data.reduce((a, b) => a + b) / data.length;
    const squares = data.reduce((a, b) => a + (b - mean) ** 2, 0);
    for (const ddof of [0, 1] as const) {
      const deviation = Math.sqrt(squares / (data.length - ddof));
      const got = sameBits(
        (choice) => normaliseAdvantages({ advantages: floats(type, data) }, { ddof, ...choice }),
        (r) => [r],
      );
      expectNear(
        `ddof ${ddof}`,
        got,
        data.map((x) => (x - mean) / (deviation + 1e-8)),
        near,
      );
    }
    const inPlace = floats(type, data);
    expect(normaliseAdvantages({ advantages: inPlace, out: inPlace })).toBe(inPlace);
    expectNear("in place", inPlace, normaliseAdvantages({ advantages: floats(type, data) }), { rtol: 0, atol: 0 });
  });

  test("targets that do not vary leave nothing to explain, whatever their mean is rounded to", () => {
    const predictions = floats(type, [0, 0.1, 0.2]);
    for (const choice of CHOICES)
      expect(explainedVariance({ predictions, targets: floats(type, [0.1, 0.1, 0.1]) }, choice)).toBeNaN();
  });

  test("equal advantages become 0", () => {
    expectNear("zeros", normaliseAdvantages({ advantages: floats(type, [2, 2, 2]) }), [0, 0, 0], { rtol: 0, atol: 0 });
  });

  test("shaping adds gamma phi' - phi, except where an episode ended", () => {
    const input = {
      rewards: floats(type, [1, 2, 3]),
      potentials: floats(type, [0.5, 1, 2]),
      nextPotentials: floats(type, [1, 4, 8]),
      ended: bytes([0, 1, 0]),
    };
    const got = sameBits(
      (choice) => shapeRewards(input, { gamma: 0.5, ...choice }),
      (r) => [r],
    );
    expectNear("shaped", got, [1, 2, 5], near);
  });

  test("shaping telescopes: the discounted sum changes by what the potentials say at both ends", () => {
    const n = 20;
    const phi = random(n + 1, 3);
    const rewards = random(n, 4);
    const shaped = shapeRewards(
      {
        rewards: floats("f64", rewards),
        potentials: floats("f64", phi.slice(0, n)),
        nextPotentials: floats("f64", phi.slice(1)),
        ended: bytes(new Array(n).fill(0)),
      },
      { gamma: 0.9 },
    );
    const sum = (x: ArrayLike<number>): number => Array.from(x).reduce((s, v, t) => s + v * 0.9 ** t, 0);
    expect(sum(shaped) - sum(rewards)).toBeCloseTo(0.9 ** n * (phi[n] as number) - (phi[0] as number), 12);
  });

  test("potential of a goal", () => {
    const input = { observations: floats(type, [9, 3, 4, 9, 0, 0]), goal: floats(type, [0, 0]) };
    const got = sameBits(
      (choice) => goalPotentials(input, { dimension: 3, first: 1, scale: 2, ...choice }),
      (r) => [r],
    );
    expectNear("potentials", got, [-10, 0], near);
  });

  test("Polyak averaging, Reptile and the mean of weights", () => {
    const source = floats(type, [1, 2, 3]);
    const target = () => floats(type, [3, 2, 5]);
    const moved = sameBits(
      (choice) => polyakUpdate({ target: target(), source }, { tau: 0.25, ...choice }),
      (r) => [r],
    );
    expectNear("polyak", moved, [2.5, 2, 4.5], near);
    const stepped = sameBits(
      (choice) => reptileStep({ parameters: target(), adapted: source }, { rate: 0.5, ...choice }),
      (r) => [r],
    );
    expectNear("reptile", stepped, [2, 2, 4], near);
    const mean = sameBits(
      (choice) => averageWeights({ vectors: [source, target(), target()] }, choice),
      (r) => [r],
    );
    expectNear("mean", mean, [7 / 3, 2, 13 / 3], near);
    const exact = { rtol: 0, atol: 0 };
    expectNear("tau 1", polyakUpdate({ target: target(), source }, { tau: 1 }), source, exact);
    expectNear("tau 0", polyakUpdate({ target: target(), source }, { tau: 0 }), target(), exact);
  });

  test("priorities", () => {
    const errors = floats(type, [-2, 0.5, 0]);
    const losses = floats(type, [1, 0.25, 0]);
    const got = sameBits(
      (choice) => lapPriorities({ errors, losses }, { eta: 2, least: 0.125, ...choice }),
      (r) => [r],
    );
    expectNear("with losses", got, [4, 1, 0.125], near);
    expectNear("without", lapPriorities({ errors }), [2, 0.5, type === "f64" ? 1e-6 : Math.fround(1e-6)], near);
  });
});

describe("random shift", () => {
  const shape = { channels: 2, height: 5, width: 7 };
  const count = 6;
  const pixels = Array.from({ length: count * 70 }, (_, i) => (i % 255) + 1);
  const run = (call: number, options: object = {}) =>
    randomShift({ images: allocateFrom(u8, pixels) }, { ...shape, pad: 2, seed: 11, call, ...options });

  /** The shifts (down, right) of an image that explain the output, with zeros or border pixels outside. */
  function places(out: Uint8Array, image: number, edge: boolean, pad = 2): [number, number][] {
    const found: [number, number][] = [];
    const clamp = (v: number, n: number): number => Math.min(Math.max(v, 0), n - 1);
    for (let dy = -pad; dy <= pad; dy++)
      for (let dx = -pad; dx <= pad; dx++) {
        const fits = Array.from({ length: 70 }, (_, i) => i).every((i) => {
          const [plane, y, x] = [Math.floor(i / 35), Math.floor(i / 7) % 5, i % 7];
          const [sy, sx] = [y + dy, x + dx];
          const inside = sy >= 0 && sy < 5 && sx >= 0 && sx < 7;
          const at = image * 70 + plane * 35 + clamp(sy, 5) * 7 + clamp(sx, 7);
          return out[image * 70 + i] === (inside || edge ? pixels[at] : 0);
        });
        if (fits) found.push([dy, dx]);
      }
    return found;
  }

  test.each([false, true])("every image is a window of its padded self (edge %s)", (edge) => {
    const out = sameBits(
      (choice) => run(3, { border: edge ? "edge" : "zero", ...choice }),
      (r) => [r],
    );
    for (let k = 0; k < count; k++) expect(places(out, k, edge)).toHaveLength(1);
  });

  test.each([false, true])("shifts beyond the size of an image (edge %s)", (edge) => {
    const out = sameBits(
      (choice) => run(5, { pad: 9, border: edge ? "edge" : "zero", ...choice }),
      (r) => [r],
    );
    for (let k = 0; k < count; k++) expect(places(out, k, edge, 9).length).toBeGreaterThan(0);
  });

  test("floats move as bytes do", () => {
    const moved = sameBits(
      (choice) =>
        randomShift({ images: allocateFrom(f32, pixels) }, { ...shape, pad: 2, seed: 11, call: 3, ...choice }),
      (r) => [r],
    );
    expect([...moved]).toEqual([...run(3)]);
  });

  test("seed and call decide, and all places come up", () => {
    expect(run(1)).toEqual(run(1));
    expect(run(1)).not.toEqual(run(2));
    expect(run(1)).not.toEqual(run(1, { seed: 12 }));
    const seen = new Set<string>();
    for (let call = 0; call < 60; call++) {
      const out = run(call);
      for (let k = 0; k < count; k++) seen.add(String(places(out, k, false)[0]));
    }
    expect(seen.size).toBe(25);
  });

  test("without padding nothing moves", () => {
    expect([...run(1, { pad: 0 })]).toEqual(pixels);
  });

  test("refuses what does not fit", () => {
    expect(() => randomShift({ images: new Uint8Array(71) }, { ...shape, seed: 1, call: 1 })).toThrow(/71 pixels/);
    expect(() => run(-1)).toThrow(/"call" must be a whole number/);
    expect(() => run(1, { border: "mirror" })).toThrow(DataError);
    expect(() => randomShift({ images: new Float64Array(70) as never }, { ...shape, seed: 1, call: 1 })).toThrow(
      /images/,
    );
  });
});

test("refuses what does not fit", () => {
  const [two, three] = [new Float64Array(2), new Float64Array(3)];
  expect(() => normaliseAdvantages({ advantages: allocateFrom(f64, [1]) })).toThrow(/1 element has no deviation/);
  expect(() => explainedVariance({ predictions: two, targets: three })).toThrow(/"predictions" has 2/);
  expect(() => polyakUpdate({ target: two, source: three }, { tau: 0.5 })).toThrow(/"source" has 3/);
  expect(() => polyakUpdate({ target: two, source: two.slice() }, { tau: 2 })).toThrow(/"tau"/);
  expect(() => averageWeights({ vectors: [] })).toThrow(/"vectors" is empty/);
  expect(() => averageWeights({ vectors: [two, three] })).toThrow(/"vectors\[1\]" has 3/);
  expect(() => averageWeights({ vectors: [two, two.slice()], out: two })).toThrow(/shares memory/);
  expect(() => goalPotentials({ observations: three, goal: two }, { dimension: 1 })).toThrow(/goal reaches/);
  expect(() => goalPotentials({ observations: three, goal: two }, { dimension: 2 })).toThrow(
    /which "dimension" 2 does not divide/,
  );
  expect(() => lapPriorities({ errors: two }, { least: 0 })).toThrow(/"least"/);
  const shaping = { rewards: two, potentials: two.slice(), nextPotentials: two.slice(), ended: new Uint8Array(1) };
  expect(() => shapeRewards(shaping)).toThrow(/"ended" has 1/);
});

test("normalising twice changes nothing more", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: -100, max: 100, noNaN: true }), { minLength: 2, maxLength: 60 }), (data) => {
      fc.pre(new Set(data).size > 1 && Math.max(...data) - Math.min(...data) > 1e-3);
      const once = normaliseAdvantages({ advantages: floats("f64", data) });
      expectNear("twice", normaliseAdvantages({ advantages: once }), once, { rtol: 1e-4, atol: 1e-4 });
    }),
    { numRuns: 50 },
  );
});
