/**
 * @file ReplayBuffer: a ring of transitions, sampled with equal chances and replacement.
 *
 * A push is a few typed-array writes; a sample is one call into compiled code that draws the rows and gathers every
 * column. Sample n of a buffer is a pure function of its seed, n, and what is stored.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { checkCount } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import type { TargetChoice } from "../runtime/targets.ts";
import { Batches } from "./batches.ts";
import {
  type Column,
  type ColumnSpec,
  type ColumnSpecs,
  type Columns,
  type ColumnView,
  makeOrRelease,
} from "./columns.ts";
import { drawRows, type SeedWords, seedWords, writeKey, writeWindow } from "./draws.ts";
import { type BoundBatch, type Chooser, Sampler } from "./gather.ts";
import {
  type BatchArrays,
  checkSaved,
  needStored,
  type PushBatch,
  type PushSlices,
  type RingSnapshot,
  type Transition,
  type TransitionOptions,
  TransitionRing,
} from "./ring.ts";
import { attachRing, type RingHandle, SharedPosition, shareRing } from "./shared.ts";

export interface ReplayOptions<
  O extends ColumnSpec = ColumnSpec,
  A extends ColumnSpec = ColumnSpec,
  X extends ColumnSpecs = ColumnSpecs,
> extends TransitionOptions<O, A, X> {
  /** A whole number from 0 on; 0 unless given. */
  readonly seed?: number;
  /** Where samples are taken; the best target there is unless given. */
  readonly target?: TargetChoice;
}

/** What a buffer needs to continue exactly where it was. */
export interface ReplaySnapshot extends RingSnapshot {
  readonly seed: number;
  readonly calls: number;
}

/** The draw with equal chances. */
export const UNIFORM: Chooser = { name: "uniform", steps: [drawRows as never], inputs: {}, outputs: {} };

/** How often a sample that met an overwrite is drawn again before the window is made smaller. */
const PATIENCE = 4;

export class ReplayBuffer<
  O extends ColumnSpec = ColumnSpec,
  A extends ColumnSpec = ColumnSpec,
  X extends ColumnSpecs = Record<never, never>,
> {
  readonly seed: number;
  /** The number of the next sample; may be set to take a sample again. */
  calls = 0;
  /**
   * Pushes a transition from its parts: observation, action, reward, terminated, truncated, nextObservation, extra. Like
   * `pushBatch` it may be taken out of the buffer; `share` replaces both, and those taken before refuse to push then.
   */
  pushSlices: PushSlices;
  /** Pushes transitions that lie side by side: `pushBatch({ observation, action, ... }, rows)`. */
  pushBatch: PushBatch;
  readonly #ring: TransitionRing;
  readonly #sampler: Sampler;
  readonly #seed: SeedWords;
  readonly #batches: Batches<BatchArrays<O, A, X>>;
  readonly #options: ReplayOptions<O, A, X>;
  /** Where the owner has shared it: what other threads see of the position. */
  #shared: SharedPosition | undefined;
  /** In a thread that only samples: the same, as it reads it. */
  readonly #reader: SharedPosition | undefined;

  constructor(options: ReplayOptions<O, A, X>, attached?: RingHandle) {
    this.#options = options;
    this.seed = checkCount("the seed", options.seed ?? 0, 0);
    this.#seed = seedWords(this.seed);
    this.#ring = new TransitionRing(options, attached?.storage);
    const [sources, chooser] = [this.#ring.sources(), this.#ring.chooser(UNIFORM)];
    this.#sampler = makeOrRelease([this.#ring], () => new Sampler(sources, chooser, options.target ?? "auto"));
    this.#batches = new Batches(this.#sampler);
    if (attached) {
      this.#reader = new SharedPosition(this.#ring, attached.position, attached.uncounted);
      this.pushSlices = attachRing;
      this.pushBatch = attachRing;
    } else {
      this.pushSlices = this.#ring.pushSlices();
      this.pushBatch = this.#ring.pushBatch();
    }
  }

  get capacity(): number {
    return this.#ring.capacity;
  }
  /** Transitions stored. */
  get length(): number {
    this.#reader?.refresh();
    return this.#ring.state.count;
  }
  /** Transitions pushed ever. */
  get pushed(): number {
    this.#reader?.refresh();
    return this.#ring.state.pushed;
  }
  /** Bytes of all columns. */
  get bytes(): number {
    return this.#ring.bytes;
  }

  /** What a batch is made of: type and elements of a row, by name. */
  get layout(): Columns {
    return this.#sampler.layout;
  }

  /** Where a column lies: element k of slot s is `array[offset + s * stride + k]`. */
  column(name: string): ColumnView {
    return this.#ring.storage.view(name);
  }

  /** Pushes a transition given as an object; the slot it went to. */
  push(t: Transition): number {
    return this.pushSlices(t.observation, t.action, t.reward, t.terminated, t.truncated, t.nextObservation, t);
  }

  /**
   * The slot of the next `rows` transitions, to be written in place to the arrays of `column`, which must be "separate"
   * ones; `commit` then counts them in. Nothing may be sampled in between.
   */
  reserve(rows: number): number {
    this.#refuseShared("reserve");
    const { storage, state, capacity } = this.#ring;
    if (storage.recordBytes > 0)
      throw new DataError('reserve: rows can be written in place with the option arrangement: "separate"');
    checkCount("reserve: the number of rows", rows, 1);
    if (capacity - state.head < rows)
      throw new DataError(
        `reserve: ${rows} rows do not fit between slot ${state.head} and the end of the buffer, ${capacity}; take a ` +
          "capacity that is a multiple of them",
      );
    return state.head;
  }
  /** Counts rows in that were written to the slots of `reserve`. */
  commit(rows: number): void {
    const { state, capacity } = this.#ring;
    state.head = (this.reserve(rows) + rows) % capacity;
    state.count = Math.min(state.count + rows, capacity);
    state.pushed += rows;
  }

  /** With observations stored once: the next push of an environment begins a stream, as after an episode's end. */
  restart(environment = 0): void {
    this.#ring.pool?.restart(environment);
  }

  /**
   * A batch to be filled again and again by `sampleInto`. `place` may give its arrays, such as parts of the arrays of a
   * larger batch; they must be made with `allocate`.
   */
  createBatch(size: number, place?: (name: string, column: Column) => TypedArray): BatchArrays<O, A, X> {
    return this.#batches.create(size, place);
  }

  /** Draws `size` transitions. The batch is the buffer's own: the next sample of this size overwrites it. */
  sample(size: number): BatchArrays<O, A, X> {
    needStored(size, this.length);
    return this.#draw(this.#batches.own(size), this.capacity);
  }

  /** Fills a batch of `createBatch`: the same transitions as `sample` in its place. */
  sampleInto(batch: BatchArrays<O, A, X>): BatchArrays<O, A, X> {
    return this.#draw(batch, this.capacity);
  }

  /** Draws from the newest `window` transitions only. */
  sampleRecent(size: number, window: number): BatchArrays<O, A, X> {
    needStored(size, Math.min(this.length, checkCount("the window", window, 1)));
    return this.#draw(this.#batches.own(size), window);
  }

  #draw(batch: BatchArrays<O, A, X>, window: number): BatchArrays<O, A, X> {
    const bound = this.#batches.bound(batch);
    if (this.#reader) return this.#drawShared(batch, bound, window, this.#reader);
    const { state, capacity } = this.#ring;
    const count = Math.min(state.count, window);
    needStored(bound.size, count);
    const { control } = this.#sampler;
    writeKey(control, this.#seed, this.calls++);
    const start = state.head - count;
    writeWindow(control, start < 0 ? start + capacity : start, count, capacity);
    bound.run();
    return batch;
  }

  /** While another thread pushes: a sample that may have met an overwrite is drawn again. */
  #drawShared(
    batch: BatchArrays<O, A, X>,
    bound: BoundBatch,
    window: number,
    shared: SharedPosition,
  ): BatchArrays<O, A, X> {
    const { state, capacity } = this.#ring;
    const { control } = this.#sampler;
    const call = this.calls++;
    for (let attempt = 0; ; attempt++) {
      shared.refresh();
      // A sample that is drawn again leaves out what is reserved by now: with many rows, one of them is always there.
      // Where the writer is faster than the sample, the oldest transitions do not live long enough.
      const safe = attempt === 0 ? state.count : Math.max(1, state.count - shared.unsafe(state.count));
      const count = Math.min(attempt < PATIENCE ? safe : Math.ceil(safe / 2), window);
      needStored(bound.size, Math.min(state.count, window));
      writeKey(control, this.#seed, call, attempt);
      const start = (((state.head - count) % capacity) + capacity) % capacity;
      writeWindow(control, start, count, capacity);
      bound.run();
      if (shared.intact(bound.index, start, count)) return batch;
    }
  }

  /** A handle that can be sent to a worker, which attaches to it with `ReplayBuffer.attach`. */
  share(): SharedReplay {
    if (this.#reader) throw new DataError("share: only the thread that made a buffer shares it");
    if (this.#ring.nextObservations === "once")
      throw new DataError('share: next observations must be "separate" or "none"; rows stored once cannot be shared');
    if (!this.#shared) {
      const { position, hooks } = shareRing(this.#ring);
      this.#ring.retirePushes(
        "push: this function was taken out of the buffer before it was shared; take it after share",
      );
      this.#shared = position;
      this.pushSlices = this.#ring.pushSlices(hooks(false));
      this.pushBatch = this.#ring.pushBatch(hooks(true));
    }
    const { capacity, observation, action, columns, nextObservations, arrangement, seed } = this.#options;
    const options = { capacity, observation, action, columns, nextObservations, arrangement, seed };
    return { ...this.#shared.handle(this.#ring), options };
  }

  /**
   * In another thread: the same transitions, without a copy. It samples while the thread that owns the buffer pushes;
   * only the owner pushes. Of a full buffer it may leave out up to 64 of the oldest transitions, which the owner has laid
   * claim to. Must come before anything else of lockstep is used in that thread.
   */
  static attach<O extends ColumnSpec, A extends ColumnSpec, X extends ColumnSpecs>(
    handle: SharedReplay,
    options: { readonly seed?: number; readonly target?: TargetChoice } = {},
  ): ReplayBuffer<O, A, X> {
    SharedPosition.useMemory(handle);
    const all = { ...handle.options, ...options } as unknown as ReplayOptions<O, A, X>;
    return new ReplayBuffer<O, A, X>(all, handle);
  }

  /** Everything needed to continue exactly here: position, number of calls, columns. */
  save(): ReplaySnapshot {
    if (this.#reader)
      throw new DataError("save: only the thread that pushes can; here transitions may change meanwhile");
    return { ...this.#ring.save(), seed: this.seed, calls: this.calls };
  }

  /** Continues where a saved buffer of the same layout was. */
  restore(saved: ReplaySnapshot): void {
    this.#refuseShared("restore");
    checkSaved(saved, this.seed);
    this.#ring.restore(saved);
    this.calls = saved.calls;
  }

  /** Forgets all transitions. */
  clear(): void {
    this.#refuseShared("clear");
    this.#ring.clear();
  }

  /** Other threads take a position that only ever grows for granted. */
  #refuseShared(what: string): void {
    if (this.#shared || this.#reader) throw new DataError(`${what}: not while the buffer is shared with other threads`);
  }

  /** Gives the memory back; the buffer and its batches must not be used any more. */
  dispose(): void {
    this.#ring.dispose();
    this.#sampler.dispose();
    this.#batches.dispose();
    this.#shared?.dispose();
  }
}

/** What `share` gives: can be sent to a worker. */
export interface SharedReplay extends RingHandle {
  readonly options: object;
}
