/**
 * @file The registry: every environment by its id, complete and read-only.
 */
import { describe, expect, test } from "vitest";
import { type Environment, EnvironmentError } from "../../src/envs/define.ts";
import { drawEnvironment } from "../../src/envs/draw/frame.ts";
import { toSvg } from "../../src/envs/draw/svg.ts";
import { toTerminal } from "../../src/envs/draw/terminal.ts";
import { environment, environmentOutlines, environments, UnknownEnvironmentError } from "../../src/envs/registry.ts";
import { VecEnv } from "../../src/envs/vector/vecEnv.ts";

const all = Object.entries<Environment>(environments);
/** The environments that are promised: Gymnasium's classic control, gymnax's families, and one of lockstep's own. */
const PROMISED = `CartPole-v1 Acrobot-v1 MountainCar-v0 MountainCarContinuous-v0 Pendulum-v1
  Catch-bsuite DeepSea-bsuite DiscountingChain-bsuite MemoryChain-bsuite UmbrellaChain-bsuite SimpleBandit-bsuite
  MNISTBandit-bsuite BernoulliBandit-misc GaussianBandit-misc FourRooms-misc MetaMaze-misc PointRobot-misc Reacher-misc
  Swimmer-misc Pong-misc FrozenLake-misc Asterix-MinAtar Breakout-MinAtar Freeway-MinAtar SpaceInvaders-MinAtar
  Seaquest-MinAtar NonStationaryCartPole`.split(/\s+/);

describe("the registry", () => {
  test("has every environment that is promised, and no others", () => {
    expect(environmentOutlines.map(({ id }) => id).sort()).toEqual([...PROMISED].sort());
  });
  test.each(all)("%s is complete", (id, env) => {
    expect(env.id).toBe(id);
    expect(environment(id)).toBe(env);
    expect(env.maxSteps).toBeGreaterThan(0);
    expect(env.solved).toBeTruthy();
    expect(env.draw).toBeTypeOf("function");
  });
  test("finds definitions with their types", () => {
    const env = environment("CartPole-v1");
    const gravity: number = env.params.gravity;
    expect(gravity).toBe(9.8);
  });
  test.each(all)("%s cannot be changed", (_, env) => {
    const change = (target: object, key: string): (() => void) => {
      return () => Object.assign(target, { [key]: 1 });
    };
    expect(change(env, "maxSteps")).toThrow(TypeError);
    expect(change(env.params, "gravity")).toThrow(TypeError);
    expect(change(env.state, "other")).toThrow(TypeError);
    expect(change(env.observation, "kind")).toThrow(TypeError);
    expect(change(env.functions, "step")).toThrow(TypeError);
    expect(change(environments, env.id)).toThrow(TypeError);
  });
});

describe("an id that is not known", () => {
  const message = (id: string): string => {
    try {
      environment(id);
    } catch (error) {
      expect(error).toBeInstanceOf(UnknownEnvironmentError);
      expect(error).toBeInstanceOf(EnvironmentError);
      return (error as Error).message;
    }
    return expect.fail(`${id} was found`);
  };
  test("is an error that offers a near one", () => {
    expect(message("CartPole-v2")).toContain('Did you mean "CartPole-v1"?');
    expect(message("asterix-minatar")).toContain('Did you mean "Asterix-MinAtar"?');
    expect(message("Breakout")).toContain('Did you mean "Breakout-MinAtar"?');
    expect(message("cartpol")).toContain('Did you mean "CartPole-v1"?');
    expect(message("zzz")).not.toContain("Did you mean");
  });
  test("may be a name that every object has", () => {
    expect(message("constructor")).toContain("There is no environment");
    expect(message("__proto__")).toContain("There is no environment");
  });
  test("is told apart from one that needs data", () => {
    expect(() => environment("MNISTBandit-bsuite")).toThrow(/mnistBandit\(images, labels\)/);
  });
});

describe("pictures", () => {
  test.each(all)("%s fits a terminal, and is valid SVG", (_, env) => {
    const vec = new VecEnv(env, 2, { target: "js", seed: 4 });
    vec.reset();
    const drawing = drawEnvironment(vec, 1);
    vec.dispose();
    if (!drawing) return expect.fail("there is no drawing");
    const lines = toTerminal(drawing, { width: 50, height: 12 }).split("\n");
    expect(lines.length).toBeLessThanOrEqual(12);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(50);
    expect(lines.some((line) => line.trim() !== "")).toBe(true);
    expect(lines.join("")).not.toContain("\u001b");
    const svg = toSvg(drawing);
    expect(svg).not.toMatch(/NaN|Infinity|undefined/);
    const open = [...svg.matchAll(/<(\w+)[^>]*[^/]>/g)].map(([, name]) => name).sort();
    const closed = [...svg.matchAll(/<\/(\w+)>/g)].map(([, name]) => name).sort();
    expect(open).toEqual(closed);
  });
  test("have colours where they are asked for", () => {
    const vec = new VecEnv(environment("FrozenLake-misc"), 1, { target: "js" });
    vec.reset();
    const drawing = drawEnvironment(vec);
    vec.dispose();
    if (!drawing) return expect.fail("there is no drawing");
    expect(toTerminal(drawing, { colour: true })).toContain("\u001b[34m");
  });
});
