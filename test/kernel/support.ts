/**
 * @file What the kernel tests share: running a kernel through the interpreter, and its raw function in JavaScript.
 */
import { interpret, type TypedArray } from "../../src/ir/interpret.ts";
import type { Module } from "../../src/ir/nodes.ts";
import { verify } from "../../src/ir/verify.ts";
import { compileKernel } from "../../src/kernel/compile.ts";
import {
  type ArrayOf,
  type Constant,
  type Declaration,
  type Inline,
  type Intrinsics,
  KERNEL_SPEC,
  type KernelFunction,
  type KernelLike,
  type KernelOptions,
  type KernelSpec,
  kernelSpec,
  type Struct,
} from "../../src/kernel/declare.ts";
import { declaredKind, flatten, type Leaf } from "../../src/kernel/flatten.ts";

export type Arguments = { readonly [name: string]: unknown };
type AnyFunction = (...args: never[]) => unknown;

/** A kernel without a runtime: what another kernel may call. */
export function kernel<const D extends Declaration>(
  declaration: D,
  fn: KernelFunction<D>,
  options: KernelOptions = {},
): KernelLike<D> {
  return { [KERNEL_SPEC]: kernelSpec(declaration, fn, options, kernel as AnyFunction) };
}
export const specOf = (k: KernelLike): KernelSpec => k[KERNEL_SPEC];

export function compile(declaration: Declaration, fn: AnyFunction, options: KernelOptions = {}): Module {
  const module = compileKernel(kernelSpec(declaration, fn, options, compile as AnyFunction));
  verify(module, "front");
  return module;
}

function at(args: Arguments, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Arguments)[key], args);
}

/** Runs a compiled kernel; arrays are written in place. Returns the fault number. */
export function run(module: Module, declaration: Declaration, args: Arguments): number {
  const leaves = flatten(declaration);
  const buffers = leaves.filter((l) => l.kind === "buffer").map((l) => at(args, l.path) as TypedArray);
  const rounded = (l: Leaf): number => (l.dtype === "f32" ? Math.fround : Number)(at(args, l.path) as number);
  const params = leaves.filter((l) => l.kind === "scalar").map((l) => Number(rounded(l)));
  return interpret(module, { buffers, params });
}

/** JavaScript's view of an argument: rows as subarrays, structs as objects over the columns. */
function rawValue(declared: unknown, value: unknown): unknown {
  switch (declaredKind(declared)) {
    case "array":
      return rawArray(declared as ArrayOf, value);
    case "struct":
      return rawRecord((declared as Struct).fields, value as Arguments);
    case "record":
      return rawRecord(declared as Declaration, value as Arguments);
    case "constant":
      return (declared as Constant).value;
    case "inline": {
      const { fn, uses } = declared as Inline;
      const used = uses && rawRecord(uses, {});
      return used ? (...rest: never[]) => fn(used as never, ...rest) : fn;
    }
    case "kernel": {
      const spec = (declared as KernelLike)[KERNEL_SPEC];
      return (given: Arguments) => callRaw(spec.declaration, spec.fn, given);
    }
    default:
      return value;
  }
}
function rawRecord(declared: { readonly [name: string]: unknown }, value: Arguments): Arguments {
  return Object.fromEntries(Object.entries(declared).map(([name, d]) => [name, rawValue(d, value[name])]));
}
function rawArray(declared: ArrayOf, value: unknown): unknown {
  const { element } = declared;
  if (element.kind === "struct") return rawStructs(element.fields, value as Arguments);
  if (element.kind !== "row") return value;
  const flat = value as TypedArray;
  return Array.from({ length: flat.length / element.length }, (_, k) =>
    flat.subarray(k * element.length, (k + 1) * element.length),
  );
}
function rawStructs(fields: { readonly [name: string]: unknown }, columns: Arguments): unknown[] {
  const first = Object.entries(fields).find(([, f]) => declaredKind(f) === "scalar")?.[0] as string;
  const count = (columns[first] as TypedArray).length;
  return Array.from({ length: count }, (_, i) => rawElement(fields, columns, i, count));
}
function rawElement(
  fields: { readonly [name: string]: unknown },
  columns: Arguments,
  i: number,
  count: number,
): object {
  const element = {};
  for (const [name, field] of Object.entries(fields)) {
    const column = columns[name] as TypedArray;
    switch (declaredKind(field)) {
      case "scalar":
        Object.defineProperty(element, name, { get: () => column[i], set: (v) => (column[i] = v), enumerable: true });
        break;
      case "array": {
        const width = (field as ArrayOf).length ?? 0;
        const view = {};
        for (let j = 0; j < width; j++) {
          const k = j * count + i;
          Object.defineProperty(view, j, { get: () => column[k], set: (v) => (column[k] = v) });
        }
        Object.defineProperty(view, "length", { value: width });
        Object.defineProperty(element, name, { value: view });
        break;
      }
      default: {
        const inner = declaredKind(field) === "struct" ? (field as Struct).fields : (field as Declaration);
        Object.defineProperty(element, name, { value: rawElement(inner, columns[name] as Arguments, i, count) });
      }
    }
  }
  return element;
}

const unavailable = (): never => {
  throw new Error("not part of the raw function's intrinsics");
};
const inOrder = (count: number, body: (i: number) => void): void => {
  for (let i = 0; i < count; i++) body(i);
};
const INTRINSICS: Intrinsics = {
  parallel: inOrder,
  blocks: inOrder,
  scan: inOrder,
  assert: (condition, message) => {
    if (!condition) throw new Error(message);
  },
  fma: (a, b, c) => a * b + c,
  mulAdd: (a, b, c) => a * b + c,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  rsqrt: (x) => 1 / Math.sqrt(x),
  exp2: (x) => 2 ** x,
  bits: unavailable,
  fromBits: unavailable,
  mulHigh: unavailable,
  permuted: unavailable,
  own: (i) => i,
  rng: unavailable,
};

/** Calls the raw function on an argument of a kernel's call; arrays are written in place. */
export function callRaw(declaration: Declaration, fn: AnyFunction, args: Arguments): void {
  const call = fn as unknown as (args: Arguments, intrinsics: Intrinsics) => unknown;
  call(rawRecord(declaration, args), INTRINSICS);
}

/** The arrays inside an argument, by path. */
export function arraysOf(args: Arguments, prefix = ""): [string, TypedArray][] {
  return Object.entries(args).flatMap(([name, value]) => {
    if (ArrayBuffer.isView(value)) return [[prefix + name, value as TypedArray] as [string, TypedArray]];
    return typeof value === "object" && value !== null ? arraysOf(value as Arguments, `${prefix}${name}.`) : [];
  });
}
