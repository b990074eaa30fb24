/**
 * @file What the kernels of the data plane refuse or treat as a special case, whatever the target.
 */
import { describe, expect, test, vi } from "vitest";
import { DataError } from "../../src/kernels/errors.ts";
import { averageWeights, lapPriorities, normaliseAdvantages, randomShift } from "../../src/kernels/estimators/index.ts";
import { groupAdvantages, packSequences, tokenKl, vocabularyKl } from "../../src/kernels/llm/index.ts";
import { RunningVectorMoments } from "../../src/kernels/running/index.ts";
import { LockstepError } from "../../src/platform/errors.ts";
import { heap } from "../../src/runtime/heap.ts";
import { availability, TARGET_NAMES, TargetError } from "../../src/runtime/targets.ts";

const targets = TARGET_NAMES.filter((name) => availability(name).target);

describe("KL over a vocabulary", () => {
  const rows = { vocabulary: 3, policy: Float64Array.of(0, 1, -Infinity), reference: Float64Array.of(1, 0, -Infinity) };
  const p = Math.E / (1 + Math.E);
  test.each(targets)("tokens that are ruled out count for nothing (%s)", (target) => {
    const both = vocabularyKl(rows, { target }).kl;
    expect(both[0]).toBeCloseTo(2 * p - 1, 12);
    const single = { vocabulary: 3, policy: Float32Array.from(rows.policy), reference: Float32Array.of(1, 0, -40) };
    expect(vocabularyKl(single, { target }).kl[0]).toBeCloseTo(2 * p - 1, 6);
    // A token that only the second model rules out makes the divergence infinite.
    expect(vocabularyKl(single, { target, direction: "reference||policy" }).kl[0]).toBe(Infinity);
    const unknown = { ...rows, policy: Float64Array.of(0, Number.NaN, 0) };
    expect(vocabularyKl(unknown, { target }).kl[0]).toBeNaN();
  });
  test("directions that do not exist are refused", () => {
    expect(() => vocabularyKl(rows, { direction: "reference|policy" as never })).toThrow(DataError);
    expect(() => tokenKl(rows, { direction: "forward" as never })).toThrow(DataError);
  });
});

describe("tokens to be packed", () => {
  test("are whole numbers", () => {
    for (const token of [-1, 0.5, 2 ** 32, Number.NaN])
      expect(() => packSequences([[1], [2, token]], { maxLength: 4 }), String(token)).toThrow(/token 1 of sequence 1/);
    expect(packSequences([[2 ** 32 - 1]], { maxLength: 4 })[0]?.inputIds).toEqual(Uint32Array.of(2 ** 32 - 1));
  });
});

describe("shifted images", () => {
  const options = { channels: 1, height: 4, width: 4, seed: 1, call: 0 };
  test("do not go where they come from", () => {
    const images = new Float32Array(64);
    expect(() => randomShift({ images, out: images }, options)).toThrow(/share memory/);
    expect(() => randomShift({ images, out: new Uint8Array(64) as never }, options)).toThrow(DataError);
    expect(() => randomShift({ images }, { ...options, pad: 2 ** 31 })).toThrow(DataError);
  });
  test("batches of changing size take no new memory", () => {
    const sizes = [1, 2, 3, 1, 2, 3];
    const [images, outs] = [sizes.map((n) => new Uint8Array(16 * n)), sizes.map((n) => new Uint8Array(16 * n))];
    const run = (): void => {
      images.forEach((one, k) => {
        randomShift({ images: one, out: outs[k] as Uint8Array }, { ...options, target: "js" });
      });
    };
    run();
    const [allocate, release] = [vi.spyOn(heap(), "allocate"), vi.spyOn(heap(), "release")];
    run();
    expect(allocate.mock.calls.length).toBe(release.mock.calls.length);
    vi.restoreAllMocks();
  });
});

describe("options", () => {
  test("of normalised rows are numbers that make sense", () => {
    const moments = new RunningVectorMoments(1);
    moments.update(Float64Array.of(1, 2, 3));
    for (const wrong of [{ epsilon: -1 }, { least: Number.NaN }, { clip: -1 }])
      expect(() => moments.normalise(Float64Array.of(1), undefined, wrong)).toThrow(DataError);
  });
  test("a target that does not exist is named before anything is written", () => {
    const target = "bogus" as "js";
    const [values, out] = [Float32Array.of(1, 2, 3), Float32Array.of(7, 7, 7)];
    expect(() => lapPriorities({ errors: values }, { target })).toThrow(TargetError);
    expect(() => normaliseAdvantages({ advantages: values, out }, { target })).toThrow(/no target "bogus"/);
    expect(() => averageWeights({ vectors: [values, values], out }, { target })).toThrow(/known are auto, native/);
    expect([...out]).toEqual([7, 7, 7]);
  });
  test("a number of threads that is none meets no other choice", () => {
    const errors = Float32Array.of(1, 2);
    lapPriorities({ errors }, { target: "js" });
    groupAdvantages({ rewards: errors }, { target: "js" });
    for (const threads of [0, -1, 0.125, Number.NaN]) {
      expect(() => lapPriorities({ errors }, { target: "js", threads }), String(threads)).toThrow(LockstepError);
      expect(() => groupAdvantages({ rewards: errors }, { target: "js", threads })).toThrow(LockstepError);
    }
  });
});
