/**
 * @file The js target: generated JavaScript, everywhere and without dependencies; the reference the others are
 * checked against.
 *
 * One program becomes one closure. Its temp, state and local buffers are typed arrays made when it is bound to an
 * arena, so calls allocate nothing. Parallel loops run in order on the calling thread; each is a function of its own,
 * because engines do not optimise functions beyond some size.
 */
import { arrayName, viewArray } from "../../ir/arrays.ts";
import { IrError } from "../../ir/build.ts";
import type { Buffer, For, Func, Label, Local, Module, Stmt } from "../../ir/nodes.ts";
import { fmaValue, mulHigh, nearestEven, saturateI32, saturateU32 } from "../../ir/scalar.ts";
import type { DType, StorageType } from "../../ir/types.ts";
import { assignedLocals, functionsOf, usedBuffers } from "../../ir/walk.ts";
import { isLarge, type NotesOfVersion, PlanStore } from "../plans.ts";
import type { Entry, Executable, KeptPrograms, Lowered, Origin, Prepared, Target } from "../target.ts";
import { expressionText, type Naming } from "./expressions.ts";
import { pairIterations } from "./pairs.ts";

/** What generated code calls; the scratch arrays reinterpret bits. */
const HELPERS = { fmaValue, mulHigh, nearestEven, saturateI32, saturateU32 };
const PRELUDE = `"use strict";
const { fround, abs, sqrt, floor, ceil, trunc, clz32, imul, min, max } = Math;
const { fmaValue, mulHigh, nearestEven, saturateI32, saturateU32 } = helpers;
const F32 = new Float32Array(1), I32 = new Int32Array(F32.buffer);
const F64 = new Float64Array(1), W64 = new Int32Array(F64.buffer);
const LOW = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0 : 1, HIGH = 1 - LOW;
function fromWords(high, low) { W64[HIGH] = high; W64[LOW] = low; return F64[0]; }
let fault = 0;`;

const ZERO: { readonly [D in DType]: string } = { f32: "fround(0)", f64: "0", i32: "0", u32: "0", bool: "false" };

/** Distinct JavaScript identifiers for locals, buffers, labels and functions. */
class Names implements Naming {
  readonly #given = new Map<object, string>();
  readonly #taken = new Set<string>();
  #of(thing: { readonly name: string }, prefix: string): string {
    let name = this.#given.get(thing);
    if (name === undefined) {
      const base = `${prefix}${thing.name.replace(/[^A-Za-z0-9_]/g, "_")}`;
      name = base;
      for (let n = 1; this.#taken.has(name); n++) name = `${base}_${n}`;
      this.#taken.add(name);
      this.#given.set(thing, name);
    }
    return name;
  }
  local(l: Local): string {
    return this.#of(l, "");
  }
  buffer(b: Buffer): string {
    return this.#of(b, "$");
  }
  label(l: Label): string {
    return this.#of(l, "$to_");
  }
  func(f: Func): string {
    return this.#of(f, "$fn_");
  }
  reserve(names: readonly string[]): void {
    for (const n of names) this.#taken.add(n);
  }
}

class ModuleText {
  readonly #names = new Names();
  readonly #module: Module;
  constructor(module: Module) {
    this.#module = module;
    this.#names.reserve(RESERVED);
  }

  text(): string {
    const functions = functionsOf(this.#module);
    const own = new Set([...usedBuffers(this.#module.entry.body)].filter((b) => b.space !== "param"));
    const arrays = [...own].map((b) => `const ${this.#names.buffer(b)} = ${this.#allocation(b)};`);
    const bodies = functions.map((f) => this.#func(f, f === this.#module.entry));
    return [PRELUDE, ...arrays, ...bodies, `return ${this.#names.func(this.#module.entry)};`].join("\n");
  }

  #allocation(b: Buffer): string {
    if (b.space === "table") return `new ${arrayName(b.storage)}([${(b.data ?? []).join(", ")}])`;
    if (b.space === "local") return `new ${arrayName(b.storage)}(${b.length})`;
    return `inArena(${JSON.stringify(b.name)}, ${this.#arenaIndex(b)})`;
  }

  /** Buffers of the arena, in the order in which the code names them. */
  readonly arena: Buffer[] = [];
  #arenaIndex(b: Buffer): number {
    return this.arena.push(b) - 1;
  }

  #func(f: Func, entry: boolean): string {
    const buffers = this.#handedOver(f).map((b) => this.#names.buffer(b));
    const params = f.params.map((p) => this.#names.local(p));
    const bools = f.params.filter((p) => p.dtype === "bool").map((p) => this.#names.local(p));
    const locals = [...assignedLocals(f.body)].filter((l) => !f.params.includes(l));
    const declared = locals.map((l) => `${this.#names.local(l)} = ${ZERO[l.dtype]}`);
    const lines = [
      `function ${this.#names.func(f)}(${[...buffers, ...params].join(", ")}) {`,
      ...(entry ? ["  fault = 0;", ...bools.map((p) => `  ${p} = ${p} !== 0;`)] : []),
      ...(declared.length ? [`  let ${declared.join(", ")};`] : []),
      ...this.#body(f.body, "  "),
      ...(entry ? ["  return fault;"] : []),
      "}",
    ];
    return lines.join("\n");
  }

  /** The arrays that a function is given: its own parameters, and for a launched one those of its caller that it uses. */
  #handedOver(f: Func): Buffer[] {
    return [...new Set([...f.buffers, ...[...usedBuffers(f.body)].filter((b) => b.space === "param")])];
  }

  #body(body: readonly Stmt[], indent: string): string[] {
    return body.flatMap((s) => this.#stmt(s, indent));
  }

  #stmt(s: Stmt, indent: string): string[] {
    const text = (e: Parameters<typeof expressionText>[0]): string => expressionText(e, this.#names);
    const nested = (body: readonly Stmt[]): string[] => this.#body(body, `${indent}  `);
    switch (s.kind) {
      case "assign":
        return [`${indent}${this.#names.local(s.local)} = ${text(s.value)};`];
      case "recur":
      case "pack":
        throw new IrError(`${s.kind} reached the js target`);
      case "store":
        return [`${indent}${this.#names.buffer(s.buffer)}[${text(s.index)}] = ${text(s.value)};`];
      case "if": {
        const otherwise = s.else.length ? [`${indent}} else {`, ...nested(s.else)] : [];
        return [`${indent}if (${text(s.condition)}) {`, ...nested(s.then), ...otherwise, `${indent}}`];
      }
      case "for":
        return this.#for(s, indent);
      case "loop":
        return [`${indent}${this.#names.label(s.label)}: for (;;) {`, ...nested(s.body), `${indent}}`];
      case "block":
        return [`${indent}${this.#names.label(s.label)}: {`, ...nested(s.body), `${indent}}`];
      case "exit":
        return [`${indent}break ${this.#names.label(s.label)};`];
      case "fault":
        return [`${indent}if (${text(s.condition)} && fault === 0) fault = ${s.site};`];
      case "call": {
        const args = [...s.buffers.map((b) => this.#names.buffer(b)), ...s.args.map(text)];
        return [`${indent}${this.#names.func(s.func)}(${args.join(", ")});`];
      }
      case "launch": {
        const buffers = this.#handedOver(s.func).map((b) => this.#names.buffer(b));
        const args = [...buffers, ...s.args.map(text), "0", text(s.count)];
        return [`${indent}${this.#names.func(s.func)}(${args.join(", ")});`];
      }
      default:
        return s satisfies never;
    }
  }

  #for(s: For, indent: string): string[] {
    const index = this.#names.local(s.index);
    const end = `${index}$end`;
    const head = `${index} = ${expressionText(s.begin, this.#names)}`;
    const last = expressionText(s.end, this.#names);
    const test = `${index} ${s.step > 0 ? "<" : ">"} ${end}`;
    // A step of one stays below an i32 end; a longer one may pass beyond the last i32, which ends the loop.
    const next = Math.abs(s.step) === 1 ? `${index} = (${index} + ${s.step}) | 0` : `${index} += ${s.step}`;
    const label = `${this.#names.label(s.label)}: `;
    const body = this.#body(s.body, `${indent}    `);
    return [
      `${indent}{`,
      `${indent}  const ${end} = ${last};`,
      `${indent}  ${label}for (${head}; ${test}; ${next}) {`,
      ...body,
      `${indent}  }`,
      `${indent}}`,
    ];
  }
}

const RESERVED = [
  ...["fround", "abs", "sqrt", "floor", "ceil", "trunc", "clz32", "imul", "min", "max", "fault", "helpers", "inArena"],
  ...[
    "F32",
    "I32",
    "F64",
    "W64",
    "LOW",
    "HIGH",
    "fromWords",
    "NaN",
    "Infinity",
    "Math",
    "undefined",
    "arguments",
    "eval",
  ],
  ...["break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else", "enum"],
  ...["export", "extends", "false", "finally", "for", "function", "if", "import", "in", "instanceof", "let", "new"],
  ...["null", "return", "static", "super", "switch", "this", "throw", "true", "try", "typeof", "var", "void", "while"],
  ...["with", "yield", "await", "async", "package", "private", "protected", "public", "interface", "implements", "of"],
  ...Object.keys(HELPERS),
];

/** A compiled program: its text, and where in the arena the arrays lie that it asks for, in their order. */
interface Image {
  readonly text: string;
  readonly views: readonly { readonly storage: StorageType; readonly offset: number; readonly length: number }[];
}

function imageOf({ module, arena }: Lowered): Image {
  const code = new ModuleText(pairIterations(module));
  const text = code.text();
  const views = code.arena.map((b) => {
    return { storage: b.storage, offset: arena.offsets.get(b) as number, length: b.length as number };
  });
  return { text, views };
}

class JsExecutable implements Executable {
  readonly scratchBytes = 0;
  readonly image: Image;
  readonly #memory: WebAssembly.Memory;
  constructor(image: Image, memory: WebAssembly.Memory) {
    this.image = image;
    this.#memory = memory;
  }

  instantiate(arena: number): Entry {
    const inArena = (_name: string, k: number): ArrayBufferView => {
      const { storage, offset, length } = this.image.views[k] as Image["views"][number];
      return viewArray(storage, this.#memory.buffer, arena + offset, length);
    };
    const make = new Function("helpers", "inArena", this.image.text) as (
      helpers: typeof HELPERS,
      inArena: (name: string, k: number) => ArrayBufferView,
    ) => (...args: (ArrayBufferView | number)[]) => number;
    return { convention: "arrays", call: make(HELPERS, inArena) };
  }

  source(): string {
    return this.image.text;
  }
}

/** Texts of large programs, found by what they were made from. */
class KeptTexts implements KeptPrograms {
  readonly #plans: PlanStore<Image>;
  readonly #memory: WebAssembly.Memory;
  constructor({ notes, version }: NotesOfVersion, memory: WebAssembly.Memory) {
    this.#plans = new PlanStore(notes, [version]);
    this.#memory = memory;
  }

  find(origin: Origin): Prepared | undefined {
    const plan = isLarge(origin) ? this.#plans.find(origin) : undefined;
    if (!plan) return undefined;
    const { arena, sites, code } = plan;
    return { executable: new JsExecutable(code, this.#memory), arena, sites };
  }

  keep(origin: Origin, { executable, arena, sites }: Prepared): void {
    if (!(executable instanceof JsExecutable) || !isLarge(origin)) return;
    this.#plans.keep(origin, { arena, sites, code: executable.image });
  }
}

/** `kept` says where programs are kept between processes. */
export function createJsTarget(memory: WebAssembly.Memory, kept?: NotesOfVersion): Target {
  return {
    name: "js",
    machine: { vectorBytes: 0, vectorRegisters: 0, fastFma: false, launches: true },
    compile: (lowered) => new JsExecutable(imageOf(lowered), memory),
    kept: kept && new KeptTexts(kept, memory),
  };
}
