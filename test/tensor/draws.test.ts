/**
 * @file Random numbers inside programs: the same bits as on the host, in every way to run; keys; orders.
 */
import { describe, expect, test } from "vitest";
import { HostStream } from "../../src/random/host.ts";
import { program, repeat, state } from "../../src/tensor/index.ts";
import { keyOf, normal, permutation, randomBits, randomKey, randomState, uniform } from "../../src/tensor/random.ts";
import { MODES, results, TARGETS } from "./support.ts";

const SEED = 0x1_2345_6789;
const host = () => new HostStream(1, 0x23456789);
const drawn = (count: number, draw: (stream: HostStream) => number): number[] => {
  const stream = host();
  return Array.from({ length: count }, () => draw(stream));
};

describe("draws are those of the host", () => {
  const build = () => ({
    bits: randomBits(keyOf(SEED), [3, 4]),
    unit: uniform(keyOf(SEED), [5, 3]),
    between: uniform(keyOf(SEED), [7], -2, 3),
    normal: normal(keyOf(SEED), [9]),
    folded: normal(keyOf(SEED).fold(7), [4]),
    order: permutation(keyOf(SEED), 11),
    powerOfTwo: permutation(keyOf(SEED), 64),
  });
  for (const mode of MODES)
    test(JSON.stringify(mode), () => {
      const found = results(build, {}, mode);
      expect(found.bits).toEqual(drawn(12, (s) => s.bits()));
      expect(found.unit).toEqual(drawn(15, (s) => s.uniform()));
      expect(found.between).toEqual(drawn(7, (s) => s.uniform(-2, 3)));
      expect(found.normal).toEqual(drawn(9, (s) => s.normal()));
      const folded = host().fold(7);
      expect(found.folded).toEqual(Array.from({ length: 4 }, () => folded.normal()));
      for (const [name, n] of [
        ["order", 11],
        ["powerOfTwo", 64],
      ] as const) {
        const order = host().permutation(n);
        expect(found[name]).toEqual(Array.from({ length: n }, (_, k) => order.at(k)));
        expect([...(found[name] as number[])].sort((a, b) => a - b)).toEqual(Array.from({ length: n }, (_, k) => k));
      }
    });
});

describe("a state gives another key each time", () => {
  for (const target of TARGETS)
    test(target, () => {
      const random = randomState(SEED);
      const sum = state("f32", [4]);
      const made = program(
        "keys",
        () => {
          const first = uniform(randomKey(random), [4]);
          const second = uniform(randomKey(random), [4]);
          sum.assign(0);
          repeat(3, () => sum.assign(sum.value.add(uniform(randomKey(random), [4]))));
          return { first, second, sum: sum.value };
        },
        { target },
      );
      const wanted = (count: number) => {
        const stream = host().fold(count);
        return Array.from({ length: 4 }, () => stream.uniform());
      };
      const added = (from: number) =>
        [0, 1, 2, 3].map((k) =>
          [from, from + 1, from + 2].reduce((s, n) => Math.fround(s + (wanted(n)[k] as number)), 0),
        );
      for (const from of [0, 5]) {
        const found = made.run();
        expect(Array.from(found.first)).toEqual(wanted(from));
        expect(Array.from(found.second)).toEqual(wanted(from + 1));
        expect(Array.from(found.sum)).toEqual(added(from + 2));
      }
      expect(random.array[2]).toBe(10);
    });
});
