/**
 * @file Users' TypeScript files: types become blanks, what cannot be erased is refused. In a process of its own,
 * because the loader's hooks are for the whole process.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
let folder = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-loader-"));
  await build({
    entryPoints: [join(root, "src/platform/loader.ts")],
    outfile: join(folder, "loader.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    external: ["@swc/wasm-typescript"],
  });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What a process prints that loads files and evaluates `expression` over their exports. */
function evaluate(files: { readonly [name: string]: string }, expression: string): string {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const main = `import { loadUserModule } from "./loader.mjs";
    const first = ${JSON.stringify(Object.keys(files)[0] ?? "missing.ts")};
    try { const user = await loadUserModule(first); console.log(${expression}); }
    catch (error) { console.log(error.name + ": " + error.message); }`;
  writeFileSync(join(folder, "main.mjs"), main);
  return execFileSync(process.execPath, ["main.mjs"], { cwd: folder, encoding: "utf8" });
}

test("types become blanks, in imported files too", () => {
  const files = {
    "env.ts": `import { gravity } from "./constants.ts";\nexport const step = (x: number, dt?: number): number =>\n  x + (gravity as number) * (dt ?? 1);\n`,
    "constants.ts": "export interface Unused { a: string }\nexport const gravity: number = 9.8;\n",
  };
  const printed = evaluate(files, "user.step(1) + '|' + user.step.toString()");
  expect(printed).toBe(`10.8|(x        , dt         )         =>\n  x + (gravity          ) * (dt ?? 1)\n`);
});
test("what cannot be erased is refused with its line", () => {
  const printed = evaluate({ "bad.ts": "export const a = 1;\nexport enum Kind { One }\n" }, "user.a");
  expect(printed).toMatch(/^ModuleError: .*bad\.ts cannot be loaded: .*enum/);
});
test("a file that is not there is named", () => {
  expect(evaluate({}, "user")).toMatch(/^ModuleError: there is no file .*missing\.ts; give the path/);
});
test("an error of the user's own code keeps its message", () => {
  const printed = evaluate({ "throws.ts": "export const a: number = 1;\nthrow new Error('from inside');\n" }, "user.a");
  expect(printed).toContain("throws.ts cannot be loaded: from inside");
});
