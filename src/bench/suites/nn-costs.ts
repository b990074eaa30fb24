/**
 * @file What the suite `nn` measures without peers: matrix products against the machine's own peak, two threads against
 * one, and the time from nothing to a program that runs.
 */
import { median } from "../../stats/index.ts";
import type { TargetName } from "../../targets/target.ts";
import { input } from "../../tensor/make.ts";
import { program } from "../../tensor/program.ts";
import { EXACT, gate } from "../gate.ts";
import { type Peak, peakOf } from "../peak.ts";
import type { BarSpec } from "../result.ts";
import { medianOf, type Recorder } from "../suite.ts";
import type { BenchTargets } from "../targets.ts";
import type { LocalArm } from "../timing.ts";
import { nnCase } from "./nn-cases.ts";

const SIZES = [64, 256, 1024] as const;
/** Per cent of the peak that products promise. */
const PRODUCT_BARS: { readonly [key: string]: number } = {
  "native 64": 80,
  "native 256": 80,
  "native 1024": 65,
  "wasm 256": 80,
};

/** Squares of three sizes, as a share of the peak that is measured in the same turns. */
export async function measureProducts(recorder: Recorder, targets: BenchTargets): Promise<void> {
  const shares = new Map<string, number | undefined>();
  for (const size of SIZES) {
    const made = targets.present.map((target) => {
      const product = program(
        "product",
        () => ({ c: input("a", "f32", [size, size]).matmul(input("b", "f32", [size, size])) }),
        { target, threads: 1 },
      );
      product.inputs.a?.set(Float32Array.from({ length: size * size }, (_, i) => Math.sin(i)));
      product.inputs.b?.set(Float32Array.from({ length: size * size }, (_, i) => Math.cos(i)));
      return { target, product, peak: peakOf(target) as Peak };
    });
    const arms = made.flatMap(({ target, product, peak }): LocalArm[] => [
      { framework: target, run: () => product.run() },
      { framework: `${target} peak`, run: peak.run },
    ]);
    const name = `product ${size} cubed`;
    const same = (): void => {
      for (const { product } of made) product.run();
      const [first, ...others] = made;
      for (const { target, product } of others)
        gate(`${name} on ${target}`, product.outputs.c, first?.product.outputs.c ?? [], EXACT);
    };
    const items = 2 * size ** 3;
    const samples = await recorder.workload({ name, category: "products", params: { size }, items, arms, gate: same });
    for (const { target, peak, product } of made) {
      const [own, top] = [medianOf(samples, target), medianOf(samples, `${target} peak`)];
      shares.set(`${target} ${size}`, own && top ? (100 * (items / own)) / (peak.operations / top) : undefined);
      product.dispose();
    }
  }
  for (const [key, limit] of Object.entries(PRODUCT_BARS)) {
    const [target = "", size = ""] = key.split(" ");
    const what = `product of ${size} x ${size} matrices, ${target}: per cent of the measured peak of multiply-adds`;
    const spec: BarSpec = { id: `${target}/product-${size}`, what, relation: ">=", limit, unit: "%" };
    recorder.bar(spec, shares.get(key), targets.missing(target));
  }
}

const THREAD_BARS: { readonly [target: string]: number } = { native: 1.7, wasm: 1.5 };

/** A minibatch of PPO with wide networks, on one thread and on two. */
export async function measureThreads(recorder: Recorder, targets: BenchTargets): Promise<void> {
  const one = nnCase("PPO step 256x3", 1024);
  const sides = targets.present.flatMap((target) =>
    [1, 2].map((threads) => ({ framework: `${target}, ${threads} threads`, side: one.make({ target, threads }) })),
  );
  const same = (): void => {
    for (const { side } of sides) side.run();
    const wanted = sides[0]?.side.outputs().parameters ?? [];
    for (const { framework, side } of sides) gate(framework, side.outputs().parameters ?? [], wanted, EXACT);
  };
  const arms = sides.map(({ framework, side }): LocalArm => ({ framework, run: side.run }));
  const samples = await recorder.workload({
    name: one.name,
    category: "threads",
    params: { batch: 1024 },
    items: 1024,
    arms,
    gate: same,
  });
  for (const [target, limit] of Object.entries(THREAD_BARS)) {
    const ratio = recorder.compare(`${one.name}/${target}`, samples, `${target}, 2 threads`, `${target}, 1 threads`);
    const what = `${one.name}, ${target}, two threads against one`;
    recorder.bar({ id: `${target}/threads`, what, relation: ">=", limit, unit: "x" }, ratio, targets.missing(target));
  }
}

/** No program of this process has the same number: none is found in a cache. */
let salt = 0;
/** Programs that are compiled before the clock counts. */
const WARM_UP = 3;
/** The same for those that are in the cache. */
const WARM_UP_CACHED = 8;

/** Milliseconds from a network with its parameters to the end of the first run. */
function timeFirstRun(target: TargetName, number: number): number {
  let begin = 0;
  const onReady = (): void => {
    begin = performance.now();
  };
  const side = nnCase("PPO step", 64).make({ target, salt: number, onReady });
  side.run();
  const taken = performance.now() - begin;
  side.program.dispose();
  side.parameters.dispose();
  return taken;
}

/** Building and compiling a whole step: on wasm, and on native with and without the compiled library in the cache. */
export function measureBuilding(recorder: Recorder, targets: BenchTargets): void {
  const count = recorder.options.quick ? 3 : 9;
  // The cache of compiled libraries outlives the process: numbers begin where nobody has been.
  salt ||= Math.floor((Date.now() % 1e6) / 10) * 10;
  const fresh = (): number[] => Array.from({ length: count }, () => ++salt);
  recorder.say(`compile: ${count} whole PPO steps on ${targets.present.join(" and ")}, after ${WARM_UP} others`);
  const record = (id: string, target: TargetName, limit: number, take: () => readonly number[]): void => {
    const ms = targets.present.includes(target) ? take() : [];
    const what = `a whole PPO step from its networks to its first result: ${id.replace("-", ", ")}`;
    const head = { name: `compile/${id}`, category: "compile", framework: target, params: { batch: 64 } };
    const ns = ms.map((x) => x * 1e6);
    if (ms.length > 0) recorder.samples(head, ns, 1);
    const spec: BarSpec = { id: `compile/${id}`, what, relation: "<=", limit, unit: "ms" };
    recorder.bar(spec, ms.length > 0 ? median(ms) : undefined, targets.missing(target));
  };
  record("wasm", "wasm", 150, () => {
    for (let k = 0; k < WARM_UP; k++) timeFirstRun("wasm", ++salt);
    return fresh().map((number) => timeFirstRun("wasm", number));
  });
  const seen = fresh().slice(0, Math.ceil(count / 3));
  record("native-cold", "native", 3000, () => seen.map((number) => timeFirstRun("native", number)));
  record("native-cached", "native", 50, () => {
    const again = (): number[] => seen.map((number) => timeFirstRun("native", number));
    for (let k = 0; k < WARM_UP_CACHED; k++) again();
    return again();
  });
}
