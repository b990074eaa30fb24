/**
 * @file PPO in Flax Linen for the suite `train`: a whole iteration under one jit, on two cores, with the settings and
 * conventions of the preset `benchback`.
 *
 * Separate actor and critic, environments of gymnax, scans over steps, epochs and minibatches, optax for clipping, Adam
 * and the falling rate: the form in which such code is written when it is to be fast. The same text serves an arm that
 * waits for its turns and a process whose start is timed.
 */
import { type PythonPeers, startPython } from "../python.ts";
import type { Recorder } from "../suite.ts";
import { expectedCounts, iterationsOf, SMALL, settingsOf, type TrainCase } from "./train-cases.ts";

export const LINEN = "flax linen, jit";
/** Cores that both sides have. */
export const CORES = 2;

/** From `settings` to `iterate()`, which gives what an iteration tells, and `counts()`. */
const PPO = `
if hasattr(os, "sched_setaffinity"): os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:settings["cores"]])
import jax, jax.numpy as jnp, optax, gymnax
import flax.linen as nn
from flax.linen.initializers import orthogonal

N, STEPS, EPOCHS = settings["nEnvs"], settings["nSteps"], settings["nEpochs"]
ROWS, BATCH = N * STEPS, settings["batchSize"]
GAMMA, LAMBDA, CLIP = settings["gamma"], settings["gaeLambda"], settings["clipRange"]
env, env_params = gymnax.make(settings["environment"])

class Mlp(nn.Module):
    outputs: int
    gain: float
    @nn.compact
    def __call__(self, x):
        for width in settings["netArch"]:
            x = nn.tanh(nn.Dense(width, kernel_init=orthogonal(2 ** 0.5))(x))
        return nn.Dense(self.outputs, kernel_init=orthogonal(self.gain))(x)

class ActorCritic(nn.Module):
    def setup(self):
        self.actor, self.critic = Mlp(env.num_actions, 0.01), Mlp(1, 1.0)
    def __call__(self, x):
        return self.actor(x), self.critic(x)[..., 0]

model = ActorCritic()
rate = optax.linear_schedule(settings["rate"], 0.0, settings["updates"])
optimizer = optax.chain(optax.clip_by_global_norm(settings["maxGradNorm"]), optax.adam(rate, eps=settings["adamEps"]))

def log_prob_of(logits, action):
    logs = jax.nn.log_softmax(logits)
    return logs, jnp.take_along_axis(logs, action[..., None], -1)[..., 0]

def act(carry, _):
    params, obs, state, key = carry
    key, for_action, for_envs = jax.random.split(key, 3)
    logits, value = model.apply(params, obs)
    action = jax.random.categorical(for_action, logits)
    _, log_prob = log_prob_of(logits, action)
    keys = jax.random.split(for_envs, N)
    seen, state, reward, done, _ = jax.vmap(env.step, in_axes=(0, 0, 0, None))(keys, state, action, env_params)
    row = dict(obs=obs, action=action, log_prob=log_prob, value=value, reward=reward, done=done)
    return (params, seen, state, key), row

def advantages_of(rows, last):
    def back(carry, row):
        following, advantage = carry
        goes_on = 1.0 - row["done"]
        delta = row["reward"] + GAMMA * following * goes_on - row["value"]
        advantage = delta + GAMMA * LAMBDA * goes_on * advantage
        return (row["value"], advantage), advantage
    return jax.lax.scan(back, (last, jnp.zeros(N)), rows, reverse=True)[1]

def loss_of(params, batch):
    logits, value = model.apply(params, batch["obs"])
    logs, log_prob = log_prob_of(logits, batch["action"])
    advantage = batch["advantage"]
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    difference = log_prob - batch["log_prob"]
    ratio = jnp.exp(difference)
    policy = jnp.maximum(-advantage * ratio, -advantage * jnp.clip(ratio, 1 - CLIP, 1 + CLIP)).mean()
    returns = batch["advantage"] + batch["value"]
    near = batch["value"] + jnp.clip(value - batch["value"], -settings["clipRangeVf"], settings["clipRangeVf"])
    values = 0.5 * jnp.maximum((value - returns) ** 2, (near - returns) ** 2).mean()
    entropy = -(jnp.exp(logs) * logs).sum(-1).mean()
    loss = policy - settings["entCoef"] * entropy + settings["vfCoef"] * values
    told = dict(policy_loss=policy, value_loss=values, entropy=entropy, kl=(ratio - 1 - difference).mean(),
                clipped=(jnp.abs(ratio - 1) > CLIP).mean())
    return loss, told

def update(carry, batch):
    params, optimizer_state = carry
    (loss, told), gradient = jax.value_and_grad(loss_of, has_aux=True)(params, batch)
    change, optimizer_state = optimizer.update(gradient, optimizer_state, params)
    return (optax.apply_updates(params, change), optimizer_state), dict(told, loss=loss)

def epoch(rows):
    def run(carry, key):
        order = jax.random.permutation(key, ROWS)
        batches = {name: x[order].reshape((ROWS // BATCH, BATCH) + x.shape[1:]) for name, x in rows.items()}
        return jax.lax.scan(update, carry, batches)
    return run

def iteration(carry):
    params, optimizer_state, obs, state, key = carry
    (_, obs, state, key), rows = jax.lax.scan(act, (params, obs, state, key), None, length=STEPS)
    rows["advantage"] = advantages_of(rows, model.apply(params, obs)[1])
    told = dict(ends=rows["done"].mean(), reward=rows["reward"].mean(),
                explained=1 - rows["advantage"].var() / (rows["advantage"] + rows["value"]).var())
    flat = {name: x.reshape((ROWS,) + x.shape[2:]) for name, x in rows.items() if name not in ("reward", "done")}
    key, for_epochs = jax.random.split(key)
    keys = jax.random.split(for_epochs, EPOCHS)
    (params, optimizer_state), losses = jax.lax.scan(epoch(flat), (params, optimizer_state), keys)
    told.update({name: x.mean() for name, x in losses.items()})
    return (params, optimizer_state, obs, state, key), told

def begin():
    key, for_network, for_envs = jax.random.split(jax.random.PRNGKey(settings["seed"]), 3)
    obs, state = jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(for_envs, N), env_params)
    params = model.init(for_network, obs)
    return params, optimizer.init(params), obs, state, key

compiled = jax.jit(iteration, donate_argnums=0)
held = {"carry": begin(), "iterations": 0}

def iterate():
    held["carry"], told = compiled(held["carry"])
    held["iterations"] += 1
    return jax.block_until_ready((held["carry"], told))[1]

def counts():
    parameters = sum(x.size for x in jax.tree.leaves(held["carry"][0]))
    updates = optax.tree_utils.tree_get(held["carry"][1], "ScaleByAdamState").count
    return dict(parameters=int(parameters), steps=held["iterations"] * ROWS, updates=int(updates))
`;

const SERVED = `
settings = task["settings"]
${PPO}
catalogue["versions"].update(jax=jax.__version__)
for name in ("flax", "optax", "gymnax"): package(name)
told = iterate()
found = dict(counts(), **{name: float(told[name]) for name in ("ends", "entropy", "value_loss")})
arm(task["name"], task["framework"], iterate, {name: [value] for name, value in found.items()})
serve()
`;

/** Python that does one iteration from nothing and prints its counts; the settings are its argument. */
export const LINEN_START = `
import json, os, sys
settings = json.loads(sys.argv[1])
${PPO}
iterate()
print(json.dumps(counts()))
`;

/** The argument of `LINEN_START`: the settings, the cores that may be used, and the updates of the whole run. */
export const linenSettings = (one: TrainCase): { readonly [name: string]: unknown } => ({
  ...settingsOf(one),
  cores: CORES,
  updates: expectedCounts(one, iterationsOf(one)).updates,
});

/** An iteration of the small networks in Linen, ready for its turns; its first one is done. */
export const startLinenPeers = (recorder: Recorder): Promise<PythonPeers> =>
  startPython(recorder, {
    group: "jax",
    script: SERVED,
    arrays: {},
    input: { settings: linenSettings(SMALL), name: SMALL.name, framework: LINEN },
    threads: CORES,
  });
