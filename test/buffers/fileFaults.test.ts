/**
 * @file Files that fail: disks that are full, files of others, buffers that are closed.
 */
import fs, { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { BlockStore } from "../../src/buffers/blocks.ts";
import { FileReplayBuffer } from "../../src/buffers/file.ts";
import { DataError } from "../../src/kernels/errors.ts";
import { FileError, openFile, writeWhole } from "../../src/platform/files.ts";
import { kept } from "./support.ts";

const LAYOUT = { capacity: 8, observation: 2, action: 1 } as const;
const row = (n: number): Float32Array => Float32Array.of(n, n + 0.5);
const transition = (n: number) => ({
  observation: row(n),
  action: n,
  reward: n,
  terminated: false,
  truncated: false,
  nextObservation: row(n + 1),
});

describe("files that cannot be written or used", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-edges-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  afterEach(() => {
    vi.restoreAllMocks();
  });
  const options = (name: string) => ({ ...LAYOUT, capacity: 64, block: 4, hot: 8, path: join(folder, name) });

  test("a block that could not be written is written before anything else is taken", () => {
    const buffer = new FileReplayBuffer(options("full"));
    for (let n = 0; n < 3; n++) buffer.push(transition(n));
    const full = vi.spyOn(fs, "writeSync").mockImplementation(() => {
      throw new Error("no space left");
    });
    expect(() => buffer.push(transition(3))).toThrow(/no space left/);
    expect(() => buffer.push(transition(4))).toThrow(/no space left/);
    expect(() => buffer.flush()).toThrow(/no space left/);
    expect(buffer.pushed).toBe(4);
    full.mockRestore();
    for (let n = 4; n < 30; n++) buffer.push(transition(n));
    const batch = buffer.sample(30);
    batch.index.forEach((age, i) => {
      expect(batch.reward[i]).toBe(age);
    });
    buffer.close();
    const again = new FileReplayBuffer(options("full"));
    expect([again.pushed, again.length, again.damaged]).toEqual([30, 30, 0]);
    again.close();
  });

  test("a block whose number leaves no room for counting is damaged", () => {
    const path = join(folder, "forged");
    const layout = { columns: { x: { dtype: "u8", size: 1 } }, capacity: 64, block: 4 } as const;
    const store = new BlockStore(openFile(path), path, layout, 1);
    store.write("ring", 2 ** 53 - 1, 4);
    store.write("ring", 3, 4);
    expect(store.recover()).toMatchObject({ first: 12, pushed: 16, damaged: 1 });
    store.close();
  });

  test("a tail that followed a lost block does not follow the one in its place", () => {
    let buffer = new FileReplayBuffer(options("lost"));
    for (let n = 0; n < 11; n++) buffer.push(transition(n));
    buffer.close();
    // Blocks 0 and 1 are full, a tail of block 2 stands behind them; block 1 never reached the disk.
    const store = { record: 4 * (2 + 2 + 1 + 1) + 2, header: 4096, block: 32 };
    const size = store.block + 4 * store.record;
    const file = fs.openSync(join(folder, "lost"), "r+");
    fs.writeSync(file, new Uint8Array(size), 0, size, store.header + 3 * size);
    fs.closeSync(file);
    buffer = new FileReplayBuffer(options("lost"));
    expect(buffer.pushed).toBe(4);
    for (let n = 100; n < 104; n++) buffer.push(transition(n));
    buffer.close();
    buffer = new FileReplayBuffer(options("lost"));
    expect([buffer.pushed, buffer.length]).toEqual([8, 8]);
    // Tails written from now on count again, also when the file is opened in between.
    buffer.push(transition(104));
    buffer.close();
    buffer = new FileReplayBuffer(options("lost"));
    expect(buffer.pushed).toBe(9);
    expect([...new Set(buffer.sample(9).reward)].every((n) => n < 4 || n >= 100)).toBe(true);
    buffer.close();
  });

  test("tails count after all those before them were lost", () => {
    const path = join(folder, "tails");
    const layout = { columns: { x: { dtype: "u8", size: 1 } }, capacity: 64, block: 4 } as const;
    const open = () => new BlockStore(openFile(path), path, layout, 1);
    let store = open();
    for (let k = 0; k < 5; k++) store.write("tail", 0, 2);
    store.write("ring", 0, 4);
    store.close();
    const file = fs.openSync(path, "r+");
    fs.writeSync(file, new Uint8Array(2 * 36), 0, 2 * 36, 4096);
    fs.closeSync(file);
    store = open();
    expect(store.recover()).toMatchObject({ pushed: 4 });
    store.write("tail", 1, 3);
    store.close();
    store = open();
    expect(store.recover()).toMatchObject({ pushed: 7 });
    store.close();
  });

  test("more transitions than can be counted are refused", () => {
    expect(() => new FileReplayBuffer({ ...options("large"), capacity: 2 ** 31 })).toThrow(DataError);
  });

  test("a dataset that cannot take its place leaves no draft behind", () => {
    const path = join(folder, "taken");
    fs.mkdirSync(join(path, "inside"), { recursive: true });
    expect(() => writeWhole(path, [new Uint8Array(4)])).toThrow(FileError);
    expect(fs.readdirSync(folder).filter((name) => name.startsWith("taken"))).toEqual(["taken"]);
  });

  test("a closed buffer touches no file any more", () => {
    const buffer = new FileReplayBuffer(options("closed"));
    for (let n = 0; n < 20; n++) buffer.push(transition(n));
    buffer.close();
    const close = vi.spyOn(fs, "closeSync");
    buffer.close();
    expect(close).not.toHaveBeenCalled();
    for (const use of [() => buffer.sample(2), () => buffer.push(transition(20)), () => buffer.flush()])
      expect(use).toThrow(/closed/);
  });

  test("one that cannot be used leaves nothing behind", () => {
    fs.writeFileSync(join(folder, "alien"), new Uint8Array(5000));
    expect(kept(() => expect(() => new FileReplayBuffer(options("alien"))).toThrow(DataError))).toBe(0);
    const long = { ...options("long"), columns: { ["x".repeat(5000)]: 1 } };
    const close = vi.spyOn(fs, "closeSync");
    expect(kept(() => expect(() => new FileReplayBuffer(long)).toThrow(DataError))).toBe(0);
    expect(close).toHaveBeenCalledTimes(1);
    const target = "bogus" as "js";
    expect(kept(() => expect(() => new FileReplayBuffer({ ...options("new"), target })).toThrow(/no target/))).toBe(0);
    expect(fs.existsSync(join(folder, "new"))).toBe(false);
  });
});
