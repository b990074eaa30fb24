/**
 * @file What shows when an environment runs: numbers, contracts, and runs that must agree with each other.
 */
import type { TypedArray } from "../../ir/arrays.ts";
import type { TargetName } from "../../targets/target.ts";
import { type Environment, observationSize } from "../define.ts";
import { drawEnvironment } from "../draw/frame.ts";
import type { Shape } from "../draw/shapes.ts";
import { contains, describeSpace, limitAt } from "../spaces.ts";
import type { StateValues } from "../vector/arrays.ts";
import type { Autoreset } from "../vector/kernel.ts";
import { drawsRandomNumbers, writtenByObserve } from "./raw.ts";
import type { CheckName, Finding } from "./report.ts";
import { actionFor, bitsOf, firstDifference, type Moment, moments, Run, type RunOptions } from "./runs.ts";

type Moments = ReadonlyMap<string, Moment>;

const short = (values: readonly number[]): string =>
  values.length > 8 ? `${values.slice(0, 8).join(", ")}, ...` : values.join(", ");
const where = ({ index, episode, step, action }: Moment): string =>
  `environment ${index}, episode ${episode}, step ${step}, action ${short(action)}`;
const finding = (check: CheckName, problem: string, fix: string): Finding => ({ check, problem, fix });

/** NaN and infinite numbers. */
export function checkNumbers(run: Moments): Finding[] {
  const findings = new Map<string, Finding>();
  for (const moment of run.values()) {
    const bad = moment.obs.findIndex((x) => !Number.isFinite(x));
    if (bad >= 0 && !findings.has("obs"))
      findings.set(
        "obs",
        finding(
          "numbers",
          `obs[${bad}] is ${moment.obs[bad]} (${where(moment)})`,
          "look for a division by 0, a root or logarithm of a negative number, or a state that grows without limit",
        ),
      );
    if (!Number.isFinite(moment.reward) && !findings.has("reward"))
      findings.set(
        "reward",
        finding(
          "numbers",
          `the reward is ${moment.reward} (${where(moment)})`,
          "return a finite reward from step, whatever the action",
        ),
      );
  }
  return [...findings.values()];
}

/** Observations outside of their space. */
export function checkInSpace(env: Environment, run: Moments): Finding[] {
  const space = env.observation;
  for (const moment of run.values()) {
    const value = space.kind === "discrete" ? moment.obs[0] : moment.obs;
    if (moment.obs.some(Number.isNaN) || contains(space, value)) continue;
    const at = space.kind === "discrete" ? 0 : moment.obs.findIndex((x, k) => !between(space.low, space.high, x, k));
    return [
      finding(
        "observation space",
        `obs[${at}] is ${moment.obs[at]}, which ${describeSpace(space)}${range(env, at)} does not contain (${where(moment)})`,
        "widen low and high of the observation space, or clip what observe writes",
      ),
    ];
  }
  return [];
}
const between = (low: number | readonly number[], high: number | readonly number[], x: number, k: number): boolean =>
  x >= limitAt(low, k) && x <= limitAt(high, k);
function range({ observation }: Environment, at: number): string {
  if (observation.kind === "discrete") return "";
  return `, here from ${limitAt(observation.low, at)} to ${limitAt(observation.high, at)},`;
}

/** Elements of the observation that are not written: they show what stood in the array before. */
export function checkWritten(env: Environment, options: RunOptions): Finding[] {
  const size = observationSize(env.observation);
  const rows = [0xaa, 0x55].map((byte) => {
    const run = new Run(env, { ...options, autoreset: "disabled" });
    const stain = (array: TypedArray): void => {
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).fill(byte);
    };
    stain(run.vec.out.obs);
    const seen: number[][] = [Array.from(run.reset().obs)];
    for (let t = 0; t < Math.min(options.steps, 20); t++) {
      stain(run.vec.out.obs);
      run.step();
      seen.push(Array.from(run.vec.out.obs));
    }
    run.dispose();
    return seen;
  });
  for (const [t, first] of (rows[0] ?? []).entries()) {
    const at = first.findIndex((x, k) => x !== rows[1]?.[t]?.[k] && !Number.isNaN(x));
    if (at >= 0)
      return [
        finding(
          "observation contract",
          `observe does not write obs[${at % size}] (${t === 0 ? "after reset" : `at step ${t}`}): old numbers stay in it`,
          `write all ${size} elements every time, or begin with obs.fill(0)`,
        ),
      ];
  }
  return [];
}

/** Whether `observe` leaves the state alone. */
export function checkObservePure(env: Environment, state: StateValues): Finding[] {
  const written = writtenByObserve(env, state);
  if (written.length === 0) return [];
  return [
    finding(
      "observation contract",
      `observe changes the state: ${written.join(", ")}`,
      "change the state in reset and step only; observe may be called more than once for a step",
    ),
  ];
}

export function checkDeterminism(env: Environment, run: Moments, options: RunOptions): Finding[] {
  const different = firstDifference(run, moments(env, options));
  if (different)
    return [
      finding(
        "determinism",
        `two runs with seed ${options.seed} differ (${where(different[0])})`,
        "take every number from the state, the action, params and rng",
      ),
    ];
  const half = Math.floor(options.envs / 2);
  const alone = firstDifference(run, moments(env, { ...options, envs: options.envs - half, firstIndex: half }));
  if (!alone) return [];
  return [
    finding(
      "determinism",
      `results depend on how many other environments there are (${where(alone[0])})`,
      "use nothing that environments share but tables, which are read only",
    ),
  ];
}

/** Environments that draw random numbers must show them: by seed and by index. */
export function checkSeeding(env: Environment, run: Moments, options: RunOptions, state: StateValues): Finding[] {
  if (!drawsRandomNumbers(env, state, actionFor(env, 0, 0, 0))) return [];
  if (firstDifference(run, moments(env, { ...options, seed: options.seed + 1 }))) return [];
  return [
    finding(
      "seeding",
      `rng is used, but seeds ${options.seed} and ${options.seed + 1} give the same episodes`,
      "let what is drawn decide something: the start, a move, a reward",
    ),
  ];
}

/** A reset must not depend on what was in the state before. */
export function checkReset(env: Environment, run: Moments, options: RunOptions): Finding[] {
  const dirty = new Run(env, options);
  try {
    dirty.reset();
    const clean = dirty.vec.getState(0).state;
    soil(dirty.vec.state);
    dirty.reset();
    const after = dirty.vec.getState(0).state;
    const all = new Map<string, Moment>();
    for (let t = 0; t < options.steps; t++)
      for (const moment of dirty.step()) all.set(`${moment.index}/${moment.episode}/${moment.step}`, moment);
    const different = firstDifference(run, all);
    if (!different) return [];
    const fields = Object.keys(clean).filter((name) => JSON.stringify(clean[name]) !== JSON.stringify(after[name]));
    return [
      finding(
        "reset contract",
        `an episode depends on what the one before left in ${fields.map((name) => `"${name}"`).join(", ") || "the state"} (${where(different[0])})`,
        "set every field of the state in reset",
      ),
    ];
  } finally {
    dirty.dispose();
  }
}
/** Puts 1 everywhere: a value that no episode begins with by chance in all fields, and small enough for subscripts. */
function soil(value: unknown): void {
  if (ArrayBuffer.isView(value)) (value as TypedArray).fill(1);
  else for (const inner of Object.values(value as object)) soil(inner);
}

/** All modes must show the same episodes. */
export function checkAutoreset(env: Environment, run: Moments, options: RunOptions): Finding[] {
  for (const autoreset of ["next-step", "disabled"] as const satisfies readonly Autoreset[]) {
    const different = firstDifference(run, moments(env, { ...options, autoreset }));
    if (different)
      return [
        finding(
          "autoreset",
          `with "${autoreset}" an episode differs from the one with "same-step" (${where(different[0])})`,
          "let episodes depend on reset and the actions only",
        ),
      ];
  }
  return [];
}

export function checkLength(env: Environment, run: Moments): Finding[] {
  if (env.maxSteps !== undefined) return [];
  const all = [...run.values()];
  if (all.some(({ terminated }) => terminated)) return [];
  const longest = Math.max(...all.map(({ step }) => step));
  return [
    finding(
      "episode length",
      `no episode ended within ${longest} steps, and there is no limit`,
      "add maxSteps, or return terminated: true where an episode is over",
    ),
  ];
}

/** Equal bits of state and results on every target, step by step. */
export function checkTargets(env: Environment, options: RunOptions, targets: readonly TargetName[]): Finding[] {
  const trace = (target: TargetName): string[] => {
    const run = new Run(env, { ...options, target });
    run.reset();
    const bits = [bitsOf(run.vec)];
    for (let t = 0; t < options.steps; t++) {
      run.step();
      bits.push(bitsOf(run.vec));
    }
    run.dispose();
    return bits;
  };
  const reference = trace("js");
  return targets
    .filter((target) => target !== "js")
    .flatMap((target) => {
      const other = trace(target);
      const step = reference.findIndex((bits, k) => bits !== other[k]);
      if (step < 0) return [];
      return [
        finding(
          "targets",
          `${target} and js have different bits after ${step} steps`,
          "this is an error of the compiler unless the functions differ from call to call; please report it with the file",
        ),
      ];
    });
}

const numbersIn = (shape: Shape): readonly unknown[] => Object.values(shape).flat(3);

export function checkDrawing(env: Environment, options: RunOptions): Finding[] {
  if (env.draw === undefined) return [];
  const run = new Run(env, { ...options, envs: 2 });
  try {
    run.reset();
    for (let t = 0; t < 20; t++) {
      run.step();
      const drawing = drawEnvironment(run.vec, 1);
      const { least = [0, 0], greatest = [0, 0], shapes = [] } = drawing ?? {};
      if (!(greatest[0] > least[0] && greatest[1] > least[1]))
        return [finding("drawing", "the view is empty", "call canvas.view(least, greatest) first, with an area")];
      const bad = shapes.find((shape) => numbersIn(shape).some((x) => typeof x === "number" && !Number.isFinite(x)));
      if (bad)
        return [finding("drawing", `a ${bad.kind} is drawn at a place that is no number`, "draw finite numbers")];
    }
    return [];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [finding("drawing", `draw fails: ${reason}`, "draw every state that reset and step can reach")];
  } finally {
    run.dispose();
  }
}
