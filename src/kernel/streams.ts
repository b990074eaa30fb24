/**
 * @file Random streams of a kernel as those of src/random/.
 */
import type { Builder } from "../ir/build.ts";
import type { Expr } from "../ir/nodes.ts";
import { createStream, type Stream as IrStream } from "../random/index.ts";
import type { TermLowering } from "./lowerTerms.ts";
import type { DrawMethod, DrawStep, StreamOrigin, Term, View } from "./terms.ts";

export type { IrStream };

/** Starts a stream; `parent` is the one it is derived from. */
export function openStream(
  b: Builder,
  terms: TermLowering,
  from: StreamOrigin,
  parent: IrStream | undefined,
): IrStream {
  switch (from.kind) {
    case "key":
      return createStream(b, terms.word(from.words[0], "rng"), terms.word(from.words[1], "rng"));
    case "fold":
      return (parent as IrStream).fold(terms.word(from.index, "fold"));
    case "at":
      return (parent as IrStream).at(terms.word(from.index, "at"));
    case "split":
      return (parent as IrStream).split();
    default:
      return from satisfies never;
  }
}

type Draw = (stream: IrStream, step: DrawStep, terms: TermLowering) => Expr | readonly Expr[];
const first = ({ args }: DrawStep): Term => args[0] as Term;

const DRAWS: { readonly [M in DrawMethod]: Draw } = {
  bits: (stream) => stream.bits(),
  uniform: (stream, { args }, terms) => {
    const [low, high] = args.map((t) => terms.argument(t, "f32", "uniform"));
    return stream.uniform(low, high);
  },
  pair: (stream, { args }, terms) => {
    const [low, high] = args.map((t) => terms.argument(t, "f32", "pair"));
    return stream.pair(low, high);
  },
  int: (stream, step, terms) => stream.int(terms.argument(first(step), "i32", "int")),
  normal: (stream) => stream.normal(),
  exponential: (stream) => stream.exponential(),
  bernoulli: (stream, step, terms) => stream.bernoulli(terms.argument(first(step), "f32", "bernoulli")),
  categorical: (stream, step, terms) => {
    const weights = step.weights as View;
    const count = terms.argument(step.args[0] ?? weights.length, "i32", "categorical");
    return stream.categorical((k) => terms.elementAt(weights, k, step.span), count);
  },
};

/** One draw, advancing the stream. */
export function draw(terms: TermLowering, stream: IrStream, step: DrawStep): readonly Expr[] {
  return [DRAWS[step.method](stream, step, terms)].flat();
}
