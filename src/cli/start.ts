#!/usr/bin/env node
/**
 * @file How the built command starts: all of its code is one script (scripts/bundle.mjs), with what the engine compiled
 * of it in earlier runs.
 *
 * Hundreds of modules take as long to find and read as small runs take to train, and compiling their functions takes as
 * long again. What the engine compiled is kept with all else that is kept between runs, per command, in a folder that
 * must be private; the engine accepts it from its own version with the same flags only, so flags that a target would set
 * later are set before. It is kept anew when a run used a target that the earlier ones did not, since such a run went
 * through other code. Nothing of this changes what a command does: without a folder to keep things in, it starts more
 * slowly.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire, Module } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedDataVersionTag } from "node:v8";
import { Script } from "node:vm";
import { LibraryCache } from "../targets/native/cache.ts";
import { setLastingFlags } from "../targets/wasm/flags.ts";
import type { main } from "./program.ts";

/** What the bundle exports. */
interface Bundled {
  readonly main: typeof main;
  readonly usedTargets: () => readonly string[];
}
type Wrapper = (exports: object, require: NodeJS.Require, module: Module, file: string, folder: string) => void;

/** Compiled code of earlier runs, and what ran when it was kept. */
interface Kept {
  readonly code: Uint8Array;
  readonly parts: readonly string[];
}
const NEWLINE = 10;

/** Code first, where it is aligned as the engine wants it, then the parts on a line of their own. */
const packed = ({ code, parts }: Kept): Uint8Array => Buffer.concat([code, Buffer.from(`\n${parts.join(" ")}`)]);
function unpacked(bytes: Uint8Array): Kept {
  const end = bytes.lastIndexOf(NEWLINE);
  const parts = Buffer.from(bytes.subarray(end + 1)).toString();
  return { code: bytes.subarray(0, end), parts: parts.split(" ") };
}

function openCache(): LibraryCache | undefined {
  try {
    return LibraryCache.fromEnvironment(process.env, "code");
  } catch {
    return undefined;
  }
}

/** Keeps what was compiled in a run that went well and through parts that are not kept yet. */
function keep(
  cache: LibraryCache,
  key: string,
  script: Script,
  before: Kept | undefined,
  ran: readonly string[],
): void {
  const known = before?.parts ?? [];
  if (ran.every((part) => known.includes(part))) return;
  try {
    cache.writeBytes(key, packed({ code: script.createCachedData(), parts: [...new Set([...known, ...ran])] }));
    cache.evict();
  } catch {
    // A full disk, say: the next run compiles again.
  }
}

/** Compiles the bundle; what is compiled by the end of the process is kept. */
function compile(file: string, source: string, version: string, ran: () => readonly string[]): Wrapper {
  setLastingFlags();
  const cache = openCache();
  const tag = cachedDataVersionTag();
  const key = [version, tag, process.version, process.arch, process.argv[2] ?? ""].join(" ");
  const bytes = cache?.readBytes(key);
  const kept = bytes && unpacked(bytes);
  const script = new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename: file,
    ...(kept ? { cachedData: kept.code } : {}),
  });
  const valid = script.cachedDataRejected ? undefined : kept;
  process.on("exit", (code) => {
    if (cache && code === 0 && cachedDataVersionTag() === tag) keep(cache, key, script, valid, ran());
  });
  return script.runInThisContext();
}

/** The bundle as a module that can be required: what stands for the package's own modules does so. */
function load(file: string, content: Buffer, version: string): Bundled {
  const module = new Module(file);
  const require = createRequire(file);
  const bundled = (): Bundled => module.exports;
  const run = compile(file, content.toString("latin1"), version, () => ["itself", ...bundled().usedTargets()]);
  require.cache[file] = module;
  run(module.exports, require, module, file, dirname(file));
  module.loaded = true;
  return bundled();
}

/** Commands that show the text of their own functions, or run it elsewhere: a bundler may have changed names in it. */
const AS_WRITTEN: readonly (string | undefined)[] = ["bench", "tour"];

async function start(): Promise<void> {
  if (AS_WRITTEN.includes(process.argv[2])) return (await import("./program.ts")).main();
  const file = fileURLToPath(new URL("./bundle.cjs", import.meta.url));
  const content = readFileSync(file);
  const version = createHash("sha256").update(content).digest("hex");
  const library = new URL("./library/", import.meta.url).href;
  return load(file, content, version).main({ version, library, load: (address) => import(address) });
}

await start();
