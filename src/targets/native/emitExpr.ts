/**
 * @file Expressions as C: a scalar is one piece of text, a vector one for each of its parts.
 *
 * The text has no side effects. What must not be computed twice (subscripts used by several parts or lanes, very
 * long expressions) is bound to a constant in front of the statement being written.
 */
import { assertIr } from "../../ir/build.ts";
import type { Binary, Buffer, Const, Expr, Load, Local, Store } from "../../ir/nodes.ts";
import type { BinaryOp, Conversion } from "../../ir/types.ts";
import { literal } from "./literals.ts";
import { loadBytesHelper, loadPart } from "./memory.ts";
import type { Names } from "./names.ts";
import {
  anyHelper,
  cType,
  type Element,
  HELD,
  maskConvertHelper,
  maskElement,
  type Prelude,
  selectHelper,
  shuffleHelper,
  splatHelper,
} from "./prelude.ts";
import { fmaScalar, type Operand, SCALAR_BINARY, SCALAR_CONVERT, SCALAR_UNARY } from "./scalarOps.ts";
import { isByteTest, type MaskBytes, type Shapes } from "./shapes.ts";
import { VECTOR_CONVERT } from "./vectorConvert.ts";
import { fmaVector, oneSided, VECTOR_BINARY, VECTOR_UNARY } from "./vectorOps.ts";

/** Longer expressions are cut: compilers limit nesting, and people limit reading. */
const LONGEST = 800;

/** What a function's expressions need to know of it. */
export interface Scope {
  readonly prelude: Prelude;
  readonly shapes: Shapes;
  readonly names: Names;
  /** Writes a line in front of the current statement. */
  readonly line: (text: string) => void;
  /** The C variables of a local, one for each part. */
  readonly local: (l: Local) => readonly string[];
  /** The 64-bit counter of a loop whose index this is, where one runs. */
  readonly counter: (l: Local) => string | undefined;
  /** The C name of a buffer, and the text of its length. */
  readonly buffer: (b: Buffer) => string;
  readonly length: (b: Buffer) => string;
}

/** Text that is cheap and safe to repeat. */
const isSimple = (text: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$|^[0-9]+u?$/.test(text);

export class Expressions {
  readonly #scope: Scope;
  constructor(scope: Scope) {
    this.#scope = scope;
  }

  /** A scalar expression. */
  scalar(e: Expr): string {
    const text = this.#scalar(e);
    return text.length > LONGEST ? this.bind("t", cType(HELD[e.dtype]), text) : text;
  }

  /** The parts of an expression; bool vectors have their natural mask width. */
  value(e: Expr): readonly string[] {
    if (e.lanes === 1) return [this.scalar(e)];
    const parts = this.#vector(e);
    if (!parts.some((text) => text.length > LONGEST)) return parts;
    const type = this.typeOf(e);
    return parts.map((text) => this.bind("t", type, text));
  }

  /** The C type of an expression or of one of its parts. */
  typeOf(e: Expr): string {
    const { prelude, shapes } = this.#scope;
    if (e.lanes === 1) return cType(HELD[e.dtype]);
    const element = e.dtype === "bool" ? maskElement(shapes.maskBytes(e)) : HELD[e.dtype];
    return prelude.type(element, shapes.partLanes(e.lanes));
  }

  /** A bool vector as masks of the given width. */
  mask(e: Expr, bytes: MaskBytes): readonly string[] {
    const { prelude, shapes } = this.#scope;
    const n = shapes.partLanes(e.lanes);
    if (e.kind === "const")
      return this.#repeat(e.lanes, `${splatHelper(prelude, maskElement(bytes), n)}(${e.value ? -1 : 0})`);
    const natural = shapes.maskBytes(e);
    const parts = this.value(e);
    if (natural === bytes) return parts;
    const convert = maskConvertHelper(prelude, bytes, n);
    return parts.map((x) => `${convert}(${x})`);
  }

  /** Whether a bool holds, in any lane, as a C condition. */
  condition(e: Expr): string {
    if (e.lanes === 1) return this.scalar(e);
    const { prelude, shapes } = this.#scope;
    const parts = this.value(e);
    return `${anyHelper(prelude, shapes.maskBytes(e), shapes.partLanes(e.lanes))}(${parts.join(" | ")})`;
  }

  /** Computes something once, in front of the current statement. */
  bind(hint: string, type: string, text: string): string {
    if (isSimple(text)) return text;
    const name = this.#scope.names.fresh(hint);
    this.#scope.line(`${type.endsWith("*") ? `${type}const` : `const ${type}`} ${name} = ${text};`);
    return name;
  }

  #scalar(e: Expr): string {
    const { prelude, local, length } = this.#scope;
    switch (e.kind) {
      case "const":
        return literal(e.dtype, e.value);
      case "get":
        return local(e.local)[0] as string;
      case "length":
        return length(e.buffer);
      case "unary":
        return SCALAR_UNARY[e.op](prelude, e.x.dtype, this.scalar(e.x));
      case "binary":
        return SCALAR_BINARY[e.op](prelude, e.a.dtype, this.#operand(e.a), this.#operand(e.b));
      case "select":
        return `(${this.scalar(e.condition)} ? ${this.scalar(e.a)} : ${this.scalar(e.b)})`;
      case "fma":
        return fmaScalar(prelude, this.scalar(e.a), this.scalar(e.b), this.scalar(e.c));
      case "convert":
        return SCALAR_CONVERT[`${e.x.dtype}-${e.dtype}` as Conversion](prelude, this.scalar(e.x));
      case "load":
        return `${this.#scope.buffer(e.buffer)}[${this.subscript(e.index)}]`;
      case "any":
        return this.condition(e.x);
      case "lane": {
        const n = this.#scope.shapes.partLanes(e.x.lanes);
        return `${this.value(e.x)[Math.floor(e.at / n)]}[${e.at % n}]`;
      }
      case "splat":
      case "shuffle":
      case "iota":
        return assertNever(e.kind);
      default:
        return e satisfies never;
    }
  }

  #operand(e: Expr): Operand {
    return { text: this.scalar(e), value: constantOf(e) };
  }

  #repeat(lanes: number, text: string): readonly string[] {
    return new Array<string>(this.#scope.shapes.parts(lanes)).fill(text);
  }

  #vector(e: Expr): readonly string[] {
    const { prelude, shapes, local } = this.#scope;
    const n = shapes.partLanes(e.lanes);
    switch (e.kind) {
      case "const":
        if (e.dtype === "bool") return this.mask(e, 4);
        return this.#repeat(e.lanes, `${splatHelper(prelude, HELD[e.dtype], n)}(${literal(e.dtype, e.value)})`);
      case "get":
        return local(e.local);
      case "unary":
        return this.value(e.x).map((x) => VECTOR_UNARY[e.op](prelude, e.x.dtype, n, x));
      case "binary":
        return this.#binary(e, n);
      case "select":
        return this.#select(e, n);
      case "fma": {
        const [a, b, c] = [this.value(e.a), this.value(e.b), this.value(e.c)];
        return a.map((x, k) => fmaVector(prelude, n, x, b[k] as string, c[k] as string));
      }
      case "convert": {
        const parts = e.x.dtype === "bool" ? this.mask(e.x, e.dtype === "f64" ? 8 : 4) : this.value(e.x);
        return parts.map((x) => VECTOR_CONVERT[`${e.x.dtype}-${e.dtype}` as Conversion](prelude, n, x));
      }
      case "load":
        return this.#load(e, n);
      case "splat":
        return this.#splat(e, n);
      case "iota":
        return this.#repeat(e.lanes, "").map((_, k) => iotaPart(prelude.type("i32", n), n, k));
      case "shuffle":
        return this.#shuffle(e, n);
      case "length":
      case "any":
      case "lane":
        return [assertNever(e.kind)];
      default:
        return e satisfies never;
    }
  }

  #binary(e: Expr & { kind: "binary" }, n: number): readonly string[] {
    const bytes = this.#scope.shapes.maskBytes(e);
    if (bytes === 8 && e.dtype === "bool" && isByteTest(e)) return this.#byteTest(e, n);
    const side = (x: Expr): readonly string[] => (x.dtype === "bool" ? this.mask(x, bytes) : this.value(x));
    const [a, b] = [side(e.a), side(e.b)];
    const [valueA, valueB] = [constantOf(e.a), constantOf(e.b)];
    return a.map((text, k) => {
      const right = { text: b[k] as string, value: valueB };
      return VECTOR_BINARY[e.op](this.#scope.prelude, e.a.dtype, n, { text, value: valueA }, right);
    });
  }

  /** Bytes compared with a number, in lanes of 8 bytes. */
  #byteTest(e: Binary & { a: Load; b: Const }, n: number): readonly string[] {
    const { prelude } = this.#scope;
    const number = `${splatHelper(prelude, "i64", n)}(${e.b.value})`;
    const widened = loadBytesHelper(prelude, n, "i64");
    const at = this.contiguous(e.a.buffer, e.a.index, e.lanes);
    return at.map((address) => `((${prelude.type("i64", n)})(${widened}(${address}) ${COMPARED[e.op]} ${number}))`);
  }

  #select(e: Expr & { kind: "select" }, n: number): readonly string[] {
    const { prelude, shapes } = this.#scope;
    const bytes = e.dtype === "bool" ? shapes.maskBytes(e) : e.dtype === "f64" ? 8 : 4;
    const element: Element = e.dtype === "bool" ? maskElement(bytes) : HELD[e.dtype];
    const side = (x: Expr): readonly string[] => (x.dtype === "bool" ? this.mask(x, bytes) : this.value(x));
    const extreme = oneSidedSelect(e);
    if (extreme) {
      const [first, second] = [this.value(extreme.a), this.value(extreme.b)];
      const helper = oneSided(prelude, extreme.less, extreme.dtype, n);
      return first.map((a, k) => `${helper}(${a}, ${second[k]})`);
    }
    const choose = selectHelper(prelude, element, n);
    const [m, a, b] = [this.mask(e.condition, bytes), side(e.a), side(e.b)];
    return m.map((mask, k) => `${choose}(${mask}, ${a[k]}, ${b[k]})`);
  }

  #splat(e: Expr & { kind: "splat" }, n: number): readonly string[] {
    const element = HELD[e.dtype];
    const text = e.dtype === "bool" ? `-${this.scalar(e.x)}` : this.scalar(e.x);
    const part = `${splatHelper(this.#scope.prelude, element, n)}(${text})`;
    const parts = this.#scope.shapes.parts(e.lanes);
    if (parts === 1) return [part];
    return this.#repeat(e.lanes, this.bind("s", this.#scope.prelude.type(element, n), part));
  }

  /** Each part out of the one or two parts that hold its lanes, or lane by lane out of more. */
  #shuffle(e: Expr & { kind: "shuffle" }, n: number): readonly string[] {
    const { prelude, shapes } = this.#scope;
    const of = shapes.partLanes(e.a.lanes);
    const type = this.typeOf(e.a);
    const bound = (x: Expr): string[] => this.value(x).map((part) => this.bind("v", type, part));
    const first = bound(e.a);
    const parts = [...first, ...(e.b === e.a ? first : bound(e.b))];
    return Array.from({ length: shapes.parts(e.lanes) }, (_, k) => {
      const wanted = e.order.slice(k * n, (k + 1) * n).map((l) => ({ part: parts[Math.floor(l / of)], lane: l % of }));
      const [a, b, ...more] = [...new Set(wanted.map((w) => w.part))];
      if (b === undefined && n === of && wanted.every((w, l) => w.lane === l)) return a as string;
      const result = prelude.type(HELD[e.dtype], n);
      if (more.length && n !== of) return `(${result}){${wanted.map((w) => `${w.part}[${w.lane}]`).join(", ")}}`;
      const order = wanted.map((w) => w.lane + (w.part === b ? of : 0));
      const start = `${shuffleHelper(prelude, HELD[e.dtype], of, order)}(${a}, ${b ?? a})`;
      return more.reduce((made, part) => {
        const mixed = wanted.map((w, l) => (w.part === part ? of + w.lane : l));
        return `${shuffleHelper(prelude, HELD[e.dtype], of, mixed)}(${made}, ${part})`;
      }, start);
    });
  }

  /**
   * A subscript. It is in range, so never negative: zero extension is free where sign extension is not. The counter
   * of a loop is as wide as an address already.
   */
  subscript(index: Expr): string {
    const counter = index.kind === "get" ? this.#scope.counter(index.local) : undefined;
    if (counter) return counter;
    const text = this.scalar(index);
    return index.kind === "const" ? text : `(unsigned)${text}`;
  }

  /** The address of element `index`, for accesses of several elements from there on. */
  #address(b: Buffer, index: Expr, times: number): string {
    const text = `${this.#scope.buffer(b)} + ${this.subscript(index)}`;
    return times === 1 ? `(${text})` : this.bind("at", `${cType(b.storage)} *`, text);
  }

  #load(e: Load, n: number): readonly string[] {
    const { prelude, shapes } = this.#scope;
    const parts = shapes.parts(e.lanes);
    if (isContiguous(e)) {
      const at = this.contiguous(e.buffer, e.index, e.lanes);
      return at.map((address) => loadPart(prelude, e.buffer, n, address));
    }
    const element = HELD[e.dtype];
    const lanes = this.laneAddresses(e, e.lanes);
    const type = prelude.type(element, n);
    return Array.from({ length: parts }, (_, k) => `(${type}){${lanes.slice(k * n, k * n + n).join(", ")}}`);
  }

  /** The addresses of the parts of a contiguous access, or of the same element of all lanes of a local buffer. */
  contiguous(b: Buffer, index: Expr, lanes: number): readonly string[] {
    const { shapes, buffer } = this.#scope;
    const parts = shapes.parts(lanes);
    const n = shapes.partLanes(lanes);
    if (b.lanes === 1) {
      const at = this.#address(b, index, parts);
      return Array.from({ length: parts }, (_, k) => (k === 0 ? at : `(${at} + ${k * n})`));
    }
    const first = this.bind("at", "unsigned", `(${this.subscript(index)} * ${b.lanes}u)`);
    return Array.from({ length: parts }, (_, k) => `(${buffer(b)} + ${first}${k === 0 ? "" : ` + ${k * n}`})`);
  }

  /** Each lane's element as an lvalue, for strided and gathered accesses. */
  laneAddresses(access: Load | Store, lanes: number): readonly string[] {
    const { buffer } = this.#scope;
    const b = access.buffer;
    if (access.stride && b.lanes === 1) {
      const at = this.#address(b, access.index, lanes);
      const stride = this.#stride(access.stride);
      return Array.from({ length: lanes }, (_, l) => (l === 0 ? `*${at}` : `${at}[${stride(l)}]`));
    }
    // A constant is added behind: accesses to neighbouring elements then take the same lanes apart.
    const [index, constant] = apart(access.index);
    const type = this.typeOf(index);
    const bound = this.value(index).map((x) => this.bind("at", type, x));
    const n = lanes / bound.length;
    const behind = constant === 0 ? "" : ` + ${constant >>> 0}u`;
    return Array.from({ length: lanes }, (_, l) => {
      const lane = `(unsigned)${bound[Math.floor(l / n)]}[${l % n}]`;
      const element = behind ? `(${lane}${behind})` : lane;
      return `${buffer(b)}[${b.lanes === 1 ? element : `${element} * ${b.lanes}u + ${l}`}]`;
    });
  }

  /** How far lane l is away from lane 0, in 64 bits. */
  #stride(stride: Expr): (l: number) => string {
    if (stride.kind === "const") return (l) => `${l * stride.value}`;
    const bound = this.bind("stride", "long long", this.scalar(stride));
    return (l) => `${l} * ${bound}`;
  }
}

/** A subscript as something and a constant that is added to it. */
function apart(index: Expr): [Expr, number] {
  if (index.kind !== "binary" || index.op !== "add" || index.b.kind !== "const") return [index, 0];
  return [index.a, index.b.value];
}

/** One address serves all lanes: stride 1, or an element that each lane has its own copy of, side by side. */
export function isContiguous(access: Load | Store): boolean {
  if (access.buffer.lanes > 1) return access.index.lanes === 1;
  return access.stride?.kind === "const" && access.stride.value === 1;
}

const COMPARED: { readonly [O in BinaryOp]?: string } = { eq: "==", ne: "!=", lt: "<", le: "<=", gt: ">", ge: ">=" };

function iotaPart(type: string, n: number, part: number): string {
  return `(${type}){${Array.from({ length: n }, (_, l) => part * n + l).join(", ")}}`;
}

/** `a < b ? a : b` and its kin, which is one instruction: as a > b ? a : b for the larger. */
function oneSidedSelect(
  e: Expr & { kind: "select" },
): { less: "<" | ">"; dtype: "f32" | "f64" | "i32" | "u32"; a: Expr; b: Expr } | undefined {
  const c = e.condition;
  if (e.dtype === "bool" || c.kind !== "binary" || (c.op !== "lt" && c.op !== "gt")) return undefined;
  const less = c.op === "lt" ? "<" : ">";
  if (isSame(c.a, e.a) && isSame(c.b, e.b)) return { less, dtype: e.dtype, a: e.a, b: e.b };
  // a < b ? b : a is b > a ? b : a.
  if (isSame(c.a, e.b) && isSame(c.b, e.a)) return { less: less === "<" ? ">" : "<", dtype: e.dtype, a: e.a, b: e.b };
  return undefined;
}

/** The same value, where that is plain to see. */
function isSame(a: Expr, b: Expr): boolean {
  if (a.kind === "splat" && b.kind === "splat") return isSame(a.x, b.x);
  if (a.kind === "get" && b.kind === "get") return a.local === b.local;
  return a.kind === "const" && b.kind === "const" && a.dtype === b.dtype && Object.is(a.value, b.value);
}

/** The value of a constant, splatted or not. */
function constantOf(e: Expr): number | undefined {
  if (e.kind === "const") return e.value;
  return e.kind === "splat" ? constantOf(e.x) : undefined;
}

function assertNever(kind: string): string {
  assertIr(false, () => `${kind} with the wrong number of lanes`);
  return "";
}
