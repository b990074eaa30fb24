/**
 * @file A ring in shared memory: one thread pushes, others sample, and nobody waits.
 *
 * Two counters stand in the heap: how many transitions are published, and up to where the writer may be writing. The
 * writer moves the second on before it touches a slot, in steps of many slots; a reader gathers without a lock and
 * looks at it afterwards: a sampled slot that it has passed may be torn, so that sample is drawn again. Counters begin
 * with what the ring holds (not with what was ever pushed, which `clear` leaves as it is), so that both the next slot
 * and the number of stored transitions follow from them; they wrap at a multiple of the capacity. Read-modify-write
 * operations are used where order with plain accesses matters: they are full fences, which plain atomic loads and
 * stores are not on every processor.
 */
import { type TypedArray, viewArray } from "../ir/arrays.ts";
import { DataError } from "../kernels/errors.ts";
import { attachHeap, heap } from "../runtime/heap.ts";
import type { StorageAddress } from "./columns.ts";
import type { PushHooks } from "./pushing.ts";
import type { TransitionRing } from "./ring.ts";

/** What another thread needs to see a ring. */
export interface RingHandle {
  readonly memory: WebAssembly.Memory;
  readonly storage: StorageAddress;
  /** Byte offset of the counters. */
  readonly position: number;
  /** Transitions pushed ever, less those that the counters count. */
  readonly uncounted: number;
}

/** Words of the counters. */
const PUBLISHED = 0;
const RESERVED = 1;
/** Twice the times the published counter has wrapped; odd while it does. */
const TURNS = 2;
const WORDS = 16;
/** Slots that the writer reserves at once, at most. */
const STEP = 64;

/** What pushing in a thread that only samples does. */
export const attachRing = (): never => {
  throw new DataError("push: only the thread that made a shared buffer pushes to it");
};

export class SharedPosition {
  /** The published counter at the last look. */
  position = 0;
  readonly #words: Int32Array;
  readonly #offset: number;
  readonly #ring: TransitionRing;
  readonly #uncounted: number;
  /** Counters run from 0 to this less one. */
  readonly #wrap: number;
  #disposed = false;

  constructor(ring: TransitionRing, offset: number, uncounted: number) {
    this.#ring = ring;
    this.#offset = offset;
    this.#uncounted = uncounted;
    this.#words = viewArray("i32", heap().buffer, offset, WORDS) as Int32Array;
    this.#wrap = wrapOf(ring.capacity);
  }

  /** Gives the counters back; only the thread that made them does. */
  dispose(): void {
    if (!this.#disposed) heap().release(this.#offset);
    this.#disposed = true;
  }

  static useMemory(handle: RingHandle): void {
    attachHeap(handle.memory);
  }

  handle(ring: TransitionRing): RingHandle {
    return { memory: heap().memory, storage: ring.storage.address, position: this.#offset, uncounted: this.#uncounted };
  }

  /** Brings the ring's position up to what is published. */
  refresh(): void {
    const { state, capacity } = this.#ring;
    let turns: number;
    let position: number;
    do {
      turns = Atomics.load(this.#words, TURNS);
      position = Atomics.load(this.#words, PUBLISHED);
    } while (turns % 2 === 1 || Atomics.load(this.#words, TURNS) !== turns);
    this.position = position;
    state.head = position % capacity;
    const counted = (turns / 2) * this.#wrap + position;
    state.count = Math.min(counted, capacity);
    state.pushed = this.#uncounted + counted;
  }

  /** Of the newest `count` transitions, how many of the oldest may be overwritten by now. */
  unsafe(count: number): number {
    const reserved = Atomics.add(this.#words, RESERVED, 0);
    const passed = reserved - this.position;
    return Math.max(0, (passed < 0 ? passed + this.#wrap : passed) - (this.#ring.capacity - count));
  }

  /** Whether no sampled slot may have been written since; the window is the newest `count`, from slot `start` on. */
  intact(slots: Int32Array, start: number, count: number): boolean {
    const { capacity } = this.#ring;
    const unsafe = this.unsafe(count);
    if (unsafe === 0) return true;
    for (let k = 0; k < slots.length; k++) {
      const age = (slots[k] as number) - start;
      if ((age < 0 ? age + capacity : age) < unsafe) return false;
    }
    return true;
  }
}

const wrapOf = (capacity: number): number => capacity * Math.max(2, Math.floor(2 ** 30 / capacity));

/** Makes a ring's position visible to other threads; the hooks keep it up to date. */
export function shareRing(ring: TransitionRing): {
  readonly position: SharedPosition;
  readonly hooks: (batch: boolean) => PushHooks;
} {
  if (!heap().shared) throw new DataError("share: memory cannot be shared here (SharedArrayBuffer is not available)");
  const { capacity, state } = ring;
  const offset = heap().allocate(WORDS * 4);
  const words: TypedArray = viewArray("i32", heap().buffer, offset, WORDS);
  const wrap = wrapOf(capacity);
  const step = Math.max(1, Math.min(STEP, Math.floor(capacity / 8)));
  // A ring that is not full has been written from slot 0 on.
  const begin = state.count < capacity ? state.count : capacity + state.head;
  const counters = { position: begin, reserved: begin, left: 0 };
  words[PUBLISHED] = begin;
  words[RESERVED] = begin;
  const reserve = (rows: number): void => {
    const more = Math.max(step, rows);
    counters.left += more;
    counters.reserved = (counters.reserved + more) % wrap;
    Atomics.exchange(words as Int32Array, RESERVED, counters.reserved);
  };
  const turn = (): void => {
    counters.position -= wrap;
    Atomics.add(words as Int32Array, TURNS, 1);
    Atomics.store(words as Int32Array, PUBLISHED, counters.position);
    Atomics.add(words as Int32Array, TURNS, 1);
  };
  const hooks = (batch: boolean): PushHooks => {
    const rows = batch ? "rows" : "1";
    return {
      prepare: `if (counters.left < ${rows}) reserve(${rows}); counters.left -= ${rows};`,
      finish: [
        `counters.position += ${rows};`,
        `if (counters.position >= ${wrap}) turn();`,
        `else Atomics.store(words, ${PUBLISHED}, counters.position);`,
      ].join("\n"),
      uses: { counters, reserve, turn, words },
    };
  };
  return { position: new SharedPosition(ring, offset, state.pushed - begin), hooks };
}
