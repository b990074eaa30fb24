/**
 * @file Compiled C as instructions, by function, to count which of them are vector instructions.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { build, buildFlags, type Compiler } from "../../src/targets/native/compiler.ts";

export interface Instruction {
  readonly name: string;
  readonly operands: string;
}

/** Why instructions cannot be looked at here, or undefined when they can. */
export function obstacle(): string | undefined {
  if (process.arch !== "x64") return `this is ${process.arch}, and the tests know x86-64 instructions`;
  try {
    execFileSync("objdump", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "objdump is not installed";
  }
}

/** The instructions of every function in a library made from C source; `.constprop.0` and the like are cut off. */
export function disassemble(compiler: Compiler, source: string, folder: string): Map<string, Instruction[]> {
  const library = join(folder, "disassembled.so");
  build(compiler, source, buildFlags(compiler), library);
  const options = ["-d", "--no-show-raw-insn", "--no-addresses", "-M", "intel", library];
  const text = execFileSync("objdump", options, { encoding: "utf8", maxBuffer: 1 << 26 });
  const functions = new Map<string, Instruction[]>();
  let current: Instruction[] = [];
  for (const line of text.split("\n")) {
    const start = /^<([\w$]+)[.\w]*>:$/.exec(line.trim());
    const instruction = /^\s+([a-z][\w]*)\s*(.*)$/.exec(line);
    if (start) {
      current = functions.get(start[1] as string) ?? [];
      functions.set(start[1] as string, current);
    } else if (instruction) {
      current.push({ name: instruction[1] as string, operands: instruction[2] as string });
    }
  }
  return functions;
}

/** Floating-point arithmetic on whole registers of `bytes` bytes. */
export function countPacked(list: readonly Instruction[], bytes: number, operation = /.*/): number {
  const register = { 16: /xmm/, 32: /ymm/, 64: /zmm/ }[bytes] ?? /^$/;
  const arithmetic = /^v?(add|sub|mul|div|fn?m(add|sub)\d*|min|max|sqrt)p[sd]$/;
  return list.filter((i) => arithmetic.test(i.name) && operation.test(i.name) && register.test(i.operands)).length;
}

/** Floating-point arithmetic on single numbers. */
export function countScalar(list: readonly Instruction[]): number {
  return list.filter((i) => /^v?(add|sub|mul|div|fn?m(add|sub)\d*|min|max|sqrt)s[sd]$/.test(i.name)).length;
}
