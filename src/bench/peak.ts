/**
 * @file What the machine allows, measured: its peak of multiply-adds, by chains that depend on nothing but themselves, on
 * one or all cores; and the time that it takes to read numbers once.
 *
 * Clock rates change with load and temperature, so a share of the peak needs a peak of the same minutes: both are arms of
 * a workload like others.
 */
import { add, Builder, buffer, constant, fma, func, get, i32, load, mul, store } from "../ir/build.ts";
import type { Module } from "../ir/nodes.ts";
import { f32 } from "../kernel/declare.ts";
import { allocate, free } from "../kernel/kernel.ts";
import { Program } from "../runtime/program.ts";
import { availability } from "../runtime/targets.ts";
import type { Target, TargetName } from "../targets/target.ts";
import { tileMachine } from "../tensor/program.ts";

/** Rounds of a chain of multiply-adds. */
const ROUNDS = 4096;
/** Groups of chains, each as many as the registers hold: a few for one thread, enough to share out for several. */
const GROUPS = 2;
const GROUPS_PER_THREAD = 16;
/** Vectors that are read side by side: enough for what the second cache yields, few enough for 16 registers. */
const READ_VECTORS = 6;

/** Chains of multiply-adds, as many abreast as the registers hold. */
function chains(count: number, columns: number): Module {
  const b = new Builder();
  const [factors, sums] = [buffer("factors", "f32", "param", 2), buffer("sums", "f32", "param", count * columns)];
  const body = b.body(() => {
    b.for("j", { begin: i32(0), end: i32(columns), axis: "parallel" }, (j) => {
      const [x, y] = [b.let("x", load(factors, i32(0))), b.let("y", load(factors, i32(1)))];
      const locals = Array.from({ length: count }, (_, r) => {
        const sum = b.local(`sum${r}`, "f32");
        b.assign(sum, load(sums, add(j, i32(r * columns))));
        return sum;
      });
      b.for("k", { begin: i32(0), end: i32(ROUNDS) }, () => {
        for (const sum of locals) b.assign(sum, fma(get(sum), x, y));
      });
      locals.forEach((sum, r) => {
        b.emit(store(sums, add(j, i32(r * columns)), get(sum)));
      });
    });
  });
  return { name: "peak", entry: func("peak", [factors, sums], [], body), sites: [] };
}

/** Sums of numbers, some vectors of them: every number is read once. */
function reading(count: number, lanes: number): Module {
  const b = new Builder();
  const step = lanes * READ_VECTORS;
  const [numbers, sums] = [buffer("numbers", "f32", "param", count), buffer("sums", "f32", "param", step)];
  const body = b.body(() => {
    b.for("j", { begin: i32(0), end: i32(lanes), axis: "parallel" }, (j) => {
      const locals = Array.from({ length: READ_VECTORS }, (_, r) => {
        const sum = b.local(`sum${r}`, "f32");
        b.assign(sum, constant("f32", 0));
        return sum;
      });
      b.for("k", { begin: i32(0), end: i32(count / step) }, (k) => {
        locals.forEach((sum, r) => {
          b.assign(sum, add(get(sum), load(numbers, add(mul(k, i32(step)), add(j, i32(r * lanes))))));
        });
      });
      locals.forEach((sum, r) => {
        b.emit(store(sums, add(j, i32(r * lanes)), get(sum)));
      });
    });
  });
  return { name: "reading", entry: func("reading", [numbers, sums], [], body), sites: [] };
}

/** Work that a limit is measured with. */
interface Limit {
  readonly run: () => void;
  readonly dispose: () => void;
}
/** A module on arrays, which go with it. */
function limit(
  module: Module,
  target: Target,
  threads: number,
  arrays: { readonly [name: string]: Float32Array },
): Limit {
  const made = new Program(module, target, { threads, unchecked: false, numerics: "fused" });
  const dispose = (): void => {
    made.dispose();
    for (const array of Object.values(arrays)) free(array);
  };
  return { run: made.bind(arrays), dispose };
}

/** What does nothing but multiply and add, and how many operations a run of it is. */
export interface Peak extends Limit {
  readonly operations: number;
}

/** What does nothing but read numbers, and the sums of them that it leaves. */
export interface Reading extends Limit {
  readonly numbers: Float32Array;
  readonly sums: Float32Array;
}

/** Reads at least so many numbers, one after the other; undefined where the target is not there. */
export function readingOf(target: TargetName, count: number): Reading | undefined {
  const found = availability(target).target;
  if (!found) return undefined;
  const { lanes } = tileMachine(found, "fused", 1);
  const step = lanes * READ_VECTORS;
  const length = Math.ceil(count / step) * step;
  const [numbers, sums] = [allocate(f32, length), allocate(f32, step)];
  // Memory that was never written may be one page of zeros, over and over.
  numbers.fill(1);
  return { ...limit(reading(length, lanes), found, 1, { numbers, sums }), numbers, sums };
}

/** The peak of a target on so many threads; undefined where the target is not there. */
export function peakOf(target: TargetName, threads = 1): Peak | undefined {
  const found = availability(target).target;
  if (!found) return undefined;
  const { rows, lanes, vectors } = tileMachine(found, "fused", threads);
  const groups = threads === 1 ? GROUPS : GROUPS_PER_THREAD * threads;
  const columns = lanes * vectors * groups;
  const [factors, sums] = [allocate(f32, 2), allocate(f32, rows * columns)];
  factors.set([0.5, 0.25]);
  // Starts of their own: equal chains would be computed once.
  for (let i = 0; i < sums.length; i++) sums[i] = i;
  const operations = 2 * ROUNDS * rows * columns;
  return { ...limit(chains(rows, columns), found, threads, { factors, sums }), operations };
}
