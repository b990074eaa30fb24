/**
 * @file Layers of a configuration: which one wins, what is said of values that will not do, and of where they come from.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { UsageError } from "../../../src/platform/errors.ts";
import {
  ConfigError,
  describeConfig,
  parseSets,
  resolveConfig,
  runConfigSchema,
} from "../../../src/train/config/index.ts";
import { fromYaml, presets, refusal, resolve, schema, yaml } from "./support.ts";

const tuned = { ppo: { "CartPole-v1": { preset: "sb3", steps: 50_000, gamma: 0.98, nSteps: 32 } } };
const settingOf = (resolved: ReturnType<typeof resolve>, key: string) =>
  resolved.settings.find((one) => one.key === key);

describe("layers", () => {
  test("without any there are the defaults", () => {
    const { run, hyperparameters, settings, notes } = resolve();
    expect(hyperparameters).toEqual(schema.parse({}));
    expect(run).toEqual(runConfigSchema.parse({ algo: "ppo", env: "CartPole-v1" }));
    expect(settings.filter(({ source }) => source !== "default").map(({ key }) => key)).toEqual(["algo", "env"]);
    expect(notes).toEqual([]);
  });

  test("each wins over those below it", () => {
    const file = yaml("gamma: 0.3");
    const gammas = [
      resolve({ presets: { sb3: { gamma: 0.1 } }, tuned: { ppo: { "CartPole-v1": { preset: "sb3" } } } }),
      resolve({ presets: { sb3: { gamma: 0.1 } }, tuned: { ppo: { "CartPole-v1": { preset: "sb3", gamma: 0.2 } } } }),
      resolve({ tuned, file }),
      resolve({ tuned, file, sets: ["gamma=0.4"] }),
      resolve({ tuned, file, sets: ["gamma=0.4"], given: { gamma: 0.5 } }),
      resolve({ tuned, file, sets: ["gamma=0.4"], given: { gamma: undefined } }),
    ].map((resolved) => {
      const { value, source, place, default: usual } = settingOf(resolved, "gamma")!;
      expect(resolved.hyperparameters.gamma).toBe(value);
      expect(usual).toBe(0.99);
      return [value, source, place];
    });
    expect(gammas).toEqual([
      [0.1, "preset", "preset sb3"],
      [0.2, "tuned", "tuned for ppo on CartPole-v1"],
      [0.3, "file", "test.yml, line 1"],
      [0.4, "set", "--set"],
      [0.5, "option", "option"],
      [0.4, "set", "--set"],
    ]);
  });

  test("tuned values are those of the algorithm and the environment", () => {
    expect(resolve({ tuned }).hyperparameters).toMatchObject({ nSteps: 32, gamma: 0.98, batchSize: 64, entCoef: 0 });
    expect(resolve({ tuned }).run).toMatchObject({ preset: "sb3", steps: 50_000 });
    expect(resolve({ tuned, env: "Acrobot-v1" }).hyperparameters).toEqual(schema.parse({}));
    expect(resolve({ tuned, algo: "a2c" }).hyperparameters).toEqual(schema.parse({}));
  });

  test("a preset that was chosen stands alone, but for how long to train", () => {
    for (const given of [{ sets: ["preset=rlox"] }, { file: yaml("preset: rlox") }, { given: { preset: "rlox" } }]) {
      const { run, hyperparameters, notes } = resolve({ tuned, ...given });
      expect(hyperparameters).toEqual(schema.parse({}));
      expect(run).toMatchObject({ preset: "rlox", steps: 50_000 });
      expect(notes).toEqual(["tuned hyperparameters for ppo on CartPole-v1 are not used: preset rlox was chosen"]);
    }
    const none = resolve({ tuned, sets: ["preset=null"] });
    expect(none.hyperparameters.gamma).toBe(0.98);
  });

  test("algorithm and environment are those of the call", () => {
    const { run } = resolve({ file: yaml("env: Acrobot-v1\nsteps: 5"), env: "CartPole-v1" });
    expect([run.env, run.steps]).toEqual(["CartPole-v1", 5]);
  });

  test("what a key is given last is what it is, in whatever layers", () => {
    const layers = ["file", "sets", "given"] as const;
    const someLayers = fc.array(fc.tuple(fc.constantFrom(...layers), fc.integer({ min: 1, max: 999 })), {
      maxLength: 5,
    });
    fc.assert(
      fc.property(someLayers, (said) => {
        const of = (layer: string): number[] => said.filter(([name]) => name === layer).map(([, value]) => value);
        const file = of("file").at(-1);
        const resolved = resolve({
          ...(file === undefined ? {} : { file: yaml(`n_envs: ${file}`) }),
          sets: of("sets").map((value) => `nEnvs=${value}`),
          given: { nEnvs: of("given").at(-1) },
        });
        const last = of("given").at(-1) ?? of("sets").at(-1) ?? file ?? 8;
        expect(resolved.hyperparameters.nEnvs).toBe(last);
      }),
      { numRuns: 50 },
    );
  });
});

describe("names and values of other tools", () => {
  test("CleanRL, rlox and benchback", () => {
    const text = `
env_id: CartPole-v1
exp_name: first
num_envs: 4
num_steps: 100
num_minibatches: 8
update_epochs: 3
num_iterations: 10
learning_rate: 1e-3
anneal_lr: true
clip_coef: 0.1
clip_vloss: true
norm_adv: False
hidden_sizes: [32, 32]
adam_eps: 1.0e-8
adam_betas: [0.9, 0.999]
use_wandb: false
framework: torch
compile: none
`;
    const { run, hyperparameters } = resolve({ file: yaml(text) });
    expect(run).toMatchObject({ env: "CartPole-v1", name: "first", steps: 4000 });
    expect(hyperparameters).toMatchObject({ nEnvs: 4, nSteps: 100, batchSize: 50, nEpochs: 3, netArch: [32, 32] });
    expect(hyperparameters).toMatchObject({ learningRate: "lin_0.001", clipRange: 0.1, clipRangeVf: 0.1 });
    expect(hyperparameters).toMatchObject({ normalizeAdvantage: false, adamEps: 1e-8 });
  });
  test("what is counted from others is counted at the end", () => {
    const file = yaml("num_minibatches: 4\nanneal_lr: true\nclip_vloss: true");
    const { hyperparameters } = resolve({ file, sets: ["nEnvs=2", "nSteps=10", "clipRange=0.5"] });
    expect(hyperparameters).toMatchObject({ batchSize: 5, learningRate: "lin_0.0003", clipRangeVf: 0.5 });
  });
  test("a rate that falls stays when it is told to, and one that is set above is as it is set", () => {
    const falls = { presets: { cleanrl: { learningRate: "lin_0.001" } } };
    expect(resolve({ ...falls, sets: ["preset=cleanrl"] }).hyperparameters.learningRate).toBe("lin_0.001");
    expect(resolve({ ...falls, sets: ["preset=cleanrl", "anneal_lr=false"] }).hyperparameters.learningRate).toBe(0.001);
    expect(fromYaml("anneal_lr: true", { sets: ["learningRate=0.5"] }).learningRate).toBe(0.5);
    expect(fromYaml("learningRate: 0.5", { sets: ["anneal_lr=True"] }).learningRate).toBe("lin_0.5");
  });
  test.each([
    ["num_minibatches: 3", "8 environments times 128 steps are not 3 equal minibatches"],
    ["num_minibatches: 0", "0 must be a whole number above 0"],
    ["anneal_lr: maybe", '"maybe" must be true or false'],
    ["lr: 0.1\nlearning_rate: 0.2", "line 2: learning_rate: it says what lr says (learningRate), and differs"],
    ["batch_size: 512\nminibatch_size: 64", "keep one of the two"],
    ["track: true", "WANDB_API_KEY"],
    ["buffer_size: 5", "ppo has no bufferSize."],
    ["rms_prop_eps: 5", "ppo has no rmspropEps."],
  ])("%s is refused", (text, message) => {
    expect(refusal(() => fromYaml(text))).toContain(message);
  });
  test("two names that say the same are no conflict", () => {
    expect(fromYaml("lr: 0.1\nlearning_rate: 0.1").learningRate).toBe(0.1);
  });
  test("a schema's own keys come before what others mean by them", () => {
    const own = z.strictObject({
      envs: z.int().default(1),
      numMinibatches: z.int().default(2),
      normalize: z.string().default(""),
    });
    const { hyperparameters } = resolveConfig({
      schema: own,
      algo: "own",
      env: "E",
      sets: ["envs=3", "num_minibatches=4", "normalize=all"],
    });
    expect(hyperparameters).toEqual({ envs: 3, numMinibatches: 4, normalize: "all" });
  });
});

describe("--set", () => {
  test.each([
    ["learningRate=1e-3", { learningRate: 1e-3 }],
    ["learningRate=lin_1e-3", { learningRate: "lin_1e-3" }],
    ["learning-rate = 0.5", { learningRate: 0.5 }],
    ["netArch=[64,32]", { netArch: [64, 32] }],
    ["netArch=64,32", { netArch: [64, 32] }],
    ["netArch=64", { netArch: [64] }],
    ["netArch=[]", { netArch: [] }],
    ["policy_kwargs.net_arch=dict(pi=[5], vf=[5])", { netArch: [5] }],
    ["policy_kwargs=dict(net_arch=[5])", { netArch: [5] }],
    ["hyperparameters.gamma=0.5", { gamma: 0.5 }],
    ["replay.size=1_000", { replay: { size: 1000, prefetch: false } }],
    ["replay={'prefetch': True}", { replay: { size: 10, prefetch: true } }],
    ["clipRangeVf=null", { clipRangeVf: null }],
    ["clip_range_vf=0.2", { clipRangeVf: 0.2 }],
    ["normalizeObs=yes", { normalizeObs: true }],
    ["activation=nn.ReLU", { activation: "relu" }],
  ])("%s", (text, expected) => {
    expect(resolve({ sets: [text] }).hyperparameters).toMatchObject(expected);
  });
  test("texts stay texts where the key is one", () => {
    const { run } = resolve({ sets: ["name=123", "out=true", "steps=1e5", "seed=7"] });
    expect([run.name, run.out, run.steps, run.seed]).toEqual(["123", "true", 100_000, 7]);
  });
  test("the last of several counts", () => {
    expect(parseSets(["a=1", "b.c=x=y", "a=2", "b.d=3"])).toEqual({ a: "2", b: { c: "x=y", d: "3" } });
    expect(Object.keys(parseSets(["__proto__.x=1"]))).toEqual(["__proto__"]);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });
  test.each([
    [["gamma"], "--set gamma: write key=value"],
    [["=3"], "--set =3: write key=value"],
    [["a..b=3"], "write key=value"],
    [["a=1", "a.b=2"], "a was set as a whole before"],
    [["a.b=1", "a=2"], "keys inside of a were set before"],
    [["gamma=fast"], '--set: gamma: "fast" will not do; it must be a number at least 0 and at most 1.'],
    [["gama=1"], '--set: gama: there is no such key. Did you mean "gamma"?'],
    [["__proto__.x=1"], "--set: __proto__: there is no such key."],
    [["preset=sb4"], '--set: preset: ppo has no preset "sb4"; there are sb3, rlox. Did you mean "sb3"?'],
  ])("%s is refused as wrong usage", (sets, message) => {
    expect(() => resolve({ sets })).toThrow(UsageError);
    expect(refusal(() => resolve({ sets }))).toContain(message);
  });
});

describe("what will not do", () => {
  test("is told all at once, with keys and lines", () => {
    const text = "gama: 0.5\nn_env: 2\nnetArch: [1.5]\nactivation: rely\nlearningRate: fast\ntarget: wasn\nsteps: 0\n";
    let found: unknown;
    try {
      fromYaml(text);
    } catch (error) {
      found = error;
    }
    expect(found).toBeInstanceOf(ConfigError);
    const { problems } = found as ConfigError;
    expect(problems.map(({ place, key, message }) => `${place}: ${key}: ${message}`)).toEqual([
      'test.yml, line 1: gama: there is no such key. Did you mean "gamma"?',
      'test.yml, line 2: n_env: there is no such key. Did you mean "n_envs"?',
      "test.yml, line 3: netArch: [1.5] will not do; it must be a list, each of it a whole number above 0.",
      'test.yml, line 4: activation: "rely" will not do; it must be "tanh" or "relu". Did you mean "relu"?',
      'test.yml, line 5: learningRate: "fast" will not do; it must be a number, or a text such as "lin_2.5e-4".',
      'test.yml, line 6: target: "wasn" will not do; it must be "auto" or "js" or "wasm" or "native". Did you mean "wasm"?',
      "test.yml, line 7: steps: 0 will not do; it must be a whole number above 0.",
    ]);
    expect((found as Error).message).toMatch(/^7 things in the configuration will not do:\n {2}test.yml, line 1/);
  });
  test("lists the keys when none is near", () => {
    expect(refusal(() => fromYaml("zzzzzzzz: 1"))).toContain("Known are algo, env, preset, steps, seed");
  });
  test("is cut short when it is too much", () => {
    const text = Array.from({ length: 30 }, (_, k) => `zzz${k}: 1`).join("\n");
    expect(
      refusal(() => fromYaml(text))
        .split("\n")
        .at(-1),
    ).toBe("  and 10 more");
  });
  test("comes from all layers together, and is no wrong usage then", () => {
    const wrong = () => resolve({ file: yaml("gama: 1"), sets: ["nenvs=x"], given: { seed: -1 } });
    expect(wrong).toThrow(ConfigError);
    expect(refusal(wrong)).toContain("option: seed: -1 will not do; it must be a whole number at least 0");
  });
  test("what a schema asks of several keys is asked", () => {
    const both = schema.refine(({ nEnvs, nSteps, batchSize }) => (nEnvs * nSteps) % batchSize === 0, {
      error: "nEnvs times nSteps must be a multiple",
      path: ["batchSize"],
    });
    const run = () => resolveConfig({ schema: both, algo: "ppo", env: "E", file: yaml("minibatch_size: 7") });
    expect(refusal(run)).toBe("ConfigError: test.yml, line 1: minibatch_size: nEnvs times nSteps must be a multiple");
  });
  test("keys without a default must be given", () => {
    const bare = z.strictObject({ horizon: z.int().positive() });
    const run = (sets: string[]) => resolveConfig({ schema: bare, algo: "own", env: "E", sets });
    expect(refusal(() => run([]))).toContain("horizon: it must be given, a whole number above 0");
    expect(run(["horizon=3"]).hyperparameters.horizon).toBe(3);
  });
  test.each(["../x", "a/b", "", ".hidden", "a b", "x".repeat(130)])("the name %s", (name) => {
    expect(() => resolve({ given: { name } })).toThrow(/a name for a folder/);
  });
  test("presets that nobody has", () => {
    const run = () => resolveConfig({ schema, algo: "ppo", env: "E", given: { preset: "sb3" } });
    expect(refusal(run)).toContain('ppo has no preset "sb3"; there is none.');
  });
});

describe("a configuration in words", () => {
  test("says what differs and where it comes from", () => {
    const file = yaml("vf_coef: 0.25\nentCoef: 0.01\n");
    const resolved = resolve({ tuned, file, sets: ["netArch=[8,8]"], given: { seed: 7, nEnvs: 2 } });
    expect(describeConfig(resolved)).toEqual([
      "tuned for ppo on CartPole-v1:",
      "  preset sb3, steps 50000, nSteps 32, gamma 0.98",
      "option:",
      "  seed 7, nEnvs 2",
      "preset sb3:",
      "  nEpochs 10, batchSize 64",
      "test.yml:",
      "  vfCoef 0.25",
      "--set:",
      "  netArch [8,8]",
    ]);
  });
  test("is empty for the defaults, and tells what was not used", () => {
    expect(describeConfig(resolve())).toEqual([]);
    expect(describeConfig(resolve({ tuned, sets: ["preset=rlox"] })).at(-1)).toMatch(
      /^tuned hyperparameters .* are not used/,
    );
  });
  test("suits 80 columns", () => {
    const many = Object.fromEntries(
      Object.keys(schema.shape)
        .filter((key) => /Coef|Range|Epochs|Steps|Envs|gamma|Lambda/.test(key))
        .map((key) => [key, 1]),
    );
    const lines = describeConfig(resolve({ given: many, presets }));
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  });
});
