/**
 * @file Kernels called inside of tensor programs: what they write, states in place, loops, and faults.
 */
import { describe, expect, test } from "vitest";
import { bool, f32, i32, kernel, struct, u8 } from "../../src/index.ts";
import { call, constant, gradients, input, program, repeat, state } from "../../src/tensor/index.ts";
import { QUICK_MODES, results } from "./support.ts";

/** An environment: positions move by actions, and start again at the wall. */
const step = kernel(
  {
    state: struct({ x: f32, steps: i32 }).array(),
    actions: f32.array(),
    limit: f32,
    rewards: f32.array(),
    terminated: u8.array(),
  },
  ({ state, actions, limit, rewards, terminated }, { parallel }) => {
    parallel(actions.length, (i) => {
      const s = state[i];
      s.x = s.x + actions[i];
      s.steps = s.steps + 1;
      const out = Math.abs(s.x) > limit;
      rewards[i] = out ? -1 : s.x;
      terminated[i] = out ? 1 : 0;
      if (out) {
        s.x = 0;
        s.steps = 0;
      }
    });
  },
  { name: "step" },
);
const pick = kernel(
  { table: f32.array(), at: i32, result: f32.array(1), odd: bool },
  ({ table, at, result, odd }) => {
    result[0] = odd ? table[at] * 2 : table[at];
  },
  { name: "pick" },
);

describe("calls of kernels", () => {
  for (const mode of QUICK_MODES) {
    test(`change states in place, and give what they write: ${JSON.stringify(mode)}`, () => {
      const x = state("f32", [3], { from: [0, 1, 2] });
      const steps = state("i32", [3]);
      const log = state("f32", [4, 3]);
      const build = () => {
        const before = x.value;
        let total = constant(0, "f32", [3]);
        repeat(4, (i) => {
          const { rewards, terminated } = call(step, {
            state: { x, steps },
            // The policy looks at the state that the kernel changes.
            actions: x.value.mul(0).add(input("a", "f32", [3])),
            limit: constant(2.5),
            rewards: constant(0, "f32", [3]),
            terminated: constant(0, "bool", [3]),
          });
          log.assignRow(i, rewards.mul(10).add(terminated.to("f32")));
        });
        total = log.value.sum(0);
        return { total, log: log.value, x: x.value, before, steps: steps.value };
      };
      const got = results(build, { a: [1, 0, -1] }, mode);
      expect(got.log).toEqual([10, 10, 10, 20, 10, 0, -9, 10, -10, 10, 10, -20]);
      expect(got.x).toEqual([1, 1, -2]);
      expect(got.before).toEqual([0, 1, 2]);
      expect(got.steps).toEqual([1, 4, 4]);
      for (const s of [x, steps, log]) s.dispose();
    });

    test(`take tensors that lie among others, and states that they read and change: ${JSON.stringify(mode)}`, () => {
      const flat = state("f32", [6], { from: [1, 2, 3, 4, 5, 6] });
      const place = state("f32", [1]);
      const build = () => {
        const part = flat.value.slice(0, 2, 5);
        const got = call(pick, { table: part, at: 2, result: place, odd: true });
        const again = call(pick, {
          table: part.add(got.result),
          at: input("at", "i32", []),
          result: place.value,
          odd: false,
        });
        return { first: got.result, again: again.result, place: place.value, table: again.table };
      };
      const got = results(build, { at: [1] }, mode);
      expect(got).toEqual({ first: [10], again: [14], place: [10], table: [13, 14, 15] });
      for (const s of [flat, place]) s.dispose();
    });

    test(`fault with the kernel's own words: ${JSON.stringify(mode)}`, () => {
      const made = program(
        "wrong",
        () => ({
          y: call(pick, {
            table: input("t", "f32", [3]).add(1),
            at: input("at", "i32", []),
            result: constant(0, "f32", [1]),
            odd: false,
          }).result,
        }),
        mode,
      );
      expect(Array.from(made.run({ t: [1, 2, 3], at: 1 }).y)).toEqual([3]);
      expect(() => made.run({ at: 5 })).toThrow(/pick: .*table/);
      expect(Array.from(made.run({ at: 2 }).y)).toEqual([4]);
      made.dispose();
    });
  }

  test("are checked", () => {
    const within = (build: () => unknown) => () =>
      program("wrong", () => {
        build();
        return {};
      });
    const good = () => ({ table: input("t", "f32", [3]), at: 0, result: constant(0, "f32", [1]), odd: true });
    expect(within(() => call(pick, good()))).not.toThrow();
    expect(within(() => call(pick, { ...good(), table: input("u", "f64", [3]) }))).toThrow(
      /pick: "table" is an array of f32, not f64 \[3\]\n {2}at .*call\.test\.ts/,
    );
    expect(within(() => call(pick, { ...good(), result: constant(0, "f32", [2]) }))).toThrow(
      '"result" has 1 elements, not 2',
    );
    expect(within(() => call(pick, { ...good(), at: constant(0) }))).toThrow('"at" is one i32, not f32 []');
    expect(within(() => call(pick, { table: constant(0) } as never))).toThrow('"at" is missing');
    const s = state("f32", [1]);
    expect(within(() => call(pick, { ...good(), table: s, result: s }))).toThrow("stands for another array already");
    s.dispose();
    const flows = within(() => {
      const t = input("u", "f32", [3]);
      return gradients(call(pick, { ...good(), table: t }).result.sum(), [t]);
    });
    expect(flows).toThrow("gradients: pick is a kernel: nothing is known of its gradient");
  });
});
