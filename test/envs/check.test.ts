/**
 * @file The check of environments: good ones pass, and each finding is provoked once, by an environment that is broken in
 * just this way.
 */
import { describe, expect, test } from "vitest";
import {
  checkAutoreset,
  checkDeterminism,
  checkDrawing,
  checkReset,
  checkTargets,
} from "../../src/envs/check/dynamic.ts";
import { CHECKS, type CheckName, checkEnvironment, type Finding } from "../../src/envs/check/index.ts";
import { moments } from "../../src/envs/check/runs.ts";
import { checkSpaces } from "../../src/envs/check/static.ts";
import { type ActionSpace, defineEnv, type Environment, type EnvSpec } from "../../src/envs/define.ts";
import { environment } from "../../src/envs/registry.ts";
import { type Box, box, discrete, multiDiscrete } from "../../src/envs/spaces.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import { f32, i32 } from "../../src/kernel/declare.ts";
import { targets } from "./fixtures.ts";

const STATE = { x: f32, count: i32 };
type Walk = EnvSpec<typeof STATE, { readonly stride: number }, Box<"f32">, ActionSpace>;
/** A random walk to the left or to the right, with some parts replaced. */
const walk = (parts: Partial<Walk> = {}): Environment =>
  defineEnv({
    id: "Walk",
    params: { stride: 0.1 },
    state: STATE,
    observation: box([2], { low: [-3, 0], high: [3, 100] }),
    action: discrete(2),
    maxSteps: 50,
    reset(s, { rng }) {
      s.x = rng.uniform(-1, 1);
      s.count = 0;
    },
    step(s, action, { params }) {
      s.x = s.x + (action === 1 ? params.stride : -params.stride);
      s.count += 1;
      return { reward: 1, terminated: Math.abs(s.x) > 2 };
    },
    observe(s, obs) {
      obs[0] = s.x;
      obs[1] = Math.fround(s.count);
    },
    draw(s, canvas) {
      canvas.view([-2, -1], [2, 1]);
      canvas.circle([s.x, 0], 0.1);
    },
    ...parts,
  } as Walk) as Environment;

const found = (env: Environment, options = {}): readonly Finding[] =>
  checkEnvironment(env, { timeMs: 0, targets: ["js"], ...options }).findings;
/** Expects one finding, of this check, that says this. */
function provokes(env: Environment, check: CheckName, problem: RegExp, fix: RegExp, options = {}): void {
  const findings = found(env, options);
  expect(findings.map((one) => one.check)).toEqual([check]);
  expect(findings[0]?.problem).toMatch(problem);
  expect(findings[0]?.fix).toMatch(fix);
}
/** The same of one check alone. */
function provokesAtOnce(findings: readonly Finding[], problem: RegExp, fix: RegExp): void {
  expect(findings).toHaveLength(1);
  expect(findings[0]?.problem).toMatch(problem);
  expect(findings[0]?.fix).toMatch(fix);
}
const heavier = (env: Environment): Environment =>
  ({
    ...env,
    functions: walk({
      step(s, action, { params }) {
        s.x = s.x + (action === 1 ? 2 * params.stride : -params.stride);
        s.count += 1;
        return { reward: 1, terminated: Math.abs(s.x) > 2 };
      },
    }).functions,
  }) as Environment;

describe("what is in order", () => {
  test.each(["CartPole-v1", "FrozenLake-misc", "PointRobot-misc"] as const)("%s has no findings", (id) =>
    expect(found(environment(id))).toEqual([]),
  );
  test("the walk, on every target, with its speed", () => {
    const report = checkEnvironment(walk(), { timeMs: 2, targets });
    expect(report.findings).toEqual([]);
    expect(report.checks).toEqual(CHECKS);
    expect(report.speed.map(({ target }) => target)).toEqual(targets);
    for (const { nsPerStep } of report.speed) expect(nsPerStep).toBeGreaterThan(0);
    expect([report.steps > 1000, report.episodes > 10]).toEqual([true, true]);
  });
  test("an environment without chance needs no seed", () => {
    const fixed = walk({
      reset(s) {
        s.x = 0;
        s.count = 0;
      },
    });
    expect(found(fixed)).toEqual([]);
  });
});

describe("definitions and spaces", () => {
  test("a parameter that is not finite", () => {
    const params = { stride: 0.1, unused: Number.POSITIVE_INFINITY };
    provokes(walk({ params }), "definition", /"unused" is Infinity/, /finite/);
  });
  test("actions that leave no choice, or have no limits", () => {
    provokes(walk({ action: discrete(1) }), "spaces", /one action only/, /from 2 on/);
    const several = walk({
      action: multiDiscrete([1, 1]),
      step(s) {
        s.count += 1;
        return { reward: 1, terminated: false };
      },
    });
    provokesAtOnce(checkSpaces(several), /every choice has one value/, /from 2 on/);
    const pushed = (space: Box<"f32">): Environment =>
      walk({
        action: space,
        step(s) {
          s.count += 1;
          return { reward: 1, terminated: false };
        },
      });
    provokesAtOnce(checkSpaces(pushed(box([1]))), /limits of the actions are not finite/, /low, high/);
    provokesAtOnce(checkSpaces(pushed(box([1], { low: 1, high: 1 }))), /are equal/, /range/);
  });
});

describe("code", () => {
  test("that cannot be compiled", () => {
    const env = walk({
      step(s) {
        s.x = s.x + Math.random();
        return { reward: 1, terminated: false };
      },
    });
    provokes(env, "compilation", /Math\.random/, /docs\/kernels\.md/);
    expect(checkEnvironment(env).checks).not.toContain("targets");
  });
  test("that writes behind the end of the observation", () => {
    const env = walk({
      observe(s, obs) {
        for (let k = 0; k < s.count + 1; k++) obs[k] = 0;
        obs[1] = 0;
      },
    });
    provokes(env, "faults", /obs/, /2 elements/);
  });
});

describe("numbers", () => {
  test("that are none", () => {
    const env = walk({
      observe(s, obs) {
        obs[0] = Math.sqrt(s.x);
        obs[1] = 0;
      },
    });
    const findings = found(env);
    expect(findings.map(({ check }) => check)).toEqual(["numbers"]);
    expect(findings[0]?.problem).toMatch(/obs\[0\] is NaN \(environment \d+, episode \d+, step \d+, action \d\)/);
  });
  test("rewards that are none", () => {
    const env = walk({
      step(s, action, { params }) {
        s.x = s.x + (action === 1 ? params.stride : -params.stride);
        s.count += 1;
        return { reward: 1 / Math.fround(action as number), terminated: Math.abs(s.x) > 2 };
      },
    });
    provokes(env, "numbers", /the reward is Infinity/, /finite reward/);
  });
  test("outside of the space", () => {
    provokes(
      walk({ observation: box([2], { low: [-3, 0], high: [3, 20] }) }),
      "observation space",
      /obs\[1\] is 21.*from 0 to 20/,
      /widen/,
    );
  });
});

describe("contracts", () => {
  test("an observation that is not written whole", () => {
    const env = walk({
      observe(s, obs) {
        obs[0] = s.x;
        if (s.count > 3) obs[1] = 1;
      },
    });
    expect(found(env)).toContainEqual(
      expect.objectContaining({
        check: "observation contract",
        problem: expect.stringMatching(/does not write obs\[1\]/),
      }),
    );
  });
  test("an observation that changes the state", () => {
    const env = walk({
      observe(s, obs) {
        s.count = s.count + 1;
        obs[0] = s.x;
        obs[1] = 0;
      },
    });
    expect(found(env)).toContainEqual(
      expect.objectContaining({ check: "observation contract", problem: "observe changes the state: count" }),
    );
  });
  test("a reset that leaves something behind", () => {
    const env = walk({
      reset(s, { rng }) {
        s.x = rng.uniform(-1, 1);
      },
      observation: box([2]),
    });
    expect(found(env)).toContainEqual(
      expect.objectContaining({
        check: "reset contract",
        problem: expect.stringMatching(/left in "count"/),
        fix: "set every field of the state in reset",
      }),
    );
  });
  test("chance without effect", () => {
    const env = walk({
      reset(s, { rng }) {
        s.x = rng.uniform() < 2 ? 0 : 1;
        s.count = 0;
      },
    });
    provokes(env, "seeding", /seeds 1 and 2 give the same episodes/, /decide something/);
  });
  test("episodes that never end", () => {
    const env = walk({
      maxSteps: undefined as never,
      observation: box([2]),
      step(s, action) {
        s.x = s.x * 0.5 + Math.fround(action as number);
        s.count += 1;
        return { reward: 1, terminated: false };
      },
    });
    provokes(env, "episode length", /no episode ended within 256 steps/, /maxSteps/);
  });
  test("drawings that fail, or show nothing", () => {
    const draws = (draw: Walk["draw"] & object): Environment => walk({ draw });
    provokes(
      draws(() => {
        throw new Error("no paint");
      }),
      "drawing",
      /draw fails: no paint/,
      /every state/,
    );
    const options = { seed: 1, target: "js", envs: 2, steps: 20 } as const;
    const empty = draws((_, canvas) => canvas.view([1, 1], [1, 1]));
    provokesAtOnce(checkDrawing(empty, options), /view is empty/, /canvas\.view/);
    const nowhere = draws((_, canvas) => canvas.circle([0, Number.NaN], 1));
    provokesAtOnce(checkDrawing(nowhere, options), /no number/, /finite/);
  });
});

describe("runs that do not agree", () => {
  const good = walk();
  const bad = heavier(good);
  const options = { seed: 1, target: "js", envs: 4, steps: 60 } as const;
  const run = moments(good, options);
  /** An environment whose parameters are others after so many VecEnvs, which no definition can have. */
  function goodFor(count: number): Environment {
    let [looks, perVecEnv] = [0, Number.POSITIVE_INFINITY];
    const env = Object.defineProperty({ ...good }, "params", {
      enumerable: true,
      get: () => ({ stride: looks++ < count * perVecEnv ? 0.1 : 0.2 }),
    });
    new VecEnv(env, 1, { target: "js" }).dispose();
    [looks, perVecEnv] = [0, looks];
    return env;
  }

  test("are equal when nothing differs", () => {
    expect(checkDeterminism(good, run, options)).toEqual([]);
    expect(checkReset(good, run, options)).toEqual([]);
    expect(checkAutoreset(good, run, options)).toEqual([]);
    expect(checkTargets(good, options, targets)).toEqual([]);
  });
  test("in two runs with one seed", () => {
    expect(checkDeterminism(bad, run, options)[0]?.problem).toMatch(/two runs with seed 1 differ/);
  });
  test("with fewer environments beside them", () => {
    expect(checkDeterminism(goodFor(1), run, options)[0]?.problem).toMatch(/how many other environments/);
  });
  test("in another autoreset mode", () => {
    expect(checkAutoreset(bad, run, options)[0]?.problem).toMatch(/with "next-step" an episode differs/);
    expect(checkAutoreset(goodFor(1), run, options)[0]?.problem).toMatch(/with "disabled" an episode differs/);
  });
  test("on another target", () => {
    expect(checkTargets(goodFor(1), options, ["js", "wasm"])[0]?.problem).toMatch(
      /^wasm and js have different bits after 1 /,
    );
  });
});
