/**
 * @file FileReplayBuffer: a replay buffer larger than memory. The newest transitions are in memory, all of them in a
 * file, in blocks of equal size.
 *
 * Crash safety: a full block is written to a slot whose old block has left the buffer before; the part of a block that
 * `flush` writes goes to one of two places in turn, so that the one before it stays whole. Every block carries its
 * number and a checksum, so that a torn write is seen when the file is opened again: a killed process loses at most
 * what was pushed since the last full block or flush. A push whose block cannot be written (a full disk) says so; the
 * transition is in memory then, and the next push or flush writes the block before anything else. Against power failures, `sync: true` waits for the disk.
 *
 * Samples are drawn as ReplayBuffer draws them: the same transitions for the same seed, call and contents.
 */
import { newArray, type TypedArray } from "../ir/arrays.ts";
import { checkCount } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import { openFile, type RandomAccessFile } from "../platform/files.ts";
import { type BlockLayout, BlockStore } from "./blocks.ts";
import { type ColumnSpec, type ColumnSpecs, makeOrRelease } from "./columns.ts";
import { type SeedWords, seedWords, writeKey, writeWindow } from "./draws.ts";
import { type BoundBatch, Sampler } from "./gather.ts";
import { RecordCodec } from "./records.ts";
import { type ReplayOptions, UNIFORM } from "./replay.ts";
import { type BatchArrays, needStored, type PushSlices, type Transition, TransitionRing } from "./ring.ts";

export interface FileReplayOptions<
  O extends ColumnSpec = ColumnSpec,
  A extends ColumnSpec = ColumnSpec,
  X extends ColumnSpecs = ColumnSpecs,
> extends Omit<ReplayOptions<O, A, X>, "environments" | "finalObservations"> {
  /** The file. One that is there is continued; it must have the same layout. */
  readonly path: string;
  /** Transitions kept in memory; 16384 unless given, and at least two blocks. */
  readonly hot?: number;
  /** Transitions of a block; 256 unless given. */
  readonly block?: number;
  /** Whether blocks are on the disk, not only with the operating system, before a push or flush returns. */
  readonly sync?: boolean;
}

interface Draw {
  readonly bound: BoundBatch;
  readonly batch: { readonly [name: string]: TypedArray };
}

/** Samples are drawn by 32-bit numbers. */
const MOST_TRANSITIONS = 2 ** 31 - 1;

/** Opens a file and reads what it holds; closes it again when it cannot be used. */
function openStore(path: string, layout: BlockLayout, recordBytes: number) {
  let file: RandomAccessFile | undefined;
  try {
    file = openFile(path);
    const store = new BlockStore(file, path, layout, recordBytes);
    return { store, found: store.recover() };
  } catch (error) {
    file?.close();
    throw error;
  }
}

export class FileReplayBuffer<
  O extends ColumnSpec = ColumnSpec,
  A extends ColumnSpec = ColumnSpec,
  X extends ColumnSpecs = Record<never, never>,
> {
  readonly capacity: number;
  readonly seed: number;
  /** The number of the next sample; may be set to take a sample again. */
  calls = 0;
  /** Blocks that were torn or damaged when the file was opened. */
  readonly damaged: number;
  readonly #block: number;
  readonly #hot: TransitionRing;
  readonly #write: PushSlices;
  readonly #codec: RecordCodec;
  readonly #store: BlockStore;
  readonly #sampler: Sampler;
  readonly #seed: SeedWords;
  readonly #draws = new Map<number, Draw>();
  readonly #sync: boolean;
  #closed = false;
  /** Transitions from this number on are in memory. */
  #hotFrom: number;
  /** The number of the oldest transition that can be sampled. */
  #oldest: number;
  /** Transitions before this number are in the file. */
  #flushed: number;

  constructor(options: FileReplayOptions<O, A, X>) {
    this.capacity = checkCount("the capacity", options.capacity, 1);
    if (this.capacity > MOST_TRANSITIONS)
      throw new DataError(`FileReplayBuffer: a capacity of ${this.capacity} is too large: at most ${MOST_TRANSITIONS}`);
    this.#block = checkCount("the size of a block", options.block ?? 256, 1);
    const hot = checkCount("hot", options.hot ?? Math.max(16384, 2 * this.#block), 2 * this.#block);
    this.seed = checkCount("the seed", options.seed ?? 0, 0);
    this.#seed = seedWords(this.seed);
    this.#sync = options.sync ?? false;
    const { nextObservations = "separate" } = options;
    if (nextObservations === "once")
      throw new DataError('FileReplayBuffer: next observations are "separate" or "none"');
    const { observation, action, columns } = options;
    this.#hot = new TransitionRing({ capacity: hot, observation, action, columns: columns ?? {}, nextObservations });
    this.#write = this.#hot.pushSlices();
    this.#codec = new RecordCodec(this.#hot.storage);
    const layout = { columns: this.#hot.storage.columns, capacity: this.capacity, block: this.#block };
    this.#sampler = makeOrRelease([this.#hot], () => new Sampler([], UNIFORM, options.target ?? "auto"));
    const open = () => openStore(options.path, layout, this.#codec.bytes);
    const { store, found } = makeOrRelease([this.#hot, this.#sampler], open);
    this.#store = store;
    this.damaged = found.damaged;
    this.#oldest = Math.max(found.first, found.pushed - this.capacity);
    this.#flushed = found.pushed;
    this.#hotFrom = found.pushed - (found.pushed % this.#block);
    Object.assign(this.#hot.state, { head: this.#hotFrom % hot, count: 0, pushed: this.#hotFrom });
    for (let k = 0; k < found.pushed % this.#block; k++) {
      this.#codec.decode(found.tail.subarray(k * this.#codec.bytes), (this.#hotFrom + k) % hot);
      this.#advance();
    }
  }

  #advance(): void {
    const { state, capacity } = this.#hot;
    state.head = (state.head + 1) % capacity;
    state.count = Math.min(state.count + 1, capacity);
    state.pushed++;
  }

  /** Transitions pushed ever, over all times the file was open. */
  get pushed(): number {
    return this.#hot.state.pushed;
  }
  get length(): number {
    return this.pushed - this.#oldest;
  }

  /** Pushes a transition from its parts; its number. */
  pushSlices(...args: Parameters<PushSlices>): number {
    this.#checkOpen("push");
    // A full block that could not be written is written first: the file must not have a gap.
    if (this.#fullBlockWaits()) this.#writeBlock();
    const number = this.pushed;
    this.#write(...args);
    this.#hotFrom = Math.max(this.#hotFrom, this.pushed - this.#hot.capacity);
    this.#oldest = Math.max(this.#oldest, this.pushed - this.capacity);
    if (this.#fullBlockWaits()) this.#writeBlock();
    return number;
  }

  push(t: Transition): number {
    return this.pushSlices(t.observation, t.action, t.reward, t.terminated, t.truncated, t.nextObservation, t);
  }

  /** Writes what is not in the file yet. */
  flush(): void {
    this.#checkOpen("flush");
    if (this.pushed > this.#flushed) this.#writeBlock();
  }

  #checkOpen(what: string): void {
    if (this.#closed) throw new DataError(`${what}: this buffer is closed; open the file again with a new one`);
  }

  #fullBlockWaits(): boolean {
    return this.pushed % this.#block === 0 && this.pushed > this.#flushed;
  }

  /** Writes the newest block: to its place in the ring when it is full, to a tail place otherwise. */
  #writeBlock(): void {
    const number = Math.floor((this.pushed - 1) / this.#block);
    const first = number * this.#block;
    const rows = this.pushed - first;
    for (let k = 0; k < rows; k++)
      this.#codec.encode((first + k) % this.#hot.capacity, this.#store.payload.subarray(k * this.#codec.bytes));
    this.#store.write(rows === this.#block ? "ring" : "tail", number, rows);
    if (this.#sync) this.#store.sync();
    this.#flushed = this.pushed;
  }

  /** Draws `size` transitions. The batch is the buffer's own: the next sample of this size overwrites it. */
  sample(size: number): BatchArrays<O, A, X> {
    this.#checkOpen("sample");
    const { length } = this;
    needStored(size, length);
    const { bound, batch } = this.#own(size);
    const { control } = this.#sampler;
    writeKey(control, this.#seed, this.calls++);
    // Ages instead of slots: both count from the oldest transition.
    writeWindow(control, 0, length, length);
    bound.run();
    for (let i = 0; i < size; i++) this.#fetch(this.#oldest + (bound.index[i] as number), batch, i);
    return batch as unknown as BatchArrays<O, A, X>;
  }

  #own(size: number): Draw {
    let found = this.#draws.get(size);
    if (!found) {
      const bound = this.#sampler.bind(size);
      const columns = Object.entries(this.#hot.storage.columns);
      const arrays = Object.fromEntries(columns.map(([name, c]) => [name, newArray(c.dtype, size * c.size)]));
      const none = arrays.nextObservation ? {} : { nextObservation: (arrays.observation as TypedArray).subarray(0, 0) };
      found = { bound, batch: Object.assign({ size, index: bound.index, ...none, ...arrays }) };
      this.#draws.set(size, found);
    }
    return found;
  }

  /** Copies one transition to row i of a batch, from memory or from the file. */
  #fetch(number: number, batch: Draw["batch"], i: number): void {
    if (number >= this.#hotFrom) this.#codec.copy(number % this.#hot.capacity, batch, i);
    else this.#codec.unpack(this.#store.readRecord(number), batch, i);
  }

  /** Flushes and closes the file; the buffer cannot be used any more. */
  close(): void {
    if (this.#closed) return;
    this.flush();
    this.#closed = true;
    this.#store.close();
    this.#hot.dispose();
    this.#sampler.dispose();
    for (const { bound } of this.#draws.values()) bound.dispose();
    this.#draws.clear();
  }
}
