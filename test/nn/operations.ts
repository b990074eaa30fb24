/**
 * @file The code of golden cases: layers, losses, elementwise functions, reductions and indexing.
 */
import {
  absoluteError,
  attention,
  binaryCrossEntropy,
  conv,
  crossEntropy,
  elu,
  embedding,
  erf,
  gelu,
  geluTanh,
  gru,
  huber,
  layerNorm,
  leakyRelu,
  logSigmoid,
  lstm,
  mlp,
  type Parameters,
  rmsNorm,
  silu,
  softsign,
  squaredError,
} from "../../src/nn/index.ts";
import {
  concat,
  constant,
  flip,
  gradients,
  scatterAddAlong,
  scatterAlong,
  stack,
  type Tensor,
  takeAlong,
  tile,
  where,
} from "../../src/tensor/index.ts";
import type { CaseCode, Numbers, Recorded } from "./golden.ts";

type Tensors = { readonly [name: string]: Tensor };

/** sum of output * cotangent over all outputs that have one. */
function lossOf(recorded: Recorded, outputs: Tensors): Tensor {
  const terms = Object.keys(recorded.given.inputs.cotangents as object).map((name) =>
    (outputs[name] as Tensor).mul(recorded.tensor(`cotangents.${name}`)).sum(),
  );
  return terms.length ? terms.reduce((a, b) => a.add(b)) : constant(0, recorded.dtype);
}
const wantedGradients = (recorded: Recorded): string[] =>
  Object.keys((recorded.given.expected as { grads: object }).grads);
const named = (prefix: string, tensors: Tensors): Tensors =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [`${prefix}.${name}`, tensor]));

/** Code of plain tensors: outputs of inputs; gradients of what the case asks for. */
function plain(write: (get: (name: string) => Tensor, recorded: Recorded) => Tensor | Tensors): CaseCode {
  return (recorded) => {
    const made = new Map<string, Tensor>();
    const get = (name: string): Tensor => {
      const tensor = made.get(name) ?? recorded.tensor(name);
      made.set(name, tensor);
      return tensor;
    };
    const result = write(get, recorded);
    const outputs = "node" in result ? { out: result as Tensor } : result;
    const names = wantedGradients(recorded);
    const found = names.length ? gradients(lossOf(recorded, outputs), names.map(get)) : [];
    const grads = Object.fromEntries(names.map((name, k) => [name, found[k] as Tensor]));
    return { ...named("outputs", outputs), ...named("grads", grads) };
  };
}

/** Fills a parameter with an array of a fixture; weights lie there as [out, in]. */
export function fill(parameters: Parameters, name: string, { shape, data }: Numbers, turned: boolean): void {
  const values = parameters.array(name);
  const [rows = 1, columns = 1] = shape;
  data.forEach((x, k) => {
    const at = turned ? (k % columns) * rows + Math.floor(k / columns) : k;
    values[at] = Number(x);
  });
}

/** The tensors of a set by fixture names, cut out of one that is flat. */
export function parts(parameters: Parameters, flat: Tensor, names: { readonly [fixture: string]: string }): Tensors {
  const cut = Object.entries(names).map(([fixture, own]): [string, Tensor] => {
    const { offset, size, shape } = parameters.find(own);
    const part = flat.slice(0, offset, offset + size).reshape(shape);
    return [fixture, shape.length === 2 && !own.endsWith("rows") ? part.transpose() : part];
  });
  return Object.fromEntries(cut);
}

/** Code of a layer: its parameters are filled, and gradients taken of them and of other inputs. */
function layered(
  names: { readonly [fixture: string]: string },
  make: (recorded: Recorded) => {
    readonly parameters: Parameters;
    readonly apply: (get: (name: string) => Tensor) => Tensors;
  },
): CaseCode {
  return (recorded) => {
    const { parameters, apply } = make(recorded);
    for (const [fixture, own] of Object.entries(names)) {
      const value = recorded.raw(fixture) as Numbers;
      fill(parameters, own, value, value.shape.length === 2 && !own.endsWith("rows"));
    }
    const made = new Map<string, Tensor>();
    const get = (name: string): Tensor => {
      const tensor = made.get(name) ?? recorded.tensor(name);
      made.set(name, tensor);
      return tensor;
    };
    const outputs = apply(get);
    const loss = lossOf(recorded, outputs);
    const others = wantedGradients(recorded).filter((name) => !(name in names));
    const found = gradients(loss, others.map(get));
    const grads = {
      ...parts(parameters, parameters.gradients(loss), names),
      ...Object.fromEntries(others.map((name, k) => [name, found[k] as Tensor])),
    };
    return { ...named("outputs", outputs), ...named("grads", grads) };
  };
}

const RECURRENT = { w_ih: "wx", w_hh: "wh", b_ih: "bx", b_hh: "bh" };
const sizesOf = (recorded: Recorded, gates: number) => {
  const [rows = 0, inputs = 0] = (recorded.raw("w_ih") as Numbers).shape;
  return { inputs, hidden: rows / gates, dtype: recorded.dtype };
};

const UNARY: { readonly [fn: string]: (x: Tensor) => Tensor } = {
  relu: (x) => x.relu(),
  abs: (x) => x.abs(),
  sqrt: (x) => x.sqrt(),
  exp: (x) => x.exp(),
  log: (x) => x.log(),
  tanh: (x) => x.tanh(),
  sigmoid: (x) => x.sigmoid(),
  gelu,
  gelu_tanh: geluTanh,
  softplus: (x) => x.softplus(),
  sin: (x) => x.sin(),
  cos: (x) => x.cos(),
  square: (x) => x.square(),
  rsqrt: (x) => x.rsqrt(),
  reciprocal: (x) => x.reciprocal(),
  log1p: (x) => x.log1p(),
  expm1: (x) => x.expm1(),
  log_sigmoid: logSigmoid,
  elu: (x) => elu(x),
  silu,
  leaky_relu: (x) => leakyRelu(x),
  erf,
  neg: (x) => x.neg(),
  atan: (x) => x.atan(),
  softsign,
  sinh: (x) => x.sinh(),
  cosh: (x) => x.cosh(),
};

const BINARY: { readonly [fn: string]: (a: Tensor, b: Tensor) => Tensor } = {
  add: (a, b) => a.add(b),
  sub: (a, b) => a.sub(b),
  mul: (a, b) => a.mul(b),
  div: (a, b) => a.div(b),
  maximum: (a, b) => a.maximum(b),
  minimum: (a, b) => a.minimum(b),
  pow: (a, b) => a.pow(b),
  atan2: (y, x) => y.atan2(x),
};

const REDUCED: { readonly [fn: string]: (x: Tensor, axes: number[], keep: boolean, ddof: number) => Tensor } = {
  sum: (x, axes, keep) => x.sum(axes, keep),
  mean: (x, axes, keep) => x.mean(axes, keep),
  max: (x, axes, keep) => x.max(axes, keep),
  min: (x, axes, keep) => x.min(axes, keep),
  var: (x, axes, keep, ddof) => x.variance(axes, keep, ddof),
  std: (x, axes, keep, ddof) => x.deviation(axes, keep, ddof),
  norm: (x, axes, keep) => x.norm(axes, keep),
  logsumexp: (x, axes, keep) => x.logSumExp(axes, keep),
};

function reduction(value: Tensor, recorded: Recorded): Tensor {
  const how = recorded.text("reduction");
  return how === "mean" ? value.mean() : how === "sum" ? value.sum() : value;
}

export const OPERATIONS: { readonly [op: string]: CaseCode } = {
  mlp: (recorded) => {
    const [inputs = 0, ...rest] = recorded.numbers("sizes");
    const hidden = rest.slice(0, -1);
    const names = Object.fromEntries(rest.flatMap((_, k) => [`w${k}`, `b${k}`]).map((name) => [name, name]));
    const outputs = rest.at(-1) as number;
    const activation = recorded.text("activation") as "tanh" | "relu";
    return layered(names, () => {
      const net = mlp({ inputs, hidden, outputs, activation, dtype: recorded.dtype });
      return { parameters: net.parameters, apply: (get) => ({ out: net.apply(get("x")) }) };
    })(recorded, 0);
  },
  layer_norm: layered({ weight: "scale", bias: "shift" }, (recorded) => {
    const size = recorded.numbers("weight").length;
    const net = layerNorm({ size, epsilon: recorded.number("eps"), dtype: recorded.dtype });
    return { parameters: net.parameters, apply: (get) => ({ out: net.apply(get("x")) }) };
  }),
  rms_norm: layered({ weight: "scale" }, (recorded) => {
    const size = recorded.numbers("weight").length;
    const net = rmsNorm({ size, epsilon: recorded.number("eps"), dtype: recorded.dtype });
    return { parameters: net.parameters, apply: (get) => ({ out: net.apply(get("x")) }) };
  }),
  embedding: layered({ table: "rows" }, (recorded) => {
    const [count = 0, features = 0] = (recorded.raw("table") as Numbers).shape;
    const net = embedding({ count, features, dtype: recorded.dtype });
    return { parameters: net.parameters, apply: (get) => ({ out: net.apply(get("indices")) }) };
  }),
  gru_cell: layered(RECURRENT, (recorded) => {
    const cell = gru(sizesOf(recorded, 3));
    return { parameters: cell.parameters, apply: (get) => ({ h: cell.apply(get("x"), get("h0")) }) };
  }),
  gru_sequence: layered(RECURRENT, (recorded) => {
    const cell = gru(sizesOf(recorded, 3));
    const apply = (get: (name: string) => Tensor): Tensors => {
      const { outputs, h } = cell.sequence(get("x"), get("h0"));
      return { out: outputs, h };
    };
    return { parameters: cell.parameters, apply };
  }),
  gru_reset_sequence: layered(RECURRENT, (recorded) => {
    const cell = gru(sizesOf(recorded, 3));
    const apply = (get: (name: string) => Tensor): Tensors => ({
      out: cell.sequence(get("x"), get("h0"), { reset: get("reset") }).outputs,
    });
    return { parameters: cell.parameters, apply };
  }),
  lstm_cell: layered(RECURRENT, (recorded) => {
    const cell = lstm(sizesOf(recorded, 4));
    const apply = (get: (name: string) => Tensor): Tensors => {
      const { h, c } = cell.apply(get("x"), { h: get("h0"), c: get("c0") });
      return { h, c };
    };
    return { parameters: cell.parameters, apply };
  }),
  lstm_sequence: layered(RECURRENT, (recorded) => {
    const cell = lstm(sizesOf(recorded, 4));
    const apply = (get: (name: string) => Tensor): Tensors => {
      const { outputs, h, c } = cell.sequence(get("x"), { h: get("h0"), c: get("c0") });
      return { out: outputs, h, c };
    };
    return { parameters: cell.parameters, apply };
  }),
  conv2d: (recorded) => {
    const channelsFirst = recorded.text("layout") === "NCHW";
    const weight = recorded.raw("w") as Numbers;
    const order = channelsFirst ? [2, 3, 1, 0] : [0, 1, 2, 3];
    const [height = 0, width = 0, inputs = 0, outputs = 0] = order.map((axis) => weight.shape[axis] as number);
    const { dtype } = recorded;
    const [stride, padding] = [recorded.number("stride"), recorded.number("padding")];
    const net = conv({ inputs, outputs, window: [height, width], stride, padding, dtype });
    fill(net.parameters, "b", recorded.raw("b") as Numbers, false);
    // Weights as the fixture has them: what is computed of an input in place of the parameter has the same gradient.
    const [x, w] = [recorded.tensor("x"), recorded.tensor("w")];
    const image = channelsFirst ? x.transpose([0, 2, 3, 1]) : x;
    net.parameters.arena.assign(concat([w.transpose(order).reshape([-1]), net.parameters.value("b")]));
    const result = net.apply(image);
    const out = channelsFirst ? result.transpose([0, 3, 1, 2]) : result;
    const loss = lossOf(recorded, { out });
    const flat = net.parameters.gradients(loss);
    const size = net.parameters.find("w").size;
    const back = flat.slice(0, 0, size).reshape([height, width, inputs, outputs]);
    const grads = {
      x: gradients(loss, [x])[0] as Tensor,
      w: channelsFirst ? back.transpose([3, 2, 0, 1]) : back,
      b: flat.slice(0, size, flat.size(0)),
    };
    return { "outputs.out": out, ...named("grads", grads) };
  },
  softmax: plain((get, r) => get("x").softmax(r.number("axis"))),
  log_softmax: plain((get, r) => get("x").logSoftmax(r.number("axis"))),
  logsumexp: plain((get, r) => get("x").logSumExp(r.number("axis"))),
  mse: plain((get, r) => reduction(squaredError(get("pred"), get("target")), r)),
  l1: plain((get, r) => reduction(absoluteError(get("pred"), get("target")), r)),
  huber: plain((get, r) => reduction(huber(get("pred"), get("target"), r.number("delta")), r)),
  smooth_l1: plain((get, r) => {
    const beta = r.number("beta");
    return reduction(huber(get("pred"), get("target"), beta).div(beta), r);
  }),
  cross_entropy: plain((get, r) => reduction(crossEntropy(get("logits"), get("labels")), r)),
  bce_with_logits: plain((get, r) => reduction(binaryCrossEntropy(get("logits"), get("target")), r)),
  maximum: plain((get) => get("a").maximum(get("b"))),
  minimum: plain((get) => get("a").minimum(get("b"))),
  clamp: plain((get, r) => {
    const high = r.has("max") ? r.number("max") : Number.POSITIVE_INFINITY;
    return get("x").clamp(r.number("min"), high);
  }),
  clamp_tensor: plain((get) => get("x").clamp(get("min"), get("max"))),
  unary: plain((get, r) => (UNARY[r.text("fn")] as (x: Tensor) => Tensor)(get("x"))),
  binary: plain((get, r) => (BINARY[r.text("fn")] as (a: Tensor, b: Tensor) => Tensor)(get("a"), get("b"))),
  reduce: plain((get, r) => {
    const ddof = r.has("ddof") ? r.number("ddof") : 0;
    const reduce = REDUCED[r.text("fn")] as (typeof REDUCED)[string];
    return reduce(get("x"), r.numbers("axes"), r.raw("keepdims") === true, ddof);
  }),
  max_with_index: plain((get, r) => {
    const index = get("x").argmax(r.number("axis"));
    return { out: get("x").pick(index), indices: index };
  }),
  where: plain((get) => where(get("mask"), get("a"), get("b"))),
  pow_scalar: plain((get, r) => get("x").pow(r.number("exponent"))),
  prod: plain((get, r) => get("x").product(r.number("axis"))),
  cumsum: plain((get, r) => get("x").cumsum(r.number("axis"))),
  argmax: plain((get, r) => get("x").argmax(r.number("axis"))),
  matmul: plain((get) => get("a").matmul(get("b"))),
  slice: plain((get, r) => {
    const [starts, stops, steps] = ["starts", "stops", "steps"].map((name) => r.numbers(name)) as [
      number[],
      number[],
      number[],
    ];
    return starts.reduce(
      (x, start, axis) => x.slice(axis, start, stops[axis] as number, steps[axis] as number),
      get("x"),
    );
  }),
  concat: plain((get, r) => concat(["x0", "x1", "x2"].filter((name) => r.has(name)).map(get), r.number("axis"))),
  stack: plain((get, r) => stack(["x0", "x1"].map(get), r.number("axis"))),
  transpose: plain((get, r) => get("x").transpose(r.numbers("permutation"))),
  reshape: plain((get, r) => get("x").reshape(r.numbers("shape"))),
  gather: plain((get, r) => takeAlong(get("x"), get("index"), r.number("axis"))),
  take: plain((get) => get("x").gather(get("index"))),
  scatter_add: plain((get, r) => scatterAddAlong(get("x"), get("index"), get("src"), r.number("axis"))),
  scatter: plain((get, r) => scatterAlong(get("x"), get("index"), get("src"), r.number("axis"))),
  one_hot: plain((get, r) => get("index").oneHot(r.number("classes"), r.dtype)),
  pad: plain((get, r) => get("x").pad(r.numbers("before"), r.numbers("after"), r.number("value"))),
  flip: plain((get, r) => flip(get("x"), r.numbers("axes"))),
  masked_fill: plain((get, r) => where(get("mask"), r.number("value"), get("x"))),
  tile: plain((get, r) => tile(get("x"), r.numbers("repeats"))),
  attention: plain((get, r) => attention(get("q"), get("k"), get("v"), { causal: r.raw("causal") === true })),
};
