/**
 * @file Layers, losses, functions, reductions and indexing against golden values and gradients, in every way to run.
 */
import { describe, expect, test } from "vitest";
import { faultsOf, GOLDEN_MODES, readCases } from "./golden.ts";
import { OPERATIONS } from "./operations.ts";

const cases = readCases("nn.json.gz");

describe("golden cases of networks", () => {
  for (const mode of GOLDEN_MODES)
    test(JSON.stringify(mode), () => expect(faultsOf(cases, OPERATIONS, mode)).toEqual([]));
});
