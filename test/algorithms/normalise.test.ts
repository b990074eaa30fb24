/**
 * @file Normalisation inside of programs against the normalisers of the data plane, which are tested against fixtures.
 */
import { expect, test } from "vitest";
import { ObservationNorm, RewardNorm } from "../../src/algorithms/normalise.ts";
import { ObservationNormaliser, RewardNormaliser } from "../../src/kernels/running/index.ts";
import { HostStream } from "../../src/random/host.ts";
import { input, program } from "../../src/tensor/index.ts";

const n = 6;
const size = 3;

test("observations", () => {
  const random = new HostStream(0, 3);
  const norm = new ObservationNorm(size);
  const one = program(
    "observations",
    () => {
      const obs = input("obs", "f32", [n, size]);
      norm.learn(obs);
      return { out: norm.apply(obs) };
    },
    { target: "js" },
  );
  const other = new ObservationNormaliser({ dimension: size, target: "js" });
  for (let k = 0; k < 20; k++) {
    const obs = Float32Array.from({ length: n * size }, () => random.uniform() * 40 - 5);
    const expected = other.process(obs);
    const { out } = one.run({ obs });
    for (const [i, value] of expected.entries()) expect(out[i]).toBeCloseTo(value, 5);
  }
});

test("rewards", () => {
  const random = new HostStream(0, 4);
  const norm = new RewardNorm(n, 0.9);
  const one = program("rewards", () => ({ out: norm.step(input("reward", "f32", [n]), input("over", "bool", [n])) }), {
    target: "js",
  });
  const other = new RewardNormaliser({ environments: n, gamma: 0.9, target: "js" });
  for (let k = 0; k < 40; k++) {
    const reward = Float32Array.from({ length: n }, () => random.uniform() * 8 - 2);
    const over = Uint8Array.from({ length: n }, () => (random.uniform() < 0.2 ? 1 : 0));
    const expected = other.process(reward, over);
    const { out } = one.run({ reward, over });
    for (const [i, value] of expected.entries()) expect(out[i]).toBeCloseTo(value, 5);
  }
});
