/**
 * @file The instructions that parallel loops become, on x86-64: vectors as wide as the machine has them.
 */
import { afterAll, describe, expect, it } from "vitest";
import {
  add,
  Builder,
  binary,
  buffer,
  constant,
  convert,
  fma,
  func,
  get,
  i32,
  lengthOf,
  load,
  local,
  mul,
  select,
  sub,
  unary,
} from "../../src/ir/build.ts";
import type { Expr, Module } from "../../src/ir/nodes.ts";
import { lower } from "../../src/ir/pipeline.ts";
import { ENTRY_SYMBOL, emit } from "../../src/targets/native/emit.ts";
import { planArena } from "./arena.ts";
import { everyOperation } from "./cases.ts";
import { countPacked, countScalar, disassemble, type Instruction, obstacle } from "./disassemble.ts";
import { moduleOf, Rig, temporaryFolder } from "./rig.ts";

const cache = temporaryFolder();
afterAll(() => cache.remove());

const f32 = (value: number): Expr => constant("f32", value);
/** Vectors in the code of a body of some length: two that take turns, then one alone. */
const SIDE_BY_SIDE = 3;

/** out[i] = value(x[i], out[i]) in parallel. */
function map(value: (x: Expr, out: Expr) => Expr, storage: "f32" | "f64" = "f32"): Module {
  const x = buffer("x", storage, "param");
  const out = buffer("out", storage, "param");
  const b = new Builder();
  b.for("i", { begin: i32(0), end: lengthOf(x), axis: "parallel" }, (i) => {
    b.store(out, i, value(b.let("v", load(x, i)), load(out, i)));
  });
  return moduleOf(func("map", [x, out], [], b.statements));
}

function sum(): Module {
  const x = buffer("x", "f32", "param");
  const out = buffer("out", "f32", "param");
  const b = new Builder();
  const total = local("total", "f32");
  b.assign(total, f32(0));
  b.for("i", { begin: i32(0), end: lengthOf(x), axis: "parallel", reductions: [{ local: total, op: "add" }] }, (i) => {
    b.assign(total, add(get(total), load(x, i)));
  });
  b.store(out, i32(0), get(total));
  return moduleOf(func("sum", [x, out], [], b.statements));
}

const why = obstacle();
describe.skipIf(why)(`vector instructions${why ? ` (skipped: ${why})` : ""}`, () => {
  const { target } = new Rig(cache.path);
  const { vectorBytes, fastFma } = target.machine;
  const lanes = vectorBytes / 4;
  /** The instructions of the outlined loops of a module. */
  const loops = (module: Module): Instruction[] => {
    const lowered = lower(module, { ...target.machine, unchecked: true });
    const { source } = emit(planArena(lowered), target.machine);
    const functions = disassemble(target.compiler, source, cache.path);
    return [...functions].filter(([name]) => /_\d+$/.test(name)).flatMap(([, list]) => list);
  };

  it("compute a map in one vector loop and a scalar rest", () => {
    const code = loops(map((x, out) => add(mul(x, f32(1.5)), out)));
    expect(countPacked(code, vectorBytes, /mul/)).toBe(1);
    expect(countPacked(code, vectorBytes, /add/)).toBe(1);
    expect(countScalar(code)).toBe(2);
  });

  it("compute a polynomial without contracting it", () => {
    const steps = 8;
    const polynomial = (x: Expr): Expr => {
      let value = f32(0.1);
      for (let k = 0; k < steps; k++) value = add(mul(value, x), f32(k + 0.3)) as typeof value;
      return value;
    };
    const code = loops(map(polynomial));
    expect(countPacked(code, vectorBytes, /mul/)).toBe(SIDE_BY_SIDE * steps);
    expect(countPacked(code, vectorBytes, /add/)).toBe(SIDE_BY_SIDE * steps);
    expect(code.some((i) => /fn?m(add|sub)/.test(i.name))).toBe(false);
  });

  it("sum in as many registers as there are partial sums", () => {
    const code = loops(sum());
    expect(countPacked(code, vectorBytes, /add/)).toBeGreaterThanOrEqual(32 / lanes);
  });

  it("are single for roots, extremes, roundings, selects and f64", () => {
    const code = loops(
      map((x, out) => {
        const clipped = binary("max", binary("min", x, f32(2)), f32(-1));
        const root = unary("sqrt", select(binary("lt", x, out), clipped, unary("floor", out)));
        return convert("f32", mul(convert("f64", root), constant("f64", 0.1)));
      }),
    );
    expect(countPacked(code, vectorBytes, /mul/)).toBe(SIDE_BY_SIDE * 2);
    const narrow = vectorBytes / 2;
    for (const operation of [/min/, /max/, /sqrt/]) expect(countPacked(code, narrow, operation)).toBe(SIDE_BY_SIDE * 2);
    expect(code.filter((i) => /^v?(round|rndscale)ps$/.test(i.name)).length).toBe(SIDE_BY_SIDE * 2);
    expect(code.some((i) => i.name === "call")).toBe(false);
  });

  it.skipIf(!fastFma)("fuse where the IR says so, and only there", () => {
    const code = loops(map((x, out) => fma(x, f32(3), sub(out, mul(x, x)))));
    expect(countPacked(code, vectorBytes, /fmadd/)).toBe(1);
    expect(countPacked(code, vectorBytes, /mul/)).toBe(1);
    expect(countPacked(code, vectorBytes, /sub/)).toBe(1);
  });

  it.skipIf(vectorBytes < 32)("leave no upper halves behind for the code that goes on", () => {
    const { source } = emit(planArena(lower(sum(), target.machine)), target.machine);
    const entry = disassemble(target.compiler, source, cache.path).get(ENTRY_SYMBOL) ?? [];
    const clear = entry.findIndex(({ name }) => name === "vzeroupper");
    expect(clear).toBeGreaterThanOrEqual(0);
    expect(entry.slice(clear).some(({ operands }) => /[yz]mm/.test(operands))).toBe(false);
  });

  it("are absent from scalar code, which shows that counting works", () => {
    const lowered = lower(
      map((x) => mul(x, x)),
      { ...target.machine, vectorBytes: 0, unchecked: true },
    );
    const serial = emit(planArena(lowered), { ...target.machine, vectorBytes: 0 }).source;
    const functions = disassemble(
      target.compiler,
      serial.replace(/(for \(long long [^{]*\{)/g, '$1 __asm__ volatile("");'),
      cache.path,
    );
    const code = [...functions.values()].flat();
    expect(countPacked(code, vectorBytes)).toBe(0);
    expect(countScalar(code)).toBeGreaterThan(0);
  });
});

describe.skipIf(why)(`code for other machines${why ? ` (skipped: ${why})` : ""}`, () => {
  const { target } = new Rig(cache.path);
  const machines = [
    ["-march=x86-64", 16, false],
    ["-march=skylake-avx512", 64, true],
  ] as const;
  it.each(machines)(
    "compiles: %s",
    (flag, vectorBytes, fastFma) => {
      const machineFlags = [flag, ...(vectorBytes === 64 ? ["-mprefer-vector-width=512"] : [])];
      const compiler = { ...target.compiler, machineFlags, vectorBytes };
      for (const t of ["f32", "f64"] as const) {
        const { module } = everyOperation(t, [[vectorBytes / 4, t === "f64"]]);
        const { source } = emit(planArena(module), { vectorBytes, fastFma });
        const code = [...disassemble(compiler, source, cache.path).values()].flat();
        expect(countPacked(code, vectorBytes)).toBeGreaterThan(10);
      }
    },
    60_000,
  );
});
