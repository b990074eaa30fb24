/**
 * @file Preference pairs: a prompt with a chosen and a rejected completion, as tokens.
 *
 * Tokens of all pairs lie in one growing array, so that a set of a million pairs is a few objects; a pair that is read
 * is three views of it.
 */
import { needTokens } from "../checks.ts";
import { DataError } from "../errors.ts";

/** One preference. */
export interface DpoPair {
  readonly prompt: Uint32Array;
  readonly chosen: Uint32Array;
  readonly rejected: Uint32Array;
}

/** What a pair is made from. */
export interface PairTokens {
  readonly prompt: ArrayLike<number>;
  readonly chosen: ArrayLike<number>;
  readonly rejected: ArrayLike<number>;
}

const PARTS = ["prompt", "chosen", "rejected"] as const;
const FIRST_TOKENS = 1024;
const FIRST_PAIRS = 32;

const grown = (array: Uint32Array, needed: number): Uint32Array => {
  if (needed <= array.length) return array;
  const larger = new Uint32Array(Math.max(needed, 2 * array.length));
  larger.set(array);
  return larger;
};

export class DpoPairs {
  #tokens: Uint32Array = new Uint32Array(FIRST_TOKENS);
  /** Where the parts begin, three per pair, and where the last one ends. */
  #starts: Uint32Array = new Uint32Array(3 * FIRST_PAIRS + 1);
  #length = 0;

  /** Pairs so far. */
  get length(): number {
    return this.#length;
  }

  /** Tokens so far, of all parts together. */
  get tokenCount(): number {
    return this.#starts[3 * this.#length] as number;
  }

  /** Copies a pair in; returns its index. Completions must not be empty: there would be nothing to prefer. */
  push(pair: PairTokens): number {
    for (const part of PARTS) needTokens("DpoPairs", part, pair[part]);
    for (const part of ["chosen", "rejected"] as const)
      if (pair[part].length === 0) throw new DataError(`DpoPairs: ${part} is empty: a completion has tokens`);
    let at = this.tokenCount;
    this.#tokens = grown(this.#tokens, at + pair.prompt.length + pair.chosen.length + pair.rejected.length);
    this.#starts = grown(this.#starts, 3 * this.#length + 4);
    PARTS.forEach((part, k) => {
      this.#tokens.set(pair[part], at);
      at += pair[part].length;
      this.#starts[3 * this.#length + k + 1] = at;
    });
    return this.#length++;
  }

  /** Views of a pair's tokens; they stay as they are when further pairs are added. */
  at(index: number): DpoPair {
    const [prompt, chosen, rejected] = [this.#part(index, 0, 0), this.#part(index, 1, 1), this.#part(index, 2, 2)];
    return { prompt, chosen, rejected };
  }

  /** The prompt and the chosen completion as one sequence, without a copy. */
  chosenSequence(index: number): Uint32Array {
    return this.#part(index, 0, 1);
  }

  /** The prompt and the rejected completion as one sequence. */
  rejectedSequence(index: number): Uint32Array {
    const { prompt, rejected } = this.at(index);
    const sequence = new Uint32Array(prompt.length + rejected.length);
    sequence.set(prompt);
    sequence.set(rejected, prompt.length);
    return sequence;
  }

  *[Symbol.iterator](): IterableIterator<DpoPair> {
    for (let i = 0; i < this.#length; i++) yield this.at(i);
  }

  /** Parts `first` to `last` of a pair, which lie next to each other. */
  #part(index: number, first: number, last: number): Uint32Array {
    if (!(Number.isInteger(index) && index >= 0 && index < this.#length))
      throw new DataError(`DpoPairs: there is no pair ${index}: there are ${this.#length}`);
    return this.#tokens.subarray(this.#starts[3 * index + first], this.#starts[3 * index + last + 1]);
  }
}
