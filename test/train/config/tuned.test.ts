/**
 * @file The tuned values belong to environments there are, and fit the algorithms there are.
 */
import { describe, expect, test } from "vitest";
import { ALGORITHMS } from "../../../src/algorithms/registry.ts";
import { environments } from "../../../src/envs/registry.ts";
import { resolveConfig, TUNED } from "../../../src/train/config/index.ts";

const rows = Object.entries(TUNED).flatMap(([algo, byEnv]) =>
  Object.entries(byEnv).map(([env, row]) => ({ algo, env, row })),
);

describe("tuned values", () => {
  test.each(rows)("$algo on $env is for an environment there is", ({ env, row }) => {
    expect(Object.keys(environments)).toContain(env);
    expect(row.steps).toBeGreaterThan(0);
  });
  test.each(rows.filter(({ algo }) => algo in ALGORITHMS))("$algo on $env fits", ({ algo, env, row }) => {
    const { schema, presets } = ALGORITHMS[algo as keyof typeof ALGORITHMS];
    const { run, hyperparameters } = resolveConfig({ schema, presets, algo, env });
    expect({ ...run, ...hyperparameters }).toMatchObject(row);
  });
});
