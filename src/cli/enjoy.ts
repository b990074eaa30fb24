/**
 * @file `lockstep enjoy`: a trained policy at play in the terminal.
 */
import type { Command } from "commander";
import type { Policy } from "../train/policy.ts";
import { RunFolder } from "../train/runFolder.ts";
import { type LoadPolicyOptions, loadPolicy } from "../train/savedPolicy.ts";
import { loadEnvironment } from "./environment.ts";
import { checkpoint, whole } from "./options.ts";
import { Game, playInTerminal, playPlain } from "./player.ts";
import { ownTerminal } from "./terminal.ts";

interface EnjoyOptions {
  readonly seed: number;
  readonly steps?: number;
  readonly fps: number;
  readonly stochastic?: boolean;
  readonly checkpoint: NonNullable<LoadPolicyOptions["checkpoint"]>;
  readonly export?: string;
  readonly data?: string;
}

const DEFAULT_STEPS = 500;

/** What a policy does about one observation, as a row of numbers. */
export function choosing(
  policy: Policy,
  deterministic: boolean,
): (observation: ArrayLike<number>) => readonly number[] {
  return (observation) => {
    const action = policy.act(observation, { deterministic });
    return typeof action === "number" ? [action] : Array.from(action);
  };
}

async function enjoy(folder: string, options: EnjoyOptions): Promise<void> {
  const document = RunFolder.open(folder).readConfig();
  const env = await loadEnvironment(document.env, options);
  // JavaScript is there at once, and one observation at a time needs no more.
  const policy = loadPolicy(folder, { checkpoint: options.checkpoint, target: "js", seed: options.seed });
  const game = new Game(env, options.seed);
  const isTerminal = process.stdout.isTTY === true;
  const how = {
    steps: options.steps ?? DEFAULT_STEPS,
    fps: options.fps,
    actions: [],
    choose: choosing(policy, options.stochastic !== true),
    pace: "clock" as const,
  };
  try {
    if (isTerminal) await playInTerminal(game, how, ownTerminal());
    else playPlain(game, how, (text) => process.stdout.write(text));
  } finally {
    game.dispose();
  }
}

export function addEnjoy(program: Command): void {
  program
    .command("enjoy")
    .description("watch a trained policy in the terminal")
    .argument("<run>", "the run folder")
    .option("--seed <n>", "the seed of the episodes", whole(0, 0xffff_ffff), 0)
    .option("--steps <n>", `how many steps (${DEFAULT_STEPS}; into a pipe, one episode)`, whole(0, 1e9))
    .option("--fps <n>", "steps per second in a terminal", whole(1, 1000), 30)
    .option("--stochastic", "draw actions instead of taking the most likely ones")
    .option("--checkpoint <which>", '"last", "best", or the steps of one', checkpoint, "last")
    .option("--export <name>", "which of several environments of a file")
    .option("--data <folder>", "the folder with the MNIST files, for MNISTBandit-bsuite")
    .action(enjoy);
}
