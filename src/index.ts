/**
 * @file What `import "lockstep"` gives.
 */
export * from "./buffers/index.ts";
export * from "./envs/index.ts";
export {
  bool,
  type CallArguments,
  constant,
  type Declaration,
  type FunctionArguments,
  f32,
  f64,
  type Intrinsics,
  i32,
  inline,
  type KernelFunction,
  type KernelOptions,
  type RandomStream,
  type Scalar,
  struct,
  u8,
  u32,
} from "./kernel/declare.ts";
export { KernelError } from "./kernel/errors.ts";
export { allocate, allocateFrom, free, type Kernel, type KernelOn, kernel, type RunOptions } from "./kernel/kernel.ts";
export {
  type ArrayHandle,
  type Handles,
  type KernelProgram,
  ProgramError,
  type ProgramTools,
  program,
  type ScalarHandle,
} from "./kernel/program.ts";
export { DataError } from "./kernels/errors.ts";
export * from "./kernels/estimators/index.ts";
export * from "./kernels/llm/index.ts";
export * from "./kernels/running/index.ts";
export { LockstepError } from "./platform/errors.ts";
export { ArgumentError, KernelFault } from "./runtime/arguments.ts";
export { HeapError } from "./runtime/heap.ts";
export { chooseTarget, type TargetChoice, TargetError } from "./runtime/targets.ts";
