/**
 * @file The suite `envs`: steps of vectors of environments, from the JavaScript call to results in flat arrays, against
 * rlox, Gymnasium and gymnax; and how the time per step changes with the number of environments. Bars are for one thread.
 */
import { observationSize } from "../../envs/define.ts";
import { environment } from "../../envs/registry.ts";
import { VecEnv } from "../../envs/vector/vecEnv.ts";
import type { TargetName } from "../../targets/target.ts";
import { EXACT, gate } from "../gate.ts";
import type { PythonPeers } from "../python.ts";
import type { BarSpec } from "../result.ts";
import { speedup } from "../statistics.ts";
import { fastestOf, type Recorder, type Samples, type Suite } from "../suite.ts";
import { BenchTargets } from "../targets.ts";
import type { LocalArm } from "../timing.ts";
import { sameLength, samePlay, startCartPolePeers, startGymnaxPeers } from "./envs-peers.ts";

const TARGETS: readonly TargetName[] = ["native", "wasm"];
const CARTPOLE = "CartPole-v1";
const COUNTS = [1, 4, 512] as const;
const SCALING = [1, 4, 16, 64, 128, 256, 512, 4096, 65_536] as const;
/** Steps per call of the largest number of environments. */
const SCALING_STEPS = 8;
/** The environments of benchback-rl. */
const TWELVE = [
  "Acrobot-v1",
  CARTPOLE,
  "MountainCar-v0",
  "DiscountingChain-bsuite",
  "MemoryChain-bsuite",
  "UmbrellaChain-bsuite",
  "BernoulliBandit-misc",
  "GaussianBandit-misc",
  "Asterix-MinAtar",
  "Breakout-MinAtar",
  "Freeway-MinAtar",
  "SpaceInvaders-MinAtar",
] as const;
const MANY = 4096;
const ROUNDS = 100;
/** Numbers in an observation from which on the steps of a call are taken in parts: all of them would fill the memory. */
const LONG_OBSERVATION = 64;
const PART = 10;

/** A hundred steps with random actions, every result stored. */
function playRandomly(vec: VecEnv): void {
  const part = observationSize(vec.env.observation) < LONG_OBSERVATION ? ROUNDS : PART;
  for (let t = 0; t < ROUNDS; t += part) vec.collect("random", part);
}

/** What CartPole promises, by number of environments. */
const CARTPOLE_BARS: { readonly [n: number]: { readonly native: number; readonly wasm: number } } = {
  1: { native: 3, wasm: 3 },
  4: { native: 3, wasm: 3 },
  512: { native: 40, wasm: 20 },
};

/** What there is to measure with. */
interface Run {
  readonly recorder: Recorder;
  readonly all: BenchTargets;
  readonly targets: readonly TargetName[];
}

const made = (id: string, n: number, target: TargetName, threads = 1): VecEnv => {
  const vec = new VecEnv(environment(id), n, { seed: 42, target, threads });
  vec.reset();
  return vec;
};

/** All targets play the same: observations after some steps have equal bits. */
function checkEqual(vectors: readonly VecEnv[], play: (vec: VecEnv) => void): void {
  for (const vec of vectors) play(vec);
  const [first, ...others] = vectors;
  for (const vec of others) gate(`${vec.env.id}, observations`, vec.out.obs, first?.out.obs ?? [], EXACT);
}

const barAtLeast = (id: string, what: string, limit: number): BarSpec => ({
  id,
  what,
  relation: ">=",
  limit,
  unit: "x",
});

/** The mean length of episodes with action 0, over about 40,000 steps. */
function meanLength(n: number, action: number): number {
  const vec = made(CARTPOLE, n, "js");
  vec.actions.fill(action);
  const steps = Math.max(300, Math.ceil(40_000 / n));
  let ends = 0;
  for (let t = 0; t < steps; t++) for (const end of vec.step(vec.actions).terminated) ends += end;
  vec.dispose();
  return (n * steps) / ends;
}

/** One step of n environments per call. */
async function measureSteps(run: Run, name: string, n: number, action: number, peers: PythonPeers): Promise<Samples> {
  const vectors = run.targets.map((target) => made(CARTPOLE, n, target));
  for (const vec of vectors) vec.actions.fill(action);
  const ours = vectors.map((vec, k): LocalArm => {
    return { framework: run.targets[k] as string, run: () => vec.step(vec.actions) };
  });
  const play = (vec: VecEnv): void => {
    for (let t = 0; t < 50; t++) vec.step(vec.actions);
  };
  const samples = await run.recorder.workload({
    name,
    category: "envs",
    params: { environments: n, action },
    items: n,
    arms: [...ours, ...peers.arms(name, sameLength(meanLength(n, action)))],
    gate: () => checkEqual(vectors, play),
  });
  for (const vec of vectors) vec.dispose();
  return samples;
}

async function measureCartPole(run: Run): Promise<void> {
  const peers = await startCartPolePeers(run.recorder, COUNTS);
  try {
    for (const n of COUNTS) {
      const name = `${CARTPOLE} x ${n}`;
      const samples = await measureSteps(run, name, n, 0, peers);
      // Few environments are held against rlox; many against whichever of both is faster.
      const baseline = n < 512 ? "rlox" : (fastestOf(samples, ["rlox", "gymnasium vector"]) ?? "rlox");
      for (const target of TARGETS) {
        const ratio = run.recorder.compare(`${name}/${target}`, samples, target, baseline);
        const limit = CARTPOLE_BARS[n]?.[target as "native" | "wasm"] ?? 1;
        const spec = barAtLeast(`${target}/cartpole-${n}`, `${name}, ${target}, against ${baseline}`, limit);
        run.recorder.bar(spec, ratio, run.all.reason(target));
      }
    }
    const single = `${CARTPOLE}, one environment`;
    const samples = await measureSteps(run, single, 1, 1, peers);
    for (const target of TARGETS) {
      const ratio = run.recorder.compare(`${single}/${target}`, samples, target, "rlox");
      if (target === "native")
        run.recorder.bar(
          barAtLeast("native/single", `${single}, native, against rlox`, 3),
          ratio,
          run.all.reason(target),
        );
    }
  } finally {
    peers.close();
  }
  await measureRandom(run);
}

/** Random actions end episodes less often: reported beside those of action 0. */
async function measureRandom(run: Run): Promise<void> {
  const n = 512;
  const vectors = run.targets.map((target) => made(CARTPOLE, n, target));
  const actions = Int32Array.from({ length: n }, (_, i) => (Math.imul(i, 0x9e3779b1) >>> 31) & 1);
  for (const vec of vectors) vec.actions.set(actions);
  const arms = vectors.map(
    (vec, k): LocalArm => ({ framework: run.targets[k] as string, run: () => vec.step(vec.actions) }),
  );
  const params = { environments: n, action: "random" };
  await run.recorder.workload({ name: `${CARTPOLE} x ${n}, random actions`, category: "envs", params, items: n, arms });
  for (const vec of vectors) vec.dispose();
}

/** Mean reward and share of ends under random actions. */
function played(vec: VecEnv): { reward: number; ends: number } {
  let [reward, ends, count] = [0, 0, 0];
  for (let k = 0; k < ROUNDS; k++) {
    const found = vec.collect("random", PART);
    for (let i = 0; i < found.reward.length; i++) {
      reward += found.reward[i] as number;
      ends += found.terminated[i] || found.truncated[i] ? 1 : 0;
    }
    count += found.reward.length;
  }
  return { reward: reward / count, ends: ends / count };
}

/** Environments of gymnax: many of them, a hundred steps per call with random actions. */
async function measureTwelve(run: Run): Promise<void> {
  const { recorder, targets } = run;
  const peers = await startGymnaxPeers(recorder, { ids: TWELVE, n: MANY, steps: ROUNDS });
  const ratios = new Map<string, number[]>(TARGETS.map((target) => [target, []]));
  const times = new Map<string, Samples>();
  try {
    for (const id of TWELVE) {
      const name = `${id} x ${MANY}`;
      const vectors = targets.map((target) => made(id, MANY, target));
      const arms = vectors.map((vec, k): LocalArm => {
        return { framework: targets[k] as string, run: () => playRandomly(vec) };
      });
      const first = vectors[0] as VecEnv;
      const { reward, ends } = played(first);
      for (const vec of vectors.slice(1)) played(vec);
      const samples = await recorder.workload({
        name,
        category: "envs",
        params: { environments: MANY, steps: ROUNDS, actions: "random" },
        items: MANY * ROUNDS,
        arms: [...arms, ...peers.arms(name, samePlay(reward, ends))],
        gate: () => checkEqual(vectors, playRandomly),
      });
      times.set(id, samples);
      for (const target of TARGETS) {
        const ratio = recorder.compare(`${name}/${target}`, samples, target, "gymnax");
        if (ratio !== undefined) ratios.get(target)?.push(ratio);
        const spec = barAtLeast(`${target}/gymnax/${id}`, `${name}, ${target}, against gymnax`, 1);
        recorder.bar(spec, ratio, run.all.reason(target));
      }
      for (const vec of vectors) vec.dispose();
    }
  } finally {
    peers.close();
  }
  for (const target of TARGETS) {
    const found = ratios.get(target) as number[];
    const mean = found.length ? Math.exp(found.reduce((sum, x) => sum + Math.log(x), 0) / found.length) : undefined;
    const what = `geometric mean of ${found.length} environments, ${target}, against gymnax`;
    recorder.bar(barAtLeast(`${target}/gymnax/mean`, what, target === "native" ? 12 : 4), mean, run.all.reason(target));
  }
  relativeCosts(run, times);
}

/** How many steps of CartPole a step of each environment costs. */
function relativeCosts({ recorder, targets }: Run, times: ReadonlyMap<string, Samples>): void {
  const target = targets[0] ?? "wasm";
  const unit = times.get(CARTPOLE)?.get(target);
  for (const [id, samples] of times) {
    const own = samples.get(target);
    if (!unit || !own || id === CARTPOLE) continue;
    recorder.compare(
      `steps of ${CARTPOLE} per step of ${id}`,
      new Map([
        [target, unit],
        [id, own],
      ]),
      target,
      id,
    );
  }
}

/**
 * Throughput as environments are added, with one thread and with two. Numbers of environments are held against each
 * other, so these take turns; every call is as many steps of single environments, and begins with warm caches.
 */
async function measureScaling(run: Run): Promise<void> {
  for (const target of run.targets) for (const threads of [1, 2]) await measureNumbers(run.recorder, target, threads);
}
async function measureNumbers(recorder: Recorder, target: TargetName, threads: number): Promise<void> {
  const who = `${target}, ${threads} threads`;
  const items = SCALING_STEPS * Math.max(...SCALING);
  const vectors = SCALING.map((n) => made(CARTPOLE, n, target, threads));
  const named = (n: number): string => `${n} environments`;
  const arms = vectors.map((vec): LocalArm => {
    const step = (): unknown => vec.step(vec.actions);
    const run = (): void => {
      for (let k = items / vec.n; k > 0; k--) step();
    };
    return { framework: named(vec.n), before: step, run };
  });
  const name = `scaling, ${who}`;
  const samples = await recorder.workload({ name, category: "envs", params: { threads }, items, arms });
  for (const vec of vectors) vec.dispose();
  // A fall is one that the samples are sure of: the whole interval of the gain lies below 1. Several gains are looked
  // at, so each interval is wider, for all of them together to hold with 95 %.
  const level = 1 - 0.05 / (SCALING.length - 1);
  const gains = SCALING.slice(1).map((n, k) => {
    const fewer = SCALING[k] as number;
    recorder.compare(`${name}, ${fewer} to ${n}`, samples, named(n), named(fewer));
    const [more, less] = [samples.get(named(n)), samples.get(named(fewer))];
    return more && less ? speedup(more, less, 1, level).high : Number.NaN;
  });
  const what =
    `${who}: least gain of throughput from one number of environments to the next, ${SCALING.join(", ")}; ` +
    "upper ends of intervals that hold together with 95 %";
  recorder.bar(barAtLeast(`scaling/${who.replace(/[ ,]+/g, "-")}`, what, 1), Math.min(...gains));
}

async function runAll(recorder: Recorder): Promise<void> {
  const all = new BenchTargets(recorder, TARGETS);
  const run: Run = { recorder, all, targets: all.present };
  await measureCartPole(run);
  await measureTwelve(run);
  await measureScaling(run);
}

export const envsSuite: Suite = {
  name: "envs",
  what: "steps of vectors of environments, against rlox, Gymnasium and gymnax",
  run: runAll,
};
