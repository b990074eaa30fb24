/**
 * @file The configuration of runs: schemas, files, layers, and words about them.
 */
export { describeConfig } from "./describe.ts";
export { readConfigFile, readConfigText } from "./file.ts";
export { ConfigError, type Problem, type Source } from "./problems.ts";
export { type ResolvedConfig, type ResolveOptions, resolveConfig, type Setting } from "./resolve.ts";
export { type RunConfig, runConfigSchema } from "./run.ts";
export type { ConfigFile } from "./sections.ts";
export { parseSets, type SetValues } from "./sets.ts";
export type { ConfigFormat } from "./tree.ts";
export { TUNED, type TunedTable } from "./tuned.ts";
