/**
 * @file Random kernels give the same bits under the interpreter and on every target, scalar and vector, with one and two
 * threads. Many kernels go in one module, so that the C compiler runs few times.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type KernelTree, kernelArbitrary, scanArbitrary } from "./generate.ts";
import { moduleOf, outputBits, release, runInterpreter, runTarget } from "./run.ts";
import { shrink } from "./shrink.ts";
import { type Variant, variants } from "./variants.ts";

const FULL = process.env.LOCKSTEP_FULL === "1";
const KERNELS_PER_MODULE = 100;
const MODULES = FULL ? 200 : 20;

function bitsOn(kernels: readonly KernelTree[], variant: Variant, fixed = true): string[] {
  const module = moduleOf(kernels, fixed);
  if (variant.kind === "interpreter") {
    const arrays = runInterpreter(module, kernels.length, variant.machine);
    return kernels.map((_, k) => outputBits(arrays, k));
  }
  const arrays = runTarget(module, kernels.length, variant.target, variant.threads);
  const bits = kernels.map((_, k) => outputBits(arrays, k));
  release(arrays);
  return bits;
}

const reference: Variant = {
  kind: "interpreter",
  name: "definition",
  machine: undefined,
  shrinks: 0,
};

/** What differs, on the smallest kernel that shows it. */
function explain(kernel: KernelTree, variant: Variant, fixed: boolean): string {
  const differs = (k: KernelTree): boolean => bitsOn([k], variant, fixed)[0] !== bitsOn([k], reference)[0];
  const small = shrink(kernel, differs, variant.shrinks);
  return [
    `${variant.name}: ${JSON.stringify(small)}`,
    `expected\n${bitsOn([small], reference)[0]}`,
    `got\n${bitsOn([small], variant, fixed)[0]}`,
  ].join("\n");
}

/** Every variant must give the definition's bits for all kernels of a module. */
function testModule(kernels: readonly KernelTree[], fixed: boolean): void {
  const expected = bitsOn(kernels, reference);
  for (const variant of variants()) {
    const wrong = bitsOn(kernels, variant, fixed).findIndex((bits, k) => bits !== expected[k]);
    if (wrong !== -1) expect.fail(explain(kernels[wrong] as KernelTree, variant, fixed));
  }
}

/** Scans, with guards around their subscripts in every other module. */
export function testScans(): void {
  describe("random scans", () => {
    const [modules, each] = [FULL ? 40 : 3, 40];
    const all = fc.sample(scanArbitrary, { numRuns: modules * each, seed: 20260502 });
    for (let m = 0; m < modules; m++)
      it(`module ${m}: ${each} scans`, { timeout: 300_000 }, () =>
        testModule(all.slice(m * each, (m + 1) * each), m % 2 === 0),
      );
  });
}

/** Tests one half of the modules: two files share the work, so that two processes can. */
export function testHalf(half: 0 | 1): void {
  describe("random kernels", () => {
    const all = fc.sample(kernelArbitrary, { numRuns: MODULES * KERNELS_PER_MODULE, seed: 20260501 });
    for (let m = half; m < MODULES; m += 2) {
      it(`module ${m}: ${KERNELS_PER_MODULE} kernels`, { timeout: 300_000 }, () => {
        const kernels = all.slice(m * KERNELS_PER_MODULE, (m + 1) * KERNELS_PER_MODULE);
        // Guards make two copies of every loop; some modules are enough.
        const fixed = m % 20 > 1;
        testModule(kernels, fixed);
      });
    }
  });
}
