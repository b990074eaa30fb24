/**
 * @file `lockstep train --seeds n`: the same training with several seeds, in processes side by side, and what came out
 * of all of them.
 *
 * Each seed is a run of its own in a folder of all: `lockstep compare`, `report` and `resume` work with them as with
 * any other. A seed that fails does not keep the others from going on; wrong usage, which all of them would meet, does.
 */
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { formatCount, formatValue } from "../charts/index.ts";
import { coreCount } from "../platform/cores.ts";
import { UsageError } from "../platform/errors.ts";
import { listFolder, makeFolder } from "../platform/files.ts";
import { type Interval, mean, std } from "../stats/index.ts";
import { compareRuns } from "../train/compare.ts";
import { runConfigSchema } from "../train/config/run.ts";
import type { RunSummary } from "../train/records.ts";
import { runName } from "../train/runFolder.ts";
import { writeComparison } from "./compare.ts";
import { asJson, toStderr, writeOut } from "./output.ts";
import { streamFor } from "./running.ts";
import { SeedRun } from "./seedRun.ts";
import { lineView, quietView, type SeedView, terminalView } from "./seedView.ts";
import { configFile, namesOf } from "./settings.ts";
import { columns, styleFor } from "./text.ts";

/** Options of `train` that are handed on to every seed as they are. */
const VALUES = {
  steps: "--steps",
  envs: "--envs",
  target: "--target",
  numerics: "--numerics",
  preset: "--preset",
  config: "--config",
  evalEvery: "--eval-every",
  evalEpisodes: "--eval-episodes",
  checkpointEvery: "--checkpoint-every",
  stopAt: "--stop-at",
  export: "--export",
  data: "--data",
  wandb: "--wandb",
  logStyle: "--log-style",
} as const;
const SWITCHES = { csv: "--csv", timing: "--timing" } as const;

export interface SeedsOptions
  extends Partial<Readonly<Record<Exclude<keyof typeof VALUES, "config">, string | number>>>,
    Partial<Readonly<Record<keyof typeof SWITCHES, boolean>>> {
  readonly config?: string;
  /** How many. */
  readonly seeds?: number;
  /** The first of them. */
  readonly seed?: number;
  /** How many at the same time; as many as there are cores unless given. */
  readonly jobs?: number;
  /** Threads of each; 1 unless given. */
  readonly threads?: number;
  readonly set?: readonly string[];
  readonly tuned?: boolean;
  readonly save?: boolean;
  readonly out?: string;
  /** The name of the folder of all. */
  readonly name?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

const FIRST_SEED = 42;
const SEED_DISTANCE = 1000;
const MOST_SEED = 0xffff_ffff;

/** Seeds at a distance, from the first one on. */
export function seedsOf(count: number, first = FIRST_SEED): number[] {
  const last = first + (count - 1) * SEED_DISTANCE;
  if (last > MOST_SEED)
    throw new UsageError(`--seed ${first} with --seeds ${count} leads to seed ${last}; seeds go up to ${MOST_SEED}`);
  return Array.from({ length: count }, (_, i) => first + i * SEED_DISTANCE);
}

/** What every seed is told, without what is its own. */
export function commonArguments(algo: string, env: string, options: SeedsOptions): string[] {
  const { set = [], tuned = true, threads = 1 } = options;
  const values = (Object.keys(VALUES) as (keyof typeof VALUES)[]).flatMap((key) =>
    options[key] === undefined ? [] : [`${VALUES[key]}=${options[key]}`],
  );
  const switches = (Object.keys(SWITCHES) as (keyof typeof SWITCHES)[]).flatMap((key) =>
    options[key] ? [SWITCHES[key]] : [],
  );
  const sets = set.map((text) => `--set=${text}`);
  return [
    "train",
    algo,
    env,
    ...values,
    ...sets,
    ...switches,
    ...(tuned ? [] : ["--no-tuned"]),
    `--threads=${threads}`,
  ];
}

/** The folder of all seeds: the one that was named, or one whose name is not taken. */
function folderFor({ out = "runs", name }: SeedsOptions, naming: Parameters<typeof runName>[0], count: number): string {
  if (name !== undefined) {
    const { error } = runConfigSchema.shape.name.safeParse(name);
    if (error) throw new UsageError(`--name ${name}: it must be ${error.issues[0]?.message}`);
    const folder = join(out, name);
    if (listFolder(folder).length > 0)
      throw new UsageError(`${folder} is not empty; remove it or choose another --name`);
    return folder;
  }
  const taken = new Set(listFolder(out));
  const base = `${runName(naming)}-x${count}`;
  for (let k = 1; ; k++) {
    const candidate = k === 1 ? base : `${base}-${k}`;
    if (!taken.has(candidate)) return join(out, candidate);
  }
}

const LOOK_MS = { terminal: 200, lines: 1000 };
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Works seeds off, so many at a time; signals are passed on, and keep others from starting. */
class Crowd {
  readonly #seeds: readonly SeedRun[];
  readonly #view: SeedView;
  #signals = 0;
  #isUsageWrong = false;

  constructor(seeds: readonly SeedRun[], view: SeedView) {
    this.#seeds = seeds;
    this.#view = view;
  }

  async run(jobs: number, lookMs: number): Promise<void> {
    const queue = this.#seeds.values();
    const worker = async (): Promise<void> => {
      for (const seed of queue) {
        if (this.#signals > 0 || this.#isUsageWrong) return;
        await this.#one(seed);
      }
    };
    const looking = setInterval(() => this.#look(), lookMs);
    const handle = (signal: NodeJS.Signals): void => this.#handle(signal);
    // Whatever ends this process, a closed pipe for example, ends the others, too.
    const leave = (): void => this.#signal("SIGTERM");
    for (const name of SIGNALS) process.on(name, handle);
    process.on("exit", leave);
    try {
      await Promise.all(Array.from({ length: jobs }, worker));
    } finally {
      leave();
      clearInterval(looking);
      process.off("exit", leave);
      for (const name of SIGNALS) process.off(name, handle);
    }
    this.#view.end();
  }
  async #one(seed: SeedRun): Promise<void> {
    const running = seed.run();
    this.#view.changed(seed);
    await running;
    if (seed.code === 2) this.#isUsageWrong = true;
    this.#view.changed(seed);
  }
  #look(): void {
    for (const seed of this.#seeds) if (seed.state === "running") seed.look();
    this.#view.update();
  }
  #signal(name: NodeJS.Signals): void {
    for (const seed of this.#seeds) if (seed.state === "running") seed.signal(name);
  }
  /** The first signal lets iterations end, the second one ends processes at once, the third one does not ask them. */
  #handle(signal: NodeJS.Signals): void {
    this.#signals++;
    const passed = this.#signals > 2 ? "SIGKILL" : signal === "SIGHUP" ? "SIGTERM" : signal;
    this.#signal(passed);
    if (this.#signals === 1) this.#view.note("stopping after this iteration; once more to stop at once");
  }
}

/** Final evaluations over seeds: of each the mean return of its episodes. */
export interface SeedsAggregate {
  readonly runs: number;
  /** Interquartile mean over runs, and its 95 % bootstrap interval; null for a single run. */
  readonly iqm: number;
  readonly ci: Interval | null;
  readonly mean: number;
  readonly std: number;
  readonly min: number;
  readonly max: number;
  readonly steps_per_s: number;
}

/** What --json prints and aggregate.json holds. */
export interface SeedsResult {
  readonly algo: string;
  readonly env: string;
  /** Of the seeds that ended well. */
  readonly seeds: readonly RunSummary[];
  /** Null when none of them has an evaluation. */
  readonly aggregate: SeedsAggregate | null;
  readonly failed: readonly { readonly seed: number; readonly error: string; readonly run: string }[];
  /** Seeds that were interrupted, or not begun because of it. */
  readonly unfinished: readonly { readonly seed: number; readonly run: string }[];
  readonly folder: string;
  readonly report: string | null;
}

/** Sums up the seeds and writes the page about them beside their folders. */
async function conclude(
  names: { readonly algo: string; readonly env: string },
  seeds: readonly SeedRun[],
  folder: string,
  say: (line: string) => void,
): Promise<SeedsResult> {
  const finished = seeds.filter(({ state }) => state === "finished").flatMap(({ data }) => data ?? []);
  const failed = seeds.flatMap(({ state, seed, error = "", folder: run }) =>
    state === "failed" ? [{ seed, error, run }] : [],
  );
  const unfinished = seeds.filter(({ state }) => state === "interrupted" || state === "waiting");
  const summaries = finished.flatMap(({ summary }) => summary ?? []);
  const comparison = finished.length === 0 ? undefined : compareRuns(finished);
  const notes = failed.map(({ seed, error }) => `seed ${seed} failed: ${error}`);
  const report = comparison && { ...comparison, notes: [...notes, ...comparison.notes] };
  if (report) await writeComparison(report, folder, say);
  const result: SeedsResult = {
    ...names,
    seeds: summaries,
    aggregate: aggregateOf(summaries, comparison?.environments[0]?.groups[0]?.final ?? null),
    failed,
    unfinished: unfinished.map(({ seed, folder: run }) => ({ seed, run })),
    folder,
    report: report ? join(folder, "comparison.html") : null,
  };
  writeOut(join(folder, "aggregate.json"), asJson(result));
  return result;
}

/** `final` is what comparisons say of the same runs: one number, one way to compute it. */
function aggregateOf(
  summaries: readonly RunSummary[],
  final: { readonly value: number; readonly ci: Interval | null } | null,
): SeedsAggregate | null {
  const returns = summaries.flatMap(({ evaluation }) => (evaluation ? [evaluation.mean] : []));
  if (returns.length === 0 || final === null) return null;
  return {
    runs: returns.length,
    iqm: final.value,
    ci: final.ci,
    mean: mean(returns),
    std: std(returns),
    min: Math.min(...returns),
    max: Math.max(...returns),
    steps_per_s: mean(summaries.map((summary) => summary.steps_per_s)),
  };
}

/** What people want to know at the end. */
function lastWords({ seeds, aggregate, failed, unfinished, report }: SeedsResult): string {
  const rows = seeds.map(({ seed, evaluation, steps, steps_per_s, run }) => [
    String(seed),
    evaluation ? `${formatValue(evaluation.mean)} ± ${formatValue(evaluation.std)}` : "-",
    formatCount(steps),
    formatCount(steps_per_s),
    basename(run ?? ""),
  ]);
  const table = rows.length > 0 ? columns([["seed", "evaluation", "steps", "steps/s", "run"], ...rows], [0, 2, 3]) : [];
  const lines: [string, string][] = [];
  if (aggregate) {
    const { iqm, ci, mean: average, std: deviation, runs } = aggregate;
    const interval = ci ? ` [${ci.map(formatValue).join(", ")}]` : "";
    const spread = `mean ${formatValue(average)} ± ${formatValue(deviation)}`;
    lines.push(["evaluation", `IQM ${formatValue(iqm)}${interval}, ${spread}, ${runs} seeds`]);
  }
  if (report !== null) lines.push(["report", report]);
  for (const { seed, error } of failed) lines.push(["failed", `seed ${seed}: ${error}`]);
  for (const { run, seed } of unfinished) lines.push(["unfinished", `seed ${seed}: lockstep resume ${run}`]);
  return `\n${[...table, "", ...lines.map(([name, text]) => `${name.padEnd(12)}${text}`)].join("\n")}\n`;
}

function viewFor(seeds: readonly SeedRun[], { json = false, quiet }: SeedsOptions): { view: SeedView; lookMs: number } {
  const stream = streamFor({ json });
  if (quiet) return { view: quietView((text) => void process.stderr.write(text)), lookMs: LOOK_MS.lines };
  if (stream.isTTY) return { view: terminalView(seeds, stream, styleFor(stream)), lookMs: LOOK_MS.terminal };
  return { view: lineView(seeds, (text) => void stream.write(text)), lookMs: LOOK_MS.lines };
}

function exitCode(seeds: readonly SeedRun[]): number {
  if (seeds.some(({ code }) => code === 2)) return 2;
  return seeds.every(({ state }) => state === "finished") ? 0 : 1;
}

/** The command line that a seed is started with, but for its arguments: this program. */
const ownProgram = (): string[] => [process.execPath, fileURLToPath(new URL("./main.js", import.meta.url))];

/** Trains with several seeds; what the process should end with. */
export async function runSeeds(
  algo: string | undefined,
  env: string | undefined,
  options: SeedsOptions,
  program: readonly string[] = ownProgram(),
): Promise<number> {
  const { seeds: count = 1, threads = 1, save = true } = options;
  const { jobs = Math.max(1, Math.floor(coreCount() / threads)) } = options;
  if (!save) throw new UsageError("--seeds needs run folders to sum up; leave --no-save out");
  const isNamed = algo !== undefined && env !== undefined;
  const names = namesOf(algo, env, isNamed ? undefined : await configFile(options.config));
  const numbers = seedsOf(count, options.seed);
  const folder = folderFor(options, { ...names, seed: numbers[0] as number }, count);
  makeFolder(folder);
  const common = [...program, ...commonArguments(names.algo, names.env, options)];
  const runs = numbers.map((seed) => {
    const name = `seed-${seed}`;
    const own = [`--seed=${seed}`, `--out=${folder}`, `--name=${name}`, "--json", "--quiet"];
    return new SeedRun({ command: [...common, ...own], seed, folder: join(folder, name) });
  });
  const { view, lookMs } = viewFor(runs, options);
  await new Crowd(runs, view).run(Math.min(jobs, count), lookMs);
  const say = options.quiet ? () => {} : toStderr;
  const result = await conclude(names, runs, folder, say);
  if (options.json) process.stdout.write(asJson(result));
  else if (!options.quiet) process.stdout.write(lastWords(result));
  return exitCode(runs);
}
