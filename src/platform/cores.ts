/**
 * @file How many cores this process may use.
 */
export function coreCount(): number {
  const os = globalThis.process?.getBuiltinModule?.("node:os");
  return Math.max(1, os?.availableParallelism() ?? globalThis.navigator?.hardwareConcurrency ?? 1);
}
