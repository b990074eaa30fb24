/**
 * @file How the built command starts: out of one file, with compiled code that is kept between runs, and with one
 * instance of the package for the command and the user's module.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test, vi } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { builtFirst, lockstep, ownFolder } from "./command.ts";

const DIST = fileURLToPath(new URL("../../dist/", import.meta.url));
const folder = ownFolder();
builtFirst();

let count = 0;
let cache = "";
beforeEach(() => {
  cache = join(folder, `cache${++count}`);
  vi.stubEnv("LOCKSTEP_CACHE", cache);
  return () => vi.unstubAllEnvs();
});
/** The files with compiled code, and when each was written. */
const kept = (): string[] => readdirSync(join(cache, "code")).map((name) => join(cache, "code", name));
const identity = (path: string): number => statSync(path).ino;

describe("the command", () => {
  test("is one file, and says so in traces of its own", () => {
    expect(readFileSync(join(DIST, "cli", "main.js"), "utf8")).toContain("bundle.cjs");
    expect(readFileSync(join(DIST, "cli", "bundle.licences.txt"), "utf8")).toMatch(/^zod\n\nMIT License/m);
  });

  test("keeps what was compiled, once for a command", async () => {
    const first = await lockstep(folder, "algos", "--json");
    expect(first.code, first.err).toBe(0);
    const [file = "", ...others] = kept();
    expect(others).toEqual([]);
    const written = identity(file);
    expect(await lockstep(folder, "algos", "--json")).toEqual(first);
    expect(kept()).toEqual([file]);
    expect(identity(file)).toBe(written);
    expect((await lockstep(folder, "envs", "--json")).code).toBe(0);
    expect(kept()).toHaveLength(2);
  });

  test("keeps it anew when a run used another target", async () => {
    const small = ["--envs", "2", "--set", "nSteps=16", "--set", "batchSize=16", "--set", "netArch=[8]", "--no-tuned"];
    const rest = [...small, "--steps", "64", "--no-save", "--quiet"];
    const train = (target: string) => lockstep(folder, "train", "ppo", "CartPole-v1", ...rest, "--target", target);
    expect((await train("js")).code).toBe(0);
    const [file = ""] = kept();
    const written = identity(file);
    expect((await train("js")).code).toBe(0);
    expect(identity(file)).toBe(written);
    expect((await train("wasm")).code).toBe(0);
    expect(kept()).toEqual([file]);
    const anew = identity(file);
    expect(anew).not.toBe(written);
    for (const target of ["js", "wasm"]) {
      expect((await train(target)).code).toBe(0);
      expect(identity(file), target).toBe(anew);
    }
  });

  test("keeps nothing of runs that fail", async () => {
    expect((await lockstep(folder, "train", "no-such-algorithm", "CartPole-v1")).code).toBe(2);
    expect(kept()).toEqual([]);
  });

  test("does without what is damaged, and without a folder that is private", async () => {
    const good = await lockstep(folder, "algos", "--json");
    const [file = ""] = kept();
    const bytes = readFileSync(file);
    bytes.fill(7, 10_000, 11_000);
    writeFileSync(file, bytes);
    expect(await lockstep(folder, "algos", "--json")).toEqual(good);
    expect(readFileSync(file).equals(bytes)).toBe(false);

    const open = join(folder, "open");
    mkdirSync(open);
    vi.stubEnv("LOCKSTEP_CACHE", join(open, "file"));
    writeFileSync(join(open, "file"), "");
    expect(await lockstep(folder, "algos", "--json")).toEqual(good);
  });
});

describe("a user's module", () => {
  test("has the command's own instance of the package", async () => {
    const path = join(folder, "refuses.ts");
    writeFileSync(path, 'import { LockstepError } from "lockstep";\nthrow new LockstepError("not today");\n');
    const { code, err } = await lockstep(folder, "check", path);
    // An error of another instance would be reported as one of a module that cannot be loaded.
    expect([code, err]).toEqual([1, "error: not today\n"]);
  });

  test("can import all that the package exports, by the same names", async () => {
    const subpaths = Object.entries(manifest.exports).filter(([, entry]) => typeof entry !== "string");
    const lines = subpaths.map(([subpath], k) => `import * as m${k} from "${subpath.replace(".", "lockstep")}";`);
    const found = `{ ${subpaths.map(([subpath], k) => `"${subpath}": Object.keys(m${k})`).join(", ")} }`;
    const path = join(folder, "names.mjs");
    writeFileSync(path, `${lines.join("\n")}\nconsole.log(JSON.stringify(${found}));\n`);
    const { out } = await lockstep(folder, "check", path);
    const names = JSON.parse(out.split("\n")[0] ?? "");
    for (const [subpath, entry] of subpaths) {
      const module = await import(join(DIST, "..", (entry as { readonly default: string }).default));
      expect(names[subpath], subpath).toEqual(Object.keys(module).sort());
    }
  });
});
