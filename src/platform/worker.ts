/**
 * @file Threads that run a piece of self-contained JavaScript: worker_threads in Node, Web Workers in browsers.
 *
 * The code arrives as the text of a function, because a file of its own would have to be found again after packing,
 * bundling and under test runners. The threads never keep a process alive.
 */

interface Started {
  /** Whether a thread could be started at all; it begins to run a little later. */
  readonly started: boolean;
}

function startInNode(source: string, data: object): Started | undefined {
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
  worker.unref();
  return { started: true };
}

function startInBrowser(source: string, data: object): Started | undefined {
  if (typeof Worker === "undefined" || typeof Blob === "undefined") return undefined;
  const blob = new Blob([`onmessage = (event) => (${source})(event.data);`], { type: "text/javascript" });
  const address = URL.createObjectURL(blob);
  const worker = new Worker(address, { name: "lockstep" });
  worker.postMessage(data);
  URL.revokeObjectURL(address);
  return { started: true };
}

/** Starts a thread that runs the function whose text is `source` on a copy of `data`; false where that is impossible. */
export function startThread(source: string, data: object): boolean {
  try {
    return (startInNode(source, data) ?? startInBrowser(source, data))?.started ?? false;
  } catch {
    return false;
  }
}
