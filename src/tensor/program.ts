/**
 * @file `program()`: tensor code recorded once, compiled whole, and run in one call; or, eagerly, operation by operation.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { vectorsAbreast } from "../ir/passes/vectorise.ts";
import { NUMERICS, type Numerics } from "../ir/pipeline.ts";
import { STORED_TYPE } from "../ir/types.ts";
import { didYouMean, type OptionNames, strayOption } from "../platform/suggest.ts";
import { heap } from "../runtime/heap.ts";
import { checkThreads, openProgram } from "../runtime/open.ts";
import type { Program } from "../runtime/program.ts";
import { chooseTarget, defaultThreads, type TargetChoice } from "../runtime/targets.ts";
import type { Machine, Target, TargetName } from "../targets/target.ts";
import { kindOf, refuse } from "./build.ts";
import { EagerRun } from "./eager.ts";
import { emitModule } from "./emit/module.ts";
import type { TileMachine } from "./emit/tiles.ts";
import { explained } from "./explain.ts";
import type { Block, Node } from "./nodes.ts";
import type { Step } from "./plan.ts";
import { pruneBlock } from "./prune.ts";
import { record, recording } from "./recorder.ts";
import { Scheduler } from "./schedule.ts";
import { describeShape, elementsOf, TensorError } from "./shape.ts";
import { disposedStates, type State } from "./state.ts";
import { Tensor } from "./tensor.ts";
import { argumentsOf, outputsOf, type Port, Wiring } from "./wiring.ts";

export interface TensorProgramOptions {
  readonly target?: TargetChoice;
  readonly threads?: number;
  /** How matrix products round: by one operation per product and sum, or two; the faster one of the target unless given. */
  readonly numerics?: Numerics;
  /** Runs every operation by itself, as soon as its turn comes: the same numbers, for looking inside. */
  readonly eager?: boolean;
}

export function tileMachine({ name, machine }: Target, numerics: Numerics, threads: number): TileMachine {
  const lanes = Math.max(1, machine.vectorBytes / 4);
  const rows = tileRows(name, machine);
  // A sum for each row, and what the second factor holds.
  const vectors = vectorsAbreast(rows + 1, machine);
  return { lanes, rows, vectors, fused: numerics === "fused", threads };
}
/**
 * Rows of a tile of a matrix product. Of 16 registers 12 can hold sums; twice as many allow four vectors by four rows. An
 * engine's compiler makes good use of 8, or, where pairs of vectors are joined, of 12 pairs.
 */
function tileRows(name: TargetName, { vectorBytes, vectorRegisters }: Machine): number {
  if (name === "native") return vectorRegisters >= 32 ? 4 : 6;
  return vectorBytes > 16 ? 6 : 4;
}

/** Runs of which the fastest counts when kernels are timed. */
const TIMED_RUNS = 5;

type Arrays = { readonly [name: string]: TypedArray };
type Given = { readonly [name: string]: ArrayLike<number> | number };
export type Outputs = { readonly [name: string]: Tensor };

/** A program that can run: its states have to be there whenever it does. */
interface Runnable {
  readonly states: ReadonlySet<State>;
  readonly run: () => void;
}
interface Compiled extends Runnable {
  readonly program: Program;
  readonly steps: readonly Step[];
}

export class TensorProgram<O extends Outputs = Outputs> {
  readonly name: string;
  /** The arrays that a run reads; fill them in place, or hand others to `run`. */
  readonly inputs: Arrays;
  /** The arrays that a run writes. */
  readonly outputs: { readonly [K in keyof O]: TypedArray };
  readonly target: Target;
  readonly numerics: Numerics;
  readonly #root: Block;
  readonly #options: TensorProgramOptions;
  readonly #ports: ReadonlyMap<string, Port>;
  /** The ports of inputs by the names of those: a run makes no keys of its own. */
  readonly #fed: ReadonlyMap<string, Port>;
  #compiled: Compiled | undefined;
  #eager: EagerRun | undefined;
  #isGone = false;
  /** How many states had been disposed of when those of this program were last seen to be there. */
  #seenDisposals = -1;

  constructor(name: string, build: () => O, options: TensorProgramOptions = {}) {
    checkOptions(name, options);
    const { root, inputs } = record(() => {
      for (const [key, tensor] of outputsFrom(name, build())) recording().output(key, tensor.node);
    });
    pruneBlock(root);
    this.name = name;
    this.#root = root;
    this.#options = options;
    this.target = chooseTarget(options.target ?? "auto").target;
    this.numerics = options.numerics ?? (this.target.machine.fastFma ? "fused" : "unfused");
    const outputs = outputsOf(root);
    this.#ports = new Map([...portsFor("input", inputs), ...portsFor("output", outputs)]);
    const portsOf = (nodes: ReadonlyMap<string, Node>, kind: string): [string, Port][] =>
      [...nodes.keys()].map((key) => [key, this.#ports.get(`${kind} ${key}`) as Port]);
    this.#fed = new Map(portsOf(inputs, "input"));
    this.inputs = arraysOf(this.#fed);
    this.outputs = arraysOf(portsOf(outputs, "output")) as { readonly [K in keyof O]: TypedArray };
  }

  /**
   * Runs once; arrays that are given are copied to the inputs of their names first. Nothing is written before everything
   * has been checked, and nothing is allocated.
   */
  run(given?: Given): this["outputs"] {
    const runnable = this.#ready();
    if (given !== undefined) {
      for (const key in given) this.#checkInput(key, given[key]);
      for (const key in given) this.#fill(key, given[key] as ArrayLike<number> | number);
    }
    runnable.run();
    return this.outputs;
  }
  /** What runs, with all of its states there. */
  #ready(): Runnable {
    const runnable = this.#options.eager ? this.#eagerly() : this.#load();
    if (this.#seenDisposals !== disposedStates()) {
      for (const { name, disposed } of runnable.states)
        if (disposed) throw new TensorError(`${this.name} uses the state ${name}, which has been disposed of`);
      this.#seenDisposals = disposedStates();
    }
    return runnable;
  }
  #checkInput(key: string, values: ArrayLike<number> | number | undefined): void {
    const port = this.#fed.get(key);
    if (!port) {
      const known = Object.keys(this.inputs);
      throw new TensorError(
        `${this.name} has no input "${key}".${didYouMean(key, known)} Inputs: ${known.join(", ") || "none"}.`,
      );
    }
    if (typeof values === "number" || (typeof values === "object" && values?.length === port.array.length)) return;
    const count = typeof values === "object" ? values?.length : undefined;
    throw new TensorError(
      `${this.name}: the input "${key}" is ${describeShape(port.node.shape)}, ${port.array.length} numbers; ` +
        `${count ?? (typeof values === "object" ? "nothing" : typeof values)} ${count === 1 ? "was" : "were"} given`,
    );
  }
  #fill(key: string, values: ArrayLike<number> | number): void {
    const { array } = this.#fed.get(key) as Port;
    if (typeof values === "number") array.fill(values);
    else if (values !== array) array.set(values);
  }

  /** Compiles now instead of at the first run. */
  load(): this {
    this.#mustBeThere();
    if (!this.#options.eager) this.#load();
    return this;
  }
  #mustBeThere(): void {
    if (this.#isGone) throw new TensorError(`${this.name} has been disposed of`);
  }
  #load(): Compiled {
    this.#mustBeThere();
    this.#compiled ??= this.#compile();
    return this.#compiled;
  }
  #compile(): Compiled {
    const wiring = new Wiring(this.#ports, "arena");
    const steps = new Scheduler(this.#root, wiring, { fuse: true }).plan(this.#root);
    const module = emitModule(this.name, steps, [...wiring.arrays.keys()], this.#machine);
    const program = openProgram(module, this.#options.target ?? "auto", threadsOf(this.#options));
    return { program, run: program.bind(argumentsOf(wiring.arrays)), steps, states: wiring.states };
  }
  #eagerly(): EagerRun {
    this.#mustBeThere();
    this.#eager ??= this.#stepByStep(false);
    return this.#eager;
  }
  #stepByStep(fuse: boolean): EagerRun {
    const options = { target: this.target, machine: this.#machine, options: threadsOf(this.#options), fuse };
    return new EagerRun(this.name, this.#root, this.#ports, options);
  }

  /** How often JavaScript has crossed into compiled code. */
  get crossings(): number {
    return this.#eager?.crossings ?? this.#compiled?.program.crossings ?? 0;
  }
  /** How many programs were compiled: one, or one per operation. */
  get compiled(): number {
    return this.#eager?.compiled ?? (this.#compiled ? 1 : 0);
  }
  /** The loops that the program consists of, in order. */
  get steps(): readonly Step[] {
    return this.#load().steps;
  }
  /**
   * The program's kernels in order, with shapes, work and memory; eagerly, those of single operations. With `time`, all of
   * them are run one by one to see how long each takes; states and outputs are as before afterwards.
   */
  explain({ time = false }: { readonly time?: boolean } = {}): string {
    if (time) this.#ready();
    if (this.#options.eager) {
      const single = this.#eagerly();
      return this.#explained(single.plan, single.bytes, time ? single : undefined);
    }
    const { program, steps } = this.#load();
    const split = time ? this.#stepByStep(true) : undefined;
    try {
      return this.#explained(steps, program.arenaBytes, split);
    } finally {
      split?.dispose();
    }
  }
  #explained(steps: readonly Step[], bytes: number, timed: EagerRun | undefined): string {
    const { eager = false } = this.#options;
    const about = { name: this.name, target: this.target.name, numerics: this.numerics, machine: this.#machine, eager };
    const times = timed && [...timed.timed(TIMED_RUNS).values()];
    return explained({ ...about, steps, bytes, times });
  }
  get #machine(): TileMachine {
    return tileMachine(this.target, this.numerics, this.#options.threads ?? defaultThreads());
  }
  show(what: "ir" | "lowered" | "code"): string {
    return this.#load().program.show(what);
  }

  /** Gives the memory of inputs, outputs and intermediate values back, once; states stay. It cannot run any more. */
  dispose(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#compiled?.program.dispose();
    this.#eager?.dispose();
    for (const { array } of this.#ports.values()) heap().release(array.byteOffset);
  }
}

const OPTIONS: OptionNames<TensorProgramOptions> = { target: true, threads: true, numerics: true, eager: true };

function checkOptions(name: string, options: TensorProgramOptions): void {
  const { numerics, threads } = options;
  const stray = strayOption(options, OPTIONS);
  if (stray) refuse(name, stray);
  if (numerics !== undefined && !NUMERICS.includes(numerics))
    refuse(name, `numerics are ${NUMERICS.map((one) => `"${one}"`).join(" or ")}, not ${JSON.stringify(numerics)}`);
  if (threads !== undefined) checkThreads(threads);
}
/** What a program's function has returned, which its types alone do not vouch for. */
function outputsFrom(name: string, made: unknown): [string, Tensor][] {
  if (typeof made !== "object" || made === null || made instanceof Tensor || Array.isArray(made))
    refuse(name, "its function returns a record of tensors, such as { loss }; {} where there is nothing to return");
  return Object.entries(made).map(([key, tensor]) => {
    if (!(tensor instanceof Tensor)) refuse(name, `its function returns "${key}", which is ${kindOf(tensor)}`);
    return [key, tensor];
  });
}
const arraysOf = (ports: Iterable<readonly [string, Port]>): Arrays =>
  Object.fromEntries([...ports].map(([key, { array }]) => [key, array]));
const threadsOf = ({ threads }: TensorProgramOptions) => (threads === undefined ? {} : { threads });

function portsFor(kind: "input" | "output", nodes: ReadonlyMap<string, Node>): [string, Port][] {
  return [...nodes].map(([name, node]) => {
    return [`${kind} ${name}`, { node, array: heap().array(STORED_TYPE[node.dtype], elementsOf(node.shape)) }];
  });
}

/** Records a program; its function returns what a run gives. */
export function program<O extends Outputs>(
  name: string,
  build: () => O,
  options?: TensorProgramOptions,
): TensorProgram<O> {
  return new TensorProgram(name, build, options);
}

/** Inside a program: what happens `count` times, one after the other. */
export function repeat(count: number, body: (iteration: Tensor) => void): void {
  if (!Number.isInteger(count) || count < 0) refuse("repeat", `${count} is not a whole number from 0 on`);
  recording().repeat(count, (node) => body(new Tensor(node)));
}
