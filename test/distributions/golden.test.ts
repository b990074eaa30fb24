/**
 * @file Distributions against golden values and gradients, in every way to run.
 */
import { describe, expect, test } from "vitest";
import {
  bernoulli,
  beta,
  categorical,
  gaussian,
  multiDiscrete,
  type TanhGaussianOptions,
  tanhGaussian,
} from "../../src/distributions/index.ts";
import { gradients, type Tensor } from "../../src/tensor/index.ts";
import { type CaseCode, faultsOf, GOLDEN_MODES, type Recorded, readCases } from "../nn/golden.ts";

type Tensors = { readonly [name: string]: Tensor };

/** Values of a case, and the gradients of their sums as far as the case asks for them. */
function withGradients(recorded: Recorded, values: Tensors, inputs: Tensors): Tensors {
  const found: { [name: string]: Tensor } = { ...values };
  for (const path of Object.keys(recorded.given.expected as object)) {
    if (!path.startsWith("grad_")) continue;
    const of = Object.keys(values).find((name) => Object.keys(inputs).some((x) => path === `grad_${name}_${x}`));
    const by = Object.keys(inputs).find((name) => path === `grad_${of}_${name}`);
    if (of && by) found[path] = gradients((values[of] as Tensor).sum(), [inputs[by] as Tensor])[0] as Tensor;
  }
  return found;
}

const CODE: { readonly [op: string]: CaseCode } = {
  categorical: (r) => {
    const [logits, other_logits] = [r.tensor("logits"), r.tensor("other_logits")];
    const it = categorical(logits);
    const values = {
      log_prob: it.logProb(r.tensor("actions")),
      entropy: it.entropy(),
      kl: it.kl(categorical(other_logits)),
      probs: it.probs,
    };
    return withGradients(r, values, { logits, other_logits });
  },
  masked_categorical: (r) => {
    const logits = r.tensor("logits");
    const it = categorical(logits, { mask: r.tensor("mask") });
    const values = { log_prob: it.logProb(r.tensor("actions")), entropy: it.entropy(), probs: it.probs };
    return withGradients(r, values, { logits });
  },
  diag_gaussian: (r) => {
    const [mean, log_std] = [r.tensor("mean"), r.tensor("log_std")];
    const it = gaussian(mean, log_std);
    const other = gaussian(r.tensor("other_mean"), r.tensor("other_log_std"));
    const values = { log_prob: it.logProb(r.tensor("actions")), entropy: it.entropy(), kl: it.kl(other) };
    return withGradients(r, values, { mean, log_std });
  },
  tanh_gaussian: (r) => {
    const [mean, log_std, u] = [r.tensor("mean"), r.tensor("log_std"), r.tensor("u")];
    const by = (options?: TanhGaussianOptions) => tanhGaussian(mean, log_std, options).logProbOfLatent(u);
    const values = {
      tanh: tanhGaussian(mean, log_std).squash(u),
      log_prob_eps: by({ correction: 1e-6 }),
      log_prob_stable: by(),
      log_prob_scaled: by({ low: r.tensor("low"), high: r.tensor("high") }),
    };
    return withGradients(r, values, { mean, log_std, u });
  },
  tanh_gaussian_rsample: (r) => {
    const [mean, log_std, noise] = [r.tensor("mean"), r.tensor("log_std"), r.tensor("noise")];
    const stable = tanhGaussian(mean, log_std).at(noise);
    const { logProb } = tanhGaussian(mean, log_std, { correction: 1e-6 }).at(noise);
    const values = { action: stable.value, log_prob_eps: logProb, log_prob_stable: stable.logProb };
    return withGradients(r, values, { mean, log_std });
  },
  bernoulli: (r) => {
    const logits = r.tensor("logits");
    const it = bernoulli(logits);
    const values = { log_prob: it.logProb(r.tensor("actions")), entropy: it.entropy(), probs: it.probs };
    return withGradients(r, values, { logits });
  },
  multi_discrete: (r) => {
    const logits = r.tensor("logits");
    const it = multiDiscrete(logits, r.numbers("nvec"));
    return withGradients(r, { log_prob: it.logProb(r.tensor("actions")), entropy: it.entropy() }, { logits });
  },
  beta: (r) => {
    const [alpha, other] = [r.tensor("alpha"), r.tensor("beta")];
    const it = beta(alpha, other);
    const values = {
      log_prob: it.logProb(r.tensor("actions")),
      entropy: it.entropy(),
      kl_swapped: it.kl(beta(other, alpha)),
    };
    return withGradients(r, values, { alpha, beta: other });
  },
  categorical_sample: (r) => {
    const it = categorical(r.tensor("logits"));
    return {
      inverse_cdf: it.choose(r.tensor("uniform")),
      gumbel_max: it.chooseByNoise(r.tensor("gumbel_uniforms")),
    };
  },
};

const cases = readCases("dist.json");

describe("golden cases of distributions", () => {
  for (const mode of GOLDEN_MODES) test(JSON.stringify(mode), () => expect(faultsOf(cases, CODE, mode)).toEqual([]));
});
