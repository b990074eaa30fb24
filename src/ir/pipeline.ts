/**
 * @file The pipeline from a front end's module to what a target compiles: one flat list of named passes. The
 * verifier follows each of them, unless it is switched off.
 */
import type { Module } from "./nodes.ts";
import { checkBounds } from "./passes/bounds.ts";
import { contract } from "./passes/contract.ts";
import { interleave } from "./passes/interleave.ts";
import { outlineParallel } from "./passes/outline.ts";
import { packListings } from "./passes/packs.ts";
import { lowerPartials, shardReductions } from "./passes/reductions.ts";
import { lowerScans } from "./passes/scans.ts";
import { separateLoops } from "./passes/separate.ts";
import { shareLocals } from "./passes/share.ts";
import { simplify } from "./passes/simplify.ts";
import { vectorise } from "./passes/vectorise.ts";
import { type Stage, verify } from "./verify.ts";

/**
 * "unfused": every operation rounds by itself, and all targets give the same bits. "fused": sums of products use
 * `fma`, the same ones everywhere; exact but slow to emulate where the machine has no such instruction.
 */
export type Numerics = "fused" | "unfused";
export const NUMERICS: readonly Numerics[] = ["fused", "unfused"];

/** What the passes need to know of a machine. */
export interface PassOptions {
  /** Bytes of a vector register; 0 keeps all code scalar. */
  readonly vectorBytes: number;
  /** Vector registers; 16 unless given. */
  readonly vectorRegisters?: number;
  /** Whether parallel loops become functions that a thread pool can call. */
  readonly launches: boolean;
  /** Whether the machine stores chosen lanes next to each other. */
  readonly packs?: boolean | undefined;
  /** Whether long functions are taken apart. */
  readonly shortFunctions?: boolean | undefined;
  /** The most threads that there will be; any number unless given. */
  readonly threads?: number | undefined;
  /** Whether f32 products that are only added are rounded together with the sum; "unfused" unless given. */
  readonly numerics?: Numerics | undefined;
  /** Checks the module after every pass; on unless switched off. */
  readonly verify?: boolean;
  /** Leaves subscripts unchecked: out of range is then undefined. */
  readonly unchecked?: boolean;
}

interface Pass {
  readonly name: string;
  readonly stage: Stage;
  readonly enabled: (options: PassOptions) => boolean;
  readonly run: (module: Module, options: PassOptions) => Module;
}

export const PASSES: readonly Pass[] = [
  { name: "simplify", stage: "front", enabled: () => true, run: simplify },
  { name: "share", stage: "front", enabled: () => true, run: shareLocals },
  { name: "contract", stage: "front", enabled: (o) => o.numerics === "fused", run: contract },
  { name: "bounds", stage: "front", enabled: () => true, run: (m, o) => checkBounds(m, o.unchecked ?? false) },
  { name: "reductions", stage: "sharded", enabled: () => true, run: shardReductions },
  { name: "outline", stage: "outlined", enabled: (o) => o.launches, run: (m, o) => outlineParallel(m, o.threads) },
  {
    name: "vectorise",
    stage: "vector",
    enabled: (o) => o.vectorBytes > 0,
    run: (m, o) => vectorise(m, { vectorRegisters: 16, ...o }),
  },
  { name: "interleave", stage: "vector", enabled: (o) => o.vectorBytes > 0, run: interleave },
  { name: "packs", stage: "vector", enabled: (o) => o.packs === true, run: packListings },
  { name: "scans", stage: "vector", enabled: () => true, run: lowerScans },
  { name: "partials", stage: "final", enabled: () => true, run: lowerPartials },
  { name: "separate", stage: "final", enabled: (o) => o.shortFunctions === true, run: separateLoops },
];

/** Runs all passes; `watch` sees the module after each, for printing. */
export function lower(module: Module, options: PassOptions, watch?: (pass: string, module: Module) => void): Module {
  const check = (m: Module, stage: Stage): void => {
    if (options.verify !== false) verify(m, stage);
  };
  check(module, "front");
  let current = module;
  for (const pass of PASSES) {
    if (!pass.enabled(options)) continue;
    current = pass.run(current, options);
    watch?.(pass.name, current);
    check(current, pass.stage);
  }
  return current;
}
