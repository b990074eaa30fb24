/**
 * @file Mistakes are told with the line of the user's own file, also from within layers, and in the package as published.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { linear } from "../../src/nn/index.ts";
import { conv2d, fold, input, program, repeat, state, type Tensor } from "../../src/tensor/index.ts";

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
  const layer = linear({ inputs: 4, outputs: 2 });
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
  ];
  test.each(cases)("%s", (_, build, says) => {
    const text = message(build);
    expect(text).toContain(says);
    expect(lineOf(text)).toContain(says.slice(0, 6));
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
