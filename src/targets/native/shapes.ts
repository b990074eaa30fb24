/**
 * @file How vector values of a function are cut into machine registers.
 *
 * All values with the same number of lanes are cut at the same lanes, so that an operation on a part needs only the
 * same parts of its operands: with f64 among them a part has half as many lanes as without. Conversions between
 * types then never move lanes between registers. Where f64 appears only behind "does any lane need this", parts keep
 * the width of f32 and the compiler cuts the wider f64 vectors itself: slower there, twice as fast everywhere else.
 *
 * A bool vector is a mask of 4-byte or 8-byte lanes: 8 where it comes from f64 (or is mixed with such a mask, since
 * widening is cheaper than narrowing), 4 otherwise.
 */
import type { Binary, Const, Expr, Func, Load, Local } from "../../ir/nodes.ts";
import { type Facts, factsOf } from "./facts.ts";

export type MaskBytes = 4 | 8;

export class Shapes {
  readonly #vectorBytes: number;
  readonly #facts: Facts;
  readonly #masks = new Map<Local, MaskBytes>();

  constructor(f: Func, vectorBytes: number) {
    this.#vectorBytes = Math.max(vectorBytes, 16);
    this.#facts = factsOf(f);
    this.#settleMasks();
  }

  /** A local's mask is as wide as the widest that is assigned to it; widths only grow, so this ends. */
  #settleMasks(): void {
    for (let changed = true; changed; ) {
      changed = false;
      for (const { local, value } of this.#facts.masks) {
        if (this.#masks.get(local) === 8 || this.maskBytes(value) !== 8) continue;
        this.#masks.set(local, 8);
        changed = true;
      }
    }
  }

  /** Lanes in each part of a value of `lanes` lanes: a power of two, as C wants it; rows of three are not. */
  partLanes(lanes: number): number {
    return Math.min(lanes & -lanes, this.#vectorBytes / (this.#facts.wide.has(lanes) ? 8 : 4));
  }

  parts(lanes: number): number {
    return lanes / this.partLanes(lanes);
  }

  localMask(l: Local): MaskBytes {
    return this.#masks.get(l) ?? 4;
  }

  /** Bytes next to f64 values are widened to 8 bytes at once: their test then selects f64 values as it is. */
  #isWideByteTest(e: Binary): boolean {
    return this.#facts.wide.has(e.lanes) && isByteTest(e);
  }

  /** The natural mask width of a bool vector expression. */
  maskBytes(e: Expr): MaskBytes {
    switch (e.kind) {
      case "get":
        return this.localMask(e.local);
      case "unary":
        return this.maskBytes(e.x);
      case "binary":
        if (e.a.dtype !== "bool") return e.a.dtype === "f64" || this.#isWideByteTest(e) ? 8 : 4;
        return wider(this.maskBytes(e.a), this.maskBytes(e.b));
      case "select":
        return wider(wider(this.maskBytes(e.condition), this.maskBytes(e.a)), this.maskBytes(e.b));
      default:
        return 4;
    }
  }
}

/** Whether neighbouring bytes are compared with a number. */
export function isByteTest(e: Binary): e is Binary & { a: Load; b: Const } {
  const { a, b } = e;
  if (a.kind !== "load" || b.kind !== "const" || a.buffer.storage !== "u8" || a.buffer.lanes > 1) return false;
  return e.dtype === "bool" && a.stride?.kind === "const" && a.stride.value === 1;
}

const wider = (a: MaskBytes, b: MaskBytes): MaskBytes => (a === 8 || b === 8 ? 8 : 4);
