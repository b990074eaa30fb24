/**
 * @file FileReplayBuffer: the same samples as in memory, and nothing lost that was flushed, whatever happens to the file.
 */
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { crc32 } from "../../src/buffers/checksum.ts";
import { FileReplayBuffer } from "../../src/buffers/file.ts";
import { ReplayBuffer } from "../../src/buffers/replay.ts";
import { DataError } from "../../src/kernels/errors.ts";
import { KILLED } from "./writer.ts";

const folder = mkdtempSync(join(tmpdir(), "lockstep-file-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newPath = (): string => join(folder, `replay-${files++}`);

const LAYOUT = {
  capacity: 100,
  observation: { dtype: "u8", size: 5 },
  action: 2,
  columns: { value: { dtype: "f64", size: 1 } },
  seed: 7,
} as const;
const open = (path: string) => new FileReplayBuffer({ ...LAYOUT, path, hot: 24, block: 8 });
type Pushes = Pick<ReplayBuffer<typeof LAYOUT.observation, 2, typeof LAYOUT.columns>, "pushSlices">;

function pushNumber(buffer: Pushes, n: number): void {
  const row = (m: number): Uint8Array => Uint8Array.of(m, m + 1, m + 2, 0, 255);
  buffer.pushSlices(row(n % 200), [n, -n], n, n % 3 === 0, n % 5 === 0, row((n % 200) + 1), { value: n / 7 });
}

function expectNumbers(buffer: ReturnType<typeof open>, low: number, high: number): void {
  expect([buffer.pushed, buffer.length]).toEqual([high, high - low]);
  if (high === low) return;
  const seen = new Set<number>();
  for (let k = 0; k < 6; k++) {
    const batch = buffer.sample(high - low);
    batch.reward.forEach((n, i) => {
      expect(n).toBeGreaterThanOrEqual(low);
      expect(n).toBeLessThan(high);
      expect([...batch.observation.subarray(5 * i, 5 * i + 3)]).toEqual([n % 200, (n % 200) + 1, (n % 200) + 2]);
      expect(batch.nextObservation[5 * i]).toBe((n % 200) + 1);
      expect([batch.action[2 * i], batch.value[i]]).toEqual([n, n / 7]);
      expect([batch.terminated[i], batch.truncated[i]]).toEqual([n % 3 === 0 ? 1 : 0, n % 5 === 0 ? 1 : 0]);
      seen.add(n);
    });
  }
  expect(seen.size).toBeGreaterThan((high - low) * 0.9);
}

describe("FileReplayBuffer", () => {
  test("draws exactly what a buffer in memory draws", () => {
    const file = open(newPath());
    const memory = new ReplayBuffer(LAYOUT);
    for (let n = 0; n < 350; n++) {
      pushNumber(file, n);
      pushNumber(memory, n);
      if (n % 37 !== 36) continue;
      const [a, b] = [file.sample(32), memory.sample(32)];
      for (const name of [
        "observation",
        "nextObservation",
        "action",
        "reward",
        "terminated",
        "truncated",
        "value",
      ] as const)
        expect(a[name]).toEqual(b[name]);
    }
    expectNumbers(file, 250, 350);
    file.close();
  });

  test("goes on where it was, after a close and without one", () => {
    const path = newPath();
    let buffer = open(path);
    for (let n = 0; n < 131; n++) pushNumber(buffer, n);
    buffer.close();
    buffer = open(path);
    expectNumbers(buffer, 31, 131);
    for (let n = 131; n < 150; n++) pushNumber(buffer, n);
    expectNumbers(buffer, 50, 150);
    // The process dies here: full blocks are there, six transitions were not flushed.
    expectNumbers(open(path), 44, 144);
    buffer.flush();
    expectNumbers(open(path), 50, 150);
    expect(open(path).damaged).toBe(0);
  });

  test("a write that was torn at any byte loses at most what was not flushed", () => {
    const path = newPath();
    const buffer = open(path);
    for (let n = 0; n < 61; n++) pushNumber(buffer, n);
    buffer.flush();
    const before = readFileSync(path);
    for (let n = 61; n < 64; n++) pushNumber(buffer, n);
    const after = readFileSync(path);
    // The eighth block is new: tear it at many places.
    const first = after.findIndex((byte, k) => byte !== before[k]);
    const torn = newPath();
    for (let cut = first + 1; cut < after.length; cut += 29) {
      writeFileSync(torn, Buffer.concat([after.subarray(0, cut), before.subarray(Math.min(cut, before.length))]));
      const opened = open(torn);
      expect(opened.pushed).toBe(61);
      expectNumbers(opened, 0, 61);
      pushNumber(opened, 61);
      opened.close();
      expectNumbers(open(torn), 0, 62);
    }
    expectNumbers(open(path), 0, 64);
  });

  test("a torn flush leaves the flush before it", () => {
    const path = newPath();
    const buffer = open(path);
    for (let n = 0; n < 19; n++) pushNumber(buffer, n);
    buffer.flush();
    const before = readFileSync(path);
    pushNumber(buffer, 19);
    buffer.flush();
    const after = readFileSync(path);
    const changed = after.map((byte, k) => (byte === before[k] ? 0 : 1));
    const [begin, end] = [changed.indexOf(1), changed.lastIndexOf(1)];
    const copy = newPath();
    for (let cut = begin + 1; cut < end; cut += 17) {
      const bytes = Buffer.concat([after.subarray(0, cut), before.subarray(cut)]);
      writeFileSync(copy, bytes);
      const opened = open(copy);
      expectNumbers(opened, 0, 19);
      expect(opened.damaged).toBe(1);
    }
  });

  test("a damaged block in the middle is seen, and what came after it stays", () => {
    const path = newPath();
    const buffer = open(path);
    for (let n = 0; n < 80; n++) pushNumber(buffer, n);
    buffer.close();
    const bytes = readFileSync(path);
    // The fourth of ten blocks of 288 bytes, after a header and two tails.
    const place = 4096 + 2 * 288 + 3 * 288 + 100;
    bytes[place] = (bytes[place] as number) ^ 1;
    writeFileSync(path, bytes);
    const opened = open(path);
    expect(opened.damaged).toBe(1);
    expect(opened.pushed).toBe(80);
    expectNumbers(opened, 32, 80);
  });

  test("a killed process loses nothing that it had flushed", async () => {
    const path = newPath();
    const script = fileURLToPath(new URL("./writer.ts", import.meta.url));
    const child = spawn(process.execPath, ["--import", "tsx", script, path], { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", () => resolve());
      child.stdout.on("data", (text: Buffer) => {
        said += text.toString();
        if (said.length > 30_000) child.kill("SIGKILL");
      });
    });
    const flushed = Number(said.slice(0, said.lastIndexOf("\n")).split("\n").at(-1));
    expect(flushed).toBeGreaterThan(5000);
    const buffer = new FileReplayBuffer({ ...KILLED, path });
    expect(buffer.pushed).toBeGreaterThanOrEqual(flushed);
    expect(buffer.length).toBe(KILLED.capacity);
    const batch = buffer.sample(2000);
    batch.reward.forEach((n, i) => {
      expect(n).toBeGreaterThanOrEqual(buffer.pushed - KILLED.capacity);
      expect([batch.action[i], batch.observation[6 * i + 5], batch.nextObservation[6 * i + 5]]).toEqual([n, n, n + 1]);
    });
    buffer.close();
  }, 60_000);

  test("hostile and foreign files are refused", () => {
    const path = newPath();
    const buffer = open(path);
    for (let n = 0; n < 20; n++) pushNumber(buffer, n);
    buffer.close();
    expect(() => new FileReplayBuffer({ ...LAYOUT, capacity: 99, path, hot: 24, block: 8 })).toThrow(/another layout/);
    expect(() => new FileReplayBuffer({ ...LAYOUT, action: 3, path, hot: 24, block: 8 })).toThrow(DataError);
    for (const [place, value] of [
      [0, 1],
      [4, 9],
      [8, 255],
      [9, 255],
      [20, 1],
    ] as const) {
      const copy = newPath();
      copyFileSync(path, copy);
      const bytes = readFileSync(copy);
      bytes[place] = value;
      writeFileSync(copy, bytes);
      expect(() => open(copy)).toThrow(DataError);
    }
    truncateSync(path, 100);
    expect(() => open(path)).toThrow(/too short/);
    expect(() => open(join(folder, "no", "such", "folder"))).toThrow(/cannot be opened/);
    expect(() => new FileReplayBuffer({ ...LAYOUT, path: newPath(), hot: 8, block: 8 })).toThrow(/hot must be/);
    expect(() => open(newPath()).sample(1)).toThrow(DataError);
  });

  test("the checksum is CRC-32", () => {
    expect(crc32(new TextEncoder().encode("123456789"))).toBe(0xcbf43926);
    expect(crc32(new TextEncoder().encode("56789"), crc32(new TextEncoder().encode("1234")))).toBe(0xcbf43926);
  });
});
