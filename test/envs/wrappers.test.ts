/**
 * @file Wrappers: each gives the same bits as a plain JavaScript model of it, on every target; they compose in any order;
 * types and ids say what was done; what cannot be is refused.
 */
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { CartPole, Pendulum } from "../../src/envs/classic/index.ts";
import {
  type ActionSpace,
  actionSize,
  type Environment,
  EnvironmentError,
  observationSize,
} from "../../src/envs/define.ts";
import { Breakout } from "../../src/envs/minatar/index.ts";
import { FrozenLake } from "../../src/envs/misc/index.ts";
import type { Box, Discrete } from "../../src/envs/spaces.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";
import {
  actionRepeat,
  clipAction,
  clipObservation,
  clipReward,
  flatten,
  frameStack,
  rewardScale,
  stickyActions,
  timeLimit,
} from "../../src/envs/wrappers/index.ts";
import type { TargetChoice } from "../../src/runtime/targets.ts";
import { targets } from "./fixtures.ts";
import {
  Cells,
  CellsModel,
  emptyTrace,
  type Model,
  makeRing,
  models,
  Pixel,
  PixelModel,
  Push,
  PushModel,
  RingModel,
  type Trace,
  traceOfModels,
  Walk,
  WalkModel,
} from "./wrapperModels.ts";

const [N, STEPS, SEED] = [5, 40, 77] as const;

function actionsFor(space: ActionSpace, seed: number): number[][][] {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const one = (k: number): number => {
    if (space.kind === "box") return Math.fround(4 * random() - 2);
    return Math.floor(random() * (space.kind === "discrete" ? space.n : (space.counts[k] as number)));
  };
  const row = (): number[] => Array.from({ length: actionSize(space) }, (_, k) => one(k));
  return Array.from({ length: STEPS }, () => Array.from({ length: N }, row));
}

function traceOf(env: Environment, target: TargetChoice, actions: readonly (readonly (readonly number[])[])[]): Trace {
  const vec = new VecEnv(env, N, { seed: SEED, target });
  const size = observationSize(env.observation);
  const trace = emptyTrace();
  trace.obs.push([...vec.reset().obs]);
  for (const given of actions) {
    const { obs, reward, terminated, truncated, finalObs } = vec.step(given.flat());
    trace.obs.push([...obs]);
    trace.reward.push([...reward]);
    trace.terminated.push([...terminated]);
    trace.truncated.push([...truncated]);
    const ended = (i: number): boolean => Boolean(terminated[i] || truncated[i]);
    trace.final.push(
      Array.from({ length: N }, (_, i) => (ended(i) ? [...finalObs.subarray(i * size, (i + 1) * size)] : [])),
    );
  }
  vec.dispose();
  return trace;
}

type Case = readonly [env: Environment, model: () => Model];
const of = (env: unknown, model: () => Model): Case => [env as Environment, model];
const walk = (): Model => new WalkModel();
const push = (): Model => new PushModel();
const cells = (): Model => new CellsModel();
const cases: readonly Case[] = [
  of(timeLimit(Walk, 4), walk),
  of(frameStack(Walk, 3), () => models.stack(walk(), 3)),
  of(frameStack(Pixel, 2), () => models.stack(new PixelModel(), 2)),
  of(frameStack(Walk, 1), walk),
  of(flatten(Cells), () => models.oneHot(cells(), 5, 2)),
  of(flatten(Walk), walk),
  of(clipObservation(Walk, -0.3, 0.6), () => models.clipObservation(walk(), -0.3, 0.6)),
  of(clipReward(Walk, -0.1, 0.7), () => models.clipReward(walk(), -0.1, 0.7)),
  of(clipAction(Push), () => models.clipAction(push(), [-0.5, 0], [0.5, 1])),
  of(stickyActions(Walk, 0.4), () => models.sticky(walk(), 0.4)),
  of(stickyActions(Push, 0.4), () => models.sticky(push(), 0.4)),
  of(stickyActions(Cells, 0.4), () => models.sticky(cells(), 0.4)),
  of(actionRepeat(Walk, 3), () => models.repeat(walk(), 3)),
  of(rewardScale(Walk, 0.1), () => models.scale(walk(), 0.1)),
  of(rewardScale(Cells, 0.1), () => models.scale(cells(), 0.1)),
];
/** All of them in a few: every target compiles each. */
const together: readonly Case[] = [
  of(frameStack(clipReward(clipObservation(stickyActions(Walk, 0.4), -0.3, 0.6), -0.1, 0.7), 3), () =>
    models.stack(models.clipReward(models.clipObservation(models.sticky(walk(), 0.4), -0.3, 0.6), -0.1, 0.7), 3),
  ),
  of(timeLimit(rewardScale(actionRepeat(stickyActions(clipAction(Push), 0.25), 2), 0.1), 4), () =>
    models.scale(models.repeat(models.sticky(models.clipAction(push(), [-0.5, 0], [0.5, 1]), 0.25), 2), 0.1),
  ),
  of(flatten(stickyActions(Cells, 0.4)), () => models.oneHot(models.sticky(cells(), 0.4), 5, 2)),
  of(frameStack(flatten(Pixel), 2), () => models.stack(new PixelModel(), 2)),
  // More is seen than there is in the state, and less: frames are kept as states, and as they are.
  of(frameStack(makeRing(5), 3), () => models.stack(new RingModel(5), 3)),
  of(frameStack(makeRing(1), 3), () => models.stack(new RingModel(1), 3)),
];

describe("each wrapper does what a plain model of it does", () => {
  const rows = (from: readonly Case[]) => from.map(([env, model]) => [env.id, env, model] as const);
  function compare(env: Environment, model: () => Model, on: readonly TargetChoice[]): void {
    const actions = actionsFor(env.action, 3);
    const wanted = traceOfModels(env, model, N, SEED, actions);
    expect(wanted.final.flat().some((row) => row.length > 0)).toBe(true);
    for (const target of on) expect(traceOf(env, target, actions), target).toEqual(wanted);
  }
  test.each(rows(cases))("%s", (_, env, model) => {
    compare(env, model, process.env.LOCKSTEP_FULL ? targets : ["js"]);
  });
  test.each(rows(together))("on every target: %s", (_, env, model) => {
    compare(env, model, targets);
  });

  test("in any order and number", () => {
    type Link = readonly [name: string, wrap: (one: Case) => Case];
    const links: readonly Link[] = [
      ["stack", ([env, model]) => of(frameStack(env as never, 2), () => models.stack(model(), 2))],
      ["sticky", ([env, model]) => of(stickyActions(env, 0.3), () => models.sticky(model(), 0.3))],
      ["repeat", ([env, model]) => of(actionRepeat(env, 2), () => models.repeat(model(), 2))],
      ["scale", ([env, model]) => of(rewardScale(env, -1.7), () => models.scale(model(), -1.7))],
      ["clip", ([env, model]) => of(clipReward(env, -0.5, 0.4), () => models.clipReward(model(), -0.5, 0.4))],
      [
        "clipObservation",
        ([env, model]) =>
          of(clipObservation(env as never, -0.4, 0.5), () => models.clipObservation(model(), -0.4, 0.5)),
      ],
      ["flatten", ([env, model]) => of(flatten(env), model)],
    ];
    const starts: readonly Case[] = [
      of(Walk, walk),
      of(Push, push),
      of(flatten(Cells), () => models.oneHot(cells(), 5, 2)),
    ];
    fc.assert(
      fc.property(fc.constantFrom(...starts), fc.shuffledSubarray([...links]), fc.nat(999), (start, chosen, seed) => {
        const [env, model] = chosen.reduce((one, [, wrap]) => wrap(one), start);
        const actions = actionsFor(env.action, seed).slice(0, 12);
        expect(traceOf(env, "js", actions)).toEqual(traceOfModels(env, model, N, SEED, actions));
      }),
      { numRuns: 12, seed: 5 },
    );
  });
});

describe("what wrappers say of themselves", () => {
  const wrapped = frameStack(stickyActions(Breakout, 0.25), 4);
  test("ids, spaces and limits", () => {
    expect(wrapped.id).toBe("frameStack(stickyActions(Breakout-MinAtar, 0.25), 4)");
    expect(wrapped.observation.shape).toEqual([4, 10, 10, 4]);
    expect(wrapped.draw).toBe(Breakout.draw);
    for (const part of [wrapped, wrapped.state, wrapped.observation, wrapped.functions, timeLimit(CartPole, 3)])
      expect(Object.isFrozen(part)).toBe(true);
    expect(Object.keys(frameStack(makeRing(5), 3).state)).toEqual(["ring", "stacked0_ring", "stacked1_ring"]);
    expect(Object.keys(frameStack(makeRing(1), 3).state)).toEqual(["ring", "stackedFrames"]);
    expect(flatten(FrozenLake).observation).toMatchObject({ kind: "box", shape: [16], low: 0, high: 1 });
    expect(flatten(Breakout).observation.shape).toEqual([400]);
    expect(frameStack(CartPole, 2).observation.low).toEqual(
      [CartPole.observation.low, CartPole.observation.low].flat(),
    );
    expect(clipObservation(CartPole, -1, 1).observation.high).toHaveLength(4);
    expect(Math.max(...(clipObservation(CartPole, -1, 1).observation.high as number[]))).toBe(1);
    expect(clipAction(Pendulum).action).toMatchObject({ low: -Infinity, high: Infinity });
    expect(actionRepeat(CartPole, 3).maxSteps).toBe(167);
    expect(timeLimit(CartPole, Infinity).maxSteps).toBeUndefined();
    expect([rewardScale(CartPole, 2).solved, frameStack(CartPole, 2).solved]).toEqual([undefined, CartPole.solved]);
  });
  test("types are inferred", () => {
    expectTypeOf(wrapped.observation).toEqualTypeOf<Box<"f32">>();
    expectTypeOf(wrapped.action).toEqualTypeOf<Discrete>();
    expectTypeOf(wrapped.params).toEqualTypeOf<typeof Breakout.params>();
    expectTypeOf(wrapped.state.bricks).toEqualTypeOf<typeof Breakout.state.bricks>();
    expectTypeOf(flatten(FrozenLake).observation).toEqualTypeOf<Box<"f32">>();
    expectTypeOf(flatten(Pixel).observation).toEqualTypeOf<Box<"u8">>();
    expectTypeOf<typeof frameStack>().parameter(1).toEqualTypeOf<number>();
    const vec = new VecEnv(wrapped, 1, { target: "js" });
    expectTypeOf(vec.env).toEqualTypeOf<typeof wrapped>();
    vec.dispose();
    // @ts-expect-error: whole numbers cannot be stacked.
    expect(() => frameStack(FrozenLake, 2)).toThrow(/flatten\(\)/);
    // @ts-expect-error: there are no limits to clip to.
    expect(() => clipAction(CartPole)).toThrow(EnvironmentError);
  });
  test("what cannot be is refused", () => {
    for (const wrong of [
      () => stickyActions(CartPole, 1),
      () => stickyActions(CartPole, Number.NaN),
      () => stickyActions(stickyActions(CartPole, 0.1), 0.1),
      () => frameStack(frameStack(CartPole, 2), 2),
      () => frameStack(CartPole, 0),
      () => actionRepeat(CartPole, 1.5),
      () => timeLimit(CartPole, 0),
      () => rewardScale(CartPole, Number.NaN),
      () => clipReward(CartPole, 1, -1),
      () => clipObservation(CartPole, Number.NaN, 1),
      () => clipObservation(Pixel as never, 0, 1),
    ])
      expect(wrong).toThrow(EnvironmentError);
  });
});
