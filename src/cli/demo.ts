/**
 * @file `lockstep demo`, which is `npm start`: trains PPO on CartPole-v1, evaluates it, shows it at play, and says what to
 * try next.
 */
import type { Command } from "commander";
import { CartPole } from "../envs/classic/cartPole.ts";
import { Trainer } from "../train/trainer.ts";
import { choosing } from "./enjoy.ts";
import { Game, playInTerminal } from "./player.ts";
import { runToEnd } from "./running.ts";
import { trainOptions } from "./settings.ts";
import { ownTerminal } from "./terminal.ts";
import { styleFor } from "./text.ts";

/** Seconds of play: enough to see that the pole stands. */
const SECONDS = 3;
const FPS = 50;
/** Where a pipe gets one picture instead. */
const PICTURE_STEP = 100;

/** What to try next: commands with what they do. */
const NEXT: readonly (readonly [command: string, what: string])[] = [
  ["npm run -s lockstep -- enjoy RUN", "watch it again"],
  ["npm run -s lockstep -- train ppo Pendulum-v1", "another environment"],
  ["npm run -s lockstep -- train ppo CartPole-v1 --seeds 5", "five seeds, one report"],
  ["npm run -s lockstep -- profile ppo CartPole-v1", "where the time goes"],
  ["npm run -s lockstep -- envs", "all environments"],
  ["npm run -s lockstep -- tour", "the compiler underneath, in two seconds"],
];

async function show(trainer: Trainer): Promise<void> {
  const choose = choosing(trainer.policy, true);
  const game = new Game(CartPole, 0);
  try {
    if (process.stdout.isTTY) {
      const how = { steps: SECONDS * FPS, fps: FPS, actions: [], choose, pace: "clock" as const };
      await playInTerminal(game, how, ownTerminal());
      return;
    }
    while (game.steps < PICTURE_STEP && !game.over) game.step(choose(game.observation));
    process.stdout.write(`\n${game.line}\n${game.picture(72, 16, false)}\n`);
  } finally {
    game.dispose();
  }
}

function next(run: string): string {
  const style = styleFor(process.stdout);
  const lines = NEXT.map(([command, what]) => {
    const text = command.replace("RUN", run);
    return `  ${text.padEnd(58)} ${style.dim(what)}`;
  });
  return `\n${style.bold("next")}\n${lines.join("\n")}\n`;
}

async function demo(): Promise<void> {
  const { made } = await trainOptions("ppo", "CartPole-v1", { save: true, tuned: true });
  const trainer = await runToEnd((participants) => Trainer.create({ ...made, ...participants }), {});
  try {
    await show(trainer);
    process.stdout.write(next(trainer.folder ?? "<run>"));
  } finally {
    trainer.dispose();
  }
}

export function addDemo(program: Command): void {
  program.command("demo").description("train PPO on CartPole-v1 and show it at play").action(demo);
}
