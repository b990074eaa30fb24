/**
 * @file The machine's peak of multiply-adds, measured: chains that depend on nothing but themselves, on one or all cores.
 *
 * Clock rates change with load and temperature, so a share of the peak needs a peak of the same minutes: the chains are
 * arms of a workload like others.
 */
import { add, Builder, buffer, fma, func, get, i32, load, store } from "../ir/build.ts";
import type { Module } from "../ir/nodes.ts";
import { f32 } from "../kernel/declare.ts";
import { allocate, free } from "../kernel/kernel.ts";
import { Program } from "../runtime/program.ts";
import { availability } from "../runtime/targets.ts";
import type { TargetName } from "../targets/target.ts";
import { tileMachine } from "../tensor/program.ts";

/** Rounds of a chain of multiply-adds. */
const ROUNDS = 4096;
/** Groups of chains, each as many as the registers hold: a few for one thread, enough to share out for several. */
const GROUPS = 2;
const GROUPS_PER_THREAD = 16;

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

/** What does nothing but multiply and add, and how many operations a run of it is. */
export interface Peak {
  readonly run: () => void;
  readonly operations: number;
  readonly dispose: () => void;
}

/** The peak of a target on so many threads; undefined where the target is not there. */
export function peakOf(target: TargetName, threads = 1): Peak | undefined {
  const found = availability(target).target;
  if (!found) return undefined;
  const { rows, lanes, vectors } = tileMachine(found, "fused", threads);
  const groups = threads === 1 ? GROUPS : GROUPS_PER_THREAD * threads;
  const columns = lanes * vectors * groups;
  const made = new Program(chains(rows, columns), found, { threads, unchecked: false, numerics: "fused" });
  const [factors, sums] = [allocate(f32, 2), allocate(f32, rows * columns)];
  factors.set([0.5, 0.25]);
  // Starts of their own: equal chains would be computed once.
  for (let i = 0; i < sums.length; i++) sums[i] = i;
  const dispose = (): void => {
    made.dispose();
    free(factors);
    free(sums);
  };
  return { run: made.bind({ factors, sums }), operations: 2 * ROUNDS * rows * columns, dispose };
}
