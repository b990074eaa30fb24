/**
 * @file The workloads of the suite `nn` in PyTorch, on one thread, from the same parameters and inputs.
 *
 * Three ways of each: eager (for steps with the fused Adam), compiled as one writes it (`torch.compile` of the network
 * and its loss; backward, clipping and fused Adam as they come), and, for steps, everything from the parameters to the
 * new parameters as one compiled function. A compiled arm must have been compiled, as one graph and without a break;
 * otherwise it is not timed. Networks are called as functions of their weights: modules would only add to the time.
 */
import { type Expected, type PythonPeers, startPython } from "../python.ts";
import type { Recorder } from "../suite.ts";
import type { NnCase, NnSide } from "./nn-cases.ts";

/** The way that PyTorch's users do not go: gradients, clipping and Adam written out as one function, and compiled. */
export const WHOLE_STEP = "torch compile, whole step";

const SCRIPT = `
torch = package("torch")
if not torch: serve()
import torch.nn.functional as F
from torch._dynamo.utils import counters
torch.set_num_threads(1)
torch.set_num_interop_threads(1)

def weights(case):
    """Matrices lie as PyTorch wants them: [outputs, inputs]."""
    flat, found, at = arrays[case["name"] + ".parameters"], {}, 0
    for name, shape in case["parameters"]:
        size = int(np.prod(shape))
        value = torch.from_numpy(flat[at:at + size].reshape(shape).copy())
        found[name] = value.t().contiguous() if len(shape) == 2 else value
        at += size
    return found

def flat(values):
    return np.concatenate([(v.t() if v.dim() == 2 else v).detach().numpy().reshape(-1) for v in values.values()])

def net(p, prefix, x, layers, activation, last=None):
    for k in range(layers):
        x = F.linear(x, p[prefix + "w" + str(k)], p[prefix + "b" + str(k)])
        if k < layers - 1: x = activation(x)
    return last(x) if last else x

def act(p, obs):
    logits = net(p, "actor.", obs, 3, torch.tanh)
    value = net(p, "critic.", obs, 3, torch.tanh)[:, 0]
    logs = F.log_softmax(logits, -1)
    action = (logs.exp() / torch.empty_like(logs).exponential_()).argmax(-1)
    return logits, value, action, logs.gather(1, action[:, None])[:, 0]

def q_values(p, obs):
    return (net(p, "", obs, 3, torch.relu),)

def sac(p, obs):
    x = net(p, "trunk.", obs, 2, torch.relu, torch.relu)
    mean = F.linear(x, p["mean.w"], p["mean.b"])
    log_std = F.linear(x, p["logStd.w"], p["logStd.b"]).clamp(-20, 2)
    noise = torch.randn_like(mean)
    action = torch.tanh(mean + log_std.exp() * noise)
    log_prob = -0.5 * noise * noise - log_std - 0.9189385332046727 - torch.log(1 - action * action + 1e-6)
    return mean, log_std, action, log_prob.sum(-1)

def td3(p, obs):
    return (net(p, "", obs, 3, torch.relu, torch.tanh),)

def twin(p, obs, actions):
    x = torch.cat([obs, actions], 1)
    return tuple(net(p, name, x, 3, torch.relu)[:, 0] for name in ("q1.", "q2."))

def ppo_loss(layers):
    def loss(p, obs, actions, old, advantages, returns):
        logits = net(p, "actor.", obs, layers, torch.tanh)
        value = net(p, "critic.", obs, layers, torch.tanh)[:, 0]
        logs = F.log_softmax(logits, -1)
        ratio = (logs.gather(1, actions[:, None])[:, 0] - old).exp()
        gain = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        entropy = -(logs.exp() * logs).sum(-1).mean()
        return 0.5 * (value - returns).square().mean() - gain - 0.01 * entropy
    return loss

def dqn_loss(p, obs, actions, targets):
    return F.mse_loss(net(p, "", obs, 3, torch.relu).gather(1, actions[:, None])[:, 0], targets)

def critic_loss(p, obs, actions):
    q1, q2 = twin(p, obs, actions)
    return (q1 - 1).square().mean() + (q2 - 1).square().mean()

FORWARD = {
    "act": (act, ("logits", "value")), "q values": (q_values, ("q",)), "SAC sample": (sac, ("mean", "logStd")),
    "TD3 act": (td3, ("action",)), "twin Q": (twin, ("q1", "q2")),
}
STEPS = {
    "PPO step": (ppo_loss(3), dict(lr=3e-4, eps=1e-5), 0.5), "DQN step": (dqn_loss, dict(lr=1e-4, eps=1e-8), None),
    "critic step": (critic_loss, dict(lr=3e-4, eps=1e-8), None),
}

def compiled(name, framework, function, warm):
    """Compiles, runs once, and makes sure that one whole graph was compiled; None otherwise."""
    torch._dynamo.reset()
    counters.clear()
    try:
        made = torch.compile(function, dynamic=False, fullgraph=True)
        warm(made)
        graphs, breaks = counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())
        if graphs < 1 or breaks: raise RuntimeError(f"{graphs} graphs, {breaks} breaks")
        return made
    except Exception as error:
        catalogue["skipped"][f"{framework}, {name}"] = f"it did not compile: {str(error)[:300]}"
        return None

def forward(name, function, p, inputs, outputs):
    def add(framework, f):
        def run():
            with torch.inference_mode(): return f(p, *inputs)
        found = run()
        arm(name, framework, run, {key: value.numpy() for key, value in zip(outputs, found)})
    add("torch eager", function)
    def warm(f):
        with torch.inference_mode(): f(p, *inputs)
    made = compiled(name, "torch compile", function, warm)
    if made: add("torch compile", made)

def step(name, case, loss, options, clip):
    def add(framework, make, compile_adam=False):
        p = {key: value.requires_grad_() for key, value in weights(case).items()}
        values = list(p.values())
        optimizer = torch.optim.Adam(values, **options) if compile_adam else torch.optim.Adam(values, fused=True, **options)
        f = make(p)
        if f is None: return
        update = torch.compile(optimizer.step) if compile_adam else optimizer.step
        def run():
            optimizer.zero_grad(set_to_none=True)
            result = f(p, *case["inputs"])
            result.backward()
            if clip: torch.nn.utils.clip_grad_norm_(values, clip)
            update()
            return result
        before = counters["stats"]["unique_graphs"]
        result = run()
        if compile_adam and counters["stats"]["unique_graphs"] == before:
            catalogue["skipped"][f"{framework}, {name}"] = "Adam was not compiled"
            return
        arm(name, framework, run, {"loss": result.detach().numpy().reshape(1), "parameters": flat(p)})
    add("torch eager, fused Adam", lambda p: loss)
    add("torch compile, fused Adam", lambda p: compiled(name, "torch compile", loss, lambda f: f(p, *case["inputs"])))
    add("torch compile, compiled Adam", lambda p: compiled(name, "torch compile", loss, lambda f: f(p, *case["inputs"])), True)
    whole(name, case, loss, options, clip)

def whole(name, case, loss, options, clip):
    """The step as one function of parameters and moments, which it writes in place."""
    start = weights(case)
    names, inputs = list(start), case["inputs"]
    lr, eps = options["lr"], options["eps"]
    def one(p, m, v, t):
        grads, result = torch.func.grad_and_value(lambda q: loss(q, *inputs))(p)
        if clip:
            norm = torch.sqrt(sum(g.square().sum() for g in grads.values()))
            scale = torch.clamp(clip / (norm + 1e-6), max=1.0)
            grads = {k: g * scale for k, g in grads.items()}
        t.add_(1)
        rate, root = lr / (1 - 0.9 ** t), torch.sqrt(1 - 0.999 ** t)
        for k in names:
            m[k].mul_(0.9).add_(0.1 * grads[k])
            v[k].mul_(0.999).add_(0.001 * grads[k] * grads[k])
            p[k].sub_(rate * m[k] / (v[k].sqrt() / root + eps))
        return result
    def state():
        p = weights(case)
        zeros = lambda: {k: torch.zeros_like(x) for k, x in p.items()}
        return p, zeros(), zeros(), torch.zeros((), dtype=torch.float64)
    def warm(f):
        with torch.no_grad(): f(*state())
    made = compiled(name, "torch compile of the whole step", one, warm)
    if not made: return
    now = state()
    def run():
        with torch.no_grad(): return made(*now)
    result = run()
    arm(name, task["whole"], run, {"loss": result.numpy().reshape(1), "parameters": flat(now[0])})

for case in task["cases"]:
    name = case["name"]
    case["inputs"] = []
    for key, shape in case["shapes"]:
        value = torch.from_numpy(arrays[name + "." + key]).reshape(shape)
        case["inputs"].append(value.long() if value.dtype == torch.int32 else value)
    if case["bench"] in FORWARD:
        function, outputs = FORWARD[case["bench"]]
        forward(name, function, weights(case), case["inputs"], outputs)
    else:
        step(name, case, *STEPS[case["bench"]])
serve()
`;

/** Shapes of inputs as Python needs them: rows of a batch. */
function shapesOf({ inputs, batch }: NnCase): [string, readonly number[]][] {
  return Object.entries(inputs).map(([name, { length }]) => [
    name,
    length === batch ? [batch] : [batch, length / batch],
  ]);
}

/** PyTorch, ready for its turns; `sides` are ours before their first run. */
export function startNnPeers(recorder: Recorder, cases: ReadonlyMap<NnCase, NnSide>): Promise<PythonPeers> {
  const named = [...cases].map(([one, { parameters }]) => ({
    name: one.name,
    bench: one.bench,
    shapes: shapesOf(one),
    parameters: parameters.list.map(({ name, shape }) => [name, shape]),
  }));
  const arrays = [...cases].flatMap(([{ name, inputs }, { parameters }]) => [
    ...Object.entries(inputs).map(([key, array]) => [`${name}.${key}`, array] as const),
    [`${name}.parameters`, parameters.arena.array] as const,
  ]);
  const input = { cases: named, whole: WHOLE_STEP };
  return startPython(recorder, { group: "torch", script: SCRIPT, arrays: Object.fromEntries(arrays), input });
}

/** Which outputs PyTorch has to compute alike: not those that depend on random numbers. */
const COMPARED = new Set(["logits", "value", "q", "mean", "logStd", "q1", "q2", "loss", "parameters"]);

export function expectedNn(
  { bench, tolerance }: NnCase,
  outputs: { readonly [name: string]: ArrayLike<number> },
): Expected {
  const isCompared = (name: string): boolean => COMPARED.has(name) || (name === "action" && bench === "TD3 act");
  const compared = Object.entries(outputs).filter(([name]) => isCompared(name));
  return { outputs: Object.fromEntries(compared), tolerance };
}
