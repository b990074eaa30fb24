/**
 * @file What a worker thread of games runs, and the words through which it is talked to.
 *
 * The caller writes a command and counts the turn on; each thread does it for its environments, writes what went wrong,
 * if anything, and counts itself done. `gameThread` uses nothing from outside: its text is sent to the thread.
 */
import { type Failure, type GameMemory, type GameRows, gameRows, type RowOptions } from "./rows.ts";

/** Words that all threads share, and those of each. */
export const WORDS = { turn: 0, done: 1, command: 2, each: 16 } as const;
/** A thread's own words: whether it is gone, the turn it has answered, the failing environment and its message's bytes. */
export const OWN = { gone: 0, answered: 1, index: 2, bytes: 3, count: 16 } as const;
export const COMMANDS = { reset: 0, step: 1, quit: 2 } as const;
/** Bytes that a message may have. */
export const MESSAGE_BYTES = 1024;

export interface ThreadData {
  readonly words: Int32Array;
  readonly messages: Uint8Array;
  readonly worker: number;
  readonly from: number;
  readonly to: number;
  readonly memory: GameMemory;
  readonly options: RowOptions;
  /** The text of a function, or the address of a module and the name of what it exports. */
  readonly make: { readonly text: string } | { readonly module: string; readonly name: string };
  readonly places: {
    readonly words: typeof WORDS;
    readonly own: typeof OWN;
    readonly commands: typeof COMMANDS;
    readonly messageBytes: number;
  };
}
type Make = (index: number) => unknown;
type Exported = { readonly [name: string]: Make | undefined };
/** How code is had from outside; test runners and bundlers would replace what stands in a function here. */
interface Loading {
  evaluate(text: string): Make;
  module(address: string): Promise<unknown>;
}
/** The text of a `Loading`. A method's text is no expression; as a property of a record it is. */
const LOADING = `{
  evaluate: (text) => {
    try {
      return (0, eval)("(" + text + ")");
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return Object.values((0, eval)("({" + text + "})"))[0];
    }
  },
  module: (address) => import(address),
}`;

async function gameThread(data: ThreadData, rowsOf: typeof gameRows, load: Loading): Promise<void> {
  const { words, messages, worker, make, places } = data;
  const { turn, done, command, each } = places.words;
  const { own, commands, messageBytes } = places;
  const mine = each + worker * own.count;
  const answer = (failure: Failure | undefined, seen: number): void => {
    const text = new TextEncoder().encode(failure?.message ?? "").subarray(0, messageBytes);
    messages.set(text, worker * messageBytes);
    words[mine + own.bytes] = text.length;
    words[mine + own.index] = failure?.index ?? -1;
    Atomics.store(words, mine + own.answered, seen);
    Atomics.add(words, done, 1);
    Atomics.notify(words, done);
  };
  /* Those who wait must not wait for a thread that is gone. */
  if (typeof process !== "undefined" && typeof process.on === "function")
    process.on("exit", () => {
      Atomics.store(words, mine + own.gone, 1);
      Atomics.notify(words, done);
    });
  let rows: GameRows | undefined;
  let failure: Failure | undefined;
  try {
    const found = "text" in make ? load.evaluate(make.text) : ((await load.module(make.module)) as Exported)[make.name];
    if (typeof found !== "function") throw new Error("there is no function to make games with");
    rows = rowsOf(found, data.memory, data.options, data.from, data.to);
    failure = rows.create();
  } catch (error) {
    failure = { index: data.from, message: `make cannot be loaded: ${error instanceof Error ? error.message : error}` };
  }
  for (let seen = 0; ; ) {
    Atomics.wait(words, turn, seen);
    const now = Atomics.load(words, turn);
    if (now === seen) continue;
    seen = now;
    const asked = Atomics.load(words, command);
    if (asked === commands.quit) {
      answer(rows?.dispose(), seen);
      return;
    }
    answer(failure ?? (asked === commands.reset ? rows?.reset() : rows?.step()), seen);
  }
}

/** The text of a thread's function of its `ThreadData`. Transpilers that keep the names of functions call `__name`. */
export const THREAD = `(data) => {
  globalThis.__name ??= (f) => f;
  return (${gameThread})(data, ${gameRows}, ${LOADING});
}`;
