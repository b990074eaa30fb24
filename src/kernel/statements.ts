/**
 * @file Statements: control flow as steps.
 *
 * `return` and `continue` at the end of what they leave need no jump. An `if` whose branch always jumps takes the rest
 * of its list into the other branch, so that early returns become plain branches, which vectorise; only a jump from
 * deeper inside becomes a block with an exit.
 */
import type { AnyNode, Expression, Pattern, Statement } from "acorn";
import { elementOf } from "./access.ts";
import { bindingOf, declarePattern } from "./bind.ts";
import { type Context, type Frame, type Jumps, newMark, refuseUpdate, spanOf, valueFor } from "./context.ts";
import { type Counter, counterOf, isInvariant, stepOf } from "./counters.ts";
import type { Span } from "./errors.ts";
import { branch, effect, expression, functionValue, term } from "./expressions.ts";
import { binary, known, literal } from "./fold.ts";
import { refuse } from "./refusals.ts";
import { returnStatement } from "./returns.ts";
import { isTerm, type Mark, type Step, type Term, UNNAMED } from "./terms.ts";
import type { Value } from "./values.ts";

/** Marks that the end of the current list leads to anyway. */
type Tails = ReadonlySet<Mark>;
const NO_TAILS: Tails = new Set();

/** Whether a statement never runs on into the next one. */
function isAbrupt(node: AnyNode | null | undefined): boolean {
  switch (node?.type) {
    case "ReturnStatement":
    case "BreakStatement":
    case "ContinueStatement":
      return true;
    case "BlockStatement":
      return node.body.some(isAbrupt);
    case "IfStatement":
      return isAbrupt(node.consequent) && isAbrupt(node.alternate);
    default:
      return false;
  }
}

const listOf = (node: Statement | null | undefined): readonly Statement[] =>
  !node ? [] : node.type === "BlockStatement" ? node.body : [node];

function jump(cx: Context, mark: Mark, tails: Tails): void {
  if (tails.has(mark)) return;
  mark.used = true;
  cx.emit({ kind: "exit", mark });
}

/** Steps that jumps to `mark` leave. */
export function marked(cx: Context, mark: Mark, steps: readonly Step[]): void {
  if (mark.used) cx.emit({ kind: "block", mark, body: steps });
  else for (const step of steps) cx.emit(step);
}

/** Runs a list of statements. */
export function statements(cx: Context, frame: Frame, list: readonly Statement[], tails: Tails): void {
  for (const node of list) {
    if (node.type === "FunctionDeclaration" && node.id)
      frame.names.set(bindingOf(frame, node.id), functionValue(frame, node, node.id.name));
  }
  for (const [k, node] of list.entries()) {
    const rest = list.slice(k + 1);
    if (node.type === "IfStatement") {
      const takesRest = ifStatement(cx, frame, node, rest, tails);
      if (takesRest) return;
    } else {
      statement(cx, frame, node, rest.every((s) => s.type === "EmptyStatement") ? tails : NO_TAILS, []);
    }
    if (isAbrupt(node)) return;
  }
}

/** Whether the rest of the list went into one of the branches. */
function ifStatement(
  cx: Context,
  frame: Frame,
  node: AnyNode & { type: "IfStatement" },
  rest: readonly Statement[],
  tails: Tails,
): boolean {
  const then = listOf(node.consequent);
  const otherwise = listOf(node.alternate);
  const run = (list: readonly Statement[], ends: Tails) => () => statements(cx, frame, list, ends);
  const test = term(cx, frame, node.test);
  if (rest.length > 0 && isAbrupt(node.consequent)) {
    branch(cx, test, run(then, tails), () => {
      statements(cx, frame, otherwise, NO_TAILS);
      if (!isAbrupt(node.alternate)) statements(cx, frame, rest, tails);
    });
    return true;
  }
  if (rest.length > 0 && isAbrupt(node.alternate)) {
    const first = (): void => {
      statements(cx, frame, then, NO_TAILS);
      statements(cx, frame, rest, tails);
    };
    branch(cx, test, first, run(otherwise, tails));
    return true;
  }
  const ends = rest.length > 0 ? NO_TAILS : tails;
  branch(cx, test, run(then, ends), run(otherwise, ends));
  return false;
}

/** One statement; `labels` are those that stand directly before it. */
function statement(cx: Context, frame: Frame, node: Statement, tails: Tails, labels: readonly string[]): void {
  switch (node.type) {
    case "ExpressionStatement":
      return node.directive === undefined ? effect(cx, frame, node.expression) : undefined;
    case "VariableDeclaration":
      for (const { id, init } of node.declarations) declaration(cx, frame, id, init);
      return;
    case "BlockStatement":
      return labels.length > 0 ? labelled(cx, frame, node, tails, labels) : statements(cx, frame, node.body, tails);
    case "IfStatement":
      if (labels.length > 0) return labelled(cx, frame, node, tails, labels);
      ifStatement(cx, frame, node, [], tails);
      return;
    case "ReturnStatement":
      returnStatement(cx, frame, node.argument, spanOf(frame, node));
      return jump(cx, frame.returns, tails);
    case "BreakStatement":
    case "ContinueStatement":
      return jump(cx, jumpTarget(frame, node), tails);
    case "LabeledStatement":
      return statement(cx, frame, node.body, tails, [...labels, node.label.name]);
    case "ForStatement":
      return forStatement(cx, frame, node, labels);
    case "ForOfStatement":
      return forOf(cx, frame, node, labels);
    case "WhileStatement":
      return repeat(cx, frame, labels, { test: node.test, body: node.body });
    case "DoWhileStatement":
      return repeat(cx, frame, labels, { body: node.body, lastTest: node.test });
    case "SwitchStatement":
      return switchStatement(cx, frame, node, tails, labels);
    default:
      return;
  }
}

function declaration(cx: Context, frame: Frame, id: Pattern, init: Expression | null | undefined): void {
  const evaluate = (e: Expression): Value => expression(cx, frame, e);
  if (id.type !== "ArrayPattern" || init?.type !== "ArrayExpression")
    return declarePattern(cx, frame, id, init ? namedValue(cx, frame, id, init) : undefined, evaluate);
  // `const [a, b] = [x, y]` needs no array.
  const values = cx.inOrder(init.elements.map((e) => () => evaluate(e as Expression)));
  id.elements.forEach((element, k) => {
    if (element) declarePattern(cx, frame, element, values[k], evaluate);
  });
}

/** A function or a local array takes the name it is bound to, for messages. */
function namedValue(cx: Context, frame: Frame, id: AnyNode, init: Expression): Value {
  const value = expression(cx, frame, init);
  if (id.type !== "Identifier") return value;
  if (value.kind === "function" && value.home === frame.names) return { ...value, name: id.name };
  if (value.kind === "view" && value.base.name === UNNAMED) value.base.name = id.name;
  return value;
}

function jumpTarget(frame: Frame, node: AnyNode & { type: "BreakStatement" | "ContinueStatement" }): Mark {
  const wanted = node.label?.name;
  for (const { labels, breaks, continues, isBlock } of frame.jumps.toReversed()) {
    if (wanted !== undefined ? !labels.includes(wanted) : isBlock) continue;
    if (node.type === "BreakStatement") return breaks;
    if (continues) return continues;
  }
  return refuseUpdate(frame, node);
}

function within(frame: Frame, jumps: Jumps, run: () => void): void {
  frame.jumps.push(jumps);
  run();
  frame.jumps.pop();
}

function labelled(cx: Context, frame: Frame, node: Statement, tails: Tails, labels: readonly string[]): void {
  const breaks = newMark();
  const steps = cx.body(() =>
    within(frame, { labels, breaks, continues: undefined, isBlock: true }, () =>
      statements(cx, frame, listOf(node), new Set([...tails, breaks])),
    ),
  );
  marked(cx, breaks, steps);
}

/** A loop's body, left by `continue` through its own mark. */
function loopBody(
  cx: Context,
  frame: Frame,
  labels: readonly string[],
  breaks: Mark,
  run: (tails: Tails) => void,
): void {
  const continues = newMark();
  const steps = cx.body(() =>
    within(frame, { labels, breaks, continues, isBlock: false }, () => run(new Set([continues]))),
  );
  marked(cx, continues, steps);
}

interface Repetition {
  readonly test?: Expression | null | undefined;
  readonly body: Statement;
  readonly update?: Expression | null | undefined;
  readonly lastTest?: Expression;
}
/** A loop that ends when a test fails. */
function repeat(cx: Context, frame: Frame, labels: readonly string[], parts: Repetition): void {
  const breaks = newMark();
  const leaveUnless = (test: Expression): void =>
    branch(
      cx,
      term(cx, frame, test),
      () => {},
      () => jump(cx, breaks, NO_TAILS),
    );
  const body = cx.loop(() => {
    if (parts.test) leaveUnless(parts.test);
    loopBody(cx, frame, labels, breaks, (tails) => statements(cx, frame, listOf(parts.body), tails));
    if (parts.update) effect(cx, frame, parts.update);
    if (parts.lastTest) leaveUnless(parts.lastTest);
  });
  cx.emit({ kind: "loop", mark: breaks, body });
}

function forStatement(
  cx: Context,
  frame: Frame,
  node: AnyNode & { type: "ForStatement" },
  labels: readonly string[],
): void {
  const counter = counterOf(frame, node);
  if (counter) {
    for (const other of counter.others) statement(cx, frame, other, NO_TAILS, []);
    const step = stepOf(cx, frame, counter);
    const ends = step !== undefined && (counter.compare.startsWith("<") ? step > 0 : step < 0);
    if (ends) return countedLoop(cx, frame, node, labels, { ...counter, step });
  }
  const init = counter?.own ?? node.init;
  if (init?.type === "VariableDeclaration") statement(cx, frame, init, NO_TAILS, []);
  else if (init) effect(cx, frame, init);
  repeat(cx, frame, labels, { test: node.test, body: node.body, update: node.update });
}

function countedLoop(
  cx: Context,
  frame: Frame,
  node: AnyNode & { type: "ForStatement" },
  labels: readonly string[],
  counter: Counter & { readonly step: number },
): void {
  const { compare, step } = counter;
  const begin = term(cx, frame, counter.begin);
  const span = spanOf(frame, counter.id);
  const index = cx.variable(counter.id.name, span, true);
  frame.names.set(bindingOf(frame, counter.id), { kind: "variableCell", variable: index });
  let bound: Term = begin;
  const boundSteps = cx.body(() => {
    bound = term(cx, frame, counter.bound);
  });
  const mark = newMark();
  const body = cx.loop(() =>
    loopBody(cx, frame, labels, mark, (tails) => statements(cx, frame, listOf(node.body), tails)),
  );
  if (boundSteps.length === 0 && isInvariant(bound, index, body)) {
    index.counts = { begin, compare, bound, step };
    cx.emit({ kind: "count", index, mark, body });
    return;
  }
  const read: Term = { kind: "read", variable: index, span };
  cx.assign(index, begin, span);
  const whole = cx.loop(() => {
    for (const s of boundSteps) cx.emit(s);
    const leave = cx.body(() => jump(cx, mark, NO_TAILS));
    cx.emit({ kind: "if", test: binary(compare, read, bound, span), then: [], else: leave });
    for (const s of body) cx.emit(s);
    cx.assign(index, binary("+", read, literal(step, span), span), span);
  });
  cx.emit({ kind: "loop", mark, body: whole });
}

function forOf(cx: Context, frame: Frame, node: AnyNode & { type: "ForOfStatement" }, labels: readonly string[]): void {
  const span = spanOf(frame, node.right);
  const over = expression(cx, frame, node.right);
  if (over.kind !== "view" && over.kind !== "rows" && over.kind !== "structs")
    return refuse("arrayMethod", span, "[Symbol.iterator]");
  const index = cx.variable("k", span, true);
  index.counts = { begin: literal(0, span), compare: "<", bound: over.length, step: 1 };
  const mark = newMark();
  const { left } = node;
  const body = cx.loop(() =>
    loopBody(cx, frame, labels, mark, (tails) => {
      const item = valueFor(elementOf(cx, over, { kind: "read", variable: index, span }, span), span);
      const [declared] = left.type === "VariableDeclaration" ? left.declarations : [];
      if (!declared) return refuseUpdate(frame, left);
      // The element is read once, before the body can change it.
      const value = isTerm(item) ? cx.keep("item", item) : item;
      declarePattern(cx, frame, declared.id, value, (e) => expression(cx, frame, e));
      statements(cx, frame, listOf(node.body), tails);
    }),
  );
  cx.emit({ kind: "count", index, mark, body });
}

interface CaseGroup {
  readonly tests: readonly Expression[];
  readonly isDefault: boolean;
  readonly body: readonly Statement[];
}
function switchStatement(
  cx: Context,
  frame: Frame,
  node: AnyNode & { type: "SwitchStatement" },
  tails: Tails,
  labels: readonly string[],
): void {
  const span = spanOf(frame, node.discriminant);
  const value = cx.fixed("chosen", term(cx, frame, node.discriminant));
  const groups = caseGroups(frame, node);
  const breaks = newMark();
  const ends = new Set([...tails, breaks]);
  const chain = (k: number): void => {
    const group = groups[k];
    if (!group) return;
    const run = (): void => statements(cx, frame, group.body, ends);
    const tests = group.tests.map((t) => binary("==", value, term(cx, frame, t), span));
    const test = tests.reduce<Term>((a, b) => logicalOr(a, b, span), { kind: "truth", value: false, span });
    if (group.isDefault) run();
    else branch(cx, test, run, () => chain(k + 1));
  };
  const jumps = { labels, breaks, continues: undefined, isBlock: false };
  marked(
    cx,
    breaks,
    cx.body(() => within(frame, jumps, () => chain(0))),
  );
}
const logicalOr = (a: Term, b: Term, span: Span): Term =>
  known(a) === false ? b : { kind: "logical", op: "||", a, b, span };

/** Cases with one body each; the default comes last. */
function caseGroups(frame: Frame, node: AnyNode & { type: "SwitchStatement" }): CaseGroup[] {
  const groups: CaseGroup[] = [];
  let tests: Expression[] = [];
  let isDefault = false;
  node.cases.forEach((c, k) => {
    if (c.test) tests.push(c.test);
    else isDefault = true;
    const isLast = k === node.cases.length - 1;
    if (c.consequent.length === 0 && !isLast) return;
    if (!isLast && !c.consequent.some(isAbrupt)) refuse("fallThrough", spanOf(frame, c));
    groups.push({ tests, isDefault, body: c.consequent });
    tests = [];
    isDefault = false;
  });
  return [...groups.filter((g) => !g.isDefault), ...groups.filter((g) => g.isDefault)];
}
