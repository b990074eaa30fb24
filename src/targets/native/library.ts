/**
 * @file Loading shared libraries with koffi, an optional dependency.
 *
 * koffi takes a shared library and a C signature and returns a JavaScript function. Calls with a single number are
 * its fastest, which is why programs take one address and find everything else behind it.
 */
import { createRequire } from "node:module";
import { NativeUnavailableError } from "./errors.ts";

/** The part of koffi that is used here. */
interface Koffi {
  /** With no path: what the process has loaded already. */
  load(path: string | null): {
    func(name: string, result: string, parameters: readonly string[]): (...args: number[]) => number;
  };
  address(view: Uint8Array): bigint;
}

let loaded: Koffi | undefined;

function koffi(): Koffi {
  if (loaded) return loaded;
  try {
    loaded = createRequire(import.meta.url)("koffi") as Koffi;
    return loaded;
  } catch (error) {
    const why = (error as Error).message.split("\n")[0];
    throw new NativeUnavailableError(`koffi cannot be loaded (${why}); install it with: npm install koffi`);
  }
}

/** Whether koffi is there; throws a NativeUnavailableError otherwise. */
export function requireKoffi(): void {
  koffi();
}

/** Opened libraries stay open for as long as the process lives. */
const functions = new Map<string, (...args: number[]) => number>();

export function loadFunction(
  path: string,
  symbol: string,
  result: "int" | "double",
  parameters: readonly "double"[],
): (...args: number[]) => number {
  const key = `${path}:${symbol}`;
  let found = functions.get(key);
  if (!found) {
    found = koffi().load(path).func(symbol, result, parameters);
    functions.set(key, found);
  }
  return found;
}

/** The address of a buffer's first byte; exact, as addresses stay below 2^53. */
export function addressOf(buffer: ArrayBufferLike): number {
  return Number(koffi().address(new Uint8Array(buffer)));
}

/** Linux's word for it. */
const MADV_HUGEPAGE = 14;

/**
 * Asks for large pages behind a buffer: arrays of megabytes then need few entries of the processor's table of pages. It
 * is advice; where it is not taken, or there is nobody to give it to, all goes on as before.
 */
export function preferLargePages(buffer: ArrayBufferLike): void {
  if (process.platform !== "linux") return;
  try {
    const advise = koffi().load(null).func("madvise", "int", ["uintptr_t", "size_t", "int"]);
    advise(addressOf(buffer), buffer.byteLength, MADV_HUGEPAGE);
  } catch {
    // A C library without it.
  }
}
