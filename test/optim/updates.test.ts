/**
 * @file Whole update steps of algorithms against golden values: networks, distributions and optimisers together.
 */
import { describe, expect, test } from "vitest";
import {
  type Case,
  faultsOf,
  GOLDEN_MODES,
  IS_FULL,
  isCutShort,
  type Mode,
  type Runs,
  readCases,
} from "../nn/golden.ts";
import { UPDATES } from "./updates.ts";

const cases = ["ppo.json.gz", "offpolicy.json.gz", "bigram.json"].flatMap(readCases);

/** How many steps a case has, and whether they are all the same. */
function runsOf({ op, expected }: Case): Runs {
  const steps = (expected as { steps?: readonly unknown[] }).steps?.length;
  if (!steps) return {};
  return { runs: steps, gives: "steps", apart: op === "td3_update" };
}

/** Cases that run in the same way, so that they can be recorded together. */
function alike(of: readonly Case[]): readonly (readonly Case[])[] {
  const kinds = [...new Set(of.map((one) => JSON.stringify(runsOf(one))))];
  return kinds.map((kind) => of.filter((one) => JSON.stringify(runsOf(one)) === kind));
}
const faults = (of: readonly Case[], mode: Mode): string[] =>
  alike(of).flatMap((group) => faultsOf(group, UPDATES, mode, { ...runsOf(group[0] as Case), together: 2 }));

/** Whole updates are many operations: one case of each is enough for ways to run that take long. */
const takesLong = (mode: Mode): boolean => isCutShort(mode) || (mode.eager === true && !IS_FULL);

describe("golden updates", () => {
  for (const op of Object.keys(UPDATES))
    for (const mode of GOLDEN_MODES)
      test(`${op}: ${JSON.stringify(mode)}`, () => {
        const own = cases.filter((one) => one.op === op);
        expect(own.length).toBeGreaterThan(0);
        expect(faults(takesLong(mode) ? own.slice(0, 1) : own, mode)).toEqual([]);
      });
});
