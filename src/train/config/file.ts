/**
 * @file Configuration files: in our own form, or hyperparameter files of rl-zoo3, which have environments at the top.
 */
import { readWhole } from "../../platform/files.ts";
import { didYouMean } from "../../platform/suggest.ts";
import { isMapping } from "./derived.ts";
import { camelCase, GROUPS, ownName, UNSUPPORTED } from "./names.ts";
import { ConfigError, ReadingError } from "./problems.ts";
import { type ConfigFormat, MOST_CHARACTERS, readTree, type Tree } from "./tree.ts";

export interface ConfigFile {
  /** How messages call it. */
  readonly name: string;
  /** Whether keys stand at the top, or environments, with keys below each. */
  readonly form: "keys" | "environments";
  /** Keys that belong together, by environment; a file of keys has one, called "". */
  readonly sections: ReadonlyMap<string, Tree>;
  /** What the file says it is for, where it does. */
  readonly algo?: string;
  readonly env?: string;
}

/** The section of environments that have none of their own. */
const DEFAULT_SECTION = "default";
/** Ids of Atari games, which share a section. */
const ATARI = /^ALE\/|NoFrameskip-v\d+$/;
const ATARI_SECTION = "atari";

const broken = (name: string, message: string): ConfigError =>
  new ConfigError([{ source: "file", place: name, key: "", message }]);

const isNested = (key: string): boolean =>
  [GROUPS, UNSUPPORTED].some((table) => Object.hasOwn(table, camelCase(key))) ||
  ownName(camelCase(key)) === "normalize";

/** Whether all that stands at the top are mappings, and none of those that a configuration has itself. */
function hasEnvironments(top: ReadonlyMap<string, Tree>): boolean {
  const filled = [...top].filter(([, { value }]) => value !== null);
  return filled.length > 0 && filled.every(([key, { value }]) => isMapping(value) && !isNested(key));
}

/** The text under a key of ours, whatever the file calls it. */
function textUnder(top: ReadonlyMap<string, Tree>, wanted: string): string | undefined {
  const found = [...top].find(([key]) => ownName(camelCase(key)) === wanted)?.[1].value;
  return typeof found === "string" ? found : undefined;
}

/** Reads a configuration; `name` is what messages call it. */
export function readConfigText(text: string, format: ConfigFormat, name = "the configuration"): ConfigFile {
  let tree: Tree;
  try {
    tree = readTree(text, format);
  } catch (error) {
    throw error instanceof ReadingError ? broken(name, error.message) : error;
  }
  // A file of comments alone is empty, and asks for nothing.
  const members = tree.value === null ? new Map<string, Tree>() : tree.members;
  if (!members) throw broken(name, 'a configuration is a mapping of keys to values, such as "steps: 100000"');
  if (hasEnvironments(members)) {
    const sections = new Map([...members].filter(([, { value }]) => isMapping(value)));
    const [only, ...others] = sections.keys();
    return { name, form: "environments", sections, ...(only && others.length === 0 && { env: only }) };
  }
  const [algo, env] = [textUnder(members, "algo"), textUnder(members, "env")];
  const sections = new Map([["", { ...tree, value: tree.value ?? {}, members }]]);
  return { name, form: "keys", sections, ...(algo && { algo }), ...(env && { env }) };
}

/** Reads a configuration from a file: JSON when its name says so, YAML otherwise. */
export function readConfigFile(path: string): ConfigFile {
  // A character is at most four bytes.
  const bytes = readWhole(path, 4 * MOST_CHARACTERS);
  return readConfigText(new TextDecoder().decode(bytes), /\.json$/i.test(path) ? "json" : "yaml", path);
}

/** The part of a file that is for an environment. */
export function sectionFor(file: ConfigFile, env: string): Tree {
  const { form, sections, name } = file;
  const candidates = form === "keys" ? [""] : [env, ...(ATARI.test(env) ? [ATARI_SECTION] : []), DEFAULT_SECTION];
  for (const candidate of candidates) {
    const section = sections.get(candidate);
    if (section) return section;
  }
  const known = [...sections.keys()];
  const hint = didYouMean(env, known) || ` It has ${known.join(", ")}.`;
  throw broken(name, `there is nothing for ${env} in it.${hint}`);
}
