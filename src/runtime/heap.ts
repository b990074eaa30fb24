/**
 * @file The heap: one WebAssembly memory per process, where arrays and program arenas live.
 *
 * Generated JavaScript, WebAssembly and native code all work on it in place, so an array serves every target without
 * a copy. It is shared where the platform allows (worker threads attach to it); a shared memory never moves and its
 * views stay valid when it grows. Elsewhere it has a fixed size. The words at its start belong to the allocator: the
 * next free block is taken with an atomic exchange, so that threads can allocate at once; freed blocks are kept in lists
 * by size, one set per thread.
 */
import { type TypedArray, viewArray } from "../ir/arrays.ts";
import { STORAGE_BYTES, type StorageType } from "../ir/types.ts";
import { LockstepError } from "../platform/errors.ts";

/** There is no room left, or the memory handed over is not a heap. */
export class HeapError extends LockstepError {
  override readonly name = "HeapError";
}

const PAGE = 65536;
/** What 32-bit offsets reach, less the last page: WebAssembly code counts on no array being within a page of an end. */
const MAX_PAGES = 65535;
const LIMIT = MAX_PAGES * PAGE;
/** Blocks are multiples of this, and aligned to it: a cache line. */
export const BLOCK = 64;
/**
 * Blocks left free behind each of this many or more. Processors take a load for one that waits for a store when their
 * addresses agree in the lower 12 bits, so arrays of a round size, one behind the other, would slow each other down.
 */
const SKEW = { from: 16, blocks: 5 } as const;
const skewed = (blocks: number): number => (blocks >= SKEW.from ? blocks + SKEW.blocks : blocks);
/**
 * Bytes kept at the start: a page of control words (the first 1024 bytes are the allocator's, the rest the WebAssembly
 * target's), and a spare element for empty arrays to point at.
 */
const RESERVED = PAGE + BLOCK;
export const SPARE_ELEMENT = PAGE;
const MAGIC = 0x6c6f636b;
/**
 * First and last size in pages, to be tried in turn. Pages cost nothing until they are touched, so the memory starts
 * large: a grown memory has a new buffer object, and arrays of both kinds in one call take a slower way.
 */
const SIZES = [
  { initial: 16384, maximum: MAX_PAGES },
  { initial: 4096, maximum: 16384 },
  { initial: 256, maximum: 4096 },
] as const;
const FIXED_PAGES = 4096;

function createMemory(): WebAssembly.Memory {
  const canShare = typeof SharedArrayBuffer !== "undefined";
  for (const size of canShare ? SIZES : []) {
    try {
      return new WebAssembly.Memory({ ...size, shared: true });
    } catch {
      // Not that much address space: try the next size.
    }
  }
  return new WebAssembly.Memory({ initial: FIXED_PAGES, maximum: FIXED_PAGES });
}

/**
 * Arrays of the heap carry their offset under this key: reading it is one load for an engine, where asking an array for
 * its buffer is a call. Views that users make of them (subarray) lack it and are recognised by their buffer.
 */
export const HEAP_OFFSET: unique symbol = Symbol("lockstep.offset");

export class Heap {
  readonly memory: WebAssembly.Memory;
  readonly shared: boolean;
  readonly #buffers = new WeakSet<ArrayBufferLike>();
  readonly #free = new Map<number, number[]>();
  readonly #sizes = new Map<number, number>();

  constructor(memory: WebAssembly.Memory = createMemory()) {
    this.memory = memory;
    this.shared = typeof SharedArrayBuffer !== "undefined" && memory.buffer instanceof SharedArrayBuffer;
    this.#buffers.add(memory.buffer);
    const words = this.#words();
    if (Atomics.compareExchange(words, 0, 0, MAGIC) === 0) Atomics.store(words, 1, RESERVED / BLOCK);
    else if (Atomics.load(words, 0) !== MAGIC) throw new HeapError("this memory is not a lockstep heap");
  }

  /** The current view of the memory; a grown memory has a new one, and old ones stay valid. */
  get buffer(): ArrayBufferLike {
    const { buffer } = this.memory;
    this.#buffers.add(buffer);
    return buffer;
  }

  /** The magic number, and the first block that was never taken. */
  #words(): Int32Array {
    return new Int32Array(this.memory.buffer, 0, 2);
  }

  /** Whether an array's memory is this heap. */
  owns(buffer: ArrayBufferLike): boolean {
    return this.#buffers.has(buffer) || buffer === this.buffer;
  }

  /** Takes `bytes`, aligned to BLOCK and zeroed; returns their offset. */
  allocate(bytes: number): number {
    const blocks = skewed(Math.max(1, Math.ceil(bytes / BLOCK)));
    const freed = this.#free.get(blocks)?.pop();
    if (freed !== undefined) new Uint8Array(this.buffer, freed, blocks * BLOCK).fill(0);
    const offset = freed ?? this.#fresh(blocks);
    this.#sizes.set(offset, blocks);
    return offset;
  }

  #fresh(blocks: number): number {
    if (!(blocks * BLOCK <= LIMIT)) throw this.#full(blocks * BLOCK);
    for (;;) {
      const first = Atomics.load(this.#words(), 1);
      this.#reach((first + blocks) * BLOCK);
      if (Atomics.compareExchange(this.#words(), 1, first, first + blocks) === first) return first * BLOCK;
    }
  }

  /** Makes sure that the memory goes as far as `end`. */
  #reach(end: number): void {
    const missing = Math.ceil((end - this.buffer.byteLength) / PAGE);
    if (missing <= 0) return;
    try {
      // Grow by a quarter at least, so that many small arrays do not grow many times.
      this.#grow(Math.max(missing, Math.ceil(this.buffer.byteLength / PAGE / 4)), missing);
    } catch {
      throw this.#full(end - this.buffer.byteLength);
    }
  }

  #grow(wanted: number, needed: number): void {
    try {
      this.memory.grow(wanted);
    } catch {
      this.memory.grow(needed);
    }
  }

  #full(bytes: number): HeapError {
    const used = (Atomics.load(this.#words(), 1) >>> 0) * BLOCK;
    return new HeapError(
      `no room for ${bytes} bytes: ${used} are in use. Free arrays that are no longer needed, or keep large data in ` +
        "ordinary typed arrays and hand over parts of it",
    );
  }

  /** Bytes of all arrays that were not given back. */
  get bytesInUse(): number {
    let blocks = 0;
    for (const size of this.#sizes.values()) blocks += size;
    return blocks * BLOCK;
  }

  /** Gives a block back. Arrays in it must not be used any more. */
  release(offset: number): void {
    const blocks = this.#sizes.get(offset);
    if (blocks === undefined) throw new HeapError(`offset ${offset} was not allocated here, or was freed before`);
    this.#sizes.delete(offset);
    const list = this.#free.get(blocks);
    if (list) list.push(offset);
    else this.#free.set(blocks, [offset]);
  }

  /** A zeroed array in the heap. */
  array(storage: StorageType, length: number): TypedArray {
    if (!Number.isInteger(length) || length < 0)
      throw new HeapError(`an array needs a whole number of elements from 0 on, not ${length}`);
    const offset = this.allocate(length * STORAGE_BYTES[storage]);
    const array = viewArray(storage, this.buffer, offset, length);
    return Object.defineProperty(array, HEAP_OFFSET, { value: length === 0 ? SPARE_ELEMENT : offset });
  }
}

let current: Heap | undefined;

/** The heap of this process (in a worker: the one it attached to). */
export function heap(): Heap {
  current ??= new Heap();
  return current;
}

/** In a worker thread: use the heap of the thread that sent `memory`. Must come before anything else is allocated. */
export function attachHeap(memory: WebAssembly.Memory): Heap {
  if (current && current.memory !== memory) throw new HeapError("this thread has a heap already; attach first");
  current ??= new Heap(memory);
  return current;
}
