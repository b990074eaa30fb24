/**
 * @file The workloads of the suite `kernels`: their data, sizes, and how near the sides must be to each other.
 *
 * Sizes fit the second-level cache. Inputs come from a formula, so that every side starts from the same numbers.
 */
import type { Tolerance } from "../gate.ts";
import type { Params } from "../result.ts";
import type { Loops } from "./kernels-js.ts";

export type CaseName = "saxpy" | "sum" | "exp" | "polynomial" | "gae" | "cartpole";

export interface CaseArray {
  readonly storage: "f32" | "u8";
  readonly length: number;
  readonly at: (i: number) => number;
}
export type CaseArrays = { readonly [name: string]: Float32Array | Uint8Array };
export type CaseScalars = { readonly [name: string]: number };

export interface KernelCase {
  readonly name: CaseName;
  readonly what: string;
  readonly params: Params;
  /** Elements or environment steps per call. */
  readonly items: number;
  readonly arrays: { readonly [name: string]: CaseArray };
  readonly scalars: CaseScalars;
  /** The arrays that a call writes. */
  readonly outputs: readonly string[];
  readonly tolerance: Tolerance;
  /** The C function, and the order of its argument block: arrays by name, scalars by name, or a number. */
  readonly c: { readonly symbol: string; readonly block: readonly (string | number)[] };
  /** A hand-written loop on given arrays. */
  readonly js: (loops: Loops, arrays: CaseArrays, scalars: CaseScalars) => () => void;
}

/** Numbers in [-1, 1) without a visible pattern. */
const noise =
  (seed: number, scale = 1) =>
  (i: number): number => {
    let x = Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(seed, 0x85ebca6b);
    x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d);
    x = Math.imul(x ^ (x >>> 13), 0x297a2d39);
    return (((x ^ (x >>> 16)) | 0) / 0x8000_0000) * scale;
  };
const chance =
  (seed: number, share: number) =>
  (i: number): number =>
    noise(seed)(i) < 2 * share - 1 ? 1 : 0;
const zero = (): number => 0;

const N = 65536;
const ENVS = 64;
const STEPS = 128;
const POLES = 4096;

const f32 = (length: number, at: (i: number) => number): CaseArray => ({ storage: "f32", length, at });
const u8 = (length: number, at: (i: number) => number): CaseArray => ({ storage: "u8", length, at });

/** The typed arrays of a case, which all have the storage that the case says. */
const floats = (arrays: CaseArrays, name: string): Float32Array => arrays[name] as Float32Array;
const bytes = (arrays: CaseArrays, name: string): Uint8Array => arrays[name] as Uint8Array;

export const CASES: readonly KernelCase[] = [
  {
    name: "saxpy",
    what: "y = a x + y",
    params: { n: N },
    items: N,
    arrays: { x: f32(N, noise(1)), y: f32(N, noise(2)) },
    scalars: { a: 0.001 },
    outputs: ["y"],
    tolerance: { absolute: 1e-7, relative: 1e-6 },
    c: { symbol: "saxpy", block: ["x", "y", "a", N] },
    js: (hand, arrays, { a = 0 }) => {
      const [x, y] = [floats(arrays, "x"), floats(arrays, "y")];
      return () => hand.saxpy(x, y, a);
    },
  },
  {
    name: "sum",
    what: "sum of an array",
    params: { n: N },
    items: N,
    arrays: { x: f32(N, noise(3)), total: f32(1, zero) },
    scalars: {},
    outputs: ["total"],
    tolerance: { absolute: 5e-3, relative: 1e-5 },
    c: { symbol: "sum", block: ["x", "total", N] },
    js: (hand, arrays) => {
      const [x, total] = [floats(arrays, "x"), floats(arrays, "total")];
      return () => hand.sum(x, total);
    },
  },
  {
    name: "exp",
    what: "exp of every element",
    params: { n: N },
    items: N,
    arrays: { x: f32(N, noise(4, 20)), y: f32(N, zero) },
    scalars: {},
    outputs: ["y"],
    tolerance: { absolute: 0, relative: 1e-6 },
    c: { symbol: "exp_map", block: ["x", "y", N] },
    js: (hand, arrays) => {
      const [x, y] = [floats(arrays, "x"), floats(arrays, "y")];
      return () => hand.expMap(x, y);
    },
  },
  {
    name: "polynomial",
    what: "8-step polynomial",
    params: { n: N },
    items: N,
    arrays: { x: f32(N, noise(5)), y: f32(N, zero) },
    scalars: {},
    outputs: ["y"],
    tolerance: { absolute: 1e-6, relative: 1e-6 },
    c: { symbol: "polynomial", block: ["x", "y", N] },
    js: (hand, arrays) => {
      const [x, y] = [floats(arrays, "x"), floats(arrays, "y")];
      return () => hand.polynomial(x, y);
    },
  },
  {
    name: "gae",
    what: "batched GAE 64x128",
    params: { envs: ENVS, steps: STEPS },
    items: ENVS * STEPS,
    arrays: {
      rewards: f32(ENVS * STEPS, noise(6)),
      values: f32(ENVS * STEPS, noise(7)),
      ended: u8(ENVS * STEPS, chance(8, 0.05)),
      last: f32(ENVS, noise(9)),
      out: f32(ENVS * STEPS, zero),
    },
    scalars: { gamma: 0.99, lambda: 0.95 },
    outputs: ["out"],
    tolerance: { absolute: 1e-5, relative: 1e-5 },
    c: { symbol: "gae", block: ["rewards", "values", "ended", "last", "out", "gamma", "lambda", ENVS, STEPS] },
    js: (hand, arrays, { gamma = 0, lambda = 0 }) => {
      const [rewards, values, last] = [floats(arrays, "rewards"), floats(arrays, "values"), floats(arrays, "last")];
      const [ended, out] = [bytes(arrays, "ended"), floats(arrays, "out")];
      return () => hand.gae(rewards, values, ended, last, out, gamma, lambda);
    },
  },
  {
    name: "cartpole",
    what: "CartPole-like step over 4096 environments",
    params: { envs: POLES },
    items: POLES,
    arrays: {
      x: f32(POLES, noise(10, 0.05)),
      xDot: f32(POLES, noise(11, 0.05)),
      theta: f32(POLES, noise(12, 0.05)),
      thetaDot: f32(POLES, noise(13, 0.05)),
      action: u8(POLES, chance(14, 0.5)),
      ended: u8(POLES, zero),
      reward: f32(POLES, zero),
    },
    scalars: {},
    outputs: ["x", "xDot", "theta", "thetaDot", "ended", "reward"],
    tolerance: { absolute: 1e-5, relative: 1e-5 },
    c: { symbol: "cartpole", block: ["x", "xDot", "theta", "thetaDot", "action", "ended", "reward", POLES] },
    js: (hand, arrays) => {
      const [x, xDot] = [floats(arrays, "x"), floats(arrays, "xDot")];
      const [theta, thetaDot] = [floats(arrays, "theta"), floats(arrays, "thetaDot")];
      const [action, ended, reward] = [bytes(arrays, "action"), bytes(arrays, "ended"), floats(arrays, "reward")];
      return () => hand.cartpole(x, xDot, theta, thetaDot, action, ended, reward);
    },
  },
];

/** Fresh arrays of a case; `make` gives the memory. */
export function makeArrays(
  one: KernelCase,
  make: (storage: "f32" | "u8", length: number) => Float32Array | Uint8Array,
): CaseArrays {
  return Object.fromEntries(
    Object.entries(one.arrays).map(([name, { storage, length, at }]) => {
      const array = make(storage, length);
      for (let i = 0; i < length; i++) array[i] = at(i);
      return [name, array];
    }),
  );
}

export const plainArray = (storage: "f32" | "u8", length: number): Float32Array | Uint8Array =>
  storage === "f32" ? new Float32Array(length) : new Uint8Array(length);
