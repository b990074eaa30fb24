/**
 * @file `lockstep eval`: whole episodes of a trained policy, summed up.
 */
import type { Command } from "commander";
import { formatValue } from "../charts/index.ts";
import { evaluate } from "../train/evaluation.ts";
import type { EvaluationResult } from "../train/records.ts";
import { RunFolder } from "../train/runFolder.ts";
import { type LoadPolicyOptions, loadPolicy } from "../train/savedPolicy.ts";
import { loadTrainingEnvironment } from "./environment.ts";
import { checkpoint, whole } from "./options.ts";
import { asJson } from "./output.ts";

interface EvaluateCommandOptions {
  readonly episodes: number;
  readonly seed?: number;
  readonly stochastic?: boolean;
  readonly checkpoint: NonNullable<LoadPolicyOptions["checkpoint"]>;
  readonly env?: string;
  readonly export?: string;
  readonly data?: string;
  readonly json?: boolean;
}

function inWords({ mean, std, min, max, iqm, ci, episodes, mean_length }: EvaluationResult): string {
  const rows: [string, string][] = [
    ["return", `${formatValue(mean)} ± ${formatValue(std)}, from ${formatValue(min)} to ${formatValue(max)}`],
    ["IQM", `${formatValue(iqm)}, 95 % interval ${formatValue(ci[0])} to ${formatValue(ci[1])}`],
    ["length", formatValue(mean_length)],
    ["episodes", String(episodes)],
  ];
  return `${rows.map(([name, text]) => `${name.padEnd(10)}${text}`).join("\n")}\n`;
}

async function run(folder: string, options: EvaluateCommandOptions): Promise<void> {
  const document = RunFolder.open(folder).readConfig();
  const env = await loadTrainingEnvironment(options.env ?? document.env, options);
  const seed = options.seed ?? document.seed;
  const policy = loadPolicy(folder, { checkpoint: options.checkpoint, seed });
  const { episodes } = options;
  const result = evaluate(policy, env, { episodes, seed, deterministic: options.stochastic !== true });
  process.stdout.write(options.json ? asJson(result) : inWords(result));
}

export function addEvaluate(program: Command): void {
  program
    .command("eval")
    .description("play whole episodes with a trained policy and sum them up")
    .argument("<run>", "the run folder")
    .option("--episodes <n>", "how many", whole(1, 1_000_000), 30)
    .option("--seed <n>", "the seed of the episodes (the run's own)", whole(0, 0xffff_ffff))
    .option("--stochastic", "draw actions instead of taking the most likely ones")
    .option("--checkpoint <which>", '"last", "best", or the steps of one', checkpoint, "last")
    .option("--env <env>", "another environment with the same spaces")
    .option("--export <name>", "which of several environments of a file")
    .option("--data <folder>", "the folder with the MNIST files, for MNISTBandit-bsuite")
    .option("--json", "one JSON document on stdout")
    .action(run);
}
