/**
 * @file Configuration files: in our own form, or hyperparameter files of rl-zoo3, which have environments at the top.
 */
import { readWhole } from "../../platform/files.ts";
import { isMapping } from "./derived.ts";
import { camelCase, GROUPS, ownName, UNSUPPORTED } from "./names.ts";
import { brokenFile, ReadingError } from "./problems.ts";
import type { ConfigFile } from "./sections.ts";
import { MOST_CHARACTERS, readTree } from "./texts.ts";
import type { ConfigFormat, Tree } from "./tree.ts";

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
    throw error instanceof ReadingError ? brokenFile(name, error.message) : error;
  }
  // A file of comments alone is empty, and asks for nothing.
  const members = tree.value === null ? new Map<string, Tree>() : tree.members;
  if (!members) throw brokenFile(name, 'a configuration is a mapping of keys to values, such as "steps: 100000"');
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
