/**
 * @file A game that is played in a terminal or into a pipe: one environment, where its actions come from, and its frames.
 *
 * Nothing here knows of the process: streams and the clock are handed in, so that tests play too.
 */
import type { Environment } from "../envs/define.ts";
import { drawEnvironment } from "../envs/draw/frame.ts";
import type { Drawing } from "../envs/draw/shapes.ts";
import { toTerminal } from "../envs/draw/terminal.ts";
import { sample } from "../envs/spaces.ts";
import { VecEnv } from "../envs/vector/vecEnv.ts";
import { HostStream } from "../random/index.ts";

/** Numbers of an action as they are shown. */
const shown = (numbers: readonly number[]): string => numbers.map((x) => Number(x.toPrecision(4))).join(",");

/** One environment that is stepped and drawn; an episode that has ended stays in view until the next step. */
export class Game {
  readonly env: Environment;
  readonly #vec: VecEnv;
  readonly #stream: HostStream;
  #line = "";
  #over = false;
  #total = 0;
  episodes = 0;
  steps = 0;

  constructor(env: Environment, seed: number) {
    this.env = env;
    // JavaScript starts at once; one environment needs no more.
    this.#vec = new VecEnv(env, 1, { seed, target: "js", autoreset: "disabled" });
    this.#stream = new HostStream(seed, 0x70_6c_61_79);
    this.#vec.reset();
    this.#line = `${env.id}  episode 0  step 0`;
  }

  get over(): boolean {
    return this.#over;
  }
  get observation(): ArrayLike<number> {
    return this.#vec.out.obs;
  }
  randomAction(): readonly number[] {
    const action = sample(this.env.action, this.#stream);
    return typeof action === "number" ? [action] : Array.from(action);
  }

  /** Takes an action; after an end it begins the next episode instead. */
  step(action: readonly number[]): void {
    const vec = this.#vec;
    if (this.#over) {
      vec.reset([1]);
      this.#over = false;
      this.#total = 0;
      this.#line = `${this.env.id}  episode ${vec.episodes[0]}  step 0`;
      return;
    }
    const { reward, terminated, truncated } = vec.step(action);
    this.steps++;
    this.#total += reward[0] as number;
    this.#over = Boolean(terminated[0] || truncated[0]);
    if (this.#over) this.episodes++;
    const end = terminated[0] ? "  terminated" : truncated[0] ? "  truncated" : "";
    this.#line = [
      this.env.id,
      `episode ${vec.episodes[0]}`,
      `step ${vec.steps[0]}`,
      `action ${shown(action)}`,
      `reward ${shown([reward[0] as number])}`,
      `return ${shown([this.#total])}${end}`,
    ].join("  ");
  }

  get line(): string {
    return this.#line;
  }
  drawing(): Drawing | undefined {
    return drawEnvironment(this.#vec);
  }
  /** The picture, or the state in words where there is none. */
  picture(width: number, height: number, colour: boolean): string {
    const drawing = this.drawing();
    if (drawing) return toTerminal(drawing, { width, height, colour });
    const fields = Object.entries(this.#vec.getState(0).state);
    return fields.map(([name, value]) => `${name}  ${JSON.stringify(value)}`.slice(0, width)).join("\n");
  }
  dispose(): void {
    this.#vec.dispose();
  }
}

/** What of a terminal is used. */
export interface Terminal {
  write(text: string): void;
  readonly columns: number;
  readonly rows: number;
  readonly colour: boolean;
  /** Calls `handle` with every key until it is told to stop; gives that. */
  onKey(handle: (key: string) => void): () => void;
}

export interface PlayOptions {
  readonly steps: number;
  readonly fps: number;
  /** Actions one after the other; then those that are chosen, or random ones. */
  readonly actions: readonly (readonly number[])[];
  /** What to do about how things stand: a policy. */
  readonly choose?: (observation: ArrayLike<number>) => readonly number[];
  /** Actions come from the keyboard; with no frames per second, every key is a step. */
  readonly keys?: { action(key: string): readonly number[] | undefined; readonly help: string };
  readonly pace: "keys" | "clock";
}

const nextAction = (game: Game, { actions, choose }: PlayOptions): readonly number[] =>
  actions[game.steps] ?? choose?.(game.observation) ?? game.randomAction();

/** Frames one after the other, without any control sequences. */
export function playPlain(game: Game, options: PlayOptions, write: (text: string) => void): void {
  const frame = (): void => write(`${game.line}\n${game.picture(72, 24, false)}\n\n`);
  frame();
  while (game.steps < options.steps) {
    game.step(nextAction(game, options));
    frame();
    if (game.over && options.actions.length <= game.steps) return;
  }
}

const ENTER = "\u001b[?1049h\u001b[?25l";
const LEAVE = "\u001b[?25h\u001b[?1049l";

/** Plays on a whole terminal; it is given back as it was, however this ends. */
export async function playInTerminal(game: Game, options: PlayOptions, terminal: Terminal): Promise<void> {
  const { keys } = options;
  const help = `${keys ? `${keys.help}  ` : ""}q quit`;
  const draw = (): void => {
    const picture = game.picture(Math.min(terminal.columns, 100), Math.max(terminal.rows - 4, 4), terminal.colour);
    const note = game.over ? "any key or step begins the next episode" : help;
    const lines = [game.line, "", ...picture.split("\n"), "", note].map((line, k) =>
      k < 1 || line === note ? line.slice(0, terminal.columns) : line,
    );
    terminal.write(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join("\n")}\u001b[J`);
  };
  terminal.write(ENTER);
  try {
    draw();
    await new Promise<void>((done, failed) => loop(game, options, terminal, draw, done, failed));
  } finally {
    terminal.write(LEAVE);
    terminal.write(`${game.line}\n`);
  }
}

/** Runs until the steps are done or somebody quits; keys and the clock both move the game. */
function loop(
  game: Game,
  options: PlayOptions,
  terminal: Terminal,
  draw: () => void,
  done: () => void,
  failed: (error: unknown) => void,
): void {
  const { keys, pace, steps } = options;
  let waiting: readonly number[] | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  const stop = (): void => {
    clearInterval(timer);
    release();
    done();
  };
  const advance = (action: readonly number[]): void => {
    try {
      game.step(action);
      draw();
    } catch (error) {
      clearInterval(timer);
      release();
      failed(error);
      return;
    }
    if (game.steps >= steps) stop();
  };
  const release = terminal.onKey((key) => {
    if (key === "q" || key === "\u0003") return stop();
    const action = keys?.action(key);
    if (pace === "keys") {
      if (action !== undefined || game.over) advance(action ?? []);
    } else waiting = action ?? waiting;
  });
  if (pace === "keys") return;
  const idle = keys?.action(".");
  timer = setInterval(() => {
    advance(keys ? (waiting ?? idle ?? game.randomAction()) : nextAction(game, options));
    waiting = undefined;
  }, 1000 / options.fps);
}
