/**
 * @file Whole rollouts of CartPole in rlox: steps, storing, and advantages, with action 0 and values 0.
 *
 * In two forms: as its own benchmark does it, with a push for each environment and step and one recursion over all; and
 * as fast as its functions allow, with whole rows stored at once and the batched recursion.
 */
import { type Expected, type PythonPeers, startPython } from "../python.ts";
import type { Recorder } from "../suite.ts";

const SCRIPT = `
rlox = package("rlox")

def benched(n, steps):
    envs = rlox.VecEnv(n, 42, "CartPole-v1")
    actions, action = [0] * n, np.zeros(1, np.float32)
    held = {"obs": envs.reset_all(seed=42)}
    values = np.zeros(n * steps)
    def run():
        table = rlox.ExperienceTable(4, 1)
        rewards, dones = [], []
        obs = held["obs"]
        for _ in range(steps):
            result = envs.step_all(actions)
            terminated, truncated = result["terminated"], result["truncated"]
            for i in range(n):
                table.push(obs[i], action, float(result["rewards"][i]), bool(terminated[i]), bool(truncated[i]))
            rewards.append(result["rewards"])
            dones.append(((terminated + truncated) > 0).astype(np.float64))
            obs = result["obs"]
        held["obs"] = obs
        ends = np.concatenate(dones)
        return rlox.compute_gae(np.concatenate(rewards), values, ends, 0.0, 0.99, 0.95), ends
    return run

def batched(n, steps):
    envs = rlox.VecEnv(n, 42, "CartPole-v1")
    actions = [0] * n
    obs = np.empty((steps + 1, n, 4), np.float32)
    rewards, dones = np.empty((steps, n)), np.empty((steps, n))
    values, last = np.zeros(n * steps), np.zeros(n)
    obs[0] = envs.reset_all(seed=42)
    def run():
        obs[0] = obs[steps] if run.begun else obs[0]
        run.begun = True
        for t in range(steps):
            result = envs.step_all(actions)
            obs[t + 1] = result["obs"]
            rewards[t] = result["rewards"]
            dones[t] = (result["terminated"] + result["truncated"]) > 0
        found = rlox.compute_gae_batched(np.ascontiguousarray(rewards.T).reshape(-1), values,
                                         np.ascontiguousarray(dones.T).reshape(-1), last, steps, 0.99, 0.95)
        return found, dones
    run.begun = False
    return run

def register(n, steps):
    name = "rollout %dx%d" % (n, steps)
    for label, form in (("rlox as benched", benched(n, steps)), ("rlox batched", batched(n, steps))):
        _, ends = form()
        arm(name, label, form, {"ends": [float(ends.mean())]}, samples=11 if n * steps > 100000 else None)

if rlox:
    for n, steps in task["sizes"]: register(n, steps)
serve()
`;

export const startRolloutPeers = (
  recorder: Recorder,
  sizes: readonly (readonly [environments: number, steps: number])[],
): Promise<PythonPeers> => startPython(recorder, { group: "torch", script: SCRIPT, arrays: {}, input: { sizes } });

/** Episodes end as often as ours; advantages are checked by the suite `gae`. */
export const endsAs = (ends: number): Expected => ({
  outputs: { ends: [ends] },
  tolerance: { relative: 0.05, absolute: 0 },
});
