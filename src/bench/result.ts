/**
 * @file The document a bench run writes: rows, comparisons, bars, what was skipped, and the system it ran on.
 *
 * Keys are in snake case, as in the result files of other benchmark tools, so that the same scripts read both.
 */
import { type Ratio, type Summary, speedup, summarise } from "./statistics.ts";
import type { SystemBlock } from "./system.ts";

export type Params = { readonly [name: string]: string | number | boolean };

export interface ResultRow {
  readonly name: string;
  readonly category: string;
  readonly framework: string;
  readonly params: Params;
  readonly median_ns: number;
  readonly mean_ns: number;
  readonly p25_ns: number;
  readonly p75_ns: number;
  readonly p99_ns: number;
  readonly min_ns: number;
  readonly max_ns: number;
  readonly iqr_ns: number;
  readonly n_samples: number;
  /** Items (elements, steps, calls) per second at the median. */
  readonly throughput_per_s: number;
}

export interface Comparison {
  readonly benchmark: string;
  readonly ours_median_ns: number;
  readonly baseline_median_ns: number;
  readonly baseline_framework: string;
  readonly speedup: number;
  readonly speedup_ci_95_lo: number;
  readonly speedup_ci_95_hi: number;
  /** The interval does not hold 1. */
  readonly significant: boolean;
}

/** A stated performance bar, and what this run measured. */
export interface Bar {
  readonly id: string;
  readonly what: string;
  /** Such as ">= 0.9x", "<= 30 ms", or "a figure in %" for one that is only told. */
  readonly required: string;
  readonly measured: number | null;
  readonly met: boolean;
  readonly reason?: string;
}

export interface Skipped {
  readonly what: string;
  readonly reason: string;
}

export interface Report {
  readonly suite: string;
  readonly quick: boolean;
  readonly system: SystemBlock;
  readonly results: readonly ResultRow[];
  readonly comparisons: readonly Comparison[];
  readonly bars: readonly Bar[];
  readonly skipped: readonly Skipped[];
}

export interface RowHead {
  readonly name: string;
  readonly category: string;
  readonly framework: string;
  readonly params: Params;
}

/** Four significant figures of a nanosecond are more than a clock gives. */
const round = (x: number): number => Number(x.toPrecision(6));

/** One row from samples in nanoseconds per call; `items` is how much work one call does. */
export function makeRow(head: RowHead, samples: readonly number[], items: number): ResultRow {
  const summary: Summary = summarise(samples);
  return {
    ...head,
    median_ns: round(summary.median),
    mean_ns: round(summary.mean),
    p25_ns: round(summary.p25),
    p75_ns: round(summary.p75),
    p99_ns: round(summary.p99),
    min_ns: round(summary.min),
    max_ns: round(summary.max),
    iqr_ns: round(summary.p75 - summary.p25),
    n_samples: samples.length,
    throughput_per_s: round((items * 1e9) / summary.median),
  };
}

export function makeComparison(
  benchmark: string,
  ours: readonly number[],
  baseline: readonly number[],
  baselineFramework: string,
): Comparison {
  const ratio: Ratio = speedup(ours, baseline);
  return {
    benchmark,
    ours_median_ns: round(summarise(ours).median),
    baseline_median_ns: round(summarise(baseline).median),
    baseline_framework: baselineFramework,
    speedup: round(ratio.ratio),
    speedup_ci_95_lo: round(ratio.low),
    speedup_ci_95_hi: round(ratio.high),
    significant: ratio.low > 1 || ratio.high < 1,
  };
}

/** A figure that is to be told, whatever it is. */
export interface FigureSpec {
  readonly id: string;
  readonly what: string;
  readonly unit: "x" | "us" | "ms" | "s" | "ns" | "%";
}
/** What a bar asks: a number with its unit, and which side of it is good. */
export interface BarSpec extends FigureSpec {
  readonly relation: ">=" | "<=";
  readonly limit: number;
}

function requiredOf(spec: BarSpec | FigureSpec): string {
  if (!("limit" in spec)) return `a figure in ${spec.unit}`;
  return `${spec.relation} ${spec.limit}${spec.unit === "x" ? "x" : ` ${spec.unit}`}`;
}
function isMet(spec: BarSpec | FigureSpec, measured: number): boolean {
  if (!("limit" in spec)) return true;
  return spec.relation === ">=" ? measured >= spec.limit : measured <= spec.limit;
}

/** A bar with its figure, in the bar's own unit; with a reason instead where there is none. */
export function makeBar(spec: BarSpec | FigureSpec, measured: number | { readonly reason: string }): Bar {
  const head = { id: spec.id, what: spec.what, required: requiredOf(spec) };
  if (typeof measured !== "number") return { ...head, measured: null, met: false, reason: measured.reason };
  if (!Number.isFinite(measured)) return { ...head, measured: null, met: false, reason: `measured ${measured}` };
  return { ...head, measured: round(measured), met: isMet(spec, measured) };
}
