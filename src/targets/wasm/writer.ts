/**
 * @file The binary writer: LEB128 numbers, sections, and function bodies from trees of code.
 *
 * A module of lockstep imports one memory and perhaps functions and constant i32 globals, has functions, and exports
 * some of them: no tables, no data, no start function, so only five kinds of section are ever written.
 */
import { IrError } from "../../ir/build.ts";
import type { FunctionRef, Node, Target } from "./code.ts";
import { OPCODES, type Opcode, type ValueType } from "./opcodes.ts";

export interface FunctionCode {
  readonly ref: FunctionRef;
  /** Under which name JavaScript sees it. */
  readonly exported: string | undefined;
  /** Types of the locals after the parameters. */
  readonly locals: readonly ValueType[];
  /** What parameters and locals were called, any letters, several times the same; for the printed form. */
  readonly names: readonly string[];
  readonly body: readonly Node[];
}
export interface ModuleCode {
  readonly sharedMemory: boolean;
  /** Functions of the program's other module. */
  readonly imports: readonly FunctionRef[];
  /** Imported constants, reached by their place in this list. */
  readonly globals: readonly string[];
  readonly functions: readonly FunctionCode[];
}

const TYPE_CODES: { readonly [T in ValueType]: number } = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b };
/** No engine allows more pages in a 32-bit memory. */
export const MAX_PAGES = 65536;
const EMPTY_BLOCK = 0x40;
const END = 0x0b;
const SECTION = { type: 1, import: 2, function: 3, export: 7, code: 10 } as const;
const EXTERNAL = { function: 0, memory: 2, global: 3 } as const;

const numbers = new DataView(new ArrayBuffer(8));
const [floatBytes, doubleBytes] = [4, 8].map((size) => new Uint8Array(numbers.buffer, 0, size)) as [
  Uint8Array,
  Uint8Array,
];
const encoder = new TextEncoder();

export class ByteWriter {
  #bytes = new Uint8Array(256);
  #length = 0;

  byte(value: number): void {
    if (this.#length === this.#bytes.length) this.#grow(this.#length + 1);
    this.#bytes[this.#length++] = value;
  }
  raw(bytes: Uint8Array): void {
    if (this.#length + bytes.length > this.#bytes.length) this.#grow(this.#length + bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }
  #grow(needed: number): void {
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }

  /** A number below 2^53 in unsigned LEB128. */
  unsigned(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.byte((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.byte(rest);
  }
  signed(value: number): void {
    let rest = value | 0;
    for (;;) {
      const low = rest & 0x7f;
      rest >>= 7;
      if ((rest === 0 && !(low & 0x40)) || (rest === -1 && low & 0x40)) return this.byte(low);
      this.byte(low | 0x80);
    }
  }
  signed64(value: bigint): void {
    let rest = BigInt.asIntN(64, value);
    for (;;) {
      const low = Number(rest & 0x7fn);
      rest >>= 7n;
      if ((rest === 0n && !(low & 0x40)) || (rest === -1n && low & 0x40)) return this.byte(low);
      this.byte(low | 0x80);
    }
  }
  f32(value: number): void {
    numbers.setFloat32(0, value, true);
    this.raw(floatBytes);
  }
  f64(value: number): void {
    numbers.setFloat64(0, value, true);
    this.raw(doubleBytes);
  }
  name(text: string): void {
    const bytes = encoder.encode(text);
    this.unsigned(bytes.length);
    this.raw(bytes);
  }
  /** What `write` writes, with its length before it. */
  sized(write: (inner: ByteWriter) => void): void {
    const inner = new ByteWriter();
    write(inner);
    const bytes = inner.finish();
    this.unsigned(bytes.length);
    this.raw(bytes);
  }
  list<T>(items: readonly T[], write: (item: T, index: number) => void): void {
    this.unsigned(items.length);
    items.forEach(write);
  }
  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** Writes the code of one function. */
class BodyWriter {
  readonly #out: ByteWriter;
  readonly #numbers: ReadonlyMap<FunctionRef, number>;
  /** Enclosing labels, innermost last; `if` takes a place without a name. */
  readonly #targets: (Target | undefined)[] = [];

  constructor(out: ByteWriter, numbers: ReadonlyMap<FunctionRef, number>) {
    this.#out = out;
    this.#numbers = numbers;
  }

  nodes(nodes: readonly Node[]): void {
    for (let k = 0; k < nodes.length; k++) this.#node(nodes[k] as Node);
  }

  #node(node: Node): void {
    const out = this.#out;
    switch (node.kind) {
      case "op":
        this.nodes(node.args);
        return this.#instruction(OPCODES[node.op], node.immediates);
      case "get":
        out.byte(0x20);
        return out.unsigned(node.index);
      case "set":
        return this.#set(node.index, node.value);
      case "global":
        out.byte(0x23);
        return out.unsigned(node.index);
      case "call":
        this.nodes(node.args);
        out.byte(0x10);
        return out.unsigned(this.#numbers.get(node.callee) as number);
      case "block":
      case "loop":
        out.byte(node.kind === "block" ? 0x02 : 0x03);
        out.byte(EMPTY_BLOCK);
        return this.#nested(node.target, node.body, []);
      case "if":
        this.#node(node.condition);
        out.byte(0x04);
        out.byte(node.result ? TYPE_CODES[node.result] : EMPTY_BLOCK);
        return this.#nested(undefined, node.then, node.else);
      case "branch":
        if (node.condition) this.#node(node.condition);
        out.byte(node.condition ? 0x0d : 0x0c);
        return out.unsigned(this.#depth(node.target));
      default:
        node satisfies never;
    }
  }

  #set(index: number, value: Node | undefined): void {
    if (value) this.#node(value);
    this.#out.byte(0x21);
    this.#out.unsigned(index);
  }

  #nested(at: Target | undefined, then: readonly Node[], otherwise: readonly Node[]): void {
    this.#targets.push(at);
    this.nodes(then);
    if (otherwise.length) {
      this.#out.byte(0x05);
      this.nodes(otherwise);
    }
    this.#targets.pop();
    this.#out.byte(END);
  }

  #depth(to: Target): number {
    const at = this.#targets.lastIndexOf(to);
    if (at < 0) throw new IrError(`jump to ${to.name}, which does not enclose it`);
    return this.#targets.length - 1 - at;
  }

  #instruction(opcode: Opcode, immediates: readonly (number | bigint)[]): void {
    const out = this.#out;
    const prefix = opcode.code >>> 16;
    if (prefix) {
      out.byte(prefix);
      out.unsigned(opcode.code & 0xffff);
    } else {
      out.byte(opcode.code);
    }
    const first = immediates[0] ?? 0;
    switch (opcode.immediate) {
      case "none":
        return;
      case "memory":
      case "memoryLane":
        out.unsigned(opcode.align);
        out.unsigned(Number(first));
        if (opcode.immediate === "memoryLane") out.byte(Number(immediates[1] ?? 0));
        return;
      case "lane":
        return out.byte(Number(first));
      case "bytes":
        for (const b of immediates) out.byte(Number(b));
        return;
      case "i32":
        return out.signed(Number(first));
      case "i64":
        return out.signed64(BigInt(first));
      case "f32":
        return out.f32(Number(first));
      case "f64":
        return out.f64(Number(first));
      case "fill":
        return out.byte(0);
      default:
        opcode.immediate satisfies never;
    }
  }
}

const typeKey = (f: FunctionRef): string => `${f.params.join(",")}>${f.result ?? ""}`;

/** Runs of equal types, as the format wants them. */
function runs(types: readonly ValueType[]): { type: ValueType; count: number }[] {
  const found: { type: ValueType; count: number }[] = [];
  for (const type of types) {
    const last = found.at(-1);
    if (last?.type === type) last.count += 1;
    else found.push({ type, count: 1 });
  }
  return found;
}

/** The module name under which functions are imported. */
export const FUNCTION_IMPORTS = "joined";

function writeImports(out: ByteWriter, module: ModuleCode, typeNumber: (f: FunctionRef) => number): void {
  out.unsigned(1 + module.globals.length + module.imports.length);
  for (const f of module.imports) {
    out.name(FUNCTION_IMPORTS);
    out.name(f.name);
    out.byte(EXTERNAL.function);
    out.unsigned(typeNumber(f));
  }
  out.name("env");
  out.name("memory");
  out.byte(EXTERNAL.memory);
  out.byte(module.sharedMemory ? 3 : 0);
  out.unsigned(0);
  if (module.sharedMemory) out.unsigned(MAX_PAGES);
  for (const name of module.globals) {
    out.name("env");
    out.name(name);
    out.byte(EXTERNAL.global);
    out.byte(TYPE_CODES.i32);
    out.byte(0);
  }
}

function writeCode(out: ByteWriter, module: ModuleCode): void {
  const refs = [...module.imports, ...module.functions.map((f) => f.ref)];
  const numbers = new Map(refs.map((f, k) => [f, k]));
  out.list(module.functions, (f) => {
    out.sized((inner) => {
      inner.list(runs(f.locals), ({ type, count }) => {
        inner.unsigned(count);
        inner.byte(TYPE_CODES[type]);
      });
      new BodyWriter(inner, numbers).nodes(f.body);
      inner.byte(END);
    });
  });
}

/** The bytes of a module. */
export function encodeModule(module: ModuleCode): Uint8Array<ArrayBuffer> {
  const out = new ByteWriter();
  out.raw(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
  const section = (id: number, write: (inner: ByteWriter) => void): void => {
    out.byte(id);
    out.sized(write);
  };
  const refs = [...module.imports, ...module.functions.map((f) => f.ref)];
  const types = new Map(refs.map((f) => [typeKey(f), f]));
  const typeNumbers = new Map([...types.keys()].map((key, k) => [key, k]));
  const typeNumber = (f: FunctionRef): number => typeNumbers.get(typeKey(f)) as number;
  section(SECTION.type, (s) =>
    s.list([...types.values()], (f) => {
      s.byte(0x60);
      s.list(f.params, (type) => s.byte(TYPE_CODES[type]));
      s.list(f.result ? [f.result] : [], (type) => s.byte(TYPE_CODES[type]));
    }),
  );
  section(SECTION.import, (s) => writeImports(s, module, typeNumber));
  section(SECTION.function, (s) => s.list(module.functions, (f) => s.unsigned(typeNumber(f.ref))));
  const exported = module.functions.flatMap((f, number) => (f.exported ? [{ name: f.exported, number }] : []));
  section(SECTION.export, (s) =>
    s.list(exported, ({ name, number }) => {
      s.name(name);
      s.byte(EXTERNAL.function);
      s.unsigned(module.imports.length + number);
    }),
  );
  section(SECTION.code, (s) => writeCode(s, module));
  return out.finish().slice() as Uint8Array<ArrayBuffer>;
}
