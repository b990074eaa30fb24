/**
 * @file What a program was compiled to, as text: its kernels in order, what was fused into each, work and memory.
 */
import { i32 } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import { floatOperationsOf } from "../ir/passes/cost.ts";
import type { Numerics } from "../ir/pipeline.ts";
import { STORAGE_BYTES, STORED_TYPE } from "../ir/types.ts";
import { emitModule } from "./emit/module.ts";
import type { TileMachine } from "./emit/tiles.ts";
import { type Block, inputsOf, type Node } from "./nodes.ts";
import { type Location, type Lookup, type Step, valuesOf } from "./plan.ts";
import { eachRead } from "./reach.ts";
import { describeShape, elementsOf } from "./shape.ts";

export interface Explained {
  readonly name: string;
  readonly target: string;
  readonly numerics: Numerics;
  readonly machine: TileMachine;
  readonly steps: readonly Step[];
  /** Whether every operation runs by itself. */
  readonly eager: boolean;
  /** Of the program's own values. */
  readonly bytes: number;
  /** Milliseconds of each kernel, in the order of kernels. */
  readonly times: readonly number[] | undefined;
}

/** One line: a kernel, or the head of a loop. */
interface Line {
  readonly depth: number;
  readonly what: string;
  readonly shape: string;
  /** Of one run of the program; undefined for a loop. */
  readonly cost: { readonly operations: number; readonly bytes: number } | undefined;
}

const WIDTH = { what: 42, shape: 17, number: 9 } as const;
const bytesOf = (node: Node): number => elementsOf(node.shape) * STORAGE_BYTES[STORED_TYPE[node.dtype]];

/** Elementwise operations and others that are computed inside a step's loops, by name. */
function inlinedIn(step: Step): Map<string, number> {
  const found = new Map<string, number>();
  const seen = new Set<Node>();
  const visit = (node: Node, where: Lookup, isResult: boolean): void => {
    if (seen.has(node) || (!isResult && where.has(node))) return;
    seen.add(node);
    const name = node.kind === "map" ? node.op : node.kind === "reduce" ? NAMES[node.op] : node.kind;
    if (!SILENT.has(node.kind) && !(isResult && node.kind === step.kind && node.kind !== "map"))
      found.set(name, (found.get(name) ?? 0) + 1);
    for (const x of inputsOf(node)) visit(x, where, false);
  };
  for (const { node, where, into } of valuesOf(step)) {
    const lookup = where ?? step.where;
    visit(node, lookup, !lookup.has(node) || lookup.get(node) === into);
  }
  if (step.kind === "matmul" && step.finish) visit(step.finish, step.where, true);
  return found;
}
const NAMES = { add: "sum", mul: "product", min: "min", max: "max" } as const;
const SILENT: ReadonlySet<Node["kind"]> = new Set(["constant", "read", "input", "table", "view", "reshape", "fold"]);

/** Bytes that a step reads and writes, each value once. */
function trafficOf(step: Step): number {
  if (step.kind === "call") return [...step.call.given.values()].reduce((sum, node) => sum + bytesOf(node), 0);
  const seen = new Set<string>();
  let sum = 0;
  for (const { node, where, into } of valuesOf(step)) {
    sum += bytesOf(node);
    const see = (x: Node, { buffer, offset }: Location): void => {
      const key = `${buffer.name} ${offset} ${elementsOf(x.shape)}`;
      if (!seen.has(key)) sum += bytesOf(x);
      seen.add(key);
    };
    const computed =
      step.kind === "map" ? [node] : step.kind === "matmul" && step.finish ? [step.finish] : inputsOf(node);
    for (const x of computed) eachRead(x, where ?? step.where, see, into);
  }
  return sum;
}

const known = (e: Expr): number | undefined => (e.kind === "const" ? e.value : undefined);
/** Operations of one run of a step; the numbers of loops around it do not matter. */
function operationsOf(step: Step, machine: TileMachine, around: readonly Block[]): number {
  if (step.kind === "matmul") {
    const { a, shape, parts = 1 } = step.result.node;
    const finishing = step.finish ? [...inlinedIn(step).values()].reduce((sum, count) => sum + count, 0) : 0;
    return elementsOf(shape) * ((2 * (a.shape[1] as number)) / parts + finishing);
  }
  return floatOperationsOf(
    emitModule("cost", [step], [], machine, new Map(around.map((block) => [block, i32(0)]))).entry.body,
    known,
  );
}
function describe(step: Step): { readonly what: string; readonly shape: string } {
  const inside = [...inlinedIn(step)].map(([name, count]) => (count > 1 ? `${name} x${count}` : name)).join(" ");
  const values = valuesOf(step);
  const shape = describeShape(values[0]?.node.shape ?? []);
  const many = values.length > 1 ? ` -> ${values.length} values` : "";
  switch (step.kind) {
    case "map":
      return { what: `${inside || "copy"}${many}`, shape };
    case "reduce": {
      const first = step.results[0]?.node;
      const name = first ? NAMES[first.op] : "sum";
      return { what: `${name} over ${describeShape(first?.axes ?? [])} of ${inside || "values"}${many}`, shape };
    }
    case "matmul": {
      const { a, b } = step.result.node;
      const then = step.finish ? ` then ${inside}` : "";
      return { what: `matmul ${describeShape(a.shape)} x ${describeShape(b.shape)}${then}`, shape };
    }
    case "scatter":
      return {
        what: `${step.result.node.kind === "scatter" ? "scatterAdd" : "sum of windows"} ${inside}`.trim(),
        shape,
      };
    case "cumulate":
      return { what: `cumsum ${inside}`.trim(), shape };
    case "call":
      return { what: `call ${step.call.module.name}`, shape: "" };
    case "repeat":
      return { what: `repeat ${step.count} times`, shape: "" };
    case "rows":
      return { what: `${step.count} rows, ${step.block} at a time`, shape: "" };
    default:
      return step satisfies never;
  }
}

/** Where steps stand: the loops around them, how deep, and how often they run. */
interface Inside {
  readonly around: readonly Block[];
  readonly depth: number;
  readonly times: number;
}
function linesOf(steps: readonly Step[], machine: TileMachine, inside: Inside): Line[] {
  const { around, depth, times } = inside;
  return steps.flatMap((step): Line[] => {
    const head = { depth, ...describe(step) };
    if (step.kind === "repeat" || step.kind === "rows") {
      const own = step.kind === "repeat" ? { around: [...around, step.body], times: times * step.count } : {};
      return [{ ...head, cost: undefined }, ...linesOf(step.steps, machine, { ...inside, ...own, depth: depth + 1 })];
    }
    const operations = operationsOf(step, machine, around) * times;
    return [{ ...head, cost: { operations, bytes: trafficOf(step) * times } }];
  });
}

const cut = (text: string, width: number): string =>
  text.length <= width ? text.padEnd(width) : `${text.slice(0, width - 3)}...`;
const number = (value: number, digits: number): string => value.toFixed(digits).padStart(WIDTH.number);
export function bytesText(bytes: number): string {
  return bytes < 2 ** 20 ? `${(bytes / 2 ** 10).toFixed(1)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

export function explained(given: Explained): string {
  const { name, target, numerics, machine, steps, times, eager, bytes: own } = given;
  const lines = linesOf(steps, machine, { around: [], depth: 0, times: 1 });
  const kernels = lines.flatMap(({ cost }) => cost ?? []);
  const operations = kernels.reduce((sum, k) => sum + k.operations, 0);
  const bytes = kernels.reduce((sum, k) => sum + k.bytes, 0);
  const total = times?.reduce((sum, ms) => sum + ms, 0);
  const text = [
    `${name} on ${target}, ${numerics}${eager ? ", operation by operation" : ""}: ${kernels.length} kernels`,
    `one run: ${(operations / 1e6).toFixed(3)} MFLOP, ${bytesText(bytes)} read and written, ` +
      `${eager ? "values" : "arena"} ${bytesText(own)}`,
    "",
    heading(total !== undefined),
  ];
  let at = 0;
  for (const { depth, what, shape, cost } of lines) {
    const indent = "  ".repeat(depth);
    const start = `${cost ? `${at + 1}`.padStart(3) : "   "} ${cut(indent + what, WIDTH.what)} ${cut(shape, WIDTH.shape)}`;
    if (!cost) {
      text.push(start.trimEnd());
      continue;
    }
    const ms = times?.[at] ?? 0;
    at++;
    text.push(start + work(cost) + (times ? speed(cost.operations, ms) : ""));
  }
  if (total !== undefined)
    text.push(
      "",
      `kernels by themselves: ${(total * 1000).toFixed(1)} us, ${(operations / total / 1e6).toFixed(2)} GFLOP/s`,
    );
  return text.join("\n");
}
const heading = (timed: boolean): string =>
  `  # ${"kernel".padEnd(WIDTH.what)} ${"shape".padEnd(WIDTH.shape)}${[
    "kFLOP",
    "KiB",
    ...(timed ? ["us", "GFLOP/s"] : []),
  ]
    .map((title) => title.padStart(WIDTH.number))
    .join("")}`;
const work = ({ operations, bytes }: { readonly operations: number; readonly bytes: number }): string =>
  number(operations / 1000, 2) + number(bytes / 2 ** 10, 1);
const speed = (operations: number, ms: number): string =>
  number(ms * 1000, 1) + number(ms > 0 ? operations / ms / 1e6 : 0, 2);
