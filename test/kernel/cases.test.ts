/**
 * @file Every allowed construct gives what the raw function gives: as written, minified, and as a transpiler prints it.
 */
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import written, { type KernelCase } from "./cases.ts";
import { arraysOf, callRaw, compile, run } from "./support.ts";

async function transformed(options: { minify?: boolean; keepNames?: boolean; target?: string }): Promise<KernelCase[]> {
  const entry = new URL("./cases.ts", import.meta.url).pathname;
  const made = await build({ entryPoints: [entry], bundle: true, format: "esm", write: false, ...options });
  const text = made.outputFiles[0]?.text ?? "";
  const address = `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;
  const loaded = (await import(/* @vite-ignore */ address)) as { default: KernelCase[] };
  return loaded.default;
}

const forms: { readonly [form: string]: readonly KernelCase[] } = {
  "as written": written,
  minified: await transformed({ minify: true }),
  "minified with names": await transformed({ minify: true, keepNames: true }),
  transpiled: await transformed({ keepNames: true, target: "es2017" }),
};

/** The raw function computes in doubles: f32 results agree to rounding, all others exactly. */
function expectSame(name: string, got: ArrayLike<number>, wanted: ArrayLike<number>, isSingle: boolean): void {
  for (let k = 0; k < wanted.length; k++) {
    const [a, b] = [got[k] as number, wanted[k] as number];
    const near = isSingle ? Math.abs(a - b) <= 2e-5 * Math.max(1, Math.abs(b)) : Math.abs(a - b) <= 1e-12 * Math.abs(b);
    expect(Object.is(a, b) || a === b || near, `${name}[${k}] is ${a}, the raw function gives ${b}`).toBe(true);
  }
}

describe.each(Object.entries(forms))("%s", (_form, cases) => {
  test.each(cases.map((c) => [c.name, c] as const))("%s", (_name, { declaration, fn, options, args }) => {
    const [compiled, raw] = [args(), args()];
    const fault = run(compile(declaration, fn, options), declaration, compiled);
    callRaw(declaration, fn, raw);
    expect(fault).toBe(0);
    const wanted = new Map(arraysOf(raw));
    for (const [name, array] of arraysOf(compiled))
      expectSame(name, array, wanted.get(name) as ArrayLike<number>, array instanceof Float32Array);
  });
});
