/**
 * @file The layering: arrows between the folders of src/ point down only, Node's modules are used only where there is
 * a Node, targets do not know each other, and no files import each other in a circle.
 */
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { type ImportGraph, importsOf, readGraph } from "./imports.ts";

/** From top to bottom; folders in one row may use each other (the check for circles still holds). */
const LAYERS: readonly (readonly string[])[] = [
  ["cli"],
  ["bench"],
  ["index.ts"],
  ["train"],
  ["stats", "charts"],
  ["algorithms"],
  ["nn", "optim", "distributions"],
  ["tensor"],
  ["envs"],
  ["buffers"],
  ["kernels"],
  ["kernel"],
  ["random", "math"],
  ["runtime"],
  ["targets"],
  ["ir"],
  ["platform"],
];
/** Files that bundlers for browsers put in the place of others, by the paths of their sources. */
const inSources = (path: string): string => path.replace(/^\.\/dist\//, "").replace(/\.js$/, ".ts");
const IN_BROWSERS: ReadonlyMap<string, string> = new Map(
  Object.entries(manifest.browser).map(([file, instead]) => [inSources(file), inSources(instead)]),
);
const NODE_PLACES: readonly RegExp[] = [/^platform\//, /^cli\//, /^bench\//, /^targets\/native\//];
/** Packages that the browser-safe part may import. */
const PACKAGES: ReadonlySet<string> = new Set(["acorn", "yaml", "zod"]);

const layerOf = (file: string): number => LAYERS.findIndex((row) => row.includes(file.split("/")[0] ?? ""));
const targetOf = (file: string): string | undefined => /^targets\/([^/]+)\//.exec(file)?.[1];

function layeringFaults(graph: ImportGraph): string[] {
  const faults: string[] = [];
  for (const [file, imports] of graph) {
    if (layerOf(file) < 0) faults.push(`${file} stands in no known layer`);
    for (const { target, line } of imports) {
      const isFile = target.endsWith(".ts");
      if (isFile && !graph.has(target)) faults.push(`${line}, which is not there`);
      else if (isFile && layerOf(target) < layerOf(file)) faults.push(`${line}: upwards`);
      else if (isFile && targetOf(target) && targetOf(file) && targetOf(target) !== targetOf(file)) {
        faults.push(`${line}: one target knows another`);
      } else if (!isFile && !PACKAGES.has(target) && !NODE_PLACES.some((place) => place.test(file))) {
        faults.push(`${line}: only for Node`);
      }
    }
  }
  return faults;
}

/** Places with Node's modules that files outside such places load without asking: a browser would stop there. */
function nodeInBrowsers(graph: ImportGraph): string[] {
  const faults = new Set<string>();
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const { target, line, isStatic } of graph.get(file) ?? []) {
      if (!isStatic) continue;
      if (graph.has(target)) visit(IN_BROWSERS.get(target) ?? target);
      else if (!PACKAGES.has(target)) faults.add(line);
    }
  };
  for (const file of graph.keys()) if (!NODE_PLACES.some((place) => place.test(file))) visit(file);
  return [...faults];
}

/** Import circles between files, each as the chain that closes it. */
function circles(graph: ImportGraph): string[] {
  const found: string[] = [];
  const state = new Map<string, "open" | "done">();
  const visit = (file: string, chain: readonly string[]): void => {
    if (state.get(file) === "done") return;
    if (state.get(file) === "open") {
      found.push([...chain.slice(chain.indexOf(file)), file].join(" -> "));
      return;
    }
    state.set(file, "open");
    for (const { target } of graph.get(file) ?? []) if (graph.has(target)) visit(target, [...chain, file]);
    state.set(file, "done");
  };
  for (const file of graph.keys()) visit(file, []);
  return found;
}

/** A made-up graph: file names with the targets of their imports. */
const graphOf = (files: { readonly [file: string]: readonly string[] }): ImportGraph =>
  new Map(
    Object.entries(files).map(([file, targets]) => [
      file,
      targets.map((target) => ({ target, line: `${file} imports ${target}`, isStatic: !target.startsWith("later ") })),
    ]),
  );

describe("the sources", () => {
  const graph = readGraph(fileURLToPath(new URL("../../src", import.meta.url)));

  test("are found", () => {
    expect([...graph.keys()]).toEqual(expect.arrayContaining(["ir/nodes.ts", "cli/main.ts", "bench/timing.ts"]));
  });
  test("import downwards only, and Node only where it is", () => {
    expect(layeringFaults(graph)).toEqual([]);
  });
  test("load in a browser, all but what belongs to Node", () => {
    expect(nodeInBrowsers(graph)).toEqual([]);
  });
  test("have what browsers get in their place", () => {
    expect([...IN_BROWSERS].flat().filter((file) => !graph.has(file))).toEqual([]);
  });
  test("have no import circles", () => {
    expect(circles(graph)).toEqual([]);
  });
});

describe("the check itself", () => {
  test("reads every form of import", () => {
    const source = `
      import a from "one";
      import type { B } from "two";
      import { type C, d } from "three";
      export type { E } from "four";
      export * from "five";
      export { f } from "six";
      // import g from "comment";
      const text = 'import h from "string"';
      const later = async () => (await import("seven")).x + process.getBuiltinModule("eight") + (await import(text));
    `;
    const found = importsOf(source);
    expect(found.map(({ name }) => name)).toEqual("one two three four five six seven eight ?".split(" "));
    expect(found.filter(({ isStatic }) => !isStatic).map(({ name }) => name)).toEqual(["seven", "eight", "?"]);
  });
  test("finds arrows that point up", () => {
    expect(layeringFaults(graphOf({ "ir/a.ts": ["kernel/b.ts"], "kernel/b.ts": ["ir/a.ts"] }))).toEqual([
      "ir/a.ts imports kernel/b.ts: upwards",
    ]);
  });
  test("finds Node's modules and packages outside their places", () => {
    const graph = graphOf({ "math/a.ts": ["node:fs", "acorn", "?"], "platform/b.ts": ["node:fs"] });
    expect(layeringFaults(graph)).toEqual([
      "math/a.ts imports node:fs: only for Node",
      "math/a.ts imports ?: only for Node",
    ]);
  });
  test("finds targets that know each other, unknown folders and missing files", () => {
    const graph = graphOf({
      "targets/js/a.ts": ["targets/wasm/b.ts"],
      "targets/wasm/b.ts": ["ir/gone.ts"],
      "misc/c.ts": [],
    });
    expect(layeringFaults(graph)).toEqual([
      "targets/js/a.ts imports targets/wasm/b.ts: one target knows another",
      "targets/wasm/b.ts imports ir/gone.ts, which is not there",
      "misc/c.ts stands in no known layer",
    ]);
  });
  test("finds Node's modules behind other files", () => {
    const graph = graphOf({ "runtime/a.ts": ["platform/b.ts"], "platform/b.ts": ["node:os", "later node:fs"] });
    expect(nodeInBrowsers(graph)).toEqual(["platform/b.ts imports node:os"]);
  });
  test("finds circles", () => {
    const graph = graphOf({ "ir/a.ts": ["ir/b.ts"], "ir/b.ts": ["ir/c.ts"], "ir/c.ts": ["ir/b.ts"] });
    expect(circles(graph)).toEqual(["ir/b.ts -> ir/c.ts -> ir/b.ts"]);
  });
});
