/**
 * @file Values and the schemas they must fit: the keys of a schema, a given value turned into one that fits, and what
 * would fit, in words.
 *
 * It works over any object schema of zod. Words are made from its JSON Schema, which is data of a known form.
 */
import * as z from "zod";
import { didYouMean } from "../../platform/suggest.ts";
import { isMapping, type Mapping } from "./derived.ts";
import { literalIn } from "./literals.ts";
import { shown } from "./problems.ts";

/** The object schema that a schema is, under defaults. */
function objectIn(node: z.ZodType): z.ZodObject | undefined {
  if (node instanceof z.ZodObject) return node;
  const isWrapped = node instanceof z.ZodDefault || node instanceof z.ZodPrefault || node instanceof z.ZodOptional;
  return isWrapped ? objectIn(node.def.innerType as z.ZodType) : undefined;
}

/** The schemas of all keys; those of objects inside have dotted keys. */
export function leavesOf(schema: z.ZodObject, prefix = ""): Map<string, z.ZodType> {
  const leaves = new Map<string, z.ZodType>();
  for (const [key, node] of Object.entries(schema.shape as { readonly [key: string]: z.ZodType })) {
    const inner = objectIn(node);
    if (!inner) leaves.set(prefix + key, node);
    else for (const [name, leaf] of leavesOf(inner, `${prefix}${key}.`)) leaves.set(name, leaf);
  }
  return leaves;
}

/** Values by dotted keys as an object of objects. */
export function nested(values: Iterable<readonly [string, unknown]>): { [key: string]: unknown } {
  const result: { [key: string]: unknown } = {};
  for (const [key, value] of values) {
    const path = key.split(".");
    const last = path.pop() ?? key;
    let at = result;
    for (const part of path) {
      at[part] ??= {};
      at = at[part] as typeof result;
    }
    at[last] = value;
  }
  return result;
}

/** Words for true and false in YAML 1.1, which older files are written in. */
const TRUTH: ReadonlyMap<string, boolean> = new Map([
  ["yes", true],
  ["on", true],
  ["no", false],
  ["off", false],
]);

/** What a text may mean: a value, a list without brackets, a word for true or false. */
const meanings = (text: string): unknown[] =>
  [literalIn(text), literalIn(`[${text}]`), TRUTH.get(text.toLowerCase())].filter((meaning) => meaning !== undefined);

export type Fitted = { readonly value: unknown } | { readonly message: string };

/**
 * A value that fits the schema, from one that was given. Texts stand for other values where these fit. `typed` texts
 * come from where there is nothing but text (a command line): what they may mean comes before the text itself.
 */
export function fitValue(node: z.ZodType, given: unknown, typed: boolean): Fitted {
  const others = typeof given === "string" ? meanings(given) : [];
  for (const candidate of typed ? [...others, given] : [given, ...others]) {
    const result = node.safeParse(candidate);
    if (result.success) return { value: candidate };
  }
  const issues = node.safeParse(given).error?.issues ?? [];
  const options = typeof given === "string" ? optionsOf(schemaData(node)) : [];
  const hint = options.length > 0 ? didYouMean(String(given), options) : "";
  return { message: `${shown(given)} will not do; it must be ${ownWords(issues) ?? expected(node)}.${hint}` };
}

/** The message of a check whose author has written one. Messages of zod's own begin with these words. */
function ownWords(issues: readonly z.core.$ZodIssue[]): string | undefined {
  return issues
    .map(({ message }) => message)
    .find((message) => !/^(Invalid|Too (big|small)|Unrecognized)\b/.test(message));
}

const schemaData = (node: z.ZodType): Mapping => z.toJSONSchema(node, { io: "input", unrepresentable: "any" });
const list = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];

/** The texts that a schema allows, where it lists them. */
const optionsOf = (data: Mapping): string[] => [
  ...list(data.enum).filter((option) => typeof option === "string"),
  ...list(data.anyOf).flatMap((branch) => (isMapping(branch) ? optionsOf(branch) : [])),
];

/** What fits a schema, in words. */
export const expected = (node: z.ZodType): string => words(schemaData(node));

function bounds(data: Mapping): string {
  // Whole numbers have limits of their own, which are nobody's choice.
  const chosen = (limit: unknown): boolean => typeof limit === "number" && Math.abs(limit) < Number.MAX_SAFE_INTEGER;
  const parts = [
    chosen(data.minimum) && `at least ${data.minimum}`,
    chosen(data.exclusiveMinimum) && `above ${data.exclusiveMinimum}`,
    chosen(data.maximum) && `at most ${data.maximum}`,
    chosen(data.exclusiveMaximum) && `below ${data.exclusiveMaximum}`,
  ].filter(Boolean);
  return parts.length > 0 ? ` ${parts.join(" and ")}` : "";
}

const WORDS: { readonly [type: string]: (data: Mapping) => string } = {
  number: (data) => `a number${bounds(data)}`,
  integer: (data) => `a whole number${bounds(data)}`,
  boolean: () => "true or false",
  null: () => "null",
  string: ({ pattern }) => (pattern === undefined ? "a text" : `a text that matches ${pattern}`),
  array: ({ items }) => (isMapping(items) && items.type ? `a list, each of it ${words(items)}` : "a list"),
  object: () => "a mapping",
};

function words(data: Mapping): string {
  if (data.const !== undefined) return JSON.stringify(data.const);
  const options = list(data.enum);
  if (options.length > 0) return options.map((option) => JSON.stringify(option)).join(" or ");
  const branches = list(data.anyOf).filter(isMapping);
  if (branches.length > 0) return branches.map(words).join(" or ");
  const types = list(data.type).map(String);
  return types.map((type) => WORDS[type]?.(data) ?? type).join(" or ") || "something else";
}
