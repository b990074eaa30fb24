/**
 * @file The examples of the README and the pages in docs/ run as they stand: every block that begins with an import.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { describe, expect, test } from "vitest";
import * as lockstep from "../../src/index.ts";

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

/** Runs a program whose imports are all from the package; what it logs. */
async function runExample(code: string): Promise<string[]> {
  const erased = transformSync(code, { loader: "ts", format: "esm", target: "node20" }).code;
  const body = erased
    .replace(/import \{([^}]*)\} from "lockstep";/g, "const {$1} = lockstep;")
    .replace(/^export \{[^}]*\};/gm, "");
  expect(body, "imports come from the package alone").not.toMatch(/^import /m);
  const logged: string[] = [];
  const console = { log: (...values: unknown[]) => void logged.push(values.join(" ")) };
  const run = new Function("lockstep", "console", `return (async () => {${body}\n})();`);
  await run(lockstep, console);
  return logged;
}

const examples = pages
  .filter((page) => page.endsWith(".md"))
  .flatMap((page) => examplesOf(page).map((example) => ({ page, ...example })));

describe("examples in the documentation", () => {
  test("there are some", () => expect(examples.map(({ page }) => page)).toContain("README.md"));
  test.each(examples)("$page, line $line", async ({ code }) => {
    const logged = await runExample(code);
    expect(logged.every((line) => !/undefined|NaN/.test(line))).toBe(true);
    if (code.includes("console.log")) expect(logged.length).toBeGreaterThan(0);
  });
});
