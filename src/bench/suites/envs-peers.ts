/**
 * @file The workloads of the suite `envs` in rlox, Gymnasium and gymnax, on one thread.
 *
 * rlox and Gymnasium step CartPole once per call, from Python, with the actions ready before the clock starts. gymnax
 * runs jitted: a scan of many steps with random actions drawn inside, observations, rewards and ends summed up so that
 * nothing is left out, as its users do it. What each side plays is checked by what it earns and how long episodes last.
 */
import type { Expected, PythonPeers } from "../python.ts";
import { startPython } from "../python.ts";
import type { Recorder } from "../suite.ts";

const CARTPOLE = `
rlox = package("rlox")
gymnasium = package("gymnasium")

def lengths(step, n, waits):
    """The mean length of episodes over some 40,000 steps; with waits, a reset takes a step of its own."""
    steps = max(300, 40000 // n)
    ends = sum(int(step()) for _ in range(steps))
    return {"length": [(n * steps - (ends if waits else 0)) / ends]}

def rlox_vector(n):
    envs = rlox.VecEnv(n, 42, "CartPole-v1")
    envs.reset_all(seed=42)
    actions = [0] * n
    arm("CartPole-v1 x %d" % n, "rlox", lambda: envs.step_all(actions), lengths(lambda: envs.step_all(actions)["terminated"].sum(), n, False))

def gymnasium_vector(n):
    envs = gymnasium.make_vec("CartPole-v1", num_envs=n, vectorization_mode="vector_entry_point")
    envs.reset(seed=42)
    actions = np.zeros(n, np.int64)
    arm("CartPole-v1 x %d" % n, "gymnasium vector", lambda: envs.step(actions), lengths(lambda: envs.step(actions)[2].sum(), n, True))

def rlox_single():
    env = rlox.CartPole(seed=42)
    env.reset(42)
    def step():
        over = env.step(1)["terminated"]
        if over: env.reset(42)
        return over
    arm("CartPole-v1, one environment", "rlox", step, lengths(step, 1, False))

for n in task["counts"]:
    if rlox: rlox_vector(n)
    if gymnasium: gymnasium_vector(n)
if rlox: rlox_single()
serve()
`;

const GYMNAX = `
import jax, jax.numpy as jnp
gymnax = package("gymnax")
catalogue["versions"]["jax"] = jax.__version__

def register(id, n, steps):
    env, params = gymnax.make(id)
    space = env.action_space(params)
    def one(key, state):
        key, for_action, for_step = jax.random.split(key, 3)
        obs, state, reward, done, _ = env.step(for_step, state, space.sample(for_action), params)
        return key, state, (jnp.sum(obs.astype(jnp.float32)), jnp.float32(reward), done)
    def several(carry, _):
        keys, state, sums = jax.vmap(one)(*carry)
        return (keys, state), [jnp.sum(x) for x in sums]
    @jax.jit
    def run(keys, state): return jax.lax.scan(several, (keys, state), None, length=steps)
    keys = jax.random.split(jax.random.PRNGKey(42), n)
    held = {"carry": (keys, jax.vmap(lambda key: env.reset(key, params)[1])(keys))}
    def call():
        held["carry"], sums = run(*held["carry"])
        jax.block_until_ready(sums)
        return sums
    begin = time.perf_counter()
    sums = [call()]
    while len(sums) < 10 and time.perf_counter() - begin < 5: sums.append(call())
    slow = time.perf_counter() - begin > 5
    mean = lambda k: float(np.mean([np.sum(x[k]) for x in sums])) / (n * steps)
    arm("%s x %d" % (id, n), "gymnax", call, {"reward": [mean(1)], "ends": [mean(2)]}, samples=5 if slow else 11)

if gymnax:
    for id in task["ids"]: register(id, task["n"], task["steps"])
serve()
`;

/** CartPole in rlox and Gymnasium, for each number of environments. */
export const startCartPolePeers = (recorder: Recorder, counts: readonly number[]): Promise<PythonPeers> =>
  startPython(recorder, { group: "torch", script: CARTPOLE, arrays: {}, input: { counts } });

/** Environments of gymnax, `steps` steps of `n` of them per call. */
export const startGymnaxPeers = (
  recorder: Recorder,
  input: { readonly ids: readonly string[]; readonly n: number; readonly steps: number },
): Promise<PythonPeers> => startPython(recorder, { group: "jax", script: GYMNAX, arrays: {}, input: { ...input } });

/** Episodes as long as ours. */
export const sameLength = (length: number): Expected => ({
  outputs: { length: [length] },
  tolerance: { relative: 0.05, absolute: 0 },
});
/** Rewards and ends as often as ours. */
export const samePlay = (reward: number, ends: number): Expected => ({
  outputs: { reward: [reward], ends: [ends] },
  tolerance: { relative: 0.1, absolute: 0.01 },
});
