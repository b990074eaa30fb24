/**
 * @file Detectors of change in a stream of numbers: CUSUM (Page 1954) in both directions, and Page-Hinkley for a rise.
 *
 * A few operations per number: plain JavaScript. Sums remember every number, so one that is not finite is refused: it
 * would silence a detector, or let it raise alarms, for good.
 */
import { needAmount, needCount, needNumber } from "../checks.ts";
import { storedNumber, storedRecord } from "./checks.ts";

const needFinite = (who: string, name: string, x: number): void =>
  needNumber(who, name, x, Number.isFinite(x), "a finite number");

/** All are checked before one is taken. */
function needAllFinite(who: string, values: ArrayLike<number>): void {
  for (let i = 0; i < values.length; i++)
    if (!Number.isFinite(values[i])) needFinite(who, `values[${i}]`, values[i] as number);
}

/** Both detectors have these two. */
function needLimits(who: string, slack: number, threshold: number): void {
  needAmount(who, "slack", slack);
  needNumber(who, "threshold", threshold, threshold > 0 && Number.isFinite(threshold), "a finite number above 0");
}

export interface CusumOptions {
  /** The mean as long as nothing changes; 0 unless given. With `burnIn`, only until that is known. */
  readonly mean?: number;
  /** How far from the mean a number may lie without adding to the sums. */
  readonly slack: number;
  /** A sum above this is an alarm. */
  readonly threshold: number;
  /** So many first numbers set the mean and raise no alarm; none unless given. */
  readonly burnIn?: number;
}
export interface CusumState {
  readonly kind: "CusumDetector";
  readonly mean: number;
  readonly slack: number;
  readonly threshold: number;
  readonly burnIn: number;
  readonly seen: number;
  readonly up: number;
  readonly down: number;
}

/** Sums of what lies above, and of what lies below the mean; an alarm when one of them exceeds the threshold. */
export class CusumDetector {
  readonly slack: number;
  readonly threshold: number;
  readonly burnIn: number;
  #mean: number;
  /** Numbers of the burn-in taken so far. */
  #seen = 0;
  #up = 0;
  #down = 0;

  constructor(options: CusumOptions) {
    const who = "CusumDetector";
    const { mean = 0, slack, threshold, burnIn = 0 } = options;
    needFinite(who, "mean", mean);
    needLimits(who, slack, threshold);
    needCount(who, "burnIn", burnIn, 0);
    this.#mean = mean;
    this.slack = slack;
    this.threshold = threshold;
    this.burnIn = burnIn;
  }

  get mean(): number {
    return this.#mean;
  }
  /** The sum of what lay above the mean. */
  get up(): number {
    return this.#up;
  }
  get down(): number {
    return this.#down;
  }
  /** Whether the mean is still being found. */
  get burningIn(): boolean {
    return this.#seen < this.burnIn;
  }

  /** Takes a number; whether it raises an alarm. */
  update(x: number): boolean {
    needFinite("CusumDetector", "x", x);
    if (this.burningIn) {
      this.#seen++;
      const before = this.#seen === 1 ? 0 : this.#mean;
      this.#mean = before + (x - before) / this.#seen;
      return false;
    }
    this.#up = Math.max(0, this.#up + x - this.#mean - this.slack);
    this.#down = Math.max(0, this.#down - x + this.#mean - this.slack);
    return this.#up > this.threshold || this.#down > this.threshold;
  }

  /** Takes numbers up to the first alarm; its position, or -1. */
  updateBatch(values: ArrayLike<number>): number {
    needAllFinite("CusumDetector", values);
    for (let i = 0; i < values.length; i++) if (this.update(values[i] as number)) return i;
    return -1;
  }

  /** Starts over from the mean that is known; a burn-in that was complete stays so. */
  reset(): void {
    this.#up = 0;
    this.#down = 0;
  }

  /** Sets the mean; a burn-in is over then. */
  setMean(mean: number): void {
    needFinite("CusumDetector", "mean", mean);
    this.#mean = mean;
    this.#seen = this.burnIn;
  }

  toJSON(): CusumState {
    const { slack, threshold, burnIn } = this;
    const [mean, seen, up, down] = [this.#mean, this.#seen, this.#up, this.#down];
    return { kind: "CusumDetector", mean, slack, threshold, burnIn, seen, up, down };
  }

  static fromJSON(state: unknown): CusumDetector {
    const kind = "CusumDetector";
    const record = storedRecord(kind, state);
    const number = (name: string): number => storedNumber(kind, name, record[name]);
    const made = new CusumDetector({
      mean: number("mean"),
      slack: number("slack"),
      threshold: number("threshold"),
      burnIn: number("burnIn"),
    });
    made.#seen = storedNumber(kind, "seen", record.seen, { from: 0, to: made.burnIn, whole: true });
    made.#up = storedNumber(kind, "up", record.up, { from: 0 });
    made.#down = storedNumber(kind, "down", record.down, { from: 0 });
    return made;
  }
}

export interface PageHinkleyOptions {
  /** By how much a number may exceed the mean without adding to the sum. */
  readonly slack: number;
  /** A sum that is this much above its lowest is an alarm. */
  readonly threshold: number;
}
export interface PageHinkleyState {
  readonly kind: "PageHinkleyDetector";
  readonly slack: number;
  readonly threshold: number;
  readonly count: number;
  readonly mean: number;
  readonly sum: number;
  readonly lowest: number;
}

/** Sums distances from the running mean; an alarm when the sum has risen above its lowest by the threshold. */
export class PageHinkleyDetector {
  readonly slack: number;
  readonly threshold: number;
  #count = 0;
  #mean = 0;
  #sum = 0;
  #lowest = 0;

  constructor(options: PageHinkleyOptions) {
    const who = "PageHinkleyDetector";
    needLimits(who, options.slack, options.threshold);
    this.slack = options.slack;
    this.threshold = options.threshold;
  }

  get mean(): number {
    return this.#mean;
  }
  /** How far the sum is above its lowest. */
  get rise(): number {
    return this.#sum - this.#lowest;
  }

  /** Takes a number; whether it raises an alarm. */
  update(x: number): boolean {
    needFinite("PageHinkleyDetector", "x", x);
    this.#count++;
    this.#mean += (x - this.#mean) / this.#count;
    this.#sum += x - this.#mean - this.slack;
    this.#lowest = Math.min(this.#lowest, this.#sum);
    return this.rise > this.threshold;
  }

  /** Takes numbers up to the first alarm; its position, or -1. */
  updateBatch(values: ArrayLike<number>): number {
    needAllFinite("PageHinkleyDetector", values);
    for (let i = 0; i < values.length; i++) if (this.update(values[i] as number)) return i;
    return -1;
  }

  reset(): void {
    this.#count = 0;
    this.#mean = 0;
    this.#sum = 0;
    this.#lowest = 0;
  }

  toJSON(): PageHinkleyState {
    const { slack, threshold } = this;
    const [count, mean, sum, lowest] = [this.#count, this.#mean, this.#sum, this.#lowest];
    return { kind: "PageHinkleyDetector", slack, threshold, count, mean, sum, lowest };
  }

  static fromJSON(state: unknown): PageHinkleyDetector {
    const kind = "PageHinkleyDetector";
    const record = storedRecord(kind, state);
    const number = (name: string): number => storedNumber(kind, name, record[name]);
    const made = new PageHinkleyDetector({ slack: number("slack"), threshold: number("threshold") });
    made.#count = storedNumber(kind, "count", record.count, { from: 0, whole: true });
    made.#mean = number("mean");
    made.#sum = number("sum");
    made.#lowest = storedNumber(kind, "lowest", record.lowest, { to: Math.min(0, made.#sum) });
    return made;
  }
}
