/**
 * @file The suite's cases bound to compiled kernels: arrays in the heap, no argument checks per call.
 */
import type { RunOptions } from "../../kernel/kernel.ts";
import { heap } from "../../runtime/heap.ts";
import type { TargetName } from "../../targets/target.ts";
import { type CaseArrays, type CaseName, type KernelCase, makeArrays } from "./kernels-cases.ts";
import * as kernels from "./kernels-lockstep.ts";

/** The part of a kernel that is used here; arguments differ from case to case. */
interface Bindable {
  on(
    target: TargetName,
    options: RunOptions,
  ): { bind(args: { readonly [name: string]: Float32Array | Uint8Array | number }): () => void };
}
const KERNELS: { readonly [N in CaseName]: Bindable } = kernels;

/** Arrays of a case, and a function that runs its kernel on them; throws where the target is not available. */
export function bindCase(
  one: KernelCase,
  target: TargetName,
  options: RunOptions,
): { arrays: CaseArrays; run: () => void } {
  const arrays = makeArrays(one, (storage, length) => heap().array(storage, length) as Float32Array | Uint8Array);
  const run = KERNELS[one.name].on(target, options).bind({ ...arrays, ...one.scalars });
  return { arrays, run };
}
