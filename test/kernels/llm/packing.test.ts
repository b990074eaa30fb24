import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DataError } from "../../../src/kernels/errors.ts";
import { AdaptiveKlController, bestOfN, packSequences } from "../../../src/kernels/llm/index.ts";
import { casesOf, FLOATS } from "./support.ts";

interface StoredBin {
  readonly input_ids: readonly number[];
  readonly attention_mask: readonly number[];
  readonly position_ids: readonly number[];
  readonly sequence_starts: readonly number[];
}

/** First-fit-decreasing written the obvious way: which sequences go where. */
function obvious(lengths: readonly number[], most: number): number[][] {
  const order = lengths.map((length, index) => ({ length, index }));
  order.sort((a, b) => b.length - a.length || a.index - b.index);
  const bins: { room: number; members: number[] }[] = [];
  for (const { length, index } of order) {
    let bin = bins.find((one) => one.room >= length);
    if (bin === undefined) {
      bin = { room: most, members: [] };
      bins.push(bin);
    }
    bin.room -= length;
    bin.members.push(index);
  }
  return bins.map((one) => one.members);
}

describe("packing", () => {
  it("agrees with the reference", () => {
    const cases = casesOf("pack_sequences");
    expect(cases.length).toBeGreaterThan(5);
    for (const one of cases) {
      const sequences = one.inputs.sequences as unknown as number[][];
      const maxLength = one.inputs.max_length as number;
      const expected = one.expected as unknown as { error?: string; bins: StoredBin[]; members: number[][] };
      if (expected.error !== undefined) {
        expect(() => packSequences(sequences, { maxLength })).toThrow(DataError);
        continue;
      }
      const got = packSequences(sequences, { maxLength }).map((bin) => ({
        input_ids: Array.from(bin.inputIds),
        attention_mask: Array.from(bin.attentionMask),
        position_ids: Array.from(bin.positionIds),
        sequence_starts: Array.from(bin.sequenceStarts),
      }));
      expect(got, one.name).toEqual(expected.bins);
      const members = packSequences(sequences, { maxLength }).map((bin) => Array.from(bin.members));
      expect(members, one.name).toEqual(expected.members);
    }
  });

  it("of lengths 3, 2, 4, 1 into 5 is 4 and 1, then 3 and 2", () => {
    const sequences = [3, 2, 4, 1].map((length) => new Array<number>(length).fill(9));
    const members = packSequences(sequences, { maxLength: 5 }).map((bin) => Array.from(bin.members));
    expect(members).toEqual([
      [2, 3],
      [0, 1],
    ]);
  });

  it("never overflows, never loses a token, and puts each where first-fit-decreasing says", () => {
    const sequence = fc.array(fc.nat({ max: 1000 }), { maxLength: 12 });
    fc.assert(
      fc.property(fc.array(sequence, { maxLength: 60 }), fc.integer({ min: 12, max: 40 }), (sequences, maxLength) => {
        const bins = packSequences(sequences, { maxLength });
        const seen: number[][] = [];
        for (const bin of bins) {
          expect(bin.inputIds.length).toBeLessThanOrEqual(maxLength);
          expect(bin.attentionMask).toHaveLength(bin.inputIds.length);
          bin.members.forEach((index, k) => {
            const from = bin.sequenceStarts[k];
            const to = bin.sequenceStarts[k + 1] ?? bin.inputIds.length;
            seen[index] = Array.from(bin.inputIds.slice(from, to));
            expect(Array.from(bin.positionIds.slice(from, to))).toEqual(seen[index]?.map((_, position) => position));
          });
        }
        expect(seen).toEqual(sequences);
        const lengths = sequences.map((one) => one.length);
        expect(bins.map((bin) => Array.from(bin.members))).toEqual(obvious(lengths, maxLength));
      }),
      { numRuns: 100 },
    );
  });

  it("refuses a bin without room", () => {
    expect(() => packSequences([], { maxLength: 0 })).toThrow(/"maxLength" .* it is 0/);
    expect(() => packSequences([[1, 2, 3]], { maxLength: 2 })).toThrow(/sequence 0 has 3 tokens/);
  });
});

describe("best of n", () => {
  it("takes the first highest of each prompt", () => {
    for (const type of FLOATS) {
      const got = bestOfN({ rewards: type.of(1, 3, 2, 3, -5, -7, -5, -6), n: 4 });
      expect(Array.from(got.indices)).toEqual([1, 4]);
      expect(Array.from(got.rewards)).toEqual([3, -5]);
    }
  });

  it("shows a NaN, and fills the caller's arrays", () => {
    const out = { indices: new Int32Array(2), rewards: new Float64Array(2) };
    const got = bestOfN({ rewards: Float64Array.of(1, Number.NaN, 9, 4, 4, 5), n: 3, out });
    expect(got.indices).toBe(out.indices);
    expect(got.rewards).toBe(out.rewards);
    expect(Array.from(out.indices)).toEqual([1, 5]);
    expect(Array.from(out.rewards)).toEqual([Number.NaN, 5]);
  });

  it("refuses what does not fit", () => {
    const rewards = Float64Array.of(1, 2, 3);
    expect(() => bestOfN({ rewards, n: 2 })).toThrow(DataError);
    expect(() => bestOfN({ rewards, n: 0 })).toThrow(/"n" .* it is 0/);
    expect(() => bestOfN({ rewards, n: 3, out: { indices: new Int32Array(2) } })).toThrow(/asks for 1/);
    expect(bestOfN({ rewards: new Float32Array(0), n: 4 }).indices).toHaveLength(0);
  });
});

describe("the KL controller", () => {
  it("doubles above 1.5 times the target, halves below the target over 1.5, and waits in between", () => {
    const controller = new AdaptiveKlController({ initial: 0.1, target: 6 });
    expect(controller.update(9)).toBe(0.1);
    expect(controller.update(9.001)).toBe(0.2);
    expect(controller.update(4)).toBe(0.2);
    expect(controller.update(3.999)).toBe(0.1);
    expect(controller.coefficient).toBe(0.1);
  });

  it("continues from what it was stored as", () => {
    const controller = new AdaptiveKlController({ initial: 1, target: 2, band: 2, factor: 3 });
    controller.update(5);
    const again = new AdaptiveKlController(JSON.parse(JSON.stringify(controller)));
    expect(again.coefficient).toBe(3);
    expect(again.update(0.5)).toBe(1);
  });

  it("stays where it can be steered, however long the divergence is off", () => {
    const controller = new AdaptiveKlController({ initial: 1, target: 1 });
    for (const [kl, back] of [
      [0, 100],
      [100, 0],
    ] as const) {
      for (let k = 0; k < 3000; k++) controller.update(kl);
      const far = new AdaptiveKlController(controller.toJSON()).coefficient;
      expect(controller.update(back)).toBe(back > 1 ? 2 * far : far / 2);
    }
  });

  it("refuses numbers that mean nothing", () => {
    expect(() => new AdaptiveKlController({ initial: 0, target: 1 })).toThrow(DataError);
    expect(() => new AdaptiveKlController({ initial: 1, target: Number.NaN })).toThrow(/target is NaN/);
    expect(() => new AdaptiveKlController({ initial: 1, target: 1, band: 1 })).toThrow(/band is 1/);
    expect(() => new AdaptiveKlController({ initial: 1, target: 1 }).update(Number.NaN)).toThrow(/NaN/);
  });
});
