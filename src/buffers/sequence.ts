/**
 * @file SequenceBuffer: a ring of transitions that is sampled in windows of equal length, none across an episode's end.
 *
 * A window is known by its last transition. Whether one ends at a transition is known when it is pushed (the episode is
 * long enough by then), and a running count of such transitions is kept beside the ring: the k-th window is found by
 * bisection, every window is equally likely, and a push stays O(1).
 */
import { checkCount } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import { HostStream } from "../random/host.ts";
import { Batches } from "./batches.ts";
import { type ColumnSpec, type ColumnSpecs, makeOrRelease } from "./columns.ts";
import { type SeedWords, seedWords, writeKey } from "./draws.ts";
import { GIVEN, Sampler } from "./gather.ts";
import type { ReplayOptions, ReplaySnapshot } from "./replay.ts";
import {
  type BatchArrays,
  checkSaved,
  needStored,
  type PushSlices,
  type Transition,
  type TransitionBatch,
  TransitionRing,
} from "./ring.ts";

export interface SequenceOptions<
  O extends ColumnSpec = ColumnSpec,
  A extends ColumnSpec = ColumnSpec,
  X extends ColumnSpecs = ColumnSpecs,
> extends ReplayOptions<O, A, X> {
  /** Transitions of a window. */
  readonly window: number;
}

/** What the buffer needs to continue exactly where it was. */
export interface SequenceSnapshot extends ReplaySnapshot {
  readonly window: number;
  /** By environment: transitions of the current episode. */
  readonly steps: readonly number[];
  /** Windows that ended at each transition or before it, from the oldest to the newest. */
  readonly ends: Float64Array;
  readonly lost: number;
}

/**
 * Checks that windows end exactly where an episode is long enough. What is not known is how long an episode was whose
 * first steps are overwritten: then more windows may have ended than the stored steps tell.
 */
function checkWindows({ capacity, count, pushed, columns, window, steps, ends, lost }: SequenceSnapshot): void {
  checkCount("restore: the windows that are gone", lost, 0);
  if (count !== Math.min(pushed, capacity))
    throw new DataError(`restore: ${count} stored and ${pushed} pushed do not fit together`);
  const environments = steps.length;
  const stored = new Array<number>(environments).fill(0);
  const known = new Array<boolean>(environments).fill(pushed === count);
  for (let age = 0; age < count; age++) {
    const e = age % environments;
    const more = (ends[age] as number) - (ends[age - 1] ?? lost);
    const length = (stored[e] as number) + 1;
    if (!(more === (length >= window ? 1 : 0) || (more === 1 && !known[e])))
      throw new DataError(`restore: the windows up to transition ${age} do not add up`);
    const ended = Boolean(columns?.terminated?.[age] || columns?.truncated?.[age]);
    stored[e] = ended ? 0 : length;
    known[e] ||= ended;
  }
  for (const [e, n] of steps.entries())
    if (!(n === stored[e] || (!known[e] && Number.isSafeInteger(n) && n > (stored[e] as number))))
      throw new DataError(`restore: ${n} steps of the episode in environment ${e} do not fit what is stored`);
}

export class SequenceBuffer<
  O extends ColumnSpec = ColumnSpec,
  A extends ColumnSpec = ColumnSpec,
  X extends ColumnSpecs = Record<never, never>,
> {
  readonly seed: number;
  readonly window: number;
  /** The number of the next sample; may be set to take a sample again. */
  calls = 0;
  readonly #ring: TransitionRing;
  readonly #write: PushSlices;
  readonly #writeBatch: (batch: TransitionBatch, rows: number) => number;
  readonly #sampler: Sampler;
  readonly #batches: Batches<BatchArrays<O, A, X>>;
  readonly #seed: SeedWords;
  readonly #key = new Int32Array(16);
  readonly #stream = new HostStream(0, 0);
  /** By slot: windows that ended at this transition or before it, ever. */
  readonly #ends: Float64Array;
  /** By environment: transitions of the current episode. */
  readonly #steps: Int32Array;
  #windowsEver = 0;
  /** Windows that ended at transitions which are overwritten by now. */
  #lost = 0;

  constructor(options: SequenceOptions<O, A, X>) {
    this.seed = checkCount("the seed", options.seed ?? 0, 0);
    this.#seed = seedWords(this.seed);
    this.window = checkCount("the window", options.window, 1);
    if (options.nextObservations === "once")
      throw new DataError('SequenceBuffer: next observations are "separate" or "none"; windows hold them anyway');
    const { environments = 1, capacity } = options;
    if (this.window * environments > capacity)
      throw new DataError(
        `a window of ${this.window} steps of ${environments} environments does not fit into ${capacity}`,
      );
    this.#ring = new TransitionRing(options);
    this.#write = this.#ring.pushSlices();
    this.#writeBatch = this.#ring.pushBatch();
    this.#ends = new Float64Array(capacity);
    this.#steps = new Int32Array(environments);
    const sources = this.#ring.sources();
    this.#sampler = makeOrRelease([this.#ring], () => new Sampler(sources, GIVEN, options.target ?? "auto"));
    this.#batches = new Batches(this.#sampler, (size) => size * this.window);
  }

  get capacity(): number {
    return this.#ring.capacity;
  }
  get length(): number {
    return this.#ring.state.count;
  }

  /** Windows that can be drawn now. */
  get windows(): number {
    const { count } = this.#ring.state;
    const first = (this.window - 1) * this.#ring.environments;
    return count > first ? this.#windowsEver - this.#endsBefore(first) : 0;
  }

  /** Windows that ended before the transition of an age, counted from the oldest. */
  #endsBefore(age: number): number {
    return age > 0 ? this.#endsAt(age - 1) : this.#lost;
  }
  #endsAt(age: number): number {
    return this.#ends[(this.#ring.oldest + age) % this.capacity] as number;
  }

  pushSlices(...args: Parameters<PushSlices>): number {
    if (this.#ring.environments !== 1)
      throw new DataError(`push: this buffer takes ${this.#ring.environments} environments in step; use pushBatch`);
    const slot = this.#write(...args);
    this.#note(slot, 0, Boolean(args[3]) || Boolean(args[4]));
    return slot;
  }

  push(t: Transition): number {
    return this.pushSlices(t.observation, t.action, t.reward, t.terminated, t.truncated, t.nextObservation, t);
  }

  /** One step of all environments. */
  pushBatch(batch: TransitionBatch): number {
    const { environments } = this.#ring;
    const first = this.#writeBatch(batch, environments);
    for (let e = 0; e < environments; e++)
      this.#note((first + e) % this.capacity, e, Boolean(batch.terminated[e]) || Boolean(batch.truncated[e]));
    return first;
  }

  #note(slot: number, environment: number, ended: boolean): void {
    // What was counted up to the transition that is overwritten is gone with it.
    if (this.#ring.state.pushed > this.capacity) this.#lost = this.#ends[slot] as number;
    const steps = (this.#steps[environment] as number) + 1;
    if (steps >= this.window) this.#windowsEver++;
    this.#ends[slot] = this.#windowsEver;
    this.#steps[environment] = ended ? 0 : steps;
  }

  createBatch(size: number): BatchArrays<O, A, X> {
    return this.#batches.create(size);
  }

  /**
   * Draws `size` windows: arrays hold size * window rows, one window after the other, each in the order of time. The
   * batch is the buffer's own.
   */
  sample(size: number): BatchArrays<O, A, X> {
    needStored(size, this.windows, `windows of ${this.window} steps`);
    return this.sampleInto(this.#batches.own(size));
  }

  sampleInto(batch: BatchArrays<O, A, X>): BatchArrays<O, A, X> {
    const bound = this.#batches.bound(batch);
    const { windows } = this;
    const size = bound.size / this.window;
    needStored(size, windows, `windows of ${this.window} steps`);
    writeKey(this.#key, this.#seed, this.calls++);
    const stream = this.#stream;
    stream.restart(this.#key[0] as number, this.#key[1] as number);
    const { environments, capacity, oldest } = this.#ring;
    for (let w = 0; w < size; w++) {
      const end = this.#findEnd(stream.below(windows));
      const first = oldest + end - (this.window - 1) * environments;
      for (let t = 0; t < this.window; t++) bound.index[w * this.window + t] = (first + t * environments) % capacity;
    }
    bound.run();
    return batch;
  }

  /** The age of the transition at which the k-th window ends. */
  #findEnd(k: number): number {
    let low = (this.window - 1) * this.#ring.environments;
    let high = this.#ring.state.count - 1;
    const wanted = this.#endsBefore(low) + k + 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#endsAt(middle) >= wanted) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  save(): SequenceSnapshot {
    const ring = this.#ring.save();
    const ends = Float64Array.from({ length: ring.count }, (_, age) => this.#endsAt(age));
    const { seed, calls, window } = this;
    return { ...ring, seed, calls, window, steps: [...this.#steps], ends, lost: this.#lost };
  }

  restore(saved: SequenceSnapshot): void {
    checkSaved(saved, this.seed);
    const { window, steps, ends, lost, calls } = saved;
    if (window !== this.window)
      throw new DataError(`restore: the state has windows of ${window} steps, this buffer ${this.window}`);
    if (steps?.length !== this.#steps.length || ends?.length !== saved.count)
      throw new DataError("restore: the state belongs to another number of environments, or is not whole");
    checkWindows(saved);
    this.#ring.restore(saved, this.#ring.environments);
    this.#steps.set(steps);
    ends.forEach((end, age) => {
      this.#ends[(this.#ring.oldest + age) % this.capacity] = end;
    });
    this.#lost = lost;
    this.#windowsEver = ends.at(-1) ?? lost;
    this.calls = calls;
  }

  dispose(): void {
    this.#ring.dispose();
    this.#sampler.dispose();
    this.#batches.dispose();
  }
}
