/**
 * @file Blocks of records in a file: a header, two places for a block that is not full yet, and a ring of full blocks.
 *
 * The ring has one slot more than the buffer needs: the block that is overwritten has left the buffer. A block is its
 * number, how many records it holds, and a checksum over both and the records; what does not add up is not a block.
 * Nothing read from a file is trusted: numbers are checked against the layout before they are used.
 */
import { DataError } from "../kernels/errors.ts";
import type { RandomAccessFile } from "../platform/files.ts";
import { crc32 } from "./checksum.ts";
import type { Columns } from "./columns.ts";

/** Where a block goes: full ones to the ring, others to a tail place. */
export type BlockPlace = "ring" | "tail";

export interface BlockLayout {
  readonly columns: Columns;
  readonly capacity: number;
  readonly block: number;
}

/** What an opened file holds: transitions `first` to `pushed - 1`; those of the last, unfilled block in `tail`. */
export interface Recovered {
  readonly first: number;
  readonly pushed: number;
  readonly tail: Uint8Array;
  readonly damaged: number;
}

const FILE_HEADER = 4096;
const BLOCK_HEADER = 32;
const MAGIC = 0x4252534c;
const VERSION = 1;
const TAILS = 2;

interface Block {
  readonly number: number;
  readonly rows: number;
  readonly sequence: number;
}

export class BlockStore {
  /** Room for the records of a block; filled before `write`. */
  readonly payload: Uint8Array;
  readonly #file: RandomAccessFile;
  readonly #path: string;
  readonly #layout: BlockLayout;
  readonly #recordBytes: number;
  readonly #slots: number;
  readonly #bytes: number;
  readonly #whole: Uint8Array;
  readonly #view: DataView;
  readonly #record: Uint8Array;
  /** Tail blocks written so far; tells which of the two is newer, and whether one is newer than a full block. */
  #sequence = 0;

  constructor(file: RandomAccessFile, path: string, layout: BlockLayout, recordBytes: number) {
    this.#file = file;
    this.#path = path;
    this.#layout = layout;
    this.#recordBytes = recordBytes;
    this.#slots = Math.ceil(layout.capacity / layout.block) + 1;
    this.#bytes = BLOCK_HEADER + layout.block * recordBytes;
    this.#whole = new Uint8Array(this.#bytes);
    this.#view = new DataView(this.#whole.buffer);
    this.payload = this.#whole.subarray(BLOCK_HEADER);
    this.#record = new Uint8Array(recordBytes);
    if (file.size() === 0) this.#writeHeader();
    else this.#checkHeader();
  }

  #describe(): Uint8Array {
    const { columns, capacity, block } = this.#layout;
    return new TextEncoder().encode(JSON.stringify({ format: "lockstep replay", capacity, block, columns }));
  }

  #writeHeader(): void {
    const text = this.#describe();
    if (text.length > FILE_HEADER - 16) throw new DataError("the columns' names are too long for the file's header");
    const header = new Uint8Array(FILE_HEADER);
    const view = new DataView(header.buffer);
    header.set(text, 16);
    view.setUint32(0, MAGIC, true);
    view.setUint32(4, VERSION, true);
    view.setUint32(8, text.length, true);
    view.setUint32(12, crc32(text), true);
    this.#file.write(header, 0);
  }

  #checkHeader(): void {
    const header = new Uint8Array(FILE_HEADER);
    const refuse = (why: string): never => {
      throw new DataError(`${this.#path} ${why}`);
    };
    if (this.#file.read(header, 0) < FILE_HEADER) refuse("is not a replay file: it is too short");
    const view = new DataView(header.buffer);
    if (view.getUint32(0, true) !== MAGIC) refuse("is not a replay file");
    if (view.getUint32(4, true) !== VERSION) refuse(`has the version ${view.getUint32(4, true)}, not ${VERSION}`);
    const length = view.getUint32(8, true);
    if (length > FILE_HEADER - 16) refuse("has a damaged header");
    const text = header.subarray(16, 16 + length);
    if (crc32(text) !== view.getUint32(12, true)) refuse("has a damaged header");
    const wanted = this.#describe();
    if (text.length !== wanted.length || text.some((byte, k) => byte !== wanted[k]))
      refuse(
        `belongs to a buffer of another layout: ${new TextDecoder().decode(text)}; ` +
          `this one is ${new TextDecoder().decode(wanted)}`,
      );
  }

  #position(place: BlockPlace, slot: number): number {
    return FILE_HEADER + (place === "tail" ? slot : TAILS + slot) * this.#bytes;
  }

  /** Writes the records in `payload` as a block. */
  write(place: BlockPlace, number: number, rows: number): void {
    const used = this.#whole.subarray(0, BLOCK_HEADER + rows * this.#recordBytes);
    const view = this.#view;
    view.setUint32(0, MAGIC, true);
    view.setUint32(4, rows, true);
    view.setFloat64(8, number, true);
    view.setFloat64(16, this.#sequence, true);
    view.setUint32(24, 0, true);
    view.setUint32(28, crc32(used.subarray(BLOCK_HEADER), crc32(used.subarray(0, 28))), true);
    const slot = place === "tail" ? this.#sequence++ % TAILS : number % this.#slots;
    this.#file.write(used, this.#position(place, slot));
  }

  /** Reads a block into `payload`; undefined when there is none, null when it is damaged. */
  #read(place: BlockPlace, slot: number): Block | undefined | null {
    const got = this.#file.read(this.#whole, this.#position(place, slot));
    if (got === 0 || this.#whole.subarray(0, Math.min(got, BLOCK_HEADER)).every((byte) => byte === 0)) return undefined;
    const view = this.#view;
    const rows = view.getUint32(4, true);
    const number = view.getFloat64(8, true);
    const sequence = view.getFloat64(16, true);
    const sound =
      got >= BLOCK_HEADER &&
      view.getUint32(0, true) === MAGIC &&
      rows >= 1 &&
      rows <= this.#layout.block &&
      got >= BLOCK_HEADER + rows * this.#recordBytes &&
      Number.isSafeInteger((number + 1) * this.#layout.block) &&
      Number.isInteger(number) &&
      number >= 0 &&
      Number.isSafeInteger(sequence) &&
      sequence >= 0 &&
      (place === "tail" ? rows < this.#layout.block : rows === this.#layout.block && number % this.#slots === slot);
    if (!sound) return null;
    const records = this.#whole.subarray(BLOCK_HEADER, BLOCK_HEADER + rows * this.#recordBytes);
    if (crc32(records, crc32(this.#whole.subarray(0, 28))) !== view.getUint32(28, true)) return null;
    return { number, rows, sequence };
  }

  /** Looks at every block: the longest run of whole ones that ends with the newest, and the tail that continues it. */
  recover(): Recovered {
    const whole = new Set<number>();
    let damaged = 0;
    let newest = { number: -1, sequence: 0 };
    for (let slot = 0; slot < this.#slots; slot++) {
      const block = this.#read("ring", slot);
      if (block === null) damaged++;
      if (!block) continue;
      whole.add(block.number);
      if (block.number > newest.number) newest = block;
      this.#sequence = Math.max(this.#sequence, block.sequence);
    }
    const next = newest.number + 1;
    const tail = this.#newestTail(next, newest.sequence);
    damaged += tail.damaged;
    let first = next;
    while (whole.has(first - 1)) first--;
    const { block } = this.#layout;
    return { first: first * block, pushed: next * block + tail.rows, tail: tail.records, damaged };
  }

  /**
   * The newest tail of a block that was written after the full block before it, which is of the given sequence. One from
   * before is left over: it followed a block that was lost, and whose number was given again.
   */
  #newestTail(number: number, sequence: number): { rows: number; records: Uint8Array; damaged: number } {
    let found = { rows: 0, records: new Uint8Array(0), sequence: sequence - 1 };
    let damaged = 0;
    for (let slot = 0; slot < TAILS; slot++) {
      const block = this.#read("tail", slot);
      if (block === null) damaged++;
      if (!block) continue;
      this.#sequence = Math.max(this.#sequence, block.sequence + 1);
      // A tail that became full is in the ring; one whose ring block was torn holds all that is left of it.
      if (block.number !== number || block.sequence <= found.sequence) continue;
      const records = this.payload.slice(0, block.rows * this.#recordBytes);
      found = { rows: block.rows, records, sequence: block.sequence };
    }
    return { ...found, damaged };
  }

  /** The record of a transition in a full block; valid until the next call. */
  readRecord(number: number): Uint8Array {
    const { block } = this.#layout;
    const slot = Math.floor(number / block) % this.#slots;
    const position = this.#position("ring", slot) + BLOCK_HEADER + (number % block) * this.#recordBytes;
    if (this.#file.read(this.#record, position) < this.#recordBytes)
      throw new DataError(`${this.#path} has become shorter while it was open`);
    return this.#record;
  }

  sync(): void {
    this.#file.sync();
  }

  close(): void {
    this.#file.close();
  }
}
