/**
 * @file Group advantages and token KL in rlox, NumPy and PyTorch, on one thread, from the same inputs.
 */
import { measureInPython, type PythonArm, recordPeer } from "../python.ts";
import type { Recorder } from "../suite.ts";
import type { LlmCase } from "./llm-cases.ts";

const SCRIPT = `
rlox = package("rlox")
torch = package("torch")
if torch: torch.set_num_threads(task["threads"])

def numpy_grpo(rewards, width):
    groups = rewards.reshape(-1, width)
    return (groups - groups.mean(axis=1, keepdims=True)) / (groups.std(axis=1, keepdims=True) + 1e-8)

def numpy_exact(p, q, width):
    p, q = p.reshape(-1, width), q.reshape(-1, width)
    return (np.exp(p) * (p - q)).sum(axis=1)

def numpy_k3(p, q, width):
    r = (p - q).reshape(-1, width)
    return (np.exp(r) - r - 1).sum(axis=1)

def torch_grpo(rewards, width):
    groups = rewards.view(-1, width)
    return (groups - groups.mean(dim=1, keepdim=True)) / (groups.std(dim=1, keepdim=True, correction=0) + 1e-8)

def torch_exact(p, q, width):
    p, q = p.view(-1, width), q.view(-1, width)
    return (torch.exp(p) * (p - q)).sum(dim=1)

def torch_k3(p, q, width):
    r = (p - q).view(-1, width)
    return (torch.exp(r) - r - 1).sum(dim=1)

def rlox_call(case):
    width, single = case["width"], case["type"] == "f32"
    if case["op"] == "grpo":
        return None if single else lambda rewards: rlox.compute_batch_group_advantages(rewards, width)
    name = ("token_kl" if case["op"] == "exact" else "token_kl_schulman") + ("_f32" if single else "")
    if case["items"] == width:
        return getattr(rlox, "compute_" + name)
    batched = getattr(rlox, "compute_batch_" + name)
    return lambda p, q: batched(p, q, width)

for case in task["cases"]:
    name, op, width = case["name"], case["op"], case["width"]
    given = [arrays[name + "." + part] for part in case["arrays"]]
    def measured(framework, run, operands):
        out = np.asarray(run(*operands)).reshape(-1)
        arm(name, framework, lambda: run(*operands), {"out": out})
    run = rlox_call(case) if rlox else None
    if run: measured("rlox", run, given)
    by_numpy = {"grpo": numpy_grpo, "exact": numpy_exact, "k3": numpy_k3}[op]
    measured("numpy", lambda *operands: by_numpy(*operands, width), given)
    if torch:
        by_torch = {"grpo": torch_grpo, "exact": torch_exact, "k3": torch_k3}[op]
        measured("torch", lambda *operands: by_torch(*operands, width), [torch.from_numpy(value) for value in given])
finish()
`;

/** The peers' samples by workload and framework; rows are recorded on the way. */
export async function measureLlmPeers(
  recorder: Recorder,
  cases: readonly LlmCase[],
  expected: ReadonlyMap<string, ArrayLike<number>>,
): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>> {
  const arrays = Object.fromEntries(
    cases.flatMap((one) => Object.entries(one.arrays).map(([part, array]) => [`${one.name}.${part}`, array])),
  );
  const input = {
    cases: cases.map(({ name, op, type, width, items, arrays: own }) => {
      return { name, op, type, width, items, arrays: Object.keys(own) };
    }),
  };
  const found = new Map<string, Map<string, readonly number[]>>();
  const keep = (one: LlmCase, arm: PythonArm): void => {
    const { params, items, tolerance } = one;
    const out = expected.get(one.name) ?? [];
    if (!recordPeer(recorder, arm, { category: "llm", params, items, expected: { out }, tolerance })) return;
    const frameworks = found.get(one.name) ?? new Map<string, readonly number[]>();
    frameworks.set(arm.framework, arm.ns);
    found.set(one.name, frameworks);
  };
  for (const arm of await measureInPython(recorder, { group: "torch", script: SCRIPT, arrays, input })) {
    const one = cases.find((each) => each.name === arm.name);
    if (one !== undefined) keep(one, arm);
  }
  return found;
}
