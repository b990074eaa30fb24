/**
 * @file The suite `kernels`: generated code against what hand-written C and JavaScript reach, what a call costs, and
 * how long compiling takes. Bars are for one thread; with --threads there are further arms with so many. Every ratio
 * is measured in one run with its arms interleaved.
 */
import type { RunOptions } from "../../kernel/kernel.ts";
import { LockstepError } from "../../platform/errors.ts";
import type { TargetName } from "../../targets/target.ts";
import { EXACT, gate, type Tolerance } from "../gate.ts";
import type { BarSpec } from "../result.ts";
import { medianOf, type Recorder, type Samples, type Suite } from "../suite.ts";
import type { Arm } from "../timing.ts";
import { type CLibrary, loadC } from "./c-library.ts";
import { C_BASELINES } from "./kernels-c.ts";
import { CASES, type CaseArrays, type KernelCase, makeArrays, plainArray } from "./kernels-cases.ts";
import { measureCalls, measureCompiling, measureFirstCompile } from "./kernels-costs.ts";
import { IN_F32, type Loops, loopsInDoubles } from "./kernels-js.ts";
import { bindCase } from "./kernels-ours.ts";
import { expectedOf, startKernelPeers } from "./kernels-peers.ts";

/** One side of a workload: its own arrays, and a call on them. */
interface Side {
  readonly framework: string;
  readonly arrays: CaseArrays;
  readonly run: () => unknown;
}

const HAND = "hand-written js";
const DOUBLES = "hand-written js in doubles";
const C = "hand-written c";
/** The C compiler contracts a * b + c, so the kernel that is held against it has fused numerics too. */
const FUSED = "native fused";
const TARGETS: readonly TargetName[] = ["native", "wasm", "js"];

/** The ratios the suite promises, in the order in which they are reported. */
const RATIOS: readonly {
  readonly id: string;
  readonly ours: string;
  readonly baseline: string;
  readonly limit: number;
  readonly what: string;
}[] = [
  { id: "native-vs-c", ours: FUSED, baseline: C, limit: 0.9, what: "native, fused as C is, against hand-written C" },
  { id: "wasm-vs-js", ours: "wasm", baseline: "js", limit: 3, what: "wasm against the js target" },
  { id: "js-vs-hand", ours: "js", baseline: HAND, limit: 0.8, what: "js target against a hand-written loop" },
];

const reasonOf = (error: unknown): string => {
  if (error instanceof LockstepError) return error.message;
  throw error;
};

function cSide(one: KernelCase, library: CLibrary): Side {
  const arrays = makeArrays(one, (storage, length) => library.array(storage, length));
  const words = one.c.block.map((word) => (typeof word === "number" ? word : (arrays[word] ?? one.scalars[word] ?? 0)));
  return { framework: C, arrays, run: library.bind(one.c.symbol, words) };
}

function handSide(one: KernelCase, framework: string, loops: Loops): Side {
  const arrays = makeArrays(one, plainArray);
  return { framework, arrays, run: one.js(loops, arrays, one.scalars) };
}

/** Calls every side once: all must be near each other, and our targets with equal numerics must have equal bits. */
function checkSides(one: KernelCase, sides: readonly Side[]): void {
  for (const side of sides) side.run();
  const isOurs = (side: Side): boolean => TARGETS.some((target) => side.framework.split(" ")[0] === target);
  const isFused = (side: Side): boolean => side.framework.endsWith("fused");
  const compare = (reference: Side, side: Side, tolerance: Tolerance): void => {
    for (const name of one.outputs) {
      const what = `${one.name}.${name}, ${reference.framework} against ${side.framework}`;
      gate(what, reference.arrays[name] ?? [], side.arrays[name] ?? [], tolerance);
    }
  };
  const exact = [sides.filter((s) => isOurs(s) && !isFused(s)), sides.filter((s) => isOurs(s) && isFused(s))];
  for (const [first, ...others] of exact) for (const side of others) compare(first as Side, side, EXACT);
  for (const side of sides.slice(1)) compare(sides[0] as Side, side, one.tolerance);
}

interface Missing {
  /** Why a side is not there, by framework. */
  readonly [framework: string]: string;
}

/** A target's arms: on one thread, on several where that was asked for, and with fused numerics. */
function oursOn(one: KernelCase, target: TargetName, threads: number): Side[] {
  const side = (framework: string, options: RunOptions): Side => ({ framework, ...bindCase(one, target, options) });
  const sides = [side(target, { threads: 1 })];
  // JavaScript has neither threads nor a fused multiply-add.
  if (target === "js") return sides;
  if (threads > 1) sides.push(side(`${target} on ${threads} threads`, { threads }));
  return [...sides, side(`${target} fused`, { threads: 1, numerics: "fused" })];
}

function sidesOf(
  one: KernelCase,
  library: CLibrary | undefined,
  threads: number,
  missing: { [framework: string]: string },
): Side[] {
  const sides: Side[] = [handSide(one, HAND, IN_F32), handSide(one, DOUBLES, loopsInDoubles())];
  if (library !== undefined) sides.push(cSide(one, library));
  for (const target of TARGETS) {
    try {
      sides.push(...oursOn(one, target, threads));
    } catch (error) {
      missing[target] = reasonOf(error);
    }
  }
  return sides;
}

function recordBars(recorder: Recorder, found: ReadonlyMap<string, Samples>, missing: Missing): void {
  for (const ratio of RATIOS) {
    for (const one of CASES) {
      const samples = found.get(one.name) ?? new Map();
      const measured = recorder.compare(`${one.name}/${ratio.ours}`, samples, ratio.ours, ratio.baseline);
      const spec: BarSpec = {
        id: `${ratio.id}/${one.name}`,
        what: `${ratio.what}: ${one.what}`,
        relation: ">=",
        limit: ratio.limit,
        unit: "x",
      };
      recorder.bar(
        spec,
        measured,
        missing[ratio.ours.split(" ")[0] ?? ""] ?? missing[ratio.baseline] ?? "the gate of this workload failed",
      );
    }
  }
  for (const [name, samples] of found) {
    recorder.compare(`${name}/native`, samples, "native", C);
    recorder.compare(`${name}/js`, samples, "js", DOUBLES);
  }
}

async function run(recorder: Recorder): Promise<void> {
  const missing: { [framework: string]: string } = {};
  measureFirstCompile(recorder);
  // Before anything else fills the process's memory: compiling is measured, not collecting what other arms left.
  measureCompiling(recorder);
  let library: CLibrary | undefined;
  try {
    library = loadC(C_BASELINES);
  } catch (error) {
    missing[C] = reasonOf(error);
  }
  const found = new Map<string, Samples>();
  const peers = await startKernelPeers(recorder);
  try {
    for (const one of CASES) {
      const sides = sidesOf(one, library, recorder.options.threads ?? 1, missing);
      const { name, params, items } = one;
      const ours = sides.map(({ framework, run: call }): Arm => ({ framework, run: call }));
      const arms = [...ours, ...peers.arms(name, expectedOf(one))];
      const check = (): void => checkSides(one, sides);
      found.set(name, await recorder.workload({ name, category: "kernels", params, items, arms, gate: check }));
    }
  } finally {
    peers.close();
  }
  for (const [framework, reason] of Object.entries(missing)) recorder.skip(framework, reason);
  recordBars(recorder, found, missing);
  if (library !== undefined) {
    const empty = library.bind("nothing", [1]);
    const arms = [{ framework: C, run: empty }];
    const samples = await recorder.workload({ name: "call/nothing", category: "calls", params: {}, items: 1, arms });
    recorder.say(`an empty C function through koffi: ${medianOf(samples, C)?.toFixed(0)} ns`);
  }
  await measureCalls(recorder, missing);
}

export const kernelsSuite: Suite = {
  name: "kernels",
  what: "generated code against hand-written C and JavaScript, call overhead, compile times",
  run,
};
