/**
 * @file What `--set key=value` says. Values stay texts here: what they mean depends on the key's type, which the
 * schema knows.
 */
import { UsageError } from "../../platform/errors.ts";
import { isMapping } from "./derived.ts";

/** Texts by key; a dotted key stands in the mapping of its first part. */
export type SetValues = { readonly [key: string]: string | SetValues };
type Draft = { [key: string]: string | Draft };

function put(into: Draft, path: readonly string[], text: string, given: string): void {
  const [first = "", ...rest] = path;
  const before = Object.hasOwn(into, first) ? into[first] : undefined;
  if (rest.length === 0) {
    if (isMapping(before))
      throw new UsageError(`--set ${given}: keys inside of ${first} were set before; set one or the other`);
    define(into, first, text);
    return;
  }
  if (typeof before === "string")
    throw new UsageError(`--set ${given}: ${first} was set as a whole before; set one or the other`);
  const inner = before ?? {};
  define(into, first, inner);
  put(inner, rest, text, given);
}

/** A member of its own, whatever the name: `__proto__` is a name like others. */
const define = (into: Draft, key: string, value: string | Draft): void => {
  Object.defineProperty(into, key, { value, enumerable: true, configurable: true, writable: true });
};

/** Reads `key=value` texts; where a key stands twice the last one counts. */
export function parseSets(given: readonly string[]): SetValues {
  const values: Draft = {};
  for (const text of given) {
    const [, key, value] = /^\s*([^=]*?)\s*=(.*)$/s.exec(text) ?? [];
    const path = key?.split(".") ?? [];
    if (value === undefined || path.some((part) => part === "") || path.length === 0)
      throw new UsageError(`--set ${text}: write key=value, such as learningRate=1e-3 or netArch=[64,64]`);
    put(values, path, value.trim(), text);
  }
  return values;
}
