/**
 * @file The comparison with recordings itself: it finds a wrong parameter, a wrong chance and a wrong spread.
 */
import { expect, test } from "vitest";
import { CartPole } from "../../src/envs/classic/index.ts";
import { FourRooms, GaussianBandit } from "../../src/envs/misc/index.ts";
import { chiSquareBound, chiSquareOfTwo } from "./distributions.ts";
import { distributionDifferences, loadFixture, replay } from "./fixtures.ts";

test("a wrong parameter changes recorded steps", () => {
  const fixture = loadFixture("CartPole-v1.gymnax");
  const steps = fixture.transitions.filter((row) => row.case === "random");
  const replayed = (gravity: number): string[] => replay(CartPole, fixture, steps, { params: { gravity } }, "js");
  expect(replayed(9.8)).toEqual([]);
  expect(replayed(9.81).length).toBeGreaterThan(steps.length);
});

test("a wrong chance and a wrong deviation change distributions", () => {
  const rooms = loadFixture("FourRooms-misc.gymnax");
  expect(distributionDifferences(FourRooms, rooms, { params: { failProbability: 0.25 } })).not.toEqual([]);
  const bandit = loadFixture("GaussianBandit-misc.gymnax");
  expect(distributionDifferences(GaussianBandit, bandit, { params: { noise: 0.12 } })).not.toEqual([]);
  expect(distributionDifferences(GaussianBandit, bandit, { params: { mean: -0.75 } })).not.toEqual([]);
});

test("chi-square of two samples", () => {
  const counts = (...of: readonly number[]): Map<string, number> => new Map(of.map((count, k) => [`${k}`, count]));
  expect(chiSquareOfTwo(counts(30, 30), counts(60, 60))).toEqual({ statistic: 0, freedom: 1 });
  // Worked by hand: expected counts are 25 and 25 on either side.
  expect(chiSquareOfTwo(counts(20, 30), counts(30, 20)).statistic).toBeCloseTo(4, 12);
  // Cells of 3 and 4 are put together.
  expect(chiSquareOfTwo(counts(100, 1, 2), counts(100, 2, 2)).freedom).toBe(1);
  // The exact 5 sigma points are 26.3 and 49.8; the approximation lies above them.
  expect(chiSquareBound(1)).toBeGreaterThan(26.3);
  expect(chiSquareBound(1)).toBeLessThan(32);
  expect(chiSquareBound(10)).toBeGreaterThan(49.8);
  expect(chiSquareBound(10)).toBeLessThan(53);
});
