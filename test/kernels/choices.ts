/**
 * @file Where the tests of the data plane run each function: results must not depend on it.
 */
import type { RunChoice } from "../../src/kernels/inputs.ts";
import { availability, TARGET_NAMES } from "../../src/runtime/targets.ts";

/** Every target that works here, and two threads where there are threads. */
export const CHOICES: readonly RunChoice[] = TARGET_NAMES.filter((name) => availability(name).target).flatMap(
  (target): RunChoice[] =>
    target === "js"
      ? [{ target }]
      : [
          { target, threads: 1 },
          { target, threads: 2 },
        ],
);
