/**
 * @file `program()`: tensor code recorded once, compiled whole, and run in one call; or, eagerly, operation by operation.
 */
import type { TypedArray } from "../ir/arrays.ts";
import { vectorsAbreast } from "../ir/passes/vectorise.ts";
import type { Numerics } from "../ir/pipeline.ts";
import { STORED_TYPE } from "../ir/types.ts";
import { didYouMean } from "../platform/suggest.ts";
import { heap } from "../runtime/heap.ts";
import { openProgram } from "../runtime/open.ts";
import type { Program } from "../runtime/program.ts";
import { chooseTarget, type TargetChoice } from "../runtime/targets.ts";
import type { Machine, Target, TargetName } from "../targets/target.ts";
import { refuse } from "./build.ts";
import { EagerRun } from "./eager.ts";
import { emitModule } from "./emit/module.ts";
import type { TileMachine } from "./emit/tiles.ts";
import { explained } from "./explain.ts";
import type { Block, Node } from "./nodes.ts";
import type { Step } from "./plan.ts";
import { record, recording } from "./recorder.ts";
import { Scheduler } from "./schedule.ts";
import { describeShape, elementsOf, TensorError } from "./shape.ts";
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

export function tileMachine({ name, machine }: Target, numerics: Numerics): TileMachine {
  const lanes = Math.max(1, machine.vectorBytes / 4);
  const rows = tileRows(name, machine);
  return { lanes, rows, vectors: vectorsAbreast(rows, machine), fused: numerics === "fused" };
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
export type Outputs = { readonly [name: string]: Tensor };

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
  #compiled: { readonly program: Program; readonly run: () => void; readonly steps: readonly Step[] } | undefined;
  #eager: EagerRun | undefined;

  constructor(name: string, build: () => O, options: TensorProgramOptions = {}) {
    const { root, inputs } = record(() => {
      for (const [key, tensor] of Object.entries(build())) recording().output(key, tensor.node);
    });
    this.name = name;
    this.#root = root;
    this.#options = options;
    this.target = chooseTarget(options.target ?? "auto").target;
    this.numerics = options.numerics ?? (this.target.machine.fastFma ? "fused" : "unfused");
    const outputs = outputsOf(root);
    this.#ports = new Map([...portsFor("input", inputs), ...portsFor("output", outputs)]);
    const arrays = (nodes: ReadonlyMap<string, Node>, kind: string): Arrays =>
      Object.fromEntries([...nodes.keys()].map((key) => [key, (this.#ports.get(`${kind} ${key}`) as Port).array]));
    this.inputs = arrays(inputs, "input");
    this.outputs = arrays(outputs, "output") as { readonly [K in keyof O]: TypedArray };
  }

  /** Runs once; arrays that are given are copied to the inputs of their names first. */
  run(given: { readonly [name: string]: ArrayLike<number> | number } = {}): this["outputs"] {
    for (const [key, values] of Object.entries(given)) this.#fill(key, values);
    if (this.#options.eager) this.#eagerly().run();
    else this.#load().run();
    return this.outputs;
  }
  #fill(key: string, values: ArrayLike<number> | number): void {
    const port = this.#ports.get(`input ${key}`);
    if (!port) {
      const known = Object.keys(this.inputs);
      throw new TensorError(
        `${this.name} has no input "${key}".${didYouMean(key, known)} Inputs: ${known.join(", ") || "none"}.`,
      );
    }
    const { array, node } = port;
    if (typeof values === "number") array.fill(values);
    else if (values.length !== array.length)
      throw new TensorError(
        `${this.name}: the input "${key}" is ${describeShape(node.shape)}, ${array.length} numbers; ${values.length} were given`,
      );
    else if (values !== array) array.set(values);
  }

  /** Compiles now instead of at the first run. */
  load(): this {
    if (!this.#options.eager) this.#load();
    return this;
  }
  #load() {
    this.#compiled ??= this.#compile();
    return this.#compiled;
  }
  #compile() {
    const wiring = new Wiring(this.#ports, "arena");
    const steps = new Scheduler(this.#root, wiring, { fuse: true }).plan(this.#root);
    const module = emitModule(this.name, steps, [...wiring.arrays.keys()], tileMachine(this.target, this.numerics));
    const program = openProgram(module, this.#options.target ?? "auto", threadsOf(this.#options));
    return { program, run: program.bind(argumentsOf(wiring.arrays)), steps };
  }
  #eagerly(): EagerRun {
    this.#eager ??= new EagerRun(this.name, this.#root, this.#ports, {
      target: this.target,
      machine: tileMachine(this.target, this.numerics),
      options: threadsOf(this.#options),
    });
    return this.#eager;
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
   * The program's kernels in order, with shapes, work and memory. With `time`, all of them are run one by one to see how
   * long each takes; states and outputs are as before afterwards.
   */
  explain({ time = false }: { readonly time?: boolean } = {}): string {
    const { program, steps } = this.#load();
    const options = { target: this.target, machine: this.#machine, options: threadsOf(this.#options), fuse: true };
    const split = time ? new EagerRun(this.name, this.#root, this.#ports, options) : undefined;
    try {
      const about = { name: this.name, target: this.target.name, numerics: this.numerics, machine: this.#machine };
      const times = split && [...split.timed(TIMED_RUNS).values()];
      return explained({ ...about, steps, arenaBytes: program.arenaBytes, times });
    } finally {
      split?.dispose();
    }
  }
  get #machine(): TileMachine {
    return tileMachine(this.target, this.numerics);
  }
  show(what: "ir" | "lowered" | "code"): string {
    return this.#load().program.show(what);
  }

  /** Gives the memory of inputs, outputs and intermediate values back; states stay. */
  dispose(): void {
    this.#compiled?.program.dispose();
    this.#eager?.dispose();
    for (const { array } of this.#ports.values()) heap().release(array.byteOffset);
  }
}

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
