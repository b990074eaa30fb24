/**
 * @file Expressions: the walk from IR trees to code, scalar and vector, and the locals they read.
 */
import { IrError } from "../../ir/build.ts";
import type { Buffer, Expr, Func, Local, Shuffle, Splat } from "../../ir/nodes.ts";
import type { Conversion, DType } from "../../ir/types.ts";
import { eachExpr, structuralKey } from "../../ir/walk.ts";
import { Addresses, type Place } from "./address.ts";
import { type FunctionRef, i32, type LocalGet, type Node, set } from "./code.ts";
import type { FunctionBuilder } from "./function.ts";
import {
  constantVector,
  iotaVector,
  maskOf,
  partCount,
  shareVector,
  shuffleVector,
  splatVector,
  VECTOR_CONVERT,
  type Vector,
  vector,
  type Width,
  widthOf,
} from "./lanes.ts";
import { maskWidths } from "./masks.ts";
import { type AccessContext, loadScalar, loadSplat, loadVector } from "./memory.ts";
import {
  type HelperName,
  SCALAR_BINARY,
  SCALAR_CONVERT,
  SCALAR_TYPES,
  SCALAR_UNARY,
  scalarConstant,
  scalarFma,
  scalarSelect,
} from "./scalar.ts";
import {
  pairVector,
  VECTOR_BINARY,
  VECTOR_UNARY,
  vectorAny,
  vectorFma,
  vectorLane,
  vectorPseudo,
  vectorSelect,
  vectorShift,
} from "./vector.ts";

/** What all functions of a program share. */
export interface ProgramContext {
  readonly fusedMadd: boolean;
  readonly relaxed: boolean;
  readonly helper: (name: HelperName) => FunctionRef;
}

/** How a function reaches its buffers. */
export interface BufferAccess {
  begin(buffer: Buffer): Place;
  length(buffer: Buffer): Node;
}

interface LocalParts {
  readonly parts: readonly LocalGet[];
  readonly width: Width;
}

export class Expressions implements AccessContext {
  readonly build: FunctionBuilder;
  readonly addresses: Addresses;
  readonly fusedMadd: boolean;
  readonly relaxed: boolean;
  readonly helper: (name: HelperName) => FunctionRef;
  readonly #buffers: BufferAccess;
  readonly #locals = new Map<Local, LocalParts>();
  readonly #maskWidths: ReadonlyMap<Local, Width>;

  constructor(build: FunctionBuilder, func: Func, program: ProgramContext, buffers: BufferAccess) {
    this.build = build;
    this.fusedMadd = program.fusedMadd;
    this.relaxed = program.relaxed;
    this.helper = program.helper;
    this.#buffers = buffers;
    this.#maskWidths = maskWidths(func);
    this.addresses = new Addresses({ build, scalar: (e) => this.scalar(e), begin: (b) => buffers.begin(b) });
  }

  /** Makes an IR local of a parameter that has arrived. */
  bind(local: Local, at: LocalGet): void {
    this.#locals.set(local, { parts: [at], width: 4 });
  }

  /** The registers of a local. */
  parts(local: Local): LocalParts {
    let found = this.#locals.get(local);
    if (!found) {
      found = this.#newLocal(local);
      this.#locals.set(local, found);
    }
    return found;
  }
  #newLocal(local: Local): LocalParts {
    const { name, dtype, lanes } = local;
    if (lanes === 1) return { parts: [this.build.local(SCALAR_TYPES[dtype], name)], width: 4 };
    const width = dtype === "bool" ? (this.#maskWidths.get(local) ?? 4) : widthOf(dtype);
    const count = partCount(lanes, width);
    const parts = Array.from({ length: count }, (_, p) =>
      this.build.local("v128", count === 1 ? name : `${name}.${p}`),
    );
    return { parts, width };
  }

  assign(local: Local, value: Expr): void {
    const into = this.parts(local);
    if (local.lanes === 1) {
      this.build.emit(set((into.parts[0] as LocalGet).index, this.scalar(value)));
    } else {
      const result = this.vector(value);
      const parts = local.dtype === "bool" ? maskOf(this.build, result, into.width).parts : result.parts;
      this.#assignParts(into.parts, parts, parts.length > 1 && reads(value, local));
    }
    this.addresses.changed(local, value);
  }
  #assignParts(into: readonly LocalGet[], parts: readonly Node[], together: boolean): void {
    if (!together) {
      this.build.emit(...parts.map((part, p) => set((into[p] as LocalGet).index, part)));
      return;
    }
    // Parts may need each other's old values: all are computed before the first is set.
    this.build.emit(...parts, ...into.map((part) => set(part.index)).reverse());
  }

  scalar(e: Expr): Node {
    if (e.lanes !== 1) throw new IrError(`${e.kind} with ${e.lanes} lanes as a scalar`);
    switch (e.kind) {
      case "const":
        return scalarConstant(e.dtype, e.value);
      case "get":
        return this.parts(e.local).parts[0] as Node;
      case "length":
        return this.#buffers.length(e.buffer);
      case "unary":
        return SCALAR_UNARY[e.op](this.scalar(e.x), e.x.dtype, this);
      case "binary":
        return SCALAR_BINARY[e.op](this.scalar(e.a), this.scalar(e.b), e.a.dtype, this);
      case "select":
        return scalarSelect(e.dtype, this.scalar(e.condition), this.scalar(e.a), this.scalar(e.b));
      case "fma":
        return scalarFma(this.scalar(e.a), this.scalar(e.b), this.scalar(e.c), this);
      case "convert":
        return SCALAR_CONVERT[conversion(e.x.dtype, e.dtype)](this.scalar(e.x));
      case "load":
        return loadScalar(e, this);
      case "splat":
        return this.scalar(e.x);
      case "iota":
        return i32(0);
      case "any":
        return e.x.lanes === 1 ? this.scalar(e.x) : vectorAny(this.vector(e.x));
      case "lane":
        return vectorLane(this.vector(e.x), e.at);
      case "shuffle":
        throw new IrError("a shuffle with one lane");
      default:
        return e satisfies never;
    }
  }

  vector(e: Expr): Vector {
    const { lanes } = e;
    switch (e.kind) {
      case "const":
        return constantVector(e.dtype, lanes, e.value);
      case "get": {
        const { parts, width } = this.parts(e.local);
        return vector(e.dtype, lanes, parts, width);
      }
      case "unary":
        return VECTOR_UNARY[e.op](this.vector(e.x), this);
      case "binary":
        return this.#binary(e);
      case "select":
        return this.#select(e);
      case "fma":
        return vectorFma(this.vector(e.a), this.vector(e.b), this.vector(e.c), this);
      case "convert":
        return vector(e.dtype, lanes, VECTOR_CONVERT[conversion(e.x.dtype, e.dtype)](this.vector(e.x), this.build));
      case "load":
        return loadVector(e, this);
      case "splat":
        return this.#splat(e.x, e.dtype, lanes);
      case "iota":
        return iotaVector(lanes);
      case "shuffle": {
        if (isPair(e)) return pairVector(this.scalar(e.a.x), this.scalar(e.b.x), e.dtype);
        const a = shareVector(this.build, this.vector(e.a));
        return shuffleVector(a, e.b === e.a ? a : shareVector(this.build, this.vector(e.b)), e.order);
      }
      case "length":
      case "any":
      case "lane":
        throw new IrError(`${e.kind} with ${lanes} lanes`);
      default:
        return e satisfies never;
    }
  }

  #binary(e: Expr & { kind: "binary" }): Vector {
    if (e.op === "shl" || e.op === "shr") {
      if (e.b.kind === "const") return vectorShift(e.op, this.vector(e.a), i32(e.b.value), this);
      if (e.b.kind === "splat") return vectorShift(e.op, this.vector(e.a), this.scalar(e.b.x), this);
    }
    return VECTOR_BINARY[e.op](this.vector(e.a), this.vector(e.b), this);
  }

  /** A choice of the lesser or greater by comparing the two is one instruction. */
  #select(e: Expr & { kind: "select" }): Vector {
    const which = selectedExtreme(e);
    // pmin(x, y) is "y < x ? y : x", pmax(x, y) "x < y ? y : x": in all four cases the last choice comes first.
    if (which) return vectorPseudo(which, this.vector(e.b), this.vector(e.a));
    return vectorSelect(this.vector(e.condition), this.vector(e.a), this.vector(e.b), this);
  }

  #splat(x: Expr, dtype: DType, lanes: number): Vector {
    const loaded = x.kind === "load" ? loadSplat(x, lanes, this) : undefined;
    return loaded ?? splatVector(this.build, dtype, lanes, this.scalar(x));
  }
}

/** Whether a shuffle puts two scalars side by side. */
const isPair = (e: Shuffle): e is Shuffle & { a: Splat; b: Splat } =>
  e.a.kind === "splat" && e.b.kind === "splat" && e.order.length === 2 && e.order[0] === 0 && e.order[1] === e.a.lanes;

/** The instruction for a select of floats such as "a < b ? a : b". */
function selectedExtreme(e: Expr & { kind: "select" }): "pmin" | "pmax" | undefined {
  const { condition: c, a, b } = e;
  if (c.kind !== "binary" || (c.op !== "lt" && c.op !== "gt")) return undefined;
  if (c.a.dtype !== e.dtype || (e.dtype !== "f32" && e.dtype !== "f64")) return undefined;
  const same = (x: Expr, y: Expr): boolean => structuralKey(x) === structuralKey(y);
  const less = c.op === "lt";
  if (same(c.a, a) && same(c.b, b)) return less ? "pmin" : "pmax";
  if (same(c.a, b) && same(c.b, a)) return less ? "pmax" : "pmin";
  return undefined;
}

function reads(e: Expr, local: Local): boolean {
  let found = false;
  eachExpr(e, (x) => {
    if (x.kind === "get" && x.local === local) found = true;
  });
  return found;
}

const conversion = (from: DType, to: DType): Conversion => `${from}-${to}` as Conversion;
