/**
 * @file `lockstep train`: an algorithm on an environment, into a run folder.
 */
import type { Command } from "commander";
import { rewardThreshold } from "../train/callbacks.ts";
import { diagnostics } from "../train/diagnostics.ts";
import { Trainer } from "../train/trainer.ts";
import { number, whole } from "./options.ts";
import { runToEnd, streamFor } from "./running.ts";
import { type TrainCommandOptions, trainOptions, withOutput, withSettings } from "./settings.ts";

async function train(algo: string | undefined, env: string | undefined, options: TrainCommandOptions): Promise<void> {
  const { made, told } = await trainOptions(algo, env, options);
  if (!options.quiet && told.length > 0) streamFor(options).write(`${told.join("\n")}\n\n`);
  const callbacks = [diagnostics(), ...(options.stopAt === undefined ? [] : [rewardThreshold(options.stopAt)])];
  const trainer = await runToEnd((participants) => Trainer.create({ ...made, ...participants, callbacks }), options);
  trainer.dispose();
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
