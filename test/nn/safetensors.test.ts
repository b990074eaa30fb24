/**
 * @file Files of tensors: what is written can be read, parameters and optimiser states come back, and nothing that is
 * not such a file gets in.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type FileTensor,
  loadParameters,
  mlp,
  readTensors,
  saveParameters,
  TensorFileError,
  writeTensors,
} from "../../src/nn/index.ts";
import { adam, adamw, rmsprop, sgd } from "../../src/optim/index.ts";
import { constant, program } from "../../src/tensor/index.ts";

/** A file with a given header and so many bytes behind it. */
function file(header: string, bytes = 0, length = new TextEncoder().encode(header).length): Uint8Array {
  const text = new TextEncoder().encode(header);
  const all = new Uint8Array(8 + text.length + bytes);
  new DataView(all.buffer).setBigUint64(0, BigInt(length), true);
  all.set(text, 8);
  return all;
}
const f32 = (name: string, shape: number[], begin: number, end: number): string =>
  `"${name}":{"dtype":"F32","shape":[${shape}],"data_offsets":[${begin},${end}]}`;

describe("files", () => {
  test("come back as they were written", () => {
    const tensors = new Map<string, FileTensor>([
      ["bytes", { dtype: "U8", shape: [3], data: Uint8Array.of(1, 2, 255) }],
      ["w", { dtype: "F32", shape: [2, 2], data: Float32Array.of(1, -0, Number.NaN, Number.NEGATIVE_INFINITY) }],
      ['größe "x"\n', { dtype: "F64", shape: [], data: Float64Array.of(Math.PI) }],
      ["__proto__", { dtype: "I32", shape: [0, 4], data: new Int32Array(0) }],
    ]);
    const bytes = writeTensors(tensors, { epoch: "3" });
    const found = readTensors(bytes);
    expect(new Map([...found.tensors].sort())).toEqual(new Map([...tensors].sort()));
    expect(found.metadata).toEqual(new Map([["epoch", "3"]]));
    // Another place in memory makes no difference, nor does a file that does not begin at a multiple of anything.
    const moved = new Uint8Array(bytes.length + 3);
    moved.set(bytes, 3);
    expect(readTensors(moved.subarray(3))).toEqual(found);
  });
  test("come back from Node's buffers in memory of their own", () => {
    const bytes = writeTensors(new Map([["w", { dtype: "F32", shape: [2], data: Float32Array.of(1, 2) }]]));
    // Small buffers lie one behind the other in a pool, wherever the last one ended.
    const pooled = [Buffer.alloc(1), Buffer.from(bytes)][1] as Buffer;
    const data = readTensors(pooled).tensors.get("w")?.data as Float32Array;
    expect(data.byteLength).toBe(data.buffer.byteLength);
    pooled.fill(0);
    expect(Array.from(data)).toEqual([1, 2]);
    const shared = Buffer.from(new SharedArrayBuffer(bytes.length)).fill(bytes);
    expect(Array.from(readTensors(shared).tensors.get("w")?.data ?? [])).toEqual([1, 2]);
  });
  test("are what others read: length, header, elements", () => {
    const bytes = writeTensors(new Map([["w", { dtype: "F32", shape: [1], data: Float32Array.of(2) }]]));
    const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
    expect(length % 8).toBe(0);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
    expect(header).toEqual({ w: { dtype: "F32", shape: [1], data_offsets: [0, 4] } });
    expect(Array.from(new Float32Array(bytes.slice(8 + length).buffer))).toEqual([2]);
  });

  const REFUSED: readonly [string, Uint8Array, RegExp][] = [
    ["nothing", new Uint8Array(0), /0 bytes are too few/],
    ["a header longer than the file", file("{}", 0, 100), /a header of 100 bytes does not fit/],
    ["a header of 2^63 bytes", file("{}", 0, 2 ** 63), /does not fit/],
    ["a header that is not UTF-8", Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0xff), /not text in UTF-8/],
    ["a header that is no object", file("[1]"), /not an object/],
    ["a header that ends early", file('{"a":'), /cannot be read/],
    ["something behind the header", file("{}x"), /behind the header's end/],
    ["a name twice", file(`{${f32("w", [1], 0, 4)},${f32("w", [1], 0, 4)}}`, 4), /"w" is there twice/],
    ["a field twice", file('{"w":{"dtype":"F32","dtype":"F32","shape":[],"data_offsets":[0,4]}}', 4), /twice/],
    ["an unknown field", file('{"w":{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":1}}', 4), /"x" is not known/],
    ["a missing field", file('{"w":{"dtype":"F32","shape":[]}}', 4), /offsets are not two numbers/],
    ["an unknown type", file('{"w":{"dtype":"F7","shape":[],"data_offsets":[0,4]}}', 4), /F7 is not one of/],
    ["a type of JavaScript", file('{"w":{"dtype":"toString","shape":[],"data_offsets":[0,4]}}', 4), /is not one of/],
    ["a negative size", file('{"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}', 4), /cannot be read/],
    ["a fraction", file('{"w":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}}', 4), /cannot be read/],
    ["a size beyond all numbers", file(`{${f32("w", [2 ** 60], 0, 4)}}`, 4), /too large/],
    ["sizes whose product is beyond all numbers", file(`{${f32("w", [2 ** 50, 2 ** 50], 0, 4)}}`, 4), /not 4/],
    ["another size than its bytes", file(`{${f32("w", [2], 0, 4)}}`, 4), /is 8 bytes, not 4/],
    ["bytes behind the end", file(`{${f32("w", [2], 0, 8)}}`, 4), /do not lie in the 4 of the file/],
    ["bytes backwards", file(`{${f32("w", [1], 8, 4)}}`, 8), /do not lie/],
    ["an overlap", file(`{${f32("a", [2], 0, 8)},${f32("b", [2], 4, 12)}}`, 12), /"b" overlaps/],
    ["a gap", file(`{${f32("a", [1], 0, 4)},${f32("b", [1], 8, 12)}}`, 12), /before "b" belong to no tensor/],
    ["bytes of no tensor", file(`{${f32("a", [1], 0, 4)}}`, 9), /last 5 bytes/],
    ["metadata of numbers", file('{"__metadata__":{"a":1}}'), /"a" is not a string/],
    ["deep nesting", file(`{"a":${"[".repeat(5000)}`), /nested too deeply/],
  ];
  for (const [what, bytes, reason] of REFUSED)
    test(`with ${what} are refused`, () => {
      expect(() => readTensors(bytes)).toThrow(TensorFileError);
      expect(() => readTensors(bytes)).toThrow(reason);
    });

  test("that were damaged are refused, or read, and nothing else happens", () => {
    const good = writeTensors(new Map([["w", { dtype: "F32", shape: [2], data: Float32Array.of(1, 2) }]]));
    const damage = fc.array(fc.record({ at: fc.nat(good.length - 1), byte: fc.nat(255) }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(damage, fc.nat(good.length), (changes, length) => {
        const bytes = good.slice();
        for (const { at, byte } of changes) bytes[at] = byte;
        try {
          readTensors(length % 2 ? bytes : bytes.subarray(0, length));
        } catch (error) {
          expect(error).toBeInstanceOf(TensorFileError);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("parameters", () => {
  const network = (hidden = 3, seed = 1) => mlp({ inputs: 2, hidden: [hidden], outputs: 1, seed });
  const trainer = (net: ReturnType<typeof network>) =>
    program("train", () => {
      const loss = net
        .apply(constant(1, "f32", [4, 2]))
        .sub(3)
        .square()
        .mean();
      adam(net.parameters, net.parameters.gradients(loss), { learningRate: 0.05 });
      return { loss };
    });

  test("go on from a file as if nothing had happened, what the optimiser remembers included", () => {
    const net = network();
    const train = trainer(net);
    for (let k = 0; k < 5; k++) train.run();
    const bytes = saveParameters(net.parameters, { metadata: { steps: "5" } });
    const wanted = Array.from({ length: 5 }, () => train.run().loss[0]);
    const other = network(3, 2);
    expect(loadParameters(other.parameters, bytes).metadata.get("steps")).toBe("5");
    const again = trainer(other);
    expect(Array.from({ length: 5 }, () => again.run().loss[0])).toEqual(wanted);
    // Into the same set, after it has moved on.
    loadParameters(net.parameters, Buffer.from(bytes));
    expect(Array.from({ length: 5 }, () => train.run().loss[0])).toEqual(wanted);
  });
  test("are refused as a whole when something does not fit, and nothing is changed", () => {
    const net = network();
    const own = Array.from(net.parameters.arena.array);
    const bad = (bytes: Uint8Array, reason: RegExp) => {
      expect(() => loadParameters(net.parameters, bytes)).toThrow(TensorFileError);
      expect(() => loadParameters(net.parameters, bytes)).toThrow(reason);
      expect(Array.from(net.parameters.arena.array)).toEqual(own);
      expect(net.parameters.slots.size).toBe(0);
    };
    bad(saveParameters(network(4).parameters), /"w0" is F32 \[2, 4\] in the file, F32 \[2, 3\] here/);
    bad(saveParameters(mlp({ inputs: 2, hidden: [3], outputs: 1, dtype: "f64" }).parameters), /"w0" is F64/);
    bad(saveParameters(mlp({ inputs: 2, hidden: [3, 3], outputs: 1 }).parameters), /"w1" is F32 \[3, 3\]/);
    const { tensors } = readTensors(saveParameters(network(3, 9).parameters));
    const changed = (change: (copy: Map<string, FileTensor>) => void): Uint8Array => {
      const copy = new Map(tensors);
      change(copy);
      return writeTensors(copy);
    };
    bad(
      changed((copy) => void copy.delete("b1")),
      /the file has no "b1"/,
    );
    const one: FileTensor = { dtype: "F32", shape: [1], data: new Float32Array(1) };
    bad(
      changed((copy) => void copy.set("extra", one)),
      /the file has "extra"/,
    );
    const size = net.parameters.size;
    const each: FileTensor = { dtype: "F32", shape: [size], data: new Float32Array(size) };
    const wide: FileTensor = { dtype: "F64", shape: [size], data: new Float64Array(size) };
    const slots: readonly [string, FileTensor, RegExp][] = [
      ["adam.first", one, /"optimizer\/adam.first" is F32 \[1\] in the file, F32 \[13\] here/],
      ["adam.first", wide, /"optimizer\/adam.first" is F64 \[13\] in the file, F32 \[13\] here/],
      ["adam.step", each, /"optimizer\/adam.step" is F32 \[13\] in the file, I32 \[\] here/],
      ["adam.third", each, /the file has "optimizer\/adam.third", which no optimiser of the parameters remembers/],
      ["first", each, /the file has "optimizer\/first", which no optimiser/],
      ["adam.toString", each, /the file has "optimizer\/adam.toString", which no optimiser/],
    ];
    for (const [name, tensor, reason] of slots)
      bad(
        changed((copy) => void copy.set(`optimizer/${name}`, tensor)),
        reason,
      );
  });
  test("bring what any optimiser remembers, and slots of one's own that are there", () => {
    const options = { learningRate: 0.1, momentum: 0.9 };
    const all = (net: ReturnType<typeof network>) =>
      program("all", () => {
        const g = net.parameters.gradients(net.apply(constant(1, "f32", [4, 2])).mean());
        sgd(net.parameters, g, options);
        adamw(net.parameters, g, options);
        rmsprop(net.parameters, g, { ...options, centered: true, name: "mine" });
        return {};
      });
    const net = network();
    all(net).run();
    const other = network(3, 2);
    loadParameters(other.parameters, saveParameters(net.parameters));
    const held = ({ parameters }: typeof net) =>
      new Map([...parameters.slots].map(([name, s]) => [name, [...s.array]]));
    expect(held(other)).toEqual(held(net));
    expect(net.parameters.slots.size).toBe(9);
    net.parameters.slot("own", { dtype: "u32", shape: [3], fill: 7 });
    const bytes = saveParameters(net.parameters);
    expect(() => loadParameters(other.parameters, bytes)).toThrow('"optimizer/own", which no optimiser');
    other.parameters.slot("own", { dtype: "u32", shape: [3] });
    loadParameters(other.parameters, bytes);
    expect(held(other)).toEqual(held(net));
  });
  test("are saved without the optimiser on request", () => {
    const net = network();
    trainer(net).run();
    const names = (bytes: Uint8Array) => [...readTensors(bytes).tensors.keys()].sort();
    expect(names(saveParameters(net.parameters, { optimizer: false }))).toEqual(["b0", "b1", "w0", "w1"]);
    expect(names(saveParameters(net.parameters)).filter((name) => name.startsWith("optimizer/"))).toEqual([
      "optimizer/adam.first",
      "optimizer/adam.second",
      "optimizer/adam.step",
    ]);
  });
});
