/**
 * @file Configuration files: their forms, their limits, and what is said of those that cannot be read.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { ConfigError, readConfigFile, readConfigText } from "../../../src/train/config/index.ts";
import { fromYaml, refusal, resolve, schema, yaml } from "./support.ts";

const ZOO = `
atari:
  policy: 'CnnPolicy'
  n_envs: 8
CartPole-v1: &cartpole
  n_envs: 8
  n_timesteps: !!float 1e5
  policy: 'MlpPolicy'
  n_steps: 32
  batch_size: 256
  gae_lambda: 0.8
  gamma: 0.98
  n_epochs: 20
  ent_coef: 0.0
  learning_rate: lin_0.001
  clip_range: lin_0.2
Pendulum-v1:
  <<: *cartpole
  normalize: "{'norm_obs': True, 'norm_reward': False}"
  gamma: 0.9
  use_sde: False
  sde_sample_freq: 4
  policy_kwargs: "dict(log_std_init=-2,
                       ortho_init=True,
                       activation_fn=nn.ReLU,
                       net_arch=[dict(pi=[256, 256], vf=[256, 256])]
                       )"
Wild-v0:
  <<: *cartpole
  env_wrapper:
    - stable_baselines3.common.atari_wrappers.AtariWrapper
  frame_stack: 4
  use_sde: True
  policy: CnnPolicy
  policy_kwargs: "dict(ortho_init=False, activation_fn=nn.GELU, net_arch=dict(pi=[8], vf=[9]), features_dim=3)"
`;

describe("files of rl-zoo3", () => {
  test("give the section of the environment", () => {
    const { run, hyperparameters } = resolve({ file: yaml(ZOO) });
    expect(run).toMatchObject({ steps: 100_000, preset: "sb3", env: "CartPole-v1" });
    expect(hyperparameters).toMatchObject({ nEnvs: 8, nSteps: 32, gaeLambda: 0.8, nEpochs: 20, entCoef: 0 });
    expect(hyperparameters).toMatchObject({ learningRate: "lin_0.001", clipRange: "lin_0.2", normalizeObs: false });
  });
  test("merge, and hold Python in texts", () => {
    expect(fromYaml(ZOO, { env: "Pendulum-v1" })).toMatchObject({
      nSteps: 32,
      gamma: 0.9,
      normalizeObs: true,
      normalizeReward: false,
      logStdInit: -2,
      activation: "relu",
      netArch: [256, 256],
    });
  });
  test("stand on SB3's defaults, without tuned values", () => {
    const tuned = { ppo: { "MountainCar-v0": { gamma: 0.5, steps: 7 } } };
    const { run, hyperparameters } = resolve({
      env: "MountainCar-v0",
      tuned,
      file: yaml("MountainCar-v0:\n  n_envs: 16\n"),
    });
    expect(hyperparameters).toMatchObject({ nEnvs: 16, nSteps: 2048, batchSize: 64, nEpochs: 10, gamma: 0.99 });
    expect(run.steps).toBe(7);
  });
  test("are refused with all that is not supported, line by line", () => {
    const widths = "policy_kwargs.net_arch: pi and vf must have the same widths: give one list";
    const known =
      "netArch, activationFn, logStdInit, orthoInit, optimizerClass, optimizerKwargs, shareFeaturesExtractor";
    expect(refusal(() => fromYaml(ZOO, { env: "Wild-v0" })).split("\n")).toEqual([
      "ConfigError: 8 things in the configuration will not do:",
      `  test.yml, line 35: ${widths}`,
      `  test.yml, line 35: policy_kwargs.features_dim: it is not supported. Known are ${known}.`,
      expect.stringMatching(/^ {2}test.yml, line 34: policy: "CnnPolicy" is not supported: .* --set policy=MlpPolicy$/),
      expect.stringMatching(
        /^ {2}test.yml, line 30: env_wrapper: \["stable.* is not supported: wrap .* env_wrapper=null$/,
      ),
      expect.stringMatching(/^ {2}test.yml, line 32: frame_stack: 4 is not supported: .* --set frame_stack=1$/),
      expect.stringMatching(/^ {2}test.yml, line 33: use_sde: true is not supported: .* --set use_sde=false$/),
      expect.stringMatching(
        /^ {2}test.yml, line 35: policy_kwargs.ortho_init: .* --set policy_kwargs.ortho_init=true$/,
      ),
      expect.stringMatching(/^ {2}test.yml, line 35: policy_kwargs.activation_fn: "gelu" .* "tanh" or "relu"\./),
    ]);
  });
  test("serve without what is not supported, when that is said", () => {
    const text =
      "CartPole-v1:\n  use_sde: True\n  env_wrapper: x.Y\n  policy_kwargs: dict(ortho_init=False)\n  gamma: 0.5\n";
    const sets = ["use_sde=false", "env_wrapper=null", "policy_kwargs.ortho_init=true"];
    expect(fromYaml(text, { sets }).gamma).toBe(0.5);
    expect(refusal(() => fromYaml(text, { sets: sets.slice(1) }))).toMatch(/^ConfigError: test.yml, line 2: use_sde: /);
    expect(() => resolve({ file: yaml("use_sde: false"), sets: ["use_sde=true"] })).toThrow(
      "there is no state-dependent",
    );
  });
  test("say which environments they have", () => {
    expect(refusal(() => fromYaml(ZOO, { env: "Pendulum-v0" }))).toBe(
      'ConfigError: test.yml: there is nothing for Pendulum-v0 in it. Did you mean "Pendulum-v1"?',
    );
    expect(refusal(() => fromYaml(ZOO, { env: "Hopper" }))).toContain(
      "It has atari, CartPole-v1, Pendulum-v1, Wild-v0.",
    );
  });
  test("have sections for all other environments", () => {
    const text = "default:\n  gamma: 0.5\natari:\n  gamma: 0.25\n";
    expect(fromYaml(text).gamma).toBe(0.5);
    expect(fromYaml(text, { env: "ALE/Pong-v5" }).gamma).toBe(0.25);
    expect(fromYaml(text, { env: "BreakoutNoFrameskip-v4" }).gamma).toBe(0.25);
  });
  test("tell their environment when there is one", () => {
    expect(yaml("CartPole-v1: { n_envs: 2 }").env).toBe("CartPole-v1");
    expect(yaml(ZOO).env).toBeUndefined();
  });
  test.each([
    ["normalize: true", { normalizeObs: true, normalizeReward: true }],
    ["normalize: 'False'", { normalizeObs: false, normalizeReward: false }],
    ['normalize: "dict(norm_obs=False, clip_obs=10)"', { normalizeObs: false, normalizeReward: true }],
    ["normalize: { norm_reward: false }", { normalizeObs: true, normalizeReward: false }],
    ["policy_kwargs: { net_arch: [32] }", { netArch: [32] }],
    ["policy_kwargs: { net_arch: { pi: [32], vf: [32] } }", { netArch: [32] }],
    ['policy_kwargs: "dict(net_arch=[])"', { netArch: [] }],
    ['policy_kwargs: "dict(optimizer_kwargs=dict(eps=1e-8, betas=(0.9, 0.999)))"', { adamEps: 1e-8 }],
    ["policy_kwargs: null", { netArch: [64, 64] }],
    ["ent_coef: .0", { entCoef: 0 }],
    ["ent_coef: !!float 20", { entCoef: 20 }],
    ["ent_coef: !!float 1e-3", { entCoef: 1e-3 }],
    ["n_envs: !!int 1e1", { nEnvs: 10 }],
    ["learning_rate: '3e-4'", { learningRate: 3e-4 }],
    ["normalize_advantage: no", { normalizeAdvantage: false }],
  ])("%s", (line, expected) => {
    expect(fromYaml(line)).toMatchObject(expected);
    expect(fromYaml(`CartPole-v1:\n  ${line}`)).toMatchObject(expected);
  });
  test.each([
    ["normalize: 3", "3 must be true or false"],
    ["normalize: \"{'clip_obs': 5}\"", "clipObs = 5 is not supported"],
    ['policy_kwargs: "dict(net_arch=[64, dict(pi=[64])])"', "shared in part"],
    ['policy_kwargs: "eval(1)"', "must be a mapping of keys"],
    ['policy_kwargs: "dict(optimizer_class=RMSpropTFLike)"', "ppo has no rmsprop"],
    ["env_kwargs: { g: 1 }", "export the environment with other parameters"],
  ])("%s is refused", (line, message) => {
    expect(refusal(() => fromYaml(`CartPole-v1:\n  ${line}`))).toMatch(/^ConfigError: test.yml, line 2: /);
    expect(refusal(() => fromYaml(`CartPole-v1:\n  ${line}`))).toContain(message);
  });
});

describe("files of our own", () => {
  const flat = "algo: ppo\nenv: CartPole-v1\nsteps: 5000\nlearningRate: 1e-3\nn_envs: 2\n";
  test("are flat, in both cases of letters", () => {
    const file = yaml(flat);
    expect([file.form, file.algo, file.env]).toEqual(["keys", "ppo", "CartPole-v1"]);
    const { run, hyperparameters } = resolve({ file });
    expect([run.steps, hyperparameters.learningRate, hyperparameters.nEnvs]).toEqual([5000, 1e-3, 2]);
  });
  test("may keep the hyperparameters apart", () => {
    const file = yaml(
      "env_id: CartPole-v1\ntotal_timesteps: 10\nhyperparameters:\n  lr: 0.5\n  policy_kwargs: { net_arch: [8] }\n",
    );
    expect(file).toMatchObject({ form: "keys", env: "CartPole-v1" });
    const { run, hyperparameters } = resolve({ file });
    expect([run.steps, hyperparameters.learningRate, hyperparameters.netArch]).toEqual([10, 0.5, [8]]);
    expect(fromYaml("hyperparameters: { gamma: 0.5 }").gamma).toBe(0.5);
  });
  test("hold what schemas have inside of others", () => {
    expect(fromYaml("replay: { size: 3 }\ngamma: 1").replay).toEqual({ size: 3, prefetch: false });
    expect(fromYaml("replay.size: 3").replay.size).toBe(3);
    expect(refusal(() => fromYaml("replay: { sise: 3 }\ngamma: 1"))).toContain(
      'replay.sise: there is no such key. Did you mean "size"?',
    );
    expect(refusal(() => fromYaml("replay: 3"))).toContain("must be a mapping");
  });
  test("are what a resolved configuration is written as", () => {
    const first = resolve({ file: yaml(flat), sets: ["netArch=[7]", "preset=sb3", "replay.size=5"] });
    const json = JSON.stringify({ ...first.run, hyperparameters: first.hyperparameters }, null, 1);
    const again = resolve({ file: readConfigText(json, "json") });
    expect(again.run).toEqual(first.run);
    expect(again.hyperparameters).toEqual(first.hyperparameters);
  });
  test("may be empty", () => {
    expect(fromYaml("# nothing\n")).toEqual(schema.parse({}));
  });
  test("for another algorithm are refused", () => {
    expect(refusal(() => fromYaml("algo: a2c\nentCoef: 0"))).toContain("the file is for a2c, not for ppo");
  });
});

describe("texts that cannot be read", () => {
  const broken = (
    [
      ["yaml", "a: [1,\n", "line 2"],
      ["yaml", "a: 1\nb: 2\na: 3", 'line 3: the key "a" stands twice'],
      ["yaml", "a: *nowhere", "nowhere"],
      ["yaml", "a: &a [*a]", "nested more than"],
      ["yaml", "a: &a { <<: *a }", "nested more than"],
      ["yaml", "a: { <<: 3 }", "takes a mapping"],
      ["yaml", "? [a]\n: 1", "a key must be a word"],
      ["yaml", "a: !!python/object/apply:os.system ['x']", "Unresolved tag"],
      ["yaml", "a: !!float fast", 'line 1: "fast" is not a number'],
      ["yaml", "a: 1\n---\nb: 2", "multiple documents"],
      ["yaml", "- 1\n- 2", "is a mapping of keys"],
      ["yaml", "just text", "is a mapping of keys"],
      ["yaml", `a: ${"[".repeat(40)}${"]".repeat(40)}`, "nested more than"],
      ["yaml", "[".repeat(5000), "test: "],
      ["yaml", `# ${"x".repeat(200_000)}`, "are the most that are read"],
      ["json", "{a: 1}", "not JSON"],
      ["json", '{"a": 1,}', "not JSON"],
      ["json", '{"a": 1, "a": 2}', '"a" stands twice'],
    ] as const
  ).map(([format, text, message]) => ({ label: text.slice(0, 40), format, text, message }));
  test.each(broken)("$format $label", ({ format, text, message }) => {
    expect(() => readConfigText(text, format, "test")).toThrow(ConfigError);
    expect(() => readConfigText(text, format, "test")).toThrow(message);
  });
  test("do not unfold without limit", () => {
    const levels = (one: (k: number) => string): string => Array.from({ length: 12 }, (_, k) => one(k + 1)).join("\n");
    const nine = (k: number): string =>
      Array(9)
        .fill(`*a${k - 1}`)
        .join(", ");
    const lists = `a0: &a0 [x]\n${levels((k) => `a${k}: &a${k} [${nine(k)}]`)}`;
    const merges = `a0: &a0 { x: 1 }\n${levels((k) => `a${k}: &a${k} { <<: [${nine(k)}] }`)}`;
    for (const text of [lists, merges]) expect(() => yaml(text)).toThrow("unfolds to more than");
  });
  test("the first of several merged mappings wins, and the mapping itself over them", () => {
    const text =
      "a: &a { gamma: 0.1, gae_lambda: 0.1 }\nb: &b { gamma: 0.2, vf_coef: 0.2 }\nCartPole-v1:\n  gae_lambda: 0.3\n  <<: [*a, *b]";
    expect(fromYaml(text)).toMatchObject({ gamma: 0.1, gaeLambda: 0.3, vfCoef: 0.2 });
  });
  test("tabs indent JSON", () => {
    expect(readConfigText('{\n\t"steps": 3,\n\t"replay": {\n\t\t"size": 1\n\t}\n}', "json").form).toBe("keys");
  });
});

describe("files on disk", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-config-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  test("are YAML unless their name says JSON", () => {
    expect(readConfigFile(file("a.yml", "algo: ppo")).algo).toBe("ppo");
    expect(readConfigFile(file("a.json", '{"algo": "ppo"}')).algo).toBe("ppo");
    expect(() => readConfigFile(file("b.json", "algo: ppo"))).toThrow(/b\.json: the text is not JSON/);
  });
  test("are looked at before they are read", () => {
    expect(() => readConfigFile(file("large.yml", "#".repeat(1 << 20)))).toThrow("has 1048576 bytes");
    expect(() => readConfigFile(join(folder, "absent.yml"))).toThrow("cannot be read");
  });
});
