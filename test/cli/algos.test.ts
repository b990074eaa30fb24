/**
 * @file `lockstep algos`: every key with its default, what fits it, and names that are not known.
 */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { ALGORITHMS, algorithmKind } from "../../src/algorithms/registry.ts";
import { algos, keysOf } from "../../src/cli/algos.ts";
import { styleFor } from "../../src/cli/text.ts";
import { UsageError } from "../../src/platform/errors.ts";
import { builtFirst, expectPlain, lockstep, ownFolder } from "./command.ts";

const plain = styleFor({});
const NAMES = Object.keys(ALGORITHMS);

builtFirst();
const folder = ownFolder();

describe("the keys of a schema", () => {
  const schema = z.strictObject({
    rate: z.number().min(0).default(0.5).describe("how fast"),
    mode: z.enum(["a", "b"]).default("a"),
    limit: z.int().positive().nullable().default(null),
    falling: z.union([z.number(), z.string().regex(/^lin_\d+$/)]).default("lin_1"),
    inner: z.object({ size: z.int().default(3) }).prefault({}),
    needed: z.string(),
  });
  test("have defaults, types in words and descriptions", () => {
    expect(keysOf(schema)).toEqual([
      { key: "rate", default: 0.5, type: "a number at least 0", description: "how fast" },
      { key: "mode", default: "a", type: '"a" or "b"' },
      { key: "limit", default: null, type: "a whole number above 0 or null" },
      { key: "falling", default: "lin_1", type: 'a number or a text such as "lin_2.5e-4" (it falls to 0)' },
      { key: "inner.size", default: 3, type: "a whole number" },
      { key: "needed", type: "a text" },
    ]);
  });
  test("are those that an algorithm takes, with the values that it takes", () => {
    for (const name of NAMES) {
      const { schema } = algorithmKind(name);
      const defaults = Object.fromEntries(keysOf(schema).map((one) => [one.key, one.default]));
      expect(schema.parse(defaults), name).toEqual(schema.parse({}));
    }
  });
});

describe("as text", () => {
  test.each([undefined, ...NAMES])("of %s fits 80 columns", (name) => {
    expectPlain(algos(name, {}, plain));
  });
  test("of all names titles, presets and defaults", () => {
    const text = algos(undefined, {}, plain);
    expect(text).toMatch(/^ppo {2}proximal policy optimisation$/m);
    expect(text).toMatch(/^ {2}presets +cleanrl, sb3, rlox, benchback$/m);
    expect(text).toContain("gaeLambda=0.95");
  });
  test("of one has a line for each key, each preset and the keys of runs", () => {
    const text = algos("ppo", {}, plain);
    for (const { key } of keysOf(algorithmKind("ppo").schema)) expect(text).toMatch(new RegExp(`^  ${key} `, "m"));
    expect(text).toMatch(/^ {2}batchSize +256 +a whole number above 0$/m);
    expect(text).toMatch(/^ {2}cleanrl +nEnvs=4 batchSize=128 rounding=down bootstrap=never$/m);
    expect(text).toMatch(/^ {2}evalEvery +25000 +steps between evaluations/m);
  });
});

describe("as JSON", () => {
  test("of all and of one", async () => {
    const [all, one] = await Promise.all([
      lockstep(folder, "algos", "--json"),
      lockstep(folder, "algos", "a2c", "--json"),
    ]);
    expect(JSON.parse(all.out).map(({ name }: { name: string }) => name)).toEqual(NAMES);
    const { keys, presets, tuned_for, run_keys } = JSON.parse(one.out);
    expect(keys).toContainEqual({ key: "nSteps", default: 5, type: expect.stringContaining("whole number") });
    expect(presets.rlox).toEqual({ rounding: "down", valueLossScale: 0.5, entCoef: 0.01, bootstrap: "carried" });
    expect(tuned_for).toContain("CartPole-v1");
    expect(run_keys.map(({ key }: { key: string }) => key)).toContain("seed");
  });
});

test("a name that is not known is wrong usage", async () => {
  expect(() => algos("poo", {}, plain)).toThrow(UsageError);
  const { code, out, err } = await lockstep(folder, "algos", "pp0");
  expect(code).toBe(2);
  expect(out).toBe("");
  expect(err).toContain('Did you mean "ppo"?');
});
