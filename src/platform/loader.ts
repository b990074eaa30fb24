/**
 * @file Loading a user's own module, TypeScript or JavaScript, in Node.
 *
 * Types are replaced by blanks, so that every line and column of what runs is that of the file: error messages need no
 * map. Node 22.18 and later do this themselves; for Node 20 the same stripper (swc's, which Node has built in) runs in
 * a loader hook. Only erasable syntax is accepted there: no enums, namespaces or parameter properties.
 */
import { existsSync } from "node:fs";
import { createRequire, register } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { importModule, runningBundle } from "./bundle.ts";
import { LockstepError } from "./errors.ts";

/** A user's module that cannot be loaded. */
export class ModuleError extends LockstepError {
  override readonly name: string = "ModuleError";
}

/**
 * The hooks, as a module of their own: Node runs them in a thread that shares nothing with this one. `data` names the
 * stripper (none where Node strips types itself), this file, from whose package `lockstep` is taken when the user's
 * folder has none installed, and the folders of the package's modules and, where this code is bundled, of those that
 * stand for them.
 */
const HOOKS = `
import { readFile } from "node:fs/promises";
let strip, own, modules, library;
export async function initialize(data) {
  ({ own, modules, library } = data);
  strip = data.stripper && (await import(data.stripper)).default.transformSync;
}
export async function resolve(specifier, context, next) {
  if (!/^lockstep(\\/|$)/.test(specifier)) return next(specifier, context);
  const found = await next(specifier, context).catch(() => next(specifier, { ...context, parentURL: own }));
  if (!library || !found.url.startsWith(modules)) return found;
  return { ...found, url: library + found.url.slice(modules.length) };
}
export async function load(url, context, next) {
  if (!url.startsWith("file:") || !/\\.m?ts$/.test(new URL(url).pathname)) return next(url, context);
  if (!strip) return next(url, { ...context, format: "module-typescript" });
  const source = await readFile(new URL(url), "utf8");
  try {
    const { code } = strip(source, { mode: "strip-only", module: true, filename: url });
    return { format: "module", source: code, shortCircuit: true };
  } catch (error) {
    const where = error.startLine === undefined ? "" : " (line " + error.startLine + ")";
    throw new SyntaxError((error.message ?? String(error)) + where + "\\n" + (error.snippet ?? ""));
  }
}
`;

/** Whether this Node replaces types by blanks itself. */
function stripsTypes(): boolean {
  const features = process.features as { readonly typescript?: unknown };
  return Boolean(features.typescript);
}

let registered = false;
function registerHooks(): void {
  if (registered) return;
  registered = true;
  const require = createRequire(import.meta.url);
  const stripper = stripsTypes() ? undefined : pathToFileURL(require.resolve("@swc/wasm-typescript")).href;
  const own = import.meta.url;
  const data = { stripper, own, modules: new URL("../", own).href, library: runningBundle()?.library };
  register(`data:text/javascript,${encodeURIComponent(HOOKS)}`, { data });
}

/** The exports of a module given by its path. */
export async function loadUserModule(path: string): Promise<{ readonly [name: string]: unknown }> {
  const file = resolve(path);
  if (!existsSync(file))
    throw new ModuleError(`there is no file ${file}; give the path of a .ts, .mts, .js or .mjs file with an export`);
  registerHooks();
  const address = pathToFileURL(file).href;
  try {
    return (await importModule(address)) as { readonly [name: string]: unknown };
  } catch (error) {
    if (error instanceof LockstepError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ModuleError(`${file} cannot be loaded: ${reason}`, { cause: error });
  }
}
