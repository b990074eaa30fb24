/**
 * @file GAE in rlox, in an interpreted NumPy loop and in TorchRL, on one thread, from the same numbers.
 *
 * rlox and TorchRL return fresh arrays and have no form that does not; both want dones as floats or booleans, which
 * are made before the clock starts. rlox's batches are env-major, NumPy's rows of environments step-major.
 */
import type { Tolerance } from "../gate.ts";
import { type Expected, type PythonPeers, startPython } from "../python.ts";
import type { Recorder } from "../suite.ts";
import { GAMMA, type GaeCase, LAMBDA, plainGae } from "./gae-cases.ts";

/** What the seeds ask of every implementation; TorchRL computes part of it in f32 whatever it is given. */
const DOUBLE: Tolerance = { relative: 1e-6, absolute: 1e-10 };
const SINGLE: Tolerance = { relative: 1e-4, absolute: 1e-4 };
const TORCHRL: Tolerance = { relative: 1e-5, absolute: 1e-5 };

const SCRIPT = `
gamma, lam = task["gamma"], task["lambda"]
rlox = package("rlox")
torch = package("torch")
torchrl = torch and package("torchrl")
if torch:
    torch.set_num_threads(1)
if torchrl:
    from torchrl.objectives.value.functional import generalized_advantage_estimate, vec_generalized_advantage_estimate

def numpy_loop(r, v, d, last):
    n = len(r)
    advantages = np.zeros(n)
    advantage = 0.0
    for t in reversed(range(n)):
        following = last if t == n - 1 else v[t + 1]
        live = 1.0 - d[t]
        delta = r[t] + gamma * following * live - v[t]
        advantage = delta + gamma * lam * live * advantage
        advantages[t] = advantage
    return advantages, advantages + v

def numpy_rows(r, v, d, last):
    advantages = np.empty_like(r)
    advantage = np.zeros_like(last)
    following = last
    for t in reversed(range(len(r))):
        live = 1 - d[t]
        advantage = r[t] + gamma * following * live - v[t] + gamma * lam * live * advantage
        advantages[t] = advantage
        following = v[t]
    return advantages, advantages + v

def both(found):
    return {"advantages": np.asarray(found[0], np.float64).reshape(-1), "returns": np.asarray(found[1], np.float64).reshape(-1)}

def rows(name, steps, environments, r, v, d, last):
    if rlox:
        run = lambda: rlox.compute_gae_batched_f32(r, v, d, last, steps, gamma, lam)
        arm(name, "rlox env-major", run, both(run()))
    shape = (environments, steps)
    sr, sv, sd = (np.ascontiguousarray(x.reshape(shape).T) for x in (r, v, d))
    run = lambda: numpy_rows(sr, sv, sd, last)
    turned = [np.ascontiguousarray(x.T) for x in run()]
    arm(name, "numpy step-major", run, both(turned))

def by_torchrl(name, steps, r, v, d, end):
    column = lambda x: torch.from_numpy(x.copy()).reshape(-1, 1)
    tr, tv, tn, td = column(r), column(v), column(np.append(v[1:], end)), column(d).bool()
    def add(label, function):
        run = lambda: function(gamma, lam, tv, tn, tr, td, td)
        arm(name, label, run, both([x.numpy() for x in run()]), samples=None if steps < 2048 else 11)
    add("torchrl", generalized_advantage_estimate)
    add("torchrl vec", vec_generalized_advantage_estimate)

def trajectory(name, steps, r, v, d, end):
    if rlox:
        run = lambda: rlox.compute_gae(r, v, d, end, gamma, lam)
        arm(name, "rlox", run, both(run()))
    run = lambda: numpy_loop(r, v, d, end)
    arm(name, "numpy loop", run, both(run()), samples=None if steps < 8192 else 11)
    if torchrl: by_torchrl(name, steps, r, v, d, end)

for case in task["cases"]:
    name, steps, environments = case["name"], case["steps"], case["environments"]
    r, v, d, last = (arrays[name + "." + key] for key in ("rewards", "values", "dones", "last"))
    d = d.astype(r.dtype)
    if environments == 0: trajectory(name, steps, r, v, d, float(last[0]))
    else: rows(name, steps, environments, r, v, d, last)
serve()
`;

/** The peers, ready for their turns. */
export function startGaePeers(recorder: Recorder, cases: readonly GaeCase[]): Promise<PythonPeers> {
  const arrays = Object.fromEntries(
    cases.flatMap((one) => Object.entries(one.arrays).map(([key, array]) => [`${one.name}.${key}`, array])),
  );
  const names = cases.map(({ name, steps, environments }) => ({ name, steps, environments }));
  return startPython(recorder, {
    group: "torch",
    script: SCRIPT,
    arrays,
    input: { gamma: GAMMA, lambda: LAMBDA, cases: names },
  });
}

/** What they have to compute. */
export const expectedGae = (one: GaeCase): Expected => ({
  outputs: plainGae(one),
  tolerance: (framework) => (framework.startsWith("torchrl") ? TORCHRL : one.environments > 0 ? SINGLE : DOUBLE),
});
