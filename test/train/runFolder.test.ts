/**
 * @file Run folders: made once, locked by one process at a time, refused with words where they cannot be.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { RunFolder, RunFolderError, runName } from "../../src/train/runFolder.ts";
import { failingFiles, newPath } from "./support.ts";

const locksIn = (path: string): string[] => readdirSync(path).filter((name) => name.startsWith("lock-"));

describe("making", () => {
  test("names say what and when", () => {
    const date = new Date("2026-02-03T04:05:06Z");
    expect(runName({ env: "CartPole-v1", algo: "ppo", seed: 7 }, date)).toBe("CartPole-v1__ppo__7__20260203-040506");
    expect(runName({ env: "../my envs/maze.ts", algo: "a2c", seed: 7 }, date)).toBe("maze.ts__a2c__7__20260203-040506");
  });
  test("two runs of one second have folders of their own", () => {
    const out = newPath("runs");
    const naming = { env: "CartPole-v1", algo: "ppo", seed: 7 };
    const paths = [1, 2, 3].map(() => RunFolder.makeIn(out, naming).path);
    expect(new Set(paths).size).toBe(3);
  });
  test("what is there already is not touched", () => {
    const path = newPath();
    mkdirSync(path);
    writeFileSync(`${path}/thesis.txt`, "everything");
    expect(() => RunFolder.make(path)).toThrow(/is not empty; resume the run in it, remove it, or choose another name/);
    expect(readdirSync(path)).toEqual(["thesis.txt"]);
  });
  test("what a process left that was killed before the run began is not in the way", () => {
    const path = newPath();
    mkdirSync(path);
    const { pid } = spawnSync(process.execPath, ["-e", ""]);
    writeFileSync(`${path}/lock-0123456789abcdef.json`, JSON.stringify({ pid, host: hostname(), began: "" }));
    writeFileSync(`${path}/config.json.part`, "{");
    expect(locksIn(RunFolder.make(path).path)).toHaveLength(1);
  });
  test("where nothing can be written, it is said", () => {
    const path = newPath();
    writeFileSync(path, "a file");
    expect(() => RunFolder.make(`${path}/run`)).toThrow(RunFolderError);
    expect(() => RunFolder.make(`${path}/run`)).toThrow(
      /a run cannot be kept in .*choose a folder that can be written to/,
    );
    const readOnly = failingFiles(() => true, "EROFS: read-only file system");
    expect(() => RunFolder.make(newPath(), readOnly)).toThrow(/EROFS: read-only file system; choose a folder/);
  });
  test("a folder of something else is not a run", () => {
    expect(() => RunFolder.open(dirname(newPath()))).toThrow(/is not the folder of a run: there is no config.json/);
  });
});

describe("the lock", () => {
  function made(): RunFolder {
    const folder = RunFolder.make(newPath());
    writeFileSync(`${folder.path}/config.json`, "{}");
    return folder;
  }
  const lockOf = (identity: object, path: string): void =>
    writeFileSync(`${path}/lock-0123456789abcdef.json`, JSON.stringify(identity));

  test("keeps others away until it is released", () => {
    const folder = made();
    expect(() => RunFolder.open(folder.path).lock()).toThrow(`is being written by process ${process.pid}; wait for it`);
    expect(locksIn(folder.path)).toHaveLength(1);
    folder.release();
    expect(locksIn(folder.path)).toHaveLength(0);
    RunFolder.open(folder.path).lock();
  });
  test("of a process that has died is taken over", () => {
    const folder = made();
    folder.release();
    const { pid } = spawnSync(process.execPath, ["-e", ""]);
    lockOf({ pid, host: hostname(), began: "" }, folder.path);
    folder.lock();
    expect(locksIn(folder.path)).toHaveLength(1);
    expect(existsSync(`${folder.path}/lock-0123456789abcdef.json`)).toBe(false);
  });
  test("of another machine is respected, with advice", () => {
    const folder = made();
    folder.release();
    lockOf({ pid: 1, host: "elsewhere", began: "" }, folder.path);
    expect(() => folder.lock()).toThrow(/process 1 on the machine elsewhere; if that one is gone, remove .*lock-0123/);
    expect(locksIn(folder.path)).toHaveLength(1);
  });
  test("that makes no sense is told", () => {
    const folder = made();
    folder.release();
    writeFileSync(`${folder.path}/lock-0123456789abcdef.json`, "?");
    expect(() => folder.lock()).toThrow(/is not a lock that lockstep wrote/);
  });
});
