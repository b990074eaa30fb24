/**
 * @file docs/configuration.md lists every key of the run and every name of other tools.
 *
 * With LOCKSTEP_UPDATE_DOCS=1 its tables are written anew.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { DERIVED, SPELLINGS } from "../../../src/train/config/derived.ts";
import { describeConfig, readConfigText, resolveConfig, runConfigSchema } from "../../../src/train/config/index.ts";
import { ALIASES, camelCase, GROUPS, HARMLESS, snakeCase, UNSUPPORTED } from "../../../src/train/config/names.ts";
import { expected } from "../../../src/train/config/values.ts";
import { fromYaml, refusal, resolve, schema } from "./support.ts";

const FILE = fileURLToPath(new URL("../../../docs/configuration.md", import.meta.url));
const cell = (text: string): string => text.replaceAll("|", "\\|");
const code = (text: string): string => `\`${text}\``;
const table = (head: string, rows: readonly string[]): string =>
  [head, head.replace(/[^|]+/g, "---"), ...rows, ""].join("\n");

function runKeys(): string {
  const rows = Object.entries(runConfigSchema.shape).map(([key, node]) => {
    const { success, data } = node.safeParse(undefined);
    const value = success ? code(JSON.stringify(data)) : "";
    return `| ${code(key)} | ${value} | ${cell(node.description ?? "")} | ${cell(expected(node))} |`;
  });
  return table("| key | default | what it is | values |", rows);
}

function names(): string {
  const meaning = (key: string): string => (DERIVED[key] ?? SPELLINGS[key])?.meaning ?? "";
  const keys = new Set([...Object.keys(ALIASES), ...Object.keys(SPELLINGS), ...Object.keys(DERIVED)]);
  const rows = [...keys].map((key) => {
    const others = [...(key in DERIVED ? [key] : []), ...(ALIASES[key] ?? [])].map((name) => code(snakeCase(name)));
    return `| ${key in DERIVED ? "" : code(key)} | ${others.join(", ")} | ${cell(meaning(key))} |`;
  });
  const refused = Object.entries(UNSUPPORTED).map(([key, { harmless, why }]) => {
    const accepted = harmless.map((value) => code(JSON.stringify(value))).join(", ");
    return `| | ${code(snakeCase(key))} | only ${accepted}: ${why} |`;
  });
  const groups = Object.entries(GROUPS).map(([key, { members = {} }]) => {
    const inside = Object.keys(members).map((name) => code(snakeCase(name)));
    return `| | ${code(snakeCase(key))} | ${inside.length > 0 ? `a mapping: ${inside.join(", ")}` : "a mapping of keys"} |`;
  });
  return table("| here | elsewhere | what is said |", [...rows, ...groups, ...refused]);
}

const harmless = (): string => `${HARMLESS.map((name) => code(snakeCase(name))).join(", ")}.\n`;

describe("docs/configuration.md", () => {
  test.each([
    ["run keys", runKeys],
    ["names", names],
    ["harmless", harmless],
  ])("lists all %s", (name, make) => {
    const text = readFileSync(FILE, "utf8");
    const [begin, end] = [`<!-- ${name}: begin -->\n`, `<!-- ${name}: end -->`];
    const [before = "", rest = ""] = text.split(begin);
    const [found = "", after = ""] = rest.split(end);
    if (process.env.LOCKSTEP_UPDATE_DOCS) writeFileSync(FILE, before + begin + make() + end + after);
    else expect(found, "LOCKSTEP_UPDATE_DOCS=1 writes the table anew").toBe(make());
  });

  test("has examples that are read", () => {
    const text = readFileSync(FILE, "utf8");
    const [own = "", zoo = ""] = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map((found) => found[1] ?? "");
    expect(fromYaml(own)).toMatchObject({ nEnvs: 16, learningRate: "lin_1e-3", netArch: [64, 64] });
    expect(fromYaml(zoo, { env: "Pendulum-v1" })).toMatchObject({ nEnvs: 8, normalizeObs: true, activation: "relu" });
    const sets = [...text.matchAll(/^--set (\S+)/gm)].map((found) => found[1] ?? "");
    expect(sets.length).toBeGreaterThan(4);
    for (const set of sets) resolve({ sets: [set] });
  });
  test("shows what is printed", () => {
    const shown = /```\n(tuned for[\s\S]*?)```/.exec(readFileSync(FILE, "utf8"))?.[1];
    const row = {
      preset: "sb3",
      nSteps: 32,
      gamma: 0.98,
      gaeLambda: 0.8,
      learningRate: "lin_0.001",
      clipRange: "lin_0.2",
    };
    const presets = { sb3: { nEpochs: 10, batchSize: 64 } };
    const tuned = { ppo: { "CartPole-v1": row } };
    const lines = describeConfig(
      resolveConfig({ schema, presets, tuned, algo: "ppo", env: "CartPole-v1", sets: ["netArch=[32,32]"] }),
    );
    expect(shown?.trimEnd().split("\n")).toEqual(lines);
  });
  test("shows what is said of a file", () => {
    const text = /```\nerror: (2 things[\s\S]*?)\n```/.exec(readFileSync(FILE, "utf8"))?.[1];
    const file = readConfigText("# one\nlr: 1\nn_env: 3\n# four\n# five\n# six\ngamma: 1.5\n", "yaml", "ppo.yml");
    expect(refusal(() => resolve({ file }))).toBe(`ConfigError: ${text}`);
  });
});

describe("the tables of names", () => {
  test("stand in camelCase, and no name means two things that one algorithm has", () => {
    const all = [
      ...Object.entries(ALIASES).flat(2),
      ...HARMLESS,
      ...Object.keys({ ...DERIVED, ...GROUPS, ...UNSUPPORTED }),
    ];
    expect(all.filter((name) => camelCase(name) !== name || camelCase(snakeCase(name)) !== name)).toEqual([]);
    const others = Object.values(ALIASES).flat();
    const twice = others.filter((name, k) => others.indexOf(name) !== k);
    // The epsilon of whichever optimiser the algorithm has.
    expect(twice).toEqual(["optimizerEps"]);
    expect(others.filter((name) => name in ALIASES || name in runConfigSchema.shape)).toEqual([]);
    const tables = [...Object.keys(DERIVED), ...Object.keys(GROUPS), ...Object.keys(UNSUPPORTED), ...HARMLESS];
    expect(new Set(tables).size).toBe(tables.length);
  });
});
