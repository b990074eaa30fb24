/**
 * @file `lockstep doctor`: what was found on this machine, and which target `auto` takes and why.
 */
import { readdirSync, statSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { heap } from "../runtime/heap.ts";
import { chooseTarget } from "../runtime/targets.ts";
import { cacheFolder, cacheLimit } from "../targets/native/cache.ts";
import { createNativeTarget } from "../targets/native/index.ts";
import type { TargetName } from "../targets/target.ts";
import { type WasmFeatures, wasmFeatures } from "../targets/wasm/features.ts";
import { asJson } from "./output.ts";
import { columns, styleFor, wrap } from "./text.ts";
import { ownVersion, versionOf } from "./versions.ts";

interface CompilerFacts {
  readonly path: string;
  readonly version: string;
  readonly vector_bits: number;
  readonly vector_registers: number;
  readonly fma: boolean;
}

export interface Facts {
  readonly lockstep: string;
  readonly node: { readonly version: string; readonly v8: string; readonly platform: string; readonly arch: string };
  readonly machine: { readonly cpu: string; readonly cores: number };
  readonly wasm: {
    readonly simd: boolean;
    readonly relaxed_simd: boolean;
    /** relaxed_madd rounds once: a probe value told. */
    readonly fused: boolean;
    readonly shared_memory: boolean;
    /** Pairs of 128-bit operations run as 256-bit ones. */
    readonly wide: boolean;
  };
  readonly native: {
    readonly available: boolean;
    readonly reason?: string;
    readonly compiler: CompilerFacts | null;
    readonly koffi: string | null;
  };
  readonly cache: { readonly folder: string; readonly entries: number; readonly bytes: number; readonly limit: number };
  readonly threads: number;
  readonly auto: { readonly target: TargetName; readonly why: string };
}

const LINE = 80;

/** Compiled libraries that are kept, and what they take. */
function cacheUse(folder: string): { entries: number; bytes: number } {
  let entries = 0;
  let bytes = 0;
  try {
    for (const name of readdirSync(join(folder, "native"))) {
      bytes += statSync(join(folder, "native", name), { throwIfNoEntry: false })?.size ?? 0;
      if (name.endsWith(".so")) entries++;
    }
  } catch {
    // There is no cache yet.
  }
  return { entries, bytes };
}

function wasmFacts(features: WasmFeatures): Facts["wasm"] {
  return {
    simd: features.simd,
    relaxed_simd: features.relaxedSimd,
    fused: features.fusedMadd,
    shared_memory: features.threads,
    wide: features.wide,
  };
}

function nativeFacts(): Facts["native"] {
  const result = createNativeTarget({ memory: heap().memory, threads: availableParallelism() });
  const koffi = versionOf("koffi");
  if (result.target === undefined) return { available: false, reason: result.reason, compiler: null, koffi };
  const { path, version, vectorBytes, vectorRegisters, fastFma } = result.target.compiler;
  const facts = { path, version, vector_bits: vectorBytes * 8, vector_registers: vectorRegisters, fma: fastFma };
  return { available: true, compiler: facts, koffi };
}

export function gatherFacts(): Facts {
  const folder = cacheFolder(process.env, process.platform);
  const { platform, arch } = process;
  const choice = chooseTarget();
  return {
    lockstep: ownVersion(),
    node: { version: process.versions.node, v8: process.versions.v8, platform, arch },
    machine: { cpu: cpus()[0]?.model.trim() ?? "unknown", cores: availableParallelism() },
    wasm: wasmFacts(wasmFeatures()),
    native: nativeFacts(),
    cache: { folder, ...cacheUse(folder), limit: cacheLimit(process.env) },
    threads: availableParallelism(),
    auto: { target: choice.target.name, why: choice.why },
  };
}

const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
const yesNo = (value: boolean): string => (value ? "yes" : "no");

function relaxedText({ relaxed_simd, fused }: Facts["wasm"]): string {
  if (!relaxed_simd) return "no";
  return fused ? "yes, multiply-add is fused" : "yes, but multiply-add is not fused: not used";
}

/** What is shown, line by line: a name and what was found. */
function lines(facts: Facts): [string, string][] {
  const { node, machine, wasm, native, cache } = facts;
  const compiler = native.compiler;
  return [
    ["lockstep", facts.lockstep],
    ["node", `${node.version} (V8 ${node.v8}), ${node.platform} ${node.arch}`],
    ["processor", `${machine.cpu}, ${machine.cores} cores`],
    ["wasm SIMD", yesNo(wasm.simd)],
    ["relaxed SIMD", relaxedText(wasm)],
    ["wide wasm", wasm.wide ? "yes, pairs of v128 run as 256-bit vectors" : "no"],
    ["threads", wasm.shared_memory ? `${facts.threads}, over shared memory` : "1: no shared memory here"],
    ["native code", native.available ? "yes" : `no: ${native.reason ?? ""}`],
    ...compilerLines(compiler),
    ["koffi", native.koffi ?? "not installed: npm install koffi"],
    ["cache", `${cache.folder}: ${cache.entries} libraries, ${megabytes(cache.bytes)} of ${megabytes(cache.limit)}`],
  ];
}

function compilerLines(compiler: CompilerFacts | null): [string, string][] {
  if (compiler === null) return [];
  return [
    ["compiler", `${compiler.path}: ${compiler.version}`],
    ["vectors", vectorText(compiler)],
  ];
}

const vectorText = (compiler: CompilerFacts): string =>
  compiler.vector_bits === 0
    ? "none that lockstep uses"
    : `${compiler.vector_bits} bits, ${compiler.vector_registers} registers, ${compiler.fma ? "with" : "without"} fused multiply-add`;

function print(facts: Facts): string {
  const style = styleFor(process.stdout);
  const rows = lines(facts);
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  const text = columns(rows).map((line) => wrapKeepingIndent(line, width));
  const auto = wrap(`auto takes ${facts.auto.target}: ${facts.auto.why}`, LINE);
  return `${text.join("\n")}\n\n${style.bold(auto)}\n`;
}

/** Wraps a line of two columns so that what follows stands under the second. */
function wrapKeepingIndent(line: string, indent: number): string {
  const [first = "", ...rest] = wrap(line.slice(indent), LINE - indent).split("\n");
  return [line.slice(0, indent) + first, ...rest.map((text) => " ".repeat(indent) + text)].join("\n");
}

export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description("what was found on this machine, and which target is used")
    .option("--json", "print the result as one JSON document")
    .action((options: { readonly json?: boolean }) => {
      const facts = gatherFacts();
      process.stdout.write(options.json ? asJson(facts) : print(facts));
    });
}
