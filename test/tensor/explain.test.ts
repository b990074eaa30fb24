/**
 * @file What a program says of itself, and that the memory of its own values is shared.
 */
import { expect, test } from "vitest";
import { concat, gradients, input, program, repeat, state, type Tensor, where } from "../../src/tensor/index.ts";

/** Steps of gradient descent on a network of two layers. */
function training(steps: number, width: number) {
  const flat = state("f32", [4 * width + width * 2], {
    from: Array.from({ length: 6 * width }, (_, k) => (k % 7) / 10),
  });
  const made = program(
    "training",
    () => {
      const x = input("x", "f32", [8, 4]);
      repeat(steps, () => {
        const w1 = flat.value.slice(0, 0, 4 * width).reshape([4, width]);
        const w2 = flat.value.slice(0, 4 * width, 6 * width).reshape([width, 2]);
        const loss = x.matmul(w1).tanh().matmul(w2).square().mean();
        const parts = gradients(loss, [w1, w2]).map((g) => g.reshape([-1]));
        flat.assign(flat.value.sub(concat(parts).mul(0.1)));
      });
      return { norm: flat.value.square().sum() };
    },
    { target: "js", threads: 1 },
  );
  return { flat, made };
}

test("a program explains its kernels, their work and memory, in lines that fit", () => {
  const { flat, made } = training(10, 16);
  const text = made.explain();
  expect(text).toMatch(
    /^training on js, unfused: \d+ kernels\none run: \d+\.\d+ MFLOP, .* read and written, arena .* KiB\n/,
  );
  expect(text).toContain("    repeat 10 times\n");
  // 2 * 8 * 4 * 16 operations, ten times.
  expect(text).toMatch(/ {2}matmul \[8, 4\] x \[4, 16\] +\[8, 16\] +10\.24 /);
  expect(text).toMatch(/tanh +\[8, 16\]/);
  expect(text).toMatch(/sum over \[0\] of mul +\[\]/);
  expect(text).not.toContain("GFLOP/s");
  expect(text.split("\n").every((line) => line.length <= 100)).toBe(true);
  made.dispose();
  flat.dispose();
});

test("networks that do not depend on each other go abreast, and share their elementwise loops", () => {
  const made = program(
    "both",
    () => {
      const x = input("x", "f32", [8, 4]);
      const network = (name: string, outputs: number): Tensor => {
        const [first, last] = [input(`${name}1`, "f32", [4, 16]), input(`${name}2`, "f32", [16, outputs])];
        return x.matmul(first).tanh().matmul(last);
      };
      return { actor: network("actor", 2), critic: network("critic", 1) };
    },
    { target: "js" },
  );
  expect(made.explain()).toMatch(/tanh x2 -> 2 values +\[8, 16\]/);
  made.dispose();
});

test("kernels are timed without changing anything", () => {
  const { flat, made } = training(3, 16);
  made.run({ x: Array.from({ length: 32 }, (_, k) => k / 32) });
  const before = Array.from(flat.array);
  const text = made.explain({ time: true });
  expect(text).toMatch(/us +GFLOP\/s/);
  expect(text).toMatch(/kernels by themselves: \d+\.\d us, \d+\.\d\d GFLOP\/s$/);
  expect(text.split("\n").every((line) => line.length <= 100)).toBe(true);
  expect(Array.from(flat.array)).toEqual(before);
  made.dispose();
  flat.dispose();
});

test("values inside of loops share memory", () => {
  const s = state("f32", [1000]);
  const arena = (looped: boolean): number => {
    const made = program(
      "chain",
      () => {
        const links = (): void => {
          // Sums from the end need all of what stands before: every link is a kernel of its own.
          let x: Tensor = s.value;
          for (let k = 0; k < 12; k++) x = where(x.gt(0), x, 1).cumsum(0, { fromEnd: true });
          s.assign(x);
        };
        if (looped) repeat(5, links);
        else links();
        return { sum: s.value.sum() };
      },
      { target: "js", threads: 1 },
    );
    const bytes = /arena (\d+\.\d) KiB/.exec(made.explain());
    made.dispose();
    return Number(bytes?.[1]);
  };
  expect(arena(true)).toBe(arena(false));
  expect(arena(true)).toBeLessThan(13);
  s.dispose();
});

test("of an eager program, the kernels of its operations are told", () => {
  const made = program("chain", () => ({ y: input("x", "f32", [64]).mul(2).add(1).tanh().sum() }), {
    target: "js",
    threads: 1,
    eager: true,
  });
  for (const time of [false, true]) {
    const text = made.explain({ time });
    expect(text).toMatch(/^chain on js, unfused, operation by operation: 4 kernels\n.*, values 0\.8 KiB\n/);
    expect(text).toMatch(/mul .*\n.* add .*\n.* tanh .*\n.* sum over \[0\] of values/);
    expect(text.includes("kernels by themselves")).toBe(time);
  }
  expect(made.run({ x: 0 }).y[0]).toBeCloseTo(64 * Math.tanh(1), 3);
  made.dispose();
});

test("running sums count", () => {
  const work = (dtype: "f32" | "i32", axis: number): number => {
    const made = program("sums", () => ({ y: input("x", dtype, [10, 50]).cumsum(axis) }), { target: "js", threads: 1 });
    const [, kiloflops] = /cumsum +\[10, 50\] +(\d+\.\d+) /.exec(made.explain()) ?? [];
    made.dispose();
    return Number(kiloflops);
  };
  expect([work("f32", 1), work("f32", 0), work("i32", 1)]).toEqual([0.5, 0.5, 0]);
});
