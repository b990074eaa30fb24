/**
 * @file Runs draws written as IR, one stream per iteration of a parallel loop, in every form that must agree.
 */
import { readFileSync } from "node:fs";
import { Builder, buffer, convert, func, get, i32, local } from "../../src/ir/build.ts";
import { interpret, newArray, type TypedArray } from "../../src/ir/interpret.ts";
import type { Buffer, Expr, Module } from "../../src/ir/nodes.ts";
import { lower, type PassOptions } from "../../src/ir/pipeline.ts";
import type { StorageType } from "../../src/ir/types.ts";
import { createStream, type Stream } from "../../src/random/index.ts";

/** Writes draws of a stream in iteration i. */
export type Draw = (stream: Stream, b: Builder, i: Expr) => Expr;

/** Storage for a drawn value; a bool is kept as 0 or 1. */
const storageOf = (e: Expr): StorageType => (e.dtype === "bool" ? "i32" : e.dtype);

/** A module that fills `out0`, `out1`, ... with one draw per iteration, of stream i folded from the key (k0, k1). */
export interface DrawModule {
  readonly module: Module;
  readonly outputs: readonly Buffer[];
}

export function moduleOf(draws: readonly Draw[], count: number): DrawModule {
  const keys = [local("k0", "u32"), local("k1", "u32")] as const;
  const b = new Builder();
  const root = createStream(b, get(keys[0]), get(keys[1]));
  const outputs = draws.map((draw, k) => {
    const write = (i: Expr): Expr => {
      const value = draw(root.fold(i), b, i);
      return value.dtype === "bool" ? convert("i32", value) : value;
    };
    // Written once aside, only to learn its type.
    let storage: StorageType = "f32";
    b.body(() => {
      storage = storageOf(write(i32(0)));
    });
    const out = buffer(`out${k}`, storage, "param", count);
    b.for("i", { begin: i32(0), end: i32(count), axis: "parallel" }, (i) => b.store(out, i, write(i)));
    return out;
  });
  const entry = func("draws", outputs, [...keys], b.statements);
  return { module: { name: "draws", entry, sites: [] }, outputs };
}

/** As written, and lowered for machines without vectors and with vectors of two widths. */
export const MACHINES: { readonly [name: string]: PassOptions | undefined } = {
  "as written": undefined,
  scalar: { vectorBytes: 0, launches: false },
  "16 bytes": { vectorBytes: 16, launches: true },
  "32 bytes": { vectorBytes: 32, launches: true },
};

export function interpreted(
  draw: Draw,
  count: number,
  key: readonly [number, number],
  machine?: PassOptions,
): TypedArray {
  const { module, outputs } = moduleOf([draw], count);
  const out = newArray((outputs[0] as Buffer).storage, count);
  interpret(machine ? lower(module, machine) : module, { buffers: [out], params: key });
  return out;
}

/** Runs straight code that leaves words in a buffer. */
export function wordsOf(count: number, write: (b: Builder, out: (k: number, word: Expr) => void) => void): number[] {
  const out = buffer("out", "u32", "param", count);
  const b = new Builder();
  write(b, (k, word) => b.store(out, i32(k), convert("u32", word)));
  const words = new Uint32Array(count);
  interpret(
    { name: "words", entry: func("words", [out], [], b.statements), sites: [] },
    { buffers: [words], params: [] },
  );
  return Array.from(words);
}

interface Floats {
  readonly dtype: "f32";
  readonly data: readonly number[];
}
/** What jax 0.10 draws for one seed. */
export interface JaxDraws {
  readonly split5: readonly (readonly [number, number])[];
  readonly fold_in: readonly (readonly [number, number])[];
  readonly bits5: readonly number[];
  readonly bits2x3: readonly number[];
  readonly uniform5: Floats;
  readonly uniform_pm2: Floats;
  readonly "bernoulli_0.3": readonly boolean[];
}
export type FixtureCase =
  | {
      readonly op: "threefry2x32";
      readonly name: string;
      readonly inputs: { readonly keys: readonly [number, number][]; readonly counters: readonly [number, number][] };
      readonly expected: { readonly outputs: readonly [number, number][] };
    }
  | {
      readonly op: "bits_to_float32";
      readonly name: string;
      readonly inputs: { readonly bits: readonly number[] };
      readonly expected: { readonly floats: Floats };
    }
  | {
      readonly op: "jax_random";
      readonly name: string;
      readonly inputs: { readonly key: readonly [number, number]; readonly fold_in_data: readonly number[] };
      readonly expected: { readonly partitionable: JaxDraws };
    };

/** The recorded cases of one operation. */
export function fixtures<O extends FixtureCase["op"]>(op: O): Extract<FixtureCase, { readonly op: O }>[] {
  const file = new URL("../fixtures/numeric/rng.json", import.meta.url);
  const { cases } = JSON.parse(readFileSync(file, "utf8")) as { readonly cases: readonly FixtureCase[] };
  return cases.filter((c): c is Extract<FixtureCase, { readonly op: O }> => c.op === op);
}
