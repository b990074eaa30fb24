/**
 * @file Optimisers, clipping and schedules against golden values, in every way to run.
 */
import { describe, expect, test } from "vitest";
import { Parameters } from "../../src/nn/index.ts";
import {
  adam,
  adamw,
  type Clip,
  type ClipForm,
  clipByNorm,
  cosineSchedule,
  exponentialSchedule,
  globalNorm,
  linearSchedule,
  piecewiseSchedule,
  rmsprop,
  type Schedule,
  sgd,
  warmupCosineSchedule,
} from "../../src/optim/index.ts";
import { concat, type Tensor } from "../../src/tensor/index.ts";
import { type CaseCode, faultsOf, GOLDEN_MODES, type Numbers, type Recorded, readCases } from "../nn/golden.ts";
import { fill } from "../nn/operations.ts";

const number = (r: Recorded, name: string, otherwise: number): number => (r.has(name) ? r.number(name) : otherwise);

/** One step of a linear regression with some optimiser. */
const regression =
  (step: (set: Parameters, g: Tensor, recorded: Recorded, common: Common) => void): CaseCode =>
  (recorded) => {
    const set = new Parameters({ dtype: recorded.dtype });
    for (const name of ["w", "b"]) set.declare(name, (recorded.raw(name) as Numbers).shape, () => {});
    for (const name of ["w", "b"]) fill(set, name, recorded.raw(name) as Numbers, false);
    const predicted = recorded.tensor("x").matmul(set.value("w")).add(set.value("b"));
    const loss = predicted.sub(recorded.tensor("y")).square().mean();
    const g = set.gradients(loss);
    step(set, g, recorded, commonOf(recorded));
    const { size } = set.find("w");
    return {
      losses: loss,
      grad_norms: globalNorm(g),
      grads_w: g.slice(0, 0, size),
      grads_b: g.slice(0, size, set.size),
      params_w: set.value("w"),
      params_b: set.value("b"),
    };
  };

interface Common {
  readonly learningRate: number | Schedule;
  readonly clip?: Clip;
}
function commonOf(recorded: Recorded): Common {
  const rates = recorded.numbers("lr");
  const learningRate =
    rates.length === 1 ? (rates[0] as number) : piecewiseSchedule(rates.map((value, since) => ({ since, value })));
  if (!recorded.has("clip")) return { learningRate };
  return { learningRate, clip: { norm: recorded.number("max_grad_norm"), form: recorded.text("clip") as ClipForm } };
}
const betas = (r: Recorded) => {
  const [beta1 = 0, beta2 = 0] = r.numbers("betas");
  return { beta1, beta2, epsilon: r.number("eps") };
};
const scheduled =
  (make: (r: Recorded) => Schedule): CaseCode =>
  (recorded) => ({ values: make(recorded)(recorded.tensor("steps")) });

const CODE: { readonly [op: string]: CaseCode } = {
  sgd: regression((set, g, r, common) => {
    const nesterov = r.has("nesterov") && r.raw("nesterov") === true;
    const weightDecay = number(r, "weight_decay", 0);
    sgd(set, g, { ...common, momentum: number(r, "momentum", 0), nesterov, weightDecay });
  }),
  adam: regression((set, g, r, common) => {
    adam(set, g, { ...common, ...betas(r), weightDecay: number(r, "weight_decay", 0) });
  }),
  adamw: regression((set, g, r, common) => {
    adamw(set, g, { ...common, ...betas(r), weightDecay: r.number("weight_decay") });
  }),
  rmsprop: regression((set, g, r, common) => {
    const epsilonPlace = r.raw("eps_inside") === true ? "inside" : "outside";
    const centered = r.has("centered") && r.raw("centered") === true;
    const options = { decay: r.number("alpha"), epsilon: r.number("eps"), initial: r.number("init") };
    rmsprop(set, g, { ...common, ...options, epsilonPlace, centered, momentum: number(r, "momentum", 0) });
  }),
  clip_by_global_norm: (recorded) => {
    const given = recorded.given.inputs.grads as readonly Numbers[];
    const parts = given.map((_, k) => recorded.tensor(`grads.${k}`));
    const flat = concat(parts.map((part) => part.reshape([-1])));
    const cut = (form: ClipForm) => {
      const { gradient } = clipByNorm(flat, { norm: recorded.number("max_norm"), form });
      let end = 0;
      const cuts = given.map(({ data }, k): [string, Tensor] => {
        end += data.length;
        return [`${form}.${k}`, gradient.slice(0, end - data.length, end)];
      });
      return Object.fromEntries(cuts);
    };
    return { norm: globalNorm(flat), ...cut("torch"), ...cut("optax") };
  },
  linear_schedule: scheduled((r) =>
    linearSchedule({ from: r.number("init"), to: r.number("end"), steps: r.number("transition_steps") }),
  ),
  cosine_schedule: scheduled((r) => {
    const from = r.number("init");
    return cosineSchedule({ from, to: from * r.number("alpha"), steps: r.number("decay_steps") });
  }),
  warmup_cosine_schedule: scheduled((r) =>
    warmupCosineSchedule({
      from: r.number("init"),
      peak: r.number("peak"),
      to: r.number("end"),
      warmup: r.number("warmup_steps"),
      steps: r.number("decay_steps"),
    }),
  ),
  exponential_schedule: scheduled((r) =>
    exponentialSchedule({ from: r.number("init"), rate: r.number("decay_rate"), steps: r.number("transition_steps") }),
  ),
};

const STEPPED = ["sgd", "adam", "adamw", "rmsprop"];
const cases = readCases("optim.json.gz");

describe("golden cases of optimisers", () => {
  for (const mode of GOLDEN_MODES) {
    test(`ten steps each: ${JSON.stringify(mode)}`, () => {
      const stepped = cases.filter(({ op }) => STEPPED.includes(op));
      expect(faultsOf(stepped, CODE, mode, { runs: 10, gives: "rows" })).toEqual([]);
    });
    test(`clipping and schedules: ${JSON.stringify(mode)}`, () => {
      const others = cases.filter(({ op }) => !STEPPED.includes(op));
      expect(faultsOf(others, CODE, mode)).toEqual([]);
    });
  }
});
