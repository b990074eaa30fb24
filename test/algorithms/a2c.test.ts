/**
 * @file A2C as one program: the same bits on every target, and it learns.
 */
import { describe, expect, test } from "vitest";
import type { A2c } from "../../src/algorithms/a2c.ts";
import { a2cPresets, a2cSchema } from "../../src/algorithms/a2c.ts";
import type { OnPolicyOptions } from "../../src/algorithms/onPolicy.ts";
import { ALGORITHMS } from "../../src/algorithms/registry.ts";
import { environment } from "../../src/envs/index.ts";
import { TARGETS } from "../tensor/support.ts";

const make = (config: object, options: OnPolicyOptions): A2c =>
  ALGORITHMS.a2c.make(environment("CartPole-v1"), a2cSchema.parse(config), options) as A2c;

test("every target gives the same bits, in one crossing per iteration", () => {
  const found = TARGETS.map((target) => {
    const a2c = make({ netArch: [16], rmsprop: "tensorflow" }, { totalSteps: 400, target, numerics: "unfused" });
    const told = Array.from({ length: 10 }, () => a2c.iterate());
    expect(a2c.crossings).toBe(10);
    return { told, parameters: Array.from(a2c.parameters.arena.array) };
  });
  for (const other of found.slice(1)) expect(other).toEqual(found[0]);
});

describe("learns CartPole", () => {
  test.each([1, 2, 3])("from seed %i", (seed) => {
    const a2c = make(a2cPresets.rlox, { totalSteps: 60_000, threads: 1, seed });
    let best = 0;
    for (let k = 0; k < 1500; k++) best = Math.max(best, a2c.iterate().episode_return || 0);
    // Random play lasts about 22 steps.
    expect(best).toBeGreaterThan(150);
  });
});
