/**
 * @file Parameters: one arena, initial values from seed and name, gradients with respect to what the loss has read.
 */
import { describe, expect, test } from "vitest";
import {
  type Initializer,
  kaimingNormal,
  kaimingUniform,
  mlp,
  orthogonal,
  Parameters,
  uniformBetween,
  xavierNormal,
  xavierUniform,
} from "../../src/nn/index.ts";
import { constant, input, program, repeat, type Tensor } from "../../src/tensor/index.ts";
import { moments } from "../random/statistics.ts";

const valuesOf = (initializer: Initializer, shape: readonly number[], seed = 1, name = "w"): Float64Array => {
  const set = new Parameters({ dtype: "f64", seed });
  set.declare(name, shape, initializer);
  const values = Float64Array.from(set.array(name));
  set.dispose();
  return values;
};

describe("initial values", () => {
  test("follow from the seed and the name alone", () => {
    const net = (seed: number) => mlp({ inputs: 3, hidden: [5], outputs: 2, seed, name: "net" }).parameters;
    const [a, b, c] = [net(1), net(1), net(2)];
    expect(Array.from(a.arena.array)).toEqual(Array.from(b.arena.array));
    expect(Array.from(a.arena.array)).not.toEqual(Array.from(c.arena.array));
    const shared = new Parameters({ seed: 1 });
    mlp({ inputs: 7, hidden: [], outputs: 1, name: "other", parameters: shared });
    mlp({ inputs: 3, hidden: [5], outputs: 2, name: "net", parameters: shared });
    expect(Array.from(shared.array("net.w1"))).toEqual(Array.from(a.array("net.w1")));
    expect(Array.from(shared.array("net.w0")).slice(0, 3)).not.toEqual(
      Array.from(shared.array("other.w0")).slice(0, 3),
    );
  });

  test.each([
    [4, 9],
    [9, 4],
    [16, 16],
    [1, 8],
  ])("orthogonal: %i by %i", (rows, columns) => {
    const gain = 1.5;
    const w = valuesOf(orthogonal(gain), [rows, columns]);
    const [count, length] = rows <= columns ? [rows, columns] : [columns, rows];
    const at = (k: number, i: number): number => w[rows <= columns ? k * columns + i : i * columns + k] as number;
    for (let a = 0; a < count; a++)
      for (let b = 0; b < count; b++) {
        let dot = 0;
        for (let i = 0; i < length; i++) dot += at(a, i) * at(b, i);
        expect(dot).toBeCloseTo(a === b ? gain ** 2 : 0, 12);
      }
  });

  test("have the spread they should have", () => {
    const shape = [60, 140];
    const cases: readonly [Initializer, number, number][] = [
      [xavierUniform(2), 4 / 100, Math.sqrt(12 / 100)],
      [xavierNormal(2), 4 / 100, Number.POSITIVE_INFINITY],
      [kaimingUniform(), 2 / 60, Math.sqrt(6 / 60)],
      [kaimingNormal(), 2 / 60, Number.POSITIVE_INFINITY],
      [uniformBetween(-1, 1), 1 / 3, 1],
    ];
    for (const [initializer, variance, bound] of cases) {
      const values = valuesOf(initializer, shape);
      const found = moments(values);
      expect(Math.abs(found.mean)).toBeLessThan(4 * Math.sqrt(variance / values.length));
      expect(Math.abs(found.variance / variance - 1)).toBeLessThan(0.06);
      expect(values.every((x) => Math.abs(x) <= bound)).toBe(true);
    }
  });
  test("of convolutions count the window", () => {
    const values = valuesOf(kaimingUniform(1), [3, 3, 8, 4]);
    expect(Math.max(...values.map(Math.abs))).toBeLessThanOrEqual(Math.sqrt(3 / 72));
  });
});

describe("a set", () => {
  test("has its tensors one after the other", () => {
    const { parameters } = mlp({ inputs: 2, hidden: [3], outputs: 1 });
    expect(parameters.list.map(({ name, shape, offset }) => [name, shape, offset])).toEqual([
      ["w0", [2, 3], 0],
      ["b0", [3], 6],
      ["w1", [3, 1], 9],
      ["b1", [1], 12],
    ]);
    expect(parameters.size).toBe(13);
  });
  test("refuses what does not fit", () => {
    const set = new Parameters({ name: "weights" });
    expect(() => set.arena).toThrow("the weights are empty");
    set.declare("actor.w0", [2], () => {});
    expect(() => set.declare("actor.w0", [3], () => {})).toThrow('there is a parameter "actor.w0" already');
    expect(() => set.declare("b", [0], () => {})).toThrow("[0] is not a shape");
    expect(() => set.find("actor.w1")).toThrow('Did you mean "actor.w0"?');
    expect(set.arena.array.length).toBe(2);
    expect(() => set.declare("late", [2], () => {})).toThrow('"late" comes too late');
    set.slot("moments");
    expect(() => set.slot("moments", { shape: [] })).toThrow('"moments" is f32 [2] already, not f32 []');
  });

  test("differentiates with respect to the values that were read", () => {
    const set = new Parameters({ dtype: "f64" });
    set.declare("w", [2, 1], (values) => values.set([3, 4]));
    const made = program("later", () => {
      const loss = set.value("w").square().sum();
      set.arena.assign(0);
      return { g: set.gradients(loss), now: set.flat };
    });
    const { g, now } = made.run();
    expect(Array.from(g)).toEqual([6, 8]);
    expect(Array.from(now)).toEqual([0, 0]);
  });
  test("refuses gradients that would be nothing, or two things", () => {
    const set = new Parameters({ name: "weights" });
    set.declare("w", [2], () => {});
    const within = (write: () => Tensor) => () => program("wrong", () => ({ g: set.gradients(write()) }));
    expect(within(() => constant(1))).toThrow("the loss does not depend on the weights");
    expect(within(() => set.value("w").stopGradient().sum())).toThrow("the loss does not depend on the weights");
    const mixed = within(() => {
      const before = set.value("w");
      set.arena.assign(1);
      const after = set.value("w");
      set.arena.assign(2);
      return before.mul(after).sum();
    });
    expect(mixed).toThrow("of before and after an assignment");
  });
  test("is differentiated inside loops", () => {
    const net = mlp({ inputs: 2, hidden: [], outputs: 1, headGain: 1 });
    const made = program("loop", () => {
      repeat(200, () => {
        const loss = net
          .apply(constant(1, "f32", [1, 2]))
          .sub(5)
          .square()
          .sum();
        net.parameters.arena.assign(net.parameters.flat.sub(net.parameters.gradients(loss).mul(0.1)));
      });
      return { y: net.apply(constant(1, "f32", [1, 2])) };
    });
    expect(made.run().y[0]).toBeCloseTo(5, 4);
  });
  test("moves towards another, and is copied", () => {
    const net = mlp({ inputs: 2, hidden: [], outputs: 2 });
    const target = net.parameters.copy("target");
    expect(Array.from(target.arena.array)).toEqual(Array.from(net.parameters.arena.array));
    net.parameters.arena.array.fill(1);
    target.arena.array.fill(0);
    const made = program("polyak", () => {
      target.moveTowards(net.parameters, 0.25);
      const x = input("x", "f32", [1, 2]);
      return { here: net.apply(x), there: net.apply(x, target) };
    });
    const { here, there } = made.run({ x: [1, 1] });
    expect([...here, ...there]).toEqual([3, 3, 0.75, 0.75]);
    const other = mlp({ inputs: 3, hidden: [], outputs: 2 });
    const wrong = () => {
      target.moveTowards(other.parameters, 1);
      return {};
    };
    expect(() => program("other", wrong)).toThrow("not the same tensors");
  });
});
