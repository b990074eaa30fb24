/**
 * @file What `import "lockstep/runtime"` gives: the heap, programs and targets, for those who build on modules of IR.
 */
export { ArgumentError, KernelFault } from "./arguments.ts";
export { attachHeap, Heap, HeapError, heap } from "./heap.ts";
export { openProgram } from "./open.ts";
export { Program, type ProgramOptions } from "./program.ts";
export {
  type Availability,
  availability,
  type Choice,
  chooseTarget,
  defaultThreads,
  TARGET_NAMES,
  type TargetChoice,
  TargetError,
} from "./targets.ts";
