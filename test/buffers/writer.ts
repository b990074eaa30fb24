/**
 * @file A process of the crash test: pushes to a file without end, says what it has flushed, and is killed.
 */
import { writeSync } from "node:fs";
import { FileReplayBuffer } from "../../src/buffers/file.ts";

/** What both processes open. */
export const KILLED = { capacity: 5000, observation: 6, action: 1, hot: 64, block: 16, target: "js" } as const;

const path = import.meta.url.endsWith(process.argv[1]?.split("/").at(-1) ?? "/") ? process.argv[2] : undefined;
if (path !== undefined) {
  const buffer = new FileReplayBuffer({ ...KILLED, path });
  for (let n = 0; ; n++) {
    buffer.pushSlices([n, n, n, n, n, n], n, n, false, false, [n, n, n, n, n, n + 1]);
    if (n % 37 !== 0) continue;
    buffer.flush();
    writeSync(1, `${n + 1}\n`);
  }
}
