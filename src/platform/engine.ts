/**
 * @file The JavaScript engine: which V8 this is, and switching its flags on; nothing of it in browsers.
 *
 * Node's modules are reached through `process.getBuiltinModule`, so that this file loads everywhere.
 */

export interface Engine {
  /** Major and minor version of V8, [0, 0] where its flags are out of reach. */
  readonly v8: readonly [number, number];
  /** Sets flags of V8 for the whole process; an unknown one would print to stderr, so check the version first. */
  setFlags(...flags: string[]): void;
  /** The value of an environment variable. */
  variable(name: string): string | undefined;
  /** The processor as Node names it: "x64", "arm64", ... */
  readonly architecture: string;
}

const NONE: Engine = { v8: [0, 0], setFlags: () => {}, variable: () => undefined, architecture: "unknown" };

function nodeEngine(): Engine | undefined {
  if (typeof process === "undefined") return undefined;
  const { versions } = process;
  // Others that imitate Node report a V8 that is not theirs to configure.
  if (!versions?.node || "bun" in versions || "deno" in versions) return undefined;
  const v8 = process.getBuiltinModule?.("node:v8");
  const [major = 0, minor = 0] = versions.v8.split(".").map(Number);
  if (!v8) return undefined;
  return {
    v8: [major, minor],
    setFlags: (...flags) => {
      for (const flag of flags) v8.setFlagsFromString(flag);
    },
    variable: (name) => process.env[name],
    architecture: process.arch,
  };
}

export const engine: Engine = nodeEngine() ?? NONE;
