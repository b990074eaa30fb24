/**
 * @file What a run is to be: options of a new one, or a folder that is to go on, brought to one form.
 */

import type { Spaces } from "../algorithms/actorCritic.ts";
import { algorithmKind } from "../algorithms/registry.ts";
import { EnvironmentError, needCount } from "../envs/define.ts";
import { environment } from "../envs/registry.ts";
import { UsageError } from "../platform/errors.ts";
import { disk, type FileStore } from "../platform/files.ts";
import type { Callback } from "./callbacks.ts";
import { resolveConfig } from "./config/resolve.ts";
import type { RunConfig } from "./config/run.ts";
import type { TunedTable } from "./config/tuned.ts";
import { diagnostics } from "./diagnostics.ts";
import { type ResolvedEnvironment, resolveEnvironment, type TrainingEnvironment } from "./environments.ts";
import type { Logger } from "./records.ts";
import { RUN_FORMAT, type RunDocument } from "./runDocument.ts";
import { RunFolder } from "./runFolder.ts";

/** What takes part in a run, whether new or resumed. */
export interface Participants {
  /** `diagnostics()` unless given. */
  readonly callbacks?: readonly Callback[];
  /** Besides those that write the run folder. */
  readonly loggers?: readonly Logger[];
  /** Ends the run after the iteration that is under way, with a checkpoint. */
  readonly signal?: AbortSignal;
  /** Whether report.html is written at the end; it is unless given. */
  readonly report?: boolean;
  /** Where files are written; the machine's own unless given. */
  readonly files?: FileStore;
}

/** Keys of a run as configurations have them; those without an answer here have one there. */
type RunKeys = Partial<Omit<RunConfig, "algo" | "env">>;

export interface TrainOptions extends RunKeys, Participants {
  readonly algo: string;
  readonly env: TrainingEnvironment;
  /** What the environment is called where its own id does not say it: the path of its file. */
  readonly envName?: string;
  /** The hash of the environment's file. */
  readonly envHash?: string;
  readonly hyperparameters?: { readonly [key: string]: unknown };
  /** Tuned values to begin with; ours unless given, none with `false`. */
  readonly tuned?: TunedTable | false;
  /** The run folder itself, in place of `out` and `name`. Without any of them nothing is written. */
  readonly folder?: string;
  /** Of every so many steps one checkpoint is kept for good; 0, which is none, unless given. */
  readonly keepEvery?: number;
  /** Whether each phase of an iteration is a program of its own, and measured. */
  readonly split?: boolean;
  /** What tells this kind of run from others, for reports. */
  readonly label?: string;
}

export interface ResumeOptions extends Participants {
  /** The environment, where config.json does not name one of ours. */
  readonly env?: TrainingEnvironment;
  readonly envHash?: string;
  /** Steps of the whole run, where it is to be longer than planned: schedules follow the new number. */
  readonly steps?: number;
  readonly target?: RunConfig["target"];
  readonly threads?: number | null;
  /** The steps of the checkpoint to go on from; the newest that can be used unless given. Later ones are removed. */
  readonly checkpoint?: number;
}

export interface RunPlan {
  readonly document: Omit<RunDocument, "spaces"> & { readonly spaces?: Spaces };
  readonly environment: ResolvedEnvironment;
  /** Makes or locks the run folder, where there is one: after everything else could be had. */
  openFolder(): RunFolder | undefined;
  readonly callbacks: readonly Callback[];
  readonly loggers: readonly Logger[];
  readonly signal: AbortSignal | undefined;
  readonly report: boolean;
  /** What is to be told at the start. */
  readonly notes: readonly string[];
  /** For a run that goes on: from which checkpoint, if one was asked for, and the steps of the newest one, if any. */
  readonly resume: { readonly checkpoint: number | undefined; readonly newest: number | undefined } | undefined;
}

function envNameOf({ env, envName }: TrainOptions): string {
  if (envName !== undefined) return envName;
  if (typeof env === "string") return env;
  return typeof env === "function" ? "custom" : (env.id ?? "game");
}

/** A new run: everything is checked before its folder is made. */
export function planNew(options: TrainOptions): RunPlan {
  const { algo, env, hyperparameters = {}, tuned, folder, label, envHash, files = disk, evalEpisodes } = options;
  const { preset, steps, seed, target, threads, numerics, evalEvery, checkpointEvery, keepCheckpoints, out, name } =
    options;
  const kind = algorithmKind(algo);
  const resolvedEnvironment = resolveEnvironment(env);
  const runKeys = { preset, steps, seed, target, threads, numerics, evalEvery, checkpointEvery, keepCheckpoints };
  const resolved = resolveConfig({
    schema: kind.schema,
    presets: kind.presets,
    algo,
    env: envNameOf(options),
    ...(tuned === undefined ? {} : { tuned }),
    // No evaluation at all is a matter of programs, not of configurations.
    given: { ...hyperparameters, ...runKeys, evalEpisodes: evalEpisodes || undefined, out, name },
  });
  const { out: _, name: __, ...run } = resolved.run;
  const document = {
    format: RUN_FORMAT,
    ...run,
    ...(evalEpisodes === 0 ? { evalEpisodes } : {}),
    keepEvery: needCount("keepEvery", options.keepEvery ?? 0, 0),
    split: options.split ?? false,
    ...(label === undefined ? {} : { label }),
    ...(envHash === undefined ? {} : { env_sha256: envHash }),
    hyperparameters: resolved.hyperparameters,
  } as const;
  const isWanted = folder !== undefined || out !== undefined || typeof name === "string";
  const path = folder ?? (typeof name === "string" ? `${resolved.run.out}/${name}` : undefined);
  const openFolder = (): RunFolder | undefined => {
    if (!isWanted) return undefined;
    return path === undefined ? RunFolder.makeIn(resolved.run.out, document, files) : RunFolder.make(path, files);
  };
  return {
    ...participants(options),
    document,
    environment: resolvedEnvironment,
    openFolder,
    notes: resolved.notes,
    resume: undefined,
  };
}

/** The environment that a configuration names, which has to be one of ours: others are to be handed over. */
function ownEnvironment(name: string): TrainingEnvironment {
  try {
    return environment(name);
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    throw new UsageError(`the run was made in "${name}", which has to be handed over to go on: give it as env`);
  }
}

/** A run that goes on in its folder. */
export function planResumed(path: string, options: ResumeOptions): RunPlan {
  const folder = RunFolder.open(path, options.files ?? disk);
  const found = folder.readConfig();
  const { steps = found.steps, target = found.target, threads = found.threads, env, envHash } = options;
  const resolvedEnvironment = resolveEnvironment(env ?? ownEnvironment(found.env));
  const notes: string[] = [];
  if (!Number.isSafeInteger(steps) || steps < 1)
    throw new UsageError(`steps is ${steps}; it must be a whole number from 1 on`);
  if (envHash !== undefined && found.env_sha256 !== undefined && envHash !== found.env_sha256)
    notes.push(
      `the file of the environment ${found.env} has changed since the run began; the run goes on with it as it is`,
    );
  if (steps !== found.steps) notes.push(`the run is ${steps} steps long now, not ${found.steps}; schedules follow`);
  return {
    ...participants(options),
    document: { ...found, steps, target, threads },
    environment: resolvedEnvironment,
    openFolder: () => folder.lock(),
    notes,
    resume: { checkpoint: options.checkpoint, newest: folder.checkpoints.list().at(-1) },
  };
}

function participants({ callbacks = [diagnostics()], loggers = [], signal, report = true }: Participants) {
  return { callbacks, loggers, signal, report };
}
