/**
 * @file Turns of the event loop.
 */

/** Lets signals, timers and messages have their turn. */
export const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    // Browsers have timers alone, which come later.
    if (typeof setImmediate === "function") setImmediate(resolve);
    else setTimeout(resolve, 0);
  });
