/**
 * @file Mistakes are told with the line of the user's own file, also from within layers, and in the package as published.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { categorical } from "../../src/distributions/index.ts";
import { attention, crossEntropy, linear } from "../../src/nn/index.ts";
import { adam } from "../../src/optim/index.ts";
import {
  constant,
  conv2d,
  flip,
  fold,
  input,
  iota,
  keyOf,
  program,
  repeat,
  type Shape,
  scan,
  scatterAlong,
  stack,
  state,
  type Tensor,
  takeAlong,
  tile,
  uniform,
  where,
} from "../../src/tensor/index.ts";
import { ownFolders, placeIn } from "../../src/tensor/place.ts";
import { TARGETS } from "./support.ts";

const message = (build: () => Tensor | undefined): string => {
  try {
    program("wrong", () => {
      build();
      return {};
    });
  } catch (error) {
    return (error as Error).message;
  }
  return "nothing";
};
/** The text of the line that a message points at. */
function lineOf(text: string): string {
  const found = /\n {2}at (.*):(\d+):(\d+)$/.exec(text);
  return (readFileSync(found?.[1] as string, "utf8").split("\n")[Number(found?.[2]) - 1] ?? "").trim();
}

describe("mistakes point at the user's line", () => {
  const x = () => input("x", "f32", [2, 3]);
  const at = (shape: Shape) => input("at", "i32", shape);
  const layer = linear({ inputs: 4, outputs: 2 });
  const net = linear({ inputs: 1, outputs: 1 });
  const rate = { learningRate: 1 };
  const weights = state("f32", [3]) as never;
  const cases: [string, () => Tensor | undefined, string][] = [
    ["operations", () => x().add(input("y", "f32", [2])), "add: shapes [2, 3] and [2] do not fit each other"],
    ["layers", () => layer.apply(x()), "matmul: shapes [2, 3] and [4, 2] do not fit: [m, k] times [k, n]"],
    ["batches", () => x().matmul(input("y", "f32", [2, 4, 5])), "matmul: shapes [2, 3] and [2, 4, 5] do not fit"],
    ["images", () => conv2d(x(), x()), "conv2d: shapes [2, 3] and [2, 3] do not fit: [batch, height, width, channels]"],
    ["loops", () => fold(2, x(), (_, c) => c.transpose()), "fold: carries f32 [2, 3], the next value is f32 [3, 2]"],
    ["counts", () => void repeat(-1, () => {}) as never, "repeat: -1 is not a whole number from 0 on"],
    ["states", () => void state("f32", [0]) as never, "state: [0] is not a shape: sizes are whole numbers from 1 on"],
    ["rows", () => void state("f32", [2, 3]).assignRow(0, x()) as never, "a row of state is [3], the value [2, 3]"],
    ["inputs", () => x().add(input("x", "f32", [3])), 'input: "x" is f32 [2, 3] already, not f32 [3]'],
    [
      "row numbers",
      () => void state("f32", [2]).assignRow(9, 1) as never,
      "assignRow: row 9 is not in 0 to 1 of state",
    ],
    ["picks", () => x().pick(at([2, 1])), "pick: an index [2, 1] does not fit [2, 3]: it is one for each row"],
    ["taking", () => takeAlong(x(), at([3, 1]), 1), "takeAlong: an index [3, 1] does not fit [2, 3] along axis 1"],
    ["taking by numbers", () => takeAlong(x(), x(), 0), "takeAlong: the index is f32, it must be i32"],
    [
      "scattering",
      () => scatterAlong(x(), at([2, 1]), x(), 1),
      "scatterAlong: elements f32 [2, 3] do not fit the index [2, 1] of f32 ones",
    ],
    ["turning round", () => flip(x(), [2]), "flip: [2, 3] has no axis 2"],
    ["turning twice", () => flip(x(), [0, -2]), "flip: [0, -2] names an axis twice"],
    ["vectors", () => x().matmul(input("v", "f32", [4])), "matmul: shapes [2, 3] and [4] do not fit: [..., m, k]"],
    ["whole parts", () => at([2]).reciprocal(), "reciprocal: it does not take i32"],
    ["attention", () => attention(x(), x(), x(), { casual: true } as never), 'attention: there is no option "casual"'],
    [
      "what is earlier",
      () => attention(x(), input("k", "f32", [4, 3]), input("v", "f32", [4, 3]), { causal: true }),
      "attention: causal with 2 queries and 4 keys: which are earlier is for a mask to say",
    ],
    ["repeating", () => tile(x(), [2]), "tile: [2] is not a number of repeats for each axis of [2, 3]"],
    ["repeats", () => tile(x(), [0, 1]), "tile: 0 is not a whole number from 1 on"],
    ["labels", () => crossEntropy(x(), at([2, 1])), "crossEntropy: an index [2, 1] does not fit [2, 3]"],
    ["choices", () => categorical(x()).logProb(at([2, 1])), "logProb: an index [2, 1] does not fit [2, 3]"],
    ["types of indices", () => x().pick(x().sum(1)), "pick: the index is f32, it must be i32"],
    ["what is left", () => x().reshape([-1, 4]), "reshape: [2, 3] cannot become [-1, 4]: one size may be -1"],
    ["two sizes left", () => x().reshape([-1, -1]), "reshape: [2, 3] cannot become [-1, -1]"],
    ["negative sizes", () => x().reshape([-2, -3]), "reshape: [-2, -3] is not a shape: sizes are whole numbers"],
    ["half a padding", () => x().pad([0.5, 0], [0, 0]), "pad: [0.5,0] and [0,0] are not paddings of [2, 3]"],
    ["far axes", () => x().unsqueeze(9), "unsqueeze: [2, 3] has no room for an axis 9"],
    ["counting down", () => iota(-1), "iota: -1 is not a whole number from 0 on"],
    ["negative constants", () => constant(1, "f32", [-1]), "constant: [-1] is not a shape"],
    ["constants of text", () => constant("1" as never), "constant: 1 is not a number"],
    ["no classes", () => at([2]).oneHot(0), "oneHot: 0 is not a whole number from 1 on"],
    ["input shapes", () => input("z", "f32", [2.5]), "input: [2.5] is not a shape: sizes are whole numbers"],
    ["input sizes", () => input("z", "f32", 3 as never), "input: 3 is not a shape: sizes are whole numbers"],
    ["input types", () => input("z", "f16" as never, [2]), "input: f16 is not one of f32, f64, i32, u32, bool"],
    ["result types", () => x().to("f16" as never), "to: f16 is not one of f32, f64, i32, u32, bool"],
    ["numbers", () => x().matmul(3 as never), "matmul: it takes a tensor, and what was given is a number"],
    ["text", () => x().add("3" as never), "add: it takes tensors and numbers, and what was given is a string"],
    ["State", () => x().mul(weights), "mul: it takes tensors and numbers, and what was given is a State: take"],
    ["nothing", () => x().gather(undefined as never), "gather: it takes a tensor, and what was given is undefined"],
    ["draws", () => uniform(keyOf(1), [-1]), "uniform: [-1] is not a shape"],
    ["scans", () => scan(0, x(), (_, c) => ({ carry: c, output: c })).carry, "scan: 0 is not a whole number from 1 on"],
    ["carries", () => fold(2, x(), () => 3 as never), "fold: the next value must be a tensor, and is a number"],
    ["choice", () => where(x(), 1, 2), "where: its condition must be of type bool"],
    ["larger", () => x().maximum(at([2])), "maximum: f32 and i32 do not mix; convert one with to()"],
    ["bounds", () => x().clamp(at([2]), 1), "clamp: f32 and i32 do not mix; convert one with to()"],
    ["elements", () => x().at(1, 3), "at: 3 is not in 0 to 2, along axis 1 of [2, 3]"],
    ["stacks", () => stack([x(), x().transpose()]), "stack: f32 [1, 2, 3] and f32 [1, 3, 2] do not fit along axis 0"],
    ["means", () => x().gt(0).mean(), "mean: it does not take bool"],
    ["roots", () => at([2]).softmax(), "softmax: it does not take i32"],
    ["steps", () => void adam(net.parameters, x(), rate) as never, "adam: the gradient is f32 [2, 3], it must be"],
    ["losses", () => net.parameters.gradients(x().sum()), "gradients: the loss does not depend on the parameters"],
  ];
  test.each(cases)("%s", (_, build, says) => {
    const text = message(build);
    expect(text).toContain(says);
    expect(lineOf(text)).toContain(says.slice(0, 6));
  });

  test("programs that return something else than tensors, and options that do not exist", () => {
    const making =
      (made: unknown, options = {}) =>
      () =>
        program("odd", () => made as never, options);
    for (const nothing of [undefined, null, 3, []])
      expect(making(nothing)).toThrow(
        /^odd: its function returns a record of tensors, such as \{ loss \}.*\n {2}at .*errors/,
      );
    expect(() => program("odd", () => constant(1) as never)).toThrow("odd: its function returns a record of tensors");
    expect(making({ y: 3 })).toThrow('odd: its function returns "y", which is a number');
    expect(making({ y: undefined })).toThrow('odd: its function returns "y", which is undefined');
    expect(making({}, { numerics: "fast" })).toThrow('odd: numerics are "fused" or "unfused", not "fast"');
    expect(making({}, { thread: 2 })).toThrow('odd: there is no option "thread". Did you mean "threads"?');
    expect(making({}, { threads: 0, eager: true })).toThrow("threads must be a whole number from 1 to 256, not 0");
  });
});

describe("places", () => {
  const own = ["/lib/node_modules/lockstep/src/", "/lib/node_modules/lockstep/dist/"];
  const inside = "    at refuse (file:///lib/node_modules/lockstep/dist/tensor/build.js:7:9)\n";
  const cases: [string, string | undefined][] = [
    ["    at user (/home/me/my project (2)/a b.ts:3:4)", "/home/me/my project (2)/a b.ts:3:4"],
    ["    at /home/me/my project (2)/a.ts:3:4", "/home/me/my project (2)/a.ts:3:4"],
    ["    at async file:///home/my%20project%20(2)/a.ts:3:4", "/home/my project (2)/a.ts:3:4"],
    ["    at new Agent (file:///home/me/a%2.ts:3:4)", "/home/me/a%2.ts:3:4"],
    ["    at http://localhost:5173/src/main.ts?t=17:3:4", "http://localhost:5173/src/main.ts?t=17:3:4"],
    ["    at eval (eval at run (/home/me/a.ts:1:1), <anonymous>:3:4)\n    at /home/me/b.ts:5:6", "/home/me/b.ts:5:6"],
    ["    at node:internal/main/run_main_module:23:47", undefined],
  ];
  test.each(cases)("%s", (line, wanted) => expect(placeIn(`Error\n${inside}${line}`, own)).toBe(wanted));

  test("there is none in a bundle", () => {
    expect(ownFolders("file:///lib/lockstep/dist/tensor/place.js")).toEqual([
      "/lib/lockstep/src/",
      "/lib/lockstep/dist/",
    ]);
    expect(ownFolders("file:///app/dist/assets/bundle.js")).toEqual([]);
    expect(ownFolders(undefined)).toEqual([]);
    expect(placeIn(`Error\n${inside}`, [])).toBeUndefined();
  });
});

describe("what only shows when a program runs is named, too", () => {
  test.each(TARGETS)("%s", (target) => {
    const rows = state("f32", [4, 2]);
    const made = program(
      "indexed",
      () => {
        const index = input("index", "i32", [3]);
        rows.assignRow(input("row", "i32", []), 1);
        const logits = input("logits", "f32", [3, 3]);
        return { loss: crossEntropy(logits, index), best: logits.argmax() };
      },
      { target, threads: 1 },
    );
    const given = { logits: [1, 2, 3, 1, Number.NaN, 3, 5, Number.NaN, Number.NaN], row: 3 };
    expect(Array.from(made.run({ ...given, index: [0, 1, 2] }).best)).toEqual([2, 1, 1]);
    for (const wrong of [-1, 3, 1 << 30])
      expect(() => made.run({ ...given, index: [0, wrong, 2] })).toThrow("crossEntropy: an index is not in 0 to 2");
    for (const row of [-1, 4, 9]) {
      rows.array.fill(0);
      expect(() => made.run({ ...given, row, index: 0 })).toThrow("assignRow: a row is not in 0 to 3");
      expect(rows.array.every((x) => x === 0)).toBe(true);
    }
    made.dispose();
    rows.dispose();
  });
});

const dist = fileURLToPath(new URL("../../dist/", import.meta.url));
describe.skipIf(!existsSync(`${dist}nn/index.js`))("in the package as published", () => {
  const folder = mkdtempSync(join(tmpdir(), "place-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "user.mjs");
  writeFileSync(
    file,
    `import { input, program } from ${JSON.stringify(pathToFileURL(`${dist}tensor/index.js`).href)};
import { linear } from ${JSON.stringify(pathToFileURL(`${dist}nn/index.js`).href)};
const layer = linear({ inputs: 4, outputs: 2 });
try {
  program("wrong", () => ({
    y: layer.apply(input("x", "f32", [2, 3])),
  }));
} catch (error) {
  console.log(error.message);
}
`,
  );
  test.each([[[]], [["--enable-source-maps"]]])("%j", (flags) => {
    const { stdout } = spawnSync(process.execPath, [...flags, file], { encoding: "utf8" });
    expect(stdout).toMatch(/^matmul: shapes \[2, 3\] and \[4, 2\] do not fit/);
    expect(stdout.trim()).toMatch(/user\.mjs:6:14$/);
  });
});
