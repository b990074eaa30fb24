/**
 * @file Flags of V8 that WebAssembly is to have, and stay on: in a file of their own, because what is kept of compiled
 * JavaScript is bound to the flags of the process that kept it (cli/start.ts).
 */
import { engine } from "../../platform/engine.ts";

/** The version of V8 from which on relaxed SIMD needs no flag. */
const RELAXED_SHIPPED: readonly [number, number] = [11, 4];
/** The newest V8 whose flags are known. */
const KNOWN_MAJOR = 14;

/**
 * Functions are optimised after this many bytes have been executed, instead of after 13 million: hot loops run at full
 * speed after a call or two. Optimising a function takes milliseconds on a core of its own, so what runs once over a few
 * elements, some ten microseconds, is left to the quick baseline compiler.
 */
const TIERING = "--wasm-tiering-budget=100000";

export const atLeast = ([major, minor]: readonly [number, number]): boolean =>
  engine.v8[0] > major || (engine.v8[0] === major && engine.v8[1] >= minor);
export const flagsKnown = (): boolean => engine.v8[0] >= 11 && engine.v8[0] <= KNOWN_MAJOR;

/** Sets them, where flags can be set; once more changes nothing. */
export function setLastingFlags(): void {
  if (!flagsKnown()) return;
  engine.setFlags(TIERING);
  if (!atLeast(RELAXED_SHIPPED)) engine.setFlags("--experimental-wasm-relaxed-simd");
}
