/**
 * @file Several callbacks as one: told in their order, and what they answer and remember gathered.
 */
import { UsageError } from "../platform/errors.ts";
import type {
  Callback,
  CallbackAnswer,
  CheckpointContext,
  EndContext,
  EvaluationContext,
  IterationContext,
  RunContext,
} from "./callbacks.ts";

export class CallbackList {
  readonly #callbacks: readonly Callback[];

  constructor(callbacks: readonly Callback[]) {
    this.#callbacks = callbacks;
    const names = this.#remembering().map(({ name }) => name);
    const twice = names.find((name, k) => names.indexOf(name) !== k);
    if (twice !== undefined)
      throw new UsageError(`two callbacks are called "${twice}"; give one of them another name, or leave it out`);
  }
  /** Those whose memory goes into checkpoints. */
  #remembering(): (Callback & { readonly name: string })[] {
    return this.#callbacks.flatMap((one) => (one.name === undefined || !one.save ? [] : [one as never]));
  }

  start(context: RunContext): Promise<void> {
    return this.#tell(context, (one) => one.onStart?.(context));
  }
  iteration(context: IterationContext): Promise<void> {
    return this.#tell(context, (one) => one.onIteration?.(context));
  }
  evaluation(context: EvaluationContext): Promise<void> {
    return this.#tell(context, (one) => one.onEvaluation?.(context));
  }
  checkpoint(context: CheckpointContext): Promise<void> {
    return this.#tell(context, (one) => one.onCheckpoint?.(context));
  }
  end(context: EndContext): Promise<void> {
    return this.#tell(context, (one) => one.onEnd?.(context));
  }
  async #tell(
    context: RunContext,
    tell: (one: Callback) => CallbackAnswer | Promise<CallbackAnswer> | undefined,
  ): Promise<void> {
    for (const one of this.#callbacks) {
      const answer = await tell(one);
      if (answer === "stop") context.stop(`${one.name ?? "a callback"} asked for it`);
    }
  }

  save(): { [name: string]: unknown } {
    return Object.fromEntries(this.#remembering().map((one) => [one.name, one.save?.() ?? null]));
  }
  /** Hands each what it remembered; those that were not there before begin anew. */
  load(states: { readonly [name: string]: unknown }): void {
    for (const one of this.#remembering()) if (Object.hasOwn(states, one.name)) one.load?.(states[one.name]);
  }
}
