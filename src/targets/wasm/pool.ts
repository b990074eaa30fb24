/**
 * @file The helpers of a JavaScript thread: workers that wait in shared memory for pieces of launches.
 *
 * Nothing is sent to them once they run. A launch opens a job in the control block (see launch.ts); a helper that does
 * not know the program yet copies its bytes out of the shared memory, compiles them and joins when it is ready. Idle
 * helpers poll for a moment, since the next launch of a program is usually microseconds away, and then sleep.
 *
 * Each JavaScript thread has helpers of its own, which end with it.
 */
import { startThread } from "../../platform/worker.ts";
import { CONTROL, CONTROL_BYTES, GLOBALS, MAX_BLOCKS, PROCESS } from "./layout.ts";
import { FUNCTION_IMPORTS } from "./writer.ts";

/** Polls before a helper sleeps: some 100 us. */
const POLLS = 50_000;
/** Programs a helper keeps compiled. */
const KEPT_PROGRAMS = 256;

const at = (offset: number): number => offset / 4;

/** What a helper runs: text, because it must work wherever the package is unpacked or bundled. */
const HELPER = `({ memory, control, index }) => {
  const words = new Int32Array(memory.buffer, control, ${CONTROL_BYTES / 4});
  const programs = new Map();
  const copyOf = (offset, length) => {
    const { buffer } = memory;
    return offset + length <= buffer.byteLength ? new Uint8Array(buffer, offset, length).slice() : undefined;
  };
  const compile = ({ program, bytes, joined }) => {
    if (programs.size >= ${KEPT_PROGRAMS}) programs.delete(programs.keys().next().value);
    const env = { memory, ${GLOBALS[0]}: 0, ${GLOBALS[1]}: control };
    const load = (code, more) => new WebAssembly.Instance(new WebAssembly.Module(code), { env, ...more }).exports;
    const imports = joined.length ? { ${FUNCTION_IMPORTS}: load(joined, {}) } : {};
    programs.set(program, load(bytes, imports));
  };
  /* Joins the open job; returns what has to be compiled first, if anything. */
  const join = () => {
    if (index >= words[${at(CONTROL.helpers)}]) return undefined;
    const program = words[${at(CONTROL.program)}];
    const known = programs.get(program);
    if (!known) {
      const [from, length] = [words[${at(CONTROL.bytes)}], words[${at(CONTROL.byteLength)}]];
      const joined = copyOf(from + length, words[${at(CONTROL.joinedLength)}]);
      return joined && { program, bytes: copyOf(from, length), joined };
    }
    const stack = words[${at(CONTROL.stacks)}] + (index + 1) * words[${at(CONTROL.stackBytes)}];
    Atomics.add(words, ${at(CONTROL.joined)}, 1);
    known["thunk" + words[${at(CONTROL.thunk)}]](words[${at(CONTROL.frame)}], stack);
    return undefined;
  };
  let seen = 0;
  Atomics.add(words, ${at(CONTROL.ready)}, 1);
  for (;;) {
    let job = Atomics.load(words, ${at(CONTROL.job)});
    for (let polls = ${POLLS}; polls > 0 && (job === seen || (job & 1) === 0); polls--) {
      job = Atomics.load(words, ${at(CONTROL.job)});
    }
    if (job === seen || (job & 1) === 0) {
      Atomics.add(words, ${at(CONTROL.sleepers)}, 1);
      Atomics.wait(words, ${at(CONTROL.job)}, job);
      Atomics.sub(words, ${at(CONTROL.sleepers)}, 1);
      continue;
    }
    let missing;
    Atomics.add(words, ${at(CONTROL.active)}, 1);
    try {
      if (Atomics.load(words, ${at(CONTROL.job)}) === job) {
        seen = job;
        missing = join();
      }
    } catch {
      Atomics.store(words, ${at(CONTROL.failed)}, 1);
    }
    Atomics.sub(words, ${at(CONTROL.active)}, 1);
    if (missing) {
      compile(missing);
      seen = 0;
    }
  }
}`;

export class HelperPool {
  readonly #memory: WebAssembly.Memory;
  /** Where the control block is; 0 when there are no helpers to be had. */
  readonly control: number;
  #started = 0;

  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory;
    const words = new Int32Array(memory.buffer);
    const number = Atomics.add(words, at(PROCESS.blocks), 1);
    this.control = number < MAX_BLOCKS ? PROCESS.firstBlock + number * CONTROL_BYTES : 0;
  }

  /** Helpers that have started. */
  get ready(): number {
    return this.#read(CONTROL.ready);
  }
  /** How often a helper has taken part in a launch. */
  get joined(): number {
    return this.#read(CONTROL.joined);
  }
  #read(offset: number): number {
    return this.control ? Atomics.load(new Int32Array(this.#memory.buffer), at(this.control + offset)) : 0;
  }

  /** Sees to it that `count` helpers run, now or soon; launches use those that are there. */
  ensure(count: number): void {
    while (this.control && this.#started < count) {
      const data = { memory: this.#memory, control: this.control, index: this.#started };
      if (!startThread(HELPER, data)) return;
      this.#started += 1;
    }
  }
}

const pools = new WeakMap<WebAssembly.Memory, HelperPool>();
/** This thread's helpers for a memory. */
export function poolOf(memory: WebAssembly.Memory): HelperPool {
  let pool = pools.get(memory);
  if (!pool) {
    pool = new HelperPool(memory);
    pools.set(memory, pool);
  }
  return pool;
}
