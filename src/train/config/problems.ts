/**
 * @file What is wrong with a configuration. Problems are gathered and told together: whoever writes a file wants to
 * correct it once, not line by line.
 */
import { LockstepError, UsageError } from "../../platform/errors.ts";

/** Where a value comes from; later ones win. */
export const SOURCES = ["default", "preset", "tuned", "file", "set", "option"] as const;
export type Source = (typeof SOURCES)[number];

export interface Problem {
  readonly source: Source;
  /** Where it was written, in words: "ppo.yml, line 3". */
  readonly place: string;
  /** The key as it was written, with those that it stands in: "policy_kwargs.net_arch". Empty for the whole. */
  readonly key: string;
  readonly message: string;
}

/** A configuration that cannot be used; all that is wrong with it. */
export class ConfigError extends LockstepError {
  override readonly name = "ConfigError";
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(describeProblems(problems));
    this.problems = problems;
  }
}

/** A file that is no configuration. */
export const brokenFile = (name: string, message: string): ConfigError =>
  new ConfigError([{ source: "file", place: name, key: "", message }]);

/** A value that cannot be read; whoever reads a configuration says where it stands. */
export class ReadingError extends LockstepError {
  override readonly name = "ReadingError";
}

/** A value in a message. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

const line = ({ place, key, message }: Problem): string => [place, key, message].filter(Boolean).join(": ");

/** More than this is no help to anyone. */
const MOST_LINES = 20;

function describeProblems(problems: readonly Problem[]): string {
  if (problems.length === 1) return line(problems[0]!);
  const lines = problems.slice(0, MOST_LINES).map((problem) => `  ${line(problem)}`);
  if (problems.length > MOST_LINES) lines.push(`  and ${problems.length - MOST_LINES} more`);
  return [`${problems.length} things in the configuration will not do:`, ...lines].join("\n");
}

/** Throws what was found. When all of it was typed on the command line, the usage was wrong, and no file. */
export function refuse(problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  const typed = problems.every(({ source }) => source === "set" || source === "option");
  throw typed ? new UsageError(describeProblems(problems)) : new ConfigError(problems);
}
