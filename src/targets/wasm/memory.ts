/**
 * @file Loads and stores of vectors: contiguous, strided, gathered, and each lane in its own copy of a local buffer.
 *
 * Contiguous parts lie at static offsets from one register, next to each other, the shape that engines can fuse into
 * wider vectors. All other accesses go lane by lane, in the order of lanes. Nothing outside the named elements is
 * ever read, so an array may end where the memory ends.
 */
import type { Buffer, Expr, Load, Store } from "../../ir/nodes.ts";
import { LOADED_TYPE, STORAGE_BYTES, type StorageType } from "../../ir/types.ts";
import type { Addresses, Place } from "./address.ts";
import { addI32, i32, type Node, op, scaleI32, when } from "./code.ts";
import { lanesPerPart, maskOf, partCount, shareVector, shuffle, type Vector, vector, widthOf } from "./lanes.ts";
import type { OpName } from "./opcodes.ts";
import type { OpContext } from "./scalar.ts";
import { laneBits, vectorSelect } from "./vector.ts";

/** What accesses need: operands as code, and addresses. */
export interface AccessContext extends OpContext {
  scalar(e: Expr): Node;
  vector(e: Expr): Vector;
  readonly addresses: Addresses;
}

const SCALAR_LOADS: { readonly [S in StorageType]: OpName } = {
  f32: "f32.load",
  f64: "f64.load",
  i32: "i32.load",
  u32: "i32.load",
  u8: "i32.load8_u",
};
const SCALAR_STORES: { readonly [S in StorageType]: OpName } = {
  f32: "f32.store",
  f64: "f64.store",
  i32: "i32.store",
  u32: "i32.store",
  u8: "i32.store8",
};

export function loadScalar(e: Load, { addresses }: AccessContext): Node {
  const at = addresses.of(e.buffer, e.index);
  return op(SCALAR_LOADS[e.buffer.storage], [at.base], at.offset);
}

export function storeScalar(s: Store, context: AccessContext): void {
  const at = context.addresses.of(s.buffer, s.index);
  const write = op(SCALAR_STORES[s.buffer.storage], [at.base, context.scalar(s.value)], at.offset);
  context.build.emit(s.mask ? when(context.scalar(s.mask), [write]) : write);
}

/** A scalar from memory in all lanes, loaded that way where there is an instruction for it. */
export function loadSplat(e: Load, lanes: number, { addresses, build }: AccessContext): Vector | undefined {
  if (e.buffer.storage === "u8") return undefined;
  const at = addresses.of(e.buffer, e.index);
  const name: OpName = e.buffer.storage === "f64" ? "v128.load64_splat" : "v128.load32_splat";
  const part = build.share(op(name, [at.base], at.offset), "splat");
  return vector(e.dtype, lanes, new Array<Node>(partCount(lanes, widthOf(e.dtype))).fill(part));
}

/** Where the lanes of an access are. */
type LanePlaces =
  | { readonly kind: "contiguous"; readonly at: Place }
  | { readonly kind: "lanes"; readonly lane: (l: number) => Place; readonly stride?: number };

function lanePlaces(access: Load | Store, lanes: number, context: AccessContext): LanePlaces {
  const { buffer, index, stride } = access;
  const { addresses } = context;
  if (buffer.lanes > 1) {
    if (index.lanes === 1) return { kind: "contiguous", at: addresses.of(buffer, index, buffer.lanes) };
    return gathered(buffer, index, context);
  }
  if (stride === undefined) return gathered(buffer, index, context);
  if (stride.kind === "const" && stride.value === 1) return { kind: "contiguous", at: addresses.of(buffer, index) };
  return strided(access, stride, lanes, context);
}

function strided(access: Load | Store, stride: Expr, lanes: number, context: AccessContext): LanePlaces {
  const { addresses, build } = context;
  const size = STORAGE_BYTES[access.buffer.storage];
  const first = addresses.of(access.buffer, access.index);
  if (stride.kind === "const") {
    const step = stride.value * size;
    if (step >= 0)
      return {
        kind: "lanes",
        stride: stride.value,
        lane: (l) => ({ base: first.base, offset: first.offset + l * step }),
      };
    // Downwards: offsets count up from the last lane, which is an element like the first.
    const last = build.share(addI32(first.base, i32((lanes - 1) * step)));
    return { kind: "lanes", lane: (l) => ({ base: last, offset: first.offset - (lanes - 1 - l) * step }) };
  }
  const step = build.share(scaleI32(context.scalar(stride), size));
  const bases: Node[] = [first.base];
  for (let l = 1; l < lanes; l++) bases.push(build.share(addI32(bases[l - 1] as Node, step)));
  return { kind: "lanes", lane: (l) => ({ base: bases[l] as Node, offset: first.offset }) };
}

/** Each lane has a subscript of its own; addresses are computed as vectors and taken apart. */
function gathered(buffer: Buffer, index: Expr, context: AccessContext): LanePlaces {
  const { addresses, build } = context;
  const begin = addresses.of(buffer, { kind: "const", dtype: "i32", lanes: 1, value: 0 });
  const subscripts = context.vector(index);
  const size = STORAGE_BYTES[buffer.storage];
  const base = build.share(op("i32x4.splat", [begin.base]), "splat");
  const parts = subscripts.parts.map((part, p) => {
    const scaled = scaledLanes(part, size * buffer.lanes);
    const own = buffer.lanes > 1 ? op("i32x4.add", [scaled, laneOffsets(p, size)]) : scaled;
    return build.share(op("i32x4.add", [own, base]), "addresses");
  });
  return {
    kind: "lanes",
    lane: (l) => ({ base: op("i32x4.extract_lane", [parts[l >> 2] as Node], l & 3), offset: begin.offset }),
  };
}
const scaledLanes = (part: Node, factor: number): Node =>
  factor === 1 ? part : op("i32x4.shl", [part, i32(Math.log2(factor))]);
/** The bytes by which the copies of lanes p * 4 and up stand apart. */
const laneOffsets = (p: number, size: number): Node =>
  op("v128.const", [], ...new Uint8Array(Int32Array.from({ length: 4 }, (_, l) => (p * 4 + l) * size).buffer));

export function loadVector(e: Load, context: AccessContext): Vector {
  const places = lanePlaces(e, e.lanes, context);
  const { storage } = e.buffer;
  if (places.kind === "contiguous") return loadContiguous(storage, places.at, e.lanes, context);
  if (places.stride === 2 && STORAGE_BYTES[storage] === 4 && e.lanes >= 4) return loadEverySecond(e, places.lane);
  const width = widthOf(e.dtype);
  const perPart = Math.min(lanesPerPart(width), e.lanes);
  const parts = Array.from({ length: partCount(e.lanes, width) }, (_, p) =>
    loadLanes(storage, perPart, (l) => places.lane(p * perPart + l)),
  );
  return vector(e.dtype, e.lanes, parts);
}

/** Elements 0, 2, 4, 6 out of two overlapping loads, neither of which reaches beyond the last one. */
function loadEverySecond(e: Load, lane: (l: number) => Place): Vector {
  const parts = Array.from({ length: e.lanes / 4 }, (_, p) => {
    const { base, offset } = lane(p * 4);
    return shuffle(op("v128.load", [base], offset), op("v128.load", [base], offset + 12), 0, 2, 5, 7);
  });
  return vector(e.dtype, e.lanes, parts);
}

function loadLanes(storage: StorageType, count: number, lane: (l: number) => Place): Node {
  const first = lane(0);
  if (storage === "u8") {
    let bytes: Node = op("i32x4.splat", [op("i32.load8_u", [first.base], first.offset)]);
    for (let l = 1; l < count; l++) {
      const { base, offset } = lane(l);
      bytes = op("i32x4.replace_lane", [bytes, op("i32.load8_u", [base], offset)], l);
    }
    return bytes;
  }
  const bits = storage === "f64" ? 64 : 32;
  let result: Node = op(`v128.load${bits}_zero`, [first.base], first.offset);
  for (let l = 1; l < count; l++) {
    const { base, offset } = lane(l);
    result = op(`v128.load${bits}_lane`, [base, result], offset, l);
  }
  return result;
}

function loadContiguous(storage: StorageType, at: Place, lanes: number, context: AccessContext): Vector {
  const dtype = LOADED_TYPE[storage];
  if (storage === "u8") return vector("i32", lanes, loadBytes(at, lanes, context));
  if (lanes * STORAGE_BYTES[storage] === 8) return vector(dtype, lanes, [op("v128.load64_zero", [at.base], at.offset)]);
  const parts = Array.from({ length: partCount(lanes, widthOf(dtype)) }, (_, p) =>
    op("v128.load", [at.base], at.offset + 16 * p),
  );
  return vector(dtype, lanes, parts);
}

function loadBytes(at: Place, lanes: number, { build }: AccessContext): Node[] {
  if (lanes < 8) {
    const bytes =
      lanes === 2
        ? op("i32x4.splat", [op("i32.load16_u", [at.base], at.offset)])
        : op("v128.load32_zero", [at.base], at.offset);
    return [op("i32x4.extend_low_i16x8_u", [op("i16x8.extend_low_i8x16_u", [bytes])])];
  }
  return Array.from({ length: lanes / 8 }, (_, g) =>
    build.share(op("v128.load8x8_u", [at.base], at.offset + 8 * g)),
  ).flatMap((eight) => [op("i32x4.extend_low_i16x8_u", [eight]), op("i32x4.extend_high_i16x8_u", [eight])]);
}

export function storeVector(s: Store, context: AccessContext): void {
  const { build } = context;
  const { lanes } = s.value;
  const value = context.vector(s.value);
  const mask = s.mask && context.vector(s.mask);
  const places = lanePlaces(s, lanes, context);
  if (places.kind === "contiguous") {
    const { storage } = s.buffer;
    const old = (): Vector => loadContiguous(storage, places.at, lanes, context);
    const merged = mask ? vectorSelect(mask, value, old(), context) : value;
    return storeContiguous(storage, places.at, merged, isByte(s.value) && !mask, context);
  }
  const shared = shareVector(build, value);
  const bits = mask && shareMaskBits(maskOf(build, mask, value.width), context);
  const perPart = lanesPerPart(value.width);
  for (let l = 0; l < lanes; l++) {
    const [part, lane] = [Math.floor(l / perPart), l % perPart];
    const write = storeLane(s.buffer.storage, places.lane(l), shared.parts[part] as Node, lane);
    build.emit(bits ? when(op("i32.and", [bits[part] as Node, i32(1 << lane)]), [write]) : write);
  }
}

const shareMaskBits = (mask: Vector, { build }: AccessContext): Node[] =>
  mask.parts.map((_, p) => build.share(laneBits(mask, p)));

function storeLane(storage: StorageType, at: Place, part: Node, lane: number): Node {
  switch (storage) {
    case "u8":
      return op("v128.store8_lane", [at.base, part], at.offset, lane * 4);
    case "f64":
      return op("v128.store64_lane", [at.base, part], at.offset, lane);
    case "f32":
    case "i32":
    case "u32":
      return op("v128.store32_lane", [at.base, part], at.offset, lane);
    default:
      return storage satisfies never;
  }
}

/** Whether an i32 is certainly in 0..255. */
function isByte(e: Expr): boolean {
  switch (e.kind) {
    case "const":
      return e.value >= 0 && e.value <= 255;
    case "convert":
      return e.x.dtype === "bool";
    case "load":
      return e.buffer.storage === "u8";
    case "select":
      return isByte(e.a) && isByte(e.b);
    case "splat":
      return isByte(e.x);
    case "binary":
      return e.op === "and" && (isByte(e.a) || isByte(e.b));
    default:
      return false;
  }
}

/** All parts are computed before the first is stored, and the stores stand next to each other. */
function storeContiguous(
  storage: StorageType,
  at: Place,
  value: Vector,
  bytesOnly: boolean,
  { build }: AccessContext,
): void {
  const parts = storage === "u8" ? packBytes(value, bytesOnly) : value.parts;
  const bytes = value.lanes * STORAGE_BYTES[storage];
  if (bytes < 16) {
    const name = { 2: "v128.store16_lane", 4: "v128.store32_lane", 8: "v128.store64_lane" } as const;
    build.emit(op(name[bytes as 2 | 4 | 8], [at.base, parts[0] as Node], at.offset, 0));
    return;
  }
  const ready = parts.length === 1 ? parts : parts.map((part) => build.share(part));
  ready.forEach((part, p) => {
    build.emit(op("v128.store", [at.base, part], at.offset + 16 * p));
  });
}

/** The low bytes of 32-bit lanes, 16 to a register; the narrowing instructions saturate, so upper bits go first. */
function packBytes(value: Vector, bytesOnly: boolean): Node[] {
  const low = (part: Node): Node => (bytesOnly ? part : op("v128.and", [part, byteMask()]));
  const parts = value.parts.map(low);
  const pairs = Array.from({ length: Math.ceil(parts.length / 2) }, (_, k) =>
    op("i16x8.narrow_i32x4_u", [parts[2 * k] as Node, parts[2 * k + 1] ?? zeroes()]),
  );
  return Array.from({ length: Math.ceil(pairs.length / 2) }, (_, k) =>
    op("i8x16.narrow_i16x8_u", [pairs[2 * k] as Node, pairs[2 * k + 1] ?? zeroes()]),
  );
}
const byteMask = (): Node => op("v128.const", [], ...new Array<number[]>(4).fill([255, 0, 0, 0]).flat());
const zeroes = (): Node => op("v128.const", [], ...new Array<number>(16).fill(0));
