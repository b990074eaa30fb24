/**
 * @file From a lowered program to the code of a module: plans memory, emits every function, adds what they need.
 */
import type { Buffer, Func } from "../../ir/nodes.ts";
import { eachStmt } from "../../ir/walk.ts";
import { FAULT_WORD, type Lowered } from "../target.ts";
import { addI32, type FunctionRef, i32, type Node, op } from "./code.ts";
import { FunctionBuilder } from "./function.ts";
import { HELPERS, helperCode } from "./helpers.ts";
import { isJoinable } from "./joined.ts";
import { frameBytes, launchCode, MIN_OPERATIONS, newThunk, type Thunk, thunkCode } from "./launch.ts";
import { alignUp, GLOBALS, SCRATCH_GLOBAL, SCRATCH_HEADER, type ScratchLayout, type ThreadPlan } from "./layout.ts";
import type { ValueType } from "./opcodes.ts";
import { type FunctionPlan, type ProgramPlan, planProgram } from "./plan.ts";
import { type HelperName, SCALAR_TYPES } from "./scalar.ts";
import { type Bases, declareArguments, declareParams, type ProgramLinks, Statements } from "./statements.ts";
import type { FunctionCode, ModuleCode } from "./writer.ts";

export interface CodeOptions {
  readonly sharedMemory: boolean;
  /** Relaxed SIMD may be used. */
  readonly relaxed: boolean;
  /** relaxed_madd rounds once. */
  readonly fusedMadd: boolean;
  /** The engine can join pairs of vectors, in a module of functions that are fit for it. */
  readonly joined: boolean;
  /** Threads for launches, the caller's included; 1 keeps all on the caller's. */
  readonly threads: number;
  /** Scalar operations from which on a launch uses several threads. */
  readonly minOperations?: number;
}

export interface ProgramCode {
  readonly module: ModuleCode;
  /** Functions to be compiled with joined pairs, which the module imports. */
  readonly joined: ModuleCode | undefined;
  readonly scratch: ScratchLayout;
  /** Contents of tables, by offset in the scratch region. */
  readonly tables: ReadonlyMap<Buffer, number>;
  /** Whether some launch may use several threads. */
  readonly threaded: boolean;
}

export const ENTRY = "run";

function paramTypes(plan: FunctionPlan): ValueType[] {
  const bases = [plan.arena, plan.tables, plan.stackBytes > 0].filter(Boolean).map((): ValueType => "i32");
  return [...bases, ...argumentTypes(plan)];
}
function argumentTypes(plan: FunctionPlan): ValueType[] {
  const buffers = plan.buffers.flatMap((b): ValueType[] => (b.length === undefined ? ["i32", "i32"] : ["i32"]));
  return [...buffers, ...plan.func.params.map((p) => SCALAR_TYPES[p.dtype])];
}
/** Where the stack stands among a function's parameters. */
const stackPosition = (plan: FunctionPlan): number | undefined =>
  plan.stackBytes ? Number(plan.arena) + Number(plan.tables) : undefined;

/** The functions that are launched on several threads, each with its widest frame. */
function threadedBodies(plan: ProgramPlan): Map<Func, number> {
  const found = new Map<Func, number>();
  for (const { func } of plan.functions.values()) {
    eachStmt(func.body, (s) => {
      if (s.kind !== "launch" || !s.threaded) return;
      const body = plan.functions.get(s.func) as FunctionPlan;
      found.set(s.func, frameBytes(paramTypes(body).length));
    });
  }
  return found;
}

function planScratch(plan: ProgramPlan, entry: Func, threads: number, frames: Iterable<number>): ScratchLayout {
  const tables = SCRATCH_HEADER.bytes;
  const frame = tables + plan.tableBytes;
  const stacks = alignUp(frame + Math.max(0, ...frames), 64);
  const stackBytes = plan.functions.get(entry)?.stackBytes ?? 0;
  return { tables, frame, stacks, stackBytes, moduleBytes: stacks + threads * stackBytes };
}

/** The types of all functions, under names that differ. */
function declareFunctions(plan: ProgramPlan, entry: Func): Map<Func, FunctionRef> {
  const taken = new Map<string, number>();
  const named = (func: Func): string => {
    const base = func.name.replace(/[^A-Za-z0-9_.]/g, "_");
    const again = taken.get(base) ?? 0;
    taken.set(base, again + 1);
    return again ? `${base}:${again}` : base;
  };
  return new Map(
    [...plan.functions].map(([func, p]): [Func, FunctionRef] => {
      if (func === entry) return [func, { name: named(func), params: ["i32", ...argumentTypes(p)], result: "i32" }];
      return [func, { name: named(func), params: paramTypes(p), result: undefined }];
    }),
  );
}

/** Emits all functions of one program. */
class ProgramEmitter {
  readonly functions: FunctionCode[] = [];
  readonly #plan: ProgramPlan;
  readonly #links: ProgramLinks;
  readonly #scratch: ScratchLayout;
  readonly #helpers = new Set<HelperName>();
  readonly #thunks = new Map<Func, Thunk>();

  constructor(
    lowered: Lowered,
    plan: ProgramPlan,
    options: CodeOptions,
    threads: ThreadPlan | undefined,
    scratch: ScratchLayout,
  ) {
    const { entry } = lowered.module;
    this.#plan = plan;
    this.#scratch = scratch;
    this.#links = {
      fusedMadd: options.fusedMadd,
      relaxed: options.relaxed,
      helper: (name) => this.#helper(name),
      plans: plan.functions,
      refs: declareFunctions(plan, entry),
      tables: plan.tables,
      arena: lowered.arena.offsets,
      threads,
      thunk: (func) => this.#thunk(func),
    };
    for (const p of plan.functions.values()) this.functions.push(p.func === entry ? this.#emitEntry(p) : this.#emit(p));
    if (threads) this.functions.push(...launchCode(threads));
    for (const name of this.#helpers) this.functions.push(helperCode(name));
  }

  #helper(name: HelperName): FunctionRef {
    this.#helpers.add(name);
    return HELPERS[name];
  }

  #thunk(func: Func): Thunk {
    let thunk = this.#thunks.get(func);
    if (!thunk) {
      thunk = newThunk(this.#thunks.size);
      this.#thunks.set(func, thunk);
      const body = this.#plan.functions.get(func) as FunctionPlan;
      this.functions.push(thunkCode(thunk, this.#links.refs.get(func) as FunctionRef, stackPosition(body)));
    }
    return thunk;
  }

  #emit(plan: FunctionPlan): FunctionCode {
    const ref = this.#links.refs.get(plan.func) as FunctionRef;
    const build = new FunctionBuilder();
    const { bases, buffers, scalars } = declareParams(build, plan);
    const statements = new Statements(build, this.#links, plan, bases, buffers);
    for (const [local, at] of scalars) statements.expressions.bind(local, at);
    statements.clearLocals();
    statements.body(plan.func.body);
    return build.finish(ref);
  }

  /** The entry finds its bases itself, clears the fault word and returns it. */
  #emitEntry(plan: FunctionPlan): FunctionCode {
    const ref = this.#links.refs.get(plan.func) as FunctionRef;
    const build = new FunctionBuilder();
    const arena = build.param("i32", "arena");
    const { buffers, scalars } = declareArguments(build, plan);
    const scratch: Node = { kind: "global", index: SCRATCH_GLOBAL };
    const at = (offset: number, name: string) => build.keep(addI32(scratch, i32(offset)), name);
    const bases: Bases = {
      arena,
      tables: plan.tables ? at(this.#scratch.tables, "tables") : undefined,
      stack: plan.stackBytes ? at(this.#scratch.stacks, "stack") : undefined,
    };
    const statements = new Statements(build, this.#links, plan, bases, buffers);
    for (const [local, given] of scalars) statements.expressions.bind(local, given);
    if (plan.arena) build.emit(op("i32.store", [arena, i32(0)], 4 * FAULT_WORD));
    statements.clearLocals();
    statements.body(plan.func.body);
    build.emit(plan.arena ? op("i32.load", [arena], 4 * FAULT_WORD) : i32(0));
    return build.finish(ref, ENTRY);
  }
}

export function compileProgram(lowered: Lowered, options: CodeOptions): ProgramCode {
  const plan = planProgram(lowered.module);
  const { entry } = lowered.module;
  const bodies = options.threads > 1 && options.sharedMemory ? threadedBodies(plan) : new Map<Func, number>();
  const threaded = bodies.size > 0;
  const count = threaded ? options.threads : 1;
  const scratch = planScratch(plan, entry, count, bodies.values());
  const threads: ThreadPlan | undefined = threaded
    ? { threads: count, scratch, minOperations: options.minOperations ?? MIN_OPERATIONS }
    : undefined;
  const { functions } = new ProgramEmitter(lowered, plan, options, threads, scratch);
  const joined = options.joined ? functions.filter(isJoinable) : [];
  const { sharedMemory } = options;
  return {
    module: {
      sharedMemory,
      imports: joined.map((f) => f.ref),
      globals: GLOBALS,
      functions: functions.filter((f) => !joined.includes(f)),
    },
    joined: joined.length ? joinedModule(sharedMemory, joined) : undefined,
    scratch,
    tables: new Map([...plan.tables].map(([b, offset]) => [b, scratch.tables + offset])),
    threaded,
  };
}

function joinedModule(sharedMemory: boolean, functions: readonly FunctionCode[]): ModuleCode {
  const exported = functions.map((f) => ({ ...f, exported: f.ref.name }));
  return { sharedMemory, imports: [], globals: [], functions: exported };
}
