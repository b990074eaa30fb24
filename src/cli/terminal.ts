/**
 * @file The process's own terminal, as games are played on it.
 */
import { keysIn } from "./keys.ts";
import type { Terminal } from "./player.ts";
import { hasColours } from "./text.ts";

/** Keys come one by one and are not shown. */
export function ownTerminal(): Terminal {
  const { stdin, stdout } = process;
  return {
    write: (text) => void stdout.write(text),
    get columns() {
      return stdout.columns ?? 80;
    },
    get rows() {
      return stdout.rows ?? 24;
    },
    colour: hasColours(stdout),
    onKey: (handle) => {
      const raw = stdin.isTTY === true;
      const data = (text: string): void => {
        for (const key of keysIn(text)) handle(key);
      };
      const interrupted = (): void => handle("q");
      if (raw) {
        stdin.setRawMode(true);
        stdin.setEncoding("utf8");
        stdin.on("data", data);
        stdin.resume();
      }
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, interrupted);
      return () => {
        for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(signal, interrupted);
        if (!raw) return;
        stdin.off("data", data);
        stdin.setRawMode(false);
        stdin.pause();
      };
    },
  };
}
