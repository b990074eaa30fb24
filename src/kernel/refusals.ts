/**
 * @file Every construct that kernels refuse: what is said, what to write instead, and the shortest kernel that has it.
 *
 * One table serves the compiler, the tests (each example must give its row) and the documentation. syntax.ts raises
 * what can be told from the shape of the code alone; the other rows are raised while names are resolved.
 */
import { Refusal, type Span } from "./errors.ts";

export interface RefusedConstruct {
  /** What is wrong; `{}` stands for the name or the text in question. */
  readonly problem: string;
  readonly advice: string;
  /** A kernel function that gives this error; declared with x: f32.array(), n: i32, s: struct({ a: f32 }).array(). */
  readonly example: string;
}

export const REFUSED = {
  closure: {
    problem: "`{}` is a value from outside the function",
    advice:
      "hand it over in the declaration: `{}: constant({})` for numbers and tables, `{}: inline({})` for a helper function, or declare it as a parameter",
    example: "({ x }) => { x[0] = outside; }",
  },
  host: {
    problem: "`{}` belongs to the host, which compiled code cannot reach",
    advice: "call it outside and hand the numbers over as arguments; `assert(condition, message)` reports from inside",
    example: "({ x }) => { console.log(x[0]); }",
  },
  random: {
    problem: "`Math.random` gives other numbers in each run",
    advice: "take `rng` from the second parameter: `const g = rng(seed, i)`, then `g.uniform()`",
    example: "({ x }) => { x[0] = Math.random(); }",
  },
  mathFunction: {
    problem: "`{}` is not known",
    advice: "use one of the functions and constants listed in docs/kernels.md",
    example: "({ x }) => { x[0] = Math.cosine(x[0]); }",
  },
  string: {
    problem: "a string ({}) has no place in compiled code",
    advice: "use numbers (i32 codes) or constant(true) and constant(false) to choose between variants",
    example: '({ x, n }) => { if (n === "two") x[0] = 2; }',
  },
  template: {
    problem: "a template string has no place in compiled code",
    advice: "use numbers; only the message of assert() may be a (plain) string",
    example: "({ x }) => { x[0] = `text`.length; }",
  },
  regexp: {
    problem: "a regular expression has no place in compiled code",
    advice: "work on numbers; prepare text outside and hand over the codes in an array",
    example: "({ x }) => { if (/a/.test(x)) x[0] = 1; }",
  },
  bigint: {
    problem: "there are no 64-bit integers",
    advice: "use i32, u32 or f64; `Math.imul` and `mulHigh` give the two halves of a 64-bit product",
    example: "({ x }) => { x[0] = 10n; }",
  },
  nothing: {
    problem: "`{}` is not a number",
    advice: "every value is a number or a boolean: choose one that means nothing (0, -1, NaN)",
    example: "({ x }) => { x[0] = null; }",
  },
  this: {
    problem: "`this` is not known in a kernel",
    advice: "take what is needed from the first parameter",
    example: "function ({ x }) { x[0] = this.value; }",
  },
  arguments: {
    problem: "`arguments` is not known in a kernel",
    advice: "name the parameters",
    example: "function ({ x }) { x[0] = arguments.length; }",
  },
  async: {
    problem: "compiled code runs to its end without waiting",
    advice: "write a plain function; wait for what it needs before the call",
    example: "async ({ x }) => { x[0] = 1; }",
  },
  generator: {
    problem: "compiled code runs to its end without pausing",
    advice: "write a plain function and fill an array with the values",
    example: "function* ({ x }) { yield x[0]; }",
  },
  class: {
    problem: "classes and their objects are not part of the kernel language",
    advice: "use struct({ ... }).array() for state and helper functions for behaviour",
    example: "({ x }) => { class A {} x[0] = 1; }",
  },
  throw: {
    problem: "compiled code throws no exceptions",
    advice: "use `assert(condition, message)` from the second parameter: the call then becomes an error",
    example: "({ x }) => { if (x[0] > 1) throw x[0]; }",
  },
  try: {
    problem: "compiled code throws and catches no exceptions",
    advice: "test the condition with `if`",
    example: "({ x }) => { try { x[0] = 1; } finally { x[1] = 2; } }",
  },
  new: {
    problem: "`new {}` makes an object at run time",
    advice: "use a fixed-size local array (`new Float32Array(8)`), or declare an array and hand it over",
    example: "({ x }) => { const m = new Map(); x[0] = 1; }",
  },
  arrayLength: {
    problem: "the length of a local array ({}) is not known when compiling",
    advice: "write a number or a constant; arrays of other lengths are declared and handed over",
    example: "({ x, n }) => { const a = new Float32Array(n); x[0] = a[0]; }",
  },
  arrayShape: {
    problem: "an array literal holds plain numbers only",
    advice: "keep rows one after the other in a flat array and index it with row * width + column",
    example: "({ x }) => { const a = [[1], [2]]; x[0] = a[0][0]; }",
  },
  spread: {
    problem: "`...` makes arrays and objects at run time",
    advice: "name each value; copy arrays with a loop",
    example: "({ x }) => { x[0] = Math.max(...x); }",
  },
  optional: {
    problem: "`?.` and `??` test for values that are not there; in a kernel every value is",
    advice: "use `.` and `?:`; for NaN write `Number.isNaN(x) ? other : x`",
    example: "({ x }) => { x[0] = x?.[1]; }",
  },
  typeof: {
    problem: "types are known when compiling",
    advice: "leave the test out; the declaration says what each value is",
    example: '({ x }) => { if (typeof x[0] === "number") x[0] = 1; }',
  },
  delete: {
    problem: "fields cannot be deleted",
    advice: "store a value that means nothing (0, -1, NaN)",
    example: "({ x }) => { delete x[0]; }",
  },
  in: {
    problem: "`in` and `instanceof` ask about objects at run time",
    advice: "compare the subscript with `.length`; all else is known from the declaration",
    example: "({ x, n }) => { if (n in x) x[0] = 1; }",
  },
  forIn: {
    problem: "`for (... in ...)` walks over names",
    advice: "count: `for (let i = 0; i < x.length; i++)`, or walk over the values with `for (const v of x)`",
    example: "({ x }) => { for (const i in x) x[i] = 0; }",
  },
  with: {
    problem: "`with` is not part of the kernel language",
    advice: "write the names out",
    example: "function ({ x }) { with (x) { length; } }",
  },
  debugger: {
    problem: "compiled code has no debugger",
    advice: "call the raw function with arrays and step through that",
    example: "({ x }) => { debugger; x[0] = 1; }",
  },
  accessor: {
    problem: "getters, setters and computed names are not part of the kernel language",
    advice: "write a record with plain fields: `{ reward: 1, done: false }`",
    example: "({ x }) => { const r = { get a() { return 1; } }; x[0] = r.a; }",
  },
  module: {
    problem: "modules cannot be loaded from compiled code",
    advice: "import outside and hand over with `inline` or `constant`",
    example: '({ x }) => { import("./a.js"); }',
  },
  coverage: {
    problem: "the source was instrumented for coverage, which reports to outside on every line",
    advice: 'measure coverage with V8 (vitest: coverage.provider "v8"), or exclude files with kernels from it',
    example: "({ x }) => { cov_2a().s[0]++; x[0] = 1; }",
  },
  recursion: {
    problem: "`{}` calls itself",
    advice: "write a loop, with a local array as a stack where one is needed",
    example: "({ x, n }) => { function f(k) { return k < 1 ? 1 : f(k - 1); } x[0] = f(n); }",
  },
  functionValue: {
    problem: "`{}` is a function, not a number",
    advice: "call it; functions are inlined and cannot be stored",
    example: "({ x }) => { const f = (a) => a; x[0] = f; }",
  },
  notACallable: {
    problem: "`{}` is not a function",
    advice: "only helper functions, kernels, `Math` functions and what the second parameter carries can be called",
    example: "({ x, n }) => { x[0] = n(1); }",
  },
  notANumber: {
    problem: "`{}` is {kind}, not a number",
    advice: "name the element or the field that is meant",
    example: "({ x }) => { x[0] = x + 1; }",
  },
  arrayMethod: {
    problem: "arrays have no `.{}` in a kernel",
    advice: "write a loop; there are subscripts, `.length`, `.subarray(begin, end)` and `.fill(value)`",
    example: "({ x }) => { x.reverse(); }",
  },
  field: {
    problem: "there is no field `{}` here",
    advice: "fields are those of the declaration, or of the record the helper returns",
    example: "({ x, s }) => { x[0] = s[0].b; }",
  },
  recordSubscript: {
    problem: "a record has no subscripts",
    advice: "name the field; for subscripts known only at run time use an array",
    example: "({ x, n, s }) => { x[0] = s[0][n]; }",
  },
  notSubscripted: {
    problem: "{} has no elements",
    advice: "subscripts are for arrays; a number is used as it is",
    example: "({ x, n }) => { x[0] = n[1]; }",
  },
  rebinding: {
    problem: "`{}` names {kind} and cannot be assigned again",
    advice: "declare another `const`, or copy the numbers",
    example: "({ x, s }) => { let p = s[0]; p = s[1]; x[0] = p.a; }",
  },
  constantStore: {
    problem: "`{}` is a constant",
    advice: "declare a local (`let copy = ...`) or an array to write to",
    example: "({ x }) => { const a = 1; a = 2; x[0] = a; }",
  },
  choice: {
    problem: "which {kind} is meant would be known only at run time",
    advice: "choose between numbers (`c ? a[i] : b[i]`), or write both cases with `if`",
    example: "({ x, s, n }) => { const p = n ? s[0] : s[1]; x[0] = p.a; }",
  },
  returnValue: {
    problem: "a kernel returns nothing",
    advice: "write the result to an array: `out[0] = ...`",
    example: "({ x }) => { return x[0]; }",
  },
  returnMissing: {
    problem: "`{}` returns a value on some paths only",
    advice: "end every path with `return ...`",
    example: "({ x }) => { const f = (a) => { if (a > 0) return 1; }; x[0] = f(x[1]); }",
  },
  returnShape: {
    problem: "`{}` returns different things",
    advice: "return a number everywhere, or a record with the same fields everywhere",
    example: "({ x }) => { const f = (a) => { if (a > 0) return { v: 1 }; return 2; }; x[0] = f(x[1]); }",
  },
  noValue: {
    problem: "`{}` has no value",
    advice: "let the helper return a number, or call it as a statement",
    example: "({ x }) => { const f = (a) => { x[0] = a; }; x[1] = f(2); }",
  },
  argumentCount: {
    problem: "`{}` is called with the wrong number of arguments",
    advice: "give each parameter a value",
    example: "({ x }) => { x[0] = Math.pow(x[1]); }",
  },
  kernelArgument: {
    problem: "the kernel called here has no argument `{}`, or it is of another type",
    advice: "give it the arrays and numbers of its declaration: `name({ x, n })`",
    example: "({ x, copy }) => { copy({ from: x }); }",
  },
  fallThrough: {
    problem: "this `case` runs on into the next",
    advice: "end it with `break`, or write `if` and `else`",
    example: "({ x, n }) => { switch (n) { case 1: x[0] = 1; case 2: x[1] = 2; } }",
  },
  update: {
    problem: "`{}` cannot be written to",
    advice: "assign to a local, to an array element or to a field of an element",
    example: "({ x }) => { x.length = 2; }",
  },
  useBeforeDeclaration: {
    problem: "`{}` is used before its declaration",
    advice: "declare it with `let` before the first use",
    example: "({ x }) => { x[0] = later; var later = 1; }",
  },
  subscript: {
    problem: "the subscript {} is out of range",
    advice: "subscripts run from 0 to length - 1",
    example: "({ x }) => { const a = [1, 2]; x[0] = a[2]; }",
  },
  defaultArgument: {
    problem: "arguments of a kernel have no defaults",
    advice: "give the value in the call, or declare a constant",
    example: "({ x, k = 3 }) => { x[0] = k; }",
  },
  outerAssignment: {
    problem: "the iterations of `parallel` all assign `{}`, which is declared outside",
    advice:
      "declare it inside, store to an array element of the iteration's own, or make it a reduction: `sum += value`, `most = Math.max(most, value)`, `any = any || condition`",
    example: "({ x, n }, { parallel }) => { let last = x[0]; parallel(n, (i) => { last = x[i]; }); x[0] = last; }",
  },
  outerArray: {
    problem: "the iterations of `parallel` all write to the local array `{}`, which is declared outside",
    advice: "declare it inside the iteration, or hand over an array",
    example: "({ n }, { parallel }) => { const a = new Float32Array(4); parallel(n, (i) => { a[0] = 1; }); }",
  },
  outerStream: {
    problem: "the iterations of `parallel` all draw from `{}`, which is made outside",
    advice: "make a stream for each iteration: `const g = stream.fold(i)`",
    example: "({ x, n }, { parallel, rng }) => { const g = rng(1, 2); parallel(n, (i) => { x[i] = g.uniform(); }); }",
  },
  sharedElement: {
    problem: "two iterations of `parallel` reach the same element of `{}`, and one of them writes it",
    advice:
      "let iteration i write element i only; for a sum use a local (`sum += value`); for an order use a plain `for`",
    example: "({ x, n }, { parallel }) => { parallel(n, (i) => { x[0] = 1; }); }",
  },
  parallelBody: {
    problem: "`parallel` takes a count and a function",
    advice: "write `parallel(n, (i) => { ... })`",
    example: "({ x, n }, { parallel }) => { parallel(n); }",
  },
  blocksBody: {
    problem: "`blocks` takes a count and a function",
    advice: "write `blocks(n, (i) => { ... })`",
    example: "({ x, n }, { blocks }) => { blocks(n); }",
  },
  scanBody: {
    problem: "`scan` takes a count and a function",
    advice: "write `scan(n, (i) => { ... })`",
    example: "({ x, n }, { scan }) => { scan(n); }",
  },
  scanAssignment: {
    problem: "the iterations of `scan` assign `{}`, which is declared outside, and not once as `b + a * {}`",
    advice:
      "write one float recurrence `x = b + a * x` at the top of the body, where neither a nor b reads x; declare everything else inside, or use a plain loop",
    example:
      "({ x, n }, { scan }) => { let most = x[0]; scan(n, (i) => { most = Math.max(most, x[i]); }); x[0] = most; }",
  },
  scanRead: {
    problem: "`{}` is read before this iteration of `scan` has its value",
    advice: "read it behind its recurrence; the value of the iteration before is not to be had",
    example:
      "({ x, n }, { scan }) => { let sum = 0.5; scan(n, (i) => { x[i] = sum; sum = x[i] + 0.5 * sum; }); x[0] = sum; }",
  },
  scanInside: {
    problem: "a `scan` stands inside another",
    advice: "make the outer or the inner one a plain loop",
    example:
      "({ x, n }, { scan }) => { let a = 0.5; scan(n, (i) => { let b = 0.5; scan(n, (j) => { b = 1 + 0.5 * b; }); a = b + a * 0.5; }); x[0] = a; }",
  },
} as const satisfies { readonly [name: string]: RefusedConstruct };
export type RefusedName = keyof typeof REFUSED;

/** Raises a row of the table. */
export function refuse(name: RefusedName, span: Span, detail = "", kind = ""): never {
  const fill = (text: string): string => text.replaceAll("{}", detail).replaceAll("{kind}", kind);
  const row: RefusedConstruct = REFUSED[name];
  throw new Refusal({ problem: fill(row.problem), advice: fill(row.advice), construct: name }, span);
}
