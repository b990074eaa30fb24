/**
 * @file What a suite is, and the recorder it writes to while it runs.
 *
 * A suite brings workloads; timing, rows, comparisons, gates and bars are the recorder's. A workload whose gate
 * fails is not timed: it is recorded as failed, its bars have no figure, and the run ends with exit code 1.
 */
import { UsageError } from "../platform/errors.ts";
import { didYouMean } from "../platform/suggest.ts";
import { median } from "../stats/index.ts";
import { GateError } from "./gate.ts";
import {
  type Bar,
  type BarSpec,
  type Comparison,
  type FigureSpec,
  makeBar,
  makeComparison,
  makeRow,
  type Params,
  type Report,
  type ResultRow,
  type RowHead,
  type Skipped,
} from "./result.ts";
import { systemBlock } from "./system.ts";
import { type Arm, FULL, measure, measureEach, measureTurns, QUICK, type TimingOptions } from "./timing.ts";

export interface BenchOptions {
  readonly quick: boolean;
  readonly peers: boolean;
  /** Threads for arms that a suite adds to those on one thread. */
  readonly threads?: number;
  /** Where progress lines go. */
  readonly say: (line: string) => void;
  /** Replaces the timing that `quick` implies. */
  readonly timing?: TimingOptions;
}

export interface Suite {
  readonly name: string;
  readonly what: string;
  run(recorder: Recorder): Promise<void>;
}

export interface Workload {
  readonly name: string;
  readonly category: string;
  readonly params: Params;
  /** What one call works on, for the throughput: elements, steps, calls. */
  readonly items: number;
  readonly arms: readonly Arm[];
  /** Checks that all arms compute the same numbers; throws a GateError otherwise. */
  readonly gate?: () => void;
}

/** Samples by framework; empty when the workload's gate failed. */
export type Samples = ReadonlyMap<string, readonly number[]>;

export class Recorder {
  readonly #results: ResultRow[] = [];
  readonly #comparisons: Comparison[] = [];
  readonly #bars: Bar[] = [];
  readonly #skipped: Skipped[] = [];
  readonly #versions: { [name: string]: string } = {};
  #failures = 0;
  readonly options: BenchOptions;
  readonly timing: TimingOptions;

  constructor(options: BenchOptions) {
    this.options = options;
    this.timing = options.timing ?? (options.quick ? QUICK : FULL);
  }

  say(line: string): void {
    this.options.say(line);
  }

  /** Gate, then interleaved timing of all arms, then a row for each. */
  workload(workload: Workload): Promise<Samples> {
    return this.#measured(workload, () => measure(workload.arms, this.timing));
  }

  /** The same, with every one of `calls` calls timed by itself. */
  latencies(workload: Workload, calls: number): Promise<Samples> {
    return this.#measured(workload, () => measureEach(workload.arms, calls));
  }

  /** The same for work that takes seconds: so many rounds of one call of each arm, without warm-up. */
  turns(workload: Workload, rounds: number): Promise<Samples> {
    return this.#measured(workload, () => measureTurns(workload.arms, rounds));
  }

  async #measured(workload: Workload, take: () => Promise<Samples>): Promise<Samples> {
    this.say(`${workload.name}: ${workload.arms.map((arm) => arm.framework).join(", ")}`);
    if (!this.passes(workload.name, workload.gate)) return new Map();
    const samples = await take();
    for (const [framework, values] of samples) this.samples({ ...workload, framework }, values, workload.items);
    return samples;
  }

  /** Whether a gate holds; when not, that is noted, and the run ends with exit code 1. */
  passes(what: string, check: (() => void) | undefined): boolean {
    try {
      check?.();
      return true;
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      this.#failures++;
      this.skip(what, `gate: ${error.message}`);
      return false;
    }
  }

  /** A row from samples in nanoseconds per call, however they were taken. */
  samples(head: RowHead, ns: readonly number[], items: number): void {
    const { name, category, framework, params } = head;
    this.#results.push(makeRow({ name, category, framework, params }, ns, items));
  }

  /** Ours against a baseline; the ratio, or undefined when one of them was not measured. */
  compare(benchmark: string, samples: Samples, ours: string, baseline: string): number | undefined {
    const oursNs = samples.get(ours);
    const baselineNs = samples.get(baseline);
    if (oursNs === undefined || baselineNs === undefined) return undefined;
    const comparison = makeComparison(benchmark, oursNs, baselineNs, baseline);
    this.#comparisons.push(comparison);
    return comparison.speedup;
  }

  /** States a bar, or a figure to be told; without a figure it is not met, and `reason` says why there is none. */
  bar(spec: BarSpec | FigureSpec, measured: number | undefined, reason = "not measured in this run"): void {
    this.#bars.push(makeBar(spec, measured ?? { reason }));
  }

  skip(what: string, reason: string): void {
    this.#skipped.push({ what, reason });
    this.say(`skipped ${what}: ${reason}`);
  }

  version(name: string, value: string): void {
    this.#versions[name] = value;
  }

  /** Workloads whose sides did not agree. */
  get failures(): number {
    return this.#failures;
  }

  report(suite: string): Report {
    return {
      suite,
      quick: this.options.quick,
      system: systemBlock(this.#versions),
      results: this.#results,
      comparisons: this.#comparisons,
      bars: this.#bars,
      skipped: this.#skipped,
    };
  }
}

/** The median of a framework's samples in nanoseconds, undefined when it was not measured. */
export function medianOf(samples: Samples, framework: string): number | undefined {
  const values = samples.get(framework);
  return values === undefined ? undefined : median(values);
}

/** The one of some frameworks with the lowest median; undefined when none of them was measured. */
export function fastestOf(samples: Samples, frameworks: readonly string[]): string | undefined {
  const measured = frameworks.filter((framework) => samples.has(framework));
  return measured.sort((a, b) => (medianOf(samples, a) as number) - (medianOf(samples, b) as number))[0];
}

export function findSuite(name: string, suites: readonly Suite[]): Suite {
  const found = suites.find((suite) => suite.name === name);
  if (found !== undefined) return found;
  const names = suites.map((suite) => suite.name);
  throw new UsageError(`There is no suite "${name}".${didYouMean(name, names)} Suites: ${names.join(", ")}.`);
}

/** Runs one suite; `failures` counts gates that did not hold. */
export async function runSuite(suite: Suite, options: BenchOptions): Promise<{ report: Report; failures: number }> {
  const recorder = new Recorder(options);
  await suite.run(recorder);
  return { report: recorder.report(suite.name), failures: recorder.failures };
}
