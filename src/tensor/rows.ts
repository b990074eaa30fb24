/**
 * @file Groups steps that go through a batch row by row, so that a block of rows goes through all of them before the
 * next one does: what a step leaves is still in the nearest caches for the next, a thread works on rows of its own, and
 * threads wait for each other once per group instead of once per step.
 *
 * A step is of rows when each row of what it writes depends on the same row of what other steps of its group write.
 * Steps get levels: whatever needs whole results of a group lies a level higher. Steps of rows on one level are a group,
 * and stand behind the other steps of their level. Sums in parts have one for each block of
 * rows, whose size follows from their number; which thread has a block changes no bit.
 */
import type { Buffer } from "../ir/nodes.ts";
import { isTurned } from "./costs.ts";
import { merged } from "./merge.ts";
import { inputsOf, type MatmulNode, type Node, type ViewNode } from "./nodes.ts";
import { blockOf } from "./parts.ts";
import { type Location, type Lookup, type RowStep, type Step, valuesOf } from "./plan.ts";
import { eachRead } from "./reach.ts";
import { elementsOf } from "./shape.ts";

/** A part of a buffer that a step touches. */
interface Access {
  readonly buffer: Buffer;
  readonly writes: boolean;
  /** Row r of the step is row r of what lies there in this way; undefined: any element may be meant. */
  readonly layout: string | undefined;
}
const layoutOf = ({ offset }: Location, node: Node, rows: number): string =>
  `${offset} ${elementsOf(node.shape) / rows}`;

/** How many rows a sum in parts goes through. */
const summedRows = (node: Node): number | undefined =>
  node.kind === "matmul" && node.parts
    ? node.a.shape[1]
    : node.kind === "reduce" && node.parts
      ? node.input.shape[0]
      : undefined;
/** What of a product's first factor is read row by row; a turned one that has memory of its own is not. */
const rowFactor = ({ a, parts }: MatmulNode, where: Lookup): Node | undefined =>
  !parts ? a : where.has(a) ? undefined : (a as ViewNode).input;

/** How many rows a step goes through one by one; undefined when it does not, or they are few. */
function rowsOf(step: Step): number | undefined {
  const [first] = valuesOf(step);
  const rows = first ? (summedRows(first.node) ?? first.node.shape[0] ?? 0) : 0;
  if (!first || blockOf(rows) === undefined) return undefined;
  switch (step.kind) {
    case "map":
      return step.stores.flat().some(({ row }) => row) ? undefined : rows;
    case "reduce":
      return step.results.some(({ node }) => !node.parts && node.axes.includes(0)) ? undefined : rows;
    case "matmul":
      return !step.result.node.parts && isTurned(step.result.node.a) ? undefined : rows;
    default:
      return undefined;
  }
}

/** Whether row r of a value is computed of row r of its operand alone. */
function keepsRows(node: Node, operand: Node, rows: number): boolean {
  if (operand.shape[0] !== rows) return false;
  switch (node.kind) {
    case "map":
    case "fold":
      return true;
    case "view": {
      const first = node.axes[0];
      const [term, ...others] = first?.terms ?? [];
      return first?.start === 0 && term?.axis === 0 && term.step === 1 && others.length === 0;
    }
    case "reduce":
      return !node.axes.includes(0);
    case "gather":
      return operand === node.index && node.input !== operand;
    case "matmul":
      return operand === node.a && node.b !== operand;
    case "pad":
      return node.before[0] === 0 && node.shape[0] === rows;
    case "concat":
      return node.axis !== 0;
    default:
      return false;
  }
}

/** What a step touches; `rows` as `rowsOf` says. */
function accessesOf(step: Step, rows: number | undefined): Access[] {
  const found: Access[] = [];
  const readsOf = (root: Node, where: Lookup, aligned: boolean, into?: Location): void => {
    const see = (node: Node, at: Location, same: boolean): void => {
      const layout = aligned && same && rows ? layoutOf(at, node, rows) : undefined;
      found.push({ buffer: at.buffer, writes: false, layout });
    };
    eachRead(root, where, see, into, (node, operand) => keepsRows(node, operand, rows ?? 0));
  };
  for (const { node, into, row, where = step.where } of valuesOf(step)) {
    const layout = rows ? layoutOf(into, node, rows) : undefined;
    found.push({ buffer: into.buffer, writes: true, layout });
    if (row) readsOf(row, where, false);
    if (step.kind === "map") readsOf(node, where, rows !== undefined, into);
    else if (step.kind === "matmul" && step.finish) readsOf(step.finish, where, rows !== undefined, into);
    else if (node.kind === "matmul") {
      const byRows = rowFactor(node, where);
      readsOf(byRows ?? node.a, where, byRows !== undefined && rows !== undefined);
      readsOf(node.b, where, node.parts !== undefined);
    } else for (const x of inputsOf(node)) readsOf(x, where, rows !== undefined);
  }
  return found;
}

/** A step among others: what it has to come behind, and whether it can do with the same row of that. */
interface Placing {
  readonly step: Step;
  readonly rows: number | undefined;
  readonly behind: readonly { readonly other: Placing; readonly sameRow: boolean }[];
}
function placings(steps: readonly Step[]): Placing[] {
  const touched = new Map<Buffer, { readonly by: Placing; readonly access: Access }[]>();
  return steps.map((step): Placing => {
    const rows = rowsOf(step);
    const accesses = accessesOf(step, rows);
    const behind = accesses.flatMap(({ buffer, writes, layout }) =>
      (touched.get(buffer) ?? [])
        .filter(({ access }) => writes || access.writes)
        .map(({ by: other, access }) => ({
          other,
          sameRow: rows === other.rows && layout !== undefined && layout === access.layout,
        })),
    );
    const by = { step, rows, behind };
    for (const access of accesses) {
      const list = touched.get(access.buffer) ?? [];
      list.push({ by, access });
      touched.set(access.buffer, list);
    }
    return by;
  });
}

/**
 * Steps of rows that are better done for all rows before any group begins: what they leave is needed as a whole, and
 * nothing that a product computes is needed for it. Statistics of what a batch was given are the usual case; a group
 * would have to end for them.
 */
function earlySteps(all: readonly Placing[]): ReadonlySet<Placing> {
  const independent = new Set<Placing>();
  const early = new Set<Placing>();
  const hurry = (one: Placing): void => {
    if (one.rows === undefined || early.has(one)) return;
    early.add(one);
    for (const { other } of one.behind) hurry(other);
  };
  for (const one of all) {
    if (one.step.kind === "matmul" || !one.behind.every(({ other }) => independent.has(other))) continue;
    independent.add(one);
    if (one.rows === undefined) for (const { other } of one.behind) hurry(other);
  }
  return early;
}

/** A step of rows that is part of a group, or another; whatever needs whole results of a group lies a level higher. */
interface Leveled {
  readonly step: Step;
  readonly rows: number | undefined;
  readonly level: number;
}
function leveled(steps: readonly Step[]): Leveled[] {
  const all = placings(steps);
  const early = earlySteps(all);
  const isGrouped = (one: Placing): boolean => one.rows !== undefined && !early.has(one);
  const levels = new Map<Placing, number>();
  for (const one of all) {
    const least = one.behind.map(({ other, sameRow }) => {
      const whole = isGrouped(other) && !(isGrouped(one) && sameRow);
      return (levels.get(other) as number) + (whole ? 1 : 0);
    });
    levels.set(one, Math.max(0, ...least));
  }
  // Steps outside of groups stay as late as they were, beside those that they may be fused with.
  const latest = new Map<Placing, number>();
  const top = Math.max(0, ...levels.values());
  for (const one of all.toReversed()) {
    const level = isGrouped(one) ? (levels.get(one) as number) : (latest.get(one) ?? top);
    levels.set(one, level);
    for (const { other } of one.behind) latest.set(other, Math.min(latest.get(other) ?? top, level));
  }
  return all.map((one) => ({
    step: one.step,
    rows: isGrouped(one) ? one.rows : undefined,
    level: levels.get(one) as number,
  }));
}

/** Steps of rows on one level: a group, where products are among several. */
function together(list: readonly Leveled[], rows: number): Step[] {
  const steps = merged(list.flatMap(({ step, rows: own }) => (own === rows ? [step] : [])));
  const last = steps.at(-1);
  if (!last || steps.length < 2 || !steps.some(({ kind }) => kind === "matmul")) return steps;
  return [{ kind: "rows", count: rows, block: blockOf(rows) as number, steps: steps as RowStep[], where: last.where }];
}

/** One stretch of steps without loops and calls. */
function groupedStretch(steps: readonly Step[]): readonly Step[] {
  const all = leveled(steps);
  const result: Step[] = [];
  const top = all.reduce((most, { level }) => Math.max(most, level), 0);
  for (let level = 0; level <= top; level++) {
    const here = all.filter((x) => x.level === level);
    result.push(...merged(here.flatMap(({ step, rows }) => (rows === undefined ? [step] : []))));
    for (const rows of new Set(here.flatMap((x) => x.rows ?? []))) result.push(...together(here, rows));
  }
  return result.some(({ kind }) => kind === "rows") ? result : merged(abreast(steps));
}

/** Loops that may become one: elementwise ones over the same shape. */
const fusesWith = (step: Step): string => {
  const shape = step.kind === "map" ? step.stores[0]?.[0]?.node.shape : undefined;
  return shape ? shape.join() : "";
};

/**
 * The same steps in such an order that parts of a program that do not depend on each other, an actor and a critic say,
 * go on abreast, and their elementwise loops stand next to each other.
 */
function abreast(steps: readonly Step[]): Step[] {
  const depths = new Map<Placing, number>();
  for (const one of placings(steps)) {
    const kind = fusesWith(one.step);
    const least = one.behind.map(({ other }) => {
      const isChain = kind !== "" && kind === fusesWith(other.step);
      return (depths.get(other) as number) + (isChain ? 0 : 1);
    });
    depths.set(one, Math.max(0, ...least));
  }
  const byDepth: Map<string, Step[]>[] = [];
  for (const [{ step }, depth] of depths) {
    byDepth[depth] ??= new Map();
    const [kind, level] = [fusesWith(step), byDepth[depth] as Map<string, Step[]>];
    level.set(kind, [...(level.get(kind) ?? []), step]);
  }
  return byDepth.flatMap((level) => [...level.values()].flat());
}

/** The same steps, those of rows in groups, and neighbours fused. */
export function grouped(steps: readonly Step[]): Step[] {
  const result: Step[] = [];
  let stretch: Step[] = [];
  const close = (): void => {
    result.push(...groupedStretch(stretch));
    stretch = [];
  };
  for (const step of steps) {
    if (step.kind !== "call" && step.kind !== "repeat") {
      stretch.push(step);
      continue;
    }
    close();
    result.push(step);
  }
  close();
  return result;
}
