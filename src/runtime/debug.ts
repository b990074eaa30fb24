/**
 * @file LOCKSTEP_DEBUG: what is compiled and how long it takes, printed as it happens.
 *
 * 1: programs. 2: time per call with GB/s of the arrays handed over. 3: IR after all passes. 4: generated code.
 */
import type { TypedArray } from "../ir/arrays.ts";
import type { Module } from "../ir/nodes.ts";
import { printModule } from "../ir/print.ts";
import { functionsOf } from "../ir/walk.ts";
import type { ArenaLayout, Executable, Target } from "../targets/target.ts";
import type { Signature } from "./signature.ts";

export function debugLevel(): number {
  const text = globalThis.process?.env?.LOCKSTEP_DEBUG;
  return text ? Number.parseInt(text, 10) || 0 : 0;
}

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
  if (level >= 4) print(c.executable.source());
}

const bytesOf = (args: unknown, signature: Signature): number =>
  signature.arrays.reduce((sum, p) => {
    const array = p.path.reduce<unknown>((o, key) => (o as { [key: string]: unknown })[key], args) as TypedArray;
    return sum + array.byteLength * (p.written ? 2 : 1);
  }, 0);

/** Times each call. */
export function reportCall(signature: Signature, run: (args: unknown) => void): (args: unknown) => void {
  return (args) => {
    const start = performance.now();
    run(args);
    const ms = performance.now() - start;
    const rate = bytesOf(args, signature) / ms / 1e6;
    print(`[lockstep] ${signature.name}: ${(ms * 1000).toFixed(1)} us, ${rate.toFixed(2)} GB/s over its arrays`);
  };
}
