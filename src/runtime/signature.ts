/**
 * @file What a compiled entry takes, seen from JavaScript: arrays and numbers by the path of their name.
 */
import type { Buffer, Func, Module } from "../ir/nodes.ts";
import type { DType, StorageType } from "../ir/types.ts";
import { eachStmt } from "../ir/walk.ts";

export interface ArrayParameter {
  /** `["state", "x"]` for an argument `{ state: { x } }`. */
  readonly path: readonly string[];
  readonly storage: StorageType;
  /** Elements, where the declaration fixes them. */
  readonly length: number | undefined;
  readonly written: boolean;
  /** The length is a multiple of this: elements of a row. */
  readonly each: number;
  /** Arrays of one group have the same number of rows. */
  readonly group: string | undefined;
}
/** What a number of a call must be: a type of compiled code, or one that only storage has. */
export type ScalarKind = DType | "u8";
export interface ScalarParameter {
  readonly path: readonly string[];
  readonly dtype: ScalarKind;
}
export interface Signature {
  readonly name: string;
  readonly arrays: readonly ArrayParameter[];
  readonly scalars: readonly ScalarParameter[];
}

/** The param buffers that a function or what it calls stores to. */
export function writtenBuffers(f: Func): Set<Buffer> {
  const written = new Set<Buffer>();
  eachStmt(f.body, (s) => {
    if (s.kind === "store") written.add(s.buffer);
    if (s.kind === "launch") for (const b of writtenBuffers(s.func)) written.add(b);
    if (s.kind === "call") {
      const inner = writtenBuffers(s.func);
      s.func.buffers.forEach((b, k) => {
        if (inner.has(b)) written.add(s.buffers[k] as Buffer);
      });
    }
  });
  return written;
}

/** What a front end knows of a parameter beyond its type in the module, by name. */
export type ParameterDetails = ReadonlyMap<
  string,
  { readonly each: number; readonly group: string | undefined; readonly byte: boolean }
>;

export function signatureOf(module: Module, details: ParameterDetails = new Map()): Signature {
  const written = writtenBuffers(module.entry);
  return {
    name: module.name,
    arrays: module.entry.buffers.map((b) => ({
      path: b.name.split("."),
      storage: b.storage,
      length: b.length,
      written: written.has(b),
      each: details.get(b.name)?.each ?? 1,
      group: details.get(b.name)?.group,
    })),
    scalars: module.entry.params.map((p) => ({
      path: p.name.split("."),
      dtype: details.get(p.name)?.byte ? "u8" : p.dtype,
    })),
  };
}
