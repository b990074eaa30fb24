/**
 * @file Pipeline: a bounded channel of fixed-size records between threads, over shared memory.
 *
 * A ring of slots, each with a number that says whose turn it is: a sender's, when the slot is free for position p (the
 * number is p), or a receiver's, when it holds the record of position p (p + 1). Any number of threads may send and
 * receive. Records come out in the order in which their slots were taken, so those of one sender keep their order. No
 * lock is held while a record is copied. Who has to wait sleeps on a word that the other side counts up; where a thread
 * must not sleep (the main thread of a browser), it waits with a promise instead. The memory is all made at the start.
 */
import { type TypedArray, viewArray } from "../ir/arrays.ts";
import { STORAGE_BYTES } from "../ir/types.ts";
import { checkCount } from "../kernels/checks.ts";
import { DataError } from "../kernels/errors.ts";
import {
  type ArraysFor,
  type Column,
  type ColumnSpecs,
  type Columns,
  type ColumnType,
  checkIntegers,
  columnsOf,
} from "./columns.ts";
import { closedIn, ITEMS, POSITION_MASK, SPACE, signal, wait, waitSync } from "./pipelineWaiting.ts";

/** Sending to a pipeline that has been closed. */
export class PipelineClosedError extends DataError {
  override readonly name = "PipelineClosedError";
}

export interface PipelineOptions<X extends ColumnSpecs> {
  /** Records that wait at most. */
  readonly capacity: number;
  /** What a record is made of: a number stands for so many f32. */
  readonly columns: X;
}

/** What another thread needs; can be posted to it. */
export interface PipelineHandle<X extends ColumnSpecs = ColumnSpecs> {
  readonly memory: SharedArrayBuffer;
  readonly capacity: number;
  readonly columns: X;
}

/** A record to be received into, or one that was. */
export type PipelineRecord<X extends ColumnSpecs> = ArraysFor<X>;
/** A record to send: arrays of the columns' sizes, or plain numbers where the size is 1. */
export type PipelineInput<X extends ColumnSpecs> = { readonly [K in keyof X]: ArrayLike<number> | number };

/** Words at the start of the memory. Those that different sides write are cache lines apart. */
const HEAD = 0;
const TAIL = 16;
const WORDS = 64;
/** The most slots for which positions, which have 31 bits, stay apart. */
const MAX_CAPACITY = 2 ** 24;

interface Field {
  readonly name: string;
  readonly dtype: ColumnType;
  readonly size: number;
  /** All slots of the column, one after the other. */
  readonly array: TypedArray;
}

interface Layout {
  readonly slots: number;
  readonly bytes: number;
  readonly offsets: readonly number[];
}

/** At least two slots, so that a free slot is never taken for the full one of the turn before. */
function layoutOf(columns: Columns, capacity: number): Layout {
  const slots = Math.max(2, 2 ** Math.ceil(Math.log2(capacity)));
  let end = 4 * (WORDS + slots);
  const offsets = Object.values(columns).map(({ dtype, size }) => {
    const offset = Math.ceil(end / 8) * 8;
    end = offset + STORAGE_BYTES[dtype] * size * slots;
    return offset;
  });
  return { slots, bytes: end, offsets };
}

function sharedMemory(bytes: number): SharedArrayBuffer {
  try {
    return new SharedArrayBuffer(bytes);
  } catch {
    throw new DataError(`Pipeline: there is no memory for ${bytes} bytes; take a smaller capacity`);
  }
}

const sized = (value: ArrayLike<number> | number | undefined): number =>
  typeof value === "number" ? 1 : (value?.length ?? 0);

export class Pipeline<X extends ColumnSpecs = ColumnSpecs> {
  readonly capacity: number;
  readonly #specs: X;
  readonly #memory: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #turns: Int32Array;
  readonly #slots: number;
  readonly #fields: readonly Field[];

  constructor({ capacity, columns }: PipelineOptions<X>, memory?: SharedArrayBuffer) {
    this.capacity = checkCount("Pipeline: capacity", capacity, 1);
    if (capacity > MAX_CAPACITY)
      throw new DataError(`Pipeline: capacity is ${capacity}: at most ${MAX_CAPACITY} records can wait`);
    if (typeof SharedArrayBuffer === "undefined")
      throw new DataError("Pipeline: memory cannot be shared here; a page must be cross-origin isolated");
    const checked = columnsOf(columns);
    const { slots, bytes, offsets } = layoutOf(checked, capacity);
    if (memory !== undefined && memory.byteLength !== bytes)
      throw new DataError(`Pipeline: the memory has ${memory.byteLength} bytes, a pipeline of this kind ${bytes}`);
    this.#specs = columns;
    this.#memory = memory ?? sharedMemory(bytes);
    this.#words = new Int32Array(this.#memory, 0, WORDS);
    this.#turns = new Int32Array(this.#memory, 4 * WORDS, slots);
    this.#slots = slots;
    this.#fields = Object.entries(checked).map(([name, { dtype, size }]: [string, Column], k) => {
      return { name, dtype, size, array: viewArray(dtype, this.#memory, offsets[k] as number, size * slots) };
    });
    if (memory === undefined) for (let slot = 0; slot < slots; slot++) this.#turns[slot] = slot;
  }

  /** The pipeline that a handle came from, in this thread. */
  static attach<X extends ColumnSpecs>({ memory, capacity, columns }: PipelineHandle<X>): Pipeline<X> {
    return new Pipeline({ capacity, columns }, memory);
  }

  /** A handle for other threads. */
  share(): PipelineHandle<X> {
    return { memory: this.#memory, capacity: this.capacity, columns: this.#specs };
  }

  /** Records that wait. */
  get length(): number {
    // The head first: it never passes a tail that is read after it.
    const head = Atomics.load(this.#words, HEAD);
    const waiting = (Atomics.load(this.#words, TAIL) - head) & POSITION_MASK;
    return Math.min(waiting, this.capacity);
  }

  get closed(): boolean {
    return closedIn(Atomics.load(this.#words, TAIL));
  }

  /** An empty record, to be filled and sent, or received into, again and again. */
  record(): PipelineRecord<X> {
    const make = ({ name, size, array }: Field): [string, TypedArray] => [
      name,
      new (array.constructor as new (length: number) => TypedArray)(size),
    ];
    return Object.fromEntries(this.#fields.map(make)) as PipelineRecord<X>;
  }

  /** Copies a record in, if there is room; whether there was. */
  trySend(record: PipelineInput<X>): boolean {
    this.#check(record, "send");
    return this.#put(record);
  }

  /** Waits for room without blocking the thread. */
  async send(record: PipelineInput<X>): Promise<void> {
    this.#check(record, "send");
    if (!this.#put(record)) await wait(this.#words, SPACE, () => this.#put(record));
  }

  /** Waits for room by blocking the thread: in workers, and in Node. */
  sendSync(record: PipelineInput<X>): void {
    this.#check(record, "send");
    if (!this.#put(record)) waitSync(this.#words, SPACE, () => this.#put(record));
  }

  /** The oldest record, or undefined when none waits. */
  tryReceive(into?: PipelineRecord<X>): PipelineRecord<X> | undefined {
    if (into !== undefined) this.#check(into, "receive");
    const position = this.#take();
    return position < 0 ? undefined : this.#read(position, into);
  }

  /** Waits for a record without blocking the thread; undefined when the pipeline is closed and empty. */
  async receive(into?: PipelineRecord<X>): Promise<PipelineRecord<X> | undefined> {
    let found = this.tryReceive(into);
    const attempt = (): boolean => {
      found = this.tryReceive(into);
      return found !== undefined || this.#ended();
    };
    if (found === undefined) await wait(this.#words, ITEMS, attempt);
    return found;
  }

  /** Waits for a record by blocking the thread: in workers, and in Node. */
  receiveSync(into?: PipelineRecord<X>): PipelineRecord<X> | undefined {
    let found = this.tryReceive(into);
    const attempt = (): boolean => {
      found = this.tryReceive(into);
      return found !== undefined || this.#ended();
    };
    if (found === undefined) waitSync(this.#words, ITEMS, attempt);
    return found;
  }

  /** All records until the pipeline is closed and empty. */
  async *[Symbol.asyncIterator](): AsyncGenerator<PipelineRecord<X>, void, undefined> {
    for (let record = await this.receive(); record !== undefined; record = await this.receive()) yield record;
  }

  /** No record can be sent from now on; those that wait can still be received. Closing again changes nothing. */
  close(): void {
    Atomics.or(this.#words, TAIL, ~POSITION_MASK);
    signal(this.#words, ITEMS);
    signal(this.#words, SPACE);
  }

  /** Copies a record into a free slot; false when there is none. */
  #put(record: PipelineInput<X>): boolean {
    const words = this.#words;
    for (;;) {
      const tail = Atomics.load(words, TAIL);
      if (closedIn(tail)) throw new PipelineClosedError("send: the pipeline is closed; nothing was sent");
      const slot = tail & (this.#slots - 1);
      const free = Atomics.load(this.#turns, slot) === tail;
      const room = free && ((tail - Atomics.load(words, HEAD)) & POSITION_MASK) < this.capacity;
      const next = (tail + 1) & POSITION_MASK;
      if (!room) {
        // Full, unless another sender has moved on since.
        if (Atomics.load(words, TAIL) === tail) return false;
      } else if (Atomics.compareExchange(words, TAIL, tail, next) === tail) {
        this.#write(slot, record);
        Atomics.store(this.#turns, slot, next);
        signal(words, ITEMS);
        return true;
      }
    }
  }

  /** Takes the oldest record: its position, or -1 when there is none or its sender is still writing. */
  #take(): number {
    const words = this.#words;
    for (;;) {
      const head = Atomics.load(words, HEAD);
      const slot = head & (this.#slots - 1);
      const next = (head + 1) & POSITION_MASK;
      if (Atomics.load(this.#turns, slot) !== next) {
        if (Atomics.load(words, HEAD) === head) return -1;
      } else if (Atomics.compareExchange(words, HEAD, head, next) === head) return head;
    }
  }

  #ended(): boolean {
    const tail = Atomics.load(this.#words, TAIL);
    return closedIn(tail) && (tail & POSITION_MASK) === Atomics.load(this.#words, HEAD);
  }

  #write(slot: number, record: PipelineInput<X>): void {
    for (const { name, size, array } of this.#fields) {
      const value = record[name] as ArrayLike<number> | number;
      if (typeof value === "number") array[slot * size] = value;
      else array.set(value, slot * size);
    }
  }

  /** Copies the record of a position out, and frees its slot for the turn after. */
  #read(position: number, into: PipelineRecord<X> | undefined): PipelineRecord<X> {
    const record = into ?? this.record();
    const slot = position & (this.#slots - 1);
    for (const { name, size, array } of this.#fields) {
      const target = record[name] as TypedArray;
      for (let k = 0; k < size; k++) target[k] = array[slot * size + k] as number;
    }
    Atomics.store(this.#turns, slot, (position + this.#slots) & POSITION_MASK);
    signal(this.#words, SPACE);
    return record;
  }

  #check(record: PipelineInput<X>, what: "send" | "receive"): void {
    for (const { name, dtype, size } of this.#fields) {
      const value = record[name];
      if (what === "receive" && typeof value === "number")
        throw new DataError(`receive: "${name}" is a number; give a record of arrays, such as record() makes`);
      if (sized(value) !== size)
        throw new DataError(`${what}: "${name}" has ${sized(value)} elements: a record has ${size} of them`);
      if (what === "send") checkIntegers("send", name, dtype, value as ArrayLike<number> | number);
    }
  }
}
