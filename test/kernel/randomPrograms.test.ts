/**
 * @file Random programs over doubles and 32-bit integers give the bits that JavaScript gives.
 *
 * On f64 every operation of a kernel is JavaScript's own; on i32 it is once results are made integers again. So the
 * raw function is an exact reference for programs written that way.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Declaration, f32, f64, i32 } from "../../src/kernel/declare.ts";
import { compile, run } from "./support.ts";

type AnyFunction = (...args: never[]) => unknown;
const declaration = { x: f64.array(), k: i32.array(), a: f64, b: f64, n: i32, m: i32 } as const satisfies Declaration;

const float: fc.Memo<string> = fc.memo((depth) =>
  depth <= 1
    ? fc.oneof(
        fc.constantFrom("a", "b", "c", "x[0]", "x[1]", "x[i]", "0.5", "(-3)", "1e9", "7", "(-0)"),
        fc.double({ noDefaultInfinity: true, noNaN: true }).map((v) => `(${v})`),
      )
    : fc.oneof(
        fc.tuple(float(), fc.constantFrom("+", "-", "*", "/", "%"), float()).map(([a, op, b]) => `(${a} ${op} ${b})`),
        fc.tuple(fc.constantFrom("abs", "floor", "ceil", "trunc", "sqrt"), float()).map(([f, a]) => `Math.${f}(${a})`),
        fc.tuple(fc.constantFrom("min", "max"), float(), float()).map(([f, a, b]) => `Math.${f}(${a}, ${b})`),
        fc.tuple(condition(), float(), float()).map(([c, a, b]) => `(${c} ? ${a} : ${b})`),
        fc.tuple(float(), fc.constantFrom("&&", "||"), float()).map(([a, op, b]) => `(${a} ${op} ${b})`),
        float().map((a) => `(-${a})`),
        whole().map((k) => `Number(${k})`),
        fc.tuple(whole(), float()).map(([k, a]) => `(Number(${k}) * ${a})`),
      ),
);
const whole: fc.Memo<string> = fc.memo((depth) =>
  depth <= 1
    ? fc.oneof(
        fc.constantFrom("n", "m", "i", "j", "k[0]", "k[i]", "3", "(-1)", "0"),
        fc.integer().map((v) => `(${v})`),
      )
    : fc.oneof(
        fc.tuple(whole(), fc.constantFrom("+", "-"), whole()).map(([a, op, b]) => `((${a} ${op} ${b}) | 0)`),
        fc.tuple(whole(), fc.constantFrom("&", "|", "^", "<<", ">>"), whole()).map(([a, o, b]) => `(${a} ${o} ${b})`),
        fc.tuple(whole(), whole()).map(([a, b]) => `Math.imul(${a}, ${b})`),
        fc.tuple(whole(), whole()).map(([a, b]) => `((${a} / ${b}) | 0)`),
        fc.tuple(whole(), whole()).map(([a, b]) => `(Math.floor(${a} / (${b} | 1)) | 0)`),
        fc.tuple(whole(), whole()).map(([a, b]) => `(${a} % (${b} | 1) | 0)`),
        fc.tuple(whole(), fc.integer({ min: 1, max: 31 })).map(([a, s]) => `(${a} >>> ${s})`),
        fc.tuple(condition(), whole(), whole()).map(([c, a, b]) => `(${c} ? ${a} : ${b})`),
        whole().map((a) => `(~${a})`),
        float().map((a) => `(${a} | 0)`),
        float().map((a) => `(~~${a})`),
      ),
);
const condition: fc.Memo<string> = fc.memo((depth) =>
  depth <= 1
    ? fc.constantFrom("a < b", "n > m", "i === 1", "j !== 2", "c >= a", "(n & 1)", "c", "true")
    : fc.oneof(
        fc.tuple(float(), fc.constantFrom("<", "<=", ">", ">=", "===", "!=="), float()).map((p) => `(${p.join(" ")})`),
        fc.tuple(whole(), fc.constantFrom("<", ">=", "===", "!="), whole()).map((p) => `(${p.join(" ")})`),
        fc.tuple(condition(), fc.constantFrom("&&", "||"), condition()).map((p) => `(${p.join(" ")})`),
        condition().map((c) => `!(${c})`),
      ),
);
const statement: fc.Memo<string> = fc.memo((depth) =>
  depth <= 1
    ? fc.oneof(
        fc.tuple(fc.constantFrom("=", "+=", "-=", "*="), float(3)).map(([op, v]) => `c ${op} ${v};`),
        float(3).map((v) => `x[i] = ${v};`),
        whole(3).map((v) => `k[i] = ${v};`),
        whole(3).map((v) => `j = ${v};`),
        fc.constantFrom("j = (j + 1) | 0;", "x[2] += c;", "k[1] ^= j;", "x[i] = x[i] - (c = x[0]) * c;"),
      )
    : fc.oneof(
        fc.tuple(condition(2), block(), block()).map(([c, a, b]) => `if (${c}) { ${a} } else { ${b} }`),
        block().map((s) => `for (let i = 0; i < 3; i++) { ${s} }`),
        fc.tuple(block(), condition(2)).map(([s, c]) => `for (let i = 2; i >= 0; i--) { if (${c}) continue; ${s} }`),
        fc
          .tuple(block(), condition(2), fc.nat())
          .map(([s, c, id]) => `{ let t${id} = 0; while (t${id} < 3) { t${id}++; ${s} if (${c}) break; } }`),
        fc.tuple(condition(2), block()).map(([c, s]) => `${c} && (c += 1); ${s}`),
      ),
);
const block = (): fc.Arbitrary<string> => fc.array(statement(), { minLength: 1, maxLength: 3 }).map((s) => s.join(" "));
const program = fc
  .array(statement(3), { minLength: 1, maxLength: 4 })
  .map((list) => `let c = a; let j = n; let i = 1; i = 1; ${list.join(" ")} x[3] = c; k[3] = j;`);

const specials = [0, -0, 1, -1.5, 1e10, -4e9, 2 ** 31, Number.NaN, Number.POSITIVE_INFINITY, 5e-324];
const numbers = fc.oneof(fc.constantFrom(...specials), fc.double());
const inputs = fc.record({
  x: fc.array(numbers, { minLength: 4, maxLength: 4 }),
  k: fc.array(fc.integer(), { minLength: 4, maxLength: 4 }),
  a: numbers,
  b: numbers,
  n: fc.integer(),
  m: fc.integer({ min: -3, max: 3 }),
});

test("random programs give JavaScript's bits", () => {
  fc.assert(
    fc.property(program, inputs, (text, input) => {
      const fn = new Function(`return ({ x, k, a, b, n, m }) => { ${text} }`)() as AnyFunction;
      const args = () => ({ ...input, x: Float64Array.from(input.x), k: Int32Array.from(input.k) });
      const [compiled, raw] = [args(), args()];
      (fn as unknown as (args: object) => void)(raw);
      expect(run(compile(declaration, fn), declaration, compiled)).toBe(0);
      expect(compiled.x).toEqual(raw.x);
      expect(compiled.k).toEqual(raw.k);
    }),
    { numRuns: Number(process.env.LOCKSTEP_RUNS ?? 150) },
  );
}, 120_000);

/** An expression over f32, and the same with every rounding written out. */
interface Rounded {
  readonly text: string;
  readonly model: string;
}
const rounded: fc.Memo<Rounded> = fc.memo((depth) =>
  depth <= 1
    ? fc.oneof(
        fc.constantFrom("a", "b", "x[0]", "x[1]", "x[i]").map((text) => ({ text, model: text })),
        fc
          .constantFrom("0.1", "3", "1e9", "(-7.3)")
          .map((text) => ({ text: `(${text})`, model: `Math.fround(${text})` })),
        fc.constantFrom("k[0]", "n").map((v) => ({ text: `Math.fround(${v})`, model: `Math.fround(${v})` })),
      )
    : fc.oneof(
        fc.tuple(rounded(), fc.constantFrom("+", "-", "*", "/"), rounded()).map(([a, op, b]) => ({
          // A sum of two literals is folded before it is rounded.
          text: `(${a.text} ${op} (x[2] * ${b.text}))`,
          model: `Math.fround(${a.model} ${op} Math.fround(x[2] * ${b.model}))`,
        })),
        rounded().map((a) => ({
          text: `Math.sqrt(x[0] * ${a.text})`,
          model: `Math.fround(Math.sqrt(Math.fround(x[0] * ${a.model})))`,
        })),
        fc.tuple(rounded(), rounded(), rounded()).map(([a, b, c]) => ({
          text: `(${a.text} < x[1] ? ${b.text} : ${c.text})`,
          model: `(${a.model} < x[1] ? ${b.model} : ${c.model})`,
        })),
        fc.tuple(rounded(), rounded()).map(([a, b]) => ({
          text: `Math.max(${a.text}, -${b.text})`,
          model: `Math.max(${a.model}, -${b.model})`,
        })),
      ),
);
const singles = { x: f32.array(), k: i32.array(), a: f32, b: f32, n: i32 } as const satisfies Declaration;

test("every operation on f32 rounds once", () => {
  fc.assert(
    fc.property(rounded(4), inputs, ({ text, model }, input) => {
      const made = (body: string) =>
        new Function(`return ({ x, k, a, b, n }) => { const i = 1; x[3] = ${body}; }`)() as AnyFunction;
      const args = () => ({
        x: Float32Array.from(input.x),
        k: Int32Array.from(input.k),
        a: Math.fround(input.a),
        b: Math.fround(input.b),
        n: input.n,
      });
      const [compiled, raw] = [args(), args()];
      (made(model) as unknown as (args: object) => void)(raw);
      run(compile(singles, made(text)), singles, compiled);
      expect(compiled.x).toEqual(raw.x);
    }),
    { numRuns: Number(process.env.LOCKSTEP_RUNS ?? 150) },
  );
}, 120_000);
