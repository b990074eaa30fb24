/**
 * @file Environments as commands are told of them: an id, or a file that exports a definition; pictures for the one that
 * is made of them.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { MNIST_BANDIT, mnistBandit } from "../envs/bsuite/mnistBandit.ts";
import type { Environment } from "../envs/define.ts";
import type { GameKind } from "../envs/objects/game.ts";
import { environment, UnknownEnvironmentError } from "../envs/registry.ts";
import { UsageError } from "../platform/errors.ts";
import { loadUserModule } from "../platform/loader.ts";

/** Whether an environment is told as a file. */
export const isFile = (what: string): boolean => /\.m?[jt]s$/.test(what);

/** Whether a value looks like what `defineEnv` makes; it may come from another copy of the package. */
function isEnvironment(value: unknown): value is Environment {
  if (typeof value !== "object" || value === null) return false;
  const { id, state, observation, action, functions } = value as Partial<Environment>;
  return typeof id === "string" && [state, observation, action, functions].every((part) => typeof part === "object");
}

/** Whether a value looks like games of JavaScript: how they are made, and their spaces. */
function isGameKind(value: unknown): value is GameKind {
  if (typeof value !== "object" || value === null) return false;
  const { make, observation, action } = value as Partial<GameKind>;
  return typeof make === "function" && typeof observation === "object" && typeof action === "object";
}

async function fromFile<E extends Environment | GameKind>(
  path: string,
  name: string | undefined,
  is: (value: unknown) => value is E,
): Promise<E> {
  if (!existsSync(path)) throw new UsageError(`there is no file ${resolve(path)}`);
  const exported = await loadUserModule(path);
  const found = Object.entries(exported).filter(([, value]) => is(value)) as [string, E][];
  const names = found.map(([own]) => own).join(", ");
  if (found.length === 0)
    throw new UsageError(`${path} exports no environment; export what defineEnv({ ... }) returns`);
  if (name !== undefined) {
    const chosen = found.find(([own, env]) => own === name || env.id === name);
    if (chosen) return chosen[1];
    throw new UsageError(`${path} exports no environment "${name}"; there are ${names}`);
  }
  const chosen = found.find(([own]) => own === "default") ?? (found.length === 1 ? found[0] : undefined);
  if (chosen) return chosen[1];
  throw new UsageError(`${path} exports ${found.length} environments: ${names}. Choose one with --export <name>`);
}

/** The first file of a folder whose name has this part and the ending of an IDX file of so many dimensions. */
function idxIn(folder: string, part: string): Uint8Array {
  let names: string[];
  try {
    names = readdirSync(folder).sort();
  } catch {
    throw new UsageError(`The folder ${folder} cannot be read.`);
  }
  const name = names.find((file) => file.includes(part) && /ubyte$/.test(file));
  if (name === undefined)
    throw new UsageError(`${folder} holds no unpacked IDX file of ${part}, such as train-${part}-idx3-ubyte`);
  return readFileSync(join(folder, name));
}

export interface EnvironmentOptions {
  /** Which of several exports of a file. */
  readonly export?: string;
  /** The folder with the pictures of MNISTBandit-bsuite. */
  readonly data?: string;
}

/** The environment of an id or a file. */
export async function loadEnvironment(what: string, options: EnvironmentOptions = {}): Promise<Environment> {
  if (isFile(what)) return fromFile(what, options.export, isEnvironment);
  if (what === MNIST_BANDIT.id) {
    if (options.data === undefined)
      throw new UsageError(`${what} is made of pictures: name the folder with the MNIST files with --data <folder>`);
    return mnistBandit(idxIn(options.data, "images"), idxIn(options.data, "labels"));
  }
  try {
    return environment(what);
  } catch (error) {
    if (error instanceof UnknownEnvironmentError) throw new UsageError(error.message);
    throw error;
  }
}

/** The same for training, which takes games of JavaScript, too. */
export async function loadTrainingEnvironment(
  what: string,
  options: EnvironmentOptions = {},
): Promise<Environment | GameKind> {
  if (!isFile(what)) return loadEnvironment(what, options);
  const isEither = (value: unknown): value is Environment | GameKind => isEnvironment(value) || isGameKind(value);
  return fromFile(what, options.export, isEither);
}
