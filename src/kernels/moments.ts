/**
 * @file The mean of numbers and their squared distances from it, as a helper of kernels: two passes, in double precision
 * whatever the array holds, in the fixed order of the compiler's reductions.
 */
import { type Intrinsics, inline, type KernelArray } from "../kernel/declare.ts";

export const momentsOf = inline((values: KernelArray, parallel: Intrinsics["parallel"]) => {
  const n = values.length;
  let sum = 0;
  parallel(n, (i) => {
    sum += Number(values[i]!);
  });
  const mean = sum / n;
  let squares = 0;
  parallel(n, (i) => {
    const d = Number(values[i]!) - mean;
    squares += d * d;
  });
  return { mean, squares };
});
