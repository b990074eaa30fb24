/**
 * @file LOCKSTEP_DEBUG: what is compiled and how long it takes, printed as it happens.
 *
 * 1: programs. 2: time, GFLOP/s and GB/s per call. 3: IR after all passes. 4: generated code.
 */
import type { TypedArray } from "../ir/arrays.ts";
import type { Module } from "../ir/nodes.ts";
import { floatOperationsOf, type Known } from "../ir/passes/cost.ts";
import { printModule } from "../ir/print.ts";
import { binaryValue } from "../ir/scalar.ts";
import { functionsOf } from "../ir/walk.ts";
import type { ArenaLayout, Executable, Target } from "../targets/target.ts";
import type { Signature } from "./signature.ts";

export function debugLevel(): number {
  const text = globalThis.process?.env?.LOCKSTEP_DEBUG;
  return text ? Number.parseInt(text, 10) || 0 : 0;
}

/** Whether every pass is checked: a third of the compile time, spent in tests (LOCKSTEP_VERIFY=1) and when debugging. */
export const verifying = (): boolean => debugLevel() > 0 || globalThis.process?.env?.LOCKSTEP_VERIFY === "1";

/** To the error stream, so that it never mixes with a program's own output. */
const print = (text: string): void => console.error(text);

export interface Compiled {
  readonly module: Module;
  readonly lowered: Module;
  readonly target: Target;
  readonly executable: Executable;
  readonly layout: ArenaLayout;
  readonly milliseconds: number;
}

export function report(c: Compiled): void {
  const level = debugLevel();
  if (level < 1) return;
  const functions = functionsOf(c.lowered).length;
  print(
    `[lockstep] ${c.module.name} on ${c.target.name}: ${functions} function${functions === 1 ? "" : "s"}, ` +
      `arena ${c.layout.bytes} bytes, compiled in ${c.milliseconds.toFixed(1)} ms`,
  );
  if (level >= 3) print(printModule(c.lowered));
  if (level >= 4) print(c.executable.source() ?? "");
}

const at = (args: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((o, key) => (o as { [key: string]: unknown })[key], args);

const bytesOf = (args: unknown, signature: Signature): number =>
  signature.arrays.reduce((sum, p) => sum + (at(args, p.path) as TypedArray).byteLength * (p.written ? 2 : 1), 0);

/** Evaluates loop bounds over lengths and scalar arguments. */
function knownFrom(args: unknown): Known {
  const number = (v: unknown): number | undefined => (typeof v === "number" ? v : undefined);
  const known: Known = (e) => {
    switch (e.kind) {
      case "const":
        return e.value;
      case "length":
        return (at(args, e.buffer.name.split(".")) as TypedArray | undefined)?.length;
      case "get":
        return e.local.name in (args as object) ? number(at(args, e.local.name.split("."))) : undefined;
      case "binary": {
        const [a, b] = [known(e.a), known(e.b)];
        return a === undefined || b === undefined ? undefined : binaryValue(e.op, e.a.dtype, a, b);
      }
      default:
        return undefined;
    }
  };
  return known;
}

/** Times each call. GFLOP/s counts both arms of branches and the loops whose bounds follow from the arguments. */
export function reportCall(
  module: Module,
  signature: Signature,
  run: (args: unknown) => void,
): (args: unknown) => void {
  return (args) => {
    const start = performance.now();
    run(args);
    const ms = performance.now() - start;
    const bytes = bytesOf(args, signature) / ms / 1e6;
    const operations = floatOperationsOf(module.entry.body, knownFrom(args)) / ms / 1e6;
    print(
      `[lockstep] ${signature.name}: ${(ms * 1000).toFixed(1)} us, ${operations.toFixed(2)} GFLOP/s, ` +
        `${bytes.toFixed(2)} GB/s over its arrays`,
    );
  };
}
