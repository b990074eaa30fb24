/**
 * @file A declaration as a flat list: which buffers and scalars the compiled function takes, in which order.
 *
 * Arrays of arrays and arrays of structs lie in memory as plain arrays: row after row, and one array per field. The
 * runtime fills these from a call's argument; the compiler makes the entry function's parameters of them.
 */
import {
  type ArrayOf,
  type Constant,
  type Declaration,
  type Inline,
  KERNEL_SPEC,
  type Row,
  type Scalar,
  type ScalarName,
  type Struct,
} from "./declare.ts";
import { Refusal } from "./errors.ts";

/** One buffer or scalar of the compiled function. */
export interface Leaf {
  readonly kind: "buffer" | "scalar";
  /** Where it is found in a call's argument. */
  readonly path: readonly string[];
  /** The path with dots: the name in listings. */
  readonly name: string;
  readonly dtype: ScalarName;
  /** The number of elements a buffer must have, where that is declared. */
  readonly length: number | undefined;
  /** A buffer's length is a multiple of this: elements of one row, or of a struct's array field. */
  readonly each: number;
  /** Fields of one array of structs share this name and agree in length / each. */
  readonly group: string | undefined;
}

type Tagged = Scalar | ArrayOf | Struct | Constant | Inline;
const KINDS: ReadonlySet<unknown> = new Set<Tagged["kind"]>(["scalar", "array", "struct", "constant", "inline"]);

/** What a value of a declaration is; plain records are declarations again. */
export function declaredKind(value: unknown): Tagged["kind"] | "kernel" | "record" | undefined {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  if (KERNEL_SPEC in value) return "kernel";
  if (typeof value === "function" || Array.isArray(value) || ArrayBuffer.isView(value)) return undefined;
  if ("kind" in value && typeof value.kind === "string") {
    return KINDS.has(value.kind) ? (value.kind as Tagged["kind"]) : undefined;
  }
  return "record";
}

function wrong(path: readonly string[], problem: string, advice: string): never {
  throw new Refusal({ problem: `the declaration of \`${path.join(".")}\` ${problem}`, advice }, undefined);
}
const EXPECTED =
  "declare it as f32, f64, i32, u32, u8 or bool, as an array of one (`f32.array()`), a struct, a record of these, a constant(), an inline() helper or a kernel";

function checkLength(path: readonly string[], length: number | undefined): void {
  if (length !== undefined && !(Number.isInteger(length) && length > 0))
    wrong(path, `has the length ${length}`, "give a whole number from 1 on, or none for arrays of any length");
}

function scalarLeaf(path: readonly string[], dtype: ScalarName): Leaf {
  return { kind: "scalar", path, name: path.join("."), dtype, length: undefined, each: 1, group: undefined };
}
function bufferLeaf(path: readonly string[], dtype: ScalarName, count: number | undefined, each: number): Leaf {
  const length = count === undefined ? undefined : count * each;
  return { kind: "buffer", path, name: path.join("."), dtype, length, each, group: undefined };
}

/** How many arrays lie in each other, from the outermost row in, and of what. */
export function rowWidths(path: readonly string[], element: Scalar | Row | Struct): [number[], Scalar | Struct] {
  if (element.kind !== "row") return [[], element];
  if (!(Number.isInteger(element.length) && element.length > 0))
    wrong(path, "is an array of arrays of unknown length", "give the inner one a length: `f32.array(4).array()`");
  const [inner, scalar] = rowWidths(path, element.element as Scalar | Row | Struct);
  if (scalar.kind === "struct")
    wrong(path, "is an array of arrays of structs", "use one array of structs, and row * width + column");
  return [[element.length, ...inner], scalar];
}

function arrayLeaves(path: readonly string[], declared: ArrayOf): Leaf[] {
  checkLength(path, declared.length);
  const [widths, element] = rowWidths(path, declared.element);
  if (element.kind === "scalar") {
    const each = widths.reduce((product, w) => product * w, 1);
    return [bufferLeaf(path, element.dtype, declared.length, each)];
  }
  const group = path.join(".");
  return fieldLeaves(path, element.fields, declared.length).map((leaf) => ({ ...leaf, group }));
}

/** The columns of an array of structs. */
function fieldLeaves(path: readonly string[], fields: object, count: number | undefined): Leaf[] {
  return Object.entries(fields).flatMap(([name, field]: [string, unknown]) => {
    const at = [...path, name];
    switch (declaredKind(field)) {
      case "scalar":
        return [bufferLeaf(at, (field as Scalar).dtype, count, 1)];
      case "array": {
        const { element, length } = field as ArrayOf;
        checkLength(at, length);
        if (length === undefined || element.kind !== "scalar")
          return wrong(at, "is not an array of known length", "fields of a struct are like f32.array(8)");
        return [bufferLeaf(at, element.dtype, count, length)];
      }
      case "struct":
        return fieldLeaves(at, (field as Struct).fields, count);
      case "record":
        return fieldLeaves(at, field as object, count);
      default:
        return wrong(at, "is not a field", "fields of a struct are scalars, arrays like f32.array(8) and structs");
    }
  });
}

/** The leaves of a declaration in order; constants, helpers and kernels have none. */
export function flatten(declaration: Declaration | Struct["fields"], path: readonly string[] = []): Leaf[] {
  return Object.entries(declaration).flatMap(([name, declared]: [string, unknown]) => {
    const at = [...path, name];
    switch (declaredKind(declared)) {
      case "scalar":
        return [scalarLeaf(at, (declared as Scalar).dtype)];
      case "array":
        return arrayLeaves(at, declared as ArrayOf);
      case "struct":
        return flatten((declared as Struct).fields, at);
      case "record":
        return flatten(declared as Declaration, at);
      case "constant":
      case "inline":
      case "kernel":
        return [];
      default:
        return wrong(at, `is ${String(declared).slice(0, 60)}`, EXPECTED);
    }
  });
}
