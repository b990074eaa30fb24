/**
 * @file The coefficient of a KL penalty, steered so that the measured divergence stays near a target.
 */
import { DataError } from "../errors.ts";

export interface KlControllerOptions {
  /** The coefficient to begin with. */
  readonly initial: number;
  /** The divergence to hold. */
  readonly target: number;
  /** How far off the target may be, as a factor, before anything is done; 1.5 unless given. */
  readonly band?: number | undefined;
  /** What the coefficient is multiplied with or divided by; 2 unless given. */
  readonly factor?: number | undefined;
}

const checkAbove = (what: string, value: number, least: number): number => {
  if (value > least && value < Number.POSITIVE_INFINITY) return value;
  throw new DataError(`AdaptiveKlController: ${what} is ${value}: it must be a finite number above ${least}`);
};

/** The coefficient stays within these: at 0 or infinity no factor would ever move it again. */
const LEAST = 2 ** -1022;
const MOST = Number.MAX_VALUE;

/** Doubles the coefficient when KL is above 1.5 times its target, halves it when it is below the target over 1.5. */
export class AdaptiveKlController {
  readonly target: number;
  readonly band: number;
  readonly factor: number;
  #coefficient: number;

  constructor({ initial, target, band = 1.5, factor = 2 }: KlControllerOptions) {
    this.#coefficient = checkAbove("initial", initial, 0);
    this.target = checkAbove("target", target, 0);
    this.band = checkAbove("band", band, 1);
    this.factor = checkAbove("factor", factor, 1);
  }

  get coefficient(): number {
    return this.#coefficient;
  }

  /** Takes a measured divergence into account; returns the coefficient from now on. */
  update(kl: number): number {
    if (Number.isNaN(kl))
      throw new DataError("AdaptiveKlController: the measured KL is NaN: look for its source first");
    if (kl > this.band * this.target) this.#coefficient = Math.min(this.#coefficient * this.factor, MOST);
    else if (kl < this.target / this.band) this.#coefficient = Math.max(this.#coefficient / this.factor, LEAST);
    return this.#coefficient;
  }

  /** Options that make a controller which continues from here. */
  toJSON(): Required<KlControllerOptions> {
    return { initial: this.#coefficient, target: this.target, band: this.band, factor: this.factor };
  }
}
