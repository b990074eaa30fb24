/**
 * @file Generalised advantage estimation against fixtures, published values and a plain loop; layouts, forms and
 * targets against each other.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DataError } from "../../../src/kernels/errors.ts";
import { gae } from "../../../src/kernels/estimators/gae.ts";
import type { Layout } from "../../../src/kernels/estimators/inputs.ts";
import type { Floats } from "../../../src/kernels/inputs.ts";
import {
  bitsOf,
  bytes,
  expectNear,
  fixtureRollout,
  fixtures,
  floats,
  type RandomRollout,
  randomRollout,
  sameBits,
  TYPES,
  transposed,
  transposedRollout,
} from "./support.ts";

/** The definition, one step after the other in doubles. */
function plain(r: RandomRollout, environments: number, layout: Layout, gamma: number, lambda: number): Float64Array {
  const steps = r.rewards.length / environments;
  const at = (t: number, e: number): number => (layout === "step-major" ? t * environments + e : e * steps + t);
  const out = new Float64Array(r.rewards.length);
  for (let e = 0; e < environments; e++) {
    let advantage = 0;
    for (let t = steps - 1; t >= 0; t--) {
      const i = at(t, e);
      const behind = t === steps - 1 ? (r.lastValues[e] as number) : (r.values[at(t + 1, e)] as number);
      const next = r.terminated[i] ? 0 : r.truncated[i] ? (r.finalValues[i] as number) : behind;
      const delta = (r.rewards[i] as number) + gamma * next - (r.values[i] as number);
      advantage = delta + (r.terminated[i] || r.truncated[i] ? 0 : gamma * lambda * advantage);
      out[i] = advantage;
    }
  }
  return out;
}

const LIMITS = { f64: { rtol: 1e-12, atol: 1e-13 }, f32: { rtol: 1e-5, atol: 1e-5 } } as const;
const arraysOf = (r: { advantages: Floats; returns: Floats }): Floats[] => [r.advantages, r.returns];

describe.each(TYPES)("%s", (type) => {
  test.each(fixtures("estimators", "gae").map((one) => [one.name, one] as const))("fixture %s", (_name, one) => {
    const { rollout, steps, environments, number, expected, tolerance } = fixtureRollout(one, type);
    const options = { gamma: number("gamma"), lambda: number("lambda") };
    const stepMajor = sameBits((choice) => gae(rollout, { ...options, ...choice }), arraysOf);
    expectNear("advantages", stepMajor.advantages, expected("advantages"), tolerance);
    expectNear("returns", stepMajor.returns, expected("returns"), tolerance);
    if (typeof rollout.lastValues === "number") return;
    const turned = transposedRollout(rollout as RandomRollout, environments, steps);
    const envMajor = sameBits((choice) => gae(turned, { ...options, ...choice, layout: "env-major" }), arraysOf);
    const wanted = transposed(floats("f64", expected("advantages")), environments, steps);
    expectNear("env-major advantages", envMajor.advantages, wanted, tolerance);
  });

  // Lengths on both sides of groups of four and of chunks; the block structure is the same on every target.
  test.each([1, 2, 3, 4, 5, 8, 9, 127, 512, 513, 516, 517, 1029, 2048])("one trajectory of %i steps", (steps) => {
    const r = randomRollout(type, 1, steps, steps);
    const result = sameBits((choice) => gae(r, choice), arraysOf);
    const wanted = plain(r, 1, "step-major", 0.99, 0.95);
    expectNear("advantages", result.advantages, wanted, LIMITS[type]);
    expectNear(
      "returns",
      result.returns,
      wanted.map((a, i) => a + (r.values[i] as number)),
      LIMITS[type],
    );
  });

  test.each([
    [2, 5],
    [3, 300],
    [5, 257],
    [8, 258],
    [17, 33],
    [64, 128],
  ])("%i environments of %i steps in both layouts", (environments, steps) => {
    const r = randomRollout(type, environments, steps, 7 * environments + steps);
    const stepMajor = sameBits((choice) => gae(r, choice), arraysOf);
    expectNear("step-major", stepMajor.advantages, plain(r, environments, "step-major", 0.99, 0.95), LIMITS[type]);
    const turned = transposedRollout(r, environments, steps);
    const envMajor = sameBits((choice) => gae(turned, { ...choice, layout: "env-major" }), arraysOf);
    expectNear("env-major", envMajor.advantages, transposed(stepMajor.advantages, environments, steps), LIMITS[type]);
    expectNear("returns", envMajor.returns, transposed(stepMajor.returns, environments, steps), LIMITS[type]);
  });
});

test("so many environments that threads share them", () => {
  const [environments, steps] = [8192, 24];
  const r = randomRollout("f32", environments, steps, 1);
  const result = sameBits((choice) => gae(r, choice), arraysOf);
  expectNear("advantages", result.advantages, plain(r, environments, "step-major", 0.99, 0.95), LIMITS.f32);
});

test("published values", () => {
  const run = (rewards: number[], values: number[], dones: number[], lastValues: number) =>
    gae({ rewards: floats("f64", rewards), values: floats("f64", values), dones: bytes(dones), lastValues });
  const near = (got: Floats, wanted: number[]): void => expectNear("golden", got, wanted, { rtol: 1e-12, atol: 0 });
  near(run([1, 1, 1], [0, 0, 0], [0, 0, 0], 0).advantages, [2.82504025, 1.9405, 1]);
  near(run([1, 1, 1], [0, 0, 0], [0, 1, 0], 0).advantages, [1.9405, 1, 1]);
  const third = run([1, 2, 3], [0.5, 1, 1.5], [0, 0, 1], 0);
  near(third.advantages, [5.153952875, 3.89575, 1.5]);
  near(third.returns, [5.653952875, 4.89575, 3]);
  near(run([4, 5, 6], [2, 2.5, 3], [0, 1, 0], 0.5).advantages, [6.82625, 2.5, 3.495]);
  const batched = gae(
    {
      rewards: floats("f64", [1, 2, 3, 4, 5, 6]),
      values: floats("f64", [0.5, 1, 1.5, 2, 2.5, 3]),
      dones: bytes([0, 0, 1, 0, 1, 0]),
      lastValues: floats("f64", [0, 0.5]),
    },
    { layout: "env-major" },
  );
  near(batched.advantages, [5.153952875, 3.89575, 1.5, 6.82625, 2.5, 3.495]);
});

test("a blocked scan is the plain chain to 1e-12 in f64, for any ends, discounts and lengths", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1300 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer(),
      (steps, gamma, lambda, seed) => {
        const r = randomRollout("f64", 1, steps, seed);
        const { advantages } = gae(r, { gamma, lambda });
        expectNear("scan", advantages, plain(r, 1, "step-major", gamma, lambda), { rtol: 1e-12, atol: 1e-12 });
      },
    ),
    { numRuns: 60 },
  );
});

test("batched is single, environment by environment", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 70 }),
      fc.integer(),
      (environments, steps, seed) => {
        const r = transposedRollout(randomRollout("f64", environments, steps, seed), environments, steps);
        const batched = gae(r, { layout: "env-major" });
        for (let e = 0; e < environments; e++) {
          const part = <A extends Floats | Uint8Array>(a: A): A => a.subarray(e * steps, (e + 1) * steps) as A;
          const alone = gae({
            rewards: part(r.rewards),
            values: part(r.values),
            terminated: part(r.terminated),
            truncated: part(r.truncated),
            finalValues: part(r.finalValues),
            lastValues: r.lastValues[e] as number,
          });
          expectNear("row", alone.advantages, part(batched.advantages), { rtol: 1e-12, atol: 1e-12 });
        }
      },
    ),
    { numRuns: 40 },
  );
});

test("dones are terminations, and a column of truncations that are none changes nothing", () => {
  const r = randomRollout("f64", 1, 100, 3);
  const { rewards, values, terminated, lastValues } = r;
  const wanted = bitsOf(gae({ rewards, values, dones: terminated, lastValues }).advantages);
  expect(bitsOf(gae({ rewards, values, terminated, lastValues }).advantages)).toBe(wanted);
  const none = { truncated: bytes(new Array(100).fill(0)), finalValues: r.finalValues };
  expect(bitsOf(gae({ rewards, values, terminated, ...none, lastValues }).advantages)).toBe(wanted);
});

test("any byte but 0 is an end", () => {
  const make = (flag: number) => ({
    rewards: floats("f64", [1, 2, 3, 4, 5, 6]),
    values: floats("f64", [1, 1, 1, 1, 1, 1]),
    terminated: bytes([0, flag, 0, 0, 0, 0]),
    truncated: bytes([0, 0, 0, flag, 0, 0]),
    finalValues: floats("f64", [0, 0, 0, 7, 0, 0]),
    lastValues: 1,
  });
  expect(bitsOf(gae(make(255)).advantages)).toBe(bitsOf(gae(make(1)).advantages));
});

test("writes to given arrays, also to ordinary ones, and gives them back", () => {
  const r = randomRollout("f64", 1, 50, 9);
  const wanted = gae(r);
  const out = { advantages: new Float64Array(50), returns: new Float64Array(50) };
  const ordinary = { ...r, rewards: new Float64Array(r.rewards), out };
  expect(gae(ordinary).advantages).toBe(out.advantages);
  expect(bitsOf(out.advantages, out.returns)).toBe(bitsOf(wanted.advantages, wanted.returns));
});

test("nothing gives nothing", () => {
  const none = { rewards: new Float32Array(0), values: new Float32Array(0), dones: new Uint8Array(0) };
  expect(gae({ ...none, lastValues: 1 }).advantages.length).toBe(0);
  expect(gae({ ...none, lastValues: new Float32Array(0) }).returns.length).toBe(0);
  expect(gae({ ...none, lastValues: new Float32Array(3) }).returns.length).toBe(0);
});

describe("refuses", () => {
  const fine = () => ({
    rewards: new Float64Array(6),
    values: new Float64Array(6),
    terminated: new Uint8Array(6),
    lastValues: 0,
    out: { advantages: new Float64Array(6).fill(9), returns: new Float64Array(6).fill(9) },
  });
  const cases: [string, object, object, RegExp][] = [
    ["mixed types", { values: new Float32Array(6) }, {}, /"values" must be a Float64Array, it is a Float32Array/],
    ["a short column", { values: new Float64Array(5) }, {}, /"values" has 5 elements.*asks for 6/],
    ["no column of ends", { terminated: undefined }, {}, /"terminated" must be a Uint8Array, it is missing/],
    ["both forms of ends", { dones: new Uint8Array(6) }, {}, /either "dones" or "terminated"/],
    ["truncations without final values", { truncated: new Uint8Array(6) }, {}, /"truncated" needs "finalValues"/],
    ["a short truncated", { truncated: new Uint8Array(2), finalValues: new Float64Array(6) }, {}, /"truncated" has 2/],
    ["environments that do not divide", { lastValues: new Float64Array(4) }, {}, /6 steps cannot be shared by 4/],
    ["steps without environments", { lastValues: new Float64Array(0) }, {}, /6 steps cannot be shared by 0/],
    ["a discount above 1", {}, { gamma: 1.5 }, /"gamma" must be a number from 0 to 1, it is 1.5/],
    ["a lambda that is no number", {}, { lambda: Number.NaN }, /"lambda" must be a number from 0 to 1, it is NaN/],
    ["a layout of another name", {}, { layout: "rows" }, /no layout "rows"/],
    ["a list", { rewards: [1, 2] }, {}, /"rewards" must be a Float32Array or a Float64Array/],
    [
      "an output of another length",
      { out: { advantages: new Float64Array(5), returns: new Float64Array(6) } },
      {},
      /"out.advantages" has 5/,
    ],
  ];
  test.each(cases)("%s", (_name, input, options, message) => {
    const base = fine();
    const given = { ...base, ...input };
    const call = (): unknown => gae(given as never, options as never);
    expect(call).toThrow(DataError);
    expect(call).toThrow(message);
    expect([...base.out.advantages, ...base.out.returns].every((x) => x === 9)).toBe(true);
  });

  test("outputs that share memory with inputs, with nothing written", () => {
    const given = fine();
    given.values.fill(3);
    expect(() => gae({ ...given, out: { advantages: given.values, returns: given.out.returns } })).toThrow(/share/);
    expect(given.values.every((x) => x === 3)).toBe(true);
  });
});
