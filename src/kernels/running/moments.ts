/**
 * @file Running mean and variance of numbers (Welford 1962) and of vectors, with merging (Chan et al. 1979).
 *
 * Variances are those of the population. Single numbers are folded in by plain JavaScript, whose few operations cost
 * less than a call into compiled code; batches are reduced by a kernel and merged.
 */
import { f64 } from "../../kernel/declare.ts";
import { allocate, kernel } from "../../kernel/kernel.ts";
import { needAmount, needCount, needNumber, needParts } from "../checks.ts";
import { DataError } from "../errors.ts";
import { type Floats, floatType, output, type RunChoice, rounding, Variants } from "../inputs.ts";
import { momentsOf } from "../moments.ts";
import { storedNumber, storedNumbers, storedRecord } from "./checks.ts";

/** Below this deviation a value counts as constant. */
const SMALLEST_DEVIATION = 1e-8;

const batchKernel = new Variants((type) =>
  kernel(
    { values: type.array(), out: f64.array(2), momentsOf },
    ({ values, out, momentsOf }, { parallel }) => {
      const { mean, squares } = momentsOf(values, parallel);
      out[0] = mean;
      out[1] = squares;
    },
    { name: "batchMoments" },
  ),
);
let batch: Float64Array | undefined;

export interface MomentsState {
  readonly kind: "RunningMoments";
  readonly count: number;
  readonly mean: number;
  /** The sum of squared distances from the mean. */
  readonly squares: number;
}

/** Mean and variance of numbers seen so far. */
export class RunningMoments {
  #count = 0;
  #mean = 0;
  #squares = 0;

  get count(): number {
    return this.#count;
  }
  /** 0 before the first number. */
  get mean(): number {
    return this.#mean;
  }
  get variance(): number {
    return this.#count > 0 ? this.#squares / this.#count : 0;
  }
  get deviation(): number {
    return Math.sqrt(this.variance);
  }

  update(x: number): void {
    this.#count++;
    const before = x - this.#mean;
    this.#mean += before / this.#count;
    this.#squares += before * (x - this.#mean);
  }

  /** Many at once: reduced by a kernel, then merged. */
  updateBatch(values: Floats, choice: RunChoice = {}): void {
    const type = floatType("RunningMoments", "values", values);
    if (values.length === 0) return;
    batch ??= allocate(f64, 2);
    batchKernel.runner(choice, type)({ values, out: batch });
    this.#merge(values.length, batch[0] as number, batch[1] as number);
  }

  /** Takes in what another has seen. */
  merge(other: RunningMoments): void {
    this.#merge(other.#count, other.#mean, other.#squares);
  }

  #merge(count: number, mean: number, squares: number): void {
    if (count === 0) return;
    const total = this.#count + count;
    const apart = mean - this.#mean;
    this.#mean += (apart * count) / total;
    this.#squares += squares + (apart * apart * this.#count * count) / total;
    this.#count = total;
  }

  /** (x - mean) / deviation; 0 as long as the values do not vary. */
  normalise(x: number): number {
    const { deviation } = this;
    return deviation < SMALLEST_DEVIATION ? 0 : (x - this.#mean) / deviation;
  }

  reset(): void {
    this.#count = 0;
    this.#mean = 0;
    this.#squares = 0;
  }

  toJSON(): MomentsState {
    return { kind: "RunningMoments", count: this.#count, mean: this.#mean, squares: this.#squares };
  }

  static fromJSON(state: unknown): RunningMoments {
    const kind = "RunningMoments";
    const record = storedRecord(kind, state);
    const made = new RunningMoments();
    made.#count = storedNumber(kind, "count", record.count, { from: 0, whole: true });
    made.#mean = storedNumber(kind, "mean", record.mean);
    made.#squares = storedNumber(kind, "squares", record.squares, { from: 0 });
    return made;
  }
}

/** Columns are lanes: each reduces its own numbers, and merges them into what was known. */
const rowsKernel = new Variants((type) =>
  kernel(
    { rows: type.array(), mean: f64.array(), variance: f64.array(), known: f64 },
    ({ rows, mean, variance, known }, { parallel }) => {
      const dimension = mean.length;
      const count = (rows.length / dimension) | 0;
      const total = known + count;
      parallel(dimension, (d) => {
        let sum = 0;
        for (let r = 0; r < count; r++) sum += Number(rows[r * dimension + d]!);
        const batchMean = sum / count;
        let squares = 0;
        for (let r = 0; r < count; r++) {
          const from = Number(rows[r * dimension + d]!) - batchMean;
          squares += from * from;
        }
        const apart = batchMean - mean[d]!;
        const both = variance[d]! * known + squares + (apart * apart * known * count) / total;
        mean[d] = mean[d]! + (apart * count) / total;
        variance[d] = both / total;
      });
    },
    { name: "rowMoments" },
  ),
);

const normaliseKernel = new Variants((type) =>
  kernel(
    {
      rows: type.array(),
      mean: f64.array(),
      variance: f64.array(),
      out: type.array(),
      epsilon: f64,
      least: f64,
      clip: f64,
      round: rounding(type),
    },
    ({ rows, mean, variance, out, epsilon, least, clip, round }, { parallel }) => {
      const dimension = mean.length;
      const count = (rows.length / dimension) | 0;
      for (let r = 0; r < count; r++) {
        parallel(dimension, (d) => {
          const at = r * dimension + d;
          const deviation = Math.max(Math.sqrt(variance[d]! + epsilon), least);
          const scaled = (Number(rows[at]!) - mean[d]!) / deviation;
          out[at] = round(Math.min(Math.max(scaled, -clip), clip));
        });
      }
    },
    { name: "normaliseRows" },
  ),
);

export interface VectorMomentsOptions {
  /** How much weight the starting variance of 1 has; none (and a variance of 0) unless given. SB3 uses 1e-4. */
  readonly initialCount?: number;
}
export interface VectorMomentsState {
  readonly kind: "RunningVectorMoments";
  readonly count: number;
  readonly mean: readonly number[];
  readonly variance: readonly number[];
}
export interface NormaliseRowsOptions extends RunChoice {
  /** Added to the variance; 0 unless given. */
  readonly epsilon?: number;
  /** The smallest deviation; 1e-8 unless given. */
  readonly least?: number;
  /** Results are kept between -clip and clip; not clipped unless given. */
  readonly clip?: number;
}

/** Mean and variance of each number of vectors seen so far. */
export class RunningVectorMoments {
  readonly dimension: number;
  /** The means, which every update changes in place. */
  readonly mean: Float64Array;
  readonly variance: Float64Array;
  #count: number;

  constructor(dimension: number, options: VectorMomentsOptions = {}) {
    const { initialCount = 0 } = options;
    needCount("RunningVectorMoments", "dimension", dimension, 1);
    needAmount("RunningVectorMoments", "initialCount", initialCount);
    this.dimension = dimension;
    this.mean = allocate(f64, dimension);
    this.variance = allocate(f64, dimension).fill(initialCount > 0 ? 1 : 0);
    this.#count = initialCount;
  }

  /** Vectors seen so far, and the weight of the start. */
  get count(): number {
    return this.#count;
  }

  /** One vector or several, one after the other. */
  update(rows: Floats, choice: RunChoice = {}): void {
    const type = floatType("RunningVectorMoments", "rows", rows);
    const count = needParts("RunningVectorMoments", "rows", rows, "dimension", this.dimension);
    if (count === 0) return;
    const { mean, variance } = this;
    rowsKernel.runner(choice, type)({ rows, mean, variance, known: this.#count });
    this.#count += count;
  }

  /** Takes in what another has seen. */
  merge(other: RunningVectorMoments): void {
    if (other.dimension !== this.dimension)
      throw new DataError(`RunningVectorMoments: vectors of ${other.dimension} do not merge with ${this.dimension}`);
    const [mine, theirs] = [this.#count, other.#count];
    const total = mine + theirs;
    if (theirs === 0) return;
    for (let d = 0; d < this.dimension; d++) {
      const apart = (other.mean[d] as number) - (this.mean[d] as number);
      const both = (this.variance[d] as number) * mine + (other.variance[d] as number) * theirs;
      this.variance[d] = (both + (apart * apart * mine * theirs) / total) / total;
      this.mean[d] = (this.mean[d] as number) + (apart * theirs) / total;
    }
    this.#count = total;
  }

  /** (x - mean) / deviation, number by number. */
  normalise<A extends Floats>(rows: A, out?: A, options: NormaliseRowsOptions = {}): A {
    const who = "RunningVectorMoments";
    const type = floatType(who, "rows", rows);
    const { epsilon = 0, least = SMALLEST_DEVIATION, clip = Number.POSITIVE_INFINITY } = options;
    const { mean, variance } = this;
    needAmount(who, "epsilon", epsilon);
    needAmount(who, "least", least);
    needNumber(who, "clip", clip, clip > 0, "a number above 0");
    const count = needParts(who, "rows", rows, "dimension", this.dimension);
    const result = output(who, "out", out, rows);
    if (count > 0) normaliseKernel.runner(options, type)({ rows, mean, variance, out: result, epsilon, least, clip });
    return result;
  }

  toJSON(): VectorMomentsState {
    return { kind: "RunningVectorMoments", count: this.#count, mean: [...this.mean], variance: [...this.variance] };
  }

  static fromJSON(state: unknown): RunningVectorMoments {
    const kind = "RunningVectorMoments";
    const record = storedRecord(kind, state);
    const length = Array.isArray(record.mean) ? record.mean.length : 0;
    const mean = storedNumbers(kind, "mean", record.mean, Math.max(1, length));
    const variance = storedNumbers(kind, "variance", record.variance, mean.length, { from: 0 });
    const count = storedNumber(kind, "count", record.count, { from: 0 });
    const made = new RunningVectorMoments(mean.length);
    made.mean.set(mean);
    made.variance.set(variance);
    made.#count = count;
    return made;
  }
}
