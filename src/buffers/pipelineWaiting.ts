/**
 * @file How a pipeline's threads wait for each other.
 *
 * Each side has two words: a count that the other side moves on, and how many are waiting for that. Who waits says so
 * first, then reads the count, tries once more and sleeps only if the count is still the same: a wake-up cannot fall in
 * between. Who moves the count on wakes others only when someone waits.
 */
import { DataError } from "../kernels/errors.ts";

/** Word offsets of a side: the count, and next to it the number of those that wait. */
export const ITEMS = 32;
export const SPACE = 48;
export type Gate = typeof ITEMS | typeof SPACE;

/** Positions have 31 bits; the remaining one of the tail says that the pipeline is closed. */
export const POSITION_MASK = 0x7fffffff;
export const closedIn = (tail: number): boolean => tail < 0;

/** Milliseconds between looks where waking up is not possible. */
const POLL = 2;
/** Milliseconds of a timer that does nothing. */
const KEEP_ALIVE = 10_000;

/**
 * Moves a side's count on. All that wait are woken: slots may become ready in another order than they were taken, and
 * then there can be something for more than one of them.
 */
export function signal(words: Int32Array, gate: Gate): void {
  Atomics.add(words, gate, 1);
  if (Atomics.load(words, gate + 1) > 0) Atomics.notify(words, gate);
}

/** Blocks the thread until an attempt succeeds. */
export function waitSync(words: Int32Array, gate: Gate, attempt: () => boolean): void {
  Atomics.add(words, gate + 1, 1);
  try {
    for (;;) {
      const count = Atomics.load(words, gate);
      if (attempt()) return;
      block(words, gate, count);
    }
  } finally {
    Atomics.sub(words, gate + 1, 1);
  }
}

function block(words: Int32Array, gate: Gate, count: number): void {
  try {
    Atomics.wait(words, gate, count);
  } catch {
    throw new DataError("this thread must not block: use send and receive, which wait with promises, or a worker");
  }
}

/** Gives the thread back to its event loop until an attempt succeeds. The wait keeps a Node process alive. */
export async function wait(words: Int32Array, gate: Gate, attempt: () => boolean): Promise<void> {
  Atomics.add(words, gate + 1, 1);
  try {
    for (;;) {
      const count = Atomics.load(words, gate);
      if (attempt()) return;
      await changed(words, gate, count);
    }
  } finally {
    Atomics.sub(words, gate + 1, 1);
  }
}

type WaitAsync = (
  words: Int32Array,
  index: number,
  value: number,
) => { readonly async: boolean; readonly value: Promise<unknown> | string };

/** Resolves some time after the count has moved on. */
function changed(words: Int32Array, gate: Gate, count: number): Promise<void> {
  const { waitAsync } = Atomics as { readonly waitAsync?: WaitAsync };
  if (waitAsync === undefined) return new Promise((resolve) => setTimeout(resolve, POLL));
  const { async, value } = waitAsync(words, gate, count);
  if (!async || typeof value === "string") return Promise.resolve();
  return new Promise((resolve) => {
    // A wait in shared memory is invisible to the event loop, which would end without this.
    const timer = setInterval(() => {}, KEEP_ALIVE);
    const wake = (): void => {
      clearInterval(timer);
      resolve();
    };
    value.then(wake, wake);
  });
}
