/**
 * @file What the suite `train` promises, in order, and how the bars are stated with the figures of a run.
 */
import type { TargetName } from "../../targets/target.ts";
import type { BarSpec, FigureSpec } from "../result.ts";
import type { SectionName, TrainRun } from "./train-run.ts";

/** Sections that hold ours against others. */
const AGAINST_PEERS: ReadonlySet<SectionName> = new Set<SectionName>(["training", "command", "iteration", "start"]);

/** The first part of an id is the target, the second begins with the section. */
type TrainBar = (BarSpec | FigureSpec) & { readonly section: SectionName; readonly target: TargetName };

const TRAINING = "PPO on CartPole-v1, 50,000 steps, 8 environments: steps per second in training";
const COMMAND =
  "lockstep train ppo CartPole-v1, 50,000 steps, warm cache: from the start of the process to its summary";
const ITERATION = "an iteration of PPO, 32 x 256 steps, 10 epochs of 8 minibatches, 64-64, on two cores";
const START = "PPO of 32 x 256 steps, 64-64: from the start of the process to the end of the first iteration";
const PEAK = "matrix products of updates on two cores: per cent of the measured peak of multiply-adds";
const SOLVED = "lockstep train ppo CartPole-v1, warm cache: from the start of the process to an evaluation of 475";

const times = (section: SectionName, id: string, what: string, limit: number): TrainBar => ({
  ...placed(section, id, what),
  relation: ">=",
  limit,
  unit: "x",
});
function placed(section: SectionName, id: string, what: string) {
  const target = id.slice(0, id.indexOf("/")) as TargetName;
  return { section, target, id, what: `${what}; ${target}` };
}
const SB3 = "against Stable-Baselines3";
const LINEN = "against Flax Linen";

export const TRAIN_BARS: readonly TrainBar[] = [
  times("training", "native/training-vs-sb3", `${TRAINING}, ${SB3}`, 20),
  times("training", "native/training-vs-rlox", `${TRAINING}, against rlox`, 15),
  times("training", "wasm/training-vs-sb3", `${TRAINING}, ${SB3}`, 8),
  times("training", "wasm/training-vs-rlox", `${TRAINING}, against rlox`, 6),
  times("command", "native/command-vs-sb3", `${COMMAND}, ${SB3}`, 10),
  times("command", "wasm/command-vs-sb3", `${COMMAND}, ${SB3}`, 5),
  times("iteration", "native/iteration-vs-linen", `${ITERATION}, ${LINEN}`, 3),
  times("iteration", "wasm/iteration-vs-linen", `${ITERATION}, ${LINEN}`, 1.5),
  times("start", "native/start-warm-vs-linen", `${START}, warm cache, ${LINEN}`, 10),
  times("start", "native/start-empty-vs-linen", `${START}, empty cache, ${LINEN}`, 1.5),
  times("start", "wasm/start-vs-linen", `${START}, ${LINEN}`, 8),
  { ...placed("peak", "native/peak-small", `64-64, ${PEAK}`), relation: ">=", limit: 65, unit: "%" },
  { ...placed("peak", "native/peak-medium", `256-256-256, ${PEAK}`), relation: ">=", limit: 80, unit: "%" },
  { ...placed("peak", "wasm/peak-small", `64-64, ${PEAK}`), unit: "%" },
  { ...placed("peak", "wasm/peak-medium", `256-256-256, ${PEAK}`), unit: "%" },
  { ...placed("solved", "native/solved", SOLVED), relation: "<=", limit: 3, unit: "s" },
];

/** States all bars, in order, with what was measured or why nothing was. */
export function stateBars(run: TrainRun): void {
  const { targets, recorder } = run;
  for (const { section, target, ...spec } of TRAIN_BARS) {
    const general = AGAINST_PEERS.has(section) ? targets.reason(target) : targets.missing(target);
    recorder.bar(spec, run.figureOf(spec.id), run.reasonOf(spec.id, section) ?? general);
  }
}
