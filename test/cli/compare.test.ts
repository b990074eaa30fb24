/**
 * @file `lockstep compare`: which runs are meant, and what is written about them.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compare, comparisonJson, describeComparison, findRuns } from "../../src/cli/compare.ts";
import { picturesOf } from "../../src/cli/output.ts";
import { UsageError } from "../../src/platform/errors.ts";
import { filesOf, madeUp, writeRun } from "../train/runs.ts";
import { builtFirst, expectPlain, lockstep, ownFolder } from "./command.ts";

builtFirst();
const folder = ownFolder();
const at = (...parts: string[]): string => join(folder, ...parts);
const runOf = (name: string, options: Parameters<typeof madeUp>[0]): string =>
  writeRun(at(name), filesOf(madeUp(options)));

for (const seed of [1, 2, 3]) {
  runOf(`ppo/seed-${seed}`, { seed, returns: (k) => 20 * k + seed });
  runOf(`a2c/seed-${seed}`, { algo: "a2c", seed, returns: (k) => 10 * k + seed });
}
mkdirSync(at("ppo", "notes"));
writeFileSync(at("ppo", "comparison.html"), "");
mkdirSync(at("empty"));

const foldersOf = (given: readonly string[]): string[] =>
  findRuns(given.map((path) => at(path))).map((one) => one.folder);

describe("the runs that are meant", () => {
  test("are folders of runs, and runs in folders", () => {
    expect(foldersOf(["ppo/seed-2"])).toEqual([at("ppo/seed-2")]);
    expect(foldersOf(["ppo"])).toEqual([1, 2, 3].map((seed) => at(`ppo/seed-${seed}`)));
  });
  test("count once, however they are named", () => {
    expect(foldersOf(["ppo", "ppo/seed-2/", "ppo/../ppo/seed-1"])).toHaveLength(3);
  });
  test("have the labels that stand in front of them", () => {
    expect(findRuns([`mine=${at("ppo/seed-1")}`, at("a2c/seed-1")])).toEqual([
      { folder: at("ppo/seed-1"), label: "mine" },
      { folder: at("a2c/seed-1") },
    ]);
  });
  test("may have names with an equals sign", () => {
    const named = runOf("lr=0.1", {});
    expect(findRuns([named])).toEqual([{ folder: named }]);
  });
  test.each([
    ["missing", "there is no folder"],
    ["empty", "is not the folder of a run, and holds none"],
    ["ppo/comparison.html", "is not the folder of a run, and holds none"],
  ])("are not found in %s", (path, message) => {
    expect(() => foldersOf([path])).toThrow(UsageError);
    expect(() => foldersOf([path])).toThrow(message);
  });
});

describe("a comparison", () => {
  test("writes charts, their pictures and a page, and tells", async () => {
    const written = await compare([at("ppo"), at("a2c")], { out: at("out") }, () => {});
    const { comparison, files } = written;
    expect(comparison.methods).toEqual(["ppo", "a2c"]);
    for (const name of ["curves-CartPole-v1.svg", "curves-CartPole-v1.png", "improvement.svg", "comparison.html"])
      expect(files).toContain(name);
    for (const name of files) expect(existsSync(at("out", name)), name).toBe(true);
    expect(readFileSync(at("out", "speed.png")).subarray(1, 4).toString()).toBe("PNG");
    const text = describeComparison({ ...written, folder: "out" });
    expectPlain(text);
    expect(text).toMatch(/^CartPole-v1 +ppo +3 +20k +402 \[401, 403\] +250k$/m);
    expect(text).toContain("comparison.html and ");
  });
  test("as plain data has final returns with intervals", async () => {
    const { comparison } = await compare([at("ppo")], { out: at("data") }, () => {});
    expect(comparisonJson(comparison)).toMatchObject({
      runs: 3,
      methods: ["ppo"],
      groups: [{ seeds: [1, 2, 3], finals: [401, 402, 403], final_iqm: { value: 402, ci: [401, 403] } }],
      overall: { envs: ["CartPole-v1"], methods: [{ method: "ppo", iqm: expect.any(Number) }] },
    });
  });
  test("tells runs apart by labels", async () => {
    const given = [`one=${at("ppo/seed-1")}`, `two=${at("ppo/seed-2")}`];
    const { comparison } = await compare(given, { out: at("labels") }, () => {});
    expect(comparison.methods).toEqual(["ppo one", "ppo two"]);
  });
});

test("a picture that cannot be drawn is told, and everything else is there", async () => {
  const said: string[] = [];
  const files = new Map([
    ["broken.svg", "no picture"],
    ["page.html", "<p>"],
  ]);
  expect(await picturesOf(files, 100, (line) => said.push(line))).toEqual(new Map());
  expect(said).toEqual([expect.stringMatching(/^no PNG pictures: /)]);
});

test("as a command prints the table or one document, and refuses what is not there", async () => {
  const [text, json, missing] = await Promise.all([
    lockstep(folder, "compare", "ppo", "a2c"),
    lockstep(folder, "compare", "ppo/seed-1", "--json", "--out", "cli"),
    lockstep(folder, "compare", "nothing"),
  ]);
  expect(text.code).toBe(0);
  expectPlain(text.out);
  expect(existsSync(at("comparison", "comparison.html"))).toBe(true);
  expect(JSON.parse(json.out)).toMatchObject({ runs: 1, out: "cli", notes: [expect.stringContaining("one run only")] });
  expect(missing.code).toBe(2);
});
