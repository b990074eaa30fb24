/**
 * @file A resolved configuration for people: what differs from the defaults, and where it comes from.
 */
import { same } from "./derived.ts";
import type { ResolvedConfig, Setting } from "./resolve.ts";

/** Keys that every run is told, and that are said elsewhere. */
const OBVIOUS: ReadonlySet<string> = new Set(["algo", "env"]);
const WIDTH = 80;

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const differs = ({ key, value, source, ...rest }: Setting): boolean =>
  source !== "default" && !OBVIOUS.has(key) && !same(value, rest.default);

/** Words in lines of at most `WIDTH` columns, each behind an indent. */
function wrapped(words: readonly string[], indent: string): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(indent + word);
  }
  return lines;
}

/** Lines of at most 80 columns, where values are not longer: the layers that gave something, and what each gave. */
export function describeConfig(resolved: Pick<ResolvedConfig, "settings" | "notes">): string[] {
  const different = resolved.settings.filter(differs);
  const layers = [...new Set(different.map(({ from }) => from))];
  const lines = layers.flatMap((from) => {
    const settings = different.filter((setting) => setting.from === from);
    const words = settings.map(({ key, value }, k) => `${key} ${asText(value)}${k + 1 < settings.length ? "," : ""}`);
    return [`${from}:`, ...wrapped(words, "  ")];
  });
  return [...lines, ...resolved.notes];
}
