/**
 * @file `lockstep algos`: all algorithms, or one with its keys, presets and the environments it is tuned for.
 */
import type { Command } from "commander";
import type { z } from "zod";
import { ALGORITHMS, type AlgorithmKind, algorithmKind } from "../algorithms/registry.ts";
import { runConfigSchema, TUNED } from "../train/config/index.ts";
import { expected, leavesOf } from "../train/config/values.ts";
import { asJson } from "./output.ts";
import { type Style, styleFor, wrap } from "./text.ts";

const LINE = 80;

/** One key of a configuration, for people and for programs. */
export interface KeyFacts {
  readonly key: string;
  /** What it is unless given; absent where it has to be given. */
  readonly default?: unknown;
  /** What fits, in words. */
  readonly type: string;
  readonly description?: string;
}

/** Patterns say little to people: of texts that have one, an example does. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/a text that matches \^lin_\S+/, 'a text such as "lin_2.5e-4" (it falls to 0)'],
  [/a text that matches \S+/, "a text"],
];
const readable = (type: string): string =>
  PATTERNS.reduce((text, [pattern, words]) => text.replace(pattern, words), type);

/** The description of a schema, or of what stands under its default. */
function descriptionOf(node: z.ZodType): string | undefined {
  const inner = (node.def as { readonly innerType?: z.ZodType }).innerType;
  return node.description ?? (inner && descriptionOf(inner));
}

export function keysOf(schema: z.ZodObject): KeyFacts[] {
  return [...leavesOf(schema)].map(([key, node]) => {
    const given = node.safeParse(undefined);
    const description = descriptionOf(node);
    return {
      key,
      ...(given.success && given.data !== undefined ? { default: given.data } : {}),
      type: readable(expected(node)),
      ...(description === undefined ? {} : { description }),
    };
  });
}

const kinds = (): AlgorithmKind[] => Object.keys(ALGORITHMS).map(algorithmKind);
const tunedFor = (name: string): string[] => Object.keys(TUNED[name] ?? {});

function facts(kind: AlgorithmKind): object {
  const { name, title, schema, presets } = kind;
  return { name, title, keys: keysOf(schema), presets, tuned_for: tunedFor(name) };
}

const written = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

const INDENT = "  ";

/** Cells side by side; the last one is wrapped, and what follows of it stands under it. */
function entry(cells: readonly (readonly [text: string, width: number])[], last: string): string {
  const head = INDENT + cells.map(([text, width]) => `${text.padEnd(width - 1)} `).join("");
  const indent = " ".repeat(INDENT.length + cells.reduce((sum, [, width]) => sum + width, 0));
  const [first = "", ...rest] = wrap(last, LINE - indent.length).split("\n");
  return [(head + first).trimEnd(), ...rest.map((line) => indent + line)].join("\n");
}

const WIDTHS = { key: 20, value: 15, label: 11 } as const;

function keyLines(keys: readonly KeyFacts[]): string[] {
  return keys.map(({ key, type, description, ...rest }) => {
    const value = "default" in rest ? written(rest.default) : "-";
    const words = description === undefined ? type : `${description} (${type})`;
    return entry(
      [
        [key, WIDTHS.key],
        [value, WIDTHS.value],
      ],
      words,
    );
  });
}

/** Values as they could stand behind --set. */
const assignments = (values: object): string =>
  Object.entries(values)
    .map(([key, value]) => `${key}=${written(value)}`)
    .join(" ");

const presetLines = (presets: AlgorithmKind["presets"]): string[] =>
  Object.entries(presets).map(([name, values]) => entry([[name, WIDTHS.key]], assignments(values) || "the defaults"));

export function describeOne(kind: AlgorithmKind, style: Style): string {
  const { name, title, schema, presets } = kind;
  const tuned = tunedFor(name);
  const part = (heading: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ["", style.bold(heading), ...lines];
  return `${[
    `${style.bold(name)}  ${title}`,
    ...part("keys, what they are unless given (--set key=value), and what fits", keyLines(keysOf(schema))),
    ...part("presets, and what they change of that (--preset name)", presetLines(presets)),
    ...part("tuned for", tuned.length > 0 ? [entry([], tuned.join(", "))] : []),
    ...part("keys of every run", keyLines(keysOf(runConfigSchema))),
    "",
    `lockstep train ${name} ${tuned[0] ?? "CartPole-v1"}`,
  ].join("\n")}\n`;
}

export function describeAll(style: Style): string {
  const parts = kinds().map(({ name, title, schema, presets }) => {
    const defaults = Object.fromEntries(keysOf(schema).map((one) => [one.key, one.default]));
    const lines: [string, string][] = [
      ["presets", Object.keys(presets).join(", ")],
      ["tuned for", tunedFor(name).join(", ")],
      ["keys", assignments(defaults)],
    ];
    const about = lines.map(([label, text]) => entry([[label, WIDTHS.label]], text || "none"));
    return [`${style.bold(name)}  ${title}`, ...about].join("\n");
  });
  const more = "lockstep algos <name> shows one in detail, lockstep train <name> <env> uses it.";
  return `${[...parts, more].join("\n\n")}\n`;
}

export function algos(name: string | undefined, options: { readonly json?: boolean }, style: Style): string {
  if (name === undefined) return options.json ? asJson(kinds().map(facts)) : describeAll(style);
  const kind = algorithmKind(name);
  if (!options.json) return describeOne(kind, style);
  return asJson({ ...facts(kind), run_keys: keysOf(runConfigSchema) });
}

export function addAlgos(program: Command): void {
  program
    .command("algos")
    .description("all algorithms, or one with its keys and presets")
    .argument("[algo]", "the name of one")
    .option("--json", "print the result as one JSON document")
    .action((name: string | undefined, options: { readonly json?: boolean }) => {
      process.stdout.write(algos(name, options, styleFor(process.stdout)));
    });
}
