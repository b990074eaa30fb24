/**
 * @file The workloads of the suite `buffers` in rlox and Stable-Baselines3, from the same transitions.
 */
import { EXACT } from "../gate.ts";
import { type Expected, type PythonPeers, startPython } from "../python.ts";
import type { Recorder } from "../suite.ts";
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
calls = Calls()

def rlox_replay():
    ring = rlox.ReplayBuffer(stored, size, 1)
    seven = parts(7)
    def push():
        for _ in range(pushes): ring.push(*seven)
    push()
    arm("push", "rlox", push, {"wrong": wrong(ring.sample(32, 1))})
    filled = rlox.ReplayBuffer(stored, size, 1)
    for n in range(stored): filled.push(*parts(n))
    def register(batch):
        sample = lambda: filled.sample(batch, calls.next())
        arm("sample/%d" % batch, "rlox", sample, {"wrong": wrong(sample())})
    for batch in task["batches"]: register(batch)

def rlox_prioritized():
    ring = rlox.PrioritizedReplayBuffer(stored, size, 1, 0.6, 0.4)
    for n in range(stored): ring.push(*parts(n), priority=float(1 + n % 7))
    priorities = np.random.default_rng(1).random(task["prioritized"]) + 0.1
    def prioritized():
        batch = ring.sample(task["prioritized"], calls.next())
        ring.update_priorities(batch["indices"], priorities)
        return batch
    arm("prioritized", "rlox", prioritized, {"wrong": wrong(prioritized())})

def rlox_images():
    image = task["image"]
    frames = [np.full(image, 1, np.float32), np.full(image, 2, np.float32)]
    action = np.zeros(1, np.float32)
    ring = rlox.ReplayBuffer(task["imageCapacity"], image, 1)
    def push():
        for n in range(task["imagePushes"]): ring.push(frames[n & 1], action, 1.0, False, False, frames[(n + 1) & 1])
    for _ in range(2): push()
    batch = ring.sample(8, 1)
    arm("images", "rlox", push, {"wrong": apart(batch["obs"], batch["next_obs"])})

def sb3_images():
    from gymnasium import spaces
    from stable_baselines3.common.buffers import ReplayBuffer
    image = task["image"]
    box, one = spaces.Box(-1, 1, (image,), np.float32), spaces.Box(-1, 1, (1,), np.float32)
    ring = ReplayBuffer(task["imageCapacity"], box, one, device="cpu", handle_timeout_termination=False)
    frames = [np.full((1, image), 1, np.float32), np.full((1, image), 2, np.float32)]
    action, reward, done = np.zeros((1, 1), np.float32), np.ones(1, np.float32), np.zeros(1, bool)
    def push():
        for n in range(task["imagePushes"]): ring.add(frames[n & 1], frames[(n + 1) & 1], action, reward, done, [{}])
    for _ in range(2): push()
    batch = ring.sample(8)
    arm("images", "stable-baselines3", push, {"wrong": apart(batch.observations.numpy(), batch.next_observations.numpy())})

if rlox:
    rlox_replay()
    rlox_prioritized()
    rlox_images()
if sb3: sb3_images()
serve()
`;

/** The peers, ready for their turns. */
export function startBufferPeers(recorder: Recorder): Promise<PythonPeers> {
  const input = {
    observation: OBSERVATION,
    stored: STORED,
    pushes: PUSHES,
    batches: [...BATCHES],
    prioritized: PRIORITIZED_BATCH,
    image: IMAGE,
    imageCapacity: IMAGE_CAPACITY,
    imagePushes: IMAGE_PUSHES,
  };
  return startPython(recorder, { group: "torch", script: SCRIPT, arrays: {}, input });
}

/** No sampled row may hold parts of two transitions. */
export const ALL_RIGHT: Expected = { outputs: { wrong: [0] }, tolerance: EXACT };
