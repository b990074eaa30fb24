/**
 * @file The suite `train`: whole trainings, iterations and processes against Stable-Baselines3, rlox and Flax Linen, and
 * how much of the machine's peak the updates reach.
 */
import type { Algorithm } from "../../algorithms/algorithm.ts";
import type { TargetName } from "../../targets/target.ts";
import { ownClock } from "../commands.ts";
import { EXACT, gate } from "../gate.ts";
import { type Peak, peakOf } from "../peak.ts";
import type { PythonPeers } from "../python.ts";
import { fastestOf, medianOf, type Recorder, type Suite } from "../suite.ts";
import { BenchTargets } from "../targets.ts";
import type { Arm, LocalArm, RemoteArm } from "../timing.ts";
import { stateBars } from "./train-bars.ts";
import {
  type Counts,
  countsOf,
  disposeTraining,
  expectedCounts,
  iterationsOf,
  MEDIUM,
  makeTraining,
  SMALL,
  TRAINING,
  type TrainCase,
  updateOperations,
} from "./train-cases.ts";
import { measureCommands, measureSolved, measureStarts } from "./train-commands.ts";
import { CORES, LINEN, startLinenPeers } from "./train-linen.ts";
import { FIRST_ITERATIONS, RLOX, SB3, sameCounts, startTrainPeers, waysOf } from "./train-peers.ts";
import { TrainRun } from "./train-run.ts";

const TARGETS: readonly TargetName[] = ["native", "wasm"];

/** Iterations over which our targets must agree to the last bit. */
const GATE_ITERATIONS = 10;

/** All targets learn the same parameters when all of them round in the same way. */
export function checkTargets(one: TrainCase, targets: readonly TargetName[], iterations = GATE_ITERATIONS): void {
  const learned = targets.map((target) => {
    const algorithm = makeTraining(one, { target, numerics: "unfused" });
    for (let k = 0; k < iterations; k++) algorithm.iterate();
    checkCounts(`${one.name} on ${target}`, countsOf(algorithm, iterations), expectedCounts(one, iterations));
    const values = Float32Array.from(algorithm.parameters.arena.array);
    disposeTraining(algorithm);
    return values;
  });
  for (const [k, values] of learned.entries())
    gate(`${one.name}: parameters on ${targets[k]}`, values, learned[0] ?? [], EXACT);
}
function checkCounts(what: string, found: Counts, wanted: Counts): void {
  for (const [name, count] of Object.entries(wanted))
    gate(`${what}: ${name}`, [found[name as keyof Counts]], [count], EXACT);
}

/** A whole training per call; a new one is made before each, outside the clock. */
export function trainingArm(one: TrainCase, framework: string, target: TargetName, threads?: number): LocalArm {
  let algorithm: Algorithm | undefined;
  const iterations = iterationsOf(one);
  return {
    framework,
    before: () => {
      if (algorithm) disposeTraining(algorithm);
      algorithm = makeTraining(one, { target, ...(threads === undefined ? {} : { threads }) });
    },
    run: () => {
      for (let k = 0; k < iterations; k++) algorithm?.iterate();
    },
  };
}

const onOneThread = (target: TargetName): string => `${target}, 1 thread`;

/** 50,000 steps of training, with the threads that everybody takes by themselves, and with one. */
async function measureTraining(run: TrainRun): Promise<void> {
  const { recorder, targets } = run;
  const peers = await startTrainPeers(recorder);
  try {
    const arms: Arm[] = [
      ...targets.present.map((target) => trainingArm(TRAINING, target, target)),
      ...targets.present.map((target) => trainingArm(TRAINING, onOneThread(target), target, 1)),
      ...peers.arms(TRAINING.name, sameCounts({ ...expectedCounts(TRAINING, FIRST_ITERATIONS) })),
    ];
    const { steps } = expectedCounts(TRAINING, iterationsOf(TRAINING));
    const { nEnvs, nSteps, nEpochs, batchSize } = TRAINING.config;
    const params = { steps, nEnvs, nSteps, nEpochs, batchSize };
    const check = (): void => checkTargets(TRAINING, targets.present);
    const workload = { name: TRAINING.name, category: "train", params, items: steps, arms, gate: check };
    const samples = await recorder.turns(workload, run.rounds(3, 1));
    for (const target of targets.present) {
      for (const [id, framework] of [
        ["sb3", SB3],
        ["rlox", RLOX],
      ] as const) {
        const best = fastestOf(samples, waysOf(framework));
        const ratio = best && recorder.compare(`training/${target}`, samples, target, best);
        run.figure(`${target}/training-vs-${id}`, ratio || undefined);
      }
      recorder.compare(`training/${target}`, samples, target, onOneThread(target));
    }
  } finally {
    peers.close();
  }
}

interface Side {
  readonly target: TargetName;
  readonly algorithm: Algorithm;
  /** What the first iteration told. */
  readonly told: { readonly [name: string]: number };
}
/** The sides of an iteration on two cores, each with its first one done. */
function firstIterations(one: TrainCase, targets: BenchTargets, split: boolean): Side[] {
  return targets.sides((target) => {
    const algorithm = makeTraining(one, { target, threads: CORES, split });
    return { target, algorithm, told: algorithm.iterate() };
  });
}
/** The first iteration did all of its work; those that round in the same way learned the same. */
function checkFirst(one: TrainCase, sides: readonly Side[]): void {
  for (const { target, algorithm } of sides) {
    checkCounts(`${one.name} on ${target}`, countsOf(algorithm, 1), expectedCounts(one, 1));
    const like = sides.find((side) => side.algorithm.numerics === algorithm.numerics) ?? { algorithm };
    const [own, wanted] = [algorithm, like.algorithm].map((x) => x.parameters.arena.array);
    gate(`${one.name}: parameters on ${target}`, own ?? [], wanted ?? [], EXACT);
  }
}

/** Linen's arm, where it has done the same work, and its first iteration, of a policy that knows nothing, was like ours. */
function linenArms(peers: PythonPeers, { told, algorithm }: Side): readonly RemoteArm[] {
  const { name } = SMALL;
  if (peers.arms(name, sameCounts({ ...expectedCounts(SMALL, 1) })).length === 0) return [];
  const ends = (told.episodes ?? 0) / algorithm.stepsPerIteration;
  const outputs = { ends: [ends], entropy: [told.entropy ?? 0], value_loss: [told.value_loss ?? 0] };
  return peers.arms(name, { outputs, tolerance: { absolute: 0, relative: 0.15 } });
}

/** One iteration in one call, on two cores. */
async function measureIteration(run: TrainRun): Promise<void> {
  const { recorder, targets } = run;
  const peers = await startLinenPeers(recorder);
  const sides = firstIterations(SMALL, targets, false);
  try {
    const { nEnvs, nSteps, nEpochs, batchSize } = SMALL.config;
    const ours = sides.map(({ target, algorithm }) => ({ framework: target, run: () => algorithm.iterate() }));
    const samples = await recorder.workload({
      name: SMALL.name,
      category: "train",
      params: { nEnvs, nSteps, nEpochs, batchSize, threads: CORES },
      items: nEnvs * nSteps,
      arms: [...ours, ...sides.slice(0, 1).flatMap((side) => linenArms(peers, side))],
      gate: () => checkFirst(SMALL, sides),
    });
    for (const { target } of sides)
      run.figure(`${target}/iteration-vs-linen`, recorder.compare(`iteration/${target}`, samples, target, LINEN));
  } finally {
    peers.close();
    for (const { algorithm } of sides) disposeTraining(algorithm);
  }
}

/** An arm that iterates, and whose clock runs while it updates. */
export function updateArm(framework: string, algorithm: Algorithm): RemoteArm {
  const updating = (): number => (algorithm.phases?.update ?? Number.NaN) * 1e9;
  return ownClock(framework, () => {
    const before = updating();
    algorithm.iterate();
    return updating() - before;
  });
}

/** Runs of the chains in a sample of the peak: some milliseconds. */
const PEAK_RUNS = 50;

/** An arm that tells how long so many operations would take if there were nothing but multiply-adds. */
function peakArm(framework: string, { run, operations }: Peak, wanted: number): RemoteArm {
  const once = (): number => {
    const begin = performance.now();
    for (let k = 0; k < PEAK_RUNS; k++) run();
    return ((performance.now() - begin) * 1e6 * wanted) / (PEAK_RUNS * operations);
  };
  once();
  return ownClock(framework, once);
}
const peakOn = (target: TargetName): string => `${target} peak`;

/** The share of the peak that updates of one size of networks reach. */
async function measureShare(run: TrainRun, one: TrainCase, size: string, rounds: number): Promise<void> {
  const { recorder, targets } = run;
  const operations = updateOperations(one);
  const sides = firstIterations(one, targets, true);
  const peaks = sides.map(({ target }) => peakOf(target, CORES) as Peak);
  const arms = sides.flatMap(({ target, algorithm }, k) => [
    updateArm(target, algorithm),
    peakArm(peakOn(target), peaks[k] as Peak, operations),
  ]);
  const samples = await recorder.turns(
    {
      name: `update ${one.config.netArch.join("-")}`,
      category: "peak",
      params: { operations, threads: CORES },
      items: operations,
      arms,
      gate: () => checkFirst(one, sides),
    },
    rounds,
  );
  for (const { target, algorithm } of sides) {
    const [own, top] = [medianOf(samples, target), medianOf(samples, peakOn(target))];
    run.figure(`${target}/peak-${size}`, own && top && (100 * top) / own);
    disposeTraining(algorithm);
  }
  for (const peak of peaks) peak.dispose();
}

async function measurePeak(run: TrainRun): Promise<void> {
  await measureShare(run, SMALL, "small", run.rounds(21, 7));
  await measureShare(run, MEDIUM, "medium", run.rounds(5, 2));
}

async function runAll(recorder: Recorder): Promise<void> {
  const run = new TrainRun(recorder, new BenchTargets(recorder, TARGETS));
  await run.section("training", measureTraining);
  await run.section("command", measureCommands);
  await run.section("iteration", measureIteration);
  await run.section("start", measureStarts);
  await run.section("peak", measurePeak);
  await run.section("solved", measureSolved);
  stateBars(run);
}

export const trainSuite: Suite = {
  name: "train",
  what: "whole trainings, iterations and processes, against Stable-Baselines3, rlox and Flax Linen",
  run: runAll,
};
