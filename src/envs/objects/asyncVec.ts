/**
 * @file Games in worker threads: each thread has a share of the environments and steps them in memory that all share.
 * The results are those of `fromObject`.
 *
 * Games come as the text of a function, which must not use anything from outside, or from a module. `step` blocks the
 * calling thread; where that is not allowed, in the main thread of a browser, `stepAsync` waits with a promise.
 */
import { i32, u8 } from "../../kernel/declare.ts";
import { allocate, free } from "../../kernel/kernel.ts";
import { coreCount } from "../../platform/cores.ts";
import type { OptionNames } from "../../platform/suggest.ts";
import { startStoppable, type Thread } from "../../platform/worker.ts";
import { type ActionSpace, EnvironmentError, needCount, type ObservationSpace } from "../define.ts";
import type { StepArrays } from "../vector/face.ts";
import { checkOptions } from "../vector/options.ts";
import { GAME_OPTIONS, GameBoard, GameVec, type GameVecOptions } from "./board.ts";
import type { Game, GameSpaces } from "./game.ts";
import type { Failure } from "./rows.ts";
import { COMMANDS, MESSAGE_BYTES, OWN, THREAD, type ThreadData, WORDS } from "./thread.ts";

/** A thread has ended, does not answer, or could not be started. The vector can only be disposed of. */
export class GameThreadError extends EnvironmentError {
  override readonly name: string = "GameThreadError";
}

/** A module that exports `make`, or another function like it. */
export interface GameModule {
  /** An absolute address: `new URL("./game.js", import.meta.url)`. */
  readonly module: URL | string;
  /** The name of the export; "make" unless given. */
  readonly name?: string;
}
export interface AsyncGameKind<O extends ObservationSpace = ObservationSpace, A extends ActionSpace = ActionSpace>
  extends GameSpaces<O, A> {
  /** A function that uses nothing from outside, or where to find one. */
  readonly make: ((index: number) => Game<O, A>) | GameModule;
}
export interface AsyncVecOptions extends GameVecOptions {
  /** Threads; as many as there are cores, but not more than environments, unless given. */
  readonly workers?: number;
  /** Milliseconds after which a thread that does not answer counts as dead; 60000 unless given. */
  readonly timeout?: number;
}

const ASYNC_OPTIONS: OptionNames<AsyncVecOptions> = { ...GAME_OPTIONS, workers: true, timeout: true };

/** Milliseconds between looks at whether the threads are still there. */
const LOOK = 50;

function sourceOf(id: string, make: AsyncGameKind["make"]): ThreadData["make"] {
  if (typeof make === "function") {
    const text = Function.prototype.toString.call(make);
    if (/\{\s*\[native code\]\s*\}$/.test(text))
      throw new EnvironmentError(`${id}: the text of make is not to be had; hand over a plain function, or { module }`);
    return { text };
  }
  const { module, name = "make" } = make;
  if (!URL.canParse(String(module)))
    throw new EnvironmentError(
      `${id}: "${module}" is not an absolute address; write new URL("./game.js", import.meta.url)`,
    );
  return { module: String(module), name };
}

type WaitAsync = (
  words: Int32Array,
  index: number,
  value: number,
  timeout: number,
) => { readonly async: boolean; readonly value: Promise<unknown> | string };

/** Resolves when a word is no longer what it was, or some time later. */
function changed(words: Int32Array, index: number, value: number): Promise<void> {
  const { waitAsync } = Atomics as { readonly waitAsync?: WaitAsync };
  const waiting = waitAsync?.(words, index, value, LOOK);
  if (waiting && !waiting.async) return Promise.resolve();
  return new Promise((resolve) => {
    // The timer keeps a process alive, which a wait in shared memory does not.
    const timer = setTimeout(resolve, waiting ? LOOK : 1);
    if (typeof waiting?.value === "object")
      void waiting.value.then(() => {
        clearTimeout(timer);
        resolve();
      });
  });
}

export class AsyncVec<
  O extends ObservationSpace = ObservationSpace,
  A extends ActionSpace = ActionSpace,
> extends GameVec<O, A> {
  readonly workers: number;
  readonly #words: Int32Array;
  readonly #messages: Uint8Array;
  readonly #threads: Thread[] = [];
  readonly #timeout: number;
  #broken: EnvironmentError | undefined;
  #waiting = false;

  constructor(kind: AsyncGameKind<O, A>, n: number, options: AsyncVecOptions = {}) {
    const { id = "game" } = kind;
    const { workers = coreCount(), timeout = 60_000 } = options;
    checkOptions(id, options, ASYNC_OPTIONS);
    needCount(`${id}: workers`, workers, 1);
    if (!(timeout > 0)) throw new EnvironmentError(`${id}: timeout must be above 0 milliseconds, it is ${timeout}`);
    const make = sourceOf(id, kind.make);
    super(new GameBoard(kind, n, options));
    this.workers = Math.min(workers, n);
    this.#timeout = timeout;
    this.#words = allocate(i32, WORDS.each + this.workers * OWN.count).fill(0);
    this.#messages = allocate(u8, this.workers * MESSAGE_BYTES);
    if (typeof SharedArrayBuffer === "undefined" || !(this.#words.buffer instanceof SharedArrayBuffer)) {
      this.dispose();
      throw new EnvironmentError(`${id}: memory cannot be shared here; a page must be cross-origin isolated`);
    }
    for (let worker = 0; worker < this.workers; worker++) this.#start(worker, make);
  }

  /** The environments of a worker: from..to - 1. */
  #share(worker: number): { readonly from: number; readonly to: number } {
    const first = (w: number): number => Math.floor((w * this.n) / this.workers);
    return { from: first(worker), to: first(worker + 1) };
  }

  #start(worker: number, make: ThreadData["make"]): void {
    const data: ThreadData = {
      words: this.#words,
      messages: this.#messages,
      worker,
      ...this.#share(worker),
      memory: this.board.memory,
      options: this.board.rowOptions,
      make,
      places: { words: WORDS, own: OWN, commands: COMMANDS, messageBytes: MESSAGE_BYTES },
    };
    const thread = startStoppable(THREAD, data, () => {
      if (this.#threads.length === 0) return;
      Atomics.store(this.#words, this.#own(worker, "gone"), 1);
      Atomics.notify(this.#words, WORDS.done);
    });
    if (thread) {
      this.#threads.push(thread);
      return;
    }
    this.#broken = new GameThreadError(`${this.env.id}: worker ${worker} could not be started`);
    this.dispose();
    throw this.#broken;
  }

  #own(worker: number, word: Exclude<keyof typeof OWN, "count">): number {
    return WORDS.each + worker * OWN.count + OWN[word];
  }

  reset(which?: ArrayLike<number | boolean>): StepArrays {
    this.#needFree();
    this.board.prepareReset(which);
    return this.#runSync(COMMANDS.reset);
  }
  step(actions: ArrayLike<number>): StepArrays {
    this.#needFree();
    this.board.prepareStep(actions);
    return this.#runSync(COMMANDS.step);
  }
  /** `reset` without blocking this thread. */
  async resetAsync(which?: ArrayLike<number | boolean>): Promise<StepArrays> {
    this.#needFree();
    this.board.prepareReset(which);
    return this.#run(COMMANDS.reset);
  }
  /** `step` without blocking this thread. */
  async stepAsync(actions: ArrayLike<number>): Promise<StepArrays> {
    this.#needFree();
    this.board.prepareStep(actions);
    return this.#run(COMMANDS.step);
  }

  #needFree(): void {
    if (this.#broken) throw this.#broken;
    if (this.#waiting)
      throw new EnvironmentError(`${this.env.id}: a reset or step is under way; await it first. Nothing was changed`);
  }

  #ask(command: number): void {
    const words = this.#words;
    Atomics.store(words, WORDS.command, command);
    Atomics.store(words, WORDS.done, 0);
    Atomics.add(words, WORDS.turn, 1);
    Atomics.notify(words, WORDS.turn);
  }

  /** Whether all have answered; throws when one never will. */
  #answered(since: number): boolean {
    const words = this.#words;
    if (this.#broken) throw this.#broken;
    if (Atomics.load(words, WORDS.done) === this.workers) return true;
    const turn = Atomics.load(words, WORDS.turn);
    const late = performance.now() - since > this.#timeout;
    for (let worker = 0; worker < this.workers; worker++) {
      if (Atomics.load(words, this.#own(worker, "answered")) === turn) continue;
      const gone = Atomics.load(words, this.#own(worker, "gone")) === 1;
      if (!gone && !late) continue;
      const { from, to } = this.#share(worker);
      const what = gone ? "has ended" : `has not answered for ${this.#timeout} ms`;
      this.#broken = new GameThreadError(
        `${this.env.id}: worker ${worker}, which steps environments ${from} to ${to - 1}, ${what}; make a new vector`,
      );
      throw this.#broken;
    }
    return false;
  }

  #runSync(command: number): StepArrays {
    this.#ask(command);
    const since = performance.now();
    while (!this.#answered(since)) this.#block();
    return this.board.finish(this.#failure());
  }
  #block(): void {
    const done = Atomics.load(this.#words, WORDS.done);
    if (done === this.workers) return;
    try {
      Atomics.wait(this.#words, WORDS.done, done, LOOK);
    } catch {
      this.#broken = new GameThreadError(`${this.env.id}: this thread must not block; use resetAsync and stepAsync`);
    }
  }

  async #run(command: number): Promise<StepArrays> {
    this.#waiting = true;
    try {
      this.#ask(command);
      const since = performance.now();
      // Never done before it is awaited: what holds of slow games should hold of fast ones.
      do await changed(this.#words, WORDS.done, Math.min(Atomics.load(this.#words, WORDS.done), this.workers - 1));
      while (!this.#answered(since));
    } finally {
      this.#waiting = false;
    }
    return this.board.finish(this.#failure());
  }

  /** The failure of the first environment that has one. */
  #failure(): Failure | undefined {
    for (let worker = 0; worker < this.workers; worker++) {
      const index = this.#words[this.#own(worker, "index")] as number;
      if (index < 0) continue;
      const begin = worker * MESSAGE_BYTES;
      const bytes = this.#messages.slice(begin, begin + (this.#words[this.#own(worker, "bytes")] as number));
      return { index, message: new TextDecoder().decode(bytes) };
    }
    return undefined;
  }

  /** Ends the threads. Memory that a thread might still write to is not given back. */
  dispose(): void {
    const idle = !this.#broken && !this.#waiting && this.#threads.length > 0;
    const quiet = this.#threads.length === 0 || (idle && this.#quit());
    if (!this.board.dispose(quiet)) return;
    this.#broken ??= new EnvironmentError(`${this.env.id}: the vector has been disposed of`);
    for (const thread of this.#threads.splice(0)) thread.stop();
    if (!quiet) return;
    free(this.#words);
    free(this.#messages);
  }
  /** Lets the threads come to their end; whether they have. */
  #quit(): boolean {
    try {
      this.#ask(COMMANDS.quit);
      const since = performance.now();
      while (!this.#answered(since)) this.#block();
      return true;
    } catch {
      return false;
    }
  }
}

/** Games that are stepped in worker threads. */
export const asyncVec = <const O extends ObservationSpace, const A extends ActionSpace>(
  kind: AsyncGameKind<O, A>,
  n: number,
  options: AsyncVecOptions = {},
): AsyncVec<O, A> => new AsyncVec(kind, n, options);
