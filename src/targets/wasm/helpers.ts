/**
 * @file Code that stands in for instructions WebAssembly does not have: the remainder of doubles, and fused multiply-add
 * where relaxed SIMD is missing or rounds twice. Both are exact. Functions take and return scalars only: V8's pass for
 * wider vectors fails on calls with v128 operands.
 */
import {
  block,
  branch,
  choose,
  type FunctionRef,
  f64,
  i32,
  i64,
  type LocalGet,
  loop,
  type Node,
  op,
  set,
  target,
  v128,
  v128Doubles,
  when,
} from "./code.ts";
import { FunctionBuilder } from "./function.ts";
import { shuffle, upperHalf } from "./lanes.ts";
import type { HelperName } from "./scalar.ts";
import type { FunctionCode } from "./writer.ts";

export const HELPERS: { readonly [H in HelperName]: FunctionRef } = {
  fmod: { name: "lockstep.fmod", params: ["f64", "f64"], result: "f64" },
  fma: { name: "lockstep.fma", params: ["f32", "f32", "f32"], result: "f32" },
};

const MANTISSA = (1n << 52n) - 1n;
const HIDDEN = 1n << 52n;
const SIGN = 1n << 63n;
/** The bits of infinity without its sign, shifted left by one: above them are NaNs. */
const INFINITE = 0x7ffn << 53n;
/** Bits by which a remainder below 2^53 can be shifted up in 64. */
const STEP = 11;

/** Mantissa with its leading one at bit 52, and the exponent that goes with it. */
function normalised(build: FunctionBuilder, bits: Node, name: string): { mantissa: Node; exponent: Node } {
  const field = build.share(
    op("i32.wrap_i64", [op("i64.and", [op("i64.shr_u", [bits, i64(52n)]), i64(0x7ffn)])]),
    `${name}.field`,
  );
  const low = build.share(op("i64.and", [bits, i64(MANTISSA)]), `${name}.low`);
  const mantissa = build.local("i64", `${name}.mantissa`);
  const exponent = build.local("i32", `${name}.exponent`);
  const shift = build.local("i64", `${name}.shift`);
  build.emit(
    when(
      field,
      [set(mantissa.index, op("i64.or", [low, i64(HIDDEN)])), set(exponent.index, field)],
      [
        set(shift.index, op("i64.sub", [op("i64.clz", [low]), i64(11n)])),
        set(mantissa.index, op("i64.shl", [low, shift])),
        set(exponent.index, op("i32.sub", [i32(1), op("i32.wrap_i64", [shift])])),
      ],
    ),
  );
  return { mantissa, exponent };
}

/**
 * x - y * trunc(x / y), exactly: long division in base 2^11 on the mantissas.
 */
function fmod(): FunctionCode {
  const build = new FunctionBuilder();
  const x = build.param("f64", "x");
  const y = build.param("f64", "y");
  const result = build.local("f64", "result");
  const done = target("done");
  const leave = (value: Node): Node[] => [set(result.index, value), branch(done)];
  const body = build.collect(() => {
    const xBits = build.share(op("i64.reinterpret_f64", [x]), "xBits");
    const yBits = build.share(op("i64.reinterpret_f64", [y]), "yBits");
    const xSize = build.share(op("i64.shl", [xBits, i64(1n)]), "xSize");
    const ySize = build.share(op("i64.shl", [yBits, i64(1n)]), "ySize");
    const invalid = op("i32.or", [
      op("i64.eqz", [ySize]),
      op("i32.or", [op("i64.gt_u", [ySize, i64(INFINITE)]), op("i64.gt_u", [xSize, i64(INFINITE - 1n)])]),
    ]);
    build.emit(when(invalid, leave(f64(Number.NaN))));
    build.emit(when(op("i64.gt_u", [ySize, xSize]), leave(x)));
    const a = normalised(build, xBits, "x");
    const b = normalised(build, yBits, "y");
    const rest = build.keep(op("i64.rem_u", [a.mantissa, b.mantissa]), "rest");
    const places = build.keep(op("i32.sub", [a.exponent, b.exponent]), "places");
    divideOn(build, rest, places, b.mantissa);
    const sign = build.share(op("i64.and", [xBits, i64(SIGN)]), "sign");
    const packed = op("i64.or", [packedBits(build, rest, b.exponent), sign]);
    build.emit(set(result.index, op("f64.reinterpret_i64", [packed])));
  });
  build.emit(block(done, body), result);
  return build.finish(HELPERS.fmod);
}

/** rest = rest * 2^places mod divisor. */
function divideOn(build: FunctionBuilder, rest: LocalGet, places: LocalGet, divisor: Node): void {
  const again = target("again");
  const count = build.local("i32", "count");
  const body = [
    set(count.index, op("select_i32", [places, i32(STEP), op("i32.lt_s", [places, i32(STEP)])])),
    set(rest.index, op("i64.rem_u", [op("i64.shl", [rest, op("i64.extend_i32_u", [count])]), divisor])),
    set(places.index, op("i32.sub", [places, count])),
    branch(again, places),
  ];
  build.emit(when(places, [loop(again, body)]));
}

/** The bits of rest * 2^(exponent - 1075), without sign; `rest` is below 2^53. */
function packedBits(build: FunctionBuilder, rest: Node, exponent: Node): Node {
  const shift = build.share(op("i64.sub", [op("i64.clz", [rest]), i64(11n)]), "shift");
  const field = build.share(op("i32.sub", [exponent, op("i32.wrap_i64", [shift])]), "field");
  const normal = op("i64.add", [
    op("i64.sub", [op("i64.shl", [rest, shift]), i64(HIDDEN)]),
    op("i64.shl", [op("i64.extend_i32_u", [field]), i64(52n)]),
  ]);
  const small = op("i64.shr_u", [
    op("i64.shl", [rest, shift]),
    op("i64.extend_i32_u", [op("i32.sub", [i32(1), field])]),
  ]);
  return choose(op("i64.eqz", [rest]), i64(0n), choose(op("i32.gt_s", [field, i32(0)]), normal, small));
}

/**
 * a * b + c with one rounding: the product is exact in f64, the sum there is rounded to odd, and the rounding to f32 is
 * then the only one that counts.
 */
function fma(): FunctionCode {
  const build = new FunctionBuilder();
  const [a, b, c] = ["a", "b", "c"].map((name) => op("f64.promote_f32", [build.param("f32", name)])) as Three;
  const wide = build.share(c, "c");
  const product = build.share(op("f64.mul", [a, b]), "product");
  const total = build.share(op("f64.add", [product, wide]), "sum");
  const back = build.share(op("f64.sub", [total, product]), "back");
  const rest = op("f64.sub", [product, op("f64.sub", [total, back])]);
  const error = build.share(op("f64.add", [rest, op("f64.sub", [wide, back])]), "error");
  const bits = build.share(op("i64.reinterpret_f64", [total]), "bits");
  // A NaN is neither above nor below: infinite and undefined sums stay as they are.
  const above = build.share(op("f64.gt", [error, f64(0)]), "above");
  const inexact = op("i32.or", [above, op("f64.lt", [error, f64(0)])]);
  const even = op("i64.eqz", [op("i64.and", [bits, i64(1n)])]);
  const outwards = op("i32.eq", [above, op("f64.gt", [total, f64(0)])]);
  const step = choose(op("i32.and", [inexact, even]), choose(outwards, i64(1n), i64(-1n)), i64(0n));
  const odd = op("f64.reinterpret_i64", [op("i64.add", [bits, step])]);
  build.emit(op("f32.demote_f64", [odd]));
  return build.finish(HELPERS.fma);
}
type Three = [Node, Node, Node];

/** The same on the four lanes of registers, two at a time. */
export function emulatedFma(build: FunctionBuilder, inputs: readonly Node[]): Node {
  const shared = inputs.map((x) => build.share(x));
  const half = (upper: boolean): Node => {
    const [a, b, c] = shared.map((x) => op("f64x2.promote_low_f32x4", [upper ? upperHalf(x) : x])) as Three;
    const wide = build.share(c, "c");
    const product = build.share(op("f64x2.mul", [a, b]), "product");
    const total = build.share(op("f64x2.add", [product, wide]), "sum");
    const back = build.share(op("f64x2.sub", [total, product]), "back");
    const rest = op("f64x2.sub", [product, op("f64x2.sub", [total, back])]);
    const error = build.share(op("f64x2.add", [rest, op("f64x2.sub", [wide, back])]), "error");
    return op("f32x4.demote_f64x2_zero", [roundedToOdd(build, total, error)]);
  };
  return shuffle(half(false), half(true), 0, 2);
}

/** Where the error is not zero and the last bit is even: one step to the odd neighbour on the error's side. */
function roundedToOdd(build: FunctionBuilder, total: Node, error: Node): Node {
  const zero = v128Doubles(0);
  const one = v128(new BigInt64Array([1n, 1n]).buffer);
  const above = build.share(op("f64x2.gt", [error, zero]), "above");
  const inexact = op("v128.or", [above, op("f64x2.lt", [error, zero])]);
  const even = op("i64x2.eq", [op("v128.and", [total, one]), zero]);
  const inwards = op("v128.xor", [above, op("f64x2.gt", [total, zero])]);
  const step = op("v128.and", [op("v128.or", [inwards, one]), op("v128.and", [inexact, even])]);
  return op("i64x2.add", [total, step]);
}

const BODIES: { readonly [H in HelperName]: () => FunctionCode } = { fmod, fma };
export const helperCode = (name: HelperName): FunctionCode => BODIES[name]();
