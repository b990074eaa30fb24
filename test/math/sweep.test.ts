/**
 * Dense sweeps of f32: every 64th of all bit patterns through every function of one argument (test:full only).
 */
import { describe, expect, it } from "vitest";
import type { TypedArray } from "../../src/ir/interpret.ts";
import { BOUNDS, MATH } from "../../src/math/index.ts";
import { heap } from "../../src/runtime/heap.ts";
import { Program } from "../../src/runtime/program.ts";
import { createJsTarget } from "../../src/targets/js/index.ts";
import { createWasmTarget } from "../../src/targets/wasm/index.ts";
import { REFERENCES } from "./reference.ts";
import { mathF64, moduleOf } from "./support.ts";

const STRIDE = 64;
const BLOCK = 1 << 16;
const TWO = ["atan2", "pow", "hypot"];
const NAMES = (Object.keys(REFERENCES) as (keyof typeof REFERENCES)[]).filter((name) => !TWO.includes(name));
const target = createWasmTarget({ memory: heap().memory }).target ?? createJsTarget(heap().memory);

/** The error of a finite result, in f32 units; the smallest denormal is the least. */
function errorOf(got: number, want: number): number {
  if (Number.isNaN(want)) return Number.isNaN(got) ? 0 : Number.POSITIVE_INFINITY;
  const limit = (x: number): number => Math.min(Math.max(x, -(2 ** 128)), 2 ** 128);
  const size = limit(want);
  const exponent = size === 0 ? -126 : Math.max(Math.floor(Math.log2(Math.abs(size))), -126);
  const error = Math.abs(limit(got) - size) / 2 ** (exponent - 23);
  return Number.isNaN(error) ? Number.POSITIVE_INFINITY : error;
}

describe.runIf(process.env.LOCKSTEP_FULL)("every 64th f32", () => {
  it.each(NAMES)("%s", (name) => {
    const module = moduleOf({ [name]: MATH[name] }, "f32", 1);
    const program = new Program(module, target, { threads: 1, unchecked: true });
    const x = heap().array("f32", BLOCK) as TypedArray;
    const out = heap().array("f32", BLOCK) as TypedArray;
    const patterns = new Uint32Array(x.buffer, x.byteOffset, BLOCK);
    const exact = mathF64(name);
    let worst = 0;
    let at = 0;
    for (let start = 0; start < 2 ** 32; start += BLOCK * STRIDE) {
      // An offset that moves through the low bits, so that they are not always zero.
      for (let i = 0; i < BLOCK; i++) patterns[i] = start + i * STRIDE + (i % STRIDE);
      program.run({ x, [name]: out });
      for (let i = 0; i < BLOCK; i++) {
        const error = errorOf(out[i] as number, exact(x[i] as number, 0));
        if (error > worst) [worst, at] = [error, x[i] as number];
      }
    }
    program.dispose();
    heap().release(x.byteOffset);
    heap().release(out.byteOffset);
    expect(worst, `at ${at}`).toBeLessThanOrEqual(BOUNDS[name].f32);
  });
});
