/**
 * @file Classic control against what Gymnasium and gymnax did, and against steps computed by hand.
 */
import { expect, test } from "vitest";
import { Acrobot, CartPole, MountainCar, MountainCarContinuous, Pendulum } from "../../src/envs/classic/index.ts";
import { describeFixture } from "./fixtures.ts";
import { describeEveryTarget, stepOnce } from "./support.ts";

describeFixture(CartPole, "CartPole-v1.gymnasium");
describeFixture(CartPole, "CartPole-v1.gymnax", { params: { rewardWhenOver: 0 } });
describeFixture(Acrobot, "Acrobot-v1.gymnasium", { tolerance: 1e-5 });
describeFixture(Acrobot, "Acrobot-v1.gymnax", {
  tolerance: 5e-6,
  fields: { joint_angle1: "theta1", joint_angle2: "theta2", velocity_1: "thetaDot1", velocity_2: "thetaDot2" },
});
describeFixture(MountainCar, "MountainCar-v0.gymnasium");
describeFixture(MountainCar, "MountainCar-v0.gymnax");
describeFixture(MountainCarContinuous, "MountainCarContinuous-v0.gymnasium");
describeFixture(MountainCarContinuous, "MountainCarContinuous-v0.gymnax", { params: { stopAtGoal: 1 } });
describeFixture(Pendulum, "Pendulum-v1.gymnasium", { tolerance: 6e-6 });
describeFixture(Pendulum, "Pendulum-v1.gymnax", { tolerance: 3e-6, fields: { last_u: null } });

describeEveryTarget("classic control", [Acrobot, CartPole, MountainCar, MountainCarContinuous, Pendulum]);

test("CartPole by hand", () => {
  const first = stepOnce(CartPole, { x: 0, xDot: 0, theta: 0, thetaDot: 0 }, [1]);
  expectNear(first.obs, [0, 0.195121951, 0, -0.292682927]);
  let state = { x: 0.01, xDot: -0.02, theta: 0.03, thetaDot: -0.04 };
  for (const action of [1, 1, 0, 1, 0]) {
    const [x = 0, xDot = 0, theta = 0, thetaDot = 0] = stepOnce(CartPole, state, [action]).obs;
    state = { x, xDot, theta, thetaDot };
  }
  expectNear(Object.values(state), [0.0313380779, 0.1737258788, -0.0074415562, -0.3018724521]);
});

test("CartPole pushed to the right from rest falls at step 9", () => {
  let state = { x: 0, xDot: 0, theta: 0, thetaDot: 0 };
  const ends: boolean[] = [];
  for (let t = 0; t < 9; t++) {
    const { obs, terminated } = stepOnce(CartPole, state, [1]);
    const [x = 0, xDot = 0, theta = 0, thetaDot = 0] = obs;
    state = { x, xDot, theta, thetaDot };
    ends.push(terminated);
  }
  expect(ends.indexOf(true)).toBe(8);
});

test("Acrobot by hand", () => {
  const rest = stepOnce(Acrobot, { theta1: 0, theta2: 0, thetaDot1: 0, thetaDot2: 0 }, [2]);
  expectNear(rest.state, [-0.0132629672, 0.0342872293, -0.1286618528, 0.33450109]);
  const moving = stepOnce(Acrobot, { theta1: 0.1, theta2: -0.05, thetaDot1: 0.02, thetaDot2: -0.03 }, [0]);
  expectNear(moving.state, [0.1040133005, -0.0756230902, 0.0184559728, -0.2210340417]);
});

test("Pendulum by hand", () => {
  const inside = stepOnce(Pendulum, { theta: 1, thetaDot: 0.5 }, [1]);
  expectNear([...inside.state, inside.reward], [1.0640551619, 1.2811032386, -1.026]);
  const clipped = stepOnce(Pendulum, { theta: 3, thetaDot: -7.9 }, [-5]);
  expectNear([...clipped.state, clipped.reward], [2.6, -8, -15.245]);
});

test("the mountain cars by hand", () => {
  const step = (position: number, velocity: number, action: number): readonly number[] =>
    stepOnce(MountainCar, { position, velocity }, [action]).state;
  expectNear(step(-0.5, 0, 2), [-0.499176843, 0.000823157]);
  expectNear(step(-0.5, 0, 0), [-0.501176843, -0.001176843]);
  expectNear(step(-1.19, -0.05, 0), [-1.2, 0]);
  const pushed = stepOnce(MountainCarContinuous, { position: -0.5, velocity: 0 }, [0.5]);
  expectNear([...pushed.state, pushed.reward], [-0.499426843, 0.000573157, -0.025]);
});

function expectNear(got: readonly number[], wanted: readonly number[]): void {
  expect(got.length).toBe(wanted.length);
  wanted.forEach((x, k) => {
    expect(Math.abs((got[k] as number) - x), `${got} instead of ${wanted}`).toBeLessThan(
      1e-6 * Math.max(1, Math.abs(x)),
    );
  });
}
