/**
 * @file What is over is over: programs and states that were disposed of say so before anything is written, their memory is
 * given back once, and running takes none of JavaScript's.
 */
import { describe, expect, test } from "vitest";
import { heap } from "../../src/runtime/heap.ts";
import {
  input,
  program,
  type State,
  state,
  TensorError,
  type TensorProgram,
  type TensorProgramOptions,
} from "../../src/tensor/index.ts";
import { TARGETS } from "./support.ts";

const MODES: readonly TensorProgramOptions[] = TARGETS.flatMap((target) => [
  { target, threads: 1 },
  { target, threads: 1, eager: true },
]);

/** Adds an input to a state. */
function adding(options: TensorProgramOptions): { readonly sum: State; readonly made: TensorProgram } {
  const sum = state("f32", [2], { name: "sum" });
  const build = () => {
    sum.assign(sum.value.add(input("x", "f32", [2])));
    return { now: sum.value.mul(2) };
  };
  return { sum, made: program("adding", build, options) };
}

describe.each(MODES)("%j", (mode) => {
  test("a program that was disposed of does nothing any more", () => {
    const before = heap().bytesInUse;
    const { sum, made } = adding(mode);
    made.run({ x: 1 });
    made.dispose();
    const other = heap().array("f32", 2);
    for (const use of [
      () => made.run({ x: 5 }),
      () => made.run(),
      () => made.load(),
      () => made.explain(),
      () => made.explain({ time: true }),
      () => made.show("ir"),
      () => made.steps,
    ]) {
      expect(use).toThrow(TensorError);
      expect(use).toThrow("adding has been disposed of");
    }
    expect([...sum.array, ...other]).toEqual([1, 1, 0, 0]);
    // Once more frees nothing, also where the memory has another owner by now.
    made.dispose();
    other.fill(3);
    expect([...heap().array("f32", 2), ...other]).toEqual([0, 0, 3, 3]);
    sum.dispose();
    expect(heap().bytesInUse - before).toBe(2 * 64);
  });

  test("nor does one that has not run before", () => {
    const { sum, made } = adding(mode);
    made.dispose();
    expect(() => made.run({ x: 1 })).toThrow("adding has been disposed of");
    expect(Array.from(sum.array)).toEqual([0, 0]);
    sum.dispose();
  });

  test("a program whose state was disposed of says so", () => {
    const { sum, made } = adding(mode);
    made.run({ x: 1 });
    // Others are no concern of it.
    state("f32", [2]).dispose();
    expect(Array.from(made.run({ x: 1 }).now as Float32Array)).toEqual([4, 4]);
    sum.dispose();
    sum.dispose();
    const other = heap().array("f32", 2).fill(7);
    for (let k = 0; k < 2; k++) {
      expect(() => made.run({ x: 9 })).toThrow(TensorError);
      expect(() => made.run({ x: 9 })).toThrow("adding uses the state sum, which has been disposed of");
    }
    expect([...other, ...(made.inputs.x as Float32Array)]).toEqual([7, 7, 1, 1]);
    made.dispose();
    heap().release(other.byteOffset);
  });

  test("inputs that do not fit are refused before any is written", () => {
    const made = program("two", () => ({ y: input("a", "f32", [2]).add(input("b", "f32", [2])) }), mode);
    for (const b of [[1, 2, 3], undefined, null, "12", {}])
      expect(() => made.run({ a: 1, b } as never)).toThrow('two: the input "b" is [2], 2 numbers; ');
    expect(Array.from(made.inputs.a as Float32Array)).toEqual([0, 0]);
    made.dispose();
  });
});

test("a state that was disposed of is not recorded", () => {
  const gone = state("f32", [2], { name: "gone" });
  gone.dispose();
  const uses = [() => gone.value, () => gone.assign(1), () => gone.assignRow(0, 1)];
  for (const use of uses)
    expect(() => program("late", () => void use() as never)).toThrow(
      /(value|assign|assignRow): the state gone has been disposed of\n {2}at .*dispose\.test\.ts/,
    );
});

describe("a run allocates nothing in JavaScript", () => {
  const RUNS = 20_000;
  test.each(TARGETS)("%s", (target) => {
    const { sum, made } = adding({ target, threads: 1 });
    const given = { x: Float32Array.of(1, 2) };
    const bytesPerRun = (run: () => void): number => {
      for (let k = 0; k < RUNS; k++) run();
      // The least of some measurements, where no collection came between.
      const growths = Array.from({ length: 5 }, () => {
        const before = process.memoryUsage().heapUsed;
        for (let k = 0; k < RUNS; k++) run();
        return (process.memoryUsage().heapUsed - before) / RUNS;
      });
      return Math.min(...growths.filter((bytes) => bytes >= 0));
    };
    expect(bytesPerRun(() => made.run())).toBeLessThan(8);
    expect(bytesPerRun(() => made.run(given))).toBeLessThan(8);
    made.dispose();
    sum.dispose();
  });
});
