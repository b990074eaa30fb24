/**
 * @file Launches on several threads: the code that hands pieces out, takes part, and waits for the last one.
 *
 * The launching thread writes what the body needs to a frame in memory, opens a job, takes pieces like everyone else,
 * closes the job and spins until no helper is inside. A helper enters by adding itself to `active` and looking again
 * whether the job is still open: either it sees that it is closed, or the launcher sees that someone is inside. Only
 * one launch of the process uses several threads at a time; all others run alone, nested ones too.
 */
import {
  addI32,
  block,
  branch,
  call,
  choose,
  type FunctionRef,
  i32,
  loop,
  type Node,
  op,
  set,
  target,
  typeOf,
  when,
} from "./code.ts";
import { FunctionBuilder } from "./function.ts";
import { CONTROL, CONTROL_GLOBAL, PROCESS, SCRATCH_GLOBAL, SCRATCH_HEADER, type ThreadPlan } from "./layout.ts";
import type { OpName, ValueType } from "./opcodes.ts";
import type { FunctionCode } from "./writer.ts";

export interface LaunchArguments {
  /** What the body takes before the piece's begin and end; cheap to repeat. */
  readonly args: readonly Node[];
  readonly count: Node;
  /** Estimated scalar operations of one iteration, and how many lanes do them side by side. */
  readonly cost: number;
  readonly lanes: number;
  /** The launcher's free stack. */
  readonly stack: Node;
  /** The launch on this thread alone. */
  readonly alone: Node;
}

/**
 * Operations below which a launch stays on one thread: about 20 us, several times what it costs to open a job for
 * helpers that are awake. Vector code does `lanes` of them in half the time of a scalar one.
 */
export const MIN_OPERATIONS = 60_000;
const VECTOR_GAIN = 2;
/** Pieces per thread: enough to even out threads that start late, few enough to be cheap. */
const PIECES_PER_THREAD = 4;
/** Every value in a frame has a slot of this many bytes; the first two hold the count and the piece's size. */
const SLOT = 8;
const FIRST_ARGUMENT = 2 * SLOT;
export const frameBytes = (args: number): number => FIRST_ARGUMENT + args * SLOT;

const LOADS: { readonly [T in ValueType]: OpName } = {
  i32: "i32.load",
  f32: "f32.load",
  f64: "f64.load",
  i64: "f64.load",
  v128: "v128.load",
};
const STORES: { readonly [T in ValueType]: OpName } = {
  i32: "i32.store",
  f32: "f32.store",
  f64: "f64.store",
  i64: "f64.store",
  v128: "v128.store",
};

const scratch: Node = { kind: "global", index: SCRATCH_GLOBAL };
const control: Node = { kind: "global", index: CONTROL_GLOBAL };
const word = (offset: number): Node => op("i32.atomic.load", [control], offset);

const BEGIN: FunctionRef = { name: "lockstep.beginLaunch", params: [], result: "i32" };
const OPEN: FunctionRef = { name: "lockstep.openJob", params: ["i32", "i32"], result: undefined };
const CLOSE: FunctionRef = { name: "lockstep.closeJob", params: [], result: undefined };

/** Emits a launch that uses several threads when there is enough to do and they are free. */
export function launchPieces(
  build: FunctionBuilder,
  launch: LaunchArguments,
  { threads, scratch: layout, minOperations }: ThreadPlan,
  thunk: Thunk,
): void {
  const { args, count } = launch;
  const speed = launch.lanes > 1 ? launch.lanes * VECTOR_GAIN : 1;
  const minimum = Math.max(2, Math.ceil((minOperations * speed) / Math.max(1, launch.cost)));
  const together = build.collect(() => {
    const frame = build.share(addI32(scratch, i32(layout.frame)), "frame");
    const piece = pieceSize(build, count, threads, Math.ceil(minimum / 4));
    build.emit(op("i32.store", [frame, count]), op("i32.store", [frame, piece], SLOT));
    args.forEach((arg, k) => {
      build.emit(op(STORES[typeOf(arg) as ValueType], [frame, arg], FIRST_ARGUMENT + k * SLOT));
    });
    build.emit(call(OPEN, [i32(thunk.index), frame]), call(thunk.ref, [frame, launch.stack]), call(CLOSE, []));
  });
  const worthIt = op("i32.ge_s", [count, i32(Math.min(minimum, 0x7fffffff))]);
  build.emit(when(choose(worthIt, call(BEGIN, []), i32(0)), together, [launch.alone]));
}

/** An equal share for each of the pieces, rounded up so that vectors and cache lines are not cut. */
function pieceSize(build: FunctionBuilder, count: Node, threads: number, least: number): Node {
  const pieces = threads * PIECES_PER_THREAD;
  const share = build.share(op("i32.div_u", [addI32(count, i32(pieces - 1)), i32(pieces)]));
  const size = build.share(op("select_i32", [share, i32(least), op("i32.gt_u", [share, i32(least)])]));
  const small = op("select_i32", [i32(15), i32(0), op("i32.ge_u", [size, i32(16)])]);
  const mask = build.share(op("select_i32", [i32(63), small, op("i32.ge_u", [size, i32(64)])]));
  return build.share(op("i32.and", [op("i32.add", [size, mask]), op("i32.xor", [mask, i32(-1)])]), "piece");
}

/** The function that takes pieces of a launch's body; helpers know it by its number. */
export interface Thunk {
  readonly ref: FunctionRef;
  readonly index: number;
}
export const newThunk = (index: number): Thunk => ({
  ref: { name: `lockstep.thunk${index}`, params: ["i32", "i32"], result: undefined },
  index,
});

/**
 * Takes pieces until none is left: called by the launcher and by every helper. `stackAt` is the place among the body's
 * parameters of the stack, which is each thread's own.
 */
export function thunkCode({ ref, index }: Thunk, body: FunctionRef, stackAt: number | undefined): FunctionCode {
  const build = new FunctionBuilder();
  const frame = build.param("i32", "frame");
  const stack = build.param("i32", "stack");
  const count = build.keep(op("i32.load", [frame]), "count");
  const piece = build.keep(op("i32.load", [frame], SLOT), "piece");
  const given = body.params.slice(0, -2).map((type, k) => {
    if (k === stackAt) return stack;
    return build.keep(op(LOADS[type], [frame], FIRST_ARGUMENT + k * SLOT), "argument");
  });
  const [again, done] = [target("again"), target("done")];
  const first = build.local("i32", "begin");
  const last = build.local("i32", "end");
  build.emit(
    block(done, [
      loop(again, [
        set(first.index, op("i32.mul", [op("i32.atomic.rmw.add", [control, i32(1)], CONTROL.next), piece])),
        branch(done, op("i32.ge_u", [first, count])),
        set(last.index, op("i32.add", [first, piece])),
        set(last.index, op("select_i32", [last, count, op("i32.lt_u", [last, count])])),
        call(body, [...given, first, last]),
        branch(again),
      ]),
    ]),
  );
  return build.finish(ref, `thunk${index}`);
}

/** 1 when there are helpers and this launch may have them. */
function beginLaunch(): FunctionCode {
  const build = new FunctionBuilder();
  const take = op("i32.eqz", [op("i32.atomic.rmw.cmpxchg", [i32(0), i32(0), i32(1)], PROCESS.busy)]);
  build.emit(choose(control, choose(word(CONTROL.ready), take, i32(0)), i32(0)));
  return build.finish(BEGIN);
}

/** Writes the job down and opens it; wakes helpers that sleep. */
function openJob({ threads, scratch: layout }: ThreadPlan): FunctionCode {
  const build = new FunctionBuilder();
  const thunk = build.param("i32", "thunk");
  const frame = build.param("i32", "frame");
  const write = (offset: number, value: Node): void => build.emit(op("i32.store", [control, value], offset));
  write(CONTROL.program, op("i32.load", [scratch], SCRATCH_HEADER.program));
  write(CONTROL.byteLength, op("i32.load", [scratch], SCRATCH_HEADER.byteLength));
  write(CONTROL.joinedLength, op("i32.load", [scratch], SCRATCH_HEADER.joinedLength));
  write(CONTROL.bytes, addI32(scratch, i32(layout.moduleBytes)));
  write(CONTROL.thunk, thunk);
  write(CONTROL.frame, frame);
  write(CONTROL.stacks, addI32(scratch, i32(layout.stacks)));
  write(CONTROL.stackBytes, i32(layout.stackBytes));
  write(CONTROL.helpers, i32(threads - 1));
  build.emit(op("i32.atomic.store", [control, i32(0)], CONTROL.next));
  build.emit(op("i32.atomic.store", [control, addI32(word(CONTROL.job), i32(1))], CONTROL.job));
  const woken = build.local("i32", "woken");
  const wake = set(woken.index, op("memory.atomic.notify", [control, i32(threads - 1)], CONTROL.job));
  build.emit(when(word(CONTROL.sleepers), [wake]));
  return build.finish(OPEN);
}

/** Closes the job and waits until no helper is inside. */
function closeJob(): FunctionCode {
  const build = new FunctionBuilder();
  const again = target("again");
  build.emit(
    op("i32.atomic.store", [control, addI32(word(CONTROL.job), i32(1))], CONTROL.job),
    loop(again, [branch(again, word(CONTROL.active))]),
    op("i32.atomic.store", [i32(0), i32(0)], PROCESS.busy),
    when(word(CONTROL.failed), [op("unreachable")]),
  );
  return build.finish(CLOSE);
}

/** The functions that every threaded program holds. */
export function launchCode(plan: ThreadPlan): FunctionCode[] {
  return [beginLaunch(), openJob(plan), closeJob()];
}
