// biome-ignore-all lint/suspicious/noAssignInExpressions: minifiers write such code
// biome-ignore-all lint/complexity/noCommaOperator: minifiers write such code
// biome-ignore-all lint/suspicious/noConfusingLabels: labels are part of the language
/**
 * @file Kernels that use every allowed construct, with arguments. They are run as they are, minified and as a
 * transpiler prints them, and compared with the raw functions.
 */
import {
  bool,
  constant,
  type Declaration,
  f32,
  f64,
  i32,
  inline,
  type KernelFunction,
  type KernelOptions,
  struct,
  u8,
  u32,
} from "../../src/kernel/declare.ts";

export interface KernelCase {
  readonly name: string;
  readonly declaration: Declaration;
  readonly fn: (...args: never[]) => unknown;
  readonly options: KernelOptions;
  /** A call's argument, made anew each time. */
  readonly args: () => { readonly [name: string]: unknown };
}
const cases: KernelCase[] = [];
export default cases;

function add<const D extends Declaration>(
  name: string,
  declaration: D,
  fn: KernelFunction<D>,
  args: KernelCase["args"],
  options: KernelOptions = {},
): void {
  cases.push({ name, declaration, fn, args, options });
}

const floats = (n: number, f = (k: number) => Math.sin(k * 1.7) * 4): Float32Array =>
  Float32Array.from({ length: n }, (_, k) => f(k));
const doubles = (n: number, f = (k: number) => Math.sin(k * 1.7) * 4): Float64Array =>
  Float64Array.from({ length: n }, (_, k) => f(k));
const ints = (n: number, f = (k: number) => ((k * 37) % 23) - 9): Int32Array =>
  Int32Array.from({ length: n }, (_, k) => f(k));
const bytes = (n: number, f = (k: number) => Number(k % 3 === 0)): Uint8Array =>
  Uint8Array.from({ length: n }, (_, k) => f(k));

add(
  "discounted returns",
  { rewards: f32.array(), terminated: u8.array(), out: f32.array(), gamma: f32 },
  ({ rewards, terminated, out, gamma }) => {
    let next = 0;
    for (let t = rewards.length - 1; t >= 0; t--) {
      next = rewards[t] + (terminated[t] ? 0 : gamma * next);
      out[t] = next;
    }
  },
  () => ({ rewards: floats(20), terminated: bytes(20), out: new Float32Array(20), gamma: 0.9 }),
);

add(
  "gae with a mask from a byte",
  { reward: f32.array(), value: f32.array(), done: u8.array(), out: f32.array(), gamma: f32, lambda: f32 },
  ({ reward, value, done, out, gamma, lambda }) => {
    let advantage = 0;
    for (let t = reward.length - 1; t >= 0; t--) {
      const notDone = 1 - done[t];
      const delta = reward[t] + gamma * value[t + 1] * notDone - value[t];
      advantage = delta + gamma * lambda * notDone * advantage;
      out[t] = advantage;
    }
  },
  () => ({
    reward: floats(12),
    value: floats(13, Math.cos),
    done: bytes(12),
    out: new Float32Array(12),
    gamma: 0.99,
    lambda: 0.95,
  }),
);

add(
  "arithmetic of each type",
  { a: i32, b: i32, x: f32, y: f64, u: u32, ints: i32.array(), floats: f64.array(), words: u32.array() },
  ({ a, b, x, y, u, ints, floats, words }) => {
    ints[0] = a + b;
    ints[1] = a - b;
    ints[2] = Math.imul(a, b);
    ints[3] = (a / b) | 0;
    ints[4] = Math.floor(a / b);
    ints[5] = Math.ceil(a / b);
    ints[6] = Math.trunc(a / b);
    ints[7] = a % b;
    ints[8] = -a;
    ints[9] = ~a;
    ints[10] = a & b;
    ints[11] = a | b;
    ints[12] = a ^ b;
    ints[13] = a << 3;
    ints[14] = a >> 1;
    ints[15] = Math.abs(a);
    ints[16] = Math.sign(a);
    ints[17] = Math.min(a, b, 3);
    ints[18] = Math.max(a, b, -3);
    ints[19] = Math.clz32(b);
    ints[20] = a >>> 28;
    ints[21] = +a;
    floats[0] = x * y;
    floats[1] = a / b;
    floats[2] = a + y;
    floats[3] = y % 3;
    floats[4] = y ** 2;
    floats[5] = Number(x) / 3;
    floats[6] = i32OrNot(a) + u;
    words[0] = u * 3;
    words[1] = a >>> 0;
    words[2] = u >>> 3;
    words[3] = u % 10;
    function i32OrNot(k: number) {
      return Number(k);
    }
  },
  () => ({
    a: -17,
    b: 5,
    x: 1.25,
    y: -7.75,
    u: 1000000,
    ints: new Int32Array(22),
    floats: new Float64Array(7),
    words: new Uint32Array(4),
  }),
);

add(
  "comparisons and logic",
  { x: f64.array(), out: u8.array(), flags: bool.array() },
  ({ x, out, flags }) => {
    for (let k = 0; k < x.length; k++) {
      const v = x[k];
      out[k] =
        (v < 0 ? 1 : 0) +
        (v <= 0 ? 2 : 0) +
        (v > 1 ? 4 : 0) +
        (v >= 1 ? 8 : 0) +
        (v === 2 ? 16 : 0) +
        (v !== 2 ? 32 : 0) +
        (v ? 64 : 0);
      flags[k] = (v > 0 && v < 2) || !v || v === -1;
    }
  },
  () => ({
    x: Float64Array.from([-1, 0, -0, 1, 2, 3, Number.NaN, 0.5, Number.POSITIVE_INFINITY]),
    out: new Uint8Array(9),
    flags: new Uint8Array(9),
  }),
);

add(
  "and and or as values",
  { x: f32.array(), out: f32.array() },
  ({ x, out }) => {
    for (let k = 0; k < x.length; k++) {
      out[2 * k] = x[k] || 7;
      out[2 * k + 1] = x[k] && x[k] * 2;
    }
  },
  () => ({ x: Float32Array.from([0, 1, -0, Number.NaN, 3]), out: new Float32Array(10) }),
);

add(
  "subscripts guarded by conditions",
  { x: f32.array(), out: f32.array() },
  ({ x, out }) => {
    for (let k = 0; k < out.length; k++) {
      out[k] = k < x.length ? x[k] : -1;
      if (k > 0 && k <= x.length && x[k - 1] > 0) out[k] += 10;
      if (k >= x.length || x[k] > 1) out[k] += 100;
    }
  },
  () => ({ x: floats(5), out: new Float32Array(9) }),
);

add(
  "while, do, break, continue and labels",
  { out: i32.array(), n: i32 },
  ({ out, n }) => {
    let k = 0;
    let sum = 0;
    while (k < n) {
      k++;
      if (k % 3 === 0) continue;
      if (k > 20) break;
      sum += k;
    }
    out[0] = sum;
    let steps = 0;
    let m = n;
    do {
      m = m % 2 === 0 ? (m / 2) | 0 : 3 * m + 1;
      steps++;
    } while (m !== 1);
    out[1] = steps;
    let found = -1;
    outer: for (let a = 1; a < n; a++) {
      for (let b = a; b < n; b++) {
        if ((a + b) % 7 === 0) continue outer;
        if (a * b > 40) {
          found = a * 100 + b;
          break outer;
        }
      }
    }
    out[2] = found;
    block: {
      out[3] = 1;
      if (n > 10) break block;
      out[3] = 2;
    }
    for (;;) {
      if (++out[4] >= 5) break;
    }
  },
  () => ({ out: new Int32Array(5), n: 27 }),
);

add(
  "loops of all directions",
  { out: i32.array(), n: i32 },
  ({ out, n }) => {
    let at = 0;
    for (let k = 0; k < n; k += 3) out[at++] = k;
    for (let k = n; k > 0; k -= 4) out[at++] = k;
    for (let k = 0; n >= k; k++) if (k % 5 === 0) out[at++] = k;
    for (let k = 0, j = n; k < j; k++, j--) out[at++] = j - k;
    for (let k = 1; k < n; k *= 2) out[at++] = k;
    let limit = n;
    for (let k = 0; k < limit; k++) {
      limit -= 2;
      out[at++] = limit;
    }
    let last: number;
    for (last = 0; last * last < n; last++);
    out[at++] = last;
  },
  () => ({ out: new Int32Array(60), n: 17 }),
);

add(
  "early returns",
  { x: f32.array(), out: f32.array() },
  ({ x, out }) => {
    const grade = (v: number) => {
      if (v < -2) return 0;
      if (v < 0) {
        if (v > -1) return 1;
        return 2;
      }
      for (let k = 3; k < 6; k++) {
        if (v < k - 2) return k;
      }
      return 9;
    };
    for (let k = 0; k < x.length; k++) out[k] = grade(x[k]);
    if (x[0] > 100) return;
    out[0] += 0.5;
  },
  () => ({ x: floats(12), out: new Float32Array(12) }),
);

add(
  "switch",
  { x: i32.array(), out: i32.array() },
  ({ x, out }) => {
    for (let k = 0; k < x.length; k++) {
      switch (x[k]) {
        case 1:
          out[k] = 10;
          break;
        case 2:
        case 3: {
          if (k > 4) break;
          out[k] = 23;
          break;
        }
        case -1:
          continue;
        default:
          out[k] = 99;
      }
      out[k] += 1;
    }
  },
  () => ({ x: Int32Array.from([1, 2, 3, -1, 0, 2, 7]), out: new Int32Array(7) }),
);

add(
  "comma, void and conditional statements",
  { x: f32.array(), n: i32 },
  ({ x, n }) => {
    let a = 0,
      b = 1;
    (a = 3), (b = a + 2), n > 2 && (x[0] = a), n > 100 || (x[1] = b);
    n > 3 ? (x[2] = 1) : (x[3] = 2);
    x[4] = (x[5] = 8) + 1;
    void (x[6] = 4);
    return void (x[7] = 1 / 0);
  },
  () => ({ x: new Float32Array(8), n: 4 }),
);

add(
  "assignment operators",
  { x: f64.array(), k: i32.array() },
  ({ x, k }) => {
    x[0] += 2;
    x[1] -= 2;
    x[2] *= 2;
    x[3] /= 2;
    x[4] %= 2;
    x[5] **= 2;
    x[6] &&= 5;
    x[7] ||= 6;
    k[0] <<= 2;
    k[1] >>= 2;
    k[2] |= 12;
    k[3] &= 6;
    k[4] ^= 3;
    let i = 0;
    k[i++] += 5;
    k[++i] -= i--;
    k[i] = i++ + i;
    x[i] = k[i]++ + --k[3];
  },
  () => ({ x: doubles(8), k: ints(5) }),
);

add(
  "order of effects",
  { x: i32.array() },
  ({ x }) => {
    let a = 1;
    const next = () => {
      a += 1;
      return a;
    };
    x[0] = a + next() * 10 + a * 100;
    x[1] = next() - next();
    x[next() - 4] = next();
    const [p, q] = [next(), a];
    x[4] = p * 100 + q;
    let b = 5;
    [a, b] = [b, a];
    x[5] = a * 100 + b;
    x[6] = (a = 2) + a * (a = 3) + a;
  },
  () => ({ x: new Int32Array(7) }),
);

add(
  "local arrays",
  { x: f32.array(), out: f32.array() },
  ({ x, out }) => {
    const window = new Float32Array(4);
    const weights = [0.5, 0.25, 0.125, 0.125];
    const counts = new Array(3).fill(0);
    const primes = new Int32Array([2, 3, 5, 7]);
    const seen = [false, false, true];
    for (let k = 0; k < x.length; k++) {
      const fresh = new Float32Array(2);
      fresh[0] += x[k];
      window[k % 4] = fresh[0] + fresh[1];
      let sum = 0;
      for (let j = 0; j < window.length; j++) sum += window[j] * weights[j];
      if (seen[k % 3]) counts[k % 3] += 1;
      seen[k % 3] = x[k] > 0 || !seen[2];
      out[k] = sum + Math.fround(counts[k % 3] * primes[k & 3]);
    }
  },
  () => ({ x: floats(10), out: new Float32Array(10) }),
);

add(
  "views",
  { x: f32.array(), out: f32.array(8) },
  ({ x, out }) => {
    const dot = (a: ArrayLike<number>, b: ArrayLike<number>, n: number) => {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += a[k] * b[k];
      return sum;
    };
    for (let r = 0; r < 4; r++) {
      const row = x.subarray(r * 3, r * 3 + 3);
      out[r] = dot(row, x.subarray(9), row.length);
    }
    const tail = out.subarray(4);
    tail.fill(2.5);
    tail.subarray(1).fill(1.5, 1);
    out[4] += tail.length;
  },
  () => ({ x: floats(12), out: new Float32Array(8) }),
);

add(
  "records of parameters",
  { state: { x: f32.array(), v: f32.array() }, options: { dt: f32, steps: i32 } },
  (args) => {
    const { state, options } = args;
    for (let s = 0; s < options.steps; s++) {
      for (let k = 0; k < state.x.length; k++) {
        state.v[k] -= args.options.dt * state.x[k];
        state.x[k] += args.options.dt * state.v[k];
      }
    }
  },
  () => ({ state: { x: floats(6), v: floats(6, Math.cos) }, options: { dt: 0.125, steps: 5 } }),
);

add(
  "structs of arrays",
  {
    state: struct({ x: f32, v: f32, cells: u8.array(3), goal: { row: i32, column: i32 } }).array(),
    out: f32.array(4).array(),
  },
  ({ state, out }) => {
    for (let i = 0; i < state.length; i++) {
      const s = state[i];
      s.v += 0.5 * s.x;
      s.x += s.v;
      s.goal.row += i;
      for (let j = 0; j < s.cells.length; j++) s.cells[j] += j + 1;
      const { x, v } = s;
      const row = out[i];
      row[0] = x;
      row[1] = v;
      row[2] = s.cells[2];
      out[i][3] = Math.fround(state[i].goal.row * 10 + s.goal.column);
    }
    for (const e of state) e.x = -e.x;
  },
  () => ({
    state: {
      x: floats(4),
      v: floats(4, Math.cos),
      cells: bytes(12, (k) => k),
      goal: { row: ints(4), column: ints(4, (k) => k) },
    },
    out: new Float32Array(16),
  }),
);

add(
  "helpers that return records and take elements",
  {
    state: struct({ x: f32, v: f32 }).array(),
    reward: f32.array(),
    ended: bool.array(),
    obs: f32.array(),
    params: constant({ gravity: 9.8, dt: 0.02, limits: [-1, 1] }),
    step: inline(
      (
        s: { x: number; v: number },
        force: number,
        { params }: { params: { gravity: number; dt: number; limits: { readonly [k: number]: number } } },
      ) => {
        s.v += (force - params.gravity * s.x) * params.dt;
        s.x += s.v * params.dt;
        if (s.x > params.limits[1]) return { reward: -1, terminated: true };
        return { reward: 1 - s.x * s.x, terminated: s.x < params.limits[0] };
      },
    ),
    observe: inline((s: { x: number; v: number }, into: { [k: number]: number }) => {
      into[0] = s.x;
      into[1] = s.v;
    }),
  },
  ({ state, reward, ended, obs, params, step, observe }, { parallel }) => {
    parallel(state.length, (i) => {
      const result = step(state[i], 0.25, { params });
      reward[i] = result.reward;
      ended[i] = result.terminated;
      observe(state[i], obs.subarray(2 * i, 2 * i + 2));
    });
  },
  () => ({
    state: { x: floats(9), v: floats(9, Math.cos) },
    reward: new Float32Array(9),
    ended: new Uint8Array(9),
    obs: new Float32Array(18),
  }),
);

const square = inline((x: number) => x * x);
add(
  "helpers that use helpers",
  {
    x: f32.array(),
    y: f64.array(),
    k: i32.array(),
    distance: inline(
      { square, scale: constant(0.5) },
      ({ square, scale }, a: number, b: number) => Math.sqrt(square(a) + square(b)) * scale,
    ),
    square,
    twice: inline((f: (x: number) => number, x: number) => f(f(x))),
  },
  ({ x, y, k, distance, square, twice }) => {
    x[0] = distance(x[1], x[2]);
    y[0] = distance(y[1], y[2]);
    k[0] = square(k[1]);
    x[3] = twice(square, x[4]);
    y[3] = square(3);
  },
  () => ({ x: floats(5), y: doubles(5), k: ints(5) }),
);

add(
  "constants",
  {
    x: f32.array(),
    table: constant([0, 1, 0, -1]),
    curve: constant([0.1, 0.2, 0.3]),
    weights: constant(Float32Array.from([0.5, 1.5])),
    half: constant(0.5),
    count: constant(3),
    isExact: constant(false),
  },
  ({ x, table, curve, weights, half, count, isExact }) => {
    for (let k = 0; k < count; k++) x[k] = half * table[k + 1] + curve[k] * weights[k & 1];
    if (isExact) x[3] = 1;
    else x[4] = 1;
    x[5] = isExact ? 2 : 3;
    x[6] = x.length > 4 && !isExact ? Math.PI : Math.E;
  },
  () => ({ x: new Float32Array(7) }),
);

add(
  "literals take the type they meet",
  { x: f32.array(), y: f64.array(), k: i32 },
  ({ x, y, k }) => {
    let push = 0.1;
    if (k > 3) push = -0.3;
    let count = 2;
    if (k > 2) count = 3;
    const third = 1 / 3;
    x[0] = x[1] * push + third;
    y[0] = y[1] * push + third;
    x[2] = x[3] * count;
    let sign = k > 0 ? 1 : -1;
    if (k > 100) sign = 0;
    x[4] = x[5] * sign + (k > 1 ? 0.7 : 0.2);
    y[2] = 0.1 + 0.2;
    let p = 1;
    for (let j = 0; j < 5; j++) p *= 0.5;
    x[6] = x[7] * p;
    for (let j = 0; j < 4; j++) x[8 + j] = x[j] * j;
  },
  () => ({ x: floats(12), y: doubles(4), k: 5 }),
);

add(
  "bytes and booleans widen",
  { done: u8.array(), flag: bool.array(), x: f32.array(), y: f64.array(), k: i32.array(), on: bool, level: u8 },
  ({ done, flag, x, y, k, on, level }) => {
    for (let i = 0; i < done.length; i++) {
      x[i] = done[i] * x[i] + (flag[i] ? 1 : 0);
      y[i] = (1 - done[i]) * y[i];
      k[i] += done[i] + level;
      done[i] = k[i];
      flag[i] = !flag[i] && on;
    }
  },
  () => ({
    done: bytes(7, (k) => k * 40),
    flag: bytes(7),
    x: floats(7),
    y: doubles(7),
    k: ints(7, (k) => k * 90),
    on: true,
    level: 200,
  }),
);

add(
  "for of and destructuring",
  { x: f32.array(), out: f32.array() },
  ({ x, out }) => {
    let sum = 0;
    for (const v of x) {
      if (v < 0) continue;
      sum += v;
    }
    out[0] = sum;
    const [a, b, c = 3] = [x[0], x[1], 5];
    const point = { px: a, py: b };
    point.px += c;
    const { px, py: other } = point;
    out[1] = px * other;
    [out[2], out[3]] = [out[1], out[0]];
  },
  () => ({ x: floats(9), out: new Float32Array(4) }),
);

add(
  "parallel with reductions",
  { x: f32.array(), k: i32.array(), out: f32.array(), counts: i32.array(), any: bool.array() },
  ({ x, k, out, counts, any }, { parallel }) => {
    let sum = 0;
    let most = Number.NEGATIVE_INFINITY;
    let least = 1e9;
    let product = 1;
    let positive = 0;
    let bits = 0;
    let all = true;
    let some = false;
    let spent = 10;
    parallel(x.length, (i) => {
      if (k[i] === 3) return;
      sum += x[i];
      most = Math.max(most, x[i], -x[i]);
      least = Math.min(x[i], least);
      product *= 1 + 0.01 * x[i];
      if (x[i] > 0) positive++;
      bits |= k[i];
      all = all && x[i] < 10;
      some ||= x[i] > 3.9;
      spent -= x[i];
    });
    out[0] = sum;
    out[1] = most;
    out[2] = least;
    out[3] = product;
    out[4] = spent;
    counts[0] = positive;
    counts[1] = bits;
    any[0] = all;
    any[1] = some;
  },
  () => ({
    x: floats(70),
    k: ints(70, (k) => k % 9),
    out: new Float32Array(5),
    counts: new Int32Array(2),
    any: new Uint8Array(2),
  }),
);

add(
  "nested parallel and views",
  { x: f32.array(), out: f32.array(), rows: i32, columns: i32 },
  ({ x, out, rows, columns }, { parallel }) => {
    parallel(rows, (r) => {
      const row = x.subarray(r * columns, (r + 1) * columns);
      let sum = 0;
      parallel(columns, (c) => {
        if (c === 2) return;
        sum += row[c];
      });
      out[r] = sum;
    });
  },
  () => ({ x: floats(24), out: new Float32Array(4), rows: 4, columns: 6 }),
);

add(
  "argument object, methods and other function forms",
  { x: f32.array(), n: i32 },
  {
    run(args: { x: { [k: number]: number }; n: number }, $: { parallel(n: number, f: (i: number) => void): void }) {
      $.parallel(args.n, function each(i) {
        args.x[i] = args.x[i] * 2 + 1;
      });
    },
  }.run,
  () => ({ x: floats(5), n: 5 }),
);

add(
  "conversions",
  { x: f64.array(), y: f32.array(), k: i32.array(), u: u32.array(), w: i32.array() },
  ({ x, y, k, u, w }) => {
    for (let i = 0; i < x.length; i++) {
      k[i] = x[i] | 0;
      u[i] = x[i] >>> 0;
      w[i] = ~~y[i];
      y[i] = Math.fround(x[i]);
    }
  },
  () => {
    const x = Float64Array.from([
      0,
      -0,
      1.9,
      -1.9,
      2147483647.5,
      -2147483648.5,
      2147483648,
      4294967295,
      4294967296,
      -4294967297,
      1e15 + 3,
      -1e15 - 3,
      2 ** 53,
      1e300,
      -1e300,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      5e-324,
      -0.5,
    ]);
    const n = x.length;
    const y = Float32Array.from(x);
    return { x, y, k: new Int32Array(n), u: new Uint32Array(n), w: new Int32Array(n) };
  },
);

add(
  "rounding and tests",
  { x: f32.array(), y: f64.array(), out: f64.array(), flags: bool.array() },
  ({ x, y, out, flags }) => {
    for (let i = 0; i < x.length; i++) {
      out[6 * i] = Math.floor(x[i]);
      out[6 * i + 1] = Math.ceil(x[i]);
      out[6 * i + 2] = Math.trunc(y[i]);
      out[6 * i + 3] = Math.round(y[i]);
      out[6 * i + 4] = Math.sign(x[i]);
      out[6 * i + 5] = Math.sqrt(Math.abs(y[i]));
      flags[3 * i] = Number.isNaN(x[i]);
      flags[3 * i + 1] = Number.isFinite(y[i]);
      flags[3 * i + 2] = Number.isInteger(y[i]);
    }
  },
  () => {
    const values = [0, -0, 0.5, -0.5, 1.5, 2.5, -2.5, 3, Number.NaN, Number.POSITIVE_INFINITY, 1e20];
    const n = values.length;
    return {
      x: Float32Array.from(values),
      y: Float64Array.from(values),
      out: new Float64Array(6 * n),
      flags: new Uint8Array(3 * n),
    };
  },
);

add(
  "functions",
  { x: f32.array(), out: f32.array(), y: f64.array(), wide: f64.array() },
  ({ x, out, y, wide }, { sigmoid, fma, mulAdd }) => {
    for (let i = 0; i < x.length; i++) {
      const v = x[i];
      out[i] =
        Math.sin(v) +
        Math.cos(v) * Math.exp(-v) +
        Math.tanh(v) -
        Math.log(1 + Math.abs(v)) +
        sigmoid(v) +
        Math.atan2(v, 2) +
        Math.abs(v) ** 1.5 +
        Math.hypot(v, 3) +
        fma(v, 2, 1) +
        mulAdd(v, v, 0.5);
      wide[i] = Math.exp(y[i]) + Math.log1p(Math.abs(y[i])) + Math.sin(y[i]) + 2 * Math.exp(-1);
    }
  },
  () => ({ x: floats(9), out: new Float32Array(9), y: doubles(9), wide: new Float64Array(9) }),
);
