/**
 * @file Programs: all targets, thread counts and modes give the same bits; states, loops and their order.
 */
import { describe, expect, test } from "vitest";
import {
  concat,
  constant,
  fold,
  gradients,
  input,
  program,
  repeat,
  scan,
  state,
  type Tensor,
  table,
  where,
} from "../../src/tensor/index.ts";
import { MODES, numbers, QUICK_MODES, results, TARGETS } from "./support.ts";

describe("every way to run gives the same bits", () => {
  const inputs = { x: numbers(24 * 10, 1), w: numbers(10 * 7, 2), b: numbers(7, 3), y: numbers(24 * 7, 4) };
  const build = () => {
    const x = input("x", "f32", [24, 10]);
    const w = input("w", "f32", [10, 7]);
    const b = input("b", "f32", [7]);
    const h = x.matmul(w).add(b).tanh();
    const p = h.softmax();
    const loss = p
      .log()
      .mul(input("y", "f32", [24, 7]))
      .mean()
      .neg();
    const [gw, gb] = gradients(loss, [w, b]) as [ReturnType<typeof constant>, ReturnType<typeof constant>];
    return { loss, gw, gb, best: p.argmax(), sums: p.cumsum(0), rows: x.gather(table([3, 3, 0], "i32")) };
  };
  const wanted = results(build, inputs, { target: "js", numerics: "unfused" });
  for (const mode of MODES) test(JSON.stringify(mode), () => expect(results(build, inputs, mode)).toEqual(wanted));

  test.skipIf(!TARGETS.includes("native"))("fused numerics agree between native and wasm", () => {
    const [wasm, native, eager] = (["wasm", "native", "native"] as const).map((target, k) =>
      results(build, inputs, { target, numerics: "fused", eager: k === 2 }),
    );
    expect(native).toEqual(wasm);
    expect(eager).toEqual(wasm);
    expect(native).not.toEqual(wanted);
  });
});

describe("states", () => {
  test("hold their value from run to run, and are shared by programs", () => {
    const counter = state("i32", [], { name: "counter" });
    const count = program("count", () => {
      counter.assign(counter.value.add(1));
      return { now: counter.value };
    });
    const read = program("read", () => ({ twice: counter.value.mul(2) }));
    expect(count.run().now[0]).toBe(1);
    expect(count.run().now[0]).toBe(2);
    expect(read.run().twice[0]).toBe(4);
    expect(counter.array[0]).toBe(2);
  });

  for (const mode of QUICK_MODES) {
    test(`a value is that of the time when it was read: ${JSON.stringify(mode)}`, () => {
      const s = state("f32", [3], { from: [1, 2, 3] });
      const build = () => {
        const before = s.value;
        const product = before.mul(before);
        s.assign(before.add(10));
        const between = s.value;
        s.assign(s.value.slice(0, 0, 2).pad([1], [0]));
        return { before, product, between, after: s.value, mixed: before.add(between).mul(s.value) };
      };
      expect(results(build, {}, mode)).toEqual({
        before: [1, 2, 3],
        product: [1, 4, 9],
        between: [11, 12, 13],
        after: [0, 11, 12],
        mixed: [0, 154, 192],
      });
    });

    test(`states that change places: ${JSON.stringify(mode)}`, () => {
      const a = state("f32", [2], { from: [1, 2] });
      const b = state("f32", [2], { from: [3, 4] });
      const build = () => {
        const [x, y] = [a.value, b.value];
        a.assign(y);
        b.assign(x);
        return { a: a.value, b: b.value };
      };
      expect(results(build, {}, mode)).toEqual({ a: [3, 4], b: [1, 2] });
    });

    test(`loops, and what is fixed in them: ${JSON.stringify(mode)}`, () => {
      const sum = state("f32", [4]);
      const start = state("f32", [4], { from: [1, 1, 1, 1] });
      const build = () => {
        const x = input("x", "f32", [4]);
        const fixed = x.exp().mul(start.value);
        sum.assign(constant(0));
        repeat(5, (i) => {
          const inner = i.to("f32").add(fixed);
          repeat(2, (j) => {
            sum.assign(sum.value.add(inner.mul(j.add(1).to("f32"))));
            start.assign(start.value.mul(2));
          });
        });
        return { sum: sum.value, fixed, start: start.value };
      };
      const x = [0, 1, 2, -1];
      const fixed = x.map((v) => Math.fround(Math.exp(v)));
      const found = results(build, { x }, mode);
      start.array.fill(1);
      for (const [k, v] of fixed.entries()) expect(found.fixed?.[k]).toBeCloseTo(v, 5);
      const wanted = fixed.map((v) => [0, 1, 2, 3, 4].reduce((s, i) => s + 3 * (i + v), 0));
      for (const [k, v] of wanted.entries()) expect(found.sum?.[k]).toBeCloseTo(v, 3);
      expect(found.start).toEqual([1024, 1024, 1024, 1024]);
    });
  }
});

test("one run is one crossing, however much happens in it", () => {
  const w = state("f32", [8], { from: numbers(8) });
  const made = program("steps", () => {
    repeat(10, () => {
      const loss = w.value.sub(1).square().sum();
      const [g] = gradients(loss, [w.value]) as [typeof loss];
      w.assign(w.value.sub(g.mul(0.2)));
    });
    return { distance: w.value.sub(1).abs().max() };
  });
  made.run();
  expect(made.crossings).toBe(1);
  expect(made.compiled).toBe(1);
  expect(made.run().distance[0]).toBeLessThan(0.01);
});

test("operation by operation, each has a program and a crossing of its own", () => {
  const s = state("f32", [4], { from: [1, 2, 3, 4] });
  const made = program(
    "eager",
    () => {
      const x = input("x", "f32", [4]);
      repeat(3, () => s.assign(s.value.mul(x).add(1)));
      return { sum: s.value.sum(), most: s.value.max() };
    },
    { target: "js", eager: true },
  );
  expect([made.compiled, made.crossings]).toEqual([0, 0]);
  made.run({ x: 1 });
  // A product, a sum and an assignment, which all iterations share; a sum and a maximum.
  const [kernels, crossings] = [made.compiled, made.crossings];
  expect(kernels).toBe(5);
  expect(crossings).toBe(3 * 3 + 2);
  made.run({ x: 1 });
  expect([made.compiled, made.crossings]).toEqual([kernels, 2 * crossings]);
  made.dispose();
  s.dispose();
});

test("what a loop carries for nothing is left out", () => {
  const s = state("f32", [4], { from: [1, 2, 3, 4] });
  const build = (used: boolean) => () => {
    const x = input("x", "f32", [4]);
    const last = fold(5, x, (_, c) => c.mul(s.value));
    const { carry, outputs } = scan(4, x, (_, c) => ({ carry: c.add(1), output: c.sum() }));
    const [g] = gradients(last.sum(), [x]) as [Tensor];
    repeat(3, () => void x.add(1));
    return { sum: (used ? last.add(g).add(outputs.mean()) : carry).sum() };
  };
  const steps = (used: boolean): { readonly loops: number; readonly sum: number } => {
    const made = program("carried", build(used), { target: "js", threads: 1 });
    const loops = made.steps.filter((step) => step.kind === "repeat").length;
    const [sum = 0] = made.run({ x: [1, 1, 1, 1] }).sum;
    made.dispose();
    return { loops, sum };
  };
  expect(steps(true)).toEqual({ loops: 3, sum: 1300 + 1300 + 10 * 4 });
  expect(steps(false)).toEqual({ loops: 1, sum: 20 });
  s.dispose();
});

test("a gradient of parts of one arena is computed into place", () => {
  const arena = state("f32", [20 + 4], { from: numbers(24) });
  const made = program("arena", () => {
    const w = arena.value.slice(0, 0, 20).reshape([5, 4]);
    const b = arena.value.slice(0, 20, 24);
    const loss = input("x", "f32", [3, 5]).matmul(w).add(b).square().sum();
    return { g: concat(gradients(loss, [w, b]).map((g) => g.reshape([-1]))) };
  });
  const x = numbers(15, 5);
  const { g } = made.run({ x });
  const whole = program("whole", () => {
    const loss = input("x", "f32", [3, 5]);
    const w = arena.value.slice(0, 0, 20).reshape([5, 4]);
    const out = loss
      .matmul(w)
      .add(arena.value.slice(0, 20, 24))
      .square()
      .sum();
    return { g: (gradients(out, [arena.value]) as [typeof out])[0] };
  });
  expect(Array.from(g)).toEqual(Array.from(whole.run({ x }).g));
  // The products write straight into the result: nothing is copied behind them.
  expect(made.steps.filter((s) => s.kind === "matmul")).toHaveLength(2);
  expect(made.steps.at(-1)?.kind).not.toBe("repeat");
});

describe("mistakes are named", () => {
  const within = (build: () => unknown) => () =>
    program("wrong", () => {
      build();
      return {};
    });
  test("shapes, with both of them, the operation and the place", () => {
    const wrong = within(() => input("a", "f32", [2, 3]).add(input("b", "f32", [2, 4])));
    expect(wrong).toThrow(/add: shapes \[2, 3\] and \[2, 4\] do not fit each other\n {2}at .*programs\.test\.ts:\d+/);
    expect(within(() => input("a", "f32", [2, 3]).matmul(input("b", "f32", [2, 4])))).toThrow(
      "matmul: shapes [2, 3] and [2, 4] do not fit",
    );
    expect(within(() => input("a", "f32", [6]).reshape([4]))).toThrow("reshape: [6] has not as many elements as [4]");
    expect(within(() => input("a", "f32", [6]).slice(0, 2, 9))).toThrow(
      "slice: 2 to 9 by 1 does not lie in axis 0 of [6]",
    );
  });
  test("types", () => {
    expect(within(() => input("a", "f32", [2]).add(input("b", "i32", [2])))).toThrow("f32 and i32 do not mix");
    expect(within(() => where(input("a", "f32", [2]), 1, 2))).toThrow("its condition must be of type bool");
    expect(within(() => gradients(input("a", "f32", [2]), []))).toThrow("it must be one float");
  });
  test("inputs", () => {
    const made = program("named", () => ({ y: input("obs", "f32", [2]).add(1) }));
    expect(() => made.run({ ops: [1, 2] })).toThrow('named has no input "ops". Did you mean "obs"?');
    expect(() => made.run({ obs: [1, 2, 3] })).toThrow('the input "obs" is [2], 2 numbers; 3 were given');
  });
  test("tensors outside of where they exist", () => {
    expect(() => constant(1)).toThrow("there is no program being recorded");
    const leak = within(() => {
      const kept: ReturnType<typeof constant>[] = [];
      repeat(2, (i) => void kept.push(i.add(1)));
      return kept[0]?.add(1);
    });
    expect(leak).toThrow("made inside repeat() is used outside of it");
  });
});
