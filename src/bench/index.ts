/**
 * @file What `import "lockstep/bench"` gives: the harness, for suites of one's own.
 */

export { median, quantile } from "../stats/index.ts";
export { EXACT, GateError, gate, type Tolerance } from "./gate.ts";
export { compareReports, comparisonToMarkdown, toMarkdown } from "./report.ts";
export type { Bar, BarSpec, Comparison, Params, Report, ResultRow, Skipped } from "./result.ts";
export { speedup, summarise } from "./statistics.ts";
export { parseReport } from "./stored.ts";
export { type BenchOptions, medianOf, Recorder, runSuite, type Samples, type Suite, type Workload } from "./suite.ts";
export { type Arm, FULL, measure, QUICK, type TimingOptions } from "./timing.ts";
