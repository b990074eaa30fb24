import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/setup.ts"],
    // A process per file: engine flags and loaded native libraries stay until their process ends.
    pool: "forks",
    // Half of the time goes into C compilers, which are processes of their own: on two cores, two files at a time.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: process.env.LOCKSTEP_FULL ? 1_800_000 : 120_000,
    hookTimeout: 120_000,
    // Every pass of the compiler is followed by the verifier.
    env: { LOCKSTEP_VERIFY: "1" },
  },
});
