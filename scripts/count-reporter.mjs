/**
 * @file A vitest reporter that writes how many tests passed and failed to the file that LOCKSTEP_TEST_COUNTS names.
 * `broken` counts what failed outside any test: files that could not be loaded, unhandled errors.
 */
import { writeFileSync } from "node:fs";

export default class CountReporter {
  /**
   * @param {readonly import("vitest/node").TestModule[]} modules
   * @param {readonly unknown[]} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: 0, broken: unhandledErrors.length };
    for (const module of modules) {
      counts.broken += module.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") counts.passed++;
        if (state === "failed") counts.failed++;
      }
      for (const suite of module.children.allSuites()) counts.broken += suite.errors().length;
    }
    const path = process.env.LOCKSTEP_TEST_COUNTS;
    if (path !== undefined) writeFileSync(path, JSON.stringify(counts));
  }
}
