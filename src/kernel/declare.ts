/**
 * @file How a kernel is declared: the types of its arguments, its constants and its helpers.
 *
 * A declaration is a plain record of the values made here. TypeScript's types of a call (`CallArguments`) and of the
 * function's first parameter (`FunctionArguments`) follow from it; the compiler reads the same record.
 */
import { type CallSite, captureCallSite } from "../platform/callsite.ts";

/** Types of scalars and of array elements. A `u8` and a `bool` take one byte in memory. */
export type ScalarName = "f32" | "f64" | "i32" | "u32" | "u8" | "bool";

export interface Scalar<D extends ScalarName = ScalarName> {
  readonly kind: "scalar";
  readonly dtype: D;
  /** An array; with a length, only arrays of that length are taken. */
  array(length?: number): ArrayOf<Scalar<D>>;
}
/** An array of scalars (flat), of arrays of a fixed length (flat, row after row) or of structs (one array per field). */
export interface ArrayOf<E extends Scalar | Row | Struct = Scalar | Row | Struct> {
  readonly kind: "array";
  readonly element: E;
  readonly length: number | undefined;
  /** An array of such arrays, one row after the other; needs a length here. */
  array(length?: number): ArrayOf<Row<E>>;
}
/** One row of an array of arrays. */
export interface Row<E = unknown> {
  readonly kind: "row";
  readonly element: E;
  readonly length: number;
}
export interface Fields {
  readonly [name: string]: Scalar | ArrayOf<Scalar> | Struct | Fields;
}
/** Fields side by side. An array of structs is held as one array per field. */
export interface Struct<F extends Fields = Fields> {
  readonly kind: "struct";
  readonly fields: F;
  array(length?: number): ArrayOf<Struct<F>>;
}

export type ConstantValue =
  | number
  | boolean
  | readonly number[]
  | Float32Array
  | Float64Array
  | Int32Array
  | Uint32Array
  | Uint8Array
  | { readonly [name: string]: ConstantValue };
/** A value that is known when the kernel is compiled; not an argument of the call. */
export interface Constant<V extends ConstantValue = ConstantValue> {
  readonly kind: "constant";
  readonly value: V;
}

export type AnyFunction = (...args: never[]) => unknown;
/** A helper function, inlined wherever it is called; not an argument of the call. */
export interface Inline<F extends AnyFunction = AnyFunction> {
  readonly kind: "inline";
  readonly fn: AnyFunction;
  /** What the helper itself uses from outside: handed to it as its first argument. */
  readonly uses: Uses | undefined;
  readonly site: CallSite;
  /** How the helper is called; only a type. */
  readonly call?: F;
}
/** What a helper may be given: constants, other helpers, kernels. */
export interface Uses {
  readonly [name: string]: Constant | Inline | KernelLike;
}

export interface KernelOptions {
  /** How the kernel is called in messages and listings; the function's own name by default. */
  readonly name?: string;
  /** Whether `mulAdd` rounds once ("fused") or twice ("unfused", the default). */
  readonly numerics?: "fused" | "unfused";
}
/** Everything the compiler needs to know of a kernel. */
export interface KernelSpec<D extends Declaration = Declaration> {
  readonly name: string;
  readonly declaration: D;
  readonly fn: AnyFunction;
  readonly options: KernelOptions;
  /** Where `kernel()` was called. */
  readonly site: CallSite;
}
/** Kernels carry their spec under this key, so that other kernels can call them. */
export const KERNEL_SPEC: unique symbol = Symbol.for("lockstep.kernel") as never;
export interface KernelLike<D extends Declaration = Declaration> {
  readonly [KERNEL_SPEC]: KernelSpec<D>;
}

export type Declared = Scalar | ArrayOf | Struct | Constant | Inline | KernelLike | Declaration;
export interface Declaration {
  readonly [name: string]: Declared;
}

function arrayOf<E extends Scalar | Row | Struct>(element: E, length: number | undefined): ArrayOf<E> {
  const made: ArrayOf<E> = {
    kind: "array",
    element,
    length,
    array: (count) => arrayOf({ kind: "row", element, length: length ?? -1 }, count),
  };
  return made;
}
function scalar<D extends ScalarName>(dtype: D): Scalar<D> {
  const made: Scalar<D> = { kind: "scalar", dtype, array: (length) => arrayOf(made, length) };
  return made;
}
export const f32: Scalar<"f32"> = scalar("f32");
export const f64: Scalar<"f64"> = scalar("f64");
export const i32: Scalar<"i32"> = scalar("i32");
export const u32: Scalar<"u32"> = scalar("u32");
export const u8: Scalar<"u8"> = scalar("u8");
export const bool: Scalar<"bool"> = scalar("bool");

export function struct<const F extends Fields>(fields: F): Struct<F> {
  const made: Struct<F> = { kind: "struct", fields, array: (length) => arrayOf(made, length) };
  return made;
}

/** A number, a boolean, a table of numbers, or a record of these, fixed when the kernel is compiled. */
export function constant<V extends ConstantValue>(value: V): Constant<V> {
  return { kind: "constant", value };
}

type Rest<F extends AnyFunction> = F extends (first: never, ...rest: infer R) => infer T ? (...rest: R) => T : never;

/** A helper that kernels may call. With `uses`, its first parameter receives what it uses from outside. */
export function inline<F extends AnyFunction>(fn: F): Inline<F>;
export function inline<U extends Uses, F extends (uses: FunctionArguments<U>, ...rest: never[]) => unknown>(
  uses: U,
  fn: F,
): Inline<Rest<F>>;
export function inline(first: AnyFunction | Uses, second?: AnyFunction): Inline {
  const site = captureCallSite(inline);
  if (typeof first === "function") return { kind: "inline", fn: first, uses: undefined, site };
  return { kind: "inline", fn: second as AnyFunction, uses: first, site };
}

/** The spec of a kernel; `callee` is the function the user called, whose caller messages point at. */
export function kernelSpec<D extends Declaration>(
  declaration: D,
  fn: AnyFunction,
  options: KernelOptions,
  callee: AnyFunction,
): KernelSpec<D> {
  const name = options.name ?? (fn?.name || "kernel");
  return { name, declaration, fn, options, site: captureCallSite(callee) };
}

/** What the function sees of an array: elements, a length, views and fill. */
export interface KernelArray<E extends number | boolean = number> {
  readonly length: number;
  [index: number]: E;
  [Symbol.iterator](): IterableIterator<E>;
  /** A view of elements begin to end - 1; no copy. */
  subarray(begin: number, end?: number): KernelArray<E>;
  fill(value: E, begin?: number, end?: number): unknown;
}
export interface ReadonlyList<E> {
  readonly length: number;
  readonly [index: number]: E;
  [Symbol.iterator](): IterableIterator<E>;
}

interface TypedArrays {
  f32: Float32Array;
  f64: Float64Array;
  i32: Int32Array;
  u32: Uint32Array;
  u8: Uint8Array;
  bool: Uint8Array;
}
type Value<D extends ScalarName> = D extends "bool" ? boolean : number;
type Simplify<T> = { [K in keyof T]: T[K] } & {};

/** The argument that a declared entry takes in a call. */
type CallArgument<T> =
  T extends Scalar<infer D>
    ? Value<D>
    : T extends ArrayOf<infer E>
      ? Columns<E>
      : T extends Struct<infer F>
        ? { [K in keyof F]: CallArgument<F[K]> }
        : CallArguments<T>;
/** How an array of `E` lies in memory: flat, or one array per field. */
type Columns<E> =
  E extends Scalar<infer D>
    ? TypedArrays[D]
    : E extends Row<infer R>
      ? Columns<R>
      : E extends ArrayOf<infer R>
        ? Columns<R>
        : E extends Struct<infer F>
          ? { readonly [K in keyof F]: Columns<F[K]> }
          : { readonly [K in keyof E]: Columns<E[K]> };
type NotAnArgument = Constant | Inline | KernelLike;
/** The type of a call's argument. */
export type CallArguments<D> = Simplify<{
  readonly [K in keyof D as D[K] extends NotAnArgument ? never : K]: CallArgument<D[K]>;
}>;

type WidenConstant<V> = V extends number
  ? number
  : V extends boolean
    ? boolean
    : V extends ArrayLike<number>
      ? ReadonlyList<number>
      : V extends { readonly [name: string]: ConstantValue }
        ? { readonly [K in keyof V]: WidenConstant<V[K]> }
        : never;
type Element<E> =
  E extends Scalar<infer D>
    ? Value<D>
    : E extends ArrayOf<infer R>
      ? FunctionArray<R>
      : E extends Struct<infer F>
        ? { -readonly [K in keyof F]: Element<F[K]> }
        : { -readonly [K in keyof E]: Element<E[K]> };
type FunctionArray<E> =
  E extends Scalar<infer D>
    ? KernelArray<Value<D>>
    : E extends Row<infer R>
      ? ReadonlyList<FunctionArray<R>>
      : ReadonlyList<Element<E>>;
/** What helper functions see of one element of a struct's array: fields that can be read and written. */
export type StateOf<F extends Fields> = { -readonly [K in keyof F]: Element<F[K]> };
/** What the function sees of a declared entry. */
type FunctionArgument<T> =
  T extends Scalar<infer D>
    ? Value<D>
    : T extends ArrayOf<infer E>
      ? FunctionArray<E>
      : T extends Struct<infer F>
        ? { [K in keyof F]: FunctionArgument<F[K]> }
        : T extends Constant<infer V>
          ? WidenConstant<V>
          : T extends Inline<infer F>
            ? F
            : T extends KernelLike<infer D>
              ? (args: InnerArguments<D>) => void
              : FunctionArguments<T>;
/** The type of the function's first parameter. */
export type FunctionArguments<D> = Simplify<{ readonly [K in keyof D]: FunctionArgument<D[K]> }>;
/** What a kernel takes when another kernel calls it. */
export type InnerArguments<D> = Simplify<{
  readonly [K in keyof D as D[K] extends NotAnArgument ? never : K]: FunctionArgument<D[K]>;
}>;

/** A stream of random numbers: a key and a count of draws. */
export interface RandomStream {
  /** 32 random bits, a u32. */
  bits(): number;
  /** An f32 in [0, 1), or between two limits. */
  uniform(low?: number, high?: number): number;
  /** Two such numbers at the cost of one draw. */
  pair(low?: number, high?: number): { readonly first: number; readonly second: number };
  /** An i32 in 0..n-1, all equally likely. */
  int(n: number): number;
  normal(): number;
  exponential(): number;
  bernoulli(probability: number): boolean;
  /** An index in 0..n-1 with a chance in proportion to its weight. */
  categorical(weights: ReadonlyList<number>, n?: number): number;
  /** A stream of its own for each i; this one is not advanced. */
  fold(i: number): RandomStream;
  /**
   * A stream for each i in 1..2^24-1 that costs nothing: it shares this one's key and counts its draws apart. i beyond is
   * taken modulo 2^24; `at(0)` begins this stream anew. Of a stream that `at` gave it is the same as of the one before.
   */
  at(i: number): RandomStream;
  /** A new stream; this one is advanced. */
  split(): RandomStream;
}

/** What the function's second parameter carries: what plain JavaScript does not have. */
export interface Intrinsics {
  /** Runs `body` for 0..count-1; iterations are independent and may run side by side. */
  parallel(count: number, body: (i: number) => void): void;
  /**
   * Runs `body` for 0..count-1 as `parallel` does, for iterations that are long: a `parallel` inside is a loop of its
   * own, vectorised, and threads share out whole iterations.
   */
  blocks(count: number, body: (i: number) => void): void;
  /**
   * Runs `body` for 0..count-1, whose iterations are independent but for outside variables of the form
   * `x = b + a * x`: these go from one iteration to the next, and may be read behind that statement.
   */
  scan(count: number, body: (i: number) => void): void;
  /** Turns the call into an error when the condition does not hold. */
  assert(condition: boolean, message?: string): void;
  /** a * b + c with one rounding, f32. */
  fma(a: number, b: number, c: number): number;
  /** a * b + c, with one rounding where the kernel's numerics are "fused". */
  mulAdd(a: number, b: number, c: number): number;
  sigmoid(x: number): number;
  rsqrt(x: number): number;
  exp2(x: number): number;
  /** The bits of an f32 as an i32, and back. */
  bits(x: number): number;
  fromBits(x: number): number;
  /** The upper half of the 64-bit product of two u32. */
  mulHigh(a: number, b: number): number;
  /** Element i of a random order of 0..n-1 for a key of two words: each of them for one i; any i can be asked for. */
  permuted(key0: number, key1: number, i: number, n: number): number;
  /**
   * i itself, an i32, with a promise: elements that an iteration of `parallel` reaches through a subscript made of it are
   * reached by no other iteration. So `y[own(k[i])] = ...` runs side by side, on all threads.
   */
  own(i: number): number;
  /** A stream of random numbers for a key of two words. */
  rng(key0: number, key1: number): RandomStream;
}

/** The function of a kernel. */
export type KernelFunction<D extends Declaration> = (args: FunctionArguments<D>, intrinsics: Intrinsics) => void;
