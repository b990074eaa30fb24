/**
 * @file The outline pass: parallel loops become functions, so that a thread pool can run pieces of them and so that
 * engines compile hot loops on their own.
 *
 * Only outermost parallel loops are outlined; inner ones stay in the body, where the vectoriser finds them. What the
 * body reads from outside becomes a parameter; it changes nothing outside but buffers (the reductions pass has seen
 * to that). A loop that is never split keeps its own range: where that is known, so is what is left over by vectors.
 */
import { add, func, get, local, sub } from "../build.ts";
import type { For, Func, Launch, Module, Stmt } from "../nodes.ts";
import { eachExpr, withBodies } from "../walk.ts";
import { costOf } from "./cost.ts";
import { mayThread } from "./dependence.ts";
import { exposedReads } from "./exposed.ts";
import { rewriteFunctions } from "./rewrite.ts";

/** Operations below which a loop is not worth a second thread on any target: a few microseconds. */
const LEAST_SPLIT = 16_384;

/** Whether a loop runs in one piece, always. */
function isWhole(s: For, cost: number, threads: number | undefined): boolean {
  if (s.begin.kind !== "const" || s.end.kind !== "const") return false;
  return threads === 1 || (s.end.value - s.begin.value) * cost < LEAST_SPLIT;
}

function outlined(s: For, name: string, threads: number | undefined): Launch {
  const cost = costOf(s.body);
  const whole = isWhole(s, cost, threads);
  const outside = exposedReads(s.body, [s.index]);
  eachExpr(s.begin, (x) => x.kind === "get" && outside.add(x.local));
  const captured = [...outside];
  const begin = local("begin", "i32");
  const end = local("end", "i32");
  const loop: For = whole ? s : { ...s, begin: add(s.begin, get(begin)), end: add(s.begin, get(end)) };
  const body: Func = func(name, [], [...captured, begin, end], [loop]);
  return {
    kind: "launch",
    func: body,
    args: captured.map(get),
    count: sub(s.end, s.begin),
    cost,
    threaded: !whole && mayThread(s),
  };
}

/** Replaces outermost parallel loops by launches, for at most so many threads; any number when that is not known. */
export function outlineParallel(module: Module, threads?: number): Module {
  return rewriteFunctions(module, (f) => {
    let count = 0;
    const visit = (body: readonly Stmt[]): Stmt[] =>
      body.map((s) => {
        if (s.kind !== "for" || s.axis !== "parallel") return withBodies(s, visit);
        count += 1;
        return outlined(s, `${f.name}.${count}`, threads);
      });
    return { ...f, body: visit(f.body) };
  });
}
