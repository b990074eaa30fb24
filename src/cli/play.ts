/**
 * @file `lockstep play`: an environment in the terminal, with random or scripted actions or from the keyboard.
 */
import { writeFileSync } from "node:fs";
import { type Command, InvalidArgumentError } from "commander";
import { actionSize, type Environment } from "../envs/define.ts";
import { toSvg } from "../envs/draw/svg.ts";
import { describeSpace } from "../envs/spaces.ts";
import { isActionNumber } from "../envs/vector/spaces.ts";
import { UsageError } from "../platform/errors.ts";
import { type EnvironmentOptions, loadEnvironment } from "./environment.ts";
import { keysFor } from "./keys.ts";
import { whole } from "./options.ts";
import { Game, type PlayOptions, playInTerminal, playPlain } from "./player.ts";
import { ownTerminal } from "./terminal.ts";

interface CommandOptions extends EnvironmentOptions {
  readonly actions?: readonly number[];
  readonly seed: number;
  readonly steps?: number;
  readonly fps?: number;
  readonly svg?: string;
  readonly keys?: boolean;
}

const DEFAULT_STEPS = 200;
const DEFAULT_FPS = 20;

function numbers(text: string): readonly number[] {
  const values = text.split(",").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  if (values.some(Number.isNaN)) throw new InvalidArgumentError("It must be numbers with commas between them.");
  return values;
}

/** Rows of actions out of a list of numbers. */
function actionRows(env: Environment, values: readonly number[]): number[][] {
  const size = actionSize(env.action);
  if (values.length % size !== 0)
    throw new UsageError(
      `--actions: ${values.length} numbers are not rows of ${size}, which an action of ${env.id} has`,
    );
  const wrong = values.findIndex((x, k) => !isActionNumber(env.action, x, k % size));
  if (wrong >= 0)
    throw new UsageError(
      `--actions: ${values[wrong]} is not in ${describeSpace(env.action)}, the actions of ${env.id}`,
    );
  return Array.from({ length: values.length / size }, (_, k) => values.slice(k * size, (k + 1) * size));
}

/** Writes a picture of how things stand. */
function writeSvg(game: Game, file: string): void {
  const drawing = game.drawing();
  if (drawing === undefined) throw new UsageError(`${game.env.id} has no drawing; give its definition a draw function`);
  try {
    writeFileSync(file, toSvg(drawing));
  } catch (error) {
    throw new UsageError(`${file} cannot be written: ${(error as Error).message}`);
  }
  process.stderr.write(`wrote ${file}\n`);
}

async function play(what: string, options: CommandOptions): Promise<void> {
  const env = await loadEnvironment(what, options);
  const isTerminal = process.stdout.isTTY === true;
  if (options.keys && !(isTerminal && process.stdin.isTTY))
    throw new UsageError("--keys needs a terminal to read keys from");
  const actions = actionRows(env, options.actions ?? []);
  const steps = options.steps ?? (options.keys ? Number.POSITIVE_INFINITY : Math.max(actions.length, DEFAULT_STEPS));
  const keys = options.keys ? { keys: keysFor(env.id, env.action) } : {};
  const pace = options.keys && options.fps === undefined ? "keys" : "clock";
  const how: PlayOptions = { steps, fps: options.fps ?? DEFAULT_FPS, actions, pace, ...keys };
  const game = new Game(env, options.seed);
  try {
    if (isTerminal) await playInTerminal(game, how, ownTerminal());
    else playPlain(game, how, (text) => process.stdout.write(text));
    if (options.svg !== undefined) writeSvg(game, options.svg);
  } finally {
    game.dispose();
  }
}

export function addPlay(program: Command): void {
  program
    .command("play")
    .description("show an environment in the terminal")
    .argument("<env>", "an id, or a file that exports an environment")
    .option("--actions <numbers>", "actions to begin with, such as 0,1,1; then random ones", numbers)
    .option("--keys", "play with the keyboard: every key is a step, or --fps sets the pace")
    .option("--seed <n>", "the seed", whole(0, Number.MAX_SAFE_INTEGER), 0)
    .option("--steps <n>", `how many steps (${DEFAULT_STEPS}; into a pipe, one episode)`, whole(0, 1e9))
    .option("--fps <n>", `steps per second in a terminal (${DEFAULT_FPS})`, whole(1, 1000))
    .option("--svg <file>", "write a picture of the last state")
    .option("--export <name>", "which of several environments of a file")
    .option("--data <folder>", "the folder with the MNIST files, for MNISTBandit-bsuite")
    .action(play);
}
