/**
 * @file What a run is made with, out of everything that a command was told: options, configuration files, environments.
 */
import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { algorithmKind } from "../algorithms/registry.ts";
import { UsageError } from "../platform/errors.ts";
import { sha256 } from "../platform/sha256.ts";
import { describeConfig } from "../train/config/describe.ts";
import { resolveConfig } from "../train/config/resolve.ts";
import type { ConfigFile } from "../train/config/sections.ts";
import type { TrainOptions } from "../train/plan.ts";
import { type EnvironmentOptions, isFile, loadTrainingEnvironment } from "./environment.ts";
import { several, whole } from "./options.ts";
import type { OutputOptions } from "./running.ts";

export interface TrainCommandOptions extends OutputOptions, EnvironmentOptions {
  readonly steps?: number;
  readonly envs?: number;
  readonly seed?: number;
  readonly seeds?: number;
  readonly jobs?: number;
  readonly target?: string;
  readonly threads?: number;
  readonly numerics?: string;
  readonly preset?: string;
  readonly set?: readonly string[];
  readonly config?: string;
  readonly out?: string;
  readonly name?: string;
  readonly save: boolean;
  readonly tuned: boolean;
  readonly evalEvery?: number;
  readonly evalEpisodes?: number;
  readonly checkpointEvery?: number;
  readonly stopAt?: number;
  readonly timing?: boolean;
}

/** What was given by name, under the names that configurations have. */
function givenKeys(options: TrainCommandOptions): { readonly [key: string]: unknown } {
  const { steps, envs: nEnvs, seed, target, threads, numerics, preset, out, name } = options;
  const { evalEvery, evalEpisodes, checkpointEvery } = options;
  const run = { steps, seed, target, threads, numerics, preset, out, name };
  return { ...run, nEnvs, evalEvery, evalEpisodes, checkpointEvery };
}

/** The algorithm and environment of the command, or else of its file. */
export function namesOf(
  algo: string | undefined,
  env: string | undefined,
  file: ConfigFile | undefined,
): { readonly algo: string; readonly env: string } {
  const names = { algo: algo ?? file?.algo, env: env ?? file?.env };
  if (names.algo !== undefined && names.env !== undefined) return { algo: names.algo, env: names.env };
  const missing = names.algo === undefined ? "algorithm" : "environment";
  throw new UsageError(`say which ${missing}: lockstep train <algo> <env>`);
}

/** The hash of an environment's file, where it is one. */
export function fileHash(env: string): { readonly envHash?: string } {
  return isFile(env) ? { envHash: sha256(readFileSync(env)) } : {};
}

/** A configuration file; what reads them is loaded only when there is one. */
export async function configFile(path: string | undefined): Promise<ConfigFile | undefined> {
  if (path === undefined) return undefined;
  const { readConfigFile } = await import("../train/config/file.ts");
  return readConfigFile(path);
}

/** What a run is made with, out of everything that was said. */
export async function trainOptions(
  algo: string | undefined,
  env: string | undefined,
  options: TrainCommandOptions,
): Promise<{ readonly made: TrainOptions; readonly told: readonly string[] }> {
  const file = await configFile(options.config);
  const names = namesOf(algo, env, file);
  const { schema, presets } = algorithmKind(names.algo);
  const resolved = resolveConfig({
    ...names,
    schema,
    presets,
    given: givenKeys(options),
    ...(options.tuned ? {} : { tuned: false as const }),
    ...(file ? { file } : {}),
    ...(options.set ? { sets: options.set } : {}),
  });
  const { out, name, algo: _, env: __, ...run } = resolved.run;
  const made: TrainOptions = {
    ...run,
    algo: names.algo,
    env: await loadTrainingEnvironment(names.env, options),
    envName: names.env,
    ...fileHash(names.env),
    hyperparameters: resolved.hyperparameters,
    tuned: false,
    ...(options.save ? { out, ...(name === null ? {} : { name }) } : {}),
    ...(options.timing ? { split: true } : {}),
  };
  return { made, told: describeConfig(resolved) };
}

/** The options that say how a run is shown. */
export function withOutput(command: Command): Command {
  return command
    .option("--json", "one JSON document on stdout, everything else on stderr")
    .option("--quiet", "say nothing but errors")
    .option("--csv", "write progress.csv into the run folder, too")
    .option("--wandb <project>", "send to Weights & Biases, with WANDB_API_KEY and WANDB_ENTITY")
    .addOption(new Option("--log-style <style>", "names of scalars there").choices(["sb3", "cleanrl"]));
}
/** The options that say where programs run. */
export function withTarget(command: Command): Command {
  return command
    .addOption(
      new Option("--target <target>", "what programs are compiled to (auto)").choices(["auto", "js", "wasm", "native"]),
    )
    .option("--threads <n>", "threads (one per core)", whole(1, 256));
}

/** The options that say what a run is made with. */
export function withSettings(command: Command): Command {
  return withTarget(command)
    .addOption(new Option("--numerics <how>", "how products round (auto)").choices(["auto", "fused", "unfused"]))
    .option("--preset <name>", "whose conventions and defaults to begin with: see lockstep algos")
    .option("--set <key=value>", "a hyperparameter; may be given several times", several)
    .option("--config <file>", "a YAML or JSON file, also one of rl-zoo3")
    .option("--no-tuned", "begin with the algorithm's defaults even where there are tuned values")
    .option("--export <name>", "which of several environments of a file")
    .option("--data <folder>", "the folder with the MNIST files, for MNISTBandit-bsuite");
}
