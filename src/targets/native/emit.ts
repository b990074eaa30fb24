/**
 * @file One C file for a lowered program.
 *
 * It exports a single function that takes the address of an argument block of doubles: block[0] is the arena, then
 * come the entry's buffers, dynamic lengths and scalars in order. In front of the block stands the context: the
 * thread pool's launch function and the number of threads. There are no mutable globals, so that one library serves
 * any number of arenas and threads.
 */
import type { Buffer, Func } from "../../ir/nodes.ts";
import type { DType } from "../../ir/types.ts";
import type { Lowered } from "../target.ts";
import { FunctionWriter } from "./emitStmt.ts";
import { argumentsOf, Linkage } from "./linkage.ts";
import { Names } from "./names.ts";
import { cType, HELD, Prelude } from "./prelude.ts";

export const ENTRY_SYMBOL = "lockstep_entry";
/** Doubles in front of the argument block that hold the context. */
export const CONTEXT_DOUBLES = 8;
export const CONTEXT_LAUNCH = 0;
export const CONTEXT_THREADS = 1;

export interface EmitOptions {
  readonly vectorBytes: number;
  readonly fastFma: boolean;
}

export interface Emitted {
  readonly source: string;
  /** Doubles in the argument block, the arena's address included. */
  readonly blockDoubles: number;
}

const CONTEXT =
  "struct context { void (*launch)(void (*piece)(void *, int, int), void *frame, int count, int threads, int grain, long long work); " +
  "int threads; };";

export function emit(lowered: Lowered, options: EmitOptions): Emitted {
  const names = new Names();
  const prelude = new Prelude(options.fastFma);
  const linkage = new Linkage(lowered, names);
  const context = { prelude, linkage, names, vectorBytes: options.vectorBytes };
  const functions = linkage.functions.flatMap((f) => [
    new FunctionWriter(f, context).text(),
    ...(linkage.isLaunched(f) ? [pieceText(linkage, f)] : []),
  ]);
  const entry = entryText(lowered, linkage);
  const source = [
    `/* ${printable(lowered.module.name)} */`,
    prelude.text(),
    CONTEXT,
    ...linkage.tableTexts(),
    ...functions,
    entry.text,
  ];
  return { source: `${source.join("\n")}\n`, blockDoubles: entry.doubles };
}

/** A name that cannot end the comment it stands in. */
const printable = (name: string): string => name.replace(/[^A-Za-z0-9_ .$-]/g, "_");

/** The frame of a launched function's arguments, and the function that the pool calls with it. */
function pieceText(linkage: Linkage, f: Func): string {
  const name = linkage.nameOf(f);
  const fields: string[] = [];
  const field = (type: string): string => {
    const id = `a${fields.length}`;
    fields.push(`${type} ${id};`);
    return `f->${id}`;
  };
  const args = argumentsOf(linkage, f, {
    fault: field("int *"),
    context: linkage.launches(f) ? field("const struct context *") : "",
    buffer: (b) => field(`${cType(b.storage)} *`),
    length: () => field("int"),
  });
  for (const p of f.params.slice(0, -2)) args.push(field(cType(HELD[p.dtype])));
  return (
    `struct ${name}_frame { ${fields.join(" ")} };\n` +
    `static void ${name}_piece(void *frame, int begin, int end) { const struct ${name}_frame *f = frame; ` +
    `${name}(${[...args, "begin", "end"].join(", ")}); }`
  );
}

/** Doubles carry addresses (below 2^53) and every scalar exactly. */
const FROM_DOUBLE: { readonly [D in DType]: (text: string) => string } = {
  f32: (x) => `(float)${x}`,
  f64: (x) => x,
  i32: (x) => `(int)${x}`,
  u32: (x) => `(unsigned)(long long)${x}`,
  bool: (x) => `(${x} != 0)`,
};

function entryText(lowered: Lowered, linkage: Linkage): { text: string; doubles: number } {
  const { entry } = lowered.module;
  let doubles = 1;
  const next = (): string => `block[${doubles++}]`;
  const pointers = new Map<Buffer, string>();
  const lengths = new Map<Buffer, string>();
  for (const b of entry.buffers) {
    pointers.set(b, `(${cType(b.storage)} *)(long long)${next()}`);
    if (b.length === undefined) lengths.set(b, `(int)${next()}`);
  }
  const scalars = entry.params.map((p) => FROM_DOUBLE[p.dtype](next()));
  const args = argumentsOf(linkage, entry, {
    fault: "fault",
    context: "&context",
    buffer: (b) => pointers.get(b) ?? `(${cType(b.storage)} *)(arena + ${offsetOf(lowered, b)})`,
    length: (b) => lengths.get(b) ?? `${b.length ?? 0}`,
  });
  const lines = [
    "const double *block = (const double *)(long long)at;",
    "char *arena = (char *)(long long)block[0];",
    "int *fault = (int *)arena;",
    ...(linkage.launches(entry)
      ? [
          `const struct context context = {(void (*)(void (*)(void *, int, int), void *, int, int, int))(long long)block[${CONTEXT_LAUNCH - CONTEXT_DOUBLES}], (int)block[${CONTEXT_THREADS - CONTEXT_DOUBLES}]};`,
        ]
      : []),
    "*fault = 0;",
    `${linkage.nameOf(entry)}(${[...args, ...scalars].join(", ")});`,
    "CLEAR_UPPER;",
    "return *fault;",
  ];
  const signature = `__attribute__((visibility("default"))) int ${ENTRY_SYMBOL}(double at)`;
  return { text: `${signature} {\n  ${lines.join("\n  ")}\n}`, doubles };
}

function offsetOf(lowered: Lowered, b: Buffer): number {
  const offset = lowered.arena.offsets.get(b);
  if (offset === undefined) throw new Error(`buffer ${b.name} (${b.space}) has no place in the arena`);
  return offset;
}
