/**
 * @file The interpreter: what a Module means, executed node by node.
 *
 * It favours being obviously right over speed, runs every stage of the pipeline (scalar, sharded, vector), checks
 * every subscript, and finds iterations of a parallel loop that touch each other's elements. Targets are tested
 * against it.
 */
import { newArray, type TypedArray } from "./arrays.ts";
import { IrError } from "./build.ts";
import { Machine } from "./machine.ts";
import type {
  Buffer,
  Expr,
  For,
  Func,
  Label,
  Launch,
  Load,
  Local,
  Module,
  Pack,
  Recur,
  Reduction,
  Stmt,
  Store,
} from "./nodes.ts";
import { combinePartials, recurrence, reduceIdentity, shardLength } from "./reduce.ts";
import { binaryValue, convertValue, fmaValue, roundTo, unaryValue } from "./scalar.ts";
import { REDUCE_PARTIALS, SCAN_BLOCK } from "./types.ts";
import { filledLocals } from "./walk.ts";

export { newArray, type TypedArray } from "./arrays.ts";
export { RaceError } from "./machine.ts";

/** A value in a register: a number, or one number per lane. */
type Value = number | readonly number[];

const laneOf = (v: Value, l: number): number => (typeof v === "number" ? v : (v[l] as number));
function lanewise(lanes: number, f: (l: number) => number): Value {
  return lanes === 1 ? f(0) : Array.from({ length: lanes }, (_, l) => f(l));
}

/** How a list of statements ended: normally, or leaving through a label. */
type Leaving = Label | undefined;

class Frame {
  readonly #locals = new Map<Local, Value>();
  readonly #machine: Machine;
  constructor(machine: Machine) {
    this.#machine = machine;
  }

  set(l: Local, v: Value): void {
    this.#locals.set(l, v);
  }
  read(l: Local): Value {
    const v = this.#locals.get(l);
    if (v === undefined) throw new IrError(`${l.name} is read before it is assigned`);
    return v;
  }

  /** A frame that starts from this one's values; its own assignments stay in it. */
  child(machine: Machine): Frame {
    const frame = new Frame(machine);
    for (const [l, v] of this.#locals) frame.set(l, v);
    return frame;
  }

  value(e: Expr): Value {
    switch (e.kind) {
      case "const":
        return lanewise(e.lanes, () => e.value);
      case "get":
        return this.read(e.local);
      case "length":
        return e.buffer.length ?? this.#machine.array(e.buffer).length;
      case "unary": {
        const x = this.value(e.x);
        return lanewise(e.lanes, (l) => unaryValue(e.op, e.x.dtype, laneOf(x, l)));
      }
      case "binary": {
        const a = this.value(e.a);
        const b = this.value(e.b);
        return lanewise(e.lanes, (l) => binaryValue(e.op, e.a.dtype, laneOf(a, l), laneOf(b, l)));
      }
      case "select": {
        const c = this.value(e.condition);
        const a = this.value(e.a);
        const b = this.value(e.b);
        return lanewise(e.lanes, (l) => (laneOf(c, l) ? laneOf(a, l) : laneOf(b, l)));
      }
      case "fma": {
        const [a, b, c] = [this.value(e.a), this.value(e.b), this.value(e.c)];
        return lanewise(e.lanes, (l) => fmaValue(laneOf(a, l), laneOf(b, l), laneOf(c, l)));
      }
      case "convert": {
        const x = this.value(e.x);
        return lanewise(e.lanes, (l) => convertValue(e.x.dtype, e.dtype, laneOf(x, l)));
      }
      case "load": {
        const at = this.#places(e, e.lanes);
        return lanewise(e.lanes, (l) => this.#machine.touch(e.buffer, at(l), false)[at(l)] as number);
      }
      case "splat": {
        const x = this.value(e.x);
        return lanewise(e.lanes, () => laneOf(x, 0));
      }
      case "iota":
        return lanewise(e.lanes, (l) => l);
      case "any": {
        const x = this.value(e.x);
        return Array.from({ length: e.x.lanes }, (_, l) => laneOf(x, l)).some((v) => v !== 0) ? 1 : 0;
      }
      case "shuffle": {
        const [a, b] = [this.value(e.a), this.value(e.b)];
        const n = e.a.lanes;
        return lanewise(e.lanes, (l) => {
          const from = e.order[l] as number;
          return from < n ? laneOf(a, from) : laneOf(b, from - n);
        });
      }
      case "lane":
        return laneOf(this.value(e.x), e.at);
      default:
        return e satisfies never;
    }
  }

  scalar(e: Expr): number {
    return laneOf(this.value(e), 0);
  }

  /** The element that each lane of an access reaches. */
  #places(access: Load | Store, lanes: number): (l: number) => number {
    const index = this.value(access.index);
    const stride = access.stride ? this.scalar(access.stride) : 0;
    const copies = access.buffer.lanes;
    if (copies > 1) return (l) => laneOf(index, l) * copies + l;
    if (access.stride && lanes > 1) return (l) => (laneOf(index, 0) + Math.imul(l, stride)) | 0;
    return (l) => laneOf(index, l);
  }

  run(body: readonly Stmt[]): Leaving {
    for (const s of body) {
      const leaving = this.#step(s);
      if (leaving) return leaving;
    }
    return undefined;
  }

  #step(s: Stmt): Leaving {
    switch (s.kind) {
      case "assign":
        this.set(s.local, this.value(s.value));
        return undefined;
      case "recur":
        throw new IrError("a recurrence outside of a scan");
      case "store":
        this.#store(s);
        return undefined;
      case "pack":
        this.#pack(s);
        return undefined;
      case "if":
        return this.run(this.scalar(s.condition) ? s.then : s.else);
      case "for":
        return this.#for(s);
      case "loop":
        for (;;) {
          const leaving = this.run(s.body);
          if (leaving) return leaving === s.label ? undefined : leaving;
        }
      case "block": {
        const leaving = this.run(s.body);
        return leaving === s.label ? undefined : leaving;
      }
      case "exit":
        return s.label;
      case "fault": {
        const c = this.value(s.condition);
        if (typeof c === "number" ? c : c.some((v) => v !== 0)) this.#machine.fault ||= s.site;
        return undefined;
      }
      case "call":
        this.#call(s.func, s.buffers, s.args);
        return undefined;
      case "launch":
        this.#launch(s);
        return undefined;
      default:
        return s satisfies never;
    }
  }

  #store(s: Store): void {
    const at = this.#places(s, s.value.lanes);
    const value = this.value(s.value);
    const mask = s.mask && this.value(s.mask);
    for (let l = 0; l < s.value.lanes; l++) {
      if (mask === undefined || laneOf(mask, l)) this.#machine.touch(s.buffer, at(l), true)[at(l)] = laneOf(value, l);
    }
  }

  #pack(s: Pack): void {
    const [from, value, mask] = [this.scalar(s.index), this.value(s.value), this.value(s.mask)];
    let found = 0;
    for (let l = 0; l < s.value.lanes; l++) {
      this.#machine.touch(s.buffer, from + found, true)[from + found] = laneOf(value, l);
      if (laneOf(mask, l)) found++;
    }
    this.set(s.found, found);
  }

  *#indices(s: For): Generator<number> {
    const begin = this.scalar(s.begin);
    const end = this.scalar(s.end);
    for (let i = begin; s.step > 0 ? i < end : i > end; i += s.step) yield i;
  }

  #serial(s: For): Leaving {
    for (const i of this.#indices(s)) {
      this.set(s.index, i);
      const leaving = this.run(s.body);
      if (leaving) return leaving === s.label ? undefined : leaving;
    }
    return undefined;
  }

  #for(s: For): Leaving {
    switch (s.axis) {
      case "serial":
      case "vector":
        return this.#serial(s);
      case "parallel":
        return this.#parallel(s);
      case "partial":
        this.#shard(s, [...this.#indices(s)], this.#machine.race === undefined).forEach((total, n) => {
          this.set((s.reductions[n] as Reduction).local, total);
        });
        return undefined;
      case "scan":
        return this.#scan(s);
      default:
        return s.axis satisfies never;
    }
  }

  /** Blocks of a scan, then the rest one by one; see SCAN_BLOCK. */
  #scan(s: For): Leaving {
    const outermost = this.#machine.race === undefined;
    if (outermost) this.#machine.race = { iteration: 0, shadows: new Map() };
    const indices = [...this.#indices(s)];
    const whole = indices.length - (indices.length % SCAN_BLOCK);
    for (let k = 0; k < indices.length; k += k < whole ? SCAN_BLOCK : 1)
      this.#scanBlock(s, indices.slice(k, k + (k < whole ? SCAN_BLOCK : 1)), outermost);
    if (outermost) this.#machine.race = undefined;
    return undefined;
  }

  #scanBlock(s: For, indices: readonly number[], outermost: boolean): void {
    const frames = indices.map(() => this.child(this.#machine));
    // Local arrays belong to an iteration, and those of a block are under way together.
    const arrays = indices.map(() =>
      [...filledLocals(s.body)].map((b) => [b, newArray(b.storage, b.length ?? 0)] as const),
    );
    let begin = 0;
    for (const [end, step] of [...s.body.entries(), [s.body.length, undefined] as const]) {
      if (step && step.kind !== "recur") continue;
      const part = { ...s, body: s.body.slice(begin, end) };
      const enter = (k: number): void => {
        for (const [b, array] of arrays[k] ?? []) this.#machine.memory.set(b, array);
      };
      indices.forEach((i, k) => {
        enter(k);
        this.#iteration(part, i, frames[k] as Frame, outermost);
      });
      begin = end + 1;
      if (step) this.#recur(step, frames, enter);
    }
  }

  #recur({ local: l, term, factor }: Recur, frames: readonly Frame[], enter: (k: number) => void): void {
    const maps = frames.map((f, k) => {
      enter(k);
      return { a: f.scalar(factor), b: f.scalar(term) };
    });
    const values = recurrence(l.dtype, maps, this.read(l) as number);
    frames.forEach((f, k) => {
      f.set(l, values[k] as number);
    });
    this.set(l, values.at(-1) as number);
  }

  /** One iteration of a parallel loop, with race detection in the outermost one. */
  #iteration(s: For, i: number, frame: Frame, outermost: boolean): void {
    if (outermost && this.#machine.race) this.#machine.race.iteration = i;
    frame.set(s.index, i);
    if (frame.run(s.body)) throw new IrError("a parallel loop was left early");
  }

  #parallel(s: For): Leaving {
    const outermost = this.#machine.race === undefined;
    if (outermost) this.#machine.race = { iteration: 0, shadows: new Map() };
    if (s.reductions.length) this.#reduce(s, outermost);
    else for (const i of this.#indices(s)) this.#iteration(s, i, this.child(this.#machine), outermost);
    if (outermost) this.#machine.race = undefined;
    return undefined;
  }

  #reduce(s: For, outermost: boolean): void {
    const indices = [...this.#indices(s)];
    const length = shardLength(indices.length);
    for (let first = 0; first < indices.length; first += length) {
      const totals = this.#shard(s, indices.slice(first, first + length), outermost);
      s.reductions.forEach((r, n) => {
        const sum = binaryValue(r.op, r.local.dtype, this.read(r.local) as number, totals[n] as number);
        this.set(r.local, sum);
      });
    }
  }

  /** One shard: iteration k combines into partial k mod partials; returns each reduction's combined partials. */
  #shard(s: For, indices: readonly number[], outermost: boolean): number[] {
    const partials = s.reductions.map((r) =>
      new Array<number>(REDUCE_PARTIALS[r.local.dtype]).fill(
        roundTo(r.local.dtype, reduceIdentity(r.op, r.local.dtype)),
      ),
    );
    indices.forEach((i, k) => {
      const frame = this.child(this.#machine);
      s.reductions.forEach((r, n) => {
        frame.set(r.local, at(partials[n], k));
      });
      this.#iteration(s, i, frame, outermost);
      s.reductions.forEach((r, n) => {
        const list = partials[n] as number[];
        list[k % list.length] = frame.read(r.local) as number;
      });
    });
    return s.reductions.map((r, n) => combinePartials(r.op, r.local.dtype, partials[n] as number[]));
  }

  #call(func: Func, buffers: readonly Buffer[], args: readonly Expr[]): void {
    const machine = this.#machine;
    func.buffers.forEach((b, k) => {
      machine.memory.set(b, machine.array(buffers[k] as Buffer));
    });
    const frame = new Frame(machine);
    func.params.forEach((p, k) => {
      frame.set(p, this.value(args[k] as Expr));
    });
    frame.run(func.body);
  }

  /** In two pieces, to show that pieces are independent. */
  #launch(s: Launch): void {
    const count = this.scalar(s.count);
    const middle = s.threaded ? count >> 1 : 0;
    for (const [begin, end] of [
      [0, middle],
      [middle, count],
    ] as const) {
      const frame = new Frame(this.#machine);
      s.func.params.forEach((p, k) => {
        const arg = s.args[k];
        frame.set(p, arg ? this.value(arg) : k === s.args.length ? begin : end);
      });
      if (begin < end) frame.run(s.func.body);
    }
  }
}

const at = (list: readonly number[] | undefined, k: number): number =>
  (list as number[])[k % (list as number[]).length] as number;

/** What the entry is called with: an array for each of its buffers, a number for each parameter. */
export interface InterpretArguments {
  readonly buffers: readonly TypedArray[];
  readonly params: readonly number[];
  /** Memory of `temp` and `state` buffers to use (and keep) instead of fresh zeros. */
  readonly arena?: ReadonlyMap<Buffer, TypedArray>;
}

/** Runs a module; returns its fault number, 0 when there was none. */
export function interpret(module: Module, args: InterpretArguments): number {
  const machine = new Machine();
  for (const [b, array] of args.arena ?? []) machine.memory.set(b, array);
  module.entry.buffers.forEach((b, k) => {
    machine.memory.set(b, args.buffers[k] as TypedArray);
  });
  const frame = new Frame(machine);
  module.entry.params.forEach((p, k) => {
    frame.set(p, args.params[k] as number);
  });
  frame.run(module.entry.body);
  return machine.fault;
}
