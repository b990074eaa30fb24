/**
 * @file Loops that carry values from one iteration to the next, and through which gradients flow: recurrent networks.
 *
 * Forward, the carried values live in temporary states. When a gradient is asked for, the loop is made to keep what it
 * carried into each iteration, and a second loop goes through the iterations backwards: it computes each again from what
 * was kept, and asks for the gradients of that one iteration. So memory grows with what is carried, not with what is
 * computed. The function runs twice while recording, and must only compute: the same of the same, and no assignments.
 */
import { checkCount, constantOf, kindOf, refuse } from "./build.ts";
import { partialGradients } from "./gradients.ts";
import { type Block, type FoldRecord, inputsOf, type Node, type ReadNode, type Stored } from "./nodes.ts";
import { isFloat } from "./operations.ts";
import { type Recording, recording } from "./recorder.ts";
import { describeShape, type Shape, sameShape } from "./shape.ts";
import { Tensor } from "./tensor.ts";

type Named = { readonly [name: string]: Tensor };
/** What an iteration hands to the next, and what it leaves for all to see. */
type Body = (iteration: Tensor, carry: readonly Tensor[]) => { readonly next: Tensor[]; readonly outputs: Tensor[] };

type LoopName = "fold" | "scan";

function temporary(name: string, { dtype }: Node, shape: Shape): Stored {
  return { name, dtype, shape, temporary: true };
}
const wrapped = (input: Node, fold: FoldRecord, which: number): Tensor =>
  new Tensor(
    recording().node({ kind: "fold", dtype: input.dtype, shape: input.shape, input, fold, which }, `${which}`),
  );

/** What values depend on that stand outside of a loop and can have a gradient. */
function capturedBy(roots: readonly Node[], body: Block): Node[] {
  const found = new Set<Node>();
  const seen = new Set<Node>();
  const visit = (node: Node): void => {
    if (seen.has(node)) return;
    seen.add(node);
    if (node.block.depth >= body.depth) for (const x of sourcesWithin(node)) visit(x);
    else if (isFloat(node) && node.kind !== "constant" && node.kind !== "table") found.add(node);
  };
  for (const root of roots) visit(root);
  return [...found];
}
const sourcesWithin = (node: Node): readonly Node[] =>
  node.kind === "fold" ? [...node.fold.sources, node.input] : inputsOf(node);

/** A loop that has been recorded. */
class Loop implements FoldRecord {
  /** What the user has called. */
  readonly #name: LoopName;
  readonly #count: number;
  readonly #initial: readonly Node[];
  readonly #body: Body;
  readonly #carries: readonly Stored[];
  readonly #reads: ReadonlyMap<Stored, ReadNode>;
  readonly #captured: readonly Node[];
  readonly #block: Block;
  #iteration: Node | undefined;
  #before: readonly Node[] = [];
  #history: readonly Stored[] | undefined;
  readonly results: readonly Tensor[];

  constructor(name: LoopName, count: number, initial: readonly Node[], body: Body) {
    const rec = recording();
    this.#name = name;
    this.#count = count;
    this.#initial = initial;
    this.#body = body;
    this.#carries = initial.map((node, k) => temporary(`carry${k}`, node, node.shape));
    initial.forEach((node, k) => void rec.assign(this.#carries[k] as Stored, node));
    let roots: readonly Node[] = [];
    let stacks: readonly Stored[] = [];
    let block: Block | undefined;
    this.#reads = rec.observing(() => {
      block = rec.repeat(
        count,
        (iteration) => {
          this.#iteration = iteration;
          this.#before = this.#carries.map((s) => rec.read(s));
          const { next, outputs } = body(
            new Tensor(iteration),
            this.#before.map((node) => new Tensor(node)),
          );
          roots = [...next, ...outputs].map((t) => t.node);
          stacks = outputs.map(({ node }, k) => temporary(`stack${k}`, node, [count, ...node.shape]));
          outputs.forEach((t, k) => void rec.assign(stacks[k] as Stored, t.node, iteration));
          this.#assignNext(rec, next);
        },
        { pure: true },
      );
    });
    this.#block = block as unknown as Block;
    this.#captured = capturedBy(roots, this.#block);
    this.results = [...this.#carries, ...stacks].map((s, k) => wrapped(rec.read(s), this, k));
  }
  #assignNext(rec: Recording, next: readonly Tensor[]): void {
    next.forEach((t, k) => {
      const carry = this.#carries[k] as Stored;
      if (!sameShape(t.shape, carry.shape) || t.dtype !== carry.dtype)
        refuse(
          this.#name,
          `carries ${carry.dtype} ${describeShape(carry.shape)}, the next value is ${t.dtype} ${describeShape(t.shape)}`,
        );
      rec.assign(carry, t.node);
    });
  }

  get sources(): readonly Node[] {
    return [...this.#initial, ...this.#captured];
  }

  /** What was carried into each iteration: from now on the loop keeps it. */
  #kept(): readonly Stored[] {
    this.#history ??= this.#before.map((node, k) => {
      const kept = temporary(`kept${k}`, node, [this.#count, ...node.shape]);
      recording().prepend(this.#block, kept, node, this.#iteration as Node);
      return kept;
    });
    return this.#history;
  }

  reverse(given: readonly (Node | undefined)[]): readonly (Node | undefined)[] {
    const rec = recording();
    const history = this.#kept();
    const floats = this.#initial.flatMap((node, k) => (isFloat(node) ? [k] : []));
    const carried = this.#carries.length;
    const flows = floats.map((k) => temporary(`flow${k}`, this.#initial[k] as Node, this.#carries[k]?.shape as Shape));
    const sums = this.#captured.map((node, k) => temporary(`sum${k}`, node, node.shape));
    const zeros = ({ dtype, shape }: Stored): Node => constantOf(0, dtype, shape);
    flows.forEach((s, k) => void rec.assign(s, given[floats[k] as number] ?? zeros(s)));
    for (const s of sums) rec.assign(s, zeros(s));
    rec.repeat(this.#count, (node) => {
      const at = new Tensor(node).neg().add(this.#count - 1);
      const carry = history.map((s) => new Tensor(rec.read(s)).gather(at));
      const { next, outputs } = rec.replaying(this.#reads, () => this.#body(at, carry));
      const weighed = floats.map((k, f) => (next[k] as Tensor).mul(new Tensor(rec.read(flows[f] as Stored))).sum());
      outputs.forEach((t, k) => {
        const g = given[carried + k];
        if (g && isFloat(t)) weighed.push(t.mul(new Tensor(g).stopGradient().gather(at)).sum());
      });
      const wanted = [...floats.map((k) => carry[k] as Tensor), ...this.#captured.map((x) => new Tensor(x))];
      const found = gradientsOf(weighed, wanted);
      flows.forEach((s, k) => void rec.assign(s, (found[k] as Tensor).node));
      sums.forEach((s, k) => {
        const part = (found[flows.length + k] as Tensor).node;
        if (part.kind !== "constant") rec.assign(s, new Tensor(rec.read(s)).add(new Tensor(part)).node);
      });
    });
    const once: FoldRecord = {
      sources: [...this.sources, ...given.flatMap((g) => g ?? [])],
      reverse: () => refuse("gradients", `of gradients through ${this.#name}() are not to be had`),
    };
    const results = [...flows, ...sums].map((s, k) => wrapped(rec.read(s), once, k).node);
    const parts: (Node | undefined)[] = this.#initial.map(() => undefined);
    floats.forEach((k, f) => {
      parts[k] = results[f];
    });
    return [...parts, ...results.slice(flows.length)];
  }
}

/** The sum of the gradients of some numbers, each with the others of `wanted` fixed. */
function gradientsOf(numbers: readonly Tensor[], wanted: readonly Tensor[]): readonly Tensor[] {
  const [first, ...rest] = numbers;
  if (!first) return wanted.map((t) => new Tensor(constantOf(0, t.dtype, t.shape)));
  return partialGradients(
    rest.reduce((sum, t) => sum.add(t.to(first.dtype)), first),
    wanted,
  );
}

/** One tensor or several by name, as a list, and back. */
function listing<C extends Tensor | Named>(
  name: LoopName,
  like: C,
): { list: (of: C) => Tensor[]; back: (list: readonly Tensor[]) => C } {
  const checked = (x: unknown, what: string): Tensor =>
    x instanceof Tensor ? x : refuse(name, `${what} must be a tensor, and is ${kindOf(x)}`);
  if (like instanceof Tensor) return { list: (of) => [checked(of, "the next value")], back: ([only]) => only as C };
  if (typeof like !== "object" || like === null) checked(like, "what it begins with, or leaves,");
  const keys = Object.keys(like);
  const list = (of: C): Tensor[] =>
    keys.map((key) => {
      const value: unknown = (of as Named | undefined)?.[key];
      return value === undefined ? refuse(name, `the next values lack "${key}"`) : checked(value, `"${key}"`);
    });
  return { list, back: (made) => Object.fromEntries(keys.map((key, k) => [key, made[k]])) as unknown as C };
}

/** What is left of `initial` when the function has been applied `count` times; gradients flow through. */
export function fold<C extends Tensor | Named>(count: number, initial: C, next: (iteration: Tensor, carry: C) => C): C {
  checkCount("fold", count, 1);
  const { list, back } = listing("fold", initial);
  const body: Body = (iteration, carry) => ({ next: list(next(iteration, back(carry))), outputs: [] });
  const loop = new Loop(
    "fold",
    count,
    list(initial).map((t) => t.node),
    body,
  );
  return back(loop.results);
}

/** The same with a result of every iteration: those lie one after the other along a new first axis of `outputs`. */
export function scan<C extends Tensor | Named, O extends Tensor | Named>(
  count: number,
  initial: C,
  step: (iteration: Tensor, carry: C) => { readonly carry: C; readonly output: O },
): { readonly carry: C; readonly outputs: O } {
  checkCount("scan", count, 1);
  const { list, back } = listing("scan", initial);
  let shown: ReturnType<typeof listing<O>> | undefined;
  const body: Body = (iteration, carry) => {
    const made = step(iteration, back(carry));
    if (typeof made !== "object" || made === null)
      refuse("scan", `its function returns { carry, output }, and what it returned is ${kindOf(made)}`);
    shown ??= listing("scan", made.output);
    return { next: list(made.carry), outputs: shown.list(made.output) };
  };
  const first = list(initial).map((t) => t.node);
  const { results } = new Loop("scan", count, first, body);
  const outputs = (shown as ReturnType<typeof listing<O>>).back(results.slice(first.length));
  return { carry: back(results), outputs };
}
