/**
 * @file Recurrent cells: a loop gives what the steps written out give, gradients included; a GRU learns to remember.
 */
import { describe, expect, test } from "vitest";
import { crossEntropy, gru, linear, lstm, Parameters } from "../../src/nn/index.ts";
import { adam } from "../../src/optim/index.ts";
import { input, program, type Tensor } from "../../src/tensor/index.ts";
import { keyOf, randomKey, randomState, uniform } from "../../src/tensor/random.ts";
import { TARGETS } from "../tensor/support.ts";

describe("a loop gives what the steps written out give", () => {
  const sizes = { inputs: 3, hidden: 4, dtype: "f64" } as const;
  const cells = {
    gru: (x: Tensor, reset: Tensor, loop: boolean) => {
      const cell = gru(sizes);
      const { outputs, h } = cell.sequence(x, x.at(0, 0).sum(-1, true).expand([2, 4]), { reset, loop });
      return { cell, outputs, h };
    },
    lstm: (x: Tensor, reset: Tensor, loop: boolean) => {
      const cell = lstm(sizes);
      const h0 = x.at(0, 0).sum(-1, true).expand([2, 4]);
      const { outputs, h, c } = cell.sequence(x, { h: h0, c: h0.mul(2) }, { reset, loop });
      return { cell, outputs, h: h.add(c) };
    },
  };
  for (const [name, run] of Object.entries(cells))
    test(name, () => {
      const found = [false, true].map((loop) => {
        const made = program(
          name,
          () => {
            const x = uniform(keyOf(1), [6, 2, 3], -1, 1).to("f64");
            const { cell, outputs, h } = run(x, input("reset", "bool", [6, 2]), loop);
            const loss = outputs.square().sum().add(h.sum());
            return { outputs, h, g: cell.parameters.gradients(loss) };
          },
          { target: "js" },
        );
        const { outputs, h, g } = made.run({ reset: [0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0] });
        return [...outputs, ...h, ...g];
      }) as [number[], number[]];
      expect(found[0].some((x) => x !== 0)).toBe(true);
      found[0].forEach((x, k) => void expect(found[1][k]).toBeCloseTo(x, 12));
    });
});

describe("a GRU learns to say what it saw first", () => {
  for (const loop of [false, true])
    for (const target of TARGETS.filter((name) => name !== "js"))
      test(`${target}${loop ? ", as a loop" : ""}`, () => {
        const parameters = new Parameters({ seed: 3 });
        const cell = gru({ inputs: 2, hidden: 16, name: "memory", parameters });
        const head = linear({ inputs: 16, outputs: 2, name: "head", parameters });
        const random = randomState(5);
        const made = program(
          "remember",
          () => {
            const x = uniform(randomKey(random), [8, 32, 2], -1, 1);
            const label = x.at(0, 0).at(1, 0).gt(0).to("i32");
            const { h } = cell.sequence(x, x.at(0, 0).sum(-1, true).mul(0).expand([32, 16]), { loop });
            const logits = head.apply(h);
            const loss = crossEntropy(logits, label).mean();
            adam(parameters, parameters.gradients(loss), { learningRate: 0.01, clip: 1 });
            return { loss, right: logits.argmax().eq(label).to("f32").mean() };
          },
          { target },
        );
        for (let step = 0; step < 600; step++) made.run();
        let right = 0;
        for (let step = 0; step < 20; step++) right += (made.run().right[0] as number) / 20;
        made.dispose();
        expect(right).toBeGreaterThan(0.93);
      });
});
