/**
 * @file A kernel of a hundred lines, for compile times: parallel loops with branches, math, a reduction, a recurrence.
 *
 * Made as text, because compiling must meet a kernel it has never seen: `salt` goes into a constant of the source, and
 * with it the generated code and every cache's key change.
 */

/** One for each block. */
const FUNCTIONS = ["exp", "tanh", "sin", "cos"];

const block = (k: number, salt: number): string => `
  parallel(a.length, (i) => {
    const u = a[i] * ${k + 1}.5 + b[i];
    const v = u * u - ${salt}.25;
    let w = v > 0 ? u : v;
    if (w > ${k}) {
      w = w * 0.5 + c[i];
    } else {
      w = w - c[i];
    }
    out[i] = out[i] + w;
  });
  let s${k} = 0;
  parallel(a.length, (i) => {
    s${k} += out[i] * b[i];
  });
  if (s${k} > 1000) {
    s${k} = 1000;
  }
  let chain${k} = 0;
  for (let t = a.length - 1; t >= 0; t--) {
    chain${k} = c[t] + 0.9 * chain${k};
    c[t] = chain${k} * 0.125;
  }
  parallel(a.length, (i) => {
    b[i] = Math.${FUNCTIONS[k]}(Math.min(a[i] * 0.01, 1)) + s${k} * 0.001;
    a[i] = Math.sqrt(Math.abs(out[i])) + Math.max(c[i], b[i]);
  });`;

/** The function's source: declared with f32 arrays a, b, c and out. */
export function hundredLines(salt: number): string {
  const blocks = FUNCTIONS.map((_, k) => block(k, salt)).join("");
  return `({ a, b, c, out }, { parallel }) => {${blocks}\n}`;
}
