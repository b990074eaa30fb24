/**
 * @file Exponential moving mean and variance. A few operations per number: plain JavaScript.
 */

import { needNumber } from "../checks.ts";
import { DataError } from "../errors.ts";
import { storedFlag, storedNumber, storedRecord } from "./checks.ts";

/** How fast the past is forgotten: exactly one of three. */
export type EmaOptions =
  | { readonly alpha: number; readonly window?: undefined; readonly halfLife?: undefined }
  /** As a mean over so many numbers: alpha = 2 / (window + 1). */
  | { readonly window: number; readonly alpha?: undefined; readonly halfLife?: undefined }
  /** The weight of a number halves after so many further ones: alpha = 1 - 0.5^(1 / halfLife). */
  | { readonly halfLife: number; readonly alpha?: undefined; readonly window?: undefined };

export interface EmaState {
  readonly kind: "ExponentialMoments";
  readonly alpha: number;
  readonly started: boolean;
  readonly mean: number;
  readonly variance: number;
}

function alphaOf(options: EmaOptions): number {
  const who = "ExponentialMoments";
  const given = [options.alpha, options.window, options.halfLife].filter((x) => x !== undefined);
  if (given.length !== 1) throw new DataError(`${who}: give exactly one of "alpha", "window" and "halfLife"`);
  if (options.window !== undefined) {
    const fine = options.window >= 1 && options.window < Number.POSITIVE_INFINITY;
    needNumber(who, "window", options.window, fine, "a finite number from 1 on");
    return 2 / (options.window + 1);
  }
  if (options.halfLife !== undefined) {
    const alpha = 1 - 0.5 ** (1 / options.halfLife);
    // Beyond some 1e16 nothing would be forgotten, and nothing learnt.
    needNumber(who, "halfLife", options.halfLife, options.halfLife > 0 && alpha > 0, "a number above 0, up to 1e15");
    return alpha;
  }
  needNumber(who, "alpha", options.alpha, options.alpha > 0 && options.alpha <= 1, "a number above 0, up to 1");
  return options.alpha;
}

/** Mean and variance in which older numbers weigh less and less. */
export class ExponentialMoments {
  readonly alpha: number;
  #started = false;
  #mean = 0;
  #variance = 0;

  constructor(options: EmaOptions) {
    this.alpha = alphaOf(options);
  }

  /** The first number itself after the first; 0 before. */
  get mean(): number {
    return this.#mean;
  }
  get variance(): number {
    return this.#variance;
  }
  get deviation(): number {
    return Math.sqrt(this.#variance);
  }

  update(x: number): void {
    if (!this.#started) {
      this.#started = true;
      this.#mean = x;
      return;
    }
    const apart = x - this.#mean;
    this.#mean += this.alpha * apart;
    this.#variance = (1 - this.alpha) * (this.#variance + this.alpha * apart * apart);
  }

  updateBatch(values: ArrayLike<number>): void {
    for (let i = 0; i < values.length; i++) this.update(values[i] as number);
  }

  reset(): void {
    this.#started = false;
    this.#mean = 0;
    this.#variance = 0;
  }

  toJSON(): EmaState {
    const { alpha } = this;
    return {
      kind: "ExponentialMoments",
      alpha,
      started: this.#started,
      mean: this.#mean,
      variance: this.#variance,
    };
  }

  static fromJSON(state: unknown): ExponentialMoments {
    const kind = "ExponentialMoments";
    const record = storedRecord(kind, state);
    const made = new ExponentialMoments({ alpha: storedNumber(kind, "alpha", record.alpha) });
    made.#started = storedFlag(kind, "started", record.started);
    made.#mean = storedNumber(kind, "mean", record.mean);
    made.#variance = storedNumber(kind, "variance", record.variance, { from: 0 });
    return made;
  }
}
