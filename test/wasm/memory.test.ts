/**
 * @file Loads and stores: every storage type, every form of subscript, masks, and all spaces of buffers.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  add,
  Builder,
  binary,
  buffer,
  constant,
  convert,
  gather,
  get,
  i32,
  iota,
  lengthOf,
  load,
  loadLanes,
  local,
  mul,
  splat,
  store,
  sub,
} from "../../src/ir/build.ts";
import type { TypedArray } from "../../src/ir/interpret.ts";
import type { Expr, Load, Module } from "../../src/ir/nodes.ts";
import { LOADED_TYPE, type StorageType } from "../../src/ir/types.ts";
import { array, moduleOf, newArray, onInterpreter, onWasm, VARIANTS } from "./harness.ts";

const STORAGES: readonly StorageType[] = ["f32", "f64", "i32", "u32", "u8"];
const LANES = [2, 4, 8, 16];
const N = 64;

/** Values that survive every storage type's rounding differently. */
function filled(storage: StorageType, length: number, scale = 1): TypedArray {
  const values = newArray(storage, length);
  for (let k = 0; k < length; k++) values[k] = (k * 37 + 11) * scale * (k % 3 === 0 ? -1 : 1);
  return values;
}

function compare(module: Module, arrays: readonly TypedArray[], params: readonly number[] = []): void {
  const expected = onInterpreter(module, arrays, params);
  for (const [variant, features] of Object.entries(VARIANTS))
    expect(onWasm(module, arrays, params, { features }), variant).toEqual(expected);
}

describe.each(STORAGES)("%s", (storage) => {
  const x = array("x", storage);
  const y = array("y", storage);
  const index = array("index", "i32");
  const flags = array("flags", "u8");
  const dtype = LOADED_TYPE[storage];
  const maskOf = (at: Expr, lanes: number): Expr =>
    binary("ne", loadLanes(flags, at, i32(1), lanes), constant("i32", 0, lanes));

  test.each(LANES)("contiguous, %i lanes, with constants in the subscript", (lanes) => {
    const b = new Builder();
    b.for("i", { begin: i32(0), end: i32(N - 32), step: lanes, axis: "vector" }, (i) => {
      const sum = add(
        loadLanes(x, add(i, i32(3)), i32(1), lanes),
        loadLanes(x, sub(add(i, i32(9)), i32(8)), i32(1), lanes),
      );
      b.emit(store(y, add(i, i32(2)), sum, i32(1)));
    });
    compare(moduleOf("contiguous", [x, y], [], b.statements), [filled(storage, N), filled(storage, N, 3)]);
  });

  test.each(LANES)("strided, %i lanes", (lanes) => {
    for (const stride of [0, 2, 3, 4, -1, -2]) {
      const b = new Builder();
      const begin = stride < 0 ? -stride * (lanes - 1) : 1;
      b.emit(store(y, i32(0), loadLanes(x, i32(begin), i32(stride), lanes), i32(1)));
      if (stride !== 0) b.emit(store(y, i32(begin), loadLanes(x, i32(0), i32(1), lanes), i32(stride)));
      compare(moduleOf("strided", [x, y], [], b.statements), [filled(storage, N), filled(storage, N, 3)]);
    }
  });

  test.each(LANES)("strided by a variable, %i lanes", (lanes) => {
    const s = local("s", "i32");
    const at = local("at", "i32");
    const b = new Builder();
    b.emit(store(y, get(at), loadLanes(x, add(get(at), i32(1)), get(s), lanes), get(s)));
    const module = moduleOf("strided", [x, y], [s, at], b.statements);
    for (const stride of [1, 3, -2])
      compare(module, [filled(storage, N), filled(storage, N, 3)], [stride, stride < 0 ? N - 2 : 0]);
  });

  test.each(LANES)("gathered and scattered in the order of lanes, %i lanes", (lanes) => {
    const b = new Builder();
    const at = loadLanes(index, i32(0), i32(1), lanes);
    b.emit(store(y, i32(0), gather(x, at), i32(1)));
    b.emit(store(y, binary("and", at, constant("i32", 7, lanes)), loadLanes(x, i32(0), i32(1), lanes)));
    const positions = Int32Array.from({ length: N }, (_, k) => (k * 29 + 5) % N);
    compare(moduleOf("gather", [x, y, index], [], b.statements), [
      filled(storage, N),
      filled(storage, N, 3),
      positions,
    ]);
  });

  test.each(LANES)("masked stores, %i lanes", (lanes) => {
    for (const stride of [1, 2, -1]) {
      const b = new Builder();
      const value = loadLanes(x, i32(0), i32(1), lanes);
      b.emit(store(y, i32(stride < 0 ? 40 : 5), value, i32(stride), maskOf(i32(0), lanes)));
      const scattered = mul(iota(lanes), splat(i32(2), lanes));
      b.emit(store(y, scattered, value, undefined, binary("eq", maskOf(i32(0), lanes), constant("bool", 0, lanes))));
      const bits = Uint8Array.from({ length: N }, (_, k) => Number(k % 3 !== 1));
      compare(moduleOf("masked", [x, y, flags], [], b.statements), [filled(storage, N), filled(storage, N, 3), bits]);
    }
  });

  test("one element in all lanes", () => {
    const b = new Builder();
    b.emit(store(y, i32(0), splat(load(x, i32(5)), 8), i32(1)));
    compare(moduleOf("splat", [x, y], [], b.statements), [filled(storage, N), filled(storage, N, 3)]);
  });

  test("scalar, masked and not", () => {
    const flag = local("flag", "bool");
    const b = new Builder();
    b.emit(store(y, i32(1), load(x, i32(7))));
    b.emit(store(y, i32(2), load(x, i32(8)), undefined, get(flag)));
    for (const on of [0, 1])
      compare(moduleOf("scalar", [x, y], [flag], b.statements), [filled(storage, N), filled(storage, N, 3)], [on]);
  });

  test.each([1, ...LANES])("a local buffer with %i copies", (lanes) => {
    const own = buffer("own", storage, "local", 6, { lanes });
    const b = new Builder();
    const at = (i: Expr): Expr => (lanes === 1 ? load(x, i) : loadLanes(x, i, i32(1), lanes));
    const read = (i: Expr): Load => ({ kind: "load", dtype, lanes, buffer: own, index: i, stride: undefined });
    for (let k = 0; k < 5; k++) b.emit(store(own, i32(k), at(i32(k * 2))));
    b.emit(store(y, i32(0), add(read(i32(3)), read(i32(5))), lanes === 1 ? undefined : i32(1)));
    if (lanes > 1) {
      const own5 = binary("rem", iota(lanes), constant("i32", 5, lanes));
      b.emit(store(own, own5, at(i32(20))));
      b.emit(store(y, i32(lanes), read(own5), i32(1)));
      b.emit(store(own, i32(2), at(i32(30)), undefined, maskOf(i32(0), lanes)));
      b.emit(store(y, i32(2 * lanes), read(i32(2)), i32(1)));
    }
    const bits = Uint8Array.from({ length: N }, (_, k) => Number(k % 3 !== 1));
    compare(moduleOf("own", [x, y, flags], [], b.statements), [filled(storage, N), filled(storage, N, 3), bits]);
  });

  test("tables, temporary and kept buffers", () => {
    const table = buffer("table", storage, "table", 5, { data: [1, 2, 3, 250, 5] });
    const temp = buffer("temp", storage, "temp", 40);
    const kept = buffer("kept", storage, "state", 16);
    const b = new Builder();
    b.for("i", { begin: i32(0), end: i32(16) }, (i) => {
      b.store(temp, i, add(load(x, i), load(table, binary("rem", i, i32(5)))));
      b.store(kept, i, load(temp, binary("max", sub(i, i32(1)), i32(0))));
    });
    b.emit(store(y, i32(0), add(loadLanes(kept, i32(0), i32(1), 8), loadLanes(temp, i32(2), i32(1), 8)), i32(1)));
    compare(moduleOf("spaces", [x, y], [], b.statements), [filled(storage, N), filled(storage, N, 3)]);
  });
});

test("an address is computed again after what it came from has changed", () => {
  const x = array("x", "i32");
  const y = array("y", "i32");
  const b = new Builder();
  const at = b.local("at", "i32");
  const next = b.local("next", "i32");
  b.assign(at, i32(1));
  b.assign(next, add(get(at), i32(1)));
  b.store(y, get(at), load(x, get(next)));
  b.for("i", { begin: i32(0), end: i32(5) }, (i) => {
    b.store(y, get(at), add(load(x, get(at)), load(x, get(next))));
    b.if(
      binary("eq", binary("and", i, i32(1)), i32(0)),
      () => {
        b.store(y, get(next), i);
        b.assign(at, add(get(at), i32(3)));
      },
      () => {
        b.assign(next, add(get(at), i32(2)));
        b.store(y, get(next), load(x, add(get(next), i32(1))));
      },
    );
    b.store(y, add(get(at), i32(30)), load(x, get(next)));
    b.assign(next, add(get(at), i32(1)));
    b.store(y, add(get(next), i32(40)), load(x, sub(get(next), i32(1))));
  });
  compare(moduleOf("addresses", [x, y], [], b.statements), [filled("i32", N), filled("i32", N, 3)]);
});

test("parts that need each other's old values are assigned together", () => {
  const x = array("x", "f32");
  const y = array("y", "f32");
  for (const lanes of LANES) {
    const b = new Builder();
    const v = b.local("v", "i32", lanes);
    b.assign(v, convert("i32", loadLanes(x, i32(0), i32(1), lanes)));
    // A gather through itself from its own copy in memory: every part reads all others.
    const own = buffer("own", "i32", "temp", 16);
    b.emit(store(own, i32(0), get(v), i32(1)));
    b.assign(v, gather(own, binary("and", add(get(v), iota(lanes)), constant("i32", lanes - 1, lanes))));
    b.assign(v, convert("i32", convert("f64", add(get(v), get(v)))));
    b.emit(store(y, i32(0), convert("f32", get(v)), i32(1)));
    compare(moduleOf("together", [x, y], [], b.statements), [filled("f32", N), filled("f32", N, 3)]);
  }
});

test("random affine subscripts", () => {
  const x = array("x", "f32");
  const y = array("y", "f32");
  const term = fc.record({
    factor: fc.integer({ min: 0, max: 5 }),
    extra: fc.integer({ min: 0, max: 9 }),
    way: fc.nat(3),
  });
  fc.assert(
    fc.property(term, term, fc.integer({ min: 1, max: 6 }), (p, q, count) => {
      const b = new Builder();
      const subscript = (i: Expr, { factor, extra, way }: typeof p): Expr => {
        switch (way) {
          case 0:
            return add(mul(i, i32(factor)), i32(extra));
          case 1:
            return sub(add(i32(extra + 20), mul(i32(factor), add(i, i32(2)))), i32(20));
          case 2:
            return mul(add(i, i32(extra)), i32(factor));
          default:
            return add(binary("shl", i, i32(factor % 3)), i32(extra));
        }
      };
      b.for("i", { begin: i32(0), end: i32(count) }, (i) => {
        b.for("j", { begin: i, end: i32(count) }, (j) => {
          const at = b.let("at", add(subscript(i, p), subscript(j, q)));
          b.store(y, at, add(load(x, add(at, i32(1))), load(x, subscript(j, p))));
        });
      });
      const module = moduleOf("affine", [x, y], [], b.statements);
      const arrays = [filled("f32", 256), filled("f32", 256, 3)];
      expect(onWasm(module, arrays)).toEqual(onInterpreter(module, arrays));
    }),
    { numRuns: 60, seed: 7 },
  );
});

test("lengths are those of the call", () => {
  const x = array("x", "f64");
  const y = array("y", "i32", 2);
  const b = new Builder();
  b.store(y, i32(0), lengthOf(x));
  b.store(y, i32(1), lengthOf(y));
  compare(moduleOf("lengths", [x, y], [], b.statements), [filled("f64", 13), filled("i32", 2)]);
});
