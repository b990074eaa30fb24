/**
 * @file The package as a user gets it: packed, installed in an empty folder, every subpath imported, the command run.
 *
 * The installation takes dependencies from npm's cache where it has them.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MINUTES = 60_000;

interface Manifest {
  readonly bin: { readonly [name: string]: string };
  readonly exports: { readonly [subpath: string]: { readonly types: string; readonly default: string } | string };
}
const manifest: Manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

let folder = "";
let installed = "";

/** Runs a program in the folder and returns what it printed. */
function run(program: string, args: readonly string[], cwd = folder): string {
  return execFileSync(program, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 64e6,
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32",
  });
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-pack-"));
  run("npm", ["pack", "--silent", "--pack-destination", folder], ROOT);
  const archive = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "";
  writeFileSync(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  run("npm", ["install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", `./${archive}`]);
  installed = join(folder, "node_modules", "lockstep");
}, 5 * MINUTES);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the installed package", () => {
  test("holds what it needs and no more", () => {
    const names = readdirSync(installed);
    expect(names.filter((name) => name !== "node_modules").sort()).toEqual([
      "LICENSE",
      "README.md",
      "dist",
      "package.json",
    ]);
    expect(existsSync(join(installed, "dist", ".stamp"))).toBe(false);
  });

  test("every subpath can be imported and has types", () => {
    const subpaths = Object.entries(manifest.exports).flatMap(([subpath, entry]) => {
      if (typeof entry === "string") return [];
      expect(existsSync(join(installed, entry.types)), entry.types).toBe(true);
      return [subpath.replace(/^\./, "lockstep")];
    });
    expect(subpaths).toContain("lockstep");
    const script = `
      for (const name of ${JSON.stringify(subpaths)}) {
        console.log(name, Object.keys(await import(name)).length > 0 ? "has exports" : "is empty");
      }`;
    const lines = run(process.execPath, ["--input-type=module", "-e", script]).trim().split("\n");
    expect(lines).toEqual(subpaths.map((name) => `${name} has exports`));
  });

  test("nothing else can be imported", () => {
    const script = 'await import("lockstep/dist/cli/main.js").catch((e) => console.log(e.code))';
    expect(run(process.execPath, ["--input-type=module", "-e", script]).trim()).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED");
  });

  test("can be bundled for a browser, and runs there without anything of Node", () => {
    const names = Object.keys(manifest.exports).filter((name) => !["./bench", "./package.json"].includes(name));
    const text = names.map((name, k) => `export * as m${k} from "${name.replace(/^\./, "lockstep")}";\n`);
    writeFileSync(join(folder, "browser.js"), text.join(""));
    const bundle = buildSync({
      entryPoints: [join(folder, "browser.js")],
      bundle: true,
      platform: "browser",
      format: "esm",
      write: false,
    });
    expect(bundle.warnings).toEqual([]);
    const code = bundle.outputFiles[0]?.text ?? "";
    expect(code).not.toMatch(/from "node:|import\("node:|koffi/);
    // A module of an object that is not Node's: no `process` anywhere.
    const script = `
      import { readFileSync } from "node:fs";
      const code = readFileSync("browser.bundle.js", "utf8");
      delete globalThis.process;
      const { m0 } = await import("data:text/javascript;base64," + Buffer.from(code).toString("base64"));
      const twice = m0.kernel({ x: m0.f32.array() }, ({ x }) => { for (let i = 0; i < x.length; i++) x[i] *= 2; });
      const x = m0.allocateFrom(m0.f32, [1, 2, 3]);
      twice({ x });
      console.log(m0.chooseTarget().target.name, ...x);`;
    writeFileSync(join(folder, "browser.bundle.js"), code);
    expect(run(process.execPath, ["--input-type=module", "-e", script]).trim()).toBe("wasm 2 4 6");
  });

  test("npx lockstep doctor runs", { timeout: 2 * MINUTES }, () => {
    expect(run("npx", ["--no-install", "lockstep", "doctor"])).toContain("auto");
    const facts: unknown = JSON.parse(run("npx", ["--no-install", "lockstep", "doctor", "--json"]));
    expect(facts).toMatchObject({ node: { version: process.versions.node } });
  });

  test("a type check of its declarations passes", { timeout: 2 * MINUTES }, () => {
    const names = Object.keys(manifest.exports).filter((name) => name !== "./package.json");
    const text = names.map((name, k) => `import * as m${k} from "${name.replace(/^\./, "lockstep")}";\nvoid m${k};\n`);
    writeFileSync(join(folder, "use.ts"), text.join(""));
    const options = { module: "nodenext", strict: true, noEmit: true, lib: ["es2023", "dom"], types: [] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: ["use.ts"] }));
    const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    expect(run(process.execPath, [compiler, "-p", folder])).toBe("");
  });
});
