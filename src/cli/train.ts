/**
 * @file `lockstep train`: an algorithm on an environment, into a run folder.
 */
import { readFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { algorithmKind } from "../algorithms/registry.ts";
import { UsageError } from "../platform/errors.ts";
import { sha256 } from "../platform/sha256.ts";
import { rewardThreshold } from "../train/callbacks.ts";
import { describeConfig } from "../train/config/describe.ts";
import { resolveConfig } from "../train/config/resolve.ts";
import type { ConfigFile } from "../train/config/sections.ts";
import { diagnostics } from "../train/diagnostics.ts";
import type { TrainOptions } from "../train/plan.ts";
import { Trainer } from "../train/trainer.ts";
import { type EnvironmentOptions, isFile, loadTrainingEnvironment } from "./environment.ts";
import { number, several, whole } from "./options.ts";
import { type OutputOptions, runToEnd } from "./running.ts";

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
  const all = {
    steps,
    nEnvs,
    seed,
    target,
    threads,
    numerics,
    preset,
    out,
    name,
    evalEvery,
    evalEpisodes,
    checkpointEvery,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** The algorithm or environment of the command, or else of its file. */
function chosen(what: "algo" | "env", given: string | undefined, file: ConfigFile | undefined): string {
  const found = given ?? file?.[what];
  if (found !== undefined) return found;
  throw new UsageError(`say which ${what === "algo" ? "algorithm" : "environment"}: lockstep train <algo> <env>`);
}

/** The hash of an environment's file, where it is one. */
export function fileHash(env: string): { readonly envHash?: string } {
  return isFile(env) ? { envHash: sha256(readFileSync(env)) } : {};
}

/** A configuration file; what reads them is loaded only when there is one. */
async function configFile(path: string): Promise<ConfigFile> {
  const { readConfigFile } = await import("../train/config/file.ts");
  return readConfigFile(path);
}

/** What a run is made with, out of everything that was said. */
export async function trainOptions(
  algo: string | undefined,
  env: string | undefined,
  options: TrainCommandOptions,
): Promise<{ readonly made: TrainOptions; readonly told: readonly string[] }> {
  const file = options.config === undefined ? undefined : await configFile(options.config);
  const names = { algo: chosen("algo", algo, file), env: chosen("env", env, file) };
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

async function train(algo: string | undefined, env: string | undefined, options: TrainCommandOptions): Promise<void> {
  const { made, told } = await trainOptions(algo, env, options);
  const stream = options.json ? process.stderr : process.stdout;
  if (!options.quiet && told.length > 0) stream.write(`${told.join("\n")}\n\n`);
  const callbacks = [diagnostics(), ...(options.stopAt === undefined ? [] : [rewardThreshold(options.stopAt)])];
  const trainer = await runToEnd((participants) => Trainer.create({ ...made, ...participants, callbacks }), options);
  trainer.dispose();
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

export function addTrain(program: Command, exit: (code: number) => void): void {
  const command = program
    .command("train")
    .description("train an algorithm on an environment")
    .argument("[algo]", "ppo, a2c: see lockstep algos")
    .argument("[env]", "an id (see lockstep envs), or a file that exports an environment")
    .option("--steps <n>", "environment steps of the whole run", whole(1, Number.MAX_SAFE_INTEGER))
    .option("--envs <n>", "environments side by side", whole(1, 1_000_000))
    .option("--seed <n>", "what all random numbers follow from", whole(0, 0xffff_ffff))
    .option("--seeds <n>", "so many runs with different seeds, and one report of all", whole(1, 1000))
    .option("--jobs <n>", "runs of --seeds at the same time (one per core)", whole(1, 256));
  withSettings(command)
    .option("--out <folder>", "where run folders are made (runs)")
    .option("--name <name>", "the name of the run folder")
    .option("--no-save", "write nothing")
    .option("--eval-every <steps>", "steps between evaluations; 0 for the one at the end only", whole(0, 1e12))
    .option("--eval-episodes <n>", "episodes of an evaluation", whole(1, 100_000))
    .option("--checkpoint-every <steps>", "steps between checkpoints", whole(0, 1e12))
    .option("--stop-at <return>", "end the run when an evaluation reaches this mean return", number)
    .option("--timing", "measure the phases of iterations, each a call of its own");
  withOutput(command).action(
    async (algo: string | undefined, env: string | undefined, options: TrainCommandOptions) => {
      if (options.seeds === undefined) return train(algo, env, options);
      const { runSeeds } = await import("./seeds.ts");
      exit(await runSeeds(algo, env, options));
    },
  );
}
