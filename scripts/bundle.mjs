/**
 * @file Bundles the command line of a build: `node scripts/bundle.mjs <folder>`, the folder as the compiler left it.
 *
 * Into cli/ go bundle.cjs, all code that the command can need, other packages included; library/, one module for each
 * that the package exports, which gives the same out of the bundle; and main.js, which starts it (src/cli/start.ts).
 * main.js comes last: until then the folder is what it was, and a compiler that is run by hand brings it back. One script,
 * and not modules, because that is what Node can keep compiled code of; names and lines stay, for people who read traces.
 * Kernels survive this as they survive any bundler.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, transform } from "esbuild";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const folder = resolve(process.argv[2] ?? join(ROOT, "dist"));
const cli = join(folder, "cli");

/** Packages that are loaded at run time, where they are installed. */
const EXTERNAL = ["koffi", "@resvg/resvg-js", "@swc/wasm-typescript"];

/** The modules that the package exports, as paths in the folder. @returns {string[]} */
function exported() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const files = Object.values(exports).flatMap((entry) => (typeof entry === "string" ? [] : [entry.default]));
  return files.map((file) => file.replace("./dist/", ""));
}

/** What the bundle exports: the command, and the package's modules, each run when it is first asked for. */
function entry() {
  const library = exported().map((file) => `${JSON.stringify(file)}: () => import("../${file}"),`);
  return [
    'export { main } from "./program.js";',
    'export { usedTargets } from "../runtime/targets.js";',
    `export const library = { ${library.join(" ")} };`,
  ].join("\n");
}

/**
 * Every module of ours goes on finding files by its own place, which is not that of the bundle. Of other packages only
 * the code is taken: their comments are half of them, and hold letters that are not ASCII.
 * @type {import("esbuild").Plugin}
 */
const reading = {
  name: "reading",
  setup({ onLoad }) {
    onLoad({ filter: /\.m?js$/ }, async ({ path }) => {
      const place = relative(folder, path).replaceAll("\\", "/");
      const text = readFileSync(path, "utf8");
      if (place.startsWith("../")) return { contents: (await transform(text, { minifyWhitespace: true })).code };
      if (!text.includes("import.meta.url")) return undefined;
      return { contents: `const importMetaUrl = placeInPackage(${JSON.stringify(place)});\n${text}` };
    });
  },
};
const PLACE_IN_PACKAGE =
  'const placeInPackage = (file) => new URL("../" + file, require("node:url").pathToFileURL(__filename)).href;';

/** The licences of the packages of which files went into the bundle. @param {string[]} inputs */
function licences(inputs) {
  const packages = new Set(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const texts = [...packages].sort().map((place) => {
    const name = readdirSync(join(folder, place)).find((file) => /^licen[cs]e/i.test(file));
    return `${place.replace(/^.*node_modules\//, "")}\n\n${name ? readFileSync(join(folder, place, name), "utf8") : ""}`;
  });
  return texts.join("\n");
}

async function bundleCommand() {
  const { metafile } = await build({
    stdin: { contents: entry(), resolveDir: cli, sourcefile: "cli/entry.js" },
    outfile: join(cli, "bundle.cjs"),
    // Paths in comments are the same wherever and whenever it is built.
    absWorkingDir: folder,
    preserveSymlinks: true,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    external: EXTERNAL,
    banner: { js: PLACE_IN_PACKAGE },
    define: { "import.meta.url": "importMetaUrl" },
    plugins: [reading],
    metafile: true,
    logLevel: "warning",
  });
  // Start.ts reads it a byte a letter, and the engine keeps it so.
  if (/[^\0-\x7f]/.test(readFileSync(join(cli, "bundle.cjs"), "utf8"))) throw new Error("the bundle is not ASCII");
  writeFileSync(join(cli, "bundle.licences.txt"), licences(Object.keys(metafile.inputs)));
}

/** A module that gives what one of the package's gives, by the same names. @param {string} file */
async function writeStandIn(file) {
  const names = Object.keys(await import(pathToFileURL(join(folder, file)).href));
  const path = join(cli, "library", file);
  const bundle = relative(dirname(path), join(cli, "bundle.cjs")).replaceAll("\\", "/");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(
    path,
    `import { createRequire } from "node:module";
const { library } = createRequire(import.meta.url)("${bundle}");
export const { ${names.join(", ")} } = await library["${file}"]();
`,
  );
}

if (!existsSync(join(cli, "start.js"))) throw new Error(`${folder} holds no build`);
await bundleCommand();
for (const file of exported()) await writeStandIn(file);
await build({
  entryPoints: [join(cli, "start.js")],
  outfile: join(cli, "main.js"),
  external: ["./program.js"],
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  logLevel: "warning",
});
