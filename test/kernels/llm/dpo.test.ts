import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DataError } from "../../../src/kernels/errors.ts";
import { DpoPairs, dpoLoss, packSequences } from "../../../src/kernels/llm/index.ts";
import { casesOf, expectNear, FLOATS, type FloatMaker, noise, onAll } from "./support.ts";

const inputOf = (type: FloatMaker, read: (name: string) => ArrayLike<number>) => ({
  policyChosen: type.from(read("policy_chosen")),
  policyRejected: type.from(read("policy_rejected")),
  referenceChosen: type.from(read("ref_chosen")),
  referenceRejected: type.from(read("ref_rejected")),
});

describe("DPO loss", () => {
  it("agrees with the reference: losses, rewards, accuracy and gradient", () => {
    const cases = casesOf("dpo_from_logps");
    expect(cases.length).toBeGreaterThan(0);
    for (const one of cases)
      for (const type of FLOATS) {
        const input = inputOf(type, (name) => one.inputs[name]?.data ?? []);
        const options = { beta: one.inputs.beta as number, labelSmoothing: one.inputs.label_smoothing as number };
        const got = dpoLoss(input, options);
        const wanted = (name: string): ArrayLike<number> => one.expected[name]?.data ?? [];
        expectNear(got.losses, wanted("losses"), one, type);
        expectNear(got.chosenRewards, wanted("chosen_rewards"), one, type);
        expectNear(got.rejectedRewards, wanted("rejected_rewards"), one, type);
        expectNear(got.gradChosen, wanted("grad_policy_chosen"), one, type);
        expectNear(got.gradRejected, wanted("grad_policy_rejected"), one, type);
        expectNear([got.loss, got.accuracy], [one.expected.loss, one.expected.accuracy] as number[], one, type);
      }
  });

  it("has the same bits on every target", () => {
    for (const type of FLOATS)
      for (const pairs of [1, 7, 64, 1001]) {
        const input = {
          policyChosen: noise(type, pairs, 9, -20),
          policyRejected: noise(type, pairs, 11, -21),
          referenceChosen: noise(type, pairs, 5, -19),
          referenceRejected: noise(type, pairs, 7, -22),
        };
        onAll(
          (choice) => dpoLoss(input, { ...choice, beta: 0.3, labelSmoothing: 0.1 }),
          (r) => [
            r.losses,
            r.chosenRewards,
            r.rejectedRewards,
            r.gradChosen,
            r.gradRejected,
            Float64Array.of(r.loss, r.accuracy, r.chosenReward, r.rejectedReward),
          ],
        );
      }
  });

  it("has the gradient of its loss", () => {
    const logs = fc.double({ min: -30, max: 0, noNaN: true });
    fc.assert(
      fc.property(
        fc.tuple(logs, logs, logs, logs),
        fc.double({ min: 0, max: 0.5, noNaN: true }),
        (values, smoothing) => {
          const options = { beta: 0.2, labelSmoothing: smoothing };
          const at = (shift: number) =>
            dpoLoss(
              {
                policyChosen: Float64Array.of(values[0] + shift),
                policyRejected: Float64Array.of(values[1]),
                referenceChosen: Float64Array.of(values[2]),
                referenceRejected: Float64Array.of(values[3]),
              },
              options,
            );
          const slope = (at(1e-4).loss - at(-1e-4).loss) / 2e-4;
          expect(at(0).gradChosen[0]).toBeCloseTo(slope, 6);
          expect(at(0).gradRejected[0]).toBeCloseTo(-slope, 6);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("stays finite far from zero, and hands NaN on", () => {
    const far = (margin: number) =>
      dpoLoss(
        {
          policyChosen: Float32Array.of(margin),
          policyRejected: Float32Array.of(0),
          referenceChosen: Float32Array.of(0),
          referenceRejected: Float32Array.of(0),
        },
        { beta: 1 },
      );
    expect(far(-5000).loss).toBe(5000);
    expect(far(5000).loss).toBe(0);
    expect(far(Number.NaN).loss).toBeNaN();
  });

  it("of no pairs is zero", () => {
    const none = new Float64Array(0);
    const input = { policyChosen: none, policyRejected: none, referenceChosen: none, referenceRejected: none };
    const got = dpoLoss(input);
    expect([got.loss, got.accuracy, got.chosenReward, got.rejectedReward, got.losses.length]).toEqual([0, 0, 0, 0, 0]);
  });

  it("is refused for what does not fit, before anything is written", () => {
    const four = (): Float64Array => new Float64Array(4);
    const good = { policyChosen: four(), policyRejected: four(), referenceChosen: four(), referenceRejected: four() };
    const losses = four().fill(7);
    expect(() => dpoLoss({ ...good, referenceRejected: new Float64Array(3), out: { losses } })).toThrow(DataError);
    expect(() => dpoLoss({ ...good, out: { losses, gradChosen: new Float64Array(3) } })).toThrow(/out.gradChosen/);
    expect(() => dpoLoss({ ...good, out: { losses } }, { beta: -1 })).toThrow(/"beta" .* it is -1/);
    expect(() => dpoLoss({ ...good, out: { losses } }, { labelSmoothing: 2 })).toThrow(/from 0 to 1/);
    expect(Array.from(losses)).toEqual([7, 7, 7, 7]);
    expect(dpoLoss({ ...good, out: { losses } }).losses).toBe(losses);
    expect(losses[0]).toBeCloseTo(Math.LN2, 12);
  });
});

describe("preference pairs", () => {
  it("are read back as they were put in", () => {
    const tokens = fc.array(fc.nat({ max: 100_000 }), { maxLength: 200 });
    const completion = fc.array(fc.nat({ max: 100_000 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(fc.array(fc.record({ prompt: tokens, chosen: completion, rejected: completion })), (given) => {
        const pairs = new DpoPairs();
        for (const [k, pair] of given.entries()) expect(pairs.push(pair)).toBe(k);
        expect(pairs.length).toBe(given.length);
        const back = [...pairs].map((pair) => ({
          prompt: Array.from(pair.prompt),
          chosen: Array.from(pair.chosen),
          rejected: Array.from(pair.rejected),
        }));
        expect(back).toEqual(given);
        for (const [k, pair] of given.entries()) {
          expect(Array.from(pairs.chosenSequence(k))).toEqual([...pair.prompt, ...pair.chosen]);
          expect(Array.from(pairs.rejectedSequence(k))).toEqual([...pair.prompt, ...pair.rejected]);
        }
        const all = given.reduce((sum, p) => sum + p.prompt.length + p.chosen.length + p.rejected.length, 0);
        expect(pairs.tokenCount).toBe(all);
      }),
      { numRuns: 30 },
    );
  });

  it("can be packed, and refuse what is no pair", () => {
    const pairs = new DpoPairs();
    pairs.push({ prompt: [1, 2], chosen: [3], rejected: [4, 5] });
    const [bin] = packSequences([pairs.chosenSequence(0), pairs.rejectedSequence(0)], { maxLength: 8 });
    expect(Array.from(bin?.inputIds ?? [])).toEqual([1, 2, 4, 5, 1, 2, 3]);
    expect(() => pairs.push({ prompt: [1], chosen: [], rejected: [2] })).toThrow(DataError);
    expect(() => pairs.push({ prompt: [-1], chosen: [1], rejected: [2] })).toThrow(/token 0 of prompt is -1/);
    expect(() => pairs.push({ prompt: [1], chosen: [1.5], rejected: [2] })).toThrow(/1.5/);
    expect(() => pairs.at(1)).toThrow(/there are 1/);
    expect(pairs.length).toBe(1);
  });
});
