/**
 * @file Checkpoints: whole ones or none, whenever a process dies; damaged and foreign ones are told; which ones stay.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FileTensor } from "../../src/nn/safetensors.ts";
import { DRAFT, disk, type FileStore } from "../../src/platform/files.ts";
import { CheckpointError, type CheckpointInfo, Checkpoints, keptSteps } from "../../src/train/checkpoints.ts";
import { newPath } from "./support.ts";

const info = (steps: number): CheckpointInfo => ({
  algo: "ppo",
  env: "CartPole-v1",
  config_sha256: "0",
  iteration: steps / 10,
  steps,
  wall_s: 1.5,
  train_s: 1,
  crossings: 3,
  evaluated: null,
  best: null,
  environments: [{ at: Number.NaN, list: new Float32Array([1, -0]) }],
  callbacks: { diagnostics: { told: [] } },
});
const tensors = (value: number): Map<string, FileTensor> =>
  new Map([["w", { dtype: "F32", shape: [100], data: new Float32Array(100).fill(value) }]]);
const newestValue = (checkpoints: Checkpoints, notice: (text: string) => void = () => {}): number | undefined =>
  checkpoints.newest(notice)?.tensors.get("w")?.data[0];

test("what was written is read", () => {
  const checkpoints = new Checkpoints(newPath());
  expect(newestValue(checkpoints)).toBeUndefined();
  checkpoints.write(info(100), tensors(1));
  checkpoints.write(info(20), tensors(2));
  const found = checkpoints.newest(() => {});
  expect(found?.info).toEqual(info(100));
  expect(found?.tensors).toEqual(tensors(1));
  expect(checkpoints.list()).toEqual([20, 100]);
});

class Killed extends Error {}
/** Files of a process that dies at its nth operation, in the middle of it when it is a write. */
function dyingFiles(n: number): FileStore {
  let left = n;
  const lives = (): void => {
    if (left-- <= 0) throw new Killed();
  };
  return {
    ...disk,
    writeWhole(path, parts) {
      if (left === 0) {
        const whole = parts[0] as Uint8Array;
        writeFileSync(path + DRAFT, whole.subarray(0, whole.length / 2));
      }
      lives();
      disk.writeWhole(path, parts);
      lives();
    },
    removeFile(path) {
      lives();
      disk.removeFile(path);
    },
  };
}

describe("a process that dies while it writes", () => {
  /** Writes until it dies; how many operations there were at most. */
  function died(folder: string, n: number, steps: number): boolean {
    const dying = new Checkpoints(folder, dyingFiles(n));
    try {
      dying.write(info(steps), tensors(2));
      dying.keep({ last: 1, every: 0 }, undefined);
      return false;
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      return true;
    }
  }
  test.each([
    ["a new entry", 200, true],
    ["an entry of the same step", 100, false],
  ])("leaves a whole checkpoint: %s", (_, steps, keepsOld) => {
    let n = 0;
    for (let isDead = true; isDead; n++) {
      const folder = newPath();
      const before = new Checkpoints(folder);
      before.write(info(50), tensors(0));
      before.write(info(100), tensors(1));
      isDead = died(folder, n, steps);
      const after = new Checkpoints(folder);
      const damaged: string[] = [];
      expect(keepsOld ? [1, 2] : [0, 1, 2]).toContain(newestValue(after, (text) => damaged.push(text)));
      expect(damaged).toEqual([]);
      after.tidy();
      const names = readdirSync(folder);
      expect(names).toEqual(
        after
          .list()
          .flatMap((at) => [`${String(at).padStart(12, "0")}.json`, `${String(at).padStart(12, "0")}.safetensors`]),
      );
    }
    expect(n).toBeGreaterThan(5);
  });
});

describe("damaged entries", () => {
  const flip = (path: string, place: number): void => {
    const bytes = readFileSync(path);
    bytes[place] = (bytes[place] as number) ^ 1;
    writeFileSync(path, bytes);
  };
  const DAMAGES: { readonly [name: string]: (stem: string) => void } = {
    "a bit of the tensors": (stem) => flip(`${stem}.safetensors`, 200),
    "tensors cut off": (stem) =>
      writeFileSync(`${stem}.safetensors`, readFileSync(`${stem}.safetensors`).subarray(0, 99)),
    "no JSON": (stem) => writeFileSync(`${stem}.json`, "{"),
    "JSON of something else": (stem) => writeFileSync(`${stem}.json`, "[1]"),
    "deep JSON": (stem) => writeFileSync(`${stem}.json`, "[".repeat(100_000) + "]".repeat(100_000)),
    "a wrong type": (stem) =>
      writeFileSync(`${stem}.json`, readFileSync(`${stem}.json`, "utf8").replace(/"iteration":\d+/, '"iteration":"x"')),
    "the JSON of another step": (stem) =>
      writeFileSync(`${stem}.json`, readFileSync(`${stem}.json`, "utf8").replace('"steps":200', '"steps":300')),
  };
  test.each(Object.entries(DAMAGES))("are passed over with a notice: %s", (_, damage) => {
    const checkpoints = new Checkpoints(newPath());
    checkpoints.write(info(100), tensors(1));
    checkpoints.write(info(200), tensors(2));
    damage(`${checkpoints.folder}/000000000200`);
    const notices: string[] = [];
    expect(newestValue(checkpoints, (text) => notices.push(text))).toBe(1);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(/000000000200\.(json|safetensors) cannot be used: .*; the one before is used$/);
    expect(() => checkpoints.read(200)).toThrow(CheckpointError);
  });
  test("are bounded in size", () => {
    const checkpoints = new Checkpoints(newPath());
    checkpoints.write(info(100), new Map([["w", { dtype: "F32", shape: [10 ** 6], data: new Float32Array(10 ** 6) }]]));
    expect(() => checkpoints.read(100, 400)).toThrow(/has 4000\d+ bytes; such a file has at most/);
  });
  test("those of later versions are not passed over", () => {
    const checkpoints = new Checkpoints(newPath());
    checkpoints.write(info(100), tensors(1));
    checkpoints.write(info(200), tensors(2));
    const path = `${checkpoints.folder}/000000000200.json`;
    writeFileSync(path, readFileSync(path, "utf8").replace('"format":1', '"format":2'));
    expect(() => newestValue(checkpoints)).toThrow("has format 2, this version reads 1; use the version that wrote it");
  });
});

describe("what stays", () => {
  test("the last ones, the best one, and the first of every period", () => {
    const all = [10, 20, 30, 40, 50, 60, 70];
    expect([...keptSteps(all, 30, { last: 2, every: 0 })].sort()).toEqual([30, 60, 70]);
    expect([...keptSteps(all, undefined, { last: 1, every: 25 })].sort()).toEqual([30, 50, 70]);
  });
  test("those kept for a period are the same whenever others are removed", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 100 }),
        (drawn, every) => {
          const all = drawn.sort((a, b) => a - b);
          const whole = keptSteps(all, undefined, { last: 1, every });
          let stepwise: number[] = [];
          for (const steps of all) {
            const next = [...stepwise, steps];
            const kept = keptSteps(next, undefined, { last: 1, every });
            stepwise = next.filter((one) => kept.has(one));
          }
          expect(stepwise).toEqual(all.filter((one) => whole.has(one)));
        },
      ),
    );
  });
  test("entries go one by one, files and all", () => {
    const checkpoints = new Checkpoints(newPath());
    for (const steps of [10, 20, 30]) checkpoints.write(info(steps), tensors(steps));
    checkpoints.keep({ last: 1, every: 0 }, 10);
    expect(readdirSync(checkpoints.folder)).toHaveLength(4);
    expect(checkpoints.list()).toEqual([10, 30]);
  });
});
