/**
 * @file Whole processes of the suite `train`: the command against a script with Stable-Baselines3, the first iteration
 * against Flax Linen, and the time until CartPole is solved.
 *
 * Caches of compiled code lie in folders of their own: one that is filled before anything counts, and a fresh one for
 * every sample that is to find none.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { median } from "../../stats/index.ts";
import type { TargetName } from "../../targets/target.ts";
import { readRun } from "../../train/runFiles.ts";
import { type Command, CommandError, ownClock, type Printed, runCommand } from "../commands.ts";
import { GateError } from "../gate.ts";
import { pythonOf } from "../python.ts";
import { fastestOf } from "../suite.ts";
import type { RemoteArm } from "../timing.ts";
import { expectedCounts, SMALL, TRAINING } from "./train-cases.ts";
import { CORES, LINEN, LINEN_START, linenSettings } from "./train-linen.ts";
import { EVALUATION_EPISODES, SB3, SB3_COMMAND, sb3Task, WANTED, waysOf } from "./train-peers.ts";
import type { TrainRun } from "./train-run.ts";

/** A folder of the built package; from sources Node could not run what lies there. */
function built(file: string): string {
  if (import.meta.url.endsWith(".ts"))
    throw new CommandError("processes are timed from the built package only: npm run build");
  return fileURLToPath(new URL(file, import.meta.url));
}

/** A folder for caches and runs that is gone afterwards. */
async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-bench-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What is read of a summary. */
const SUMMARY = z.object({
  steps: z.number(),
  target: z.string(),
  numerics: z.string(),
  parameters_sha256: z.string(),
  wall_s: z.number(),
  evaluation: z.object({ episodes: z.number(), mean: z.number() }).nullable(),
  run: z.string().nullable(),
});
type Summary = z.output<typeof SUMMARY>;

/** A process as an arm: `check` looks at what each run printed. */
interface Process {
  readonly framework: string;
  /** The bar that it is needed for. */
  readonly bar?: string;
  readonly run: () => Promise<Printed>;
  readonly check: (document: unknown) => void;
}
const armOf = ({ framework, run, check }: Process): RemoteArm =>
  ownClock(framework, async () => {
    const { ns, document } = await run();
    check(document);
    return ns;
  });

/** Those that work: each is run once, which also fills caches; the others are noted. */
async function ready(run: TrainRun, processes: readonly Process[]): Promise<Process[]> {
  const working: Process[] = [];
  for (const one of processes) {
    try {
      one.check((await one.run()).document);
      working.push(one);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      run.recorder.skip(one.framework, error.message);
      if (one.bar !== undefined) run.lacks(one.bar, error.message);
    }
  }
  return working;
}

function sameWork(what: string, document: unknown, wanted: { readonly [name: string]: unknown }): void {
  const found = (document ?? {}) as { readonly [name: string]: unknown };
  for (const [name, value] of Object.entries(wanted))
    if (found[name] !== value)
      throw new GateError(`${what}: ${name} is ${String(found[name])}, expected ${String(value)}`);
}

function parseSummary(document: unknown): Summary {
  const { data, error } = SUMMARY.safeParse(document);
  if (data) return data;
  const [issue] = error.issues;
  throw new CommandError(`lockstep train: its summary has ${issue?.path.join(".")}: ${issue?.message}`);
}

/** `lockstep train ppo CartPole-v1` with further arguments, in a folder that holds its cache and its runs. */
function trainCommand(folder: string, args: readonly string[]): Command {
  const cache = join(folder, "cache");
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  const fixed = [built("../../cli/main.js"), "train", "ppo", "CartPole-v1", "--json", "--out", join(folder, "runs")];
  return { program: process.execPath, args: [...fixed, ...args], folder, env: { LOCKSTEP_CACHE: cache } };
}

/** The settings that all sides of the training have; of the evaluations only the one at the end. */
const SAME_SETTINGS: readonly string[] = [
  ...["--steps", String(TRAINING.totalSteps)],
  ...["--seed", "1"],
  ...["--preset", "rlox"],
  ...["--eval-every", "0"],
  ...["--eval-episodes", String(EVALUATION_EPISODES)],
];

const commandName = (target: TargetName): string => `lockstep train, ${target}`;
const commandBar = (target: TargetName): string => `${target}/command-vs-sb3`;

/** The command on a target; `learned` holds what runs have learned so far, by the way in which they round. */
function ourCommand(folder: string, target: TargetName, learned: Map<string, string>): Process {
  const framework = commandName(target);
  const command = trainCommand(folder, ["--target", target, ...SAME_SETTINGS]);
  const check = (document: unknown): void => {
    const { evaluation, ...summary } = parseSummary(document);
    const hash = learned.get(summary.numerics) ?? summary.parameters_sha256;
    learned.set(summary.numerics, hash);
    sameWork(framework, summary, { parameters_sha256: hash });
    sameWork(framework, { ...summary, ...evaluation }, { steps: WANTED.steps, target, episodes: EVALUATION_EPISODES });
  };
  return { framework, bar: commandBar(target), run: () => runCommand(framework, command), check };
}

function sb3Command(python: string, folder: string, framework: string, threads: number): Process {
  const command = { program: python, args: ["-c", SB3_COMMAND, sb3Task(threads)], folder };
  const wanted = { ...WANTED, episodes: EVALUATION_EPISODES };
  return {
    framework,
    run: () => runCommand(framework, command),
    check: (document) => sameWork(framework, document, wanted),
  };
}

/** The command against the script, from the start of each process to what it prints at the end. */
export function measureCommands(run: TrainRun): Promise<void> {
  return inFolder(async (folder) => {
    const { recorder, targets } = run;
    const learned = new Map<string, string>();
    const ours = await ready(
      run,
      targets.present.map((target) => ourCommand(folder, target, learned)),
    );
    const python = await pythonOf(recorder, "torch");
    const [own = SB3, one = SB3] = waysOf(SB3);
    const theirs = python ? [sb3Command(python, folder, own, 0), sb3Command(python, folder, one, 1)] : [];
    const workload = {
      name: "command 50000",
      category: "train",
      params: { steps: WANTED.steps, episodes: EVALUATION_EPISODES },
      items: WANTED.steps,
      arms: [...ours, ...theirs].map(armOf),
    };
    const samples = await recorder.turns(workload, run.rounds(3, 1));
    const best = fastestOf(samples, [own, one]);
    for (const target of targets.present) {
      const ratio = best && recorder.compare(`command/${target}`, samples, commandName(target), best);
      run.figure(commandBar(target), ratio || undefined);
    }
  });
}

const WARM = "native, warm cache";
const EMPTY = "native, empty cache";
const LINEN_CACHED = `${LINEN}, compiled before`;
const START_BARS: { readonly [framework: string]: string } = {
  [WARM]: "native/start-warm-vs-linen",
  [EMPTY]: "native/start-empty-vs-linen",
  wasm: "wasm/start-vs-linen",
};

/** A process that does one iteration, with the cache that `cacheOf` says. */
function ourStart(folder: string, framework: string, target: TargetName, cacheOf: () => string): Process {
  const args = [built("./train-start.js"), target, String(CORES)];
  const command = (): Command => ({ program: process.execPath, args, folder, env: { LOCKSTEP_CACHE: cacheOf() } });
  const bar = START_BARS[framework];
  const run = (): Promise<Printed> => runCommand(framework, command());
  return { framework, run, check: sameStart(framework), ...(bar === undefined ? {} : { bar }) };
}
const sameStart =
  (framework: string) =>
  (document: unknown): void =>
    sameWork(framework, document, { ...expectedCounts(SMALL, 1) });

function linenStart(python: string, folder: string, framework: string, cache: string | undefined): Process {
  const args = ["-c", LINEN_START, JSON.stringify(linenSettings(SMALL))];
  const env = { JAX_COMPILATION_CACHE_DIR: cache, JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS: "0" };
  const run = (): Promise<Printed> => runCommand(framework, { program: python, args, folder, env });
  return { framework, run, check: sameStart(framework) };
}

function ourStarts(folder: string, present: readonly TargetName[]): Process[] {
  const fresh = (): string => mkdtempSync(join(folder, "cache-"));
  const warm = fresh();
  const native = [ourStart(folder, WARM, "native", () => warm), ourStart(folder, EMPTY, "native", fresh)];
  return present.flatMap((target) => (target === "native" ? native : [ourStart(folder, target, target, () => warm)]));
}

/** From the start of a process to the end of its first iteration. */
export function measureStarts(run: TrainRun): Promise<void> {
  return inFolder(async (folder) => {
    const { recorder, targets } = run;
    const ours = await ready(run, ourStarts(folder, targets.present));
    const python = await pythonOf(recorder, "jax");
    const cached = python ? [linenStart(python, folder, LINEN_CACHED, join(folder, "jax"))] : [];
    const theirs = python ? [linenStart(python, folder, LINEN, undefined), ...(await ready(run, cached))] : [];
    const samples = await recorder.turns(
      { name: "start", category: "train", params: { threads: CORES }, items: 1, arms: [...ours, ...theirs].map(armOf) },
      run.rounds(5, 1),
    );
    for (const [framework, id] of Object.entries(START_BARS)) {
      run.figure(id, recorder.compare(`start/${framework}`, samples, framework, LINEN));
      recorder.compare(`start/${framework}`, samples, framework, LINEN_CACHED);
    }
  });
}

const SOLVED_AT = 475;

/**
 * Nanoseconds from the start of the process to the first evaluation that reaches the goal; Infinity when none did. The
 * summary's clock begins later than the process: what follows the evaluation is taken off the whole.
 */
export function solvedAfter({ ns, document }: Printed, folder: string): number {
  const { wall_s, evaluation, run } = parseSummary(document);
  const recorded = run === null ? [] : readRun(resolve(folder, run)).evaluations;
  const first = recorded.find((record) => record.evaluation.mean >= SOLVED_AT);
  if (first) return ns - Math.max(0, wall_s - first.wall_s) * 1e9;
  return evaluation && evaluation.mean >= SOLVED_AT ? ns : Number.POSITIVE_INFINITY;
}

/** The command as it is, with several seeds. */
export function measureSolved(run: TrainRun): Promise<void> {
  const { recorder, targets } = run;
  if (!targets.present.includes("native")) return Promise.resolve();
  return inFolder(async (folder) => {
    const train = async (seed: number): Promise<number> => {
      const command = trainCommand(folder, ["--seed", String(seed), "--target", "native"]);
      return solvedAfter(await runCommand(commandName("native"), command), folder);
    };
    const seeds = run.rounds(5, 2);
    recorder.say(`solved: ${seeds} seeds`);
    // Fills the cache.
    await train(1);
    const ns: number[] = [];
    for (let seed = 1; seed <= seeds; seed++) ns.push(await train(seed));
    const solved = ns.filter(Number.isFinite);
    const head = { name: "solved", category: "train", framework: "native", params: { goal: SOLVED_AT, seeds } };
    if (solved.length > 0) recorder.samples(head, solved, 1);
    const middle = median(ns) / 1e9;
    if (Number.isFinite(middle)) run.figure("native/solved", middle);
    else run.lacks("native/solved", `of ${seeds} seeds ${solved.length} had an evaluation of ${SOLVED_AT}`);
  });
}
