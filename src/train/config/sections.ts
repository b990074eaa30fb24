/**
 * @file What a configuration file says for an environment.
 */
import { didYouMean } from "../../platform/suggest.ts";
import { brokenFile } from "./problems.ts";
import type { Tree } from "./tree.ts";

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
  throw brokenFile(name, `there is nothing for ${env} in it.${hint}`);
}
