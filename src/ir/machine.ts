/**
 * @file The interpreter's memory: arrays by buffer, the fault number, and who touched which element of a parallel loop.
 */
import { newArray, type TypedArray } from "./arrays.ts";
import { IrError } from "./build.ts";
import type { Buffer } from "./nodes.ts";

/** Two iterations of one parallel loop touched the same element, and one of them wrote it. */
export class RaceError extends Error {
  override readonly name = "RaceError";
}

/** Who touched an element in the running parallel loop: writer and reader iterations, -1 for none, -2 for several. */
interface Shadow {
  readonly writer: Int32Array;
  readonly reader: Int32Array;
}

export class Machine {
  readonly memory = new Map<Buffer, TypedArray>();
  /** The running parallel loop's iteration and what it touched; undefined outside. */
  race: { iteration: number; shadows: Map<TypedArray, Shadow> } | undefined;
  fault = 0;

  array(b: Buffer): TypedArray {
    let found = this.memory.get(b);
    if (!found) {
      if (b.space === "param") throw new IrError(`no memory given for ${b.name}`);
      found = newArray(b.storage, (b.length ?? 0) * b.lanes);
      if (b.data) found.set(b.data);
      this.memory.set(b, found);
    }
    return found;
  }

  touch(b: Buffer, index: number, write: boolean): TypedArray {
    const array = this.array(b);
    // A clamped subscript of an empty buffer: targets read and write a spare element, and a fault is raised already.
    if (array.length === 0 && index === 0 && this.fault) return newArray(b.storage, 1);
    if (!(index >= 0 && index < array.length))
      throw new IrError(`${b.name}[${index}] is out of range 0..${array.length - 1}`);
    if (this.race && !this.fault && b.space !== "local" && b.space !== "table") this.#claim(b, array, index, write);
    return array;
  }

  #claim(b: Buffer, array: TypedArray, index: number, write: boolean): void {
    const race = this.race as NonNullable<typeof this.race>;
    let shadow = race.shadows.get(array);
    if (!shadow) {
      shadow = { writer: new Int32Array(array.length).fill(-1), reader: new Int32Array(array.length).fill(-1) };
      race.shadows.set(array, shadow);
    }
    const me = race.iteration;
    const writer = shadow.writer[index] as number;
    const reader = shadow.reader[index] as number;
    const clash = (writer !== -1 && writer !== me) || (write && reader !== -1 && reader !== me);
    if (clash) throw new RaceError(`iterations ${me} and ${writer === -1 ? reader : writer} share ${b.name}[${index}]`);
    if (write) shadow.writer[index] = me;
    else shadow.reader[index] = reader === -1 || reader === me ? me : -2;
  }
}
