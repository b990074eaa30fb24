/**
 * @file What this engine's WebAssembly can do, and the V8 flags that make it do more.
 *
 * What flags bring is probed: a value that tells a fused multiply-add from an unfused one, and a kernel that must give
 * the same bits with 256-bit vectors as without, in less time. Where flags cannot be set (browsers) the probes find
 * what is there.
 *
 * V8's pass that makes 256-bit vectors is an experiment of its authors, and not reliable on all code (see joined.ts).
 * Its flag is therefore set only while a module made for it is compiled.
 */
import { engine } from "../../platform/engine.ts";
import { branch, type FunctionRef, i32, loop, type Node, op, set, target, v128Words } from "./code.ts";
import { atLeast, flagsKnown, setLastingFlags } from "./flags.ts";
import { FunctionBuilder } from "./function.ts";
import { encodeModule } from "./writer.ts";

export interface WasmFeatures {
  readonly simd: boolean;
  readonly relaxedSimd: boolean;
  /** relaxed_madd rounds once here. */
  readonly fusedMadd: boolean;
  /** Memory can be shared with other threads. */
  readonly threads: boolean;
  /** Pairs of v128 operations become 256-bit ones. */
  readonly wide: boolean;
}

/** The version of V8 from which on the wide pass works. */
const WIDE_SINCE: readonly [number, number] = [13, 6];
const WIDE = "experimental-wasm-revectorize";
/** Everything is compiled by the optimising compiler, at once; and back to the engine's own ways. */
const EAGER = ["--no-liftoff", "--no-wasm-lazy-compilation"] as const;
const LAZY = ["--liftoff", "--wasm-lazy-compilation"] as const;

const canJoinPairs = (): boolean => flagsKnown() && atLeast(WIDE_SINCE) && engine.architecture === "x64";

function withFlags<T>(on: readonly string[], off: readonly string[], run: () => T): T {
  engine.setFlags(...on);
  try {
    return run();
  } finally {
    engine.setFlags(...off);
  }
}

/** Compiles all of a module at once, so that nothing of it is left to be compiled while pairs are joined elsewhere. */
export function compileWhole(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module {
  if (!canJoinPairs()) return new WebAssembly.Module(bytes);
  return withFlags(EAGER, LAZY, () => new WebAssembly.Module(bytes));
}
/** The same with pairs of vectors joined. */
export function compileJoined(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module {
  if (!canJoinPairs()) return new WebAssembly.Module(bytes);
  return withFlags([...EAGER, `--${WIDE}`], [...LAZY, `--no-${WIDE}`], () => new WebAssembly.Module(bytes));
}

const word = (x: number): number => new Int32Array(Float32Array.of(x).buffer)[0] as number;

/** A module with one exported function of no parameters that returns the lowest lane of `value`. */
function probeModule(value: Node): Uint8Array<ArrayBuffer> {
  const build = new FunctionBuilder();
  const ref: FunctionRef = { name: "probe", params: [], result: "f32" };
  build.emit(op("f32x4.extract_lane", [value], 0));
  return encodeModule({ sharedMemory: false, imports: [], globals: [], functions: [build.finish(ref, "probe")] });
}
const newMemory = (): WebAssembly.Memory => new WebAssembly.Memory({ initial: 1 });

type Exports = { readonly [name: string]: (...args: number[]) => number };
function instantiate(module: WebAssembly.Module, memory: WebAssembly.Memory): Exports {
  return new WebAssembly.Instance(module, { env: { memory } }).exports as Exports;
}

/** (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24, which a rounded product loses. */
function probeMadd(): "missing" | "fused" | "unfused" {
  const x = v128Words(word(1 + 2 ** -12));
  const bytes = probeModule(op("f32x4.relaxed_madd", [x, x, v128Words(word(-(1 + 2 ** -11)))]));
  if (!WebAssembly.validate(bytes)) return "missing";
  return instantiate(new WebAssembly.Module(bytes), newMemory()).probe?.() === 2 ** -24 ? "fused" : "unfused";
}

function hasSharedMemory(): boolean {
  try {
    const { buffer } = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    return typeof SharedArrayBuffer !== "undefined" && buffer instanceof SharedArrayBuffer;
  } catch {
    return false;
  }
}

const PROBE_BYTES = 4096;
const PROBE_RUNS = 24;
/** Less than this and the wide form is not worth its registers; full effect is 2. */
const WIDE_GAIN = 1.3;

/** x = select(x < 1, sqrt(x * c + d) / e, x - d) on pairs of registers, over all floats of a page's beginning. */
function wideProbe(name: string): Uint8Array<ArrayBuffer> {
  const build = new FunctionBuilder();
  const ref: FunctionRef = { name, params: [], result: undefined };
  const at = build.local("i32", "at");
  const again = target("again");
  const step = (x: Node): Node => {
    const scaled = op("f32x4.add", [op("f32x4.mul", [x, v128Words(word(0.75))]), v128Words(word(0.3))]);
    const root = op("f32x4.div", [op("f32x4.sqrt", [scaled]), v128Words(word(1.1))]);
    const less = op("f32x4.lt", [x, v128Words(word(1))]);
    return op("v128.bitselect", [root, op("f32x4.sub", [x, v128Words(word(0.3))]), less]);
  };
  const body = build.collect(() => {
    let pair: Node[] = [0, 16].map((offset) => build.keep(op("v128.load", [at], offset), "x"));
    for (let round = 0; round < 3; round++) pair = pair.map((x) => build.keep(step(x), "x"));
    pair.forEach((x, k) => {
      build.emit(op("v128.store", [at, x], 16 * k));
    });
    build.emit(set(at.index, op("i32.add", [at, i32(32)])));
    build.emit(branch(again, op("i32.lt_u", [at, i32(PROBE_BYTES)])));
  });
  build.emit(loop(again, body));
  return encodeModule({ sharedMemory: false, imports: [], globals: [], functions: [build.finish(ref, name)] });
}

/** Result bits after some runs, and the time of the quickest one. */
function runWideProbe(name: string, module: WebAssembly.Module): { bits: string; time: number } {
  const memory = newMemory();
  const floats = new Float32Array(memory.buffer, 0, PROBE_BYTES / 4);
  floats.forEach((_, k) => {
    floats[k] = k % 7 === 0 ? -k : k % 11 === 0 ? Number.NaN : k * 0.37;
  });
  const run = instantiate(module, memory)[name] as () => void;
  let time = Number.POSITIVE_INFINITY;
  for (let k = 0; k < PROBE_RUNS; k++) {
    const begin = performance.now();
    for (let again = 0; again < 4; again++) run();
    time = Math.min(time, performance.now() - begin);
  }
  return { bits: new Int32Array(floats.buffer, 0, PROBE_BYTES / 4).join(), time };
}

/** Whether 256-bit vectors are to be had, give the same bits, and take clearly less time. */
function probeWide(): boolean {
  if (!canJoinPairs() || engine.variable("LOCKSTEP_WIDE") === "0") return false;
  const wide = runWideProbe("wide", compileJoined(wideProbe("wide")));
  const plain = runWideProbe("plain", compileWhole(wideProbe("plain")));
  return plain.bits === wide.bits && plain.time > WIDE_GAIN * wide.time;
}

function detect(): WasmFeatures {
  setLastingFlags();
  const simd = WebAssembly.validate(probeModule(v128Words(0)));
  const madd = simd ? probeMadd() : "missing";
  return {
    simd,
    relaxedSimd: madd !== "missing",
    fusedMadd: madd === "fused",
    threads: hasSharedMemory(),
    wide: madd === "fused" && probeWide(),
  };
}

let found: WasmFeatures | undefined;
/** What the engine can do; probed once for each JavaScript thread. */
export function wasmFeatures(): WasmFeatures {
  found ??= detect();
  return found;
}
