/**
 * @file The check of an environment: everything that has to hold for one that is trained on, each with its fix.
 *
 * Checks try many random episodes; what they do not meet they do not find.
 */
import { LockstepError } from "../../platform/errors.ts";
import { KernelFault } from "../../runtime/arguments.ts";
import { availability, TARGET_NAMES } from "../../runtime/targets.ts";
import type { TargetName } from "../../targets/target.ts";
import { type Environment, observationSize } from "../define.ts";
import { VecEnv } from "../vector/vecEnv.ts";
import {
  checkAutoreset,
  checkDeterminism,
  checkDrawing,
  checkInSpace,
  checkLength,
  checkNumbers,
  checkObservePure,
  checkReset,
  checkSeeding,
  checkTargets,
  checkWritten,
} from "./dynamic.ts";
import { CHECKS, type CheckName, type CheckReport, type Finding, type TargetSpeed } from "./report.ts";
import { actionFor, moments, Run, type RunOptions } from "./runs.ts";
import { checkDefinition, checkSpaces } from "./static.ts";

export { CHECKS, type CheckName, type CheckReport, type Finding, type TargetSpeed } from "./report.ts";

export interface CheckOptions {
  /** A whole number from 0 on; 1 unless given. */
  readonly seed?: number;
  /** Targets to compare and to time; all that are available unless given. */
  readonly targets?: readonly TargetName[];
  /** How long each target is timed, in milliseconds; 50 unless given, 0 for not at all. */
  readonly timeMs?: number;
}

const ENVIRONMENTS = 8;
/** Numbers that a run remembers at most. */
const REMEMBERED = 1_000_000;
const TIMED_ENVIRONMENTS = 1024;

/** Steps of a run: fewer where observations are large. */
const stepsFor = (env: Environment): number =>
  Math.min(256, Math.max(40, Math.floor(REMEMBERED / ENVIRONMENTS / observationSize(env.observation))));

/** Nanoseconds per step of one environment among many, on a target: the best of several rounds. */
function speedOf(env: Environment, target: TargetName, timeMs: number): TargetSpeed {
  const vec = new VecEnv(env, TIMED_ENVIRONMENTS, { seed: 1, target });
  const size = vec.actions.length / TIMED_ENVIRONMENTS;
  for (let i = 0; i < TIMED_ENVIRONMENTS; i++) vec.actions.set(actionFor(env, i, 0, 0), i * size);
  const timed = (count: number): number => {
    const begin = performance.now();
    for (let k = 0; k < count; k++) vec.step(vec.actions);
    return (performance.now() - begin) / count;
  };
  vec.reset();
  vec.step(vec.actions);
  // Rounds of about a millisecond: long enough for the clock, short enough that there are many.
  const count = Math.min(Math.max(Math.floor(1 / Math.max(timed(1), 1e-3)), 1), 256);
  let best = Number.POSITIVE_INFINITY;
  const end = performance.now() + timeMs;
  do best = Math.min(best, timed(count));
  while (performance.now() < end);
  vec.dispose();
  return { target, nsPerStep: (best * 1e6) / TIMED_ENVIRONMENTS };
}

/** What a definition that cannot be compiled says; undefined when it can be. */
function compilationFinding(env: Environment): Finding | undefined {
  try {
    new VecEnv(env, 1, { target: "js" }).dispose();
    return undefined;
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    return {
      check: "compilation",
      problem: error.message,
      fix: "write reset, step and observe in the language of kernels (docs/kernels.md)",
    };
  }
}

/** Checks that run the environment, each with the function that makes it. */
function dynamicChecks(env: Environment, options: RunOptions, targets: readonly TargetName[]) {
  const run = moments(env, options);
  const example = new Run(env, { ...options, envs: 1 });
  example.reset();
  const state = example.vec.getState(0).state;
  example.dispose();
  const checks: readonly (readonly [CheckName, () => readonly Finding[]])[] = [
    ["numbers", () => checkNumbers(run)],
    ["observation space", () => checkInSpace(env, run)],
    ["observation contract", () => [...checkWritten(env, options), ...checkObservePure(env, state)]],
    ["determinism", () => checkDeterminism(env, run, options)],
    ["seeding", () => checkSeeding(env, run, options, state)],
    ["reset contract", () => checkReset(env, run, options)],
    ["autoreset", () => checkAutoreset(env, run, options)],
    ["episode length", () => checkLength(env, run)],
    ["targets", () => checkTargets(env, options, targets)],
    ["drawing", () => checkDrawing(env, options)],
  ];
  return { checks, run };
}

/** A fault of compiled code, such as a subscript out of range. */
function faultFinding(error: unknown, env: Environment): Finding {
  if (!(error instanceof KernelFault)) throw error;
  const size = observationSize(env.observation);
  return {
    check: "faults",
    problem: error.message,
    fix: `keep subscripts within their arrays; an observation has ${size} element${size === 1 ? "" : "s"}`,
  };
}

/** Checks a definition. Every finding names its fix; a report without findings is what is wanted. */
export function checkEnvironment(env: Environment, options: CheckOptions = {}): CheckReport {
  const { seed = 1, timeMs = 50 } = options;
  const wanted = options.targets ?? TARGET_NAMES;
  const targets = wanted.filter((target) => availability(target).target);
  const skipped = wanted.flatMap((target) => {
    const found = availability(target);
    return found.target ? [] : [{ target, reason: found.reason }];
  });
  const findings: Finding[] = [...checkDefinition(env), ...checkSpaces(env)];
  const broken = compilationFinding(env);
  const base = { id: env.id, skipped };
  const early = (checks: readonly CheckName[]): CheckReport => ({
    ...base,
    findings,
    checks,
    speed: [],
    steps: 0,
    episodes: 0,
  });
  if (broken) {
    findings.push(broken);
    return early(["definition", "spaces", "compilation"]);
  }
  const runOptions: RunOptions = { seed, target: "js", envs: ENVIRONMENTS, steps: stepsFor(env) };
  try {
    const { checks, run } = dynamicChecks(env, runOptions, targets);
    for (const [, check] of checks) findings.push(...check());
    const speed = timeMs > 0 ? targets.map((target) => speedOf(env, target, timeMs)) : [];
    const episodes = [...run.values()].filter(({ terminated, truncated }) => terminated || truncated).length;
    return { ...base, findings, checks: CHECKS, speed, steps: run.size, episodes };
  } catch (error) {
    findings.push(faultFinding(error, env));
    return early(["definition", "spaces", "compilation", "faults"]);
  }
}
