/**
 * @file Batches of a buffer: made once per size, bound to the program that fills them, checked when they come back.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { checkCount } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import type { BoundBatch, Sampler } from "./gather.ts";

const BOUND: unique symbol = Symbol("lockstep.batch");
interface Marked {
  readonly [BOUND]?: { readonly bound: BoundBatch; readonly owner: object };
}

const emptyLike = (array: TypedArray | undefined): TypedArray => (array ?? new Float32Array(0)).subarray(0, 0);

/** The batches of one buffer; `B` is what its users see of one. */
export class Batches<B extends object> {
  readonly #sampler: Sampler;
  /** Rows of a batch of a size: more than one for each where windows are sampled. */
  readonly #rows: (size: number) => number;
  readonly #own = new Map<number, B>();
  readonly #made: BoundBatch[] = [];

  constructor(sampler: Sampler, rows: (size: number) => number = (size) => size) {
    this.#sampler = sampler;
    this.#rows = rows;
  }

  /** A new batch. Its arrays may be given, such as parts of the arrays of a larger one. */
  create(size: number, place?: Parameters<Sampler["bind"]>[1]): B {
    const bound = this.#sampler.bind(this.#rows(checkCount("the size of a batch", size, 1)), place);
    this.#made.push(bound);
    const { index, arrays } = bound;
    const missing = arrays.nextObservation ? {} : { nextObservation: emptyLike(arrays.observation) };
    const batch = { size, index, ...missing, ...arrays };
    return Object.defineProperty(batch, BOUND, { value: { bound, owner: this } }) as unknown as B;
  }

  /** The buffer's own batch of a size. */
  own(size: number): B {
    let found = this.#own.get(size);
    if (found === undefined) {
      found = this.create(size);
      this.#own.set(size, found);
    }
    return found;
  }

  /** What fills a batch; a DataError when it belongs to another buffer. */
  bound(batch: B): BoundBatch {
    const found = (batch as Marked)[BOUND];
    if (found?.owner !== this)
      throw new DataError("sampleInto: this batch was not made by this buffer; make one with createBatch(size)");
    return found.bound;
  }

  dispose(): void {
    for (const bound of this.#made.splice(0)) bound.dispose();
    this.#own.clear();
  }
}
