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

const ALIGNMENT = 64;
const POOL_BYTES = 8 << 20;

export interface CLibrary {
  /** A zeroed array in memory that stays where it is. */
  array(storage: "f32" | "u8", length: number): Float32Array | Uint8Array;
  /** A function of the library on a block of addresses (for arrays) and numbers. */
  bind(symbol: string, block: readonly (ArrayBufferView | number)[]): () => number;
}

/** Builds and loads; throws a LockstepError that says what is missing. */
export async function loadC(source: string, flags: readonly string[], compiler = "cc"): Promise<CLibrary> {
  const koffi = await import("koffi").catch(() => {
    throw new LockstepError("koffi is not installed");
  });
  const folder = mkdtempSync(join(tmpdir(), "lockstep-c-"));
  try {
    const input = join(folder, "baseline.c");
    const output = join(folder, `baseline${koffi.extension}`);
    writeFileSync(input, source);
    try {
      execFileSync(compiler, [...flags, "-shared", "-fPIC", "-o", output, input], {
        stdio: ["ignore", "ignore", "pipe"],
      });
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      throw new LockstepError(`the C compiler "${compiler}" did not build the baseline: ${detail}`);
    }
    const library = koffi.load(output);
    const pool = new ArrayBuffer(POOL_BYTES);
    const base = Number(koffi.address(new Uint8Array(pool)));
    // Arrays begin one cache line further into their page each time: equal offsets would share cache sets.
    let next = ALIGNMENT - (base % ALIGNMENT);
    return {
      array(storage, length) {
        const begin = next;
        const bytes = length * (storage === "f32" ? 4 : 1);
        next += Math.ceil(bytes / ALIGNMENT) * ALIGNMENT + 5 * ALIGNMENT;
        if (next > POOL_BYTES) throw new LockstepError(`the baselines' ${POOL_BYTES} bytes are used up`);
        return storage === "f32" ? new Float32Array(pool, begin, length) : new Uint8Array(pool, begin, length);
      },
      bind(symbol, block) {
        const call = library.func(symbol, "int32_t", ["void *"]);
        const words = Float64Array.from(block, (word) => (typeof word === "number" ? word : base + word.byteOffset));
        const address = koffi.address(words);
        // The closure holds `words`, so that the memory behind the address stays.
        return () => (words.length > 0 ? call(address) : 0);
      },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
