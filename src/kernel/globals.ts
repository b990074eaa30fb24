/**
 * @file The globals of JavaScript that kernels know, and those whose use deserves better advice than "outside value".
 */
import type { ScalarName } from "./declare.ts";
import type { FunctionName } from "./terms.ts";
import type { IntrinsicName } from "./values.ts";

export const MATH_CONSTANTS: ReadonlyMap<string, number> = new Map(
  (["PI", "E", "LN2", "LN10", "LOG2E", "LOG10E", "SQRT2", "SQRT1_2"] as const).map((name) => [name, Math[name]]),
);
export const MATH_FUNCTIONS: ReadonlySet<FunctionName> = new Set<FunctionName>([
  "abs",
  "floor",
  "ceil",
  "trunc",
  "round",
  "sign",
  "sqrt",
  "sin",
  "cos",
  "tan",
  "asin",
  "acos",
  "atan",
  "atan2",
  "exp",
  "expm1",
  "log",
  "log1p",
  "log2",
  "log10",
  "pow",
  "tanh",
  "sinh",
  "cosh",
  "cbrt",
  "hypot",
  "min",
  "max",
  "imul",
  "clz32",
  "fround",
]);
export const isMathFunction = (name: string): name is FunctionName => (MATH_FUNCTIONS as ReadonlySet<string>).has(name);

export const NUMBER_CONSTANTS: ReadonlyMap<string, number> = new Map([
  ["EPSILON", Number.EPSILON],
  ["MAX_VALUE", Number.MAX_VALUE],
  ["MIN_VALUE", Number.MIN_VALUE],
  ["MAX_SAFE_INTEGER", Number.MAX_SAFE_INTEGER],
  ["MIN_SAFE_INTEGER", Number.MIN_SAFE_INTEGER],
  ["POSITIVE_INFINITY", Number.POSITIVE_INFINITY],
  ["NEGATIVE_INFINITY", Number.NEGATIVE_INFINITY],
  ["NaN", Number.NaN],
]);
export const NUMBER_FUNCTIONS: ReadonlyMap<string, FunctionName> = new Map<string, FunctionName>([
  ["isNaN", "isNaN"],
  ["isFinite", "isFinite"],
  ["isInteger", "isInteger"],
]);

export const GLOBAL_NUMBERS: ReadonlyMap<string, number> = new Map([
  ["Infinity", Number.POSITIVE_INFINITY],
  ["NaN", Number.NaN],
]);
/** Globals that are called as functions. */
export const GLOBAL_FUNCTIONS: ReadonlyMap<string, FunctionName> = new Map<string, FunctionName>([
  ["Number", "toF64"],
  ["Boolean", "truth"],
  ["isNaN", "isNaN"],
  ["isFinite", "isFinite"],
]);
/** Constructors of local arrays; `Array` leaves the type to what is stored. */
export const ARRAY_CONSTRUCTORS: ReadonlyMap<string, ScalarName | undefined> = new Map<string, ScalarName | undefined>([
  ["Float32Array", "f32"],
  ["Float64Array", "f64"],
  ["Int32Array", "i32"],
  ["Uint32Array", "u32"],
  ["Uint8Array", "u8"],
  ["Array", undefined],
]);
export const isKnownGlobal = (name: string): boolean =>
  name === "Math" || GLOBAL_FUNCTIONS.has(name) || ARRAY_CONSTRUCTORS.has(name);

/** What the second parameter carries. */
export const INTRINSICS: readonly IntrinsicName[] = [
  "parallel",
  "blocks",
  "scan",
  "assert",
  "rng",
  "fma",
  "mulAdd",
  "sigmoid",
  "rsqrt",
  "exp2",
  "bits",
  "fromBits",
  "mulHigh",
  "permuted",
  "own",
];

/** Objects of the host that people reach for. */
export const HOST_NAMES: ReadonlySet<string> = new Set([
  "console",
  "Date",
  "performance",
  "process",
  "globalThis",
  "window",
  "document",
  "self",
  "JSON",
  "Object",
  "Reflect",
  "Atomics",
  "SharedArrayBuffer",
  "ArrayBuffer",
  "DataView",
  "crypto",
  "fetch",
  "setTimeout",
  "require",
  "String",
  "Symbol",
  "parseInt",
  "parseFloat",
]);

/** How bundlers and transpilers name an imported module whose members the source used directly. */
export const isModuleObject = (name: string): boolean =>
  /^__vi(te_ssr)?_import_\w+__$|^__vi_export\w*$|^import_\w+$|^\w+_\d+$|^_\w+$|^__webpack_\w+$|^\w+__WEBPACK_IMPORTED_MODULE_\d+__\w*$/.test(
    name,
  );
