/**
 * @file Recurrent cells: one step, and a sequence of steps with resets where episodes begin.
 *
 * What comes from the inputs is computed for all steps at once. A short sequence is written out step by step; a long one
 * is a loop, which compiles faster and computes every step again for its gradient.
 */
import { scan } from "../tensor/fold.ts";
import { stack } from "../tensor/make.ts";
import { type Tensor, where } from "../tensor/tensor.ts";
import { type Initializer, uniformBetween } from "./initializers.ts";
import { type LayerOptions, setFor, within } from "./layers.ts";
import type { Parameters } from "./parameters.ts";

export interface RecurrentOptions extends LayerOptions {
  readonly inputs: number;
  readonly hidden: number;
  /** Of all weights and biases; between -1 and 1 over the root of `hidden` unless given. */
  readonly weights?: Initializer;
}
export interface SequenceOptions {
  /** [steps, batch], bool: where the state is zero before the step. */
  readonly reset?: Tensor;
  readonly parameters?: Parameters;
  /** Whether the sequence is a loop: from 17 steps on unless given. */
  readonly loop?: boolean;
}
const LONGEST_WRITTEN_OUT = 16;

/** Weights wx [inputs, gates * hidden], wh [hidden, gates * hidden] and biases bx, bh. */
class Gates {
  readonly parameters: Parameters;
  readonly hidden: number;
  readonly #name: string | undefined;

  constructor(options: RecurrentOptions, gates: number) {
    const { inputs, hidden, name } = options;
    const bound = Math.sqrt(1 / hidden);
    const weights = options.weights ?? uniformBetween(-bound, bound);
    this.parameters = setFor(options);
    this.hidden = hidden;
    this.#name = name;
    this.parameters.declare(within(name, "wx"), [inputs, gates * hidden], weights);
    this.parameters.declare(within(name, "wh"), [hidden, gates * hidden], weights);
    this.parameters.declare(within(name, "bx"), [gates * hidden], weights);
    this.parameters.declare(within(name, "bh"), [gates * hidden], weights);
  }
  /** The weights and biases of what comes from the input, or from the state. */
  weights(from: "x" | "h", parameters: Parameters): Weights {
    const value = (kind: string): Tensor => parameters.value(within(this.#name, `${kind}${from}`));
    return { w: value("w"), b: value("b") };
  }
  gate(values: Tensor, number: number): Tensor {
    return values.slice(-1, number * this.hidden, (number + 1) * this.hidden);
  }
}
interface Weights {
  readonly w: Tensor;
  readonly b: Tensor;
}
const applied = ({ w, b }: Weights, values: Tensor): Tensor => values.matmul(w).add(b);

type Carried = { readonly h: Tensor } & { readonly [name: string]: Tensor };

/** Steps one after the other, from inputs [steps, ...]; states begin at zero where a reset says so. */
function sequenceOf<C extends Carried>(
  fromInputs: Tensor,
  start: C,
  { reset, loop = fromInputs.size(0) > LONGEST_WRITTEN_OUT }: SequenceOptions,
  step: (fromInput: Tensor, state: C) => C,
): C & { readonly outputs: Tensor } {
  const restarted = (state: C, over: Tensor | undefined): C => {
    if (!over) return state;
    const zeroed = Object.entries(state).map(([name, x]) => [name, where(over.unsqueeze(-1), 0, x)]);
    return Object.fromEntries(zeroed) as C;
  };
  if (loop) {
    const { carry, outputs } = scan(fromInputs.size(0), start, (t, state) => {
      const next = step(fromInputs.gather(t), restarted(state, reset?.gather(t)));
      return { carry: next, output: next.h };
    });
    return { ...carry, outputs };
  }
  const outputs: Tensor[] = [];
  let state = start;
  for (let t = 0; t < fromInputs.size(0); t++) {
    state = step(fromInputs.at(0, t), restarted(state, reset?.at(0, t)));
    outputs.push(state.h);
  }
  return { ...state, outputs: stack(outputs) };
}

/** A cell with gates for what to forget (r) and what to keep (z): h' = (1 - z) n + z h. */
export class Gru {
  readonly parameters: Parameters;
  readonly hidden: number;
  readonly #gates: Gates;

  constructor(options: RecurrentOptions) {
    this.#gates = new Gates(options, 3);
    this.parameters = this.#gates.parameters;
    this.hidden = options.hidden;
  }
  /** The next state [batch, hidden] from an input [batch, inputs] and the state. */
  apply(x: Tensor, h: Tensor, parameters = this.parameters): Tensor {
    return this.#step(applied(this.#gates.weights("x", parameters), x), h, this.#gates.weights("h", parameters));
  }
  #step(fromInput: Tensor, h: Tensor, weights: Weights): Tensor {
    const fromState = applied(weights, h);
    const [xr, xz, xn] = [0, 1, 2].map((k) => this.#gates.gate(fromInput, k)) as [Tensor, Tensor, Tensor];
    const [hr, hz, hn] = [0, 1, 2].map((k) => this.#gates.gate(fromState, k)) as [Tensor, Tensor, Tensor];
    const z = xz.add(hz).sigmoid();
    const n = xn.add(xr.add(hr).sigmoid().mul(hn)).tanh();
    return n.add(z.mul(h.sub(n)));
  }
  /** All states for inputs [steps, batch, inputs], as [steps, batch, hidden], and the last one. */
  sequence(x: Tensor, h0: Tensor, options: SequenceOptions = {}): { readonly outputs: Tensor; readonly h: Tensor } {
    const { parameters = this.parameters } = options;
    const weights = this.#gates.weights("h", parameters);
    const fromInputs = applied(this.#gates.weights("x", parameters), x);
    return sequenceOf(fromInputs, { h: h0 }, options, (from, { h }) => ({ h: this.#step(from, h, weights) }));
  }
}
export const gru = (options: RecurrentOptions): Gru => new Gru(options);

/** What an LSTM remembers from step to step. */
export type LstmState = { readonly h: Tensor; readonly c: Tensor };

/** A cell with gates for input (i), forgetting (f) and output (o): c' = f c + i g, h' = o tanh(c'). */
export class Lstm {
  readonly parameters: Parameters;
  readonly hidden: number;
  readonly #gates: Gates;

  constructor(options: RecurrentOptions) {
    this.#gates = new Gates(options, 4);
    this.parameters = this.#gates.parameters;
    this.hidden = options.hidden;
  }
  apply(x: Tensor, state: LstmState, parameters = this.parameters): LstmState {
    return this.#step(applied(this.#gates.weights("x", parameters), x), state, this.#gates.weights("h", parameters));
  }
  #step(fromInput: Tensor, { h, c }: LstmState, weights: Weights): LstmState {
    const sum = fromInput.add(applied(weights, h));
    const [i, f, g, o] = [0, 1, 2, 3].map((k) => this.#gates.gate(sum, k)) as [Tensor, Tensor, Tensor, Tensor];
    const next = f.sigmoid().mul(c).add(i.sigmoid().mul(g.tanh()));
    return { h: o.sigmoid().mul(next.tanh()), c: next };
  }
  sequence(x: Tensor, start: LstmState, options: SequenceOptions = {}): LstmState & { readonly outputs: Tensor } {
    const { parameters = this.parameters } = options;
    const weights = this.#gates.weights("h", parameters);
    const fromInputs = applied(this.#gates.weights("x", parameters), x);
    return sequenceOf(fromInputs, start, options, (from, state) => this.#step(from, state, weights));
  }
}
export const lstm = (options: RecurrentOptions): Lstm => new Lstm(options);
