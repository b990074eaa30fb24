/**
 * @file `lockstep resume`: goes on with a run from its last checkpoint, as if it had not been interrupted.
 */
import type { Command } from "commander";
import type { RunConfig } from "../train/config/run.ts";
import { RunFolder } from "../train/runFolder.ts";
import { Trainer } from "../train/trainer.ts";
import { isFile, loadTrainingEnvironment } from "./environment.ts";
import { whole } from "./options.ts";
import { type OutputOptions, runToEnd } from "./running.ts";
import { fileHash, withOutput, withTarget } from "./settings.ts";

interface ResumeCommandOptions extends OutputOptions {
  readonly steps?: number;
  readonly target?: RunConfig["target"];
  readonly threads?: number;
  readonly export?: string;
  readonly data?: string;
}

async function resume(run: string, options: ResumeCommandOptions): Promise<void> {
  const { env } = RunFolder.open(run).readConfig();
  const { steps, target, threads } = options;
  const how = {
    ...(steps === undefined ? {} : { steps }),
    ...(target === undefined ? {} : { target }),
    ...(threads === undefined ? {} : { threads }),
    ...(isFile(env) || options.data ? { env: await loadTrainingEnvironment(env, options) } : {}),
    ...fileHash(env),
  };
  const trainer = await runToEnd((participants) => Trainer.resume(run, { ...how, ...participants }), options);
  trainer.dispose();
}

export function addResume(program: Command): void {
  const command = program
    .command("resume")
    .description("go on with a run from its last checkpoint")
    .argument("<run>", "the run folder")
    .option(
      "--steps <n>",
      "environment steps of the whole run, where it shall be longer",
      whole(1, Number.MAX_SAFE_INTEGER),
    )
    .option("--export <name>", "which of several environments of a file")
    .option("--data <folder>", "the folder with the MNIST files, for MNISTBandit-bsuite");
  withOutput(withTarget(command)).action(resume);
}
