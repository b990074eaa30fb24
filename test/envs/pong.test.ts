/**
 * @file Pong-misc against what gymnax did.
 */
import { Pong } from "../../src/envs/misc/pong.ts";
import { describeFixture } from "./fixtures.ts";
import { describeEveryTarget } from "./support.ts";

describeFixture(Pong, "Pong-misc.gymnax", {
  fields: {
    paddle_centers: "paddles",
    ball_position: "ball",
    last_ball_position: "lastBall",
    ball_velocity: "velocity",
    terminal: null,
  },
});

describeEveryTarget("Pong", [Pong]);
