/**
 * @file Where an error points: the kernel() call, the function's own text, and the original line of the file.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transformSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Load, Store } from "../../src/ir/nodes.ts";
import { placeOf } from "../../src/ir/places.ts";
import { eachExprIn, eachStmt } from "../../src/ir/walk.ts";
import { compileKernel } from "../../src/kernel/compile.ts";
import { constant, f32, inline } from "../../src/kernel/declare.ts";
import { KernelError } from "../../src/kernel/errors.ts";
import { compile, kernel, specOf } from "./support.ts";

const SOURCE = `import { compileKernel, f32, kernel, specOf } from "./front.mjs";

interface Options {
  readonly scale: number;
}
const made = kernel({ x: f32.array() }, ({ x }) => {
  const scale: number = 2;
  for (let i = 0; i < x.length; i++) {
    x[i] = x[i] * scale + (outside as number);
  }
});
try {
  compileKernel(specOf(made));
} catch (error) {
  console.log((error as Error).message);
}
export type { Options };
`;
/** Where \`outside\` stands in it. */
const ORIGINAL = /\.ts:9:(\d+)\n +x\[i\] = x\[i\] \* scale \+ \(outside as number\);/;

describe("the original line", () => {
  let folder = "";
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "lockstep-places-"));
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const contents = `
      export { compileKernel } from "${root}/src/kernel/compile.ts";
      export { f32 } from "${root}/src/kernel/declare.ts";
      export { kernel, specOf } from "${root}/test/kernel/support.ts";
      export { loadUserModule } from "${root}/src/platform/loader.ts";`;
    await build({
      stdin: { contents, resolveDir: root },
      outfile: join(folder, "front.mjs"),
      bundle: true,
      format: "esm",
      platform: "node",
      external: ["@swc/wasm-typescript"],
    });
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "user.ts"), SOURCE);
  }, 60_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const run = (...args: string[]): string => execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" });

  test("is found where types were replaced by blanks", () => {
    writeFileSync(
      join(folder, "main.mjs"),
      `import { loadUserModule } from "./front.mjs"; await loadUserModule("user.ts");`,
    );
    const message = run("main.mjs");
    expect(message).toMatch(ORIGINAL);
    expect(message).toMatch(/kernel\(\) is called at .*user\.ts:6:14/);
  });
  test("is found through a source map inside the file", () => {
    const { code } = transformSync(SOURCE, {
      loader: "ts",
      sourcemap: "inline",
      minify: true,
      sourcefile: "original.ts",
    });
    writeFileSync(join(folder, "minified.mjs"), code);
    expect(run("minified.mjs")).toMatch(ORIGINAL);
  });
  test("is found through Node's own source maps", () => {
    const { code, map } = transformSync(SOURCE, { loader: "ts", sourcemap: true, sourcefile: "original.ts" });
    writeFileSync(join(folder, "mapped.mjs"), `${code}//# sourceMappingURL=mapped.mjs.map\n`);
    writeFileSync(join(folder, "mapped.mjs.map"), map);
    writeFileSync(join(folder, "original.ts"), SOURCE);
    expect(run("--enable-source-maps", "mapped.mjs")).toMatch(ORIGINAL);
  });
});

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof KernelError) return error.message;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("a message", () => {
  test("shows the line, a caret, the call and the advice", () => {
    const made = kernel({ x: f32.array() }, ({ x }) => {
      x[0] = Math.random();
    });
    const message = messageOf(() => compileKernel(specOf(made)));
    expect(message).toMatch(/^kernel: `Math\.random` gives other numbers in each run\n/);
    expect(message).toMatch(/ 2 \| .*x\[0\] = Math\.random\(\);\n +\| +\^{11}\n/);
    expect(message).toMatch(/in the file: .*places\.test\.ts:\d+:\d+\n +x\[0\] = Math\.random\(\);/);
    expect(message).toMatch(/kernel\(\) is called at .*places\.test\.ts:\d+:\d+/);
    expect(message).toContain("what to write: take `rng` from the second parameter");
  });
  test("names the helper it is about", () => {
    const helper = inline((v: number) => v * missing.value);
    const declaration = { x: f32.array(), helper };
    const made = kernel(declaration, ({ x, helper }) => {
      x[0] = helper(x[1]);
    });
    const message = messageOf(() => compileKernel(specOf(made)));
    expect(message).toContain("`missing` is a value from outside");
    expect(message).toContain("in the helper helper");
  });
  test("cuts long lines around the place", () => {
    const long = `({ x }) => { ${"x[0] += 1; ".repeat(100)} x[1] = nowhere; ${"x[0] += 1; ".repeat(100)} }`;
    const fn = new Function(`return ${long}`)() as (...args: never[]) => unknown;
    const message = messageOf(() => compile({ x: f32.array() }, fn));
    expect(message).toMatch(/\| \.\.\..{60,80}nowhere.{60,80}\.\.\.\n +\| +\^{7}\n/);
  });
  test("names an imported value by its own name", () => {
    for (const text of ["__vite_ssr_import_1__.gamma", "__vi_import_0__.gamma", "import_config.gamma"]) {
      const fn = new Function(`return ({ x }) => { x[0] = ${text}; }`)() as (...args: never[]) => unknown;
      const message = messageOf(() => compile({ x: f32.array() }, fn));
      expect(message).toContain("`gamma` is a value from outside");
      expect(message).toContain("`gamma: constant(gamma)`");
    }
    const fn = new Function("return ({ x }) => { x[0] = (0, lib_1.helper)(2); }")() as (...args: never[]) => unknown;
    expect(messageOf(() => compile({ x: f32.array() }, fn))).toContain("`helper` is a value from outside");
  });
});
const missing = { value: 1 };

describe("what a declaration may hold", () => {
  test.each([
    [{ x: 5 }, "the declaration of `x` is 5"],
    [{ a: { b: "f32" } }, "the declaration of `a.b` is f32"],
    [{ x: f32.array(0) }, "the declaration of `x` has the length 0"],
    [{ x: f32.array().array() }, "is an array of arrays of unknown length"],
    [{ x: constant([]) }, "the constant table `x` is empty"],
    [{ x: constant("a" as unknown as number) }, "the constant `x` is a"],
  ])("%o", (declaration, problem) => {
    const fn = ({ x }: { x: unknown }) => x;
    const message = messageOf(() => compile(declaration as never, fn as never));
    expect(message).toContain(problem);
  });
  test("functions without source are refused", () => {
    expect(messageOf(() => compile({ x: f32 }, Math.max as never))).toContain("has no source text");
    const bound = (() => 1).bind(null);
    expect(messageOf(() => compile({ x: f32 }, bound as never))).toContain("has no source text");
    expect(messageOf(() => compile({ x: f32 }, undefined as never))).toContain("type undefined instead of a function");
  });
});

test("loads and stores know their line", () => {
  const module = compile({ x: f32.array() }, (({ x }: { x: Float32Array }) => {
    x[0] = x[1];
  }) as never);
  const places: (string | undefined)[] = [];
  const note = (node: Load | Store): number => places.push(placeOf(node));
  eachExprIn(module.entry.body, (e) => e.kind === "load" && note(e));
  eachStmt(module.entry.body, (s) => s.kind === "store" && note(s));
  expect(places).toEqual([
    expect.stringMatching(/^2:\d+ {2}x\[0\] = x\[1\];$/),
    expect.stringMatching(/^2:\d+ {2}x\[0\]/),
  ]);
});
