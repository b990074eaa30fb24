/**
 * @file Random expressions over all types, as scalars and as vectors, against the interpreter: above all for values
 * of different widths and masks that meet in one expression.
 */
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import {
  Builder,
  binary,
  buffer,
  constant,
  convert,
  fma,
  func,
  i32,
  lengthOf,
  load,
  loadLanes,
  select,
  store,
  unary,
} from "../../src/ir/build.ts";
import type { Buffer, Expr, Func } from "../../src/ir/nodes.ts";
import {
  BINARY_OPS,
  type BinaryOp,
  CONVERSIONS,
  type DType,
  type OpSignature,
  UNARY_OPS,
  type UnaryOp,
} from "../../src/ir/types.ts";
import { createNativeTarget } from "../../src/targets/native/index.ts";
import { expectSame, moduleOf, newArray, Rig, type TypedArray, temporaryFolder } from "./rig.ts";
import { EDGES, type NumberType } from "./values.ts";

const cache = temporaryFolder();
afterAll(() => cache.remove());

/** Builds an expression of `lanes` lanes; statements that it needs go to the builder. */
type Make = (site: Site) => Expr;
interface Site {
  readonly b: Builder;
  readonly lanes: number;
  readonly input: (t: NumberType) => Expr;
}

const NUMBERS: readonly NumberType[] = ["f32", "f64", "i32", "u32"];
/** The bits of a NaN are not defined, so these need operands that are none. */
const BITWISE: readonly UnaryOp[] = ["bits", "highWord", "lowWord"];

const finite = (x: Expr): Expr =>
  x.dtype === "f32" || x.dtype === "f64" ? select(binary("eq", x, x), x, constant(x.dtype, 2, x.lanes)) : x;

function leaf(t: DType): fc.Arbitrary<Make> {
  if (t === "bool")
    return fc.boolean().map(
      (v): Make =>
        (site) =>
          constant("bool", v, site.lanes),
    );
  const number = fc.constantFrom(...EDGES[t]).map(
    (v): Make =>
      (site) =>
        constant(t, v, site.lanes),
  );
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant<Make>((site) => site.input(t)) },
    { weight: 1, arbitrary: number },
  );
}

/** All ways to make a value of type t from others. */
function nodes(t: DType, depth: number): fc.Arbitrary<Make>[] {
  const of = (x: DType): fc.Arbitrary<Make> => tree(x, depth - 1);
  const ways: fc.Arbitrary<Make>[] = [];
  for (const op of Object.keys(UNARY_OPS) as UnaryOp[]) {
    const s: OpSignature = UNARY_OPS[op];
    for (const from of s.operands) {
      if ((s.result ?? from) !== t) continue;
      ways.push(
        of(from).map(
          (x): Make =>
            (site) =>
              unary(op, BITWISE.includes(op) ? finite(x(site)) : x(site)),
        ),
      );
    }
  }
  for (const op of Object.keys(BINARY_OPS) as BinaryOp[]) {
    const s: OpSignature = BINARY_OPS[op];
    for (const from of s.operands) {
      if ((s.result ?? from) !== t) continue;
      ways.push(
        fc.tuple(of(from), of(from)).map(
          ([a, b]): Make =>
            (site) =>
              binary(op, a(site), b(site)),
        ),
      );
    }
  }
  for (const c of CONVERSIONS) {
    const [from, to] = c.split("-") as [DType, DType];
    if (to === t)
      ways.push(
        of(from).map(
          (x): Make =>
            (site) =>
              convert(t, x(site)),
        ),
      );
  }
  ways.push(
    fc.tuple(of("bool"), of(t), of(t)).map(
      ([c, a, b]): Make =>
        (site) =>
          select(c(site), a(site), b(site)),
    ),
  );
  if (t === "f32")
    ways.push(
      fc.tuple(of(t), of(t), of(t)).map(
        ([a, b, c]): Make =>
          (site) =>
            fma(a(site), b(site), c(site)),
      ),
    );
  return ways;
}

const trees = new Map<string, fc.Arbitrary<Make>>();
function tree(t: DType, depth: number): fc.Arbitrary<Make> {
  if (depth === 0) return leaf(t);
  const key = `${t} ${depth}`;
  let made = trees.get(key);
  if (!made) {
    const named = tree(t, depth - 1).map(
      (x): Make =>
        (site) =>
          site.b.let("named", x(site)),
    );
    made = fc.oneof(leaf(t), named, ...nodes(t, depth));
    trees.set(key, made);
  }
  return made;
}

interface Program {
  readonly type: DType;
  readonly make: Make;
}
const programs = fc
  .constantFrom<DType>(...NUMBERS, "bool")
  .chain((type) => tree(type, 4).map((make): Program => ({ type, make })));

function functionOf({ type, make }: Program, lanes: number, inputs: readonly Buffer[]): { f: Func; out: Buffer } {
  const out = buffer("out", type === "bool" ? "i32" : type, "param");
  const b = new Builder();
  b.for("i", { begin: i32(0), end: lengthOf(out), step: lanes, axis: lanes === 1 ? "serial" : "vector" }, (i) => {
    const input = (t: NumberType): Expr => {
      const from = inputs[NUMBERS.indexOf(t)] as Buffer;
      return lanes === 1 ? load(from, i) : loadLanes(from, i, i32(1), lanes);
    };
    const result = make({ b, lanes, input });
    b.emit(store(out, i, result.dtype === "bool" ? convert("i32", result) : result, lanes === 1 ? undefined : i32(1)));
  });
  return { f: func("random", [...inputs, out], [], b.statements), out };
}

/** The compiler that is used here, and the other one of gcc and clang where it is installed. */
const COMPILERS = ["", "gcc", "clang"].filter((cc, k, all) => {
  const family = (CC: string): string | undefined => {
    const env = { ...process.env, LOCKSTEP_CACHE: cache.path, ...(CC ? { CC } : {}) };
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    return createNativeTarget({ memory, threads: 1, env }).target?.compiler.family;
  };
  return k === 0 || (family(cc) !== undefined && family(cc) !== family(all[0] as string));
});

it.each(COMPILERS)(
  "gives the interpreter's bits for random expressions (CC=%s)",
  (cc) => {
    const rig = new Rig(cache.path, 1, cc ? { CC: cc } : {});
    const runs = cc ? 1 : 3;
    const size = 64;
    const values = NUMBERS.map((t): TypedArray => {
      const array = newArray(t, size);
      // Types cycle at different paces, so that edge values of one meet many of another.
      array.forEach((_, k) => {
        array[k] = EDGES[t][(k * (2 * NUMBERS.indexOf(t) + 1)) % EDGES[t].length] as number;
      });
      return array;
    });
    let compared = 0;
    const check = (list: readonly Program[]): void => {
      const inputs = NUMBERS.map((t) => buffer(`in_${t}`, t, "param"));
      const made = list.flatMap((p) => [1, 8, 16].map((lanes) => functionOf(p, lanes, inputs)));
      const outs = made.map(({ out }, k) => buffer(`out${k}`, out.storage, "param"));
      const calls = made.map(
        ({ f }, k) => ({ kind: "call", func: f, buffers: [...inputs, outs[k] as Buffer], args: [] }) as const,
      );
      rig.reset();
      const results = outs.map((o) => newArray(o.storage, size));
      expectSame(rig, moduleOf(func("all", [...inputs, ...outs], [], calls)), { buffers: [...values, ...results] });
      compared += made.length;
    };
    fc.assert(fc.property(fc.array(programs, { minLength: 40, maxLength: 40 }), check), {
      numRuns: runs,
      endOnFailure: true,
    });
    expect(compared).toBe(120 * runs);
  },
  120_000,
);
