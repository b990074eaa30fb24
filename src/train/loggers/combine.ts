/**
 * @file Several loggers as one.
 */
import type { Logger } from "../records.ts";

/** Tells each logger everything, in their order. At the end all are told, and the first fault of any is thrown after. */
export function combine(loggers: readonly Logger[]): Logger {
  return {
    start(info) {
      for (const logger of loggers) logger.start?.(info);
    },
    record(record) {
      for (const logger of loggers) logger.record?.(record);
    },
    notice(text) {
      for (const logger of loggers) logger.notice?.(text);
    },
    async end(summary) {
      // A call that throws at once becomes a rejection too, so that the others still write out what they hold.
      const ends = await Promise.allSettled(loggers.map(async (logger) => logger.end?.(summary)));
      const failed = ends.find((result) => result.status === "rejected");
      if (failed) throw failed.reason;
    },
  };
}
