/**
 * @file Threads that run a piece of self-contained JavaScript: worker_threads in Node, Web Workers in browsers.
 *
 * The code arrives as the text of a function, because a file of its own would have to be found again after packing,
 * bundling and under test runners. The threads never keep a process alive.
 */

/** A thread that has been started; it begins to run a little later. */
export interface Thread {
  /** Ends the thread, wherever it is. */
  stop(): void;
}

function startInNode(source: string, data: object, ended: () => void): Thread | undefined {
  if (typeof process === "undefined" || !process.versions?.node) return undefined;
  const threads = process.getBuiltinModule?.("node:worker_threads");
  if (!threads) return undefined;
  const worker = new threads.Worker(`(${source})(require("node:worker_threads").workerData);`, {
    eval: true,
    workerData: data,
    // The parent's loaders and inspectors are not for this thread.
    execArgv: [],
    name: "lockstep",
  });
  worker.on("error", () => {});
  worker.on("exit", ended);
  worker.unref();
  return { stop: () => void worker.terminate() };
}

function startInBrowser(source: string, data: object, ended: () => void): Thread | undefined {
  if (typeof Worker === "undefined" || typeof Blob === "undefined") return undefined;
  const blob = new Blob([`onmessage = (event) => (${source})(event.data);`], { type: "text/javascript" });
  const address = URL.createObjectURL(blob);
  const worker = new Worker(address, { name: "lockstep" });
  worker.onerror = ended;
  worker.postMessage(data);
  URL.revokeObjectURL(address);
  return { stop: () => worker.terminate() };
}

/**
 * Starts a thread that runs the function whose text is `source` on a copy of `data`; undefined where that is impossible.
 * `ended` is called, by this thread's event loop, when it has ended or failed.
 */
export function startStoppable(source: string, data: object, ended: () => void): Thread | undefined {
  try {
    return startInNode(source, data, ended) ?? startInBrowser(source, data, ended);
  } catch {
    return undefined;
  }
}

/** The same for a thread that runs as long as this one; false where that is impossible. */
export const startThread = (source: string, data: object): boolean =>
  startStoppable(source, data, () => {}) !== undefined;
