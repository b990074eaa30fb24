/**
 * @file The library cache: privacy, integrity, locking, eviction; and finding a compiler.
 */
import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cacheFolder, cacheLimit, LibraryCache, type Recipe } from "../../src/targets/native/cache.ts";
import { findCompiler, locateCompiler, readMacros } from "../../src/targets/native/compiler.ts";
import { createNativeTarget, NativeBuildError, NativeUnavailableError } from "../../src/targets/native/index.ts";
import { planArena } from "./arena.ts";
import { temporaryFolder } from "./rig.ts";
import { scaledSum } from "./sample.ts";

let root: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  root = temporaryFolder();
});
afterEach(() => root.remove());

const open = (limit = 1 << 20): LibraryCache => new LibraryCache(root.path, limit);

/** A recipe whose "compiler" writes the source reversed, and counts. */
function recipe(source: string, counter = { builds: 0 }, flags: readonly string[] = []): Recipe {
  const build = (target: string): void => {
    counter.builds++;
    writeFileSync(target, [...source].reverse().join(""));
  };
  return { source, flags, identity: "test compiler", build };
}

describe("cache folder", () => {
  it("follows the system's habits and LOCKSTEP_CACHE", () => {
    expect(cacheFolder({ HOME: "/h" }, "linux")).toBe("/h/.cache/lockstep");
    expect(cacheFolder({ HOME: "/h", XDG_CACHE_HOME: "/x" }, "linux")).toBe("/x/lockstep");
    expect(cacheFolder({ HOME: "/h" }, "darwin")).toBe("/h/Library/Caches/lockstep");
    expect(cacheFolder({ HOME: "/h", XDG_CACHE_HOME: "/x", LOCKSTEP_CACHE: "/own" }, "linux")).toBe("/own");
  });

  it("has a limit in MiB", () => {
    expect(cacheLimit({})).toBe(512 << 20);
    expect(cacheLimit({ LOCKSTEP_CACHE_LIMIT: "3" })).toBe(3 << 20);
    expect(() => cacheLimit({ LOCKSTEP_CACHE_LIMIT: "much" })).toThrow(/"much"; it must be a number of MiB/);
  });

  it("is private, and refused when others can write to it", () => {
    const path = join(root.path, "new");
    const cache = new LibraryCache(path, 1000);
    expect(statSync(cache.folder).mode & 0o777).toBe(0o700);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    for (const [folder, mode] of [
      [path, 0o770],
      [path, 0o702],
      [cache.folder, 0o777],
    ] as const) {
      chmodSync(folder, mode);
      expect(() => new LibraryCache(path, 1000)).toThrow(NativeUnavailableError);
      expect(() => new LibraryCache(path, 1000)).toThrow(/can be written to by others/);
      chmodSync(folder, 0o700);
    }
    chmodSync(path, 0o755);
    expect(() => new LibraryCache(path, 1000)).not.toThrow();
  });

  it.skipIf(process.getuid?.() !== 0)("is refused when it belongs to somebody else", async () => {
    const { chownSync } = await import("node:fs");
    const path = join(root.path, "foreign");
    mkdirSync(path, { mode: 0o700 });
    chownSync(path, 12345, 12345);
    expect(() => new LibraryCache(path, 1000)).toThrow(/belongs to user 12345, not to you/);
    symlinkSync(path, join(root.path, "link"));
    expect(() => new LibraryCache(join(root.path, "link"), 1000)).toThrow(/belongs to user 12345/);
  });

  it("is refused when it cannot be made", () => {
    writeFileSync(join(root.path, "file"), "");
    expect(() => new LibraryCache(join(root.path, "file"), 1000)).toThrow(/cannot be made/);
  });
});

describe("entries", () => {
  it("are built once, also for another process's eyes", () => {
    const counter = { builds: 0 };
    const first = open().obtain(recipe("source", counter));
    expect(first.built).toBe(true);
    expect(readFileSync(first.path, "utf8")).toBe("ecruos");
    expect(open().obtain(recipe("source", counter))).toEqual({ path: first.path, built: false });
    expect(counter.builds).toBe(1);
  });

  it("differ by source, flags and compiler", () => {
    const cache = open();
    const paths = [
      cache.obtain(recipe("a")).path,
      cache.obtain(recipe("b")).path,
      cache.obtain(recipe("a", undefined, ["-O1"])).path,
      cache.obtain({ ...recipe("a"), identity: "another" }).path,
    ];
    expect(new Set(paths).size).toBe(4);
  });

  it("are built again when library or record were changed, cut or lost", () => {
    const counter = { builds: 0 };
    const { path } = open().obtain(recipe("source", counter));
    const record = path.replace(/\.so$/, ".c");
    const text = readFileSync(record, "utf8");
    const damages = [
      () => writeFileSync(path, "evil"),
      () => truncateSync(path, 2),
      () => writeFileSync(path, ""),
      () => writeFileSync(record, text.replace("source", "sourcf")),
      () => truncateSync(record, 3),
      () => writeFileSync(record, ""),
    ];
    damages.forEach((damage, k) => {
      damage();
      expect(open().obtain(recipe("source", counter)).built).toBe(true);
      expect(counter.builds).toBe(k + 2);
      expect(readFileSync(path, "utf8")).toBe("ecruos");
    });
  });

  it("leave nothing behind when the build fails", () => {
    const cache = open();
    const failing: Recipe = {
      ...recipe("bad"),
      build: (target) => {
        writeFileSync(target, "half");
        throw new NativeBuildError("no", "reason");
      },
    };
    expect(() => cache.obtain(failing)).toThrow(NativeBuildError);
    expect(readdirSync(cache.folder)).toEqual([]);
  });

  it("are removed from the least recently used on, but never those in use", () => {
    const size = 1000;
    const source = (c: string): string => c.repeat(size);
    const old = open();
    const paths = ["a", "b", "c"].map((c, k) => {
      const { path } = old.obtain(recipe(source(c)));
      const record = path.replace(/\.so$/, ".c");
      for (const file of [path, record]) utimesSync(file, 1000 + k, 1000 + k);
      return path;
    });
    // Room for three entries of library and record: using `a` makes `b` the oldest.
    const cache = new LibraryCache(root.path, 8 * size);
    expect(cache.obtain(recipe(source("a"))).built).toBe(false);
    cache.obtain(recipe(source("d")));
    expect(paths.map((p) => existsSync(p))).toEqual([true, false, true]);
    const none = new LibraryCache(root.path, 0);
    const kept = none.obtain(recipe(source("e"))).path;
    expect(readdirSync(none.folder).sort()).toEqual(
      [kept, kept.replace(/\.so$/, ".c")].map((p) => p.slice(none.folder.length + 1)).sort(),
    );
  });

  it("wait for the process that builds them, and take over from a dead or silent one", async () => {
    const cache = open();
    const { path } = cache.obtain(recipe("source"));
    const lock = path.replace(/\.so$/, ".lock");
    const again = (): boolean => {
      writeFileSync(path, "damaged");
      return cache.obtain(recipe("source")).built;
    };
    writeFileSync(lock, `999999999 ${hostname()} x`);
    expect(again()).toBe(true);
    writeFileSync(lock, `${process.ppid} ${hostname()} x`);
    utimesSync(lock, 1000, 1000);
    expect(again()).toBe(true);
    expect(existsSync(lock)).toBe(false);
    // A living process that holds the lock and finishes after a while.
    const good = readFileSync(path);
    writeFileSync(path, "damaged");
    const script = `
      const fs = require("node:fs");
      fs.writeFileSync(${JSON.stringify(lock)}, process.pid + " " + require("node:os").hostname() + " y");
      console.log("held");
      setTimeout(() => { fs.writeFileSync(${JSON.stringify(path)}, Buffer.from(${JSON.stringify(good.toString("hex"))}, "hex")); fs.unlinkSync(${JSON.stringify(lock)}); }, 200);
    `;
    const other = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    await new Promise((resolve) => other.stdout.once("data", resolve));
    const counter = { builds: 0 };
    expect(cache.obtain(recipe("source", counter))).toEqual({ path, built: false });
    expect(counter.builds).toBe(0);
  });
});

describe("bytes", () => {
  it("are found by their text until they are changed or cut", () => {
    const bytes = Uint8Array.from({ length: 100 }, (_, k) => k);
    open().writeBytes("one", bytes);
    open().writeBytes("two", bytes.subarray(1));
    expect(open().readBytes("one")).toEqual(Buffer.from(bytes));
    expect(open().readBytes("two")).toEqual(Buffer.from(bytes.subarray(1)));
    expect(open().readBytes("three")).toBeUndefined();
    const files = readdirSync(open().folder).map((name) => join(open().folder, name));
    const [first = "", second = ""] = files;
    const before = readFileSync(first);
    writeFileSync(first, readFileSync(second));
    truncateSync(second, 20);
    expect([open().readBytes("one"), open().readBytes("two")]).toEqual([undefined, undefined]);
    writeFileSync(first, before);
    expect([open().readBytes("one"), open().readBytes("two")].filter((found) => found !== undefined)).toHaveLength(1);
  });

  it("go when others need their place", () => {
    open(1000).writeBytes("one", new Uint8Array(900));
    const other = open(1000);
    other.writeBytes("two", new Uint8Array(900));
    other.evict();
    expect([other.readBytes("one"), other.readBytes("two")?.length]).toEqual([undefined, 900]);
  });
});

describe("compiler", () => {
  it("is CC when that is set, with its words and flags told apart", () => {
    const tool = join(root.path, "mycc");
    writeFileSync(tool, "#!/bin/sh\n", { mode: 0o755 });
    const env = { PATH: `/nowhere:${root.path}`, CC: "mycc gcc -march=x86-64 -v" };
    expect(locateCompiler(env)).toEqual({ path: tool, words: ["gcc"], flags: ["-march=x86-64", "-v"] });
    expect(locateCompiler({ PATH: "", CC: tool })).toEqual({ path: tool, words: [], flags: [] });
    expect(() => locateCompiler({ PATH: root.path, CC: "other" })).toThrow(/no C compiler found \(looked for other\)/);
    expect(() => locateCompiler({ PATH: root.path })).toThrow(/looked for cc, gcc, clang/);
    chmodSync(tool, 0o644);
    expect(() => locateCompiler(env)).toThrow(NativeUnavailableError);
  });

  it("tells vector width and features from its macros", () => {
    const gcc = '#define __GNUC__ 12\n#define __VERSION__ "12.2.0"\n';
    const of = (...names: string[]) => readMacros(gcc + names.map((n) => `#define ${n} 1\n`).join(""));
    expect(of("__x86_64__")).toMatchObject({ vectorBytes: 16, fastFma: false, version: "gcc 12.2.0" });
    expect(of("__x86_64__", "__AVX2__", "__FMA__")).toMatchObject({
      vectorBytes: 32,
      vectorRegisters: 16,
      fastFma: true,
    });
    const wide = ["__AVX512F__", "__AVX512VL__", "__AVX512BW__", "__AVX512DQ__"];
    expect(of("__x86_64__", "__AVX2__", "__FMA__", ...wide)).toMatchObject({ vectorBytes: 64, vectorRegisters: 32 });
    expect(of("__aarch64__")).toMatchObject({ vectorBytes: 16, vectorRegisters: 32, fastFma: true });
    expect(of("__riscv")).toMatchObject({ vectorBytes: 0 });
    expect(of("__x86_64__")?.identity).not.toBe(of("__x86_64__", "__AVX2__")?.identity);
    expect(readMacros("something else")).toBeUndefined();
  });

  it("is asked once, and again when it changes", () => {
    const tool = join(root.path, "cc");
    const log = join(root.path, "log");
    const macros = '#define __GNUC__ 9\\n#define __VERSION__ \\"9.9\\"\\n#define __x86_64__ 1\\n';
    const write = (extra: string): void => {
      writeFileSync(
        tool,
        `#!/bin/sh\necho run >> ${log}\ncase "$*" in *march*) exit 1;; esac\nprintf "${macros}"\n${extra}`,
        { mode: 0o755 },
      );
    };
    write("");
    const cache = open();
    const env = { ...process.env, CC: tool };
    const runs = (): number => readFileSync(log, "utf8").trim().split("\n").length;
    const first = findCompiler(env, cache);
    expect(first).toMatchObject({ path: tool, family: "gcc", version: "gcc 9.9", machineFlags: ["-mcpu=native"] });
    const asked = runs();
    expect(findCompiler(env, cache)).toEqual(first);
    expect(runs()).toBe(asked);
    for (const name of readdirSync(cache.folder)) writeFileSync(join(cache.folder, name), "{}");
    expect(findCompiler(env, cache)).toEqual(first);
    write("# changed\n");
    findCompiler(env, cache);
    expect(runs()).toBeGreaterThan(asked);
  });

  it("has its message in the error when it refuses a program", () => {
    const tool = join(root.path, "halfcc");
    writeFileSync(
      tool,
      '#!/bin/sh\ncase "$*" in *-shared*) echo "line 7: no, thanks" >&2; exit 1;; esac\nexec cc "$@"\n',
      {
        mode: 0o755,
      },
    );
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    const made = createNativeTarget({
      memory,
      threads: 1,
      env: { ...process.env, CC: tool, LOCKSTEP_CACHE: root.path },
    });
    const compile = (): unknown => made.target?.compile(planArena(scaledSum()), { threads: 1 });
    expect(compile).toThrow(NativeBuildError);
    expect(compile).toThrow(/halfcc \((gcc|clang) [^)]*\) could not compile a program\nline 7: no, thanks/);
  });

  it("is reported as a reason when it is missing or unusable", () => {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    const reason = (env: Record<string, string>, heap = memory): string => {
      const made = createNativeTarget({ memory: heap, threads: 1, env: { LOCKSTEP_CACHE: root.path, ...env } });
      return made.target ? "it works" : made.reason;
    };
    expect(reason({ PATH: "" })).toMatch(/no C compiler found/);
    expect(reason({ CC: "/bin/false" })).toMatch(/\/bin\/false does not behave like gcc or clang/);
    expect(reason({ ...process.env, LOCKSTEP_CACHE: join(root.path, "a\0b") } as Record<string, string>)).toMatch(
      /cannot be made/,
    );
    expect(reason({}, new WebAssembly.Memory({ initial: 1 }))).toMatch(/shared memory/);
  });
});
