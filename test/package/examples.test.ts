/**
 * @file The examples of the README and the pages in docs/ run as they stand: every block that begins with an import.
 */
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = [
  "README.md",
  ...readdirSync(`${root}docs`, { recursive: true, encoding: "utf8" }).map((p) => `docs/${p}`),
];

/** The TypeScript blocks of a page that are whole programs, each with the line where it begins. */
function examplesOf(page: string): { readonly line: number; readonly code: string }[] {
  const text = readFileSync(root + page, "utf8");
  return [...text.matchAll(/```ts\n(import [\s\S]*?)```/g)].map((found) => ({
    line: text.slice(0, found.index).split("\n").length + 1,
    code: found[1] ?? "",
  }));
}

/** What the package gives under one of its names, from the sources. */
async function entry(name: string): Promise<object> {
  const exports: { readonly [name: string]: string | { readonly default: string } } = manifest.exports;
  const found = exports[name.replace("lockstep", ".")];
  const path = typeof found === "object" ? found.default : "";
  expect(path, `the package exports ${name}`).not.toBe("");
  return import(path.replace("./dist/", "../../src/").replace(/\.js$/, ".ts"));
}

/** Runs a program whose imports are all from the package; what it logs. */
async function runExample(code: string): Promise<string[]> {
  const erased = transformSync(code, { loader: "ts", format: "esm", target: "node20" }).code;
  const imports = /import \{([^}]*)\} from "(lockstep[^"]*)";/g;
  const entries = new Map<string, object>();
  for (const [, , name = ""] of erased.matchAll(imports)) entries.set(name, await entry(name));
  const body = erased
    .replace(
      imports,
      (_, names: string, name: string) => `const {${names.replace(/ as /g, ": ")}} = lockstep.get("${name}");`,
    )
    .replace(/^export \{[^}]*\};/gm, "");
  expect(body, "imports come from the package alone").not.toMatch(/^import /m);
  const logged: string[] = [];
  const own = body.replaceAll("runs/", `${mkdtempSync(join(tmpdir(), "lockstep-example-"))}/`);
  const console = { log: (...values: unknown[]) => void logged.push(values.join(" ")) };
  const run = new Function("lockstep", "console", `return (async () => {${own}\n})();`);
  await run(entries, console);
  return logged;
}

const examples = pages
  .filter((page) => page.endsWith(".md"))
  .flatMap((page) => examplesOf(page).map((example) => ({ page, ...example })));

describe("examples in the documentation", () => {
  test("there are some", () => expect(examples.map(({ page }) => page)).toContain("README.md"));
  test.each(examples)("$page, line $line", async ({ code }) => {
    const logged = await runExample(code);
    // What an example claims of itself it prints as true or false.
    expect(logged.filter((line) => /undefined|NaN|\bfalse\b/.test(line))).toEqual([]);
    if (code.includes("console.log")) expect(logged.length).toBeGreaterThan(0);
  });
});
