/**
 * @file The code of golden updates: PPO, DQN, TD3, SAC, A2C, IMPALA, and language models of two tokens.
 */
import { a2cLoss, a2cPresets, a2cSchema, rmspropOptions } from "../../src/algorithms/a2c.ts";
import {
  adamOptions,
  type PpoBatch,
  type PpoConfig,
  ppoLoss,
  ppoPresets,
  ppoSchema,
} from "../../src/algorithms/ppo.ts";
import { categorical, gaussian, tanhGaussian } from "../../src/distributions/index.ts";
import { huber, type Mlp, Parameters, squaredError } from "../../src/nn/index.ts";
import { adam, globalNorm, rmsprop } from "../../src/optim/index.ts";
import { concat, gradients, stack, type Tensor } from "../../src/tensor/index.ts";
import type { CaseCode, Numbers, Recorded } from "../nn/golden.ts";
import { fill } from "../nn/operations.ts";
import { minibatches, networks, partsOf, type Tensors, valuesOf } from "./networks.ts";

const flag = (r: Recorded, name: string, otherwise: boolean): boolean =>
  r.has(name) ? r.raw(name) === true : otherwise;
const gradientOf = (of: Tensor, by: Tensor): Tensor => gradients(of.sum(), [by])[0] as Tensor;

/** Implementations whose updates were recorded, by the presets that follow them. */
const PPO_VARIANTS: { readonly [variant: string]: keyof typeof ppoPresets } = {
  torch: "cleanrl",
  jax: "benchback",
  sb3: "sb3",
};
function ppoConfig(r: Recorded): PpoConfig {
  const preset = ppoPresets[PPO_VARIANTS[r.has("variant") ? r.text("variant") : "torch"] ?? "cleanrl"];
  const free = flag(r, "clip_vloss", true) ? {} : { clipRangeVf: null };
  return ppoSchema.parse({
    ...preset,
    ...free,
    entCoef: r.number("ent_coef"),
    vfCoef: r.number("vf_coef"),
    normalizeAdvantage: flag(r, "normalise_advantages", r.has("variant")),
  });
}
function ppoTerms(r: Recorded, batch: PpoBatch): Tensors & { readonly loss: Tensor; readonly entropy: Tensor } {
  const config = ppoConfig(r);
  const clip = r.number("clip_coef");
  const terms = ppoLoss(batch, { policy: clip, value: config.clipRangeVf === null ? null : clip }, config);
  const { policy_loss, value_loss, clip_fraction, ...others } = terms;
  return { pg_loss: policy_loss, v_loss: value_loss, clip_frac: clip_fraction, ...others };
}

function ppoUpdate(r: Recorded): Tensors {
  const isGaussian = "log_std" in (r.given.inputs.params as object);
  const { set, nets } = networks(r, ["actor", "critic"], { activation: "tanh" }, isGaussian ? ["log_std"] : []);
  const [actor, critic] = nets as [Mlp, Mlp];
  const { row, next } = minibatches(r);
  const obs = row("obs");
  const policy = isGaussian ? gaussian(actor.apply(obs), set.value("log_std")) : categorical(actor.apply(obs));
  const terms = ppoTerms(r, {
    logProb: policy.logProb(row("actions")),
    oldLogProb: row("old_logp"),
    entropy: policy.entropy(),
    value: critic.apply(obs).reshape([-1]),
    oldValue: row("old_values"),
    returns: row("returns"),
    advantage: row("advantages"),
  });
  const gradient = set.gradients(terms.loss);
  const [beta1 = 0, beta2 = 0] = r.numbers("adam_betas");
  const given = { adamEps: r.number("adam_eps"), maxGradNorm: r.number("max_grad_norm") };
  adam(set, gradient, { learningRate: row("lr"), beta1, beta2, ...adamOptions({ ...ppoConfig(r), ...given }) });
  next();
  const first = partsOf([set], "first_grads", () => gradient);
  return { ...terms, grad_norm: globalNorm(gradient), ...first, ...valuesOf([set]) };
}

/** The set of a Q network, and its values; a dueling one has features, then a value and advantages. */
function qNetwork(r: Recorded, name: string): { readonly set: Parameters; readonly values: (obs: Tensor) => Tensor } {
  const relu = { activation: "relu" } as const;
  if (!flag(r, "dueling", false)) {
    const { set, nets } = networks(r, [name], relu);
    return { set, values: (obs) => (nets[0] as Mlp).apply(obs) };
  }
  const { set, nets } = networks(r, [`${name}.feature`, `${name}.value`, `${name}.advantage`], relu);
  const [feature, value, advantage] = nets as [Mlp, Mlp, Mlp];
  const values = (obs: Tensor): Tensor => {
    const features = feature.apply(obs).relu();
    const apart = advantage.apply(features);
    return value.apply(features).add(apart.sub(apart.mean(1, true)));
  };
  return { set, values };
}

function dqnUpdate(r: Recorded): Tensors {
  const { set, values } = qNetwork(r, "q");
  const target = qNetwork(r, "target");
  const { row, next } = minibatches(r);
  const nextObs = row("next_obs");
  const q = values(row("obs")).pick(row("actions"));
  const nextTarget = target.values(nextObs);
  const best = flag(r, "double", false) ? values(nextObs).argmax() : nextTarget.argmax();
  const goal = row("rewards")
    .add(row("terminated").neg().add(1).mul(r.number("gamma")).mul(nextTarget.pick(best)))
    .stopGradient();
  const losses = r.text("loss") === "huber" ? huber(q, goal) : squaredError(q, goal);
  const loss = (r.has("weights") ? losses.mul(row("weights")) : losses).mean();
  const gradient = set.gradients(loss);
  adam(set, gradient, { learningRate: r.number("lr"), epsilon: r.number("adam_eps"), clip: r.number("max_grad_norm") });
  next();
  const priorities = q.sub(goal).abs().add(1e-6);
  return { loss, grad_norm: globalNorm(gradient), q, target: goal, priorities, ...valuesOf([set]) };
}

const both = (obs: Tensor, action: Tensor): Tensor => concat([obs, action], 1);
const worthOf = (critic: Mlp, obs: Tensor, action: Tensor): Tensor => critic.apply(both(obs, action)).reshape([-1]);

function td3Update(r: Recorded, run: number): Tensors {
  const relu = { activation: "relu" } as const;
  const acting = { activation: "relu", outputActivation: "tanh" } as const;
  const actor = networks(r, ["actor"], acting);
  const actorTarget = networks(r, ["actor_target"], acting);
  const critics = networks(r, ["critic1", "critic2"], relu);
  const targets = networks(r, ["critic1_target", "critic2_target"], relu);
  const { row, next } = minibatches(r);
  const [obs, nextObs] = [row("obs"), row("next_obs")];
  const noise = row("noise").mul(r.number("target_noise")).clamp(-r.number("noise_clip"), r.number("noise_clip"));
  const action = (actorTarget.nets[0] as Mlp).apply(nextObs).add(noise).clamp(-1, 1);
  const [t1, t2] = targets.nets.map((net) => worthOf(net, nextObs, action)) as [Tensor, Tensor];
  const target = row("rewards").add(row("terminated").neg().add(1).mul(r.number("gamma")).mul(t1.minimum(t2)));
  const options = { learningRate: r.number("lr"), epsilon: r.number("adam_eps") };
  const critic_loss = critics.nets
    .map((net) => squaredError(worthOf(net, obs, row("actions")), target.stopGradient()).mean())
    .reduce((a, b) => a.add(b));
  adam(critics.set, critics.set.gradients(critic_loss), options);
  const delayed = (run + 1) % r.number("policy_delay") === 0;
  const found: { [name: string]: Tensor } = { critic_loss, target };
  if (delayed) {
    const own = (actor.nets[0] as Mlp).apply(obs);
    const actor_loss = worthOf(critics.nets[0] as Mlp, obs, own)
      .mean()
      .neg();
    adam(actor.set, actor.set.gradients(actor_loss), options);
    moveTowards(actorTarget.set, actor.set, r.number("tau"));
    found.actor_loss = actor_loss;
  }
  if (delayed || r.text("critic_polyak") === "every_step") moveTowards(targets.set, critics.set, r.number("tau"));
  next();
  return { ...found, ...valuesOf([actor.set, actorTarget.set, critics.set, targets.set]) };
}
/** The same as `Parameters.moveTowards`, for sets whose tensors have other names. */
function moveTowards(target: Parameters, source: Parameters, tau: number): void {
  target.arena.assign(target.flat.mul(1 - tau).add(source.flat.mul(tau)));
}

function sacUpdate(r: Recorded): Tensors {
  const relu = { activation: "relu" } as const;
  const actor = networks(r, ["actor"], relu);
  const critics = networks(r, ["critic1", "critic2"], relu);
  const targets = networks(r, ["critic1_target", "critic2_target"], relu);
  const temperature = r.once("temperature", () => {
    const set = new Parameters({ dtype: r.dtype, name: "temperature" });
    set.declare("log_alpha", [1], (values) => values.fill(r.number("log_alpha")));
    return set;
  });
  const { row, next } = minibatches(r);
  const [obs, nextObs] = [row("obs"), row("next_obs")];
  const policy = (x: Tensor) => {
    const out = (actor.nets[0] as Mlp).apply(x);
    const actions = out.size(-1) / 2;
    const logStd = out.slice(-1, actions, 2 * actions).clamp(-20, 2);
    return tanhGaussian(out.slice(-1, 0, actions), logStd, { correction: 1e-6 });
  };
  const logAlpha = temperature.value("log_alpha").reshape([]);
  const alpha = logAlpha.exp().stopGradient();
  const own = policy(obs).at(row("noise_pi"));
  const ahead = policy(nextObs).at(row("noise_next"));
  const [t1, t2] = targets.nets.map((net) => worthOf(net, nextObs, ahead.value)) as [Tensor, Tensor];
  const going = row("terminated").neg().add(1).mul(r.number("gamma"));
  const target = row("rewards").add(going.mul(t1.minimum(t2).sub(alpha.mul(ahead.logProb))));
  const options = { learningRate: r.number("lr"), epsilon: r.number("adam_eps") };
  const alpha_loss = logAlpha
    .mul(own.logProb.add(r.number("target_entropy")).stopGradient())
    .mean()
    .neg();
  adam(temperature, temperature.gradients(alpha_loss), options);
  const critic_loss = critics.nets
    .map((net) => squaredError(worthOf(net, obs, row("actions")), target.stopGradient()).mean())
    .reduce((a, b) => a.add(b))
    .mul(r.number("critic_scale"));
  adam(critics.set, critics.set.gradients(critic_loss), options);
  const [q1, q2] = critics.nets.map((net) => worthOf(net, obs, own.value)) as [Tensor, Tensor];
  const actor_loss = alpha.mul(own.logProb).sub(q1.minimum(q2)).mean();
  adam(actor.set, actor.set.gradients(actor_loss), options);
  moveTowards(targets.set, critics.set, r.number("tau"));
  next();
  const losses = { critic_loss, actor_loss, alpha_loss, target };
  const log_alpha = temperature.value("log_alpha").reshape([]);
  return {
    ...losses,
    logp: own.logProb,
    action: own.value,
    log_alpha,
    ...valuesOf([actor.set, critics.set, targets.set]),
  };
}

function a2cUpdate(r: Recorded): Tensors {
  const { set, nets } = networks(r, ["actor", "critic"], { activation: "tanh" });
  const [actor, critic] = nets as [Mlp, Mlp];
  const { row, next } = minibatches(r);
  const policy = categorical(actor.apply(row("obs")));
  const isRlox = r.text("variant") === "rlox";
  const config = a2cSchema.parse({
    ...(isRlox ? a2cPresets.rlox : a2cPresets.sb3),
    entCoef: r.number("ent_coef"),
    vfCoef: r.number("vf_coef"),
    maxGradNorm: r.number("max_grad_norm"),
    rmspropDecay: r.number("alpha"),
    rmspropEps: r.number("eps"),
    rmsprop: flag(r, "eps_inside", false) ? "tensorflow" : "torch",
    normalizeAdvantage: flag(r, "normalise_advantages", false),
  });
  const batch = {
    logProb: policy.logProb(row("actions")),
    entropy: policy.entropy(),
    value: critic.apply(row("obs")).reshape([-1]),
    returns: row("returns"),
    advantage: row("advantages"),
  };
  const { policy_loss: pg_loss, value_loss: v_loss, ...others } = a2cLoss(batch, config);
  const gradient = set.gradients(others.loss);
  rmsprop(set, gradient, { learningRate: r.number("lr"), ...rmspropOptions(config) });
  next();
  return { pg_loss, v_loss, ...others, grad_norm: globalNorm(gradient), ...valuesOf([set]) };
}

/** Corrected values and advantages, from the last step to the first. */
function vtrace(r: Recorded, logp: Tensor, values: Tensor): { vs: Tensor; pg_advantages: Tensor } {
  const rho = logp.sub(r.tensor("behaviour_logp")).exp();
  const [rhos, cs] = [rho.minimum(r.number("rho_bar")), rho.minimum(r.number("c_bar"))];
  const going = r.tensor("terminated").neg().add(1).mul(r.number("gamma"));
  let nextValue = r.tensor("bootstrap");
  let nextCorrected = nextValue;
  const vs: Tensor[] = [];
  const advantages: Tensor[] = [];
  for (let t = values.size(0) - 1; t >= 0; t--) {
    const [value, reward, kept] = [values, r.tensor("rewards"), going].map((x) => x.at(0, t)) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    const delta = rhos.at(0, t).mul(reward.add(kept.mul(nextValue)).sub(value));
    const corrected = value.add(delta).add(kept.mul(cs.at(0, t)).mul(nextCorrected.sub(nextValue)));
    advantages.unshift(rhos.at(0, t).mul(reward.add(kept.mul(nextCorrected)).sub(value)));
    vs.unshift(corrected);
    [nextValue, nextCorrected] = [value, corrected];
  }
  return { vs: stack(vs), pg_advantages: stack(advantages) };
}

function impalaUpdate(r: Recorded): Tensors {
  const { set, nets } = networks(r, ["actor", "critic"], { activation: "tanh" });
  const [actor, critic] = nets as [Mlp, Mlp];
  const obs = r.tensor("obs");
  const policy = categorical(actor.apply(obs));
  const logp = policy.logProb(r.tensor("actions"));
  const values = critic.apply(obs).reshape(logp.shape);
  const base = r.text("values_from") === "given" ? r.tensor("values") : values.stopGradient();
  const { vs, pg_advantages } = vtrace(r, logp.stopGradient(), base);
  const pg_loss = logp.mul(pg_advantages).mean().neg();
  const v_loss = squaredError(values, vs).mean();
  const entropy = policy.entropy().mean();
  const loss = pg_loss.add(v_loss.mul(r.number("vf_coef"))).sub(entropy.mul(r.number("ent_coef")));
  const gradient = set.gradients(loss);
  const options = { learningRate: r.number("lr"), decay: r.number("alpha"), epsilon: r.number("eps") };
  rmsprop(set, gradient, { ...options, clip: r.number("max_grad_norm") });
  const terms = { vs, pg_advantages, pg_loss, v_loss, entropy, loss, grad_norm: globalNorm(gradient) };
  return { ...terms, ...partsOf([set], "grads", () => gradient), ...valuesOf([set]) };
}

/** Log-probabilities [sequences, positions - 1] of the tokens after the first, under rows of a table. */
function tokenLogProbs(logits: Tensor, sequence: Tensor): Tensor {
  const positions = sequence.size(1);
  const rows = logits.logSoftmax().gather(sequence.slice(1, 0, positions - 1));
  return rows.pick(sequence.slice(1, 1, positions));
}

function dpoBigram(r: Recorded): Tensors {
  const [logits, reference] = [r.tensor("table"), r.tensor("ref_table")];
  const whole = (name: string): Tensor => concat([r.tensor("prompt"), r.tensor(name)], 1);
  const of = (model: Tensor, name: string): Tensor => tokenLogProbs(model, whole(name)).sum(1);
  const policy_chosen = of(logits, "chosen");
  const policy_rejected = of(logits, "rejected");
  const beta = r.number("beta");
  const chosen = policy_chosen.sub(of(reference, "chosen")).mul(beta);
  const rejected = policy_rejected.sub(of(reference, "rejected")).mul(beta);
  const loss = chosen.sub(rejected).neg().softplus().mean();
  return {
    loss,
    chosen_reward: chosen.mean(),
    rejected_reward: rejected.mean(),
    policy_chosen,
    policy_rejected,
    grad_table: gradientOf(loss, logits),
  };
}

function grpoBigram(r: Recorded): Tensors {
  const set = new Parameters({ dtype: r.dtype });
  const given = r.raw("table") as Numbers;
  set.declare("table", given.shape, () => {});
  fill(set, "table", given, false);
  const sequences = r.tensor("sequences");
  const logps = tokenLogProbs(set.value("table"), sequences);
  const references = tokenLogProbs(r.tensor("ref_table"), sequences);
  const rewards = r.tensor("rewards");
  const groups = rewards.reshape([-1, r.number("group_size")]);
  const centred = groups.sub(groups.mean(1, true));
  const advantage = centred.div(groups.variance(1, true).sqrt()).reshape(rewards.shape);
  const apart = logps.sub(references);
  const pulled = apart.sum(1).mean().mul(r.number("kl_coef"));
  const loss = advantage.mul(logps.sum(1)).mean().neg().add(pulled);
  const kl = logps.exp().mul(apart).sum(1).mean();
  const options = { learningRate: r.number("lr"), epsilon: 1e-8, clip: r.number("max_grad_norm") };
  adam(set, set.gradients(loss), options);
  return { loss, kl, mean_reward: rewards.mean(), table_after: set.value("table") };
}

export const UPDATES: { readonly [op: string]: CaseCode } = {
  ppo_update: ppoUpdate,
  ppo_terms: (r) => {
    const [logp, values, entropies] = [r.tensor("logp"), r.tensor("values"), r.tensor("entropies")];
    const terms = ppoTerms(r, {
      logProb: logp,
      oldLogProb: r.tensor("old_logp"),
      entropy: entropies,
      value: values,
      oldValue: r.tensor("old_values"),
      returns: r.tensor("returns"),
      advantage: r.tensor("advantages"),
    });
    const by = { grad_logp: logp, grad_values: values, grad_entropies: entropies };
    const found = Object.entries(by).map(([path, x]): [string, Tensor] => [path, gradientOf(terms.loss, x)]);
    const { entropy: _, ...expected } = terms;
    return { ...expected, ...Object.fromEntries(found) };
  },
  dqn_update: dqnUpdate,
  td3_update: td3Update,
  sac_update: sacUpdate,
  a2c_update: a2cUpdate,
  impala_update: impalaUpdate,
  dpo_bigram: dpoBigram,
  grpo_step_bigram: grpoBigram,
  vocabulary_kl: (r) => {
    const [policy, reference] = [categorical(r.tensor("policy_logits")), categorical(r.tensor("ref_logits"))];
    return { kl_policy_ref: policy.kl(reference), kl_ref_policy: reference.kl(policy) };
  },
};
