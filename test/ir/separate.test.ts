/**
 * @file Loops inside of long loops as functions of their own: there are more functions, and every number is the same.
 */
import { expect, test } from "vitest";
import { interpret } from "../../src/ir/interpret.ts";
import { lower } from "../../src/ir/pipeline.ts";
import { functionsOf } from "../../src/ir/walk.ts";
import { f32 } from "../../src/kernel/declare.ts";
import { kernel } from "../../src/kernel/kernel.ts";
import { emitModule } from "../../src/tensor/emit/module.ts";
import { gradients, input } from "../../src/tensor/index.ts";
import { record, recording } from "../../src/tensor/recorder.ts";
import { Scheduler } from "../../src/tensor/schedule.ts";
import { outputsOf, type Port, Wiring } from "../../src/tensor/wiring.ts";

const ROWS = 256;
const SHAPES = { x: [ROWS, 5], first: [5, 16], second: [16, 16], third: [16, 2] } as const;

function network(): void {
  const { x, first, second, third } = Object.fromEntries(
    Object.entries(SHAPES).map(([name, shape]) => [name, input(name, "f32", [...shape])]),
  ) as { [K in keyof typeof SHAPES]: ReturnType<typeof input> };
  const loss = x.matmul(first).tanh().matmul(second).tanh().matmul(third).square().mean();
  recording().output("loss", loss.node);
  gradients(loss, [first, second, third]).forEach((g, k) => {
    recording().output(`g${k}`, g.node);
  });
}

/** All outputs of a step of training, and the functions it was lowered to. */
function lowered(shortFunctions: boolean): { readonly numbers: readonly number[]; readonly functions: number } {
  const { root, inputs } = record(network);
  const ports = new Map<string, Port>();
  const fill = (size: number, by: number): Float32Array =>
    Float32Array.from({ length: size }, (_, i) => Math.sin(by * i));
  const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
  for (const [name, node] of inputs) ports.set(`input ${name}`, { node, array: fill(sizeOf(node.shape), name.length) });
  const results = [...outputsOf(root)].map(([name, node]) => {
    const array = new Float32Array(sizeOf(node.shape));
    ports.set(`output ${name}`, { node, array });
    return array;
  });
  const wiring = new Wiring(ports, "arena");
  const steps = new Scheduler(root, wiring, { fuse: true }).plan(root);
  const machine = { lanes: 8, rows: 6, vectors: 2, fused: false, threads: 1 };
  const module = lower(emitModule("step", steps, [...wiring.arrays.keys()], machine), {
    vectorBytes: 32,
    vectorRegisters: 16,
    launches: true,
    shortFunctions,
  });
  interpret(module, { buffers: [...wiring.arrays.values()], params: [] });
  return { numbers: results.flatMap((array) => [...array]), functions: functionsOf(module).length };
}

test("a step of training in short functions has the same bits", () => {
  const [long, short] = [lowered(false), lowered(true)];
  expect(short.functions).toBeGreaterThan(long.functions + 5);
  expect(short.numbers).toEqual(long.numbers);
  expect(long.numbers.some((x) => x !== 0)).toBe(true);
});

/** Loops in a loop, the last of which hands something on to what follows both. */
const handing = kernel({ x: f32.array(8), out: f32.array(8) }, ({ x, out }) => {
  let last = 0;
  for (let i = 0; i < 3; i++) {
    for (let k = 0; k < 8; k++) out[k] = x[k]! + i;
    for (let k = 0; k < 8; k++) out[k] = out[k]! * out[7 - k]!;
    for (let k = 1; k < 8; k++) out[k] = out[k]! + out[k - 1]! * 0.5;
    for (let k = 0; k < 8; k++) {
      last = x[k]! + out[k]!;
      out[k] = last * 2;
    }
  }
  out[0] = last;
});

test("what a loop leaves to what follows the loop around it is kept", () => {
  const [long, short] = [false, true].map((shortFunctions) => {
    const out = new Float32Array(8);
    const module = lower(handing.ir(), { vectorBytes: 16, launches: true, shortFunctions });
    interpret(module, { buffers: [Float32Array.from(out, (_, i) => i / 7), out], params: [] });
    return { out, functions: functionsOf(module).length };
  });
  expect(short?.functions).toBe((long?.functions ?? 0) + 3);
  expect(short?.out).toEqual(long?.out);
});
