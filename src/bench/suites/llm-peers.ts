/**
 * @file Group advantages and token KL in rlox, NumPy and PyTorch, on one thread, from the same inputs.
 */
import { type PythonPeers, startPython } from "../python.ts";
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

def register(case):
    name, op, width = case["name"], case["op"], case["width"]
    given = [arrays[name + "." + part] for part in case["arrays"]]
    def add(framework, run, operands):
        arm(name, framework, lambda: run(*operands), {"out": np.asarray(run(*operands)).reshape(-1)})
    by_rlox = rlox_call(case) if rlox else None
    if by_rlox: add("rlox", by_rlox, given)
    by_numpy = {"grpo": numpy_grpo, "exact": numpy_exact, "k3": numpy_k3}[op]
    add("numpy", lambda *operands: by_numpy(*operands, width), given)
    if torch:
        by_torch = {"grpo": torch_grpo, "exact": torch_exact, "k3": torch_k3}[op]
        add("torch", lambda *operands: by_torch(*operands, width), [torch.from_numpy(value) for value in given])

for case in task["cases"]: register(case)
serve()
`;

/** The peers, ready for their turns. */
export function startLlmPeers(recorder: Recorder, cases: readonly LlmCase[]): Promise<PythonPeers> {
  const arrays = Object.fromEntries(
    cases.flatMap((one) => Object.entries(one.arrays).map(([part, array]) => [`${one.name}.${part}`, array])),
  );
  const input = {
    cases: cases.map(({ name, op, type, width, items, arrays: own }) => {
      return { name, op, type, width, items, arrays: Object.keys(own) };
    }),
  };
  return startPython(recorder, { group: "torch", script: SCRIPT, arrays, input });
}
