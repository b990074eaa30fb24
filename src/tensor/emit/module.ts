/**
 * @file From a plan to a module of IR: one loop nest after the other, as the entry function's body.
 */
import { Builder, func, get, i32 } from "../../ir/build.ts";
import type { Buffer, Expr, Func, Module, Site, Stmt } from "../../ir/nodes.ts";
import { entryWithin } from "../../ir/sites.ts";
import type { Block, CallEffect, Node } from "../nodes.ts";
import type { Location, RowStep, Step } from "../plan.ts";
import { emitCumulate } from "./cumulate.ts";
import { bySubscripts, type ElementContext, Elements, plus, times } from "./elements.ts";
import type { Window } from "./loops.ts";
import { emitMap } from "./map.ts";
import { prepareMatmul } from "./matmul.ts";
import { emitReduce } from "./reduce.ts";
import { emitScatter } from "./scatter.ts";
import { type SharedRows, sharesOf, withSlots } from "./slots.ts";
import type { TileMachine } from "./tiles.ts";

/** Writes the steps of one plan. */
class ModuleEmitter {
  readonly b = new Builder();
  readonly sites: Site[] = [];
  readonly #machine: TileMachine;
  readonly #iterations: Map<Block, Expr>;
  readonly #callees = new Map<Module, Func>();
  readonly #groups: SharedRows[] = [];

  constructor(machine: TileMachine, iterations: ReadonlyMap<Block, Expr> = new Map()) {
    this.#machine = machine;
    this.#iterations = new Map(iterations);
  }

  steps(steps: readonly Step[]): void {
    for (const step of steps) this.#step(step);
  }

  #step(step: Step): void {
    const { b } = this;
    switch (step.kind) {
      case "map":
      case "reduce":
      case "matmul":
        return this.#prepare(step)();
      case "scatter":
        return emitScatter(b, step.result, this.#context(step));
      case "cumulate":
        return emitCumulate(b, step.result, this.#context(step));
      case "call":
        return this.#call(step.call, step.buffers, this.#context(step));
      case "rows":
        return this.#rows(step.count, step.block, step.steps);
      case "repeat":
        b.for("iteration", { begin: i32(0), end: i32(step.count) }, (i) => {
          this.#iterations.set(step.body, i);
          this.steps(step.steps);
          this.#iterations.delete(step.body);
        });
        return;
      default:
        step satisfies never;
    }
  }

  #context({ where }: Step): ElementContext {
    const { fused } = this.#machine;
    return { locations: where, iterations: this.#iterations, fused, site: (m) => this.#site(m) };
  }

  /** What has to be done once, whatever the rows; and what then computes all of them, or those of a window. */
  #prepare(step: RowStep): (window?: Window) => void {
    const { b } = this;
    const context = this.#context(step);
    switch (step.kind) {
      case "map":
        return (window) => emitMap(b, step.stores, context, window);
      case "reduce":
        return (window) => emitReduce(b, step.results, context, window);
      case "matmul":
        return prepareMatmul(b, step, context, this.#machine);
      default:
        return step satisfies never;
    }
  }

  /** Each block of rows through all steps. */
  #rows(count: number, block: number, steps: readonly RowStep[]): void {
    const { b } = this;
    const prepared = steps.map((step) => this.#prepare(step));
    const shares = sharesOf(count / block, this.#machine.threads);
    const turns = count / block / shares;
    const [first, slot] = [b.local("first", "i32"), b.local("slot", "i32")];
    const loop = b.for("share", { begin: i32(0), end: i32(shares), axis: "parallel" }, (share) => {
      b.for("turn", { begin: i32(0), end: i32(turns) }, (turn) => {
        const number = b.let("block", plus(times(share, turns), turn));
        b.assign(first, times(number, block));
        b.assign(slot, times(share, block));
        for (const rows of prepared) rows({ number, first: get(first), count: block });
      });
    });
    this.#groups.push({ loop, steps, count, block, shares, first, slot });
  }
  /** What `write` emits, with everything where it has its place. */
  body(write: () => void): readonly Stmt[] {
    return withSlots(this.b.body(write), this.#groups);
  }

  #site(message: string): number {
    return this.sites.push({ reason: "bounds", message, place: undefined });
  }

  #call(call: CallEffect, given: ReadonlyMap<string, Location>, context: ElementContext): void {
    const callee = this.#callee(call.module);
    const elements = new Elements(this.b, context);
    const buffers = callee.buffers.map((p) => (given.get(p.name) as Location).buffer);
    const args = callee.params.map((p) => elements.at(call.scalars.get(p.name) as Node, bySubscripts([])));
    this.b.emit({ kind: "call", func: callee, buffers, args });
  }

  /** A kernel's function, with its faults numbered among the program's. */
  #callee(module: Module): Func {
    let found = this.#callees.get(module);
    if (!found) {
      found = entryWithin(module, this.sites);
      this.#callees.set(module, found);
    }
    return found;
  }
}

/**
 * The module of some steps; `parameters` are the arrays that the caller hands over, in order, `iterations` the numbers of
 * loops that are going on around it.
 */
export function emitModule(
  name: string,
  steps: readonly Step[],
  parameters: readonly Buffer[],
  machine: TileMachine,
  iterations?: ReadonlyMap<Block, Expr>,
): Module {
  const emitter = new ModuleEmitter(machine, iterations);
  const body = emitter.body(() => emitter.steps(steps));
  return { name, entry: func(name, parameters, [], body), sites: emitter.sites };
}
