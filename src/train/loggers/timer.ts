/**
 * @file Timers that do not keep a process alive: a program whose work is done ends, whatever a logger still planned.
 */

/** Calls a function once, later; what comes back takes the call back. */
export function later(milliseconds: number, run: () => void): () => void {
  const timer: unknown = setTimeout(run, milliseconds);
  // Browsers give a number, Node an object.
  if (typeof timer === "object") (timer as NodeJS.Timeout).unref();
  return () => clearTimeout(timer as NodeJS.Timeout);
}
