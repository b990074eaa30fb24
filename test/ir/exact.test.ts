/**
 * @file Exact text: equal for modules that are built alike, different for whatever a pass could tell apart.
 */
import { expect, test } from "vitest";
import {
  add,
  Builder,
  buffer,
  constant,
  func,
  get,
  i32,
  lengthOf,
  load,
  local,
  mul,
  store,
} from "../../src/ir/build.ts";
import { exactText } from "../../src/ir/exact.ts";
import type { Buffer, Module } from "../../src/ir/nodes.ts";
import { setPlace } from "../../src/ir/places.ts";

/** What can differ between two modules of the same form. */
interface Choices {
  readonly module: string;
  readonly buffer: string;
  readonly storage: Buffer["storage"];
  readonly length: number | undefined;
  readonly space: "temp" | "state";
  readonly data: readonly number[];
  readonly local: string;
  readonly value: number;
  readonly step: number;
  readonly axis: "serial" | "parallel";
  readonly place: string | undefined;
  readonly message: string;
  readonly sitePlace: string | undefined;
  /** Whether both loads are one and the same node. */
  readonly shared: boolean;
  /** Whether the same local is assigned twice, or two of the same name. */
  readonly again: boolean;
  readonly swapped: boolean;
}
const PLAIN: Choices = {
  module: "m",
  buffer: "x",
  storage: "f32",
  length: undefined,
  space: "temp",
  data: [1, 2],
  local: "a",
  value: 0,
  step: 1,
  axis: "serial",
  place: "1:2  x[i]",
  message: "why",
  sitePlace: undefined,
  shared: false,
  again: true,
  swapped: false,
};

function build(c: Choices): { readonly module: Module; readonly buffers: readonly Buffer[] } {
  const [x, y] = [buffer(c.buffer, c.storage, "param", c.length), buffer("y", "f32", "param")];
  const own = buffer("own", "f32", c.space, 4);
  const table: Buffer = { ...buffer("table", "f32", "local", c.data.length), space: "table", data: c.data };
  const b = new Builder();
  b.for("i", { begin: i32(0), end: lengthOf(x), step: c.step, axis: c.axis }, (i) => {
    const read = () => {
      const made = load(y, i);
      return c.place === undefined ? made : setPlace(made, c.place);
    };
    const first = read();
    const second = c.shared ? first : read();
    const [one, two] = [local(c.local, "f32"), local(c.local, "f32")];
    b.assign(one, add(mul(first, second), constant("f32", c.value)));
    b.assign(c.again ? one : two, add(load(table, i32(1)), get(one)));
    const [from, to] = c.swapped ? [own, y] : [y, own];
    b.emit(store(to, i32(0), load(from, i)));
  });
  const site = { reason: "assert", message: c.message, place: c.sitePlace } as const;
  const module: Module = { name: c.module, entry: func(c.module, [x, y], [], b.statements), sites: [site] };
  return { module, buffers: [x, y, own, table] };
}
const textOf = (c: Partial<Choices> = {}): string => exactText(build({ ...PLAIN, ...c }).module).text;

test("modules that are built alike have the same text", () => {
  expect(textOf()).toBe(textOf());
});

test.each<Partial<Choices>>([
  { module: "n" },
  { buffer: "z" },
  { storage: "i32" },
  { length: 8 },
  { space: "state" },
  { data: [1, 3] },
  { data: [1, 2, 3] },
  { local: "b" },
  { value: -0 },
  { value: Number.NaN },
  { value: 0.1 },
  { step: 2 },
  { axis: "parallel" },
  { place: "1:3  x[i]" },
  { place: undefined },
  { message: "why not" },
  { sitePlace: "3:4  assert" },
  { shared: true },
  { again: false },
  { swapped: true },
])("a module with %o has another one", (change) => {
  expect(textOf(change)).not.toBe(textOf());
});

test("buffers stand in the same places for every module of the same text", () => {
  const [one, other] = [build(PLAIN), build(PLAIN)];
  const places = ({ module, buffers }: typeof one): number[] => {
    const found = exactText(module).buffers;
    return buffers.map((b) => found.indexOf(b));
  };
  expect([...places(one)].sort()).toEqual([0, 1, 2, 3]);
  expect(places(other)).toEqual(places(one));
});
