/**
 * @file The documentation says what the code does: the kernel language's page lists every refusal and every function.
 *
 * With LOCKSTEP_UPDATE_DOCS=1 the table of refusals is written anew.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { ALGORITHMS } from "../../src/algorithms/registry.ts";
import { environmentOutlines } from "../../src/envs/registry.ts";
import { describeSpace } from "../../src/envs/spaces.ts";
import { PASSES } from "../../src/ir/pipeline.ts";
import {
  ARRAY_CONSTRUCTORS,
  GLOBAL_FUNCTIONS,
  INTRINSICS,
  MATH_CONSTANTS,
  MATH_FUNCTIONS,
  NUMBER_CONSTANTS,
  NUMBER_FUNCTIONS,
} from "../../src/kernel/globals.ts";
import { REFUSED } from "../../src/kernel/refusals.ts";
import { Tensor } from "../../src/tensor/tensor.ts";

const page = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const BEGIN = "<!-- refusals: begin -->\n";
const END = "<!-- refusals: end -->";

function refusalsTable(): string {
  const cell = (text: string): string => text.replaceAll("|", "\\|");
  const code = (text: string): string => cell(text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``);
  const rows = Object.entries(REFUSED).map(
    ([name, row]) => `| ${name} | ${cell(row.problem)} | ${cell(row.advice)} | ${code(row.example)} |`,
  );
  return ["| name | what is said | what to write | example |", "|---|---|---|---|", ...rows, ""].join("\n");
}

describe("docs/kernels.md", () => {
  const file = page("docs/kernels.md");
  const text = readFileSync(file, "utf8");

  test("lists every refused construct, and no others", () => {
    const [before = "", rest = ""] = text.split(BEGIN);
    const [table = "", after = ""] = rest.split(END);
    if (process.env.LOCKSTEP_UPDATE_DOCS) writeFileSync(file, before + BEGIN + refusalsTable() + END + after);
    else expect(table, "LOCKSTEP_UPDATE_DOCS=1 writes the table anew").toBe(refusalsTable());
  });

  test("names every function and constant that kernels know", () => {
    const words = new Set(text.match(/\w+/g));
    const known = [
      ...MATH_FUNCTIONS,
      ...MATH_CONSTANTS.keys(),
      ...NUMBER_CONSTANTS.keys(),
      ...NUMBER_FUNCTIONS.keys(),
      ...GLOBAL_FUNCTIONS.keys(),
      ...INTRINSICS,
    ];
    expect(known.filter((name) => !words.has(name))).toEqual([]);
    expect([...ARRAY_CONSTRUCTORS.keys()].some((name) => words.has(name))).toBe(true);
  });
});

describe("docs/data-plane.md", () => {
  test("names everything that the data plane exports", () => {
    const text = readFileSync(page("docs/data-plane.md"), "utf8");
    const parts = ["buffers", "kernels/estimators", "kernels/llm", "kernels/running"];
    const exported = parts.flatMap((part) => {
      const lists = readFileSync(page(`src/${part}/index.ts`), "utf8").matchAll(/export (?:type )?\{([^}]*)\}/g);
      return [...lists].flatMap(([, names = ""]) => names.split(",").map((name) => name.replace("type ", "").trim()));
    });
    expect(exported.length).toBeGreaterThan(100);
    expect(exported.filter((name) => name !== "" && !text.includes(`\`${name}\``))).toEqual([]);
  });
});

describe("docs/tensors.md", () => {
  const text = readFileSync(page("docs/tensors.md"), "utf8");
  const code = new Set((text.match(/```[\s\S]*?```|`[^`]+`/g) ?? []).flatMap((part) => part.match(/\w+/g) ?? []));
  /** Names that a file exports, by lists, as declarations, or of other files as a whole. */
  const exportsOf = (file: string): string[] => {
    const source = readFileSync(page(file), "utf8");
    const lists = [...source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names = ""]) => names.split(","));
    const declared = [...source.matchAll(/^export (?:const|function|class|interface|type) (\w+)/gm)].map(
      ([, x]) => x ?? "",
    );
    const others = [...source.matchAll(/^export \* from "\.\/(.*)"/gm)].map(([, other]) => `${file}/../${other}`);
    return [...lists.map((name) => name.replace("type ", "").trim()), ...declared, ...others.flatMap(exportsOf)];
  };
  test.each(["tensor", "nn", "optim", "distributions"])("names everything that lockstep/%s exports", (part) => {
    const exported = exportsOf(`src/${part}/index.ts`).filter((name) => name !== "");
    expect(exported.length).toBeGreaterThan(15);
    expect(exported.filter((name) => !code.has(name))).toEqual([]);
  });
  test("names every operation of tensors", () => {
    const own = Object.getOwnPropertyNames(Tensor.prototype).filter((name) => name !== "constructor");
    expect(own.filter((name) => !code.has(name))).toEqual([]);
  });
});

describe("docs/environments.md", () => {
  const file = page("docs/environments.md");
  const text = readFileSync(file, "utf8");
  const [begin, end] = ["<!-- environments: begin -->\n", "<!-- environments: end -->"];
  const rows = environmentOutlines.map(
    ({ id, observation, action, maxSteps, solved }) =>
      `| \`${id}\` | ${describeSpace(observation)} | ${describeSpace(action)} | ${maxSteps} | ${solved} |`,
  );
  const table = ["| id | observation | action | length | solved |", "|---|---|---|---|---|", ...rows, ""].join("\n");

  test("lists every environment", () => {
    const [before = "", rest = ""] = text.split(begin);
    const [found = "", after = ""] = rest.split(end);
    if (process.env.LOCKSTEP_UPDATE_DOCS) writeFileSync(file, before + begin + table + end + after);
    else expect(found, "LOCKSTEP_UPDATE_DOCS=1 writes the table anew").toBe(table);
  });
  test("names every wrapper and every way to make an environment", () => {
    const named = ["wrappers", "bsuite"].flatMap((part) => {
      const lists = readFileSync(page(`src/envs/${part}/index.ts`), "utf8").matchAll(/export \{([^}]*)\}/g);
      return [...lists].flatMap(([, names = ""]) => names.split(",").map((name) => name.trim()));
    });
    const functions = named.filter((name) => /^[a-z]/.test(name) && !name.startsWith("type "));
    expect(functions.length).toBeGreaterThan(9);
    expect(functions.filter((name) => !text.includes(`\`${name}(`))).toEqual([]);
  });
});

describe("docs/algorithms", () => {
  const canonical = (text: string): string => (/^[\d.e-]+$/.test(text) ? String(Number(text)) : text);
  test.each(Object.values(ALGORITHMS))("$name.md has the values of every preset", ({ name, schema, presets }) => {
    const text = readFileSync(page(`docs/algorithms/${name}.md`), "utf8");
    const rows = [...text.matchAll(/^\| (`.*)\|$/gm)].map(([, row = ""]) => row.split("|").map((cell) => cell.trim()));
    const names = /^\| key \| default \|(.*)\|$/m.exec(text)?.[1]?.match(/\w+/g) ?? [];
    expect(names).toEqual(Object.keys(presets));
    const configs = [{}, ...Object.values(presets)].map((preset): { [key: string]: unknown } => schema.parse(preset));
    const told = rows.filter(([, ...cells]) => cells.length === configs.length);
    expect(told.length).toBeGreaterThan(5);
    for (const [first = "", ...cells] of told) {
      const keys = first.split(":")[0]?.match(/\w+(?=`)/g) ?? [];
      const values = configs.map((config) => keys.map((key) => String(config[key])));
      expect(cells.map((cell) => cell.split(/ x |, /).map(canonical))).toEqual(values);
    }
    const differing = new Set(Object.values(presets).flatMap((preset) => Object.keys(preset)));
    expect([...differing].filter((key) => !text.includes(`\`${key}\``))).toEqual([]);
  });
});

describe("docs/architecture.md", () => {
  const text = readFileSync(page("docs/architecture.md"), "utf8");

  test("names every folder of the sources", () => {
    const folders = readdirSync(page("src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map(({ name }) => name).filter((name) => !text.includes(`\`${name}/\``))).toEqual([]);
  });
  test("names every pass, in order", () => {
    const places = PASSES.map(({ name }) => text.search(new RegExp(`\\| .*\\b${name}  `, "m")));
    expect(places.every((place) => place >= 0)).toBe(true);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });
});

describe("links between pages", () => {
  const inDocs = readdirSync(page("docs"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".md"),
  );
  test.each(["README.md", "CONTRIBUTING.md", ...inDocs.map((name) => `docs/${name}`)])(
    "%s points to files that are there",
    (name) => {
      const text = readFileSync(page(name), "utf8");
      const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map((found) => found[1] ?? "");
      const paths = [...text.matchAll(/`((?:src|test|docs|scripts)\/[\w./-]+)`/g)].map((found) => found[1] ?? "");
      const folder = name.includes("/") ? name.replace(/[^/]*$/, "") : "";
      for (const path of links) expect(() => readFileSync(page(folder + path)), path).not.toThrow();
      for (const path of paths.filter((p) => /\.\w+$/.test(p)))
        expect(() => readFileSync(page(path)), path).not.toThrow();
    },
  );
});
