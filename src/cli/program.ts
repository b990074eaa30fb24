/**
 * @file The command line: parses, calls, prints. Exit codes: 0 fine, 1 it failed, 2 wrong usage.
 *
 * Commands are loaded when they are asked for, so that each starts with what it needs and no more.
 */
import { Command, CommanderError } from "commander";
import { type Bundle, setBundle } from "../platform/bundle.ts";
import { LockstepError, UsageError } from "../platform/errors.ts";
import { ownVersion } from "./versions.ts";

type Exit = (code: number) => void;
type Add = (program: Command, exit: Exit) => void;

/** All commands, in the order of the help. */
const COMMANDS: { readonly [name: string]: () => Promise<Add> } = {
  train: async () => (await import("./train.ts")).addTrain,
  resume: async () => (await import("./resume.ts")).addResume,
  eval: async () => (await import("./evaluate.ts")).addEvaluate,
  enjoy: async () => (await import("./enjoy.ts")).addEnjoy,
  report: async () => (await import("./report.ts")).addReport,
  compare: async () => (await import("./compare.ts")).addCompare,
  profile: async () => (await import("./profile.ts")).addProfile,
  algos: async () => (await import("./algos.ts")).addAlgos,
  envs: async () => (await import("./envs.ts")).addEnvs,
  play: async () => (await import("./play.ts")).addPlay,
  check: async () => (await import("./check.ts")).addCheck,
  doctor: async () => (await import("./doctor.ts")).addDoctor,
  bench: async () => (await import("./bench.ts")).addBench,
  demo: async () => (await import("./demo.ts")).addDemo,
  tour: async () => (await import("./tour.ts")).addTour,
};

async function makeProgram(first: string | undefined, exit: Exit): Promise<Command> {
  const program = new Command("lockstep")
    .description("Reinforcement learning that compiles: train, look, measure.")
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride();
  const known = first !== undefined && Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined;
  if (!known) program.version(ownVersion(), "-V, --version", "the version of this package");
  const isVersion = first === "--version" || first === "-V";
  // Help and suggestions need all of them.
  const loaders = known ? [known] : isVersion ? [] : Object.values(COMMANDS);
  for (const add of await Promise.all(loaders.map((load) => load()))) add(program, exit);
  return program;
}

/** What the process should end with after an error that reached the top. */
function report(error: unknown): number {
  // Commander has said what it had to say; help and version come this way too, with code 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (!(error instanceof LockstepError)) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return 1;
  }
  process.stderr.write(`error: ${error.message}\n`);
  return error instanceof UsageError ? 2 : 1;
}

/** Runs the command of this process; `bundle` is what it runs from, where it is bundled. */
export async function main(bundle?: Bundle): Promise<void> {
  setBundle(bundle);
  // A reader that has seen enough (head, less) closes the pipe: no error of ours.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  const exit = (code: number): void => {
    process.exitCode = code;
  };
  try {
    const program = await makeProgram(process.argv[2], exit);
    await program.parseAsync();
  } catch (error) {
    exit(report(error));
  }
}
