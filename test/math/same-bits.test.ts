/**
 * The same bits everywhere: interpreter, generated JavaScript, WebAssembly and native code, scalar and vector.
 */
import { describe, expect, it } from "vitest";
import type { TypedArray } from "../../src/ir/interpret.ts";
import { MATH, toInt32, toUint32 } from "../../src/math/index.ts";
import { type Variant, variants } from "../lockstep/variants.ts";
import { argumentsFor, type Float, pairsFor } from "./samples.ts";
import { evaluate, type Macros, moduleOf, onInterpreter, onTarget, shown, type Values } from "./support.ts";

const COUNT = process.env.LOCKSTEP_FULL ? 20_011 : 613;
const { atan2, pow, hypot, ...unary } = MATH;
const ONE: Macros = {
  ...unary,
  toInt32: (b, ...[x]) => toInt32(b, x as NonNullable<typeof x>),
  toUint32: (b, ...[x]) => toUint32(b, x as NonNullable<typeof x>),
};
const TWO: Macros = { atan2, pow, hypot };

function run(variant: Variant, macros: Macros, dtype: Float, inputs: readonly TypedArray[]): Values {
  const module = moduleOf(macros, dtype, inputs.length === 1 ? 1 : 2);
  if (variant.kind === "target") return onTarget(variant.target, module, inputs);
  return onInterpreter(module, inputs, variant.machine);
}

/** The first element in which two runs differ, or nothing. */
function difference(got: Values, want: Values, inputs: readonly TypedArray[]): string | undefined {
  for (const name of Object.keys(want)) {
    const [a, b] = [got[name] as TypedArray, want[name] as TypedArray];
    const at = b.findIndex((value, i) => !Object.is(a[i], value));
    if (at < 0) continue;
    const operands = inputs.map((input) => shown(input[at] as number)).join(", ");
    return `${name}(${operands}) is ${shown(a[at] as number)}, not ${shown(b[at] as number)}`;
  }
  return undefined;
}

/** How many threads take part changes nothing in what one iteration computes. */
const single = variants().filter((variant) => variant.kind === "interpreter" || variant.threads === 1);
const plain: Variant = { kind: "interpreter", name: "as written", machine: undefined, shrinks: 0 };
describe.each(["f32", "f64"] as const)("%s", (dtype) => {
  const one = [argumentsFor(dtype, COUNT, 11)];
  const two = pairsFor(dtype, COUNT, 13);
  const [wantOne, wantTwo] = [evaluate(ONE, dtype, one), evaluate(TWO, dtype, two)];
  it.each([plain, ...single])("$name", (variant) => {
    expect(difference(run(variant, ONE, dtype, one), wantOne, one)).toBeUndefined();
    expect(difference(run(variant, TWO, dtype, two), wantTwo, two)).toBeUndefined();
  });
});
