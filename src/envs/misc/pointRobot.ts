/**
 * @file PointRobot-misc (after Dorfman, Shenfeld and Tamar 2021): a point looks for a goal on a half circle that it does
 * not see; at the goal it is put somewhere else. As in gymnax, which tests the distance before the move, and shows the
 * action as given.
 */
import { f32, i32 } from "../../kernel/declare.ts";
import { defineEnv } from "../define.ts";
import { box } from "../spaces.ts";

export const PointRobot = defineEnv({
  id: "PointRobot-misc",
  params: {
    maxForce: 0.1,
    circleRadius: 1,
    goalRadius: 0.2,
    /** 1: the reward is the negative distance; 0: it is 1 at the goal. */
    denseReward: 0,
    /** 1: the point starts in the centre; 0: anywhere in the half circle. */
    centreStart: 0,
    /** 1: the time in the observation goes from -1 to 1 over `timeScale` steps; 0: it is the number of steps. */
    normalizeTime: 1,
    timeScale: 100,
  },
  state: {
    pos: f32.array(2),
    goal: f32.array(2),
    lastAction: f32.array(2),
    lastReward: f32,
    goalsReached: i32,
    time: i32,
  },
  observation: box([6]),
  action: box([2], { low: -Math.fround(0.1), high: Math.fround(0.1) }),
  maxSteps: 100,
  solved: "a mean return of 10",
  reset(s, { params, rng }) {
    const angle = rng.uniform(0, Math.PI);
    s.goal[0] = params.circleRadius * Math.cos(angle);
    s.goal[1] = params.circleRadius * Math.sin(angle);
    const radius = params.centreStart > 0 ? 0 : rng.uniform(0, params.circleRadius);
    const direction = rng.uniform(0, Math.PI);
    s.pos[0] = radius * Math.cos(direction);
    s.pos[1] = radius * Math.sin(direction);
    s.lastAction[0] = 0;
    s.lastAction[1] = 0;
    s.lastReward = 0;
    s.goalsReached = 0;
    s.time = 0;
  },
  step(s, action, { params, rng }) {
    const forceX = Math.min(Math.max(action[0]!, -params.maxForce), params.maxForce);
    const forceY = Math.min(Math.max(action[1]!, -params.maxForce), params.maxForce);
    const toX = s.goal[0]! - s.pos[0]!;
    const toY = s.goal[1]! - s.pos[1]!;
    const distance = Math.sqrt(toX * toX + toY * toY);
    const reached = distance <= params.goalRadius;
    const radius = params.centreStart > 0 ? 0 : rng.uniform(0, params.circleRadius);
    const direction = rng.uniform(0, Math.PI);
    s.pos[0] = reached ? radius * Math.cos(direction) : s.pos[0]! + forceX;
    s.pos[1] = reached ? radius * Math.sin(direction) : s.pos[1]! + forceY;
    const reward = params.denseReward > 0 ? -distance : reached ? 1 : 0;
    s.lastAction[0] = action[0]!;
    s.lastAction[1] = action[1]!;
    s.lastReward = reward;
    s.goalsReached += reached ? 1 : 0;
    s.time += 1;
    return { reward, terminated: false };
  },
  observe(s, obs, { params }) {
    const time = Math.fround(s.time);
    obs[0] = s.pos[0]!;
    obs[1] = s.pos[1]!;
    obs[2] = s.lastReward;
    obs[3] = s.lastAction[0]!;
    obs[4] = s.lastAction[1]!;
    obs[5] = params.normalizeTime > 0 ? (2 * time) / params.timeScale - 1 : time;
  },
  draw(s, canvas, params) {
    canvas.view([-1.3, -0.4], [1.3, 1.3]);
    for (let k = 0; k < 24; k++) {
      const [a, b] = [(k * Math.PI) / 24, ((k + 1) * Math.PI) / 24];
      canvas.line([Math.cos(a), Math.sin(a)], [Math.cos(b), Math.sin(b)], "grey");
    }
    canvas.circle([s.goal[0] as number, s.goal[1] as number], params.goalRadius, "green");
    canvas.circle([s.pos[0] as number, s.pos[1] as number], 0.05, "red");
  },
});
