/**
 * @file MNISTBandit-bsuite on small pictures made up here, and files that are not what they say.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mnistBandit } from "../../src/envs/bsuite/mnistBandit.ts";
import { EnvironmentError } from "../../src/envs/define.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { targets } from "./fixtures.ts";

/** An IDX file of bytes. */
function idx(shape: readonly number[], data: ArrayLike<number>, magic = 0x800 + shape.length): Uint8Array {
  const file = new Uint8Array(4 + 4 * shape.length + data.length);
  const view = new DataView(file.buffer);
  view.setUint32(0, magic);
  shape.forEach((side, k) => {
    view.setUint32(4 + 4 * k, side);
  });
  file.set(data, 4 + 4 * shape.length);
  return file;
}
const [COUNT, ROWS, COLUMNS] = [7, 3, 4];
const pixels = Uint8Array.from({ length: COUNT * ROWS * COLUMNS }, (_, k) => (k * 37) % 256);
const digits = Uint8Array.from({ length: COUNT }, (_, k) => (3 * k) % 10);
const images = idx([COUNT, ROWS, COLUMNS], pixels);
const labels = idx([COUNT], digits);

describe("pictures and labels", () => {
  const env = mnistBandit(images, labels);

  test.each(targets)("are shown and asked for on %s", (target) => {
    const n = 64;
    const vec = new VecEnv(env, n, { target, autoreset: "disabled", seed: 2 });
    const { obs } = vec.reset();
    const chosen = vec.state.image as Int32Array;
    const size = ROWS * COLUMNS;
    const seen = new Set<number>();
    for (let i = 0; i < n; i++) {
      const image = chosen[i] as number;
      seen.add(image);
      for (let k = 0; k < size; k++)
        expect(obs[i * size + k]).toBe(Math.fround((pixels[image * size + k] as number) / 255));
    }
    expect(seen.size, "every picture comes up").toBe(COUNT);
    const before = chosen.slice();
    const actions = Int32Array.from(before, (image, i) =>
      i % 2 ? (digits[image] as number) : 9 - (digits[image] as number),
    );
    const out = vec.step(actions);
    for (let i = 0; i < n; i++) {
      const right = actions[i] === digits[before[i] as number];
      expect(out.reward[i]).toBe(right ? 1 : -1);
      expect(out.terminated[i]).toBe(1);
    }
    expect(
      out.finalObs.every((x) => x === 0),
      "after the answer there is nothing to see",
    ).toBe(true);
    vec.dispose();
  });
  test("give the same bits on every target", () => {
    const traces = targets.map((target) => {
      const vec = new VecEnv(env, 16, { target, seed: 5 });
      vec.reset();
      const all: number[] = [];
      for (let t = 0; t < 20; t++) {
        const { obs, reward } = vec.step(new Int32Array(16).fill(t % 10));
        all.push(...obs, ...reward);
      }
      vec.dispose();
      return all;
    });
    for (const trace of traces) expect(trace).toEqual(traces[0]);
  });
  test("have the shape of the file", () => {
    expect(env.observation.shape).toEqual([ROWS, COLUMNS]);
    expect(env.maxSteps).toBe(1);
  });
  test("may be a part of a larger array of bytes", () => {
    const shifted = new Uint8Array(images.length + 3);
    shifted.set(images, 3);
    expect(mnistBandit(shifted.subarray(3), labels).observation.shape).toEqual([ROWS, COLUMNS]);
  });
});

describe("a file that is not what it says", () => {
  const refuses = (a: Uint8Array, b: Uint8Array, problem: RegExp): void => {
    expect(() => mnistBandit(a, b)).toThrow(EnvironmentError);
    expect(() => mnistBandit(a, b)).toThrow(problem);
  };
  test("too short, of another kind, compressed, empty", () => {
    refuses(new Uint8Array(3), labels, /has 3 bytes, a header has 16/);
    refuses(labels, labels, /begins with 0x801, not 0x803|has 15 bytes/);
    refuses(images, images, /begins with 0x803, not 0x801/);
    refuses(Uint8Array.of(0x1f, 0x8b, 8, 0), labels, /unpack it first/);
    refuses(idx([0, 28, 28], []), idx([0], []), /is empty/);
    refuses("text" as unknown as Uint8Array, labels, /Uint8Array/);
  });
  test("with counts that the bytes do not bear out", () => {
    refuses(images.subarray(0, images.length - 1), labels, /promises 7 x 3 x 4 bytes, 83 follow/);
    refuses(idx([COUNT, ROWS, COLUMNS], [...pixels, 0]), labels, /85 follow/);
    refuses(idx([0xffffffff, 0xffffffff, 0xffffffff], pixels), labels, /promises 4294967295/);
    refuses(images, idx([COUNT + 1], [...digits, 1]), /7 images with 8 labels/);
  });
  test("with labels that are no digits", () => {
    refuses(images, idx([COUNT], [0, 1, 2, 10, 4, 5, 6]), /label 3 is 10/);
  });
  test("any bytes at all give an environment or a typed error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 20 }), (a, b) => {
        try {
          mnistBandit(a, b);
        } catch (error) {
          expect(error).toBeInstanceOf(EnvironmentError);
        }
      }),
      { numRuns: 300 },
    );
  });
});
