/**
 * @file PrioritizedReplayBuffer: transitions drawn in proportion to priority^alpha, with importance weights.
 *
 * Draws are stratified: one in each of `size` equal parts of the total. Weights are (N P)^-beta, divided by the largest
 * that any stored transition could have. A sample is one call into compiled code (draws, search, weights, gather); an
 * update of priorities is another.
 */
import { checkCount } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import { Batches } from "./batches.ts";
import { type ColumnSpec, type ColumnSpecs, type ColumnView, makeOrRelease } from "./columns.ts";
import { type SeedWords, seedWords, writeKey } from "./draws.ts";
import { type Chooser, Sampler } from "./gather.ts";
import type { ReplayOptions, ReplaySnapshot } from "./replay.ts";
import {
  type BatchArrays,
  checkSaved,
  needStored,
  type PushBatch,
  type PushSlices,
  type Transition,
  TransitionRing,
} from "./ring.ts";
import { drawStrata, findLeaves, SumTree, TREE_CONTROL, weighDraws } from "./sumTree.ts";

export interface PrioritizedOptions<
  O extends ColumnSpec = ColumnSpec,
  A extends ColumnSpec = ColumnSpec,
  X extends ColumnSpecs = ColumnSpecs,
> extends ReplayOptions<O, A, X> {
  /** How much priorities count: 0 is uniform. 0.6 unless given. */
  readonly alpha?: number;
  /** How much of the bias is corrected by weights: 1 is all. 0.4 unless given; may be changed at any time. */
  readonly beta?: number;
}

/** A batch with the weight and the chance of every row. */
export type PrioritizedBatch<O extends ColumnSpec, A extends ColumnSpec, X extends ColumnSpecs> = BatchArrays<
  O,
  A,
  X
> & {
  /** Importance weights, at most 1. */
  readonly weight: Float32Array;
  /** P(i) of the rows. */
  readonly probability: Float64Array;
};

export interface PrioritizedSnapshot extends ReplaySnapshot {
  readonly alpha: number;
  readonly beta: number;
  readonly largest: number;
  /** Leaves (priority^alpha) from the oldest to the newest transition. */
  readonly leaves: Float64Array;
}

function checkExponent(name: string, value: number): number {
  if (value >= 0 && value < Number.POSITIVE_INFINITY) return value;
  throw new DataError(`${name} must be a finite number from 0 on, not ${value}`);
}

export class PrioritizedReplayBuffer<
  O extends ColumnSpec = ColumnSpec,
  A extends ColumnSpec = ColumnSpec,
  X extends ColumnSpecs = Record<never, never>,
> {
  readonly seed: number;
  readonly alpha: number;
  /** The number of the next sample; may be set to take a sample again. */
  calls = 0;
  /** The trees over the slots; leaves are priority^alpha. */
  readonly tree: SumTree;
  readonly #ring: TransitionRing;
  readonly #write: PushSlices;
  readonly #writeBatch: PushBatch;
  readonly #sampler: Sampler;
  readonly #seed: SeedWords;
  readonly #batches: Batches<PrioritizedBatch<O, A, X>>;
  /** The largest priority so far, and its leaf: what a push without a priority gets. */
  #largest = 1;
  #largestLeaf: number;

  constructor(options: PrioritizedOptions<O, A, X>) {
    this.seed = checkCount("the seed", options.seed ?? 0, 0);
    this.#seed = seedWords(this.seed);
    this.alpha = checkExponent("alpha", options.alpha ?? 0.6);
    const beta = checkExponent("beta", options.beta ?? 0.4);
    const { alpha } = this;
    const target = options.target ?? "auto";
    this.#ring = new TransitionRing(options);
    this.#write = this.#ring.pushSlices();
    this.#writeBatch = this.#ring.pushBatch();
    this.tree = makeOrRelease([this.#ring], () => new SumTree(options.capacity, { alpha, target }));
    this.beta = beta;
    this.#largestLeaf = this.tree.power(1);
    const { sums, least, settings } = this.tree;
    const chooser: Chooser = {
      name: "prioritized",
      steps: [drawStrata as never, findLeaves as never, weighDraws as never],
      inputs: { sums, least, settings },
      outputs: { value: "f64", weight: "f32", probability: "f64" },
      scratch: ["value"],
    };
    const [sources, all] = [this.#ring.sources(), this.#ring.chooser(chooser)];
    this.#sampler = makeOrRelease([this.#ring, this.tree], () => new Sampler(sources, all, target));
    this.#sampler.control[TREE_CONTROL.leaves] = this.tree.leaves;
    this.#batches = new Batches(this.#sampler);
  }

  get capacity(): number {
    return this.#ring.capacity;
  }
  get length(): number {
    return this.#ring.state.count;
  }
  get pushed(): number {
    return this.#ring.state.pushed;
  }
  get bytes(): number {
    return this.#ring.bytes + this.tree.sums.byteLength + this.tree.least.byteLength;
  }
  get beta(): number {
    return this.tree.settings[1] as number;
  }
  set beta(value: number) {
    this.tree.settings[1] = checkExponent("beta", value);
  }
  /** The largest priority so far: what a push without a priority gets. */
  get largestPriority(): number {
    return this.#largest;
  }

  /** Where a column lies: element k of slot s is `array[offset + s * stride + k]`. */
  column(name: string): ColumnView {
    return this.#ring.storage.view(name);
  }

  /** Pushes a transition given as an object, with the largest priority so far unless `priority` is given. */
  push(t: Transition & { readonly priority?: number }): number {
    const { observation, action, reward, terminated, truncated, nextObservation, priority } = t;
    return this.pushSlices(observation, action, reward, terminated, truncated, nextObservation, t, priority);
  }

  /** Pushes a transition from its parts. */
  pushSlices(...args: [...Parameters<PushSlices>, priority?: number]): number;
  pushSlices(
    observation: Parameters<PushSlices>[0],
    action: Parameters<PushSlices>[1],
    reward: number,
    terminated: Parameters<PushSlices>[3],
    truncated: Parameters<PushSlices>[4],
    nextObservation?: Parameters<PushSlices>[5],
    extra?: Parameters<PushSlices>[6],
    priority?: number,
  ): number {
    const leaf = priority === undefined ? this.#largestLeaf : this.tree.power(priority);
    const before = this.#oldestNumber();
    const slot = this.#write(observation, action, reward, terminated, truncated, nextObservation, extra);
    this.tree.set(slot, leaf);
    if (priority !== undefined) this.#raise(priority, leaf);
    if (this.#ring.pool) this.#forget(before);
    return slot;
  }

  /** Pushes transitions that lie side by side, with the largest priority so far unless `priority` is given. */
  pushBatch(batch: Parameters<PushBatch>[0], rows: number, priority?: number): number {
    const leaf = priority === undefined ? this.#largestLeaf : this.tree.power(priority);
    const before = this.#oldestNumber();
    const first = this.#writeBatch(batch, rows);
    for (let r = 0; r < rows; r++) this.tree.set((first + r) % this.capacity, leaf);
    if (priority !== undefined) this.#raise(priority, leaf);
    if (this.#ring.pool) this.#forget(before);
    return first;
  }

  #raise(priority: number, leaf: number): void {
    if (priority <= this.#largest) return;
    this.#largest = priority;
    this.#largestLeaf = leaf;
  }

  #oldestNumber(): number {
    const { pushed, count } = this.#ring.state;
    return pushed - count;
  }

  /** Where observations are stored once, a push may give up old transitions: they must not be drawn. */
  #forget(before: number): void {
    const { pushed, head } = this.#ring.state;
    const { capacity } = this;
    for (let n = Math.max(before, pushed - capacity); n < this.#oldestNumber(); n++)
      this.tree.set((head - (pushed - n) + 2 * capacity) % capacity, 0);
  }

  restart(environment = 0): void {
    this.#ring.pool?.restart(environment);
  }

  /** A batch to be filled again and again by `sampleInto`. */
  createBatch(size: number): PrioritizedBatch<O, A, X> {
    return this.#batches.create(size);
  }

  /** Draws `size` transitions. The batch is the buffer's own: the next sample of this size overwrites it. */
  sample(size: number): PrioritizedBatch<O, A, X> {
    needStored(size, this.length);
    return this.sampleInto(this.#batches.own(size));
  }

  sampleInto(batch: PrioritizedBatch<O, A, X>): PrioritizedBatch<O, A, X> {
    const bound = this.#batches.bound(batch);
    const { count } = this.#ring.state;
    needStored(bound.size, count);
    if (!(this.tree.total > 0)) throw new DataError("sample: all priorities are 0; give at least one above 0");
    const { control } = this.#sampler;
    writeKey(control, this.#seed, this.calls++);
    control[TREE_CONTROL.size] = bound.size;
    bound.run();
    return batch;
  }

  /**
   * Sets priorities of slots, such as a batch's `index`. Of several for one slot the last stays. All are checked
   * before one is set.
   */
  updatePriorities(index: ArrayLike<number>, priorities: ArrayLike<number>): void {
    if (this.#ring.state.count < this.capacity)
      for (let k = 0; k < index.length; k++)
        if (!this.#stored(index[k] as number))
          throw new DataError(`updatePriorities: there is no transition in slot ${index[k]}`);
    const largest = this.tree.setMany(index, priorities);
    if (largest > this.#largest) this.#raise(largest, this.tree.power(largest));
  }

  #stored(slot: number): boolean {
    const { count } = this.#ring.state;
    const age = (slot - this.#ring.oldest + this.capacity) % this.capacity;
    return Number.isInteger(slot) && slot >= 0 && slot < this.capacity && age < count;
  }

  /** The priority^alpha of a slot. */
  leaf(slot: number): number {
    return this.tree.leaf(slot);
  }

  save(): PrioritizedSnapshot {
    const ring = this.#ring.save();
    const leaves = Float64Array.from({ length: ring.count }, (_, k) =>
      this.tree.leaf((this.#ring.oldest + k) % this.capacity),
    );
    const { seed, calls, alpha, beta } = this;
    return { ...ring, seed, calls, alpha, beta, largest: this.#largest, leaves };
  }

  restore(saved: PrioritizedSnapshot): void {
    checkSaved(saved, this.seed);
    if (saved.alpha !== this.alpha)
      throw new DataError(`restore: the state has alpha ${saved.alpha}, this buffer ${this.alpha}`);
    if (!saved.leaves || saved.leaves.length !== saved.count)
      throw new DataError("restore: the state lacks leaves of its transitions");
    for (const leaf of saved.leaves) this.tree.checkLeaf(leaf);
    const largestLeaf = this.tree.power(saved.largest);
    checkExponent("beta", saved.beta);
    this.#ring.restore(saved);
    this.tree.clear();
    saved.leaves.forEach((leaf, k) => {
      this.tree.set((this.#ring.oldest + k) % this.capacity, leaf);
    });
    this.calls = saved.calls;
    this.beta = saved.beta;
    this.#largest = saved.largest;
    this.#largestLeaf = largestLeaf;
  }

  clear(): void {
    this.#ring.clear();
    this.tree.clear();
  }

  dispose(): void {
    this.#ring.dispose();
    this.tree.dispose();
    this.#sampler.dispose();
    this.#batches.dispose();
  }
}
