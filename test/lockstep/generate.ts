/**
 * @file Random kernels for differential tests: fast-check draws a small tree, `buildKernel` turns it into IR.
 *
 * A kernel is the body of a parallel loop over shared inputs of every type, with mutable locals, branches, counted and
 * endless loops with early exits, private arrays, gathers, and stores to its own part of the outputs; or a reduction.
 * Everything terminates and stays in range, so every drawn tree is a valid program.
 */
import fc from "fast-check";
import {
  add,
  assign,
  type Builder,
  binary,
  buffer,
  constant,
  convert,
  fma,
  get,
  i32,
  load,
  mul,
  recur,
  select,
  sub,
  unary,
} from "../../src/ir/build.ts";
import type { Buffer, Expr, Label, Local, Reduction } from "../../src/ir/nodes.ts";
import {
  BINARY_OPS,
  type BinaryOp,
  CONVERSIONS,
  type DType,
  type OpSignature,
  type ReduceOp,
  UNARY_OPS,
  type UnaryOp,
} from "../../src/ir/types.ts";

export const ELEMENTS = 45;
export const STORAGES = ["f32", "f64", "i32", "u32", "u8"] as const;
type Loaded = "f32" | "f64" | "i32" | "u32";
const DTYPES: readonly DType[] = ["f32", "f64", "i32", "u32", "bool"];

export type ExprTree =
  | { kind: "const"; dtype: DType; value: number }
  | { kind: "local"; dtype: DType; slot: number }
  | { kind: "input"; dtype: DType; at: ExprTree | undefined }
  | { kind: "private"; dtype: DType; at: ExprTree }
  | { kind: "unary"; dtype: DType; op: UnaryOp; x: ExprTree }
  | { kind: "binary"; dtype: DType; op: BinaryOp; a: ExprTree; b: ExprTree }
  | { kind: "select"; dtype: DType; c: ExprTree; a: ExprTree; b: ExprTree }
  | { kind: "convert"; dtype: DType; x: ExprTree }
  | { kind: "fma"; dtype: DType; a: ExprTree; b: ExprTree; c: ExprTree };

export type StmtTree =
  | { kind: "assign"; dtype: DType; slot: number; value: ExprTree }
  | { kind: "store"; storage: (typeof STORAGES)[number]; value: ExprTree }
  | { kind: "private"; at: ExprTree; value: ExprTree }
  | { kind: "if"; c: ExprTree; then: StmtTree[]; else: StmtTree[] }
  | { kind: "for"; trips: number; ragged: ExprTree | undefined; body: StmtTree[] }
  | { kind: "loop"; limit: number; until: ExprTree; body: StmtTree[] }
  | { kind: "block"; body: StmtTree[] }
  | { kind: "exit"; up: number };

export interface KernelTree {
  readonly body: readonly StmtTree[];
  readonly reduce: { op: ReduceOp; dtype: Loaded; value: ExprTree; when: ExprTree | undefined } | undefined;
  /** The body is that of a scan, up to its recurrence. */
  readonly scan: ScanTree | undefined;
}
export interface ScanTree {
  readonly dtype: "f32" | "f64";
  readonly term: ExprTree;
  readonly factor: ExprTree;
  /** Statements behind the recurrence, which see its value as local 0 of its type. */
  readonly behind: readonly StmtTree[];
  /** Iterations; subscripts run against them when it goes `down`. */
  readonly count: number;
  readonly down: boolean;
  /** Whether what stands behind the recurrence starts from locals of its own: its first half can then run ahead. */
  readonly fresh: boolean;
  /** Rows of a parallel loop around it; none when there is no such loop. */
  readonly rows: number;
}

const EDGES: { readonly [D in DType]: readonly number[] } = {
  f32: [
    0,
    -0,
    1,
    -1,
    0.5,
    1.5,
    -2.5,
    3.4028235e38,
    1e-45,
    -1.1754942e-38,
    16777216,
    2147483648,
    -2147483648,
    4294967296,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ].map(Math.fround),
  f64: [
    0,
    -0,
    1,
    -1,
    0.1,
    2.5,
    -3.5,
    1.7976931348623157e308,
    5e-324,
    4503599627370495.5,
    2147483647.5,
    -2147483649,
    4294967295.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  ],
  i32: [0, 1, -1, 2, 7, 31, 32, 33, -2147483648, 2147483647, 65535, -65536, 123456789],
  u32: [0, 1, 2, 31, 32, 4294967295, 2147483648, 2147483647, 65536, 3000000000],
  bool: [0, 1],
};

/** Operations by what they yield. */
const unaryFor = (dtype: DType): [UnaryOp, DType][] =>
  (Object.entries(UNARY_OPS) as [UnaryOp, OpSignature][]).flatMap(([op, sig]) =>
    sig.operands.filter((t) => (sig.result ?? t) === dtype).map((t) => [op, t] as [UnaryOp, DType]),
  );
const binaryFor = (dtype: DType): [BinaryOp, DType][] =>
  (Object.entries(BINARY_OPS) as [BinaryOp, OpSignature][]).flatMap(([op, sig]) =>
    sig.operands.filter((t) => (sig.result ?? t) === dtype).map((t) => [op, t] as [BinaryOp, DType]),
  );
const sourcesOf = (dtype: DType): DType[] =>
  CONVERSIONS.map((c) => c.split("-") as [DType, DType])
    .filter(([, to]) => to === dtype)
    .map(([from]) => from);

const slot = fc.nat(1);

/** Arbitraries are built once per key: building them is what takes time, not drawing from them. */
function once<A extends readonly (string | number)[], T>(make: (...args: A) => T): (...args: A) => T {
  const made = new Map<string, T>();
  return (...args) => {
    const key = args.join();
    const known = made.get(key);
    if (known !== undefined) return known;
    const fresh = make(...args);
    made.set(key, fresh);
    return fresh;
  };
}

const exprArbitrary = once((dtype: DType, depth: number): fc.Arbitrary<ExprTree> => {
  const at =
    depth > 0 ? fc.option(exprArbitrary("i32", depth - 1), { nil: undefined, freq: 3 }) : fc.constant(undefined);
  const leaf: fc.WeightedArbitrary<ExprTree>[] = [
    { weight: 2, arbitrary: fc.constantFrom(...EDGES[dtype]).map((value) => ({ kind: "const", dtype, value })) },
    { weight: 4, arbitrary: slot.map((s) => ({ kind: "local", dtype, slot: s })) },
    { weight: 4, arbitrary: at.map((a) => ({ kind: "input", dtype, at: a })) },
  ];
  if (depth === 0) return fc.oneof(...leaf);
  const inner: fc.WeightedArbitrary<ExprTree>[] = [
    {
      weight: 4,
      arbitrary: fc
        .constantFrom(...unaryFor(dtype))
        .chain(([op, t]) => exprArbitrary(t, depth - 1).map((x) => ({ kind: "unary" as const, dtype, op, x }))),
    },
    {
      weight: 10,
      arbitrary: fc
        .constantFrom(...binaryFor(dtype))
        .chain(([op, t]) =>
          fc
            .tuple(exprArbitrary(t, depth - 1), exprArbitrary(t, depth - 1))
            .map(([a, b]) => ({ kind: "binary" as const, dtype, op, a, b })),
        ),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(exprArbitrary("bool", depth - 1), exprArbitrary(dtype, depth - 1), exprArbitrary(dtype, depth - 1))
        .map(([c, a, b]) => ({ kind: "select", dtype, c, a, b })),
    },
  ];
  const sources = sourcesOf(dtype);
  if (sources.length)
    inner.push({
      weight: 3,
      arbitrary: fc
        .constantFrom(...sources)
        .chain((t) => exprArbitrary(t, depth - 1).map((x) => ({ kind: "convert" as const, dtype, x }))),
    });
  if (dtype === "f32") {
    const f = (): fc.Arbitrary<ExprTree> => exprArbitrary("f32", depth - 1);
    inner.push({ weight: 2, arbitrary: fc.tuple(f(), f(), f()).map(([a, b, c]) => ({ kind: "fma", dtype, a, b, c })) });
    inner.push({
      weight: 1,
      arbitrary: exprArbitrary("i32", depth - 1).map((a) => ({ kind: "private", dtype, at: a })),
    });
  }
  return fc.oneof(...leaf, ...inner);
});

const anyExpr = (depth: number): fc.Arbitrary<ExprTree> => fc.oneof(...DTYPES.map((t) => exprArbitrary(t, depth)));

function bodyArbitrary(depth: number, max: number): fc.Arbitrary<StmtTree[]> {
  return fc.array(stmtArbitrary(depth), { minLength: 1, maxLength: max });
}

const stmtArbitrary = once((depth: number): fc.Arbitrary<StmtTree> => {
  const storeTo = fc
    .constantFrom(...STORAGES)
    .chain((storage) =>
      exprArbitrary(storage === "u8" ? "i32" : storage, 2).map(
        (value): StmtTree => ({ kind: "store", storage, value }),
      ),
    );
  const simple: fc.WeightedArbitrary<StmtTree>[] = [
    {
      weight: 5,
      arbitrary: fc
        .tuple(anyExpr(3), slot)
        .map(([value, s]) => ({ kind: "assign", dtype: value.dtype, slot: s, value })),
    },
    { weight: 5, arbitrary: storeTo },
    {
      weight: 1,
      arbitrary: fc
        .tuple(exprArbitrary("i32", 1), exprArbitrary("f32", 2))
        .map(([at, value]) => ({ kind: "private", at, value })),
    },
    { weight: 1, arbitrary: fc.nat(2).map((up) => ({ kind: "exit", up })) },
  ];
  if (depth === 0) return fc.oneof(...simple);
  const nested = bodyArbitrary(depth - 1, 2);
  return fc.oneof(
    ...simple,
    {
      weight: 3,
      arbitrary: fc
        .tuple(exprArbitrary("bool", 1), nested, fc.oneof(fc.constant<StmtTree[]>([]), nested))
        .map(([c, t, e]): StmtTree => ({ kind: "if", c, then: t, else: e })),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.integer({ min: 1, max: 3 }), fc.option(exprArbitrary("i32", 1), { nil: undefined }), nested)
        .map(([trips, ragged, body]): StmtTree => ({ kind: "for", trips, ragged, body })),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.integer({ min: 1, max: 4 }), exprArbitrary("bool", 1), nested)
        .map(([limit, until, body]): StmtTree => ({ kind: "loop", limit, until, body })),
    },
    { weight: 1, arbitrary: nested.map((body): StmtTree => ({ kind: "block", body })) },
  );
});

const REDUCTIONS: { readonly [D in Loaded]: readonly ReduceOp[] } = {
  f32: ["add", "mul", "min", "max"],
  f64: ["add", "mul", "min", "max"],
  i32: ["add", "mul", "min", "max", "and", "or", "xor"],
  u32: ["add", "mul", "min", "max", "and", "or", "xor"],
};
const reduceArbitrary = fc.constantFrom<Loaded>("f32", "f64", "i32", "u32").chain((dtype) =>
  fc.record({
    dtype: fc.constant(dtype),
    op: fc.constantFrom(...REDUCTIONS[dtype]),
    value: exprArbitrary(dtype, 2),
    when: fc.option(exprArbitrary("bool", 1), { nil: undefined }),
  }),
);

export const kernelArbitrary: fc.Arbitrary<KernelTree> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ body: bodyArbitrary(2, 3), reduce: fc.constant(undefined), scan: fc.constant(undefined) }),
  },
  // Reductions are unrolled: short bodies keep the C compiler's work within bounds.
  {
    weight: 1,
    arbitrary: fc.record({ body: bodyArbitrary(0, 1), reduce: reduceArbitrary, scan: fc.constant(undefined) }),
  },
);

/** Scans, whose bodies are written several times, too. */
export const scanArbitrary: fc.Arbitrary<KernelTree> = fc.constantFrom("f32" as const, "f64" as const).chain((dtype) =>
  fc.record({
    body: fc.oneof(fc.constant([]), bodyArbitrary(0, 2), bodyArbitrary(1, 1)),
    reduce: fc.constant(undefined),
    scan: fc.record({
      dtype: fc.constant(dtype),
      term: exprArbitrary(dtype, 2),
      factor: exprArbitrary(dtype, 2),
      behind: fc.oneof(fc.constant([]), bodyArbitrary(0, 2), bodyArbitrary(1, 1)),
      count: fc.integer({ min: 0, max: ELEMENTS }),
      down: fc.boolean(),
      fresh: fc.boolean(),
      rows: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(SCAN_ROWS) }),
    }),
  }),
);
const SCAN_ROWS = 3;

/** The shared inputs and outputs of all kernels of a module. */
export interface Arrays {
  readonly inputs: { readonly [S in (typeof STORAGES)[number]]: Buffer };
  readonly outputs: { readonly [S in (typeof STORAGES)[number]]: Buffer };
}

const PRIVATE_LENGTH = 4;

class KernelBuilder {
  readonly #b: Builder;
  readonly #arrays: Arrays;
  readonly #base: number;
  readonly #locals = new Map<string, Local>();
  readonly #private: Buffer;
  #i: Expr = i32(0);
  #labels: readonly Label[] = [];

  constructor(b: Builder, arrays: Arrays, base: number) {
    this.#b = b;
    this.#arrays = arrays;
    this.#base = base;
    this.#private = buffer("private", "f32", "local", PRIVATE_LENGTH);
  }

  kernel(tree: KernelTree): void {
    const { reduce, scan } = tree;
    if (scan) return this.#scanKernel(tree.body, scan);
    const total = reduce && this.#b.local("total", reduce.dtype);
    if (total) this.#b.assign(total, constant(total.dtype, 3));
    const reductions: Reduction[] = reduce && total ? [{ local: total, op: reduce.op }] : [];
    this.#b.for("i", { begin: i32(0), end: i32(ELEMENTS), axis: "parallel", reductions }, (i) => {
      this.#i = i;
      this.#start(JSON.stringify(tree).includes('"private"'));
      // The iteration's own block: what `exit` leaves at the outermost level.
      this.#b.block((out) => {
        this.#labels = [out];
        this.#body(tree.body);
      });
      this.#labels = [];
      if (reduce && total) {
        const combine = (): void =>
          this.#b.emit(assign(total, binary(reduce.op, get(total), this.#expr(reduce.value))));
        if (reduce.when) this.#b.if(this.#expr(reduce.when), combine);
        else combine();
      }
    });
    if (total) this.#b.store(this.#arrays.outputs[total.dtype as Loaded], i32(this.#base), get(total));
  }

  #scanKernel(body: readonly StmtTree[], scan: ScanTree): void {
    const own = Math.floor(ELEMENTS / Math.max(1, scan.rows));
    const row = (first: Expr): void => {
      const x = this.#b.local("x", scan.dtype);
      this.#b.assign(x, constant(x.dtype, 0.75));
      this.#scan(body, scan, x, first, Math.min(scan.count, own));
      this.#b.store(this.#arrays.outputs[scan.dtype], add(first, i32(this.#base + own - 1)), get(x));
    };
    if (scan.rows === 0) return row(i32(0));
    this.#b.for("row", { begin: i32(0), end: i32(scan.rows), axis: "parallel" }, (r) => row(mul(r, i32(own))));
  }

  #scan(body: readonly StmtTree[], scan: ScanTree, x: Local, first: Expr, count: number): void {
    this.#b.for("i", { begin: i32(0), end: i32(count), axis: "scan" }, (i) => {
      this.#i = this.#b.let("at", add(first, scan.down ? sub(i32(count - 1), i) : i));
      const usesPrivate = JSON.stringify([body, scan]).includes('"private"');
      this.#start(usesPrivate);
      const part = (list: readonly StmtTree[]): void =>
        this.#b.block((out) => this.#inside(out, () => this.#body(list)));
      part(body);
      this.#b.emit(recur(x, this.#expr(scan.term), this.#expr(scan.factor)));
      if (scan.fresh) this.#start(usesPrivate);
      this.#b.assign(this.#local(scan.dtype, 0), get(x));
      part(scan.behind);
    });
  }

  #start(usesPrivate: boolean): void {
    for (const dtype of DTYPES) {
      for (const s of [0, 1]) {
        const l = this.#b.local(`${dtype}${s}`, dtype);
        this.#locals.set(`${dtype}${s}`, l);
        this.#b.assign(l, s === 0 ? this.#input(dtype, this.#i) : constant(dtype, 1));
      }
    }
    if (usesPrivate) for (let k = 0; k < PRIVATE_LENGTH; k++) this.#b.store(this.#private, i32(k), constant("f32", k));
  }

  #input(dtype: DType, index: Expr): Expr {
    if (dtype === "bool") return binary("gt", load(this.#arrays.inputs.u8, index), i32(127));
    return load(this.#arrays.inputs[dtype], index);
  }

  /** Any i32 as a subscript below n. */
  #within(e: Expr, n: number): Expr {
    return convert("i32", binary("rem", convert("u32", e), constant("u32", n)));
  }

  #body(body: readonly StmtTree[]): void {
    for (const s of body) {
      this.#stmt(s);
      if (s.kind === "exit") return;
    }
  }

  #stmt(s: StmtTree): void {
    const b = this.#b;
    switch (s.kind) {
      case "assign":
        return b.assign(this.#local(s.dtype, s.slot), this.#expr(s.value));
      case "store":
        return b.store(this.#arrays.outputs[s.storage], add(this.#i, i32(this.#base)), this.#expr(s.value));
      case "private":
        return b.store(this.#private, this.#within(this.#expr(s.at), PRIVATE_LENGTH), this.#expr(s.value));
      case "if":
        return b.if(
          this.#expr(s.c),
          () => this.#body(s.then),
          () => this.#body(s.else),
        );
      case "for": {
        const more = s.ragged ? this.#within(this.#expr(s.ragged), 3) : i32(0);
        b.for("j", { begin: i32(0), end: add(more, i32(s.trips)) }, (j, label) =>
          this.#inside(label, () => {
            b.assign(this.#local("i32", 1), add(get(this.#local("i32", 1)), j));
            this.#body(s.body);
          }),
        );
        return;
      }
      case "loop": {
        const count = b.local("count", "i32");
        b.assign(count, i32(0));
        return b.loop((label) =>
          this.#inside(label, () => {
            b.if(binary("ge", get(count), i32(s.limit)), () => b.exit(label));
            b.assign(count, add(get(count), i32(1)));
            b.if(this.#expr(s.until), () => b.exit(label));
            this.#body(s.body);
          }),
        );
      }
      case "block":
        return b.block((label) => this.#inside(label, () => this.#body(s.body)));
      case "exit":
        return b.exit(this.#labels[Math.max(0, this.#labels.length - 1 - s.up)] as Label);
      default:
        s satisfies never;
    }
  }

  #inside(label: Label, write: () => void): void {
    const outer = this.#labels;
    this.#labels = [...outer, label];
    write();
    this.#labels = outer;
  }

  #local(dtype: DType, s: number): Local {
    return this.#locals.get(`${dtype}${s}`) as Local;
  }

  #expr(t: ExprTree): Expr {
    switch (t.kind) {
      case "const":
        return constant(t.dtype, t.value);
      case "local":
        return get(this.#local(t.dtype, t.slot));
      case "input":
        return this.#input(t.dtype, t.at ? this.#within(this.#expr(t.at), ELEMENTS) : this.#i);
      case "private":
        return load(this.#private, this.#within(this.#expr(t.at), PRIVATE_LENGTH));
      case "unary": {
        const x = this.#expr(t.x);
        // The payload of a NaN is nobody's business.
        const sees = t.op === "bits" || t.op === "highWord" || t.op === "lowWord";
        return unary(t.op, sees ? select(binary("eq", x, x), x, constant(x.dtype, 0)) : x);
      }
      case "binary":
        return binary(t.op, this.#expr(t.a), this.#expr(t.b));
      case "select":
        return select(this.#expr(t.c), this.#expr(t.a), this.#expr(t.b));
      case "convert":
        return convert(t.dtype, this.#expr(t.x));
      case "fma":
        return fma(this.#expr(t.a), this.#expr(t.b), this.#expr(t.c));
      default:
        return t satisfies never;
    }
  }
}

/** Emits a drawn kernel; it stores to elements base..base+ELEMENTS-1 of the outputs. */
export function buildKernel(b: Builder, tree: KernelTree, arrays: Arrays, base: number): void {
  new KernelBuilder(b, arrays, base).kernel(tree);
}
