/**
 * @file From a plan to a module of IR: one loop nest after the other, as the entry function's body.
 */
import { Builder, func, i32 } from "../../ir/build.ts";
import type { Buffer, Expr, Func, Module, Site } from "../../ir/nodes.ts";
import { entryWithin } from "../../ir/sites.ts";
import type { Block, CallEffect, Node } from "../nodes.ts";
import type { Location, Step } from "../plan.ts";
import { emitCumulate } from "./cumulate.ts";
import { bySubscripts, type ElementContext, Elements } from "./elements.ts";
import { emitMap } from "./map.ts";
import { emitMatmul, type TileMachine } from "./matmul.ts";
import { emitReduce } from "./reduce.ts";
import { emitScatter } from "./scatter.ts";

/** Writes the steps of one plan. */
class ModuleEmitter {
  readonly b = new Builder();
  readonly sites: Site[] = [];
  readonly #machine: TileMachine;
  readonly #iterations: Map<Block, Expr>;
  readonly #callees = new Map<Module, Func>();

  constructor(machine: TileMachine, iterations: ReadonlyMap<Block, Expr> = new Map()) {
    this.#machine = machine;
    this.#iterations = new Map(iterations);
  }

  steps(steps: readonly Step[]): void {
    for (const step of steps) this.#step(step);
  }

  #step(step: Step): void {
    const { b } = this;
    const context: ElementContext = { locations: step.where, iterations: this.#iterations, site: (m) => this.#site(m) };
    switch (step.kind) {
      case "map":
        return emitMap(b, step.stores, context);
      case "reduce":
        return emitReduce(b, step.results, context);
      case "matmul":
        return emitMatmul(b, step.result, context, this.#machine);
      case "scatter":
        return emitScatter(b, step.result, context);
      case "cumulate":
        return emitCumulate(b, step.result, context);
      case "call":
        return this.#call(step.call, step.buffers, context);
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
  const body = emitter.b.body(() => emitter.steps(steps));
  return { name, entry: func(name, parameters, [], body), sites: emitter.sites };
}
