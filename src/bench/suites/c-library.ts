/**
 * @file Compiles C for baselines and calls it through koffi, with arrays that are aligned as the heap's are.
 *
 * The library is built in a temporary folder that is gone when this returns (the loaded code stays). A call passes
 * one address, which is what a compiled kernel's call passes too.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LockstepError } from "../../platform/errors.ts";
import { addressOf, loadFunction, requireKoffi } from "../../targets/native/library.ts";

const ALIGNMENT = 64;
const POOL_BYTES = 8 << 20;

export interface CLibrary {
  /** A zeroed array in memory that stays where it is. */
  array(storage: "f32" | "u8", length: number): Float32Array | Uint8Array;
  /** A function of the library on a block of addresses (for arrays) and numbers. */
  bind(symbol: string, block: readonly (ArrayBufferView | number)[]): () => number;
}

export interface CSource {
  readonly source: string;
  /** The functions to be called, each `int32_t name(double at)`. */
  readonly symbols: readonly string[];
  readonly flags: readonly string[];
}

class LoadedLibrary implements CLibrary {
  readonly #path: string;
  readonly #pool = new ArrayBuffer(POOL_BYTES);
  readonly #base = addressOf(this.#pool);
  #next = ALIGNMENT - (this.#base % ALIGNMENT);

  /** Loads at once, so that the file may go afterwards. */
  constructor(path: string, symbols: readonly string[]) {
    this.#path = path;
    for (const symbol of symbols) loadFunction(path, symbol, "int", ["double"]);
  }

  array(storage: "f32" | "u8", length: number): Float32Array | Uint8Array {
    const begin = this.#next;
    const bytes = length * (storage === "f32" ? 4 : 1);
    // Arrays begin some cache lines further into their page each time: equal offsets would share cache sets.
    this.#next += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT + 5 * ALIGNMENT;
    if (this.#next > POOL_BYTES) throw new LockstepError(`the baselines' ${POOL_BYTES} bytes are used up`);
    return storage === "f32" ? new Float32Array(this.#pool, begin, length) : new Uint8Array(this.#pool, begin, length);
  }

  bind(symbol: string, block: readonly (ArrayBufferView | number)[]): () => number {
    const call = loadFunction(this.#path, symbol, "int", ["double"]);
    const words = this.array("f32", 2 * block.length);
    const doubles = new Float64Array(words.buffer, words.byteOffset, block.length);
    block.forEach((word, k) => {
      doubles[k] = typeof word === "number" ? word : this.#base + word.byteOffset;
    });
    const at = this.#base + doubles.byteOffset;
    return () => call(at);
  }
}

/** Builds and loads; throws a LockstepError that says what is missing. */
export function loadC({ source, symbols, flags }: CSource, compiler = "cc"): CLibrary {
  requireKoffi();
  const folder = mkdtempSync(join(tmpdir(), "lockstep-c-"));
  try {
    const input = join(folder, "baseline.c");
    const output = join(folder, "baseline.so");
    writeFileSync(input, source);
    try {
      execFileSync(compiler, [...flags, "-shared", "-fPIC", "-o", output, input], {
        stdio: ["ignore", "ignore", "pipe"],
      });
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      throw new LockstepError(`the C compiler "${compiler}" did not build the baseline: ${detail}`);
    }
    return new LoadedLibrary(output, symbols);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
