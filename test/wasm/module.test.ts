/**
 * @file The bytes and the text of modules: checked by an independent reader, with all code that can be emitted.
 */
import { beforeAll, expect, test } from "vitest";
import wabtModule from "wabt";
import {
  add,
  Builder,
  convert,
  fma,
  get,
  i32,
  lengthOf,
  load,
  loadLanes,
  local,
  mul,
  store,
} from "../../src/ir/build.ts";
import type { Module } from "../../src/ir/nodes.ts";
import { compileProgram } from "../../src/targets/wasm/compile.ts";
import { ByteWriter, encodeModule } from "../../src/targets/wasm/writer.ts";
import { array, bind, moduleOf, planArena } from "./harness.ts";

const FEATURES = { simd: true, threads: true, relaxed_simd: true, bulk_memory: true, sat_float_to_int: true };
/** The declared type forgets that this takes the features too. */
type Checked = { validate(features: typeof FEATURES): void };
let wabt: Awaited<ReturnType<typeof wabtModule>>;
beforeAll(async () => {
  wabt = await wabtModule();
});

function written(write: (out: ByteWriter) => void): number[] {
  const out = new ByteWriter();
  write(out);
  return [...out.finish()];
}

test("numbers in LEB128", () => {
  expect(written((o) => o.unsigned(624485))).toEqual([0xe5, 0x8e, 0x26]);
  expect(written((o) => o.unsigned(4294967295))).toEqual([0xff, 0xff, 0xff, 0xff, 0x0f]);
  expect(written((o) => o.signed(-123456))).toEqual([0xc0, 0xbb, 0x78]);
  expect(written((o) => o.signed(64))).toEqual([0xc0, 0x00]);
  expect(written((o) => o.signed(-2147483648))).toEqual([0x80, 0x80, 0x80, 0x80, 0x78]);
  expect(written((o) => o.signed64(-1n))).toEqual([0x7f]);
  expect(written((o) => o.signed64(1n << 63n))).toEqual([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f]);
});

/** A program with vectors, masks, loops, a threaded launch and both helpers. */
function example(): Module {
  const x = array("x", "f32");
  const y = array("y", "f32");
  const d = array("d", "f64");
  const body = new Builder();
  const begin = local("begin", "i32");
  const end = local("end", "i32");
  const gain = local("gain", "f32");
  body.for("i", { begin: get(begin), end: get(end), step: 8, axis: "vector" }, (i) => {
    const v = body.let("v", loadLanes(x, i, i32(1), 8));
    body.emit(store(y, i, fma(v, v, loadLanes(y, i, i32(1), 8)), i32(1)));
    body.emit(
      store(d, i, convert("f64", v), i32(1), { kind: "binary", op: "lt", dtype: "bool", lanes: 8, a: v, b: v }),
    );
  });
  body.store(y, get(begin), mul(get(gain), load(y, get(begin))));
  const b = new Builder();
  b.emit({
    kind: "launch",
    func: { kind: "func", name: "piece", buffers: [], params: [gain, begin, end], body: body.statements },
    args: [load(x, i32(0))],
    count: lengthOf(x),
    cost: 10,
    threaded: true,
  });
  b.for("i", { begin: i32(0), end: lengthOf(d), step: -1 }, (i) =>
    b.store(d, i, { kind: "binary", op: "rem", dtype: "f64", lanes: 1, a: load(d, i), b: add(load(d, i), load(d, i)) }),
  );
  return moduleOf("example", [x, y, d], [], b.statements);
}

test.each([
  { sharedMemory: true, relaxed: true, fusedMadd: true, joined: true, threads: 4 },
  { sharedMemory: true, relaxed: false, fusedMadd: false, joined: false, threads: 1 },
  { sharedMemory: false, relaxed: false, fusedMadd: false, joined: false, threads: 4 },
])("modules are valid: %o", (options) => {
  const module = example();
  const code = compileProgram({ module, arena: planArena(module) }, options);
  expect(code.threaded).toBe(options.sharedMemory && options.threads > 1);
  const read: Checked = wabt.readWasm(encodeModule(code.module), { ...FEATURES, readDebugNames: false });
  expect(() => read.validate(FEATURES)).not.toThrow();
});

test("the text can be read again and says what was emitted", () => {
  const { executable } = bind(example(), { threads: 2 });
  const text = executable.source() ?? "";
  const parsed: Checked = wabt.parseWat("example.wat", text, FEATURES);
  expect(() => parsed.validate(FEATURES)).not.toThrow();
  expect(text).toContain("f32x4.relaxed_madd");
  expect(text).toContain('(export "run")');
  expect(text).toContain("i32.atomic.rmw.add");
});

test("loops have static offsets from one register, and constants before them", () => {
  const x = array("x", "f32");
  const b = new Builder();
  b.for("i", { begin: i32(0), end: lengthOf(x), step: 8, axis: "vector" }, (i) => {
    const v = loadLanes(x, i, i32(1), 8);
    b.emit(store(x, i, mul(add(v, { kind: "const", dtype: "f32", lanes: 8, value: 2 }), v), i32(1)));
  });
  const text = bind(moduleOf("shape", [x], [], b.statements)).executable.source() ?? "";
  const loop = text.slice(text.indexOf("(loop"));
  expect(loop).not.toContain("v128.const");
  expect(loop.match(/i32\.shl/g)).toHaveLength(1);
  expect(loop).toMatch(/v128\.load \(local\.get \$address\)[\s\S]*v128\.load offset=16 \(local\.get \$address\)/);
  expect(loop).toMatch(
    /\(v128\.store \(local\.get \$address\) [^\n]*\n\s*\(v128\.store offset=16 \(local\.get \$address\)/,
  );
});
