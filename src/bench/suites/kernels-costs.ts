/**
 * @file What surrounds generated code: the cost of a call, and the time from `kernel()` to the first result.
 */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { f32 } from "../../kernel/declare.ts";
import { allocate, kernel } from "../../kernel/kernel.ts";
import { heap } from "../../runtime/heap.ts";
import { Program } from "../../runtime/program.ts";
import { availability } from "../../runtime/targets.ts";
import { median } from "../../stats/index.ts";
import { createNativeTarget } from "../../targets/native/index.ts";
import type { Target } from "../../targets/target.ts";
import type { BarSpec } from "../result.ts";
import { medianOf, type Recorder } from "../suite.ts";
import type { Arm } from "../timing.ts";
import { hundredLines } from "./kernels-hundred.ts";

type Reasons = { readonly [framework: string]: string };

const small = kernel(
  { a: f32.array(), b: f32.array(), c: f32.array(), d: f32.array(), e: f32.array(), f: f32.array() },
  ({ a, b, c, d, e, f }) => {
    for (let i = 0; i < a.length; i++) f[i] = a[i]! + b[i]! * c[i]! - d[i]! * e[i]!;
  },
  { name: "small" },
);

const callBar = (id: string, what: string, limit: number): BarSpec => ({ id, what, relation: "<=", limit, unit: "us" });
const CALL_BARS: readonly { readonly framework: string; readonly spec: BarSpec }[] = [
  { framework: "native", spec: callBar("call/native", "call with 6 lockstep arrays, native", 0.4) },
  { framework: "native bound", spec: callBar("call/native-bound", "the same, bound to its arrays, native", 0.15) },
  { framework: "wasm", spec: callBar("call/wasm", "call with 6 lockstep arrays, wasm", 0.1) },
];

/** What a call of a kernel on six arrays of four elements costs. */
export async function measureCalls(recorder: Recorder, missing: Reasons): Promise<void> {
  const array = (): Float32Array => allocate(f32, 4).fill(1);
  const args = { a: array(), b: array(), c: array(), d: array(), e: array(), f: array() };
  const arms: Arm[] = [];
  for (const target of ["native", "wasm", "js"] as const) {
    if (missing[target] !== undefined) continue;
    const on = small.on(target, { threads: 1 });
    arms.push({ framework: target, run: () => on(args) }, { framework: `${target} bound`, run: on.bind(args) });
  }
  const params = { arrays: 6, elements: 4 };
  const samples = await recorder.workload({ name: "call/small", category: "calls", params, items: 1, arms });
  for (const { framework, spec } of CALL_BARS) {
    const ns = medianOf(samples, framework);
    recorder.bar(spec, ns === undefined ? undefined : ns / 1000, missing[framework.split(" ")[0] ?? ""]);
  }
}

const DECLARATION = { a: f32.array(), b: f32.array(), c: f32.array(), out: f32.array() };
/** Kernels compiled so far in this process: no two have the same source. */
let salt = 0;

/** Milliseconds from `kernel()` to the end of the first call. */
function timeFirstCall(source: string, target: Target): number {
  const array = (): Float32Array => allocate(f32, 16).fill(1);
  const args = { a: array(), b: array(), c: array(), out: array() };
  const begin = performance.now();
  const made = kernel(DECLARATION, new Function(`return ${source}`)(), { name: "hundred" });
  new Program(made.ir(), target, { threads: 1, unchecked: false }).run(args);
  return performance.now() - begin;
}

const compileBar = (id: string, what: string, limit: number): BarSpec => ({
  id: `compile/${id}`,
  what: `100-line kernel to its first result: ${what}`,
  relation: "<=",
  limit,
  unit: "ms",
});

function record(recorder: Recorder, framework: string, spec: BarSpec, ms: readonly number[], reason?: string): void {
  const lines = hundredLines(0).split("\n").length;
  const head = { name: spec.id, category: "compile", framework, params: { lines } };
  if (ms.length > 0)
    recorder.samples(
      head,
      ms.map((x) => x * 1e6),
      1,
    );
  recorder.bar(spec, ms.length > 0 ? median(ms) : undefined, reason);
}

/** Kernels that are compiled before the clock counts: the compiler is warmed up as every other arm of the suite is. */
const WARM_UP_KERNELS = 40;
const newSources = (count: number): string[] => Array.from({ length: count }, () => hundredLines(++salt));

/** The first kernel of a process, while the compiler itself is not compiled yet: a row without a bar. */
export function measureFirstCompile(recorder: Recorder): void {
  const { target } = availability("wasm");
  if (!target) return;
  const head = { name: "compile/first of the process", category: "compile", framework: "wasm", params: {} };
  recorder.samples(head, [timeFirstCall(hundredLines(++salt), target) * 1e6], 1);
}

/** Compile times, each sample with a kernel that was never seen before. */
export function measureCompiling(recorder: Recorder): void {
  const count = recorder.options.quick ? 5 : 21;
  recorder.say(`compile: ${count} kernels of a hundred lines on wasm and native, after ${WARM_UP_KERNELS} others`);
  const wasm = availability("wasm");
  if (wasm.target) for (const source of newSources(WARM_UP_KERNELS)) timeFirstCall(source, wasm.target);
  const wasmMs = wasm.target ? newSources(count).map((source) => timeFirstCall(source, wasm.target)) : [];
  record(recorder, "wasm", compileBar("wasm", "wasm", 30), wasmMs, wasm.target ? undefined : wasm.reason);
  const folder = mkdtempSync(join(tmpdir(), "lockstep-bench-"));
  try {
    measureNative(recorder, newSources(recorder.options.quick ? 3 : 9), folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Cold into an empty cache; then from a copy of it, whose libraries this process has not loaded yet. */
function measureNative(recorder: Recorder, sources: readonly string[], folder: string): void {
  const [empty, copy] = [join(folder, "empty"), join(folder, "copy")];
  const open = (cache: string) =>
    createNativeTarget({ memory: heap().memory, threads: 1, env: { ...process.env, LOCKSTEP_CACHE: cache } });
  const cold = open(empty);
  const reason = cold.target ? undefined : cold.reason;
  const coldMs = cold.target ? sources.map((source) => timeFirstCall(source, cold.target)) : [];
  record(recorder, "native", compileBar("native-cold", "native, empty cache", 1000), coldMs, reason);
  if (cold.target) cpSync(empty, copy, { recursive: true, preserveTimestamps: true });
  const warm = open(copy);
  const warmMs = warm.target ? sources.map((source) => timeFirstCall(source, warm.target)) : [];
  const reused = warm.target?.counts.built === 0;
  const why = reused ? reason : "the cache was not used";
  record(recorder, "native", compileBar("native-cached", "native, from the cache", 20), reused ? warmMs : [], why);
}
