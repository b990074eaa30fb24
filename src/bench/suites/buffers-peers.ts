/**
 * @file The workloads of the suite `buffers` in rlox and Stable-Baselines3, from the same transitions.
 */
import { EXACT } from "../gate.ts";
import { measureInPython, type PythonArm, recordPeer } from "../python.ts";
import type { Recorder, Samples } from "../suite.ts";
import {
  BATCHES,
  IMAGE,
  IMAGE_CAPACITY,
  IMAGE_PUSHES,
  OBSERVATION,
  PRIORITIZED_BATCH,
  PUSHES,
  STORED,
} from "./buffers-cases.ts";

const SCRIPT = `
size, stored, pushes = task["observation"], task["stored"], task["pushes"]
rlox = package("rlox")
sb3 = package("stable_baselines3")

def parts(n):
    return (np.full(size, n, np.float32), np.array([n], np.float32), float(n), n % 2 == 1, n % 3 == 1,
            np.full(size, n + 1, np.float32))

def wrong(batch):
    n = batch["rewards"]
    same = (batch["actions"].reshape(-1) == n) & (batch["obs"] == n[:, None]).all(1)
    same &= (batch["next_obs"] == n[:, None] + 1).all(1) & (batch["terminated"] == n % 2)
    same &= batch["truncated"] == (n % 3 == 1)
    return [float((~same).sum())]

def apart(obs, next_obs):
    return [float((np.asarray(obs)[:, 0] + np.asarray(next_obs)[:, -1] != 3).sum())]

class Calls:
    """Seeds 1, 2, 3, ..., one for each sample."""
    def __init__(self): self.number = 0
    def next(self):
        self.number += 1
        return self.number

if rlox:
    ring = rlox.ReplayBuffer(stored, size, 1)
    seven = parts(7)
    def push():
        for _ in range(pushes): ring.push(*seven)
    push()
    arm("push", "rlox", push, {"wrong": wrong(ring.sample(32, 1))})
    for n in range(stored): ring.push(*parts(n))
    calls = Calls()
    for batch in task["batches"]:
        def sample(batch=batch): return ring.sample(batch, calls.next())
        arm("sample/%d" % batch, "rlox", sample, {"wrong": wrong(sample())})
        arm("latency/%d" % batch, "rlox", sample, {"wrong": wrong(sample())}, calls=task["latencyCalls"])
    ring = rlox.PrioritizedReplayBuffer(stored, size, 1, 0.6, 0.4)
    for n in range(stored): ring.push(*parts(n), priority=float(1 + n % 7))
    priorities = np.random.default_rng(1).random(task["prioritized"]) + 0.1
    def prioritized():
        batch = ring.sample(task["prioritized"], calls.next())
        ring.update_priorities(batch["indices"], priorities)
        return batch
    arm("prioritized", "rlox", prioritized, {"wrong": wrong(prioritized())})
    image, capacity = task["image"], task["imageCapacity"]
    frames = [np.full(image, 1, np.float32), np.full(image, 2, np.float32)]
    action = np.zeros(1, np.float32)
    ring = rlox.ReplayBuffer(capacity, image, 1)
    def push_images():
        for n in range(task["imagePushes"]): ring.push(frames[n & 1], action, 1.0, False, False, frames[(n + 1) & 1])
    for _ in range(2): push_images()
    batch = ring.sample(8, 1)
    arm("images", "rlox", push_images, {"wrong": apart(batch["obs"], batch["next_obs"])})
    del ring

if sb3:
    from gymnasium import spaces
    from stable_baselines3.common.buffers import ReplayBuffer
    image, capacity = task["image"], task["imageCapacity"]
    def made(shape, room):
        box = spaces.Box(-1, 1, (shape,), np.float32)
        return ReplayBuffer(room, box, spaces.Box(-1, 1, (1,), np.float32), device="cpu", handle_timeout_termination=False)
    ring = made(image, capacity)
    frames = [np.full((1, image), 1, np.float32), np.full((1, image), 2, np.float32)]
    action, reward, done = np.zeros((1, 1), np.float32), np.ones(1, np.float32), np.zeros(1, bool)
    def push_images_sb3():
        for n in range(task["imagePushes"]): ring.add(frames[n & 1], frames[(n + 1) & 1], action, reward, done, [{}])
    for _ in range(2): push_images_sb3()
    batch = ring.sample(8)
    arm("images", "stable-baselines3", push_images_sb3,
        {"wrong": apart(batch.observations.numpy(), batch.next_observations.numpy())})
finish()
`;

/** Peers' samples by workload and framework. */
export async function measureBufferPeers(
  recorder: Recorder,
  latencyCalls: number,
): Promise<ReadonlyMap<string, Samples>> {
  const input = {
    observation: OBSERVATION,
    stored: STORED,
    pushes: PUSHES,
    batches: [...BATCHES],
    prioritized: PRIORITIZED_BATCH,
    image: IMAGE,
    imageCapacity: IMAGE_CAPACITY,
    imagePushes: IMAGE_PUSHES,
    latencyCalls,
  };
  const found = new Map<string, Map<string, readonly number[]>>();
  for (const arm of await measureInPython(recorder, { group: "torch", script: SCRIPT, arrays: {}, input })) {
    if (!record(recorder, arm)) continue;
    const samples = found.get(arm.name) ?? new Map<string, readonly number[]>();
    samples.set(arm.framework, arm.ns);
    found.set(arm.name, samples);
  }
  return found;
}

function record(recorder: Recorder, arm: PythonArm): boolean {
  const items = arm.name === "push" ? PUSHES : arm.name === "images" ? IMAGE_PUSHES : 1;
  return recordPeer(recorder, arm, {
    category: "buffers",
    params: {},
    items,
    expected: { wrong: [0] },
    tolerance: EXACT,
  });
}
