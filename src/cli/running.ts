/**
 * @file A run under the command line: who listens to it, how signals end it, and what is said at its end.
 */
import { join } from "node:path";
import { UsageError } from "../platform/errors.ts";
import { combine, csvLogger, lineLogger, type TagStyle, terminalLogger, wandbLogger } from "../train/loggers/index.ts";
import type { Participants } from "../train/plan.ts";
import type { Logger, RunInfo, RunSummary } from "../train/records.ts";
import { RUN_FILES } from "../train/runFolder.ts";
import type { Trainer } from "../train/trainer.ts";
import { asJson } from "./output.ts";
import { hasColours } from "./text.ts";

/** Options that every command that trains has. */
export interface OutputOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly csv?: boolean;
  readonly wandb?: string;
  readonly logStyle?: TagStyle;
}

/** Where people read: stdout, unless that is for one JSON document alone. */
export const streamFor = ({ json }: Pick<OutputOptions, "json">): NodeJS.WriteStream =>
  json ? process.stderr : process.stdout;

/** The live table in a terminal, lines elsewhere, nothing when nothing is wanted. */
function display(options: OutputOptions): Logger {
  const stream = streamFor(options);
  if (options.quiet) return {};
  if (stream.isTTY) return terminalLogger(stream, { colours: hasColours(stream) });
  return lineLogger((text) => void stream.write(text));
}

/** A logger for a file whose folder is known when the run begins. */
function inFolder(make: (folder: string) => Logger): Logger {
  let own: Logger = {};
  return {
    start(info: RunInfo) {
      if (info.folder === undefined) throw new UsageError("--csv needs a run folder to write to; leave --no-save out");
      own = make(info.folder);
      own.start?.(info);
    },
    record: (record) => own.record?.(record),
    end: (summary) => own.end?.(summary),
  };
}

function toWandb(project: string, style: TagStyle | undefined, notice: (text: string) => void): Logger {
  const { WANDB_API_KEY: apiKey, WANDB_ENTITY: entity, WANDB_BASE_URL: baseUrl } = process.env;
  if (!apiKey) throw new UsageError("--wandb needs WANDB_API_KEY in the environment (and takes WANDB_ENTITY)");
  return wandbLogger({
    apiKey,
    project,
    notice,
    ...(entity ? { entity } : {}),
    ...(baseUrl ? { baseUrl } : {}),
    ...(style ? { style } : {}),
  });
}

/** Everyone who listens, as options say. */
function listeners(options: OutputOptions): Logger {
  const shown = display(options);
  const all = [shown];
  if (options.csv) all.push(inFolder((folder) => csvLogger(join(folder, "progress.csv"))));
  if (options.wandb !== undefined) all.push(toWandb(options.wandb, options.logStyle, (text) => shown.notice?.(text)));
  return combine(all);
}

/** The first signal ends the run after its iteration, the second one at once. */
function interruptible(): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const handle = (): void => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
    process.stderr.write("\nstopping after this iteration; once more to stop at once\n");
  };
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const name of signals) process.on(name, handle);
  return {
    signal: controller.signal,
    release: () => {
      for (const name of signals) process.off(name, handle);
    },
  };
}

/** Where everything is, and what to do with it. */
function lastWords({ run, ended }: RunSummary): string {
  if (run === null) return "";
  const next: readonly [string, string] =
    ended === "interrupted" ? ["go on", `lockstep resume ${run}`] : ["watch it", `lockstep enjoy ${run}`];
  const lines = [["report", join(run, RUN_FILES.report)], next];
  return `${lines.map(([name, text]) => `${name}: ${text}`).join("\n")}\n`;
}

/** A run from its making to its last words. Its policy can be used until it is disposed of. */
export async function runToEnd(
  make: (participants: Participants) => Trainer,
  options: OutputOptions,
): Promise<Trainer> {
  const { signal, release } = interruptible();
  try {
    const trainer = make({ loggers: [listeners(options)], signal });
    const summary = await trainer.run();
    if (options.json) process.stdout.write(asJson(summary));
    else if (!options.quiet) process.stdout.write(lastWords(summary));
    return trainer;
  } finally {
    release();
  }
}
