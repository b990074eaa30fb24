/**
 * @file Trainings in Stable-Baselines3 and rlox for the suite `train`, with the settings of ours.
 *
 * Both train on the CPU with the number of threads that PyTorch takes by itself and with one; the faster counts. The
 * clock runs around `learn` and `train`; networks and environments are made before. After every training the steps, the
 * updates and the parameters are counted: what did not do the work has no figure.
 */
import { availableParallelism } from "node:os";
import { type Expected, type PythonPeers, startPython } from "../python.ts";
import type { Recorder } from "../suite.ts";
import { expectedCounts, iterationsOf, settingsOf, TRAINING } from "./train-cases.ts";

export const SB3 = "stable-baselines3";
export const RLOX = "rlox";
const ONE_THREAD = ", 1 torch thread";
/** The ways of a framework; the fastest is what counts. */
export const waysOf = (framework: string): readonly string[] => [framework, framework + ONE_THREAD];

/** rlox's networks and conventions as far as SB3 has keys for them: a falling rate, clipped values, an entropy bonus. */
const SB3_PPO = `
def make_sb3(settings):
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    envs = make_vec_env(settings["environment"], n_envs=settings["nEnvs"], seed=settings["seed"])
    return PPO("MlpPolicy", envs, n_steps=settings["nSteps"], batch_size=settings["batchSize"], n_epochs=settings["nEpochs"],
               learning_rate=lambda left: settings["rate"] * left, gamma=settings["gamma"], gae_lambda=settings["gaeLambda"],
               clip_range=settings["clipRange"], clip_range_vf=settings["clipRangeVf"], ent_coef=settings["entCoef"],
               vf_coef=settings["vfCoef"], max_grad_norm=settings["maxGradNorm"], seed=settings["seed"], device="cpu")

def updates_of(optimizer):
    return int(next(iter(optimizer.state.values()))["step"])

def size_of(network):
    return sum(p.numel() for p in network.parameters())

def counts_sb3(model):
    return dict(parameters=size_of(model.policy), steps=model.num_timesteps, updates=updates_of(model.policy.optimizer))
`;

const TRAININGS = `
import torch
settings, wanted = task["settings"], task["wanted"]
own_threads = torch.get_num_threads()
${SB3_PPO}
def make_rlox(settings):
    from rlox.algorithms.ppo import PPO
    return PPO(settings["environment"], n_envs=settings["nEnvs"], seed=settings["seed"], n_steps=settings["nSteps"],
               batch_size=settings["batchSize"], n_epochs=settings["nEpochs"])

def counts_rlox(model):
    played = model.collector._ep_lengths.sum() + sum(model.collector._completed_lengths)
    return dict(parameters=size_of(model.policy), steps=int(played), updates=updates_of(model.optimizer))

def register(framework, threads, make, train, counts):
    held = {}
    def before():
        torch.set_num_threads(threads)
        held["model"] = make(settings)
    def run():
        train(held["model"], wanted["steps"])
        found = counts(held["model"])
        if found != wanted: raise RuntimeError(f"{framework} counted {found}, expected {wanted}")
    before()
    train(held["model"], task["first"])
    arm(task["name"], framework, run, {name: [x] for name, x in counts(held["model"]).items()}, before=before)

for threads, suffix in ((own_threads, ""), (1, task["one"])):
    if package("stable_baselines3"):
        register(task["sb3"] + suffix, threads, make_sb3, lambda model, steps: model.learn(steps), counts_sb3)
    if package("rlox"):
        register(task["rlox"] + suffix, threads, make_rlox, lambda model, steps: model.train(steps), counts_rlox)
serve()
`;

/** Episodes of the evaluation that ends the command, and SB3's counterpart of it. */
export const EVALUATION_EPISODES = 10;
/** Iterations of the training that peers do before their first turn. */
export const FIRST_ITERATIONS = 2;
const settings = settingsOf(TRAINING);

/** What every side must have done. */
export const WANTED = expectedCounts(TRAINING, iterationsOf(TRAINING));

export const startTrainPeers = (recorder: Recorder): Promise<PythonPeers> =>
  startPython(recorder, {
    group: "torch",
    script: TRAININGS,
    arrays: {},
    input: {
      settings,
      wanted: WANTED,
      name: TRAINING.name,
      first: expectedCounts(TRAINING, FIRST_ITERATIONS).steps,
      sb3: SB3,
      rlox: RLOX,
      one: ONE_THREAD,
    },
    threads: availableParallelism(),
  });

/** The same numbers of parameters, steps and updates as ours. */
export const sameCounts = (counts: { readonly [name: string]: number }): Expected => ({
  outputs: Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, [count]])),
  tolerance: { absolute: 0, relative: 0 },
});

/** Python as a user's script: imports, trains, evaluates, prints. Settings, steps, episodes and threads are its argument. */
export const SB3_COMMAND = `
import json, sys
task = json.loads(sys.argv[1])
settings = task["settings"]
import torch
if task["threads"]: torch.set_num_threads(task["threads"])
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
${SB3_PPO}
model = make_sb3(settings)
model.learn(task["steps"])
envs = make_vec_env(settings["environment"], n_envs=settings["nEnvs"], seed=settings["seed"] + 1000)
returns, _ = evaluate_policy(model, envs, n_eval_episodes=task["episodes"], return_episode_rewards=True)
print(json.dumps(dict(counts_sb3(model), episodes=len(returns), mean=sum(returns) / len(returns))))
`;
/** The argument of `SB3_COMMAND`; `threads` 0 leaves them to PyTorch. */
export const sb3Task = (threads: number): string =>
  JSON.stringify({ settings, steps: WANTED.steps, episodes: EVALUATION_EPISODES, threads });
