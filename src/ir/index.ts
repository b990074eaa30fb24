/**
 * @file What `import "lockstep/ir"` gives: for those who write front ends, passes or targets.
 */
export * from "./build.ts";
export { interpret } from "./interpret.ts";
export type * from "./nodes.ts";
export { lower } from "./pipeline.ts";
export { printModule } from "./print.ts";
export * from "./types.ts";
export { verify } from "./verify.ts";
