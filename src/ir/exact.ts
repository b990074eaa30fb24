/**
 * @file A module as exact text: two modules with the same text are the same to every pass, so what passes and targets
 * made of one serves for the other.
 *
 * Unlike `print.ts` this is for machines: all fields of all nodes, in a fixed order, and the places that loads and
 * stores carry on the side. Things that passes tell apart by identity are numbered as they come; the second time the
 * number alone is written. That a field of a node is missing below is a type error.
 */
import type { Buffer, Expr, Func, Label, Load, Local, Module, Reduction, Site, Stmt, Store } from "./nodes.ts";
import { placeOf } from "./places.ts";

type Node = Expr | Stmt | Local | Buffer | Label | Func;
type FieldsOf<N> = { readonly [F in Exclude<keyof N, "kind">]-?: true };

const VALUE = { dtype: true, lanes: true } as const;
const FIELDS: { readonly [K in Node["kind"]]: FieldsOf<Extract<Node, { readonly kind: K }>> } = {
  const: { ...VALUE, value: true },
  get: { ...VALUE, local: true },
  length: { ...VALUE, buffer: true },
  unary: { ...VALUE, op: true, x: true },
  binary: { ...VALUE, op: true, a: true, b: true },
  select: { ...VALUE, condition: true, a: true, b: true },
  fma: { ...VALUE, a: true, b: true, c: true },
  convert: { ...VALUE, x: true },
  load: { ...VALUE, buffer: true, index: true, stride: true },
  splat: { ...VALUE, x: true },
  iota: VALUE,
  any: { ...VALUE, x: true },
  shuffle: { ...VALUE, a: true, b: true, order: true },
  lane: { ...VALUE, x: true, at: true },
  assign: { local: true, value: true },
  recur: { local: true, factor: true, term: true },
  store: { buffer: true, index: true, value: true, stride: true, mask: true },
  pack: { buffer: true, index: true, value: true, mask: true, found: true },
  if: { condition: true, then: true, else: true },
  for: {
    label: true,
    axis: true,
    index: true,
    begin: true,
    end: true,
    step: true,
    body: true,
    reductions: true,
  },
  loop: { label: true, body: true },
  block: { label: true, body: true },
  exit: { label: true },
  fault: { condition: true, site: true },
  call: { func: true, buffers: true, args: true },
  launch: { func: true, args: true, count: true, cost: true, threaded: true },
  local: { name: true, dtype: true, lanes: true },
  buffer: { name: true, storage: true, space: true, length: true, data: true, lanes: true },
  label: { name: true },
  func: { name: true, buffers: true, params: true, body: true },
};
const REDUCTION: FieldsOf<Reduction> = { local: true, op: true };
const SITE: FieldsOf<Site> = { reason: true, message: true, place: true };

type Value = Node | Reduction | Site | readonly Value[] | string | number | boolean | undefined;
/** How nodes of a kind are written. */
interface Form {
  readonly fields: readonly string[];
  /** Whether passes tell such nodes apart by identity. Of accesses they do: what is known of one is kept with it. */
  readonly numbered: boolean;
  readonly placed: boolean;
}
const NUMBERED: ReadonlySet<string> = new Set(["local", "buffer", "label", "func", "load", "store"]);
const PLACED: ReadonlySet<string> = new Set(["load", "store"]);
const FORMS: ReadonlyMap<string, Form> = new Map(
  Object.entries(FIELDS).map(([kind, fields]) => {
    return [kind, { fields: Object.keys(fields), numbered: NUMBERED.has(kind), placed: PLACED.has(kind) }];
  }),
);
const [REDUCTION_FIELDS, SITE_FIELDS] = [Object.keys(REDUCTION), Object.keys(SITE)];

class Writer {
  text = "";
  readonly numbers = new Map<object, number>();

  value(value: Value): void {
    if (typeof value === "string") this.text += `${value.length}:${value}`;
    else if (typeof value === "number") this.text += Object.is(value, -0) ? "-0;" : `${value};`;
    else if (typeof value !== "object") this.text += `${value};`;
    else if (Array.isArray(value)) this.#list(value);
    else if ("kind" in value) this.#node(value);
    else this.fields(value, REDUCTION_FIELDS);
  }

  fields(holder: object, fields: readonly string[]): void {
    for (const field of fields) this.value((holder as { readonly [field: string]: Value })[field]);
  }

  #list(list: readonly Value[]): void {
    this.text += `${list.length}[`;
    for (const value of list) this.value(value);
  }

  #node(node: Node): void {
    const { fields, numbered, placed } = FORMS.get(node.kind) as Form;
    if (numbered) {
      const known = this.numbers.get(node);
      if (known !== undefined) {
        this.text += `#${known};`;
        return;
      }
      this.numbers.set(node, this.numbers.size);
    }
    this.text += `${node.kind} `;
    if (placed) this.value(placeOf(node as Load | Store));
    this.fields(node, fields);
  }
}

export interface ExactText {
  readonly text: string;
  /** The module's buffers in the order in which the text names them: the same places for every module of this text. */
  readonly buffers: readonly Buffer[];
}

export function exactText(module: Module): ExactText {
  const writer = new Writer();
  writer.value(module.name);
  writer.value(module.entry);
  for (const site of module.sites) writer.fields(site, SITE_FIELDS);
  const buffers = [...writer.numbers.keys()].filter((x): x is Buffer => (x as Node).kind === "buffer");
  return { text: writer.text, buffers };
}
